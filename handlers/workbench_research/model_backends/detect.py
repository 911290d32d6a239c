"""Detection of the model's command line by its `--version` and `--help`, not by its name alone.

Nothing else is run, with a timeout, and once per file until it changes, even by several servers. The server starts
without a program; only the tools that need one fail.
"""

from __future__ import annotations

import asyncio
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

from workbench_research.model_backends.adapter import Program, launch_argv, model_limits
from workbench_research.model_backends.redaction import excerpt
from workbench_research.model_backends.selection import (
    AUTO,
    BACKEND,
    COMMANDS,
    configured_backend,
    configured_command,
    find_executable,
)
from workbench_research.model_backends.stored_programs import load_program, store_program

MIN_AGY_VERSION: Final = (1, 1, 13)
"""Earlier versions of agy print nothing without a terminal."""

PROBE_TIMEOUT_S: Final = 15.0
"""Seconds for both runs, which are simultaneous: Node needs one or two to start, more on a busy machine."""

_MAX_BYTES: Final = 256 * 1024
_MAX_EXCERPT_CHARS: Final = 200
_FLAG: Final = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
"""A long option in a help text: `--approval-mode`."""
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:-[\w.]+)?)")
"""A version number: `0.61.1`, `v1.2`, `0.62.0-nightly.20261101`."""
_REQUIRED_FEATURES: Final = {
    "gemini": ("model", "approval-mode", "admin-policy", "allowed-mcp-server-names", "extensions", "stream-json"),
    "agy": ("model", "add-dir", "plan", "stream-json"),
}
"""Without these, the program cannot report events, or cannot be restricted to reading."""

_OPT_IN: Final = {"agy"}
"""Programs that are used only if `WORKBENCH_BACKEND` names them."""

