"""Format generated Python with `ruff format`, all files in one process."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from ruff import find_ruff_bin

LINE_LENGTH = 120
_SYNTAX_ERROR_EXIT = 2
"""Exit code of ruff for a file that does not parse."""


def format_python(files: Mapping[PurePosixPath, str], *, timeout_s: float | None = None) -> dict[PurePosixPath, str]:
    """Return each file as ruff formats it, independent of settings in parent directories.

    Raises:
        SyntaxError: a file is invalid Python, or ruff needs more than `timeout_s`: an error in a template.
    """
    if not files:
        return {}
    with TemporaryDirectory(prefix="toolmason-") as directory:
        copies = {path: Path(directory, f"{number}.py") for number, path in enumerate(files)}
        for path, text in files.items():
            copies[path].write_bytes(text.encode())
        settings = ["--isolated", "--no-cache", "--line-length", str(LINE_LENGTH), "--target-version", "py311"]
        # Otherwise a `.ignore` of a parent directory, which others may write, decides which files are formatted.
        command = [find_ruff_bin(), "format", "--no-respect-gitignore", *settings]
        try:
            process = _run([*command, directory], timeout_s)
        except _RuffError as error:
            # Ruff has not reported which file it failed on.
            raise SyntaxError(_find_failure(command, copies, timeout_s) or str(error)) from error
        if process.returncode != 0:
            raise SyntaxError(_format_message(process.stderr, copies))
        return {path: copy.read_text(encoding="utf-8") for path, copy in copies.items()}


class _RuffError(Exception):
    """Ruff exceeded the time limit or was ended by a signal, for example when out of memory or stack."""


def _run(command: Sequence[str], timeout_s: float | None) -> subprocess.CompletedProcess[str]:
    try:
        process = subprocess.run(  # noqa: S603 - our own binary and files
            command, capture_output=True, check=False, encoding="utf-8", errors="replace", timeout=timeout_s
        )
    except subprocess.TimeoutExpired as error:
        raise _RuffError(f"formatting takes more than {timeout_s:g} s") from error
    if process.returncode not in {0, _SYNTAX_ERROR_EXIT}:
        raise _RuffError("it is nested too deep or too large to be formatted")
    return process


def _find_failure(command: Sequence[str], copies: Mapping[PurePosixPath, Path], timeout_s: float | None) -> str:
    """Return the first file that ruff fails on with the reason, empty if it formats each file alone."""
    for path, copy in copies.items():
        try:
            _run([*command, str(copy)], timeout_s)
        except _RuffError as error:
            return f"{path}: {error}"
    return ""


def _format_message(message: str, copies: Mapping[PurePosixPath, Path]) -> str:
    """Return ruff's message as `path:line:column: reason`, with the generated file instead of the temporary copy."""
    paths = {copy.name: path for path, copy in copies.items()}
    # Example: `error: Failed to parse /tmp/toolmason-x/12.py:3:7: Expected an expression`
    failures = re.findall(r"^(?:error: )?Failed to parse .*?(?<!\d)(\d{1,9}\.py):(\S++ .*)", message, re.MULTILINE)
    return "\n".join(f"{paths[name]}:{rest}" for name, rest in failures) or message.strip()
