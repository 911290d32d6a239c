"""Write the picture of the diagnostics: what `toolmason check` prints in a terminal for picture/library.toml.

Usage: `python docs/source/diagnostics_picture.py`.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

DIRECTORY: Final = Path(__file__).parent / "picture"
PICTURE: Final = Path(__file__).parents[1] / "images" / "diagnostics.svg"
COMMAND: Final = ("check", "--manifest", "library.toml")
COLUMNS: Final = 84
_PROGRESS: Final = re.compile(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)|\r\x1b\[K")
"""A line that the next one overwrites."""
_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def terminal_output() -> str:
    """Return the output of the command in a terminal, with its colours."""
    ours, theirs = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
    environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    command = [sys.executable, "-m", "toolmason", *COMMAND]
    with subprocess.Popen(command, cwd=DIRECTORY, env=environ, stdin=theirs, stdout=theirs, stderr=theirs):  # noqa: S603  ours
        os.close(theirs)
        output = b""
        while part := _read(ours):
            output += part
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux reports the end of the program as an error
        return b""


def render() -> str:
    """Return the picture as SVG. It uses a font of the reader's machine, while that of rich is on another host."""
    shown = _PROGRESS.sub("", terminal_output()).rstrip()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ toolmason {COMMAND[0]}\n{shown}"))
    return _FONT.sub("", console.export_svg(title="toolmason", theme=MONOKAI, unique_id="diagnostics")).strip() + "\n"


def texts(picture: str) -> list[str]:
    """Return the texts in a picture, which do not depend on the version of rich."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


if __name__ == "__main__":
    PICTURE.write_text(render(), encoding="utf-8", newline="\n")
