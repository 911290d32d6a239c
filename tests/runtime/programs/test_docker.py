"""Running in a container, with a program that plays the client of Docker and notes how it was called."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.programs.docker import in_container
from toolmason_runtime.programs.execute import Outcome, run
from toolmason_runtime.programs.policy import Docker
from toolmason_runtime.programs.spec import Invocation

pytestmark = pytest.mark.anyio

IMAGE = Docker(image="alpine:3")
SHELL = "/bin/sh"
IsRunning = Callable[[int], bool]


@dataclass(frozen=True)
class Engine:
    """Where the client of Docker is, and what it was called with."""

    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}", "HOME": "/home/somebody"}

    @property
    def calls(self) -> list[dict[str, Any]]:
        noted = self.folder / "calls.jsonl"
        return [json.loads(line) for line in noted.read_text(encoding="utf-8").splitlines()] if noted.exists() else []

    @property
    def container(self) -> int:
        """The process in the first container; 0 before there is one."""
        return next((call["container"] for call in self.calls if "container" in call), 0)

    async def run(
        self, invocation: Invocation, docker: Docker = IMAGE, environ: Mapping[str, str] | None = None
    ) -> Outcome:
        return await run(invocation, executor=in_container(docker), environ=self.environ | dict(environ or {}))

    async def ran(
        self, invocation: Invocation, docker: Docker = IMAGE, environ: Mapping[str, str] | None = None
    ) -> tuple[str, str, int | None]:
        """Run, and give what was written to both streams and the exit code."""
        outcome = await self.run(invocation, docker, environ)
        try:
            return "".join(outcome.stdout.texts()), "".join(outcome.stderr.texts()), outcome.exit_code
        finally:
            outcome.close()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    source = (Path(__file__).parent / "programs" / "docker.py").read_text(encoding="utf-8")
    client = tmp_path / "bin" / "docker"
    client.parent.mkdir()
    client.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
    client.chmod(stat.S_IRWXU)
    return Engine(client.parent)


async def test_command_line_is_wrapped_and_its_streams_and_exit_code_come_through(engine: Engine) -> None:
    invocation = Invocation(argv=(SHELL, "-c", "cat; echo err >&2; exit 3", "-x"), stdin="given \u20ac")
    done = await engine.ran(invocation)

    assert done == ("given \u20ac", "err\n", 3)
    (call,) = engine.calls
    assert call["stdin"] == "given \u20ac"
    name = call["argv"][4]
    assert call["argv"] == [
        *("run", "--rm", "-i", "--name", name, "--network", "none", "alpine:3"),
        *(SHELL, "-c", "cat; echo err >&2; exit 3", "-x"),
    ]


async def test_input_that_is_not_given_is_empty(engine: Engine) -> None:
    assert await engine.ran(Invocation(argv=("/bin/cat",))) == ("", "", 0)


async def test_docker_settings_of_the_policy_become_options(engine: Engine) -> None:
    docker = Docker(image="img", volumes=("/data:/data:ro", "/out:/out"), network="bridge", working_dir="/work")
    await engine.ran(Invocation(argv=("/bin/echo",)), docker)

    assert engine.calls[0]["argv"][5:] == [
        *("--network", "bridge", "-v", "/data:/data:ro", "-v", "/out:/out", "-w", "/work", "img", "/bin/echo")
    ]


@pytest.mark.parametrize(
    ("of_the_policy", "of_the_call", "used"),
    [("/work", "sub", "/work/sub"), ("/work", "/else", "/else"), ("", "/else", "/else")],
)
async def test_working_directory_of_a_call_is_one_inside_the_container(
    of_the_policy: str, of_the_call: str, used: str, engine: Engine
) -> None:
    await engine.ran(Invocation(argv=("/bin/echo",), cwd=of_the_call), Docker(image="img", working_dir=of_the_policy))

    assert engine.calls[0]["argv"][7:9] == ["-w", used]


async def test_relative_working_directory_without_one_of_the_policy_is_refused(engine: Engine) -> None:
    with pytest.raises(ToolError, match='the working directory "sub" must be an absolute path'):
        await engine.run(Invocation(argv=("/bin/echo",), cwd="sub"))
    assert engine.calls == []


async def test_relative_program_is_not_looked_for_in_the_folder_of_a_call(engine: Engine) -> None:
    with pytest.raises(ToolError, match='the program "bin/tool" must be an absolute path'):
        await engine.run(Invocation(argv=("bin/tool",), cwd="/else"))
    assert engine.calls == []


async def test_container_gets_declared_variables_without_values_on_the_command_line(engine: Engine) -> None:
    invocation = Invocation(argv=("/usr/bin/env",), env={"MODE": "two\nlines"}, pass_env=("TOKEN", "UNSET"))
    stdout, _, _ = await engine.ran(invocation, environ={"TOKEN": "hidden", "SECRET": "of the server"})

    argv, env = engine.calls[0]["argv"], engine.calls[0]["env"]
    assert argv[7:11] == ["-e", "TOKEN", "-e", "MODE"]
    assert "hidden" not in " ".join(argv)
    assert env["TOKEN"] == "hidden"
    assert "SECRET" not in env
    assert sorted(stdout.splitlines()) == ["MODE=two", "TOKEN=hidden", "lines"]


@pytest.mark.parametrize("name", ["HOMEBREW_GITHUB_API_TOKEN", "USER_TOKEN", "TERMINUS_TOKEN", "PATH_KEY", "LANGSMITH"])
async def test_secret_whose_name_begins_like_that_of_the_client_is_not_on_the_command_line(
    name: str, engine: Engine
) -> None:
    invocation = Invocation(argv=("/usr/bin/env",), pass_env=(name,))
    stdout, _, _ = await engine.ran(invocation, environ={name: "hidden"})

    assert "hidden" not in " ".join(engine.calls[0]["argv"])
    assert stdout == f"{name}=hidden\n"


async def test_client_keeps_its_own_settings_whatever_the_program_declares(engine: Engine) -> None:
    declared = {"PATH": "/opt/bin", "HOME": "/root", "DOCKER_HOST": "tcp://inner", "LD_PRELOAD": "x.so"}
    invocation = Invocation(argv=("/usr/bin/env",), env=declared, pass_env=("DOCKER_CONFIG",))
    stdout, _, _ = await engine.ran(invocation, environ={"DOCKER_CONFIG": "/conf", "XDG_RUNTIME_DIR": "/run/user/7"})

    env = engine.calls[0]["env"]
    assert env["PATH"] == engine.environ["PATH"]
    assert env["HOME"] == "/home/somebody"
    assert env["XDG_RUNTIME_DIR"] == "/run/user/7"
    assert not {"DOCKER_HOST", "LD_PRELOAD"} & env.keys()
    assert {*stdout.splitlines()} == {
        f"{name}={value}" for name, value in (declared | {"DOCKER_CONFIG": "/conf"}).items()
    }
    assert "DOCKER_CONFIG=/conf" not in engine.calls[0]["argv"]


async def test_each_container_has_a_name_of_its_own(engine: Engine) -> None:
    for _ in range(3):
        await engine.ran(Invocation(argv=("/bin/echo",)))

    names = {call["argv"][4] for call in engine.calls}
    assert len(names) == 3
    assert all(name.startswith("toolmason-") for name in names)


async def test_container_is_killed_by_name_when_its_time_is_up(engine: Engine, is_running: IsRunning) -> None:
    outcome = await engine.run(Invocation(argv=(SHELL, "-c", "echo begun; exec sleep 300"), timeout_s=2))
    text = "".join(outcome.stdout.texts())
    outcome.close()

    begun, killed = engine.calls
    assert outcome.timed_out
    assert text == "begun\n"
    assert killed["argv"] == ["kill", begun["argv"][4]]
    assert [is_running(begun["container"]), is_running(begun["pid"])] == [False, False]


async def test_container_is_killed_by_name_when_the_call_is_cancelled(
    engine: Engine, is_running: IsRunning, until: Any
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run, Invocation(argv=("/bin/sleep", "300"), stdin="x", timeout_s=300))
        await until(lambda: engine.container)
        assert is_running(engine.container)
        tasks.cancel_scope.cancel()

    begun, killed = engine.calls
    assert killed["argv"] == ["kill", begun["argv"][4]]
    assert [is_running(begun["container"]), is_running(begun["pid"])] == [False, False]


def test_event_loop_that_ends_takes_its_containers_along(engine: Engine, is_running: IsRunning, until: Any) -> None:
    async def begin() -> None:
        task = asyncio.ensure_future(engine.run(Invocation(argv=("/bin/sleep", "300"), timeout_s=300)))
        await until(lambda: engine.container)
        assert not task.done()

    asyncio.run(begin())

    assert [call["argv"][0] for call in engine.calls] == ["run", "kill"]
    assert not is_running(engine.container)


async def test_container_is_killed_when_its_client_is(engine: Engine, is_running: IsRunning, until: Any) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.ran, Invocation(argv=("/bin/sleep", "300"), timeout_s=300))
        await until(lambda: engine.container)
        os.kill(engine.calls[0]["pid"], 9)

    assert [call["argv"][0] for call in engine.calls] == ["run", "kill"]
    assert not is_running(engine.container)


async def test_container_that_was_still_being_made_is_removed_once_nobody_makes_it(
    engine: Engine, is_running: IsRunning
) -> None:
    outcome = await engine.run(Invocation(argv=("/bin/echo",), timeout_s=2), Docker(image="slow"))
    outcome.close()

    begun, killed, removed = engine.calls
    name = begun["argv"][4]
    assert outcome.timed_out
    assert killed["argv"] == ["kill", name]
    assert removed["argv"] == ["rm", "--force", name]
    assert not is_running(begun["pid"])


async def test_container_that_ended_by_itself_is_left_alone(engine: Engine) -> None:
    await engine.ran(Invocation(argv=(SHELL, "-c", "exit 125")))

    assert [call["argv"][0] for call in engine.calls] == ["run"]


async def test_missing_docker_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match='the program "docker" is not installed on this server'):
        await run(Invocation(argv=("echo",)), executor=in_container(IMAGE), environ={"PATH": str(tmp_path)})
