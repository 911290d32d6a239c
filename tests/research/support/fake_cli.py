"""A stand-in for the CLI that does what a test scripts: for the faults that the real one shows only on bad days.

A fake is an executable, usually named `gemini`, in a directory of its own. Each run does the steps of its
script: those of the run's turn, and of the last one for every later run. `--version` and `--help` are answered apart
and are no runs. The input of each run is stored: see `Run`. The fixture `fake` creates them:

    cli = fake("gemini", answered("Hello"))                   # every run answers
    cli = fake("gemini", quota(), answered("Hello"))          # the first run fails, the others answer
    cli = fake("gemini", answered("Hi"), version="0.20.0", help="Usage: gemini [options]")
    cli.path, cli.directory                                      # the executable, and what to put on PATH
    cli.runs[0].argv, .stdin, .env, .cwd, .pid                # what the first run was given

Steps are made by the functions below: `out`, `err`, `pause`, `ends`, ...; ready scripts are `answered`, `quota`, ...
This file is also the program itself, which imports nothing but the standard library, and starts in a few milliseconds.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Step = dict[str, Any]
Script = Sequence[Step]

GEMINI_HELP: Final = """\
Usage: gemini [options] [command]

Options:
  -m, --model                     Model  [string]
  -p, --prompt                    Run in non-interactive (headless) mode with the given prompt.  [string]
      --skip-trust                Trust the current workspace for this session.  [boolean] [default: false]
  -s, --sandbox                   Run in sandbox?  [boolean]
      --approval-mode             Set the approval mode  [string] [choices: "default", "auto_edit", "yolo", "plan"]
      --policy                    Additional policy files or directories to load  [array]
      --admin-policy              Additional admin policy files or directories to load  [array]
      --allowed-mcp-server-names  Allowed MCP server names  [array]
  -e, --extensions                A list of extensions to use. If not provided, all extensions are used.  [array]
  -o, --output-format             The format of the CLI output.  [string] [choices: "text", "json", "stream-json"]
  -v, --version                   Show version number  [boolean]
  -h, --help                      Show help  [boolean]
"""
"""The part of the real one's help that says what it can do."""


def out(text: str | bytes) -> Step:
    """Write to stdout, at once and as it is."""
    return {"do": "write", "fd": 1, "hex": _raw(text).hex()}


def err(text: str | bytes) -> Step:
    """Write to stderr."""
    return {"do": "write", "fd": 2, "hex": _raw(text).hex()}


def repeat(text: str | bytes, times: int, *, fd: int = 1) -> Step:
    """Write something many times over."""
    return {"do": "write", "fd": fd, "hex": _raw(text).hex(), "times": times}


def slivers(text: str | bytes, size: int = 1, *, pause_s: float = 0.0) -> Step:
    """Write to stdout in writes of `size` bytes, which splits characters."""
    return {"do": "write", "fd": 1, "hex": _raw(text).hex(), "size": size, "pause_s": pause_s}


def pause(seconds: float) -> Step:
    """Do nothing for a while."""
    return {"do": "pause", "seconds": seconds}


def wait_for(path: Path) -> Step:
    """Do nothing until a file is there (at most a minute)."""
    return {"do": "wait_for", "path": str(path)}


def ends(code: int) -> Step:
    """End with an exit code; without it, it is 0 after the last step."""
    return {"do": "end", "code": code}


def killed(number: int = signal.SIGKILL) -> Step:
    """End by a signal, in the middle of whatever it was."""
    return {"do": "kill", "signal": int(number)}


def stubborn() -> Step:
    """Ignore SIGTERM from here on; so do the grandchildren started later."""
    return {"do": "stubborn"}


def grandchild(pid_file: Path) -> Step:
    """Start a process that holds the pipes and lives for minutes; its id is written to a file."""
    return {"do": "grandchild", "path": str(pid_file)}


