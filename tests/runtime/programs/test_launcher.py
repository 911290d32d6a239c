"""The launcher: limits of programs, their number, processes that are killed, and programs that a project plants."""

from __future__ import annotations

import asyncio
import marshal
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from oracle import LEGACY
from stdio_peer import Peer, talking
from toolmason_runtime import ToolError
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs import launcher_process
from toolmason_runtime.programs.execute import MAX_PROGRAMS, Outcome, run
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.launcher import Descriptors, Request
from toolmason_runtime.programs.result_text import reply
from toolmason_runtime.programs.sandbox import Access

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux alone"),
]

IsRunning = Callable[[int], bool]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
Program = Callable[..., tuple[str, ...]]
SYSTEM = Access(reads=(), writes=(), executes=("sleep",), network=False)
"""What a program that declares little may use."""
WORKBENCH = (sys.executable, "-m", "workbench_server", "--classic", "--all")


def text_of(outcome: Outcome) -> str:
    return "".join(outcome.stdout.texts())


async def written(*argv: str) -> str:
    outcome = await run(Invocation(argv=argv))
    text = text_of(outcome)
    outcome.close()
    assert outcome.exit_code == 0
    return text


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with programs of its own in a folder that npm would put on PATH."""
    folder = tmp_path / "project"
    (folder / "node_modules" / ".bin").mkdir(parents=True)
    for name in ("rg", "git", "wc", "du", "docker", "gh"):
        planted = folder / "node_modules" / ".bin" / name
        planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted-$(basename $0)\n", encoding="ascii")
        planted.chmod(0o755)
    (folder / "a.txt").write_text("one two\n", encoding="ascii")
    git(folder, "init", "-q")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "first")
    return folder


@pytest.fixture(params=["--root", "roots of the client"])
def workbench(project: Path, request: pytest.FixtureRequest) -> Iterator[Peer]:
    """Workbench over stdio, with a folder of the project first on PATH."""
    path = f"{project}/node_modules/.bin:{os.environ['PATH']}"
    flags = ("--root", str(project)) if request.param == "--root" else ()
    with talking(LEGACY, *flags, command=WORKBENCH, env={"PATH": path}, capabilities={"roots": {}}) as peer:
        peer.answers["roots/list"] = lambda _: {"roots": [{"uri": project.as_uri()}]}
        yield peer


def test_programs_that_a_project_plants_on_path_do_not_run(workbench: Peer, project: Path) -> None:
    calls: dict[str, dict[str, Any]] = {
        "grep_content": {"pattern": "two"},
        "git_status": {},
        "word_count": {"paths": ["a.txt"]},
        "disk_usage": {"paths": ["a.txt"]},
    }
    answers = {name: workbench.call(name, arguments) for name, arguments in calls.items()}

    assert "a.txt" in str(answers["grep_content"]["content"])
    assert "## " in str(answers["git_status"]["content"])
    assert not any(answer.get("isError") for answer in answers.values()), answers
    assert list(project.parent.glob("planted-*")) == []


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_word_count_refuses_pipes_and_devices(kind: str, workbench: Peer, project: Path) -> None:
    os.mkfifo(project / "pipe") if kind == "pipe" else os.mknod(project / "device", 0o20666, os.makedev(1, 5))
    answer = workbench.call("word_count", {"paths": [kind]})

    assert answer["isError"]
    assert "is a pipe, socket or device: use a regular file" in str(answer["content"])


async def test_a_program_that_wants_all_memory_gets_an_error(project: Path) -> None:
    pattern = r"\(\(\(a\{1,200\}\)\{1,200\}\)\{1,200\}\)"
    outcome = await run(Invocation(argv=("git", "log", f"--grep={pattern}"), cwd=str(project), memory_mb=256))
    text = "".join(outcome.stderr.texts())
    outcome.close()

    assert not outcome.timed_out
    assert outcome.exit_code == 128
    assert "memory" in text.lower()


async def test_a_program_has_no_descriptor_but_its_three_streams() -> None:
    assert (await written("ls", "/proc/self/fd")).split() == ["0", "1", "2", "3"]  # and the directory itself


async def test_limits_hold_for_a_program() -> None:
    outcome = await run(Invocation(argv=("sh", "-c", "ulimit -c; ulimit -d; ulimit -f; ulimit -t"), timeout_s=7))
    core, data, file, cpu = text_of(outcome).split()
    outcome.close()

    assert (core, data) == ("0", str(1024 * 1024))
    assert int(file) * 512 == 4 * 1024**3
    assert int(cpu) == 7 * (os.cpu_count() or 1) + 10


async def test_of_150_calls_at_once_no_more_run_than_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_PROGRAMS, "4")
    count = f"touch {tmp_path}/$$; ls {tmp_path} | wc -l; rm {tmp_path}/$$"
    seen = await asyncio.gather(*(written("sh", "-c", count) for _ in range(150)))

    assert 1 <= max(map(int, seen)) <= 4


async def test_a_call_waits_for_a_place_no_longer_than_its_timeout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, until: Until
) -> None:
    monkeypatch.setenv(MAX_PROGRAMS, "1")
    begun = tmp_path / "begun"
    busy = asyncio.ensure_future(run(Invocation(argv=("sh", "-c", f"touch {begun}; exec sleep 300"))))
    await until(begun.exists)
    with pytest.raises(ToolError, match="1 other programs were running") as raised:
        await run(Invocation(argv=("echo",), timeout_s=0.1))
    busy.cancel()
    with pytest.raises(asyncio.CancelledError):
        await busy

    assert raised.value.code == "BUSY"
    assert await written("echo", "again") == "again\n"


async def test_programs_run_again_after_the_launcher_was_killed(until: Until, is_running: IsRunning) -> None:
    guardian = "read _ _ _ parent _ < /proc/$PPID/stat; kill -9 $parent; echo $parent"
    killed = int(await written("sh", "-c", guardian))
    await until(lambda: not is_running(killed))

    assert await written("echo", "again") == "again\n"


async def test_children_of_a_program_that_kills_its_guardian_end(
    tmp_path: Path, until: Until, is_running: IsRunning
) -> None:
    script = f"setsid sleep 300 >/dev/null 2>&1 & echo $! $$ > {tmp_path}/pids; kill -9 $PPID; sleep 300"
    code: int | None = -9
    with suppress(ToolError):  # it may be killed before it has told that the program runs
        outcome = await run(Invocation(argv=("sh", "-c", script)))
        code = outcome.exit_code
        outcome.close()
    left = [int(each) for each in (tmp_path / "pids").read_text(encoding="ascii").split()]

    assert code == -9
    await until(lambda: not any(map(is_running, left)))


@pytest.mark.parametrize("access", [None, SYSTEM], ids=["not confined", "confined"])
async def test_program_that_stops_its_guardian_ends(
    access: Access | None, tmp_path: Path, until: Until, is_running: IsRunning
) -> None:
    pids = tmp_path / "pids"
    script = f"echo $$ $PPID > {pids}; kill -STOP $PPID; exec sleep 300"
    confined = access and replace(access, writes=(str(tmp_path),))
    code: int | None = -9
    with suppress(ToolError):  # the guardian may be stopped before it reports that the program runs
        outcome = await run(Invocation(argv=("sh", "-c", script), access=confined))
        code = outcome.exit_code
        outcome.close()

    assert code == -9
    left = [int(each) for each in pids.read_text(encoding="ascii").split()]
    await until(lambda: not any(map(is_running, left)))
    assert await written("echo", "again") == "again\n"


AHEAD = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from toolmason_runtime.programs.launcher_process import _launcher, start_ahead

with ThreadPoolExecutor(8) as pool:
    [future.result() for future in [pool.submit(start_ahead) for _ in range(32)]]
pid = _launcher._pid
children = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
print("asyncio" in sys.modules, sum(children, []) == [str(pid)])

import asyncio
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.invocation import Invocation
outcome = asyncio.run(run(Invocation(argv=("echo", "a"))))
print("".join(outcome.stdout.texts()).strip(), _launcher._pid == pid)
"""