_SUCCESSOR: Final = (
    "since 2026-06-18 Gemini CLI serves only paid API keys and enterprise accounts; `agy` is its successor for "
    "everyone else (https://antigravity.google/docs/cli/install), used if WORKBENCH_BACKEND=agy"
)
_NAME_IT: Final = (
    "its read-only mode is incomplete: it has no list of allowed tools, and its plan mode prevents edits of files, but "
    f"not every command. Set {BACKEND}=agy to use it nevertheless"
)
_INSTALL: Final = (
    "Gemini CLI not found on PATH",
    "→ Install: npm install -g @google/gemini-cli",
    "→ Docs: https://github.com/google-gemini/gemini-cli",
    f"→ Note: {_SUCCESSOR}",
)
_ON_PATH: Final = "on PATH (directories of the project do not count)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A program that was inspected. `path` is empty if it does not exist.

    Either `program` is set, or `unusable_reason`.
    """

    name: str
    command: str
    path: str = ""
    version: str = ""
    program: Program | None = None
    unusable_reason: str = ""


_Key = tuple[str, str, str, int, int, int, int]
_cache: dict[_Key, Candidate] = {}
"""Results by kind and path, with the properties of the file that change with its content."""
_lock = anyio.Lock()


async def find_program(environ: Mapping[str, str], *, use_stored: bool = True) -> Program:
    """Return the program to ask, which must be usable and restricted to reading.

    It is the one in `WORKBENCH_BACKEND`, or else the first usable one. Without `use_stored`, results of earlier servers
    are ignored.

    Raises:
        ToolError: no program is usable (`GEMINI_CLI_NOT_FOUND`, with instructions), or the variable is invalid.
    """
    candidates = []
    names = _names(environ)
    for name in names:
        candidate = await inspect_program(name, environ, use_stored=use_stored)
        if candidate.program is not None:
            if name not in _OPT_IN or names == (name,):
                return candidate.program
            candidate = replace(candidate, program=None, unusable_reason=_NAME_IT)
        candidates.append(candidate)
    raise _not_found(candidates)


async def inspect_program(name: str, environ: Mapping[str, str], *, use_stored: bool = True) -> Candidate:
    """Find one program, `gemini` or `agy`, and query its version and features. See `find_program`."""
    command = configured_command(name, environ) or name
    path = await anyio.to_thread.run_sync(find_executable, command, environ)
    if path is None:
        return Candidate(
            name=name, command=command, unusable_reason=f"{command} is not {_ON_PATH}, or may not be executed"
        )
    # One at a time: simultaneous calls run it once.
    async with _lock:
        key = await anyio.to_thread.run_sync(_key, name, path)
        if key is not None and key in _cache:
            return _cache[key]
        if key is not None and use_stored:
            program = await anyio.to_thread.run_sync(load_program, name, path, key, environ)
            # An earlier version of Workbench may have required less.
            if program is not None and not _why_unusable(name, program.version, program.features):
                candidate = Candidate(name=name, command=command, path=path, version=program.version, program=program)
                return _cache.setdefault(key, candidate)
        candidate = await _query_program(name, command, path, environ)
        # A program without a version may have failed because the machine was busy: not cached.
        if key is not None and (candidate.program is not None or candidate.version):
            _cache[key] = candidate
        if key is not None and candidate.program is not None:
            await anyio.to_thread.run_sync(store_program, candidate.program, key, environ)
        return candidate


def clear_cache() -> None:
    """Forget the results of this process."""
    _cache.clear()


def parse_features(help_text: str) -> frozenset[str]:
    """Return the features in a help text: its long options, its output formats, and `plan` if it is a mode."""
    features = set(_FLAG.findall(help_text))
    for flag, choices in (
        ("output-format", ("json", "stream-json")),
        ("mode", ("plan",)),
        ("approval-mode", ("plan",)),
    ):
        words = set(re.findall(r"[a-z][a-z-]*", _help_entry(help_text, flag)))
        features |= words & set(choices)
    return frozenset(features)


def parse_version(text: str) -> str:
    """Return the version in the output of `--version`; empty if there is none."""
    match = _VERSION.search(text)
    return match[1] if match else ""


def _names(environ: Mapping[str, str]) -> tuple[str, ...]:
    name = configured_backend(environ)
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
    # An update may keep the size, and packages set the modification time.
    return name, path, real, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


async def _query_program(name: str, command: str, path: str, environ: Mapping[str, str]) -> Candidate:
    """Run a program for its version and its help."""
    # The Gemini CLI writes files to its home even then, so not to the user's.
    home = await anyio.to_thread.run_sync(tempfile.mkdtemp)
    try:
        version_text, help_text = await _run_flags(path, home, environ)
    except ToolError as error:
        return Candidate(name=name, command=command, path=path, unusable_reason=error.message)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, home, ignore_errors=True))
    version, features = parse_version(version_text), parse_features(help_text)
    if name == "gemini" and not re.search(r"\bgemini\b", help_text, re.IGNORECASE):
        unusable_reason = "it is not the Gemini CLI: its help does not mention Gemini"
    else:
        unusable_reason = _why_unusable(name, version, features)
    if unusable_reason:
        shown = excerpt(version_text, environ, _MAX_EXCERPT_CHARS)
        return Candidate(
            name=name, command=command, path=path, version=version or shown, unusable_reason=unusable_reason
        )
    program = Program(path=path, name=name, version=version, features=features)
    return Candidate(name=name, command=command, path=path, version=version, program=program)


async def _run_flags(path: str, home: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the output of a program for `--version` and for `--help`, which run at the same time.

    Raises:
        ToolError: see `_run_flag`.
    """
    runs = (_run_flag(path, flag, home, environ) for flag in ("--version", "--help"))
    # Without `return_exceptions`, the second one would still run after the first one has failed.
    version_text, help_text = await asyncio.gather(*runs, return_exceptions=True)
    if isinstance(version_text, BaseException):
        raise version_text
    if isinstance(help_text, BaseException):
        raise help_text
    return version_text, help_text