def touch(path: Path | str) -> Step:
    """Make an empty file, seen from the directory that the CLI runs in; `$NAME` is replaced by a variable."""
    return {"do": "touch", "path": str(path)}


def event(kind: str, **fields: Any) -> Step:
    """Write one stream-json event to stdout."""
    return out(line(kind, **fields))


def line(kind: str, **fields: Any) -> str:
    """Give the line of one stream-json event."""
    return json.dumps({"type": kind, **fields}, ensure_ascii=False) + "\n"


def result(model: str = "fake-model", *, tokens: int = 120, tool_calls: int = 0) -> Step:
    """Write the event that ends an answer."""
    stats = {"total_tokens": tokens, "tool_calls": tool_calls, "models": {model: {"total_tokens": tokens}}}
    return event("result", status="success", stats=stats)


def answered(text: str = "Hello", *, model: str = "fake-model", tokens: int = 120) -> list[Step]:
    """Answer at once, after reading the whole prompt."""
    said = event("message", role="assistant", content=text, delta=True)
    return [started(model), said, result(model, tokens=tokens)]


def started(model: str = "fake-model") -> Step:
    """Write the event that begins a run."""
    return event("init", session_id="1", model=model)


def read(path: str, *, ok: bool = True, id: str = "1") -> list[Step]:  # noqa: A002  the event calls it that
    """Use the tool that reads a file."""
    used = event("tool_use", tool_name="read_file", tool_id=id, parameters={"file_path": path})
    failed = {"error": {"type": "invalid_tool_params", "message": f"Path not in workspace: {path}"}}
    return [used, event("tool_result", tool_id=id, status="success" if ok else "error", **({} if ok else failed))]


def quota(*, message: str = "Resource has been exhausted (e.g. check quota).") -> list[Step]:
    """Meet a 429, and end."""
    body = json.dumps({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}})
    return [
        started(),
        err(f"Attempt 1 failed with status 429. Max attempts reached _ApiError: {body}\n"),
        ends(1),
    ]


def failed(code: int, text: str) -> list[Step]:
    """End with an exit code and a text on stderr."""
    return [err(text), ends(code)]


def unauthenticated() -> list[Step]:
    """Know no account."""
    names = "GEMINI_API_KEY, GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GENAI_USE_GCA"
    file = "your ~/.gemini/settings.json"
    return failed(
        41,
        f"Please set an Auth method in {file} or specify one of the following environment variables before running: "
        f"{names}\n",
    )


def no_model(name: str = "nonesuch") -> list[Step]:
    """Know no such model, and show a stack whose digits mean nothing."""
    message = f"[API Error: models/{name} is not found for API version v1beta]"
    return [
        started(name),
        err(f"ModelNotFoundError: models/{name} is not found\n    at chunk-A.js:429:12 {{\n  code: 404\n}}\n"),
        event("result", status="error", error={"type": "unknown", "message": message}, stats={"total_tokens": 0}),
        ends(1),
    ]


def invalid_output() -> list[Step]:
    """Write what is no event at all, and end well."""
    return [out(b"<html>\xff\xfe\x00 not JSON\n\x1b[31m" + bytes(range(256)) + b"\n")]


def silent() -> list[Step]:
    """Write nothing, and end well."""
    return []


def slow(seconds: float, text: str = "Hello") -> list[Step]:
    """Answer after a while."""
    return [started(), pause(seconds), *answered(text)]


