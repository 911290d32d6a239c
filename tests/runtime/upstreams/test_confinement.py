"""A hostile upstream reaches nothing beyond its manifest: real programs, in the sandboxes of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent
from toolmason_runtime.programs import sandbox
from toolmason_runtime.programs.access import SANDBOX
from toolmason_runtime.shared.specs.program import Permissions
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.upstreams.confinement import Confinement, home_directory, sandbox_advice
from toolmason_runtime.upstreams.process import UpstreamProcess

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sandbox.supported(), reason="this system has neither Landlock nor bwrap"),
]

SERVER = Path(__file__).with_name("hostile_program.py")
MODES = [mode for mode in ("landlock", "bwrap") if mode == sandbox.supported() or sandbox.can_use_bwrap()]
SECRET = "t0p-secret-of-the-server"


@dataclass
class World:
    """The files around an upstream."""

    user_home: Path
    project: Path
    notes: Path
    port: int
    upstream_home: Path = field(default_factory=Path)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(SANDBOX, request.param)
    return str(request.param)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    user_home = tmp_path / "user"
    for name in (".ssh/id_ed25519", ".npm/_cacache/index", ".npmrc", ".config/gh/hosts.yml", ".bashrc"):
        (user_home / name).parent.mkdir(parents=True, exist_ok=True)
        (user_home / name).write_text(SECRET, encoding="utf-8")
    (user_home / ".local" / "state" / "toolmason" / "upstreams" / "desk.other").mkdir(parents=True)
    (user_home / ".local" / "state" / "toolmason" / "upstreams" / "desk.other" / "facts").write_text(SECRET)
    (user_home / ".local" / "state" / "toolmason" / "desk.token").write_text(SECRET)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text(SECRET, encoding="utf-8")
    program = project / "program"
    program.write_text(f"#!/bin/sh\necho {SECRET}\n", encoding="utf-8")
    program.chmod(0o755)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "note").write_text("a note", encoding="utf-8")
    monkeypatch.setenv("HOME", str(user_home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("DESK_SECRET", SECRET)
    monkeypatch.setenv("NOTES", str(notes))
    # Stands for the server: its environment has had the secret since its start.
    server = subprocess.Popen(["/bin/sleep", "600"], env={"DESK_SECRET": SECRET})
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield World(user_home, project, notes, listener.getsockname()[1], home_directory("desk", "hostile"))
    finally:
        server.kill()
        server.wait()


@asynccontextmanager
async def connected(world: World, **keys: Any) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Start the upstream with keys of its table, and yield a function that calls its tools."""
    memory_mb, env = keys.pop("memory_mb", 256), keys.pop("env", {})
    pass_env, working_dir = keys.pop("pass_env", ()), keys.pop("working_dir", "")
    upstream = Upstream(
        name="hostile",
        command=(sys.executable, str(SERVER), str(world.notes / "state.json")),
        env=env,
        pass_env=pass_env,
        working_dir=working_dir,
        memory_mb=memory_mb,
        permissions=Permissions(**keys),
    )
    confinement = Confinement(upstream=upstream, home=world.upstream_home, roots=(str(world.project),))
    async with Client(UpstreamProcess(upstream, confinement).streams(), mode="legacy", cache=None) as client:

        async def call(tool: str, /, **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments)
            return "\n".join(block.text for block in result.content if isinstance(block, TextContent))

        yield call


Attack = tuple[str, Callable[[World], dict[str, Any]]]


def at(tool: str, path: str) -> Attack:
    """Return an attack on a file of the user."""
    return tool, lambda world: {"path": str(world.user_home / path)}


