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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command, Invocation, Outcome, base_environment, run

from workbench_research.model_backends.adapter import Program, launch_argv, model_limits
from workbench_research.model_backends.selection import (
    PROGRAM,
    backend_problem,
    configured_command,
    find_executable,
)
from workbench_research.model_backends.stored_programs import load_program, store_program
from workbench_research.redaction import excerpt

PROBE_TIMEOUTS_S: Final = (15.0, 45.0)
"""Seconds of each attempt for both runs, which are simultaneous: Node needs one or two to start, 30 under load."""

_MAX_BYTES: Final = 256 * 1024
_MAX_EXCERPT_CHARS: Final = 200
_FLAG: Final = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
"""A long option in a help text: `--approval-mode`."""
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:-[\w.]+)?)")
"""A version number: `0.61.1`, `v1.2`, `0.62.0-nightly.20261101`."""
_REQUIRED_FEATURES: Final = (
    *("model", "approval-mode", "admin-policy", "allowed-mcp-server-names", "extensions", "stream-json"),
)
"""Without these, the program cannot report events, or cannot be restricted to reading."""

_UPDATE: Final = "npm install -g @google/gemini-cli"
_ACCOUNTS: Final = "since 2026-06-18 Gemini CLI serves only paid API keys and enterprise accounts"
_INSTALL: Final = (
    "Gemini CLI not found on PATH",
    f"→ Install: {_UPDATE}",
    "→ Docs: https://github.com/google-gemini/gemini-cli",
    f"→ Note: {_ACCOUNTS}",
)
_ON_PATH: Final = "on PATH (directories of the project do not count)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An executable that was inspected. `path` is empty if it does not exist.

    Either `program` is set, or `unusable_reason`. `is_slow` if it did not finish in time.
    """

    command: str
    path: str = ""
    version: str = ""
    program: Program | None = None
    unusable_reason: str = ""
    is_slow: bool = False


class _ProbeTimeoutError(ToolError):
    """The program did not finish in time."""


_Key = tuple[str, str, int, int, int, int]
_cache: dict[_Key, Candidate] = {}
"""Results by path, with the properties of the file that change with its content."""
_lock = anyio.Lock()


async def find_program(environ: Mapping[str, str], *, use_stored: bool = True) -> Program:
    """Return the program to ask, which must be usable and restricted to reading.

    Without `use_stored`, results of earlier servers are ignored.

    Raises:
        ToolError: `GEMINI_CLI_NOT_FOUND` if it does not exist, with instructions. `GEMINI_CLI_ERROR` if it exists and
            cannot be used; `details.reason` is `TIMEOUT`, `UNUSABLE`, or `SETTING` for an invalid `WORKBENCH_BACKEND`.
    """
    if problem := backend_problem(environ):
        message = f"{problem}, and start the server again"
        raise ToolError(message, code="GEMINI_CLI_ERROR", details={"reason": "SETTING"})
    candidate = await _inspect(environ, use_stored=use_stored)
    if candidate.program is None:
        raise _refusal(candidate)
    return candidate.program


async def _inspect(environ: Mapping[str, str], *, use_stored: bool) -> Candidate:
    """Find the executable, and query its version and features."""
    command = configured_command(environ) or PROGRAM
    path = await anyio.to_thread.run_sync(find_executable, command, environ)
    if path is None:
        return Candidate(command=command, unusable_reason=f"{command} is not {_ON_PATH}, or may not be executed")
    # One at a time: simultaneous calls run it once.
    async with _lock:
        key = await anyio.to_thread.run_sync(_key, path)
        if key is not None and key in _cache:
            return _cache[key]
        if key is not None and use_stored:
            program = await anyio.to_thread.run_sync(load_program, path, key, environ)
            # An earlier version of Workbench may have required less.
            if program is not None and not _why_unusable(program.version, program.features):
                candidate = Candidate(command=command, path=path, version=program.version, program=program)
                return _cache.setdefault(key, candidate)
        candidate = await _query_patiently(command, path, environ)
        if candidate.is_slow and key is not None and use_stored:
            # The file is unchanged, so the last success still describes it, although it is old.
            program = await anyio.to_thread.run_sync(partial(load_program, any_age=True), path, key, environ)
            if program is not None and not _why_unusable(program.version, program.features):
                return Candidate(command=command, path=path, version=program.version, program=program)
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
    """Return the features in a help text: its long options and its output formats."""
    formats = re.findall(r"[a-z][a-z-]*", _help_entry(help_text, "output-format"))
    return frozenset(_FLAG.findall(help_text)) | {"json", "stream-json"}.intersection(formats)


def parse_version(text: str) -> str:
    """Return the version in the output of `--version`; empty if there is none."""
    match = _VERSION.search(text)
    return match[1] if match else ""


def _key(path: str) -> _Key | None:
    try:
        real = os.path.realpath(path)
        stat = Path(real).stat()
    except OSError:
        return None
    # An update may keep the size, and packages set the modification time.
    return path, real, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


async def _query_patiently(command: str, path: str, environ: Mapping[str, str]) -> Candidate:
    """Run a program for its version and its help; if it is slow, again with more time."""
    for timeout_s in PROBE_TIMEOUTS_S:
        candidate = await _query_program(command, path, environ, timeout_s)
        if not candidate.is_slow:
            break
    return candidate


async def _query_program(command: str, path: str, environ: Mapping[str, str], timeout_s: float) -> Candidate:
    """Run a program for its version and its help."""
    # The Gemini CLI writes files to its home even then, so not to the user's.
    home = await anyio.to_thread.run_sync(tempfile.mkdtemp)
    try:
        version_text, help_text = await _run_flags(path, home, environ, timeout_s)
    except ToolError as error:
        is_slow = isinstance(error, _ProbeTimeoutError)
        return Candidate(command=command, path=path, unusable_reason=error.message, is_slow=is_slow)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, home, ignore_errors=True))
    version, features = parse_version(version_text), parse_features(help_text)
    if not re.search(r"\bgemini\b", help_text, re.IGNORECASE):
        unusable_reason = "it is not the Gemini CLI: its help does not mention Gemini"
    else:
        unusable_reason = _why_unusable(version, features)
    if unusable_reason:
        shown = excerpt(version_text, environ, _MAX_EXCERPT_CHARS)
        return Candidate(command=command, path=path, version=version or shown, unusable_reason=unusable_reason)
    program = Program(path=path, name=PROGRAM, version=version, features=features)
    return Candidate(command=command, path=path, version=version, program=program)


async def _run_flags(path: str, home: str, environ: Mapping[str, str], timeout_s: float) -> tuple[str, str]:
    """Return the output of a program for `--version` and for `--help`, which run at the same time.

    Raises:
        ToolError: see `_run_flag`.
    """
    runs = (_run_flag(path, flag, home, environ, timeout_s) for flag in ("--version", "--help"))
    # Without `return_exceptions`, the second one would still run after the first one has failed.
    version_text, help_text = await asyncio.gather(*runs, return_exceptions=True)
    if isinstance(version_text, BaseException):
        raise version_text
    if isinstance(help_text, BaseException):
        raise help_text
    return version_text, help_text


async def _run_flag(path: str, flag: str, home: str, environ: Mapping[str, str], timeout_s: float) -> str:
    """Return the output of a program for `--version` or `--help`.

    Raises:
        ToolError: it could not be started, took too long, or failed.
    """
    argv, limits = (*launch_argv(path), flag), model_limits(timeout_s)

    def executor(_invocation: Invocation, environ: Mapping[str, str]) -> Command:
        # Not in the project, where a program may read settings first.
        env = {**base_environment(environ), "GEMINI_CLI_HOME": home}
        # A program's interpreter is often beside it, in a directory that may be missing on PATH.
        directories = [*env.get("PATH", os.defpath).split(os.pathsep), str(Path(path).parent)]
        env["PATH"] = os.pathsep.join(path for path in directories if Path(path).is_absolute())
        return Command(argv=argv, env=env, cwd=Path(path).anchor, timeout_s=timeout_s, limits=limits)

    outcome = await run(
        Invocation(argv=argv), executor=executor, environ=environ, max_memory_bytes=_MAX_BYTES, max_file_bytes=0
    )
    try:
        if outcome.timed_out:
            raise _ProbeTimeoutError(f"`{path} {flag}` did not finish within {timeout_s:.0f} s")
        text = _output(outcome)
        if outcome.is_failure:
            shown = excerpt(text, environ, _MAX_EXCERPT_CHARS)
            raise ToolError(f"{path} {flag} failed with exit code {outcome.exit_code}: {shown}")
        return text
    finally:
        outcome.close()


def _output(outcome: Outcome) -> str:
    """Return stdout and stderr, since a program may write its help to either."""
    return "\n".join("".join(stream.texts()) for stream in (outcome.stdout, outcome.stderr))


def _why_unusable(version: str, features: frozenset[str]) -> str:
    """Return why the program cannot be used; empty if it can."""
    missing = [feature for feature in _REQUIRED_FEATURES if feature not in features]
    if not missing:
        return ""
    lacks = ", ".join("--output-format stream-json" if feature == "stream-json" else feature for feature in missing)
    return f"version {version or 'unknown'} lacks {lacks}: update it with `{_UPDATE}`"


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


def _refusal(candidate: Candidate) -> ToolError:
    looked_at = {
        "command": candidate.command,
        "path": candidate.path,
        "version": candidate.version,
        "refused": candidate.unusable_reason,
    }
    if not candidate.path:
        message = f"{_INSTALL[0]}. Install it with `{_UPDATE}`; {_ACCOUNTS}"
        details = {"looked_at": [looked_at], "troubleshooting": "\n".join(_INSTALL)}
        return ToolError(message, code="GEMINI_CLI_NOT_FOUND", details=details)
    if candidate.is_slow:
        message = (
            f"the Gemini CLI is installed but slow to start: {candidate.unusable_reason}, in {len(PROBE_TIMEOUTS_S)} "
            "attempts. The machine may be busy: send the same call again later"
        )
    else:
        message = f"{candidate.path} cannot be used: {candidate.unusable_reason}"
    reason = "TIMEOUT" if candidate.is_slow else "UNUSABLE"
    return ToolError(message, code="GEMINI_CLI_ERROR", details={"reason": reason, "looked_at": [looked_at]})