def half_an_answer() -> list[Step]:
    """Be killed in the middle of a line."""
    said = line("message", role="assistant", content="Half of the ans", delta=True)
    return [started(), out(said + said[: len(said) // 2]), killed()]


def cjk(size: int) -> str:
    """Give a text of about `size` bytes, of characters of three and four bytes; the real CLI ends one that repeats."""
    import random

    chosen = random.Random(size)
    lines, left = [], size
    while left > 0:
        lines.append("".join(map(chr, chosen.choices(range(0x4E00, 0x9FA0), k=60))) + "\U00020bb7\U0001f600。\n")
        left -= len(lines[-1].encode())
    return "".join(lines)


@dataclass(frozen=True)
class Run:
    """What one run was given. `stdin` is what it could read until it ended."""

    argv: list[str]
    stdin: str
    env: dict[str, str]
    cwd: str
    pid: int


@dataclass(frozen=True)
class Fake:
    """A fake that is ready to be run."""

    path: Path

    @property
    def directory(self) -> Path:
        return self.path.parent

    @property
    def runs(self) -> list[Run]:
        """Give the runs that have read their prompt, in the order they started."""
        kept = sorted(self.directory.glob("run-*.json"), key=lambda each: int(each.stem[4:]))
        return [Run(**json.loads(each.read_text(encoding="utf-8"))) for each in kept]

    @property
    def probes(self) -> int:
        """Count how often it was asked for its version or help."""
        return len(list(self.directory.glob("probe-*")))


def make(directory: Path, name: str, *scripts: Script, version: str, help_text: str, probe: Script = ()) -> Fake:
    """Put a fake into an empty directory. `probe` are steps before it answers `--version` or `--help`."""
    script = {"scripts": [list(each) for each in scripts], "version": version, "help": help_text, "probe": list(probe)}
    (directory / "script.json").write_text(json.dumps(script), encoding="utf-8")
    path = directory / name
    command = shlex.join([sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(directory)])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return Fake(path)


def _raw(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _take_turn(directory: Path, stem: str) -> tuple[int, Path]:
    """Give the number of this run: each is taken once, however many start at once."""
    turn = 0
    while True:
        place = directory / f"{stem}-{turn}"
        try:
            place.touch(exist_ok=False)
        except FileExistsError:
            turn += 1
        else:
            return turn, place


def _write(step: Step) -> None:
    data = bytes.fromhex(step["hex"])
    size = step.get("size") or len(data) or 1
    for _ in range(step.get("times", 1)):
        for start in range(0, len(data), size):
            left = memoryview(data)[start : start + size]
            while left:
                left = left[os.write(step["fd"], left) :]
            time.sleep(step.get("pause_s", 0.0))


def _wait_for(path: str) -> None:
    until = time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < until:  # noqa: PTH110  pathlib is slow to import
        time.sleep(0.01)


def _do(step: Step) -> None:
    match step["do"]:
        case "write":
            _write(step)
        case "pause":
            time.sleep(step["seconds"])
        case "wait_for":
            _wait_for(step["path"])
        case "end":
            os._exit(step["code"])
        case "kill":
            os.kill(os.getpid(), step["signal"])
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "grandchild":
            child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
            Path(step["path"]).write_text(str(child.pid), encoding="ascii")
        case "touch":
            Path(os.path.expandvars(step["path"])).touch()


def main(directory: Path, arguments: list[str]) -> None:
    """Be the CLI."""
    script = json.loads((directory / "script.json").read_text(encoding="utf-8"))
    if {"--version", "-v", "--help", "-h"} & set(arguments):
        _take_turn(directory, "probe")
        for step in script["probe"]:
            _do(step)
        sys.stdout.write(script["version" if {"--version", "-v"} & set(arguments) else "help"] + "\n")
        return
    turn, _ = _take_turn(directory, "turn")
    stdin = sys.stdin.buffer.read().decode("utf-8", "replace")
    run = Run(argv=arguments, stdin=stdin, env=dict(os.environ), cwd=os.getcwd(), pid=os.getpid())  # noqa: PTH109
    kept = directory / f"run-{turn}.new"
    kept.write_text(json.dumps(run.__dict__), encoding="utf-8")
    kept.rename(directory / f"run-{turn}.json")
    scripts = script["scripts"]
    for step in scripts[min(turn, len(scripts) - 1)] if scripts else ():
        _do(step)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