ATTACKS: dict[str, Attack] = {
    "reads an SSH key": at("read", ".ssh/id_ed25519"),
    "reads an SSH key through a link": at("link_and_read", ".ssh/id_ed25519"),
    "reads an SSH key through a hard link": at("copy_by_hard_link", ".ssh/id_ed25519"),
    "lists the home directory": at("list_names", "."),
    "reads the token of npm": at("read", ".npmrc"),
    "reads the token of a forge": at("read", ".config/gh/hosts.yml"),
    "reads the token of the server": at("read", ".local/state/toolmason/desk.token"),
    "reads the data of another upstream": at("read", ".local/state/toolmason/upstreams/desk.other/facts"),
    "lists the other upstreams": at("list_names", ".local/state/toolmason/upstreams"),
    "poisons the cache of npm": at("write", ".npm/_cacache/index"),
    "changes a startup file of the shell": at("write", ".bashrc"),
    "creates a file in the home directory": at("write", ".profile"),
    "removes a file": at("remove", ".bashrc"),
    "moves a file to its own directory": at("move", ".ssh/id_ed25519"),
    "reads another project": ("read", lambda world: {"path": str(world.project / ".git" / "config")}),
    "writes to another project": ("write", lambda world: {"path": str(world.project / ".git" / "config")}),
    "starts a program of another project": ("run", lambda world: {"argv": [str(world.project / "program")]}),
    "reads a file by a shell": ("run", lambda world: {"argv": ["/bin/cat", str(world.user_home / ".npmrc")]}),
    "reads the environment of the server": ("find_secret", lambda _: {"secret": SECRET}),
    "reads the memory of the server": ("read_memory", lambda _: {"pid": os.getpid()}),
    "traces the server": ("trace", lambda _: {"pid": os.getpid()}),
    "reads a variable of the server": ("environment", lambda _: {"name": "DESK_SECRET"}),
    "connects to a local service": ("connect", lambda world: {"port": world.port}),
    "connects by a child process": ("connect_as_child", lambda world: {"port": world.port}),
    "allocates memory without end": ("allocate", lambda _: {"mb": 2048}),
}


EMPTY_TREE = {
    "changes a startup file of the shell",
    "creates a file in the home directory",
    "removes a file",
    "lists the home directory",
    "lists the other upstreams",
}
"""Attacks that `bwrap` lets happen in an empty tree of its own, which ends with the program."""


async def test_a_hostile_upstream_is_denied_everything(mode: str, world: World) -> None:
    outcomes = {}
    async with connected(world, network=False) as call:
        for about, (tool, arguments) in ATTACKS.items():
            outcomes[about] = await call(tool, **arguments(world))
        assert await call("plain") == "done: fine"

    succeeded = {about for about, text in outcomes.items() if not text.startswith("denied: ")}
    assert succeeded <= (EMPTY_TREE if mode == "bwrap" else set())
    assert not any(SECRET in text for text in outcomes.values())
    assert (world.user_home / ".bashrc").read_text(encoding="utf-8") == SECRET
    assert not (world.user_home / ".profile").exists()
    assert (world.project / ".git" / "config").read_text(encoding="utf-8") == SECRET
    if mode == "bwrap" or sandbox.abi() >= 6:
        async with connected(world, network=False) as call:
            assert (await call("stop", pid=os.getpid())).startswith("denied: ")


async def test_the_same_attacks_succeed_without_a_sandbox(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "off")
    skipped = {"allocates memory without end", "reads a variable of the server"}
    failed = {}
    async with connected(world, network=False) as call:
        for about, (tool, arguments) in ATTACKS.items():
            text = await call(tool, **arguments(world)) if about not in skipped else "done: "
            if not text.startswith("done: "):
                failed[about] = text

    assert failed.keys() <= {
        "reads the memory of the server",
        "traces the server",
        # The first succeeds, so the file has gone.
        "moves a file to its own directory",
        "removes a file",
    }


@pytest.mark.usefixtures("mode")
async def test_an_upstream_has_a_home_and_a_temporary_directory(world: World) -> None:
    async with connected(world, network=False) as call:
        home, temporary = await call("home"), await call("temporary")

    assert home == f"done: {world.upstream_home.resolve()}; it runs"
    assert (world.upstream_home / "kept").exists()
    assert world.upstream_home.stat().st_mode & 0o777 == 0o700
    assert not Path(temporary.removeprefix("done: ")).parent.exists()


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(
    ("keys", "tool", "arguments", "result"),
    [
        pytest.param({"reads": ("$NOTES",)}, "read", "notes/note", "done: a note", id="reads a declared path"),
        pytest.param({"reads": ("$NOTES",)}, "write", "notes/new", "denied: ", id="does not write a path of reads"),
        pytest.param({"writes": ("$NOTES",)}, "write", "notes/new", "done: written", id="writes a declared path"),
        pytest.param({"reads": ("{roots}",)}, "read", "project/.git/config", "done: ", id="reads the roots"),
        pytest.param({"reads": ("~/.npmrc",)}, "read", "user/.npmrc", "done: ", id="reads one file of the home"),
        pytest.param({"working_dir": "$NOTES"}, "read", "notes/note", "done: a note", id="reads its working_dir"),
        pytest.param({"working_dir": "$NOTES"}, "write", "notes/new", "denied: ", id="does not write its working_dir"),
        pytest.param({"working_dir": "$NOTES", "writes": ("{cwd}",)}, "write", "notes/x", "done: ", id="writes {cwd}"),
        pytest.param({"reads": ("$UNSET/x", "/nowhere")}, "read", "user/.npmrc", "denied: ", id="ignores absent paths"),
    ],
)
async def test_declared_paths_are_allowed(
    world: World, keys: dict[str, Any], tool: str, arguments: str, result: str
) -> None:
    async with connected(world, **{"network": False, **keys}) as call:
        text = await call(tool, path=str(world.notes.parent / arguments))

    assert text.startswith(result)


