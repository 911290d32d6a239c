"""Running programs: what they are given, what is kept of what they write, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.result_text import reply
from toolmason_runtime.shared.answer_size import DEFAULT_SIZE, size_of

pytestmark = pytest.mark.anyio

Program = Callable[..., tuple[str, ...]]
IsRunning = Callable[[int], bool]
PLACES = {"PATH": os.environ["PATH"], "HOME": "/home/somebody"}


async def ran(
    argv: tuple[str, ...], *, environ: Mapping[str, str] = PLACES, **rest: Any
) -> tuple[str, str, int | None]:
    """Run a command line and give what it wrote to both streams, and its exit code."""
    outcome = await run(Invocation(argv=argv, **rest), environ=environ)
    try:
        return "".join(outcome.stdout.texts()), "".join(outcome.stderr.texts()), outcome.exit_code
    finally:
        outcome.close()


async def shown(program: Program, *arguments: str, **rest: Any) -> dict[str, Any]:
    """What a program was given."""
    stdout, stderr, _ = await ran(program("show", *arguments), **rest)
    assert stderr == ""
    said: dict[str, Any] = json.loads(stdout)
    return said


def written_by(*argv: str) -> bytes:
    """What a program writes, asked for without any of what is tested here."""
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout


def pids(place: Path) -> list[int]:
    return [int(each) for each in place.read_text(encoding="ascii").split()]


async def test_streams_and_exit_code_are_returned_separately() -> None:
    assert await ran(("sh", "-c", "echo out; echo err >&2; exit 3")) == ("out\n", "err\n", 3)


async def test_end_by_a_signal_is_a_negative_exit_code() -> None:
    assert await ran(("sh", "-c", "kill -9 $$")) == ("", "", -9)


async def test_arguments_reach_the_program_as_they_are(program: Program) -> None:
    arguments = ["", "a b", "$HOME", "`id`", "$(id)", ";", "*", "'\"", "a\nb", "\u00e9\U0001f600", "\\"]

    assert (await shown(program, *arguments))["argv"] == arguments


async def test_program_gets_basic_and_declared_variables_only(program: Program) -> None:
    needed = {"PATH": PLACES["PATH"], "LC_TIME": "C", "LANG": "C.UTF-8"}
    secret = {"API_KEY": "secret", "SSH_AUTH_SOCK": "/agent", "PYTHONPATH": "/server", "LD_PRELOAD": ""}
    server = {**needed, **secret, "HOME": "/home/somebody", "GH_TOKEN": "handed on"}
    declared = {"MODE": "safe", "HOME": "/elsewhere"}
    said = await shown(program, environ=server, env=declared, pass_env=("GH_TOKEN", "UNSET"))

    # Python sets LC_CTYPE itself where the locale is C.
    seen = {name: value for name, value in said["env"].items() if name != "LC_CTYPE"}
    assert seen == {**needed, **declared, "GH_TOKEN": "handed on", "TERM": "dumb"}


async def test_a_variable_that_is_empty_counts_as_not_set(program: Program) -> None:
    server = {"PATH": PLACES["PATH"], "GH_TOKEN": "", "OTHER": "set"}
    said = await shown(program, environ=server, pass_env=("GH_TOKEN", "OTHER"))

    assert said["env"]["OTHER"] == "set"
    assert "GH_TOKEN" not in said["env"]


async def test_environment_of_this_process_is_that_of_the_server(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_SECRET", "secret")
    monkeypatch.setenv("SERVER_WORD", "word")
    outcome = await run(Invocation(argv=program("show"), pass_env=("SERVER_WORD",)))
    env = json.loads("".join(outcome.stdout.texts()))["env"]
    outcome.close()

    assert env["SERVER_WORD"] == "word"
    assert env["PATH"] == os.environ["PATH"]
    assert "SERVER_SECRET" not in env


async def test_program_has_a_session_of_its_own_and_no_file_of_the_server(program: Program) -> None:
    ours = os.pipe()
    for each in ours:
        os.set_inheritable(each, True)
    said = await shown(program)
    for each in ours:
        os.close(each)

    assert said["leads"]
    assert not {*ours} & {*said["descriptors"]}


async def test_program_runs_in_the_directory_named(program: Program, tmp_path: Path) -> None:
    said = await shown(program, cwd=str(tmp_path))

    assert said["cwd"] == str(tmp_path)


@pytest.mark.parametrize("stdin", [None, ""])
async def test_input_that_is_not_given_is_empty_and_not_that_of_the_server(program: Program, stdin: str | None) -> None:
    assert (await shown(program, stdin=stdin))["stdin"] == ""


async def test_input_reaches_the_program_to_the_last_character(program: Program) -> None:
    text = "line\n\u20ac\U0001f600\0 no break at the end"

    assert (await shown(program, stdin=text))["stdin"] == text


async def test_input_can_be_opened_by_name() -> None:
    assert await ran(("cat", "/dev/stdin"), stdin="given") == ("given", "", 0)


async def test_much_input_that_is_read_slowly_while_both_streams_are_written_does_not_block(program: Program) -> None:
    stdout, stderr, code = await ran(program("sip"), stdin="x" * 2_000_000)

    assert (stdout, stderr, code) == ("." * 2_000_000 + "\n2000000", "!" * 2_000_000, 0)


async def test_much_input_that_is_never_read_does_not_block() -> None:
    assert await ran(("sh", "-c", "echo done"), stdin="x" * 5_000_000) == ("done\n", "", 0)


async def test_input_that_is_never_read_ends_with_the_time_of_the_program() -> None:
    outcome = await run(Invocation(argv=("sleep", "300"), stdin="x" * 5_000_000, timeout_s=0.2), environ=PLACES)
    outcome.close()

    assert outcome.timed_out


async def test_much_on_both_streams_is_kept_apart_and_whole(program: Program) -> None:
    stdout, stderr, code = await ran(program("flood", 3_000_000, 12))

    assert code == 0
    assert stdout == stderr
    assert len(stdout.encode()) == 3_000_000
    assert stdout.startswith("000000000 \u00e9\u20ac\U0001f600\n000000001 ")


async def test_invalid_utf_8_is_replaced_and_characters_split_between_reads_are_kept(
    python: tuple[str, ...],
) -> None:
    script = r"""
