"""Runs a command line in a container of its own, which is gone when the run is."""

from __future__ import annotations

import posixpath
import re
import secrets
from collections.abc import Iterator

from toolmason_runtime.programs.executable import located
from toolmason_runtime.programs.execute import Command, Environ, Executor, base_environment, declared
from toolmason_runtime.programs.launcher_client import Limits
from toolmason_runtime.programs.policy import Docker
from toolmason_runtime.programs.search_path import SearchPath, working_directory
from toolmason_runtime.programs.spec import Invocation
from toolmason_runtime.protocol.errors import INVALID_ARGUMENT, ToolError

_OF_THE_CLIENT = re.compile(r"DOCKER_.*|XDG_RUNTIME_DIR|SSH_AUTH_SOCK")
"""The variables that tell the client of Docker where its engine is and how to reach it."""
_FOR_ANY_PROGRAM = re.compile(r"LC_.*|LD_.*|PATH|HOME|LANG|LANGUAGE|TERM|TMPDIR|USER")
"""Those that would change how the client runs, as any program. By whole names: `USER_TOKEN` is a secret."""


def in_container(docker: Docker) -> Executor:
    """Give the executor that runs each invocation in a container of its own."""

    def executor(invocation: Invocation, environ: Environ) -> Command:
        return _command(docker, invocation, environ)

    return executor


def _command(docker: Docker, invocation: Invocation, environ: Environ) -> Command:
    own = base_environment(environ) | {name: value for name, value in environ.items() if _OF_THE_CLIENT.fullmatch(name)}
    values = declared(invocation, environ)
    written = {each for each in values if _is_heeded(each, own) and own.get(each) != values[each]}
    variables = (part for each in values for part in ("-e", f"{each}={values[each]}" if each in written else each))
    path = SearchPath.of(own, (*invocation.projects, *working_directory()))
    own = path.narrow(own)
    client = located("docker", own, skipped=path.skipped)
    name = f"toolmason-{secrets.token_hex(8)}"
    folder = _folder(docker, invocation)
    _check_program(invocation.argv[0], folder)
    return Command(
        argv=(
            client,
            "run",
            "--rm",
            "-i",
            "--name",
            name,
            *_options(docker, folder),
            *variables,
            docker.image,
            *invocation.argv,
        ),
        env=own | {each: values[each] for each in values if each not in written},
        stdin=invocation.stdin,
        timeout_s=invocation.timeout_s,
        projects=invocation.projects,
        limits=Limits.above(invocation.timeout_s, memory_mb=invocation.memory_mb),
        kill=(client, "kill", name),
        remove=(client, "rm", "--force", name),
    )


def _options(docker: Docker, folder: str) -> Iterator[str]:
    yield from ("--network", docker.network)
    for volume in docker.volumes:
        yield from ("-v", volume)
    if folder:
        yield from ("-w", folder)


def _folder(docker: Docker, invocation: Invocation) -> str:
    """Give the folder to run in, inside the container; that of the policy is what a relative one is relative to."""
    folder = posixpath.join(docker.working_dir, invocation.cwd) if invocation.cwd else docker.working_dir
    if folder and not posixpath.isabs(folder):
        message = f'the working directory "{folder}" must be absolute: it is one inside a container'
        raise ToolError(message, code=INVALID_ARGUMENT)
    return folder


def _check_program(name: str, folder: str) -> None:
    """Refuse a relative path to a program that would start from the folder of a call."""
    if "/" in name and folder and not posixpath.isabs(name):
        message = f'the program "{name}" must be absolute: it is one inside a container'
        raise ToolError(message, code="NOT_SET_UP")


def _is_heeded(name: str, own: Environ) -> bool:
    """Tell whether the client would heed a variable itself: one that it must not take from the program.

    Its value then stands on the command line of the client. All others are in the client's environment, where no other
    user of the machine can read them.
    """
    return name in own or any(each.fullmatch(name) for each in (_OF_THE_CLIENT, _FOR_ANY_PROGRAM))