@pytest.mark.usefixtures("mode")
async def test_network_and_programs_are_allowed_where_declared(world: World) -> None:
    program = str(world.project / "program")
    async with connected(world, network=True, executes=(program,)) as call:
        assert await call("connect", port=world.port) == "done: connected"
        assert await call("run", argv=[program]) == f"done: {SECRET}"
        assert (await call("run", argv=["/bin/sh", "-c", "echo shell"])) == "done: shell"


@pytest.mark.usefixtures("mode")
async def test_the_manifest_can_pass_on_the_home_of_the_user(world: World) -> None:
    async with connected(world, pass_env=("HOME",), reads=("~/.npmrc",)) as call:
        assert await call("environment", name="HOME") == f"done: {world.user_home}"
        assert await call("read", path=str(world.user_home / ".npmrc")) == f"done: {SECRET}"
        assert (await call("read", path=str(world.user_home / ".ssh" / "id_ed25519"))).startswith("denied: ")
        cache = await call("environment", name="npm_config_cache")
    assert Path(cache.removeprefix("done: ")).is_relative_to(world.upstream_home.resolve())


@pytest.mark.usefixtures("mode")
async def test_processes_that_leave_the_session_end_with_the_upstream(
    world: World, until: Callable[..., Awaitable[None]], is_running: Callable[[int], bool]
) -> None:
    pids = world.notes / "pids"
    async with connected(world, writes=("$NOTES",)) as call:
        assert await call("fork", count=60, path=str(pids)) == "done: 60 processes"
        await until(lambda: len(pids.read_text(encoding="utf-8").split()) == 60)
        started = [int(word) for word in pids.read_text(encoding="utf-8").split()]
    if os.environ[SANDBOX] == "landlock":  # the numbers in `bwrap` are those of its namespace
        await until(lambda: not any(map(is_running, started)))


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        pytest.param(
            "Error: EACCES: permission denied, open '/home/ada/notes/a.md'", "/home/ada/notes/a.md", id="node"
        ),
        pytest.param("PermissionError: [Errno 13] Permission denied: '/srv/x'", "/srv/x", id="python"),
        pytest.param("open /etc/app/config.yml: permission denied", "/etc/app/config.yml", id="go"),
        pytest.param('Permission denied (os error 13) at path "/var/lib/x"', "/var/lib/x", id="rust"),
        pytest.param("sh: 1: /opt/tool: Permission denied", "/opt/tool", id="shell"),
        pytest.param("Error: spawn /opt/tool EACCES", "`executes`", id="a program"),
        pytest.param("sqlite3.OperationalError: unable to open database file", "`reads` or `writes`", id="SQLite"),
        pytest.param("FATAL ERROR: JavaScript heap out of memory", "`memory_mb`", id="node's heap"),
        pytest.param("MemoryError", "`memory_mb`", id="python's memory"),
        pytest.param("runtime: out of memory: cannot allocate 4096-byte block", "`memory_mb`", id="go's memory"),
        pytest.param("Error: connect EACCES 1.2.3.4:443", "`network = true`", id="node's connection"),
        pytest.param("getaddrinfo EAI_AGAIN registry.npmjs.org", "`network = true`", id="a name"),
        pytest.param("ValueError: invalid literal", "", id="another error"),
    ],
)
def test_an_error_of_the_sandbox_names_the_missing_key(output: str, advice: str) -> None:
    upstream = Upstream(name="notes", command=("notes",), permissions=Permissions(network=False))

    text = sandbox_advice(upstream, f"first line\n{output}\nlast line")

    assert (advice in text and "[upstreams.notes]" in text) if advice else text == ""