def test_one_launcher_is_started_ahead_of_the_first_program_and_runs_it() -> None:
    done = subprocess.run([sys.executable, "-c", AHEAD], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines() == ["False True", "a True"]


REPLACED = """
import os, signal, threading
from toolmason_runtime.programs.launcher_process import _launcher, start_ahead

close = _launcher.close

def close_slowly():
    close()
    thread = threading.Thread(target=start_ahead)
    thread.start()
    thread.join(0.5)

start_ahead()
killed = _launcher._pid
os.kill(killed, signal.SIGKILL)
_launcher.close = close_slowly
_launcher._forget()
print(_launcher.start() is not None and _launcher._pid != killed)
_launcher.close = close
"""


def test_thread_may_start_a_launcher_while_a_killed_one_is_forgotten() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPLACED], capture_output=True, encoding="utf-8", check=True, timeout=20
    )
    assert done.stdout == "True\n"


async def test_program_of_a_caller_that_was_cancelled_is_not_started(tmp_path: Path) -> None:
    request = Request(("touch", f"{tmp_path}/begun"), shutil.which("touch") or "", {}, -1, (), None)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader, writer = os.pipe()
    ours.close()
    with os.fdopen(reader, "rb") as output:
        with theirs, os.fdopen(writer, "wb") as stdout, os.fdopen(os.memfd_create("request"), "wb", 0) as file:
            file.write(marshal.dumps(tuple(request)))
            folder = os.open("/", os.O_PATH)
            launcher_process.send(Descriptors(theirs.fileno(), file.fileno(), folder, *[stdout.fileno()] * 3))
            os.close(folder)
        ended = await asyncio.to_thread(output.read)  # until the guardian has closed it

    assert ended == b""
    assert os.listdir(tmp_path) == []  # noqa: PTH208