async def _run_flag(path: str, flag: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the output of a program for `--version` or `--help`.

    Raises:
        ToolError: it could not be started, took too long, or failed.
    """
    argv, limits = (*launch_argv(path), flag), model_limits(PROBE_TIMEOUT_S)

    def executor(_invocation: Invocation, environ: Mapping[str, str]) -> Command:
        # Not in the project, where a program may read settings first.
        env = {**base_environment(environ), "GEMINI_CLI_HOME": home}
        # A program's interpreter is often beside it, in a directory that may be missing on PATH.
        directories = [*env.get("PATH", os.defpath).split(os.pathsep), str(Path(path).parent)]
        env["PATH"] = os.pathsep.join(path for path in directories if Path(path).is_absolute())
        return Command(argv=argv, env=env, cwd=Path(path).anchor, timeout_s=PROBE_TIMEOUT_S, limits=limits)

    outcome = await run(
        Invocation(argv=argv), executor=executor, environ=environ, max_memory_bytes=_MAX_BYTES, max_file_bytes=0
    )
    try:
        if outcome.timed_out:
            raise ToolError(f"{path} {flag} did not finish within {PROBE_TIMEOUT_S:.0f} s")
        text = _output(outcome)
        if outcome.is_failure:
            shown = excerpt(text, environ, _MAX_EXCERPT_CHARS)
            raise ToolError(f"{path} {flag} failed with exit code {outcome.exit_code}: {shown}")
        return text
    finally:
        outcome.close()


def _output(outcome: Outcome) -> str:
    """Return stdout and stderr: Go's flag package writes the help to stderr."""
    return "\n".join("".join(stream.texts()) for stream in (outcome.stdout, outcome.stderr))


def _why_unusable(name: str, version: str, features: frozenset[str]) -> str:
    """Return why a program cannot be used; empty if it can."""
    if name == "agy":
        numbers = tuple(int(number) for number in version.partition("-")[0].split(".") if number)
        if numbers < MIN_AGY_VERSION:
            minimum = ".".join(map(str, MIN_AGY_VERSION))
            return f"version {version or 'unknown'} prints nothing over pipes: run `agy update` for {minimum} or later"
    missing = [feature for feature in _REQUIRED_FEATURES[name] if feature not in features]
    if not missing:
        return ""
    lacks = ", ".join("--output-format stream-json" if feature == "stream-json" else feature for feature in missing)
    update = "npm install -g @google/gemini-cli" if name == "gemini" else "agy update"
    return f"version {version or 'unknown'} lacks {lacks}: update it with `{update}`"


def _help_entry(help_text: str, flag: str) -> str:
    """Return the text of one option in a help text: its line and the indented lines that continue it."""
    lines: list[str] = []
    for line in help_text.splitlines():
        if re.search(rf"(?<![\w-])--{flag}(?![\w-])", line):
            lines = [line]
        elif lines and (not line.strip() or _FLAG.search(line) or not line.startswith(" " * 8)):
            break
        elif lines:
            lines.append(line)
    return "\n".join(lines)


def _not_found(candidates: list[Candidate]) -> ToolError:
    installed = [candidate for candidate in candidates if candidate.path]
    details: dict[str, Any] = {
        "looked_at": [
            {
                "command": candidate.command,
                "path": candidate.path,
                "version": candidate.version,
                "refused": candidate.unusable_reason,
            }
            for candidate in candidates
        ],
        "troubleshooting": "\n".join(_INSTALL),
    }
    if not installed:
        message = f"{_INSTALL[0]}. Install it with `npm install -g @google/gemini-cli`; {_SUCCESSOR}"
    else:
        message = "; ".join(f"{candidate.path} cannot be used: {candidate.unusable_reason}" for candidate in installed)
    return ToolError(message, code="GEMINI_CLI_NOT_FOUND", details=details)
