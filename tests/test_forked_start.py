"""A fork of the loaded interpreter does what the command does when it is started."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import forked_start
import pytest

ROOT: Final = Path(__file__).parents[1]
TOOLMASON: Final = (sys.executable, "-m", "toolmason")
WORKBENCH: Final = (sys.executable, "-m", "workbench_server")
SCRIPTS: Final = Path(sys.executable).parent
DURATION: Final = re.compile(rb"\d+(\.\d+)? ?m?s\b")
INITIALIZE: Final = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",'
    b' "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}\n'
    b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
)
CALL: Final = (
    b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "call_read", "arguments":'
    b' {"tool_name": "list_allowed_directories", "args": {}}}}\n'
)
# Prints all that a process can see of how it was started.
MIRROR: Final = """
import gc, json, os, re, signal, sys, threading, time

def stream(each):
    return each and [
        each.name, each.mode, each.encoding, each.errors, each.newlines, each.line_buffering, each.write_through,
        each.closed, type(each.buffer).__name__, each.fileno(), each is getattr(sys, f"__{each.name[1:-1]}__"),
    ]

if len(sys.argv) > 1 and sys.argv[1] == "do":
    exec(sys.argv[2])
json.dump({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "executable": sys.executable, "path": sys.path, "cwd": os.getcwd(),
    "env": dict(os.environ), "flags": re.sub("(unbuffered|dont_write_bytecode)=.", "", str(sys.flags)),
    "warnings": sys.warnoptions, "pycache": sys.dont_write_bytecode,
    "streams": [stream(sys.stdin), stream(sys.stdout), stream(sys.stderr)],
    "fds": sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{fd}")),
    "main": [__name__, __file__, __package__, __spec__ and __spec__.name, sys.modules["__main__"].__file__],
    "signals": {str(n): str(signal.getsignal(n)) for n in sorted(signal.valid_signals())},
    "blocked": sorted(map(str, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
    "umask": os.umask(0), "leads": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "parent": os.getppid(), "threads": threading.active_count(), "tracing": str(sys.gettrace()),
    "recursion": sys.getrecursionlimit(), "gc": gc.isenabled(), "zone": time.tzname,
}, sys.stdout, sort_keys=True, indent=1)
"""

Run = Callable[[], "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that is generated, with a package of a server that shows how it was started."""
    directory = tmp_path_factory.mktemp("project")
    with forked_start.real_starts():
        subprocess.run([*TOOLMASON, "init", "notes"], cwd=directory, check=True, capture_output=True)
    mirror = directory / "mirror" / "mirror_server"
    mirror.mkdir(parents=True)
    (mirror / "__init__.py").touch()
    (mirror / "__main__.py").write_text(MIRROR, encoding="utf-8")
    return directory


def both(command: Run) -> tuple[subprocess.CompletedProcess[bytes], subprocess.CompletedProcess[bytes]]:
    """The results of a real start and of a fork."""
    with forked_start.real_starts():
        started = command()
    before = forked_start.count()
    forked = command()
    assert forked_start.count() == before + 1, "no fork"
    return started, forked


def assert_same(command: Run) -> subprocess.CompletedProcess[bytes]:
    started, forked = both(command)
    assert DURATION.sub(b"T", forked.stdout) == DURATION.sub(b"T", started.stdout)
    assert DURATION.sub(b"T", forked.stderr) == DURATION.sub(b"T", started.stderr)
    assert forked.returncode == started.returncode
    return forked


def ran(*command: str | bytes, **options: Any) -> Run:
    return lambda: subprocess.run(command, capture_output=True, check=False, timeout=100, **{"input": b"", **options})


COMMANDS: Final = {
    "version": "--version",
    "help": "--help",
    "help of import": "import --help",
    "an unknown command": "chekc",
    "an unknown option": "check --fast",
    "no command": "",
    "a check": "check --manifest manifest/notes.toml",
    "a check of a missing manifest": "check --manifest manifest/none.toml",
    "a lint": "lint --manifest manifest/notes.toml",
    "an explanation": "explain TM203",
    "an unknown code": "explain TM999",
    "a search": "search --manifest manifest/notes.toml words",
    "the tokens": "stats --manifest manifest/notes.toml",
    "a list for people": "inspect --manifest manifest/notes.toml",
    "a call": 'call --manifest manifest/notes.toml count_words \'{"text": "to be or not to be"}\'',
    "a call with a mistake": "call --manifest manifest/notes.toml count_words '{}'",
    "generation": "generate --manifest manifest/notes.toml",
    "an import of nothing": "import openapi none.json",
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_the_toolkit_prints_and_exits_alike(arguments: str, project: Path) -> None:
    assert_same(ran(*TOOLMASON, *shlex.split(arguments), cwd=project / "notes"))


def test_a_new_project_is_the_same(tmp_path: Path) -> None:
    def create() -> subprocess.CompletedProcess[bytes]:
        shutil.rmtree(tmp_path / "books", ignore_errors=True)
        done = ran(*TOOLMASON, "init", "books", cwd=tmp_path)()
        trees.append({path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()})
        return done

    trees: list[dict[Path, bytes]] = []
    assert_same(create)
    assert trees[0] == trees[1]


@pytest.mark.parametrize("arguments", ["--list-tools", "--help", "--version", "--rot", "install --print", "doctor"])
def test_workbench_prints_and_exits_alike(arguments: str, tmp_path: Path) -> None:
    assert_same(ran(*WORKBENCH, *shlex.split(arguments), cwd=tmp_path))


def talked(*command: str, lines: bytes, **options: Any) -> Run:
    """Send `lines`, wait for an answer to each request, and close the input."""

    def talk() -> subprocess.CompletedProcess[bytes]:
        with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, **options) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(lines)
            process.stdin.flush()
            answers = [process.stdout.readline() for _ in range(lines.count(b'"id"'))]
            rest, errors = process.communicate(timeout=60)
        return subprocess.CompletedProcess(command, process.returncode, b"".join(answers) + rest, errors)

    return talk


@pytest.mark.parametrize("flags", [(), ("--classic", "--all"), ("--engine", "sdk")])
def test_workbench_answers_alike(flags: tuple[str, ...], tmp_path: Path) -> None:
    # With this, the check of the setup has nothing to report a second after the start.
    program = tmp_path / "gemini"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    env = {**os.environ, "GEMINI_API_KEY": "k", "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    (project := tmp_path / "project").mkdir()
    done = assert_same(talked(*WORKBENCH, *flags, cwd=project, env=env, lines=INITIALIZE + CALL))
    assert done.stdout.count(b'"result"') == (1 if flags[:1] == ("--classic",) else 2)


def test_a_generated_server_answers_alike(project: Path) -> None:
    notes = project / "notes"
    path = os.pathsep.join([str(notes / "generated"), str(notes / "handlers")])
    lists = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'
    call = (
        b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "call", "arguments":'
        b' {"tool_name": "count_words", "args": {"text": "to be"}}}}\n'
    )
    command, env = (sys.executable, "-m", "notes_server"), {**os.environ, "PYTHONPATH": path}
    done = assert_same(talked(*command, lines=INITIALIZE + lists + call, env=env))
    assert done.stdout.count(b'"result"') == 3


@pytest.mark.parametrize("script", ["toolmason", "toolmason-workbench"])
def test_an_installed_program_prints_and_exits_alike(script: str, tmp_path: Path) -> None:
    assert_same(ran(str(SCRIPTS / script), "--help", cwd=tmp_path))
    assert_same(ran(str(SCRIPTS / script), "--rot", cwd=tmp_path))


def test_arguments_may_be_any_bytes(project: Path) -> None:
    assert_same(ran(*TOOLMASON, "check", "--manifest", b"\xff\xc3.toml", cwd=project))
    assert_same(mirrored(project, b"\xff", "ü", ""))


def mirrored(project: Path, *arguments: str | bytes, env: dict[str, str] | None = None, **options: Any) -> Run:
    env = {**os.environ, "PYTHONPATH": str(project / "mirror")} | (env or {})
    return ran(sys.executable, "-m", "mirror_server", *arguments, env=env, **options)


def test_a_process_sees_the_same_of_its_start(project: Path) -> None:
    done = assert_same(mirrored(project))
    assert json.loads(done.stdout)["parent"] == os.getpid()


@pytest.mark.parametrize(
    "options",
    [
        {"start_new_session": True},
        {"process_group": 0},
        {"umask": 0o27},
        {"restore_signals": False},
        {"env": {"TZ": "Asia/Tokyo", "HOME": "/nowhere", "EMPTY": ""}},
        {"env": {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": ""}},
        {"env": {"PYTHONUNBUFFERED": "", "PYTHONDONTWRITEBYTECODE": "1"}},
    ],
    ids=str,
)
def test_options_of_a_start_have_the_same_effect(options: dict[str, Any], project: Path) -> None:
    assert_same(mirrored(project, **options))


def test_the_working_directory_may_be_a_link(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project / "mirror")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(["", ".", "../none", str(tmp_path)])}
    assert_same(ran(sys.executable, "-m", "mirror_server", cwd=tmp_path / "link", env=env))


def test_descriptors_are_passed_under_their_numbers(project: Path) -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "wb"):
        assert_same(mirrored(project, pass_fds=[theirs, ours]))
        write = f"os.write({theirs}, b'x'); os.close({theirs})"
        assert_same(mirrored(project, "do", write, pass_fds=[theirs]))
        assert os.read(ours, 10) == b"xx"


ENDS: Final = {
    "an exit code": "sys.exit(7)",
    "a large exit code": "sys.exit(263)",
    "an exit message": "sys.exit('no')",
    "an exception": "{}['none']",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "os.kill(os.getpid(), 9)",
    "a signal with a default handler": "os.kill(os.getpid(), 15)",
    "an interrupt by signal": "os.kill(os.getpid(), 2); time.sleep(9)",
    "a broken pipe": "os.close(1); os.open('/dev/full', 1); print('x' * 9); sys.exit(3)",
    "a thread that goes on": "threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start(); sys.exit(4)",
    "a function at exit": "import atexit; atexit.register(print, 'end'); sys.exit()",
    "closed output": "sys.stdout.close(); sys.exit(5)",
    "a large output": "sys.stdout.write('x' * 3_000_000); sys.exit()",
    "bytes that are no text": "sys.stdout.buffer.write(bytes(range(256))); sys.stderr.write('\\udcff'); sys.exit()",
    "input": "sys.stdout.write(repr(sys.stdin.read())); sys.exit()",
}


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_every_end_is_the_same(code: str, project: Path) -> None:
    assert_same(mirrored(project, "do", code, input=b"a\r\nb\n"))


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_closed(closed: str, project: Path) -> None:
    descriptor = ["stdin", "stdout", "stderr"].index(closed)

    def run() -> subprocess.CompletedProcess[bytes]:
        saved = os.dup(descriptor)
        os.close(descriptor)
        try:
            env = {**os.environ, "PYTHONPATH": str(project / "mirror")}
            streams = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr") if name != closed}
            command = [sys.executable, "-m", "mirror_server"]
            with subprocess.Popen(command, env=env, **streams) as process:  # type: ignore[call-overload]
                out, err = process.communicate(timeout=60)
            return subprocess.CompletedProcess(command, process.returncode, out or b"", err or b"")
        finally:
            os.dup2(saved, descriptor)
            os.close(saved)

    assert_same(run)


def test_a_signal_that_is_ignored_here_is_ignored_there(project: Path) -> None:
    handler = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        assert_same(mirrored(project))
    finally:
        signal.signal(signal.SIGUSR1, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@pytest.mark.anyio
async def test_async_processes_are_forks_as_well() -> None:
    before = forked_start.count()
    done = await anyio.run_process([*TOOLMASON, "--version"])
    assert done.stdout.startswith(b"toolmason")
    assert forked_start.count() == before + 1


def test_threads_start_processes_at_once(tmp_path: Path) -> None:
    results: list[bytes] = []
    start = ran(*TOOLMASON, "explain", "TM203", cwd=tmp_path)
    threads = [threading.Thread(target=lambda: results.append(start().stdout)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert len(results) == 8


def test_forks_choose_other_random_numbers(project: Path) -> None:
    run = mirrored(project, "do", "import random; print(random.random()); sys.exit()")
    assert run().stdout != run().stdout


def test_requests_may_be_large(project: Path) -> None:
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(10)}
    assert_same(mirrored(project, *["y" * 100] * 5_000, env=large))


REAL: Final = {
    "code": ([sys.executable, "-c", "pass"], {}),
    "an option of the interpreter": ([sys.executable, "-I", "-m", "toolmason", "--version"], {}),
    "another module": ([sys.executable, "-m", "json.tool", "--help"], {}),
    "a seed": ([*TOOLMASON, "--version"], {"env": {**os.environ, "PYTHONHASHSEED": "7"}}),
    "a language": ([*TOOLMASON, "--version"], {"env": {**os.environ, "LC_ALL": "POSIX"}}),
    "coverage": ([*TOOLMASON, "--version"], {"env": {**os.environ, "COVERAGE_PROCESS_START": ""}}),
    "a function before exec": ([*TOOLMASON, "--version"], {"preexec_fn": lambda: None}),
    "inherited descriptors": ([*TOOLMASON, "--version"], {"close_fds": False}),
}


@pytest.mark.parametrize(("command", "options"), REAL.values(), ids=REAL)
def test_a_command_that_a_fork_cannot_imitate_is_started(
    command: list[str], options: dict[str, Any], tmp_path: Path
) -> None:
    before = forked_start.count()
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, **options)
    assert forked_start.count() == before


@pytest.mark.parametrize("name", ["json.py", "jinja2", "toolmason_runtime", "sitecustomize.py"])
@pytest.mark.parametrize("place", ["cwd", "PYTHONPATH"])
def test_a_module_that_hides_a_loaded_one_is_started(name: str, place: str, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / name
    (hidden if hidden.suffix else hidden / "x").parent.mkdir(parents=True)
    (hidden if hidden.suffix else hidden / "__init__.py").touch()
    before = forked_start.count()
    env = {**os.environ, "PYTHONPATH": str(hidden.parent if place == "PYTHONPATH" else tmp_path)}
    directory = hidden.parent if place == "cwd" else tmp_path
    subprocess.run([*TOOLMASON, "--version"], cwd=directory, env=env, capture_output=True, check=False)
    assert forked_start.count() == before


def test_a_missing_directory_is_refused_as_ever(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        subprocess.run([*TOOLMASON, "--version"], cwd=tmp_path / "none", check=False)


@pytest.mark.real_start(reason="is what this test is about")
def test_a_marked_test_starts_processes() -> None:
    before = forked_start.count()
    subprocess.run([*TOOLMASON, "--version"], capture_output=True, check=True)
    assert forked_start.count() == before


def test_a_loaded_interpreter_that_ended_is_replaced(tmp_path: Path) -> None:
    run = ran(*TOOLMASON, "--version", cwd=tmp_path)
    run()
    forked_start.loaded_interpreter().kill()
    assert_same(run)


def test_an_interrupted_request_leaves_no_answer_for_the_next(tmp_path: Path) -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    run = ran(*TOOLMASON, "--version", cwd=tmp_path)
    run()
    before = signal.signal(signal.SIGUSR1, interrupt)
    forked_start.loaded_interpreter().send_signal(signal.SIGSTOP)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert_same(run)


def test_orphans_of_others_are_not_ours(project: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '0.1']).pid); sys.exit()"
    pid = int(mirrored(project, "do", code)().stdout)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)
