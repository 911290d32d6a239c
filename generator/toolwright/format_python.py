"""Lay out generated Python with `ruff format`, all files in one process."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from ruff import find_ruff_bin

LINE_LENGTH = 120


def format_python(files: Mapping[PurePosixPath, str]) -> dict[PurePosixPath, str]:
    """Give each file as ruff lays it out, whatever settings stand around.

    Raises:
        SyntaxError: a file is no Python, which is a mistake in a template.
    """
    if not files:
        return {}
    with TemporaryDirectory(prefix="toolwright-") as folder:
        places = {path: Path(folder, f"{number}.py") for number, path in enumerate(files)}
        for path, text in files.items():
            places[path].write_text(text, encoding="utf-8", newline="\n")
        settings = ["--isolated", "--no-cache", "--line-length", str(LINE_LENGTH), "--target-version", "py311"]
        ran = subprocess.run(  # noqa: S603  # our own binary, our own files
            [find_ruff_bin(), "format", *settings, folder],
            capture_output=True,
            check=False,
            encoding="utf-8",
        )
        if ran.returncode != 0:
            raise SyntaxError(_readable(ran.stderr, places))
        return {path: place.read_text(encoding="utf-8") for path, place in places.items()}


def _readable(message: str, places: Mapping[PurePosixPath, Path]) -> str:
    """Give ruff's message as `path:line:column: what`, with the generated file instead of the temporary one."""
    paths = {place.name: path for path, place in places.items()}
    found = re.findall(r"Failed to parse .*?(\d+\.py):(\S+ .*)", message)
    return "\n".join(f"{paths[name]}:{rest}" for name, rest in found) or message.strip()