import os
for byte in b"\xc3\xa9 \xff \xe2\x82\xac \xf0\x9f\x98\x80 \xc0\x80 \xe2\x82":
    os.write(1, bytes([byte]))
"""
    stdout, _, _ = await ran((*python, "-c", script))

    assert stdout == "\u00e9 \ufffd \u20ac \U0001f600 \ufffd\ufffd \ufffd"


async def test_twenty_megabytes_are_held_in_little_memory_and_can_be_fetched_whole(program: Program) -> None:
    size, store = 20_000_010, ChunkStore()
    tracemalloc.start()
    try:
        outcome = await run(Invocation(argv=program("flood", size, 1)), environ=PLACES)
        answer = await reply(outcome, store)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 6_000_000
    assert size_of(str(answer.content)) < DEFAULT_SIZE
    found = re.search(r'cacheKey="(\w+)", chunkIndex=2\) gives the next of ([\d]+) parts\]\n', str(answer.content))
    assert found is not None
    digest, fetched = hashlib.sha256(), 0
    for number in range(1, int(found[2]) + 1):
        part = (await store.fetch(found[1], number))["chunk"]["content"].encode()
        digest.update(part)
        fetched += len(part)
    await store.aclose()
    written = written_by(*program("flood", size, 1))
    assert not written.endswith(b"\n")
    assert (fetched, digest.digest()) == (size, hashlib.sha256(written).digest())


async def test_output_beyond_the_limits_is_dropped_and_the_program_continues(program: Program) -> None:
    invocation = Invocation(argv=program("flood", 1_000_000, 1))
    outcome = await run(invocation, environ=PLACES, max_memory_bytes=1000, max_file_bytes=10_000)
    kept = "".join(outcome.stdout.texts())
    outcome.close()

    assert outcome.exit_code == 0
    assert outcome.stdout.size == 1_000_000
    assert outcome.stdout.dropped_bytes == 989_000
    assert 10_990 < len(kept.encode()) <= 11_000


async def test_program_that_closes_its_streams_and_goes_on_is_waited_for(
    python: tuple[str, ...], tmp_path: Path
) -> None:
    script = f"""