NO_PROC = """
import asyncio
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.invocation import Invocation
try:
    asyncio.run(run(Invocation(argv=("echo", "started"))))
except Exception as error:
    print(error)
"""


def test_without_proc_no_program_is_started() -> None:
    hidden = 'mount -t tmpfs none /proc && exec "$@"'
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hidden, "sh", sys.executable, "-c", NO_PROC]
    if subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], check=False).returncode:
        pytest.skip("this system allows no namespaces")
    done = subprocess.run(argv, capture_output=True, check=True, encoding="utf-8")

    assert "/proc cannot be read, and no program can be ended without it: mount /proc" in done.stdout


async def test_characters_that_change_the_direction_of_text_are_shown() -> None:
    store = ChunkStore()
    outcome = await run(Invocation(argv=("printf", "%s", "a\u202egpj.exe \u2066b\u2069 \u200f \u05d0")))
    answer = await reply(outcome, store)
    await store.aclose()

    assert answer.content == "a\\u202egpj.exe \\u2066b\\u2069 \\u200f \u05d0"


async def test_control_characters_of_a_program_are_shown_and_not_obeyed() -> None:
    store = ChunkStore()
    outcome = await run(Invocation(argv=("printf", r"\033]0;title\007 \302\233 a\tb\r\n\177end")))
    answer = await reply(outcome, store)
    await store.aclose()

    assert answer.content == "\u241b]0;title\u2407 \\u009b a\tb\r\n\u2421end"


STRANGER = """
import ctypes, os, subprocess, sys
from toolmason_runtime.server.memory import protect_memory
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE, which a change of user has cleared
if "protected" in sys.argv:
    protect_memory()
read = subprocess.run(["cat", f"/proc/{os.getpid()}/environ"], capture_output=True)
print(ctypes.CDLL(None).prctl(3) == 0, read.returncode, b"SECRET" in read.stdout)
"""
"""A child of the same user reads the environment of its parent; root could read any."""


@pytest.mark.parametrize(("word", "expected"), [("protected", "True 1 False\n"), ("as it is", "False 0 True\n")])
def test_a_child_cannot_read_the_environment_of_a_protected_server(word: str, expected: str) -> None:
    argv = [sys.executable, "-c", STRANGER, word]
    done = subprocess.run(argv, capture_output=True, check=True, env={**os.environ, "SECRET": "secret"})

    assert done.stdout.decode() == expected


SERVE = """
import ctypes, os, sys
from toolmason_runtime import boot
from toolmason_runtime.transports.shutdown import exit_hooks
from workbench_server.__main__ import main
def report():
    print("protected:", ctypes.CDLL(None).prctl(3) == 0, file=sys.stderr, flush=True)
def leave():
    report()
    os._exit(0)
exit_hooks.append(report)
boot._leave = leave
main()
"""


@pytest.mark.parametrize(
    ("flags", "expected"), [([], "True"), (["--engine", "lean"], "True"), (["--debuggable"], "False")]
)
def test_a_server_protects_its_memory_unless_debuggable_is_set(flags: list[str], expected: str) -> None:
    argv = [sys.executable, "-c", SERVE, *flags]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    assert f"protected: {expected}" in done.stderr.decode().splitlines()
