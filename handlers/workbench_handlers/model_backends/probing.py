"""Finds the program with the large context: by what it says it can do, and never by its name alone.

`--version` and `--help` are all that is run, with a bound, once for each file until it changes. Nothing here belongs
to the start of the server: without a program it starts as well, and only the tools that need one say so.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command, Invocation, Outcome, base_environment, run

from workbench_handlers.model_backends.adapter import Program, launched, model_limits
from workbench_handlers.model_backends.choice import AUTO, BACKEND, COMMANDS, located, named_command, wanted
from workbench_handlers.model_backends.redaction import excerpt

OLDEST_AGY: Final = (1, 1, 13)
"""Before it, agy prints nothing where there is no terminal."""

PROBE_TIMEOUT_S: Final = 15.0
"""Seconds for each of the two questions: Node takes one or two to start, more on a busy machine."""

_MAX_BYTES: Final = 256 * 1024
_MAX_SHOWN: Final = 200
_FLAG: Final = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:-[\w.]+)?)")
_NEEDED: Final = {
    "gemini": ("model", "approval-mode", "admin-policy", "allowed-mcp-server-names", "extensions", "stream-json"),
    "agy": ("model", "add-dir", "plan", "stream-json"),
}
"""Without these it cannot be asked for events, or cannot be held to reading."""

_MUST_BE_NAMED: Final = {"agy"}
"""What is never taken on its own account: a person has to want it."""

_SUCCESSOR: Final = (
    "since 2026-06-18 Gemini CLI serves only paid API keys and enterprise accounts; `agy` is its successor for "
    "everyone else (https://antigravity.google/docs/cli/install), used where WORKBENCH_BACKEND=agy says so"
)
_NAME_IT: Final = (
    "nothing holds it to reading for sure: it has no list of allowed tools, and its plan mode keeps it from editing "
    f"files, not always from running commands. Set {BACKEND}=agy to use it nevertheless"
)
_INSTALL: Final = (
    "Gemini CLI not found on PATH",
    "→ Install: npm install -g @google/gemini-cli",
    "→ Docs: https://github.com/google-gemini/gemini-cli",
    f"→ Note: {_SUCCESSOR}",
)
_WHERE: Final = "on PATH (folders of the project do not count)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A program that was looked at. It can be used, or `refused` says why not; `path` is empty if there is none."""

    name: str
    command: str
    path: str = ""
    version: str = ""
    program: Program | None = None
    refused: str = ""


_Key = tuple[str, str, str, int, int, int, int]
_known: dict[_Key, Candidate] = {}
"""What files said of themselves, by kind, path, and what changes when they do."""
_asking = anyio.Lock()


async def find(environ: Mapping[str, str]) -> Program:
    """Give the program to ask: the one `WORKBENCH_BACKEND` names, or the first that can be used and held to reading.

    Raises:
        ToolError: there is none (`GEMINI_CLI_NOT_FOUND`, with what to do), or the variable names none.
    """
    candidates = []
    names = _names(environ)
    for name in names:
        candidate = await look(name, environ)
        if candidate.program is not None:
            if name not in _MUST_BE_NAMED or names == (name,):
                return candidate.program
            candidate = replace(candidate, program=None, refused=_NAME_IT)
        candidates.append(candidate)
    raise _not_found(candidates)


async def look(name: str, environ: Mapping[str, str]) -> Candidate:
    """Look for one program, `gemini` or `agy`, and at what it says of itself."""
    command = named_command(name, environ) or name
    path = await anyio.to_thread.run_sync(located, command, environ)
    if path is None:
        return Candidate(name=name, command=command, refused=f"{command} is not {_WHERE}, or may not be executed")
    # One at a time: many calls that come together start it once.
    async with _asking:
        key = await anyio.to_thread.run_sync(_key, name, path)
        if key is None or key not in _known:
            candidate = await _questioned(name, command, path, environ)
            if key is None or (candidate.program is None and not candidate.version):
                # It said nothing, which may be a bad moment of the machine: it is asked again next time.
                return candidate
            _known[key] = candidate
        return _known[key]


def forget() -> None:
    """Ask every program anew."""
    _known.clear()


def features_of(help_text: str) -> frozenset[str]:
    """Give what a help text offers: its long flags, the formats of output, and `plan` if that is a mode."""
    found = set(_FLAG.findall(help_text))
    for flag, choices in (
        ("output-format", ("json", "stream-json")),
        ("mode", ("plan",)),
        ("approval-mode", ("plan",)),
    ):
        words = set(re.findall(r"[a-z][a-z-]*", _entry(help_text, flag)))
        found |= words & set(choices)
    return frozenset(found)


def version_of(text: str) -> str:
    """Give the version in the answer to `--version`; empty if there is none."""
    found = _VERSION.search(text)
    return found[1] if found else ""


def _names(environ: Mapping[str, str]) -> tuple[str, ...]:
    name = wanted(environ)
    if name == AUTO:
        return tuple(COMMANDS)
    if name in COMMANDS:
        return (name,)
    raise ToolError(
        f"{BACKEND} is {name!r}: set it to gemini, agy or auto, and start the server again",
        code="GEMINI_CLI_NOT_FOUND",
    )


