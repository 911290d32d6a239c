"""Workbench's tools for files, compared with a server or a program that does the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.clock import measure_children, measure_process
from bench.rounds import Cost, Ratio, alternate, ratio, typical
from bench.session import Program, Session, SessionError, Workspace, compact, session
from bench.upstreams import PACKAGES
from workbench_handlers.files.match import MAX_SEARCHED_BYTES

FILESYSTEM: Final = "server-filesystem"
RIPGREP: Final = "ripgrep"
JQ: Final = "jq"
GIT: Final = "git"
WORD: Final = "needle"
FILES: Final = 50
"""Small files that are read in one call."""
TIMEOUT_S: Final = 3_600.0
"""Seconds after which a server is killed, with all rounds of a task."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the files: bytes of the large text and of the JSON file, numbers of searched and of committed files."""

    text_bytes: int = 1_000_000_000
    searched: int = 50_000
    json_bytes: int = 200_000_000
    committed: int = 20_000


SHORT: Final = Sizes(text_bytes=10_000_000, searched=200, json_bytes=9_000_000, committed=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One task: costs of our tool and of the other program, and their ratio."""

    label: str
    other: str
    ours: Cost
    theirs: Cost
    ratio: Ratio
    target: float | None
    """The largest ratio that meets the target; None without one."""
    growth_mib: float | None
    """Resident memory of our server after all rounds, less that before the first one."""


@dataclass(frozen=True, slots=True)
class _Task:
    label: str
    other: str
    target: float | None
    ours: Callable[[Session], Cost]
    theirs: Callable[[], Cost]


def measure_file_tools(workspace: Workspace, rounds: int, *, is_short: bool = False) -> tuple[FileTask, ...]:
    """Measure each task in its own pair of servers, so that its memory is its own.

    Raises:
        SessionError: a compared server or program is not installed, or a call failed.
    """
    for program in ("git", "rg", "jq", "node"):
        if shutil.which(program) is None:
            raise SessionError(f"`{program}` is missing; install it")
    if not PACKAGES.is_dir():
        raise SessionError("the servers from npm are missing; run `npm ci` in tests/")
    project = workspace.directory / "files"
    sizes = SHORT if is_short else Sizes()
    _write_files(project, sizes)
    ours = Program("workbench", "workbench_server", ("--classic", "--root", str(project)))
    command = ("node", str(PACKAGES / "server-filesystem" / "dist" / "index.js"), str(project))
    with session(workspace, Program(FILESYSTEM, "", command=command), timeout_s=TIMEOUT_S) as theirs:
        tasks = _tasks(project, sizes, theirs)
        results = []
        for task in tasks:
            with session(workspace, ours, timeout_s=TIMEOUT_S) as running:
                _call(running, "get_file_info", path="large.txt")  # imports the tools' modules
                before = running.memory()
                work: dict[str, Callable[[], Cost]] = {"ours": partial(task.ours, running), "theirs": task.theirs}
                costs = alternate(rounds, work)
                results.append(_result(task, costs, before, running.memory()))
    return tuple(results)


def _result(task: _Task, costs: dict[str, list[Cost]], before: float | None, after: float | None) -> FileTask:
    return FileTask(
        label=task.label,
        other=task.other,
        ours=typical(costs["ours"]),
        theirs=typical(costs["theirs"]),
        ratio=ratio(costs["ours"], costs["theirs"]),
        target=task.target,
        growth_mib=None if before is None or after is None else after - before,
    )


def _tasks(project: Path, sizes: Sizes, theirs: Session) -> Sequence[_Task]:
    """Return all tasks; expressions and paths are the same on both sides."""
    large, names = project / "large.txt", [f"small/{number}.txt" for number in range(FILES)]
    paths, searched = [str(project / name) for name in names], str(project / "searched")
    return (
        _Task(
            f"first 50 lines of a file of {large.stat().st_size / 1e6:,.0f} MB",
            FILESYSTEM,
            2.0,
            lambda running: _call(running, "read_files", files=[{"path": "large.txt", "head": 50}]),
            lambda: _call(theirs, "read_text_file", path=str(large), head=50),
        ),
        _Task(
            f"{FILES} small files in one call",
            FILESYSTEM,
            2.0,
            lambda running: _call(running, "read_files", files=[{"path": name} for name in names]),
            lambda: _call(theirs, "read_multiple_files", paths=paths),
        ),
        _Task(
            f"one word in {sizes.searched:,} files",
            RIPGREP,
            1.1,
            lambda running: _call(running, "grep_content", pattern=WORD, search_path="searched"),
            lambda: _run("rg", "--line-number", WORD, searched),
        ),
        # As `grep_content` does, ripgrep gets the size of each file and skips large ones.
        _Task(
            f"one word in {sizes.searched:,} files, none over {MAX_SEARCHED_BYTES / 1e6:.0f} MB",
            RIPGREP,
            None,
            lambda running: _call(running, "grep_content", pattern=WORD, search_path="searched"),
            lambda: _run("rg", "--line-number", f"--max-filesize={MAX_SEARCHED_BYTES}", WORD, searched),
        ),
        _Task(
            f"status of a git repository with {sizes.committed:,} files, {FILES} of them changed",
            GIT,
            2.0,
            lambda running: _call(running, "git_status", repository="repository"),
            lambda: _run("git", "-C", str(project / "repository"), "status", "--porcelain"),
        ),
        _Task(
            f"status of a git repository with {FILES} new files",
            GIT,
            None,
            lambda running: _call(running, "git_status", repository="small", untracked="all"),
            lambda: _run("git", "-C", str(project / "small"), "status", "--porcelain", "--untracked-files=all"),
        ),
        *(
            _Task(
                f"`{expression}` of a JSON file of {(project / 'users.json').stat().st_size / 1e6:,.0f} MB",
                JQ,
                None,
                partial(_query, expression),
                partial(_run, "jq", "--compact-output", expression, str(project / "users.json")),
            )
            for expression in (".users | length", ".users[] | select(.id == 7) | .name")
        ),
    )


def _query(expression: str, running: Session) -> Cost:
    return _call(running, "query_json", file_path="users.json", jq_expression=expression, timeout=300)


def _call(running: Session, tool: str, **arguments: Any) -> Cost:
    """Return the cost of one call, with that of the programs that it started."""
    with measure_process(running.pid) as timer:
        result = running.request("tools/call", {"name": tool, "arguments": arguments})
    if result.get("isError"):
        raise SessionError(f"{tool}: {compact(result)[:500]}")
    return timer.cost


def _run(*command: str) -> Cost:
    """Return the cost of a program."""
    with measure_children() as timer:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  a compared program
    return timer.cost


def _write_files(project: Path, sizes: Sizes) -> None:
    project.mkdir()
    block = "".join(f"{number:08} a line of a log with some words in it\n" for number in range(10_000))
    with (project / "large.txt").open("w", encoding="utf-8") as stream:
        for _ in range(sizes.text_bytes // len(block)):
            stream.write(block)
    (project / "small").mkdir()
    for number in range(FILES):
        text = "".join(f"line {line} of file {number}\n" for line in range(10))
        (project / "small" / f"{number}.txt").write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(project / "small")], check=True)  # noqa: S603, S607
    _write_repository(project / "repository", sizes.committed)
    for number in range(sizes.searched):
        directory = project / "searched" / f"{number // 100:03}"
        directory.mkdir(parents=True, exist_ok=True)
        text = f"def function_{number}():\n" + "    return some_value  # and a comment\n" * 20
        word = f"# {WORD}\n" if number % 1000 == 0 else ""
        (directory / f"{number:05}.py").write_text(text + word, encoding="utf-8")
    with (project / "users.json").open("w", encoding="utf-8") as stream:
        stream.write('{"users": [')
        number = 0
        while stream.tell() < sizes.json_bytes:
            users = [_user(number + index) for index in range(1000)]
            stream.write(("," if number else "") + ",".join(map(json.dumps, users)))
            number += len(users)
        stream.write("]}")


def _write_repository(directory: Path, files: int) -> None:
    """Commit `files` files, a hundred in each directory, and change `FILES` of them."""
    paths = [directory / f"{number // 100:03}" / f"{number:05}.py" for number in range(files)]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def function_{number}():\n    return {number}\n", encoding="utf-8")
    git = ("git", "-C", str(directory), "-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for arguments in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message=files")):
        subprocess.run([*git, *arguments], check=True)  # noqa: S603  our own repository
    for path in paths[:: files // FILES]:
        path.write_text("changed\n", encoding="utf-8")


def _user(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"user {number}", "groups": ["a", "b"], "address": {"street": "x" * 60, "city": "y"}}
