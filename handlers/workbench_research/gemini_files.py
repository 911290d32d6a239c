"""Read the files of the Gemini CLI: its home, settings with comments, and `.env` files."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError

GEMINI_DIRECTORY: Final = ".gemini"
"""The CLI's directory in a home or a project."""
MAX_BYTES: Final = 256 * 1024

_SYSTEM_DIRECTORIES: Final = {
    "darwin": "/Library/Application Support/GeminiCli",
    "win32": "C:\\ProgramData\\gemini-cli",
}
SYSTEM_DIRECTORY: Final = Path(_SYSTEM_DIRECTORIES.get(sys.platform, "/etc/gemini-cli"))
"""The directory of an administrator's settings and policies."""

_COMMENT: Final = re.compile(r'((?<!\\)"(?:\\.|[^"\\]++)*+")|//[^\n\r]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""A comment, or a string (its only group), which may contain `//` and `/*`."""
_ASSIGNMENT: Final = re.compile(
    # `[^\S\n]`: a blank line belongs to the next `^`. With `\s`, a run of blank lines would take quadratic time.
    r"^[^\S\n]*+(?:export\s++)?([A-Za-z0-9_.-]++)(?:\s*+=|:\s)"
    r"(\s*+(?:'(?:\\'|[^'])*'|\"(?:\\\"|[^\"])*\"|`(?:\\`|[^`])*`)|[^#\r\n]++)?[^\S\n]*+(?:#.*+)?$",
    re.MULTILINE,
)
"""One variable of a `.env` file, as dotenv reads it: `export NAME = 'value' # comment`."""


def users_home(environ: Mapping[str, str]) -> Path:
    """Return the directory that contains the user's `.gemini`."""
    name = "USERPROFILE" if sys.platform == "win32" else "HOME"
    return Path(environ.get("GEMINI_CLI_HOME") or environ.get(name) or Path.home())


def read_bounded(path: Path) -> str:
    """Return the text of a file.

    Raises:
        OSError: it cannot be read.
        ToolError: it is too long or not a regular file, so reading it might not end.
    """
    # Checked first: a pipe has no end, and opening a device may have an effect.
    if not stat.S_ISREG(path.stat().st_mode):
        if path.is_dir():
            raise IsADirectoryError(path)
        raise _unreadable_error(f"{path} is not a regular file")
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _unreadable_error(f"{path} is longer than {MAX_BYTES:,} bytes")
    return data.decode("utf-8", "replace")


def _unreadable_error(problem: str) -> ToolError:
    return ToolError(f"{problem}, and the CLI would read it: move it away", code="GEMINI_CLI_ERROR")


def read_text(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read."""
    try:
        return read_bounded(path)
    except (OSError, ToolError):
        return None


def without_comments(text: str) -> str:
    """Return the text of a settings file with comments replaced by blanks; positions do not change."""
    return _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\r\n]", " ", match[0]), text)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a file; none if it is missing.

    Raises:
        ValueError: it is not a JSON object.
    """
    text = read_text(path)
    if text is None:
        return {}
    try:
        settings = json.loads(without_comments(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(settings, dict):
        raise ValueError("not an object")  # noqa: TRY004  as for other invalid files
    return settings


def parse_dotenv(text: str) -> dict[str, str]:
    """Return the variables of a `.env` file; the last value of a name counts."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    return {match[1]: _value(match[2] or "") for match in _ASSIGNMENT.finditer(text)}


def _value(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`":
        quote, text = text[0], text[1:-1]
        return text.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else text
    return text