def _key(name: str, path: str) -> _Key | None:
    try:
        real = os.path.realpath(path)
        stat = Path(real).stat()
    except OSError:
        return None
    # An update may keep the size, and packages carry the time of their making.
    return name, path, real, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


async def _questioned(name: str, command: str, path: str, environ: Mapping[str, str]) -> Candidate:
    """Ask a program for its version and its help."""
    # The Gemini CLI leaves files in its home even then, half written ones as well: not in the person's.
    home = await anyio.to_thread.run_sync(tempfile.mkdtemp)
    try:
        version_text = await _said(path, "--version", home, environ)
        help_text = await _said(path, "--help", home, environ)
    except ToolError as error:
        return Candidate(name=name, command=command, path=path, refused=error.message)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, home, ignore_errors=True))
    version, features = version_of(version_text), features_of(help_text)
    if refused := _refused(name, version, help_text, features):
        shown = excerpt(version_text, environ, _MAX_SHOWN)
        return Candidate(name=name, command=command, path=path, version=version or shown, refused=refused)
    program = Program(path=path, name=name, version=version, features=features)
    return Candidate(name=name, command=command, path=path, version=version, program=program)


async def _said(path: str, flag: str, home: str, environ: Mapping[str, str]) -> str:
    """Give what a program writes when asked for its version or help.

    Raises:
        ToolError: it could not be started, took too long, or failed.
    """
    argv, limits = (*launched(path), flag), model_limits(PROBE_TIMEOUT_S)

    def executor(_invocation: Invocation, environ: Mapping[str, str]) -> Command:
        # Not in the project: a program may read settings there before it says anything.
        env = {**base_environment(environ), "GEMINI_CLI_HOME": home}
        # The interpreter of a program often lies beside it, and its folder need not be on PATH.
        folders = [*env.get("PATH", os.defpath).split(os.pathsep), str(Path(path).parent)]
        env["PATH"] = os.pathsep.join(each for each in folders if Path(each).is_absolute())
        return Command(argv=argv, env=env, cwd=Path(path).anchor, timeout_s=PROBE_TIMEOUT_S, limits=limits)

    outcome = await run(
        Invocation(argv=argv), executor=executor, environ=environ, most_in_memory=_MAX_BYTES, most_in_file=0
    )
    try:
        if outcome.timed_out:
            raise ToolError(f"{path} {flag} did not end within {PROBE_TIMEOUT_S:.0f} s")
        text = _both(outcome)
        if outcome.is_failure:
            shown = excerpt(text, environ, _MAX_SHOWN)
            raise ToolError(f"{path} {flag} failed with exit code {outcome.exit_code}: {shown}")
        return text
    finally:
        outcome.close()


def _both(outcome: Outcome) -> str:
    """Give what was written to stdout and, as Go's flag package does with help, to stderr."""
    return "\n".join("".join(stream.texts()) for stream in (outcome.stdout, outcome.stderr))


def _refused(name: str, version: str, help_text: str, features: frozenset[str]) -> str:
    """Say why a program cannot be used; empty if it can."""
    if name == "gemini" and not re.search(r"\bgemini\b", help_text, re.IGNORECASE):
        return "it is not the Gemini CLI: its help says nothing of Gemini"
    if name == "agy":
        numbers = tuple(int(each) for each in version.partition("-")[0].split(".") if each)
        if numbers < OLDEST_AGY:
            oldest = ".".join(map(str, OLDEST_AGY))
            return f"version {version or 'unknown'} prints nothing over pipes: run `agy update` for {oldest} or later"
    missing = [f"--output-format {each}" if each == "stream-json" else each for each in _NEEDED[name]]
    missing = [shown for shown, each in zip(missing, _NEEDED[name], strict=True) if each not in features]
    if not missing:
        return ""
    update = "npm install -g @google/gemini-cli" if name == "gemini" else "agy update"
    return f"version {version or 'unknown'} does not offer {', '.join(missing)}: update it with `{update}`"


def _entry(help_text: str, flag: str) -> str:
    """Give what a help text says of one flag: its line, and those that go on with it."""
    taken: list[str] = []
    for line in help_text.splitlines():
        if re.search(rf"(?<![\w-])--{flag}(?![\w-])", line):
            taken = [line]
        elif taken and (not line.strip() or _FLAG.search(line) or not line.startswith(" " * 8)):
            break
        elif taken:
            taken.append(line)
    return "\n".join(taken)


def _not_found(candidates: list[Candidate]) -> ToolError:
    there = [each for each in candidates if each.path]
    details: dict[str, Any] = {
        "looked_at": [
            {"command": each.command, "path": each.path, "version": each.version, "refused": each.refused}
            for each in candidates
        ],
        "troubleshooting": "\n".join(_INSTALL),
    }
    if not there:
        message = f"{_INSTALL[0]}. Install it with `npm install -g @google/gemini-cli`; {_SUCCESSOR}"
    else:
        message = "; ".join(f"{each.path} cannot be used: {each.refused}" for each in there)
    return ToolError(message, code="GEMINI_CLI_NOT_FOUND", details=details)
