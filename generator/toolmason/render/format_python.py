"""Lay out generated Python with `ruff format`, all files in one process."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from ruff import find_ruff_bin

LINE_LENGTH = 120
_FOUND_ERRORS = 2
"""Exit code of ruff where a file does not parse."""


def format_python(files: Mapping[PurePosixPath, str], *, timeout_s: float | None = None) -> dict[PurePosixPath, str]:
    """Give each file as ruff lays it out, whatever settings stand around.

    Raises:
        SyntaxError: a file is no Python, or ruff cannot lay it out in `timeout_s`: a mistake in a template.
    """
    if not files:
        return {}
    with TemporaryDirectory(prefix="toolmason-") as folder:
        places = {path: Path(folder, f"{number}.py") for number, path in enumerate(files)}
        for path, text in files.items():
            places[path].write_text(text, encoding="utf-8", newline="\n")
        settings = ["--isolated", "--no-cache", "--line-length", str(LINE_LENGTH), "--target-version", "py311"]
        command = [find_ruff_bin(), "format", *settings]
        try:
            ran = _run([*command, folder], timeout_s)
        except _RuffFailed as error:
            # It ended without the name of a file.
            raise SyntaxError(_first_failure(command, places, timeout_s) or str(error)) from error
        if ran.returncode != 0:
            raise SyntaxError(_readable(ran.stderr, places))
        return {path: place.read_text(encoding="utf-8") for path, place in places.items()}


class _RuffFailed(Exception):  # noqa: N818 - the program failed, not the code that it was given
    """It takes too long or was ended by a signal, as when its stack or memory is used up."""


def _run(command: Sequence[str], timeout_s: float | None) -> subprocess.CompletedProcess[str]:
    try:
        # Our own binary, our own files.
        ran = subprocess.run(  # noqa: S603
            command, capture_output=True, check=False, encoding="utf-8", errors="replace", timeout=timeout_s
        )
    except subprocess.TimeoutExpired as error:
        raise _RuffFailed(f"laying it out takes more than {timeout_s:g} s") from error
    if ran.returncode not in {0, _FOUND_ERRORS}:
        raise _RuffFailed("it is nested too deep or too large to be laid out")
    return ran


def _first_failure(command: Sequence[str], places: Mapping[PurePosixPath, Path], timeout_s: float | None) -> str:
    """Return the first file that ruff fails on, with the reason; empty if it lays out each of them alone."""
    for path, place in places.items():
        try:
            _run([*command, str(place)], timeout_s)
        except _RuffFailed as error:
            return f"{path}: {error}"
    return ""


def _readable(message: str, places: Mapping[PurePosixPath, Path]) -> str:
    """Give ruff's message as `path:line:column: what`, with the generated file instead of the temporary one."""
    paths = {place.name: path for path, place in places.items()}
    found = re.findall(r"Failed to parse .*?(\d+\.py):(\S+ .*)", message)
    return "\n".join(f"{paths[name]}:{rest}" for name, rest in found) or message.strip()
