"""Run a command line in a new container, which is removed afterwards."""

from __future__ import annotations

import posixpath
import re
import secrets
from collections.abc import Iterator

from toolmason_runtime.programs.executable import find_executable
from toolmason_runtime.programs.execute import Command, Environ, Executor, base_environment, declared_environment
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.launcher_client import Limits
from toolmason_runtime.programs.policy import Docker
from toolmason_runtime.programs.search_path import SearchPath, working_directory
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError

_DOCKER_CLIENT_VARIABLES = re.compile(r"DOCKER_.*|XDG_RUNTIME_DIR|SSH_AUTH_SOCK")
"""Variables by which the Docker client finds its engine, such as `DOCKER_HOST`."""
_PROCESS_VARIABLES = re.compile(r"LC_.*|LD_.*|PATH|HOME|LANG|LANGUAGE|TERM|TMPDIR|USER")
"""Variables that affect any program, and so the client. Whole names: `USER_TOKEN` is a secret."""


def in_container(docker: Docker) -> Executor:
    """Return an executor that runs each invocation in a new container."""

    def executor(invocation: Invocation, environ: Environ) -> Command:
        return _command(docker, invocation, environ)

    return executor


def _command(docker: Docker, invocation: Invocation, environ: Environ) -> Command:
    own = base_environment(environ) | {
        name: value for name, value in environ.items() if _DOCKER_CLIENT_VARIABLES.fullmatch(name)
    }
    values = declared_environment(invocation, environ)
    inline = {
        variable
        for variable in values
        if _affects_docker_client(variable, own) and own.get(variable) != values[variable]
    }
    variables = (
        part
        for variable in values
        for part in ("-e", f"{variable}={values[variable]}" if variable in inline else variable)
    )
    path = SearchPath.of(own, (*invocation.projects, *working_directory()))
    own = path.narrow(own)
    client = find_executable("docker", own, skipped=path.skipped)
    name = f"toolmason-{secrets.token_hex(8)}"
    directory = _working_dir(docker, invocation)
    _check_program(invocation.argv[0], directory)
    return Command(
        argv=(
            client,
            "run",
            "--rm",
            "-i",
            "--name",
            name,
            *_options(docker, directory),
            *variables,
            docker.image,
            *invocation.argv,
        ),
        env=own | {variable: values[variable] for variable in values if variable not in inline},
        stdin=invocation.stdin,
        timeout_s=invocation.timeout_s,
        projects=invocation.projects,
        limits=Limits.above(invocation.timeout_s, memory_mb=invocation.memory_mb),
        kill_argv=(client, "kill", name),
        cleanup_argv=(client, "rm", "--force", name),
    )


def _options(docker: Docker, directory: str) -> Iterator[str]:
    yield from ("--network", docker.network)
    for volume in docker.volumes:
        yield from ("-v", volume)
    if directory:
        yield from ("-w", directory)


def _working_dir(docker: Docker, invocation: Invocation) -> str:
    """Return the working directory in the container; a relative one starts from the policy's."""
    directory = posixpath.join(docker.working_dir, invocation.cwd) if invocation.cwd else docker.working_dir
    if directory and not posixpath.isabs(directory):
        message = f'the working directory "{directory}" must be an absolute path in the container'
        raise ToolError(message, code=INVALID_ARGUMENT)
    return directory


def _check_program(name: str, directory: str) -> None:
    """Refuse a relative path to a program if it would start from the working directory of a call."""
    if "/" in name and directory and not posixpath.isabs(name):
        message = f'the program "{name}" must be an absolute path in the container'
        raise ToolError(message, code="NOT_SET_UP")


def _affects_docker_client(name: str, own: Environ) -> bool:
    """Return whether a variable would affect the Docker client itself.

    The value of such a variable is passed on the client's command line, which other users can read. All others are
    passed in its environment, which they cannot.
    """
    return name in own or any(pattern.fullmatch(name) for pattern in (_DOCKER_CLIENT_VARIABLES, _PROCESS_VARIABLES))