import os, pathlib, sys
os.write(1, b"closing")
os.close(1)
os.close(2)
sys.stdin.read()
pathlib.Path({str(tmp_path / "done")!r}).write_text(str(sum(range(3_000_000))))
os._exit(7)
"""
    assert await ran((*python, "-c", script), stdin="x" * 500_000) == ("closing", "", 7)
    assert (tmp_path / "done").exists()


async def test_a_background_process_with_open_output_ends_with_its_program(is_running: IsRunning) -> None:
    begun = time.monotonic()
    stdout, _, code = await ran(("sh", "-c", "sleep 300 & echo $!"))

    assert code == 0
    assert not is_running(int(stdout))
    assert time.monotonic() - begun < 20


async def test_a_background_process_with_closed_output_ends_with_its_program(is_running: IsRunning) -> None:
    stdout, _, code = await ran(("sh", "-c", "sleep 300 >/dev/null 2>&1 </dev/null & echo $!; exit 5"))

    assert code == 5
    assert not is_running(int(stdout))


FAMILIES = ["plain", "deaf", "group", "last words", "session", "deaf session"]
"""A child in the group; one that ignores SIGTERM, as its parent; one in a group of its own; a parent that obeys; one
that was forked twice, in a session of its own, and obeys; the same, but it ignores SIGTERM.
"""


@pytest.mark.parametrize("kind", FAMILIES)
async def test_time_that_is_up_ends_children_too(
    kind: str, program: Program, is_running: IsRunning, tmp_path: Path
) -> None:
    place = tmp_path / "pids"
    outcome = await run(Invocation(argv=program("family", place, kind), timeout_s=2), environ=PLACES)
    stdout = "".join(outcome.stdout.texts())
    outcome.close()

    assert outcome.timed_out
    assert outcome.is_failure
    assert stdout == ("begun\nlast words\n" if kind == "last words" else "begun\n")
    assert [is_running(each) for each in pids(place)] == [False, False]


@pytest.mark.parametrize("kind", FAMILIES)
async def test_cancellation_ends_children_too(
    kind: str, program: Program, is_running: IsRunning, until: Any, tmp_path: Path
) -> None:
    place = tmp_path / "pids"
    invocation = Invocation(argv=program("family", place, kind), stdin="x" * 1_000_000, timeout_s=300)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: run(invocation, environ=PLACES))
            await until(place.exists)
            assert [is_running(each) for each in pids(place)] == [True, True]
            scope.cancel()

    assert scope.cancelled_caught
    assert [is_running(each) for each in pids(place)] == [False, False]


async def test_cancellation_of_the_task_ends_children_too_however_often_it_comes(
    program: Program, is_running: IsRunning, until: Any, tmp_path: Path
) -> None:
    place = tmp_path / "pids"
    task = asyncio.ensure_future(run(Invocation(argv=program("family", place, "deaf"), timeout_s=300), environ=PLACES))
    await until(place.exists)
    for _ in range(3):
        task.cancel()
        await anyio.lowlevel.checkpoint()
    with pytest.raises(asyncio.CancelledError):
        await task

    await until(lambda: not any(map(is_running, pids(place))))


def test_event_loop_that_ends_takes_its_programs_along(
    program: Program, is_running: IsRunning, until: Any, tmp_path: Path
) -> None:
    place = tmp_path / "pids"

    async def begin() -> None:
        task = asyncio.ensure_future(run(Invocation(argv=program("family", place, "plain")), environ=PLACES))
        await until(place.exists)
        assert not task.done()

    asyncio.run(begin())

    asyncio.run(until(lambda: not any(map(is_running, pids(place)))))


async def test_cancellation_while_it_starts_leaves_nothing() -> None:
    seconds = f"300.{os.getpid()}"
    for steps in range(12):
        task = asyncio.ensure_future(run(Invocation(argv=("sleep", seconds)), environ=PLACES))
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    listed = written_by("ps", "-A", "-o", "args=").decode()
    assert f"sleep {seconds}" not in listed
    assert "ps -A" in listed


async def test_cancelled_run_whose_program_is_missing_is_only_cancelled() -> None:
    with anyio.move_on_after(0) as scope:
        await run(Invocation(argv=("no-such-program",)), environ=PLACES)

    assert scope.cancelled_caught


async def test_runs_at_the_same_time_do_not_end_one_another(program: Program, tmp_path: Path) -> None:
    async def one(number: int) -> tuple[str, str, int | None]:
        return await ran(("sh", "-c", f"echo {number}; exit {number}"))

    results = await asyncio.gather(ran(program("family", tmp_path / "pids", "plain"), timeout_s=1), *map(one, range(8)))

    assert results[1:] == [(f"{number}\n", "", number) for number in range(8)]


async def refusal(*argv: str, **rest: Any) -> ToolError:
    with pytest.raises(ToolError) as raised:
        await ran(argv, **rest)
    return raised.value


async def test_missing_program_is_reported() -> None:
    error = await refusal("no-such-program", "x")

    assert (
        error.message
        == 'the program "no-such-program" is not installed on this server: no directory of PATH contains it'
    )
    assert error.code == "NOT_INSTALLED"


async def test_missing_file_as_program_is_reported(tmp_path: Path) -> None:
    error = await refusal("./missing", cwd=str(tmp_path))

    assert error.message == 'the program "./missing" is not installed on this server: no such file'


@pytest.mark.parametrize("name", ["tool", "./tool"])
async def test_file_that_is_not_executable_is_reported(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n", encoding="ascii")
    if name.startswith("."):
        monkeypatch.chdir(tmp_path)
    error = await refusal(name, environ={"PATH": str(tmp_path)})

    assert error.message == f'"{name}" exists, but this server has no permission to execute it'
    assert error.code == "NOT_EXECUTABLE"


async def test_directory_as_program_is_reported(tmp_path: Path) -> None:
    assert (await refusal(str(tmp_path))).message == f'"{tmp_path}" is a directory, not a program'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/no/such/interpreter\n", '"./tool" cannot run: the interpreter in its first line is missing'),
        ("echo no first line\n", '"./tool" is neither a program for this system nor a script that starts with #!'),
    ],
)
async def test_script_without_a_valid_first_line_is_reported(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").write_text(text, encoding="ascii")
    (tmp_path / "tool").chmod(stat.S_IRWXU)
    monkeypatch.chdir(tmp_path)

    assert (await refusal("./tool", stdin="x")).message == said


async def test_command_line_above_the_limit_is_reported() -> None:
    error = await refusal("echo", "x" * 50_000_000, stdin="x")

    assert error.code == "TOO_LARGE"
    assert error.message == (
        'the command line of "echo" has 50,000,006 bytes, which exceeds the limit of this system: send fewer or '
        "shorter values, or send the text as standard input if the tool has a parameter for it"
    )
    assert isinstance(error.__cause__, OSError)
    assert error.__cause__.errno == errno.E2BIG


async def test_missing_working_directory_is_reported(tmp_path: Path) -> None:
    error = await refusal("echo", cwd=str(tmp_path / "missing"))

    assert error.message == f'the working directory "{tmp_path / "missing"}" does not exist; use an existing directory'
    assert error.code == "NOT_FOUND"


async def test_working_directory_that_is_a_file_is_reported() -> None:
    error = await refusal("echo", cwd=__file__)

    assert error.message == f'the working directory "{__file__}" is not a directory; use an existing directory'
    assert error.code == "NOT_A_DIRECTORY"


async def test_working_directory_with_a_long_name_is_reported_shortened() -> None:
    error = await refusal("echo", cwd="x" * 10_000)

    assert 'xx..." does not exist' in error.message
    assert len(error.message) < 400


async def test_program_with_a_long_name_is_reported_shortened() -> None:
    for name in ("x" * 10_000, "./" + "x" * 10_000):
        error = await refusal(name)
        assert 'xx..." is not installed on this server' in error.message
        assert len(error.message) < 400


async def test_program_with_a_slash_is_looked_for_from_the_folder_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").symlink_to("/bin/echo")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "tool").symlink_to("/bin/false")
    monkeypatch.chdir(tmp_path)

    assert await ran(("./tool", "found"), cwd=str(tmp_path / "work")) == ("found\n", "", 0)


@pytest.mark.parametrize("path", [".", "", ":", "bin"])
async def test_program_is_not_taken_from_the_folder_that_is_worked_on(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    for place in (tmp_path, tmp_path / "bin"):
        (place / "tool").symlink_to("/bin/echo")

    assert (await refusal("tool", cwd=str(tmp_path), environ={"PATH": path})).code == "NOT_INSTALLED"


@pytest.mark.parametrize("place", ["the server's directory", "the directory of the call", "a project", "a link to one"])
async def test_directory_of_path_inside_a_project_is_skipped(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project" / "node_modules" / ".bin"
    folder.mkdir(parents=True)
    (folder / "echo").symlink_to("/bin/false")
    (tmp_path / "link").symlink_to(folder)
    if place.startswith("the server"):
        monkeypatch.chdir(tmp_path / "project")
    named = tmp_path / "link" if place.startswith("a link") else folder
    rest: dict[str, Any] = {"cwd": str(tmp_path / "project")} if place.startswith("the directory") else {}
    if place.startswith("a "):
        rest["projects"] = (str(tmp_path / "project"),)
    environ = {"PATH": f".:{named}:{os.environ['PATH']}"}

    assert await ran(("echo", "found"), environ=environ, **rest) == ("found\n", "", 0)
    # Nor does the program find its own programs there.
    written, _, _ = await ran(("sh", "-c", "echo $PATH"), environ=environ, **rest)
    assert written == f"{os.environ['PATH']}\n"


async def test_program_found_only_in_a_project_is_refused_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "tool").symlink_to("/bin/echo")
    environ = {"PATH": f"{os.environ['PATH']}:{tmp_path}"}
    error = await refusal("tool", environ=environ, projects=(str(tmp_path),))

    assert error.code == "NOT_INSTALLED"
    assert error.message == (
        f'program "tool" was found only in "{tmp_path}"; PATH directories inside a project are skipped. '
        "Ask the user to install it elsewhere or to set an absolute `command`."
    )
    assert await ran((str(tmp_path / "tool"), "found"), environ=environ, projects=(str(tmp_path),)) == (
        "found\n",
        "",
        0,
    )


async def test_programs_in_home_and_in_the_environment_of_the_server_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tool").symlink_to("/bin/echo")
    own = Path(sys.prefix, "bin")

    assert await ran(("tool", "a"), environ={"PATH": str(tmp_path)}, projects=(str(tmp_path), "/")) == ("a\n", "", 0)
    found = await ran(("python", "-IS", "-c", "print(1)"), environ={"PATH": str(own)}, projects=(sys.prefix,))
    assert found == ("1\n", "", 0)


async def test_path_declared_for_a_program_is_where_it_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "tool").symlink_to("/bin/echo")

    assert await ran(("tool", "found"), env={"PATH": str(tmp_path)}) == ("found\n", "", 0)


def open_files() -> int:
    return sum(os.path.exists(f"/dev/fd/{each}") for each in range(256))  # noqa: PTH110


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers")
async def test_a_daemon_that_left_the_session_ends_with_its_command(
    program: Program, is_running: IsRunning, tmp_path: Path
) -> None:
    place = tmp_path / "pids"
    await ran(("echo",))
    before = open_files()
    done = await ran(program("family", place, "daemon"), stdin="x" * 1_000_000, timeout_s=30)
    await anyio.lowlevel.checkpoint()

    assert done == ("begun\n", "", 4)
    assert [is_running(each) for each in pids(place)] == [False, False]
    assert open_files() == before


async def test_running_leaves_no_open_file_behind(program: Program) -> None:
    await ran(program("flood", 1_000_000, 12))
    before = open_files()
    for _ in range(3):
        await ran(program("flood", 1_000_000, 12), stdin="x" * 100_000)
        await ran(("sh", "-c", "exec sleep 300"), timeout_s=0.1, stdin="x" * 100_000)
    await refusal("no-such-program", stdin="x")
    await refusal("echo", "x" * 50_000_000, stdin="x")
    await anyio.lowlevel.checkpoint()

    assert open_files() == before
