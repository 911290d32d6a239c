"""What a terminal is told beyond plain text: colour and progress, both only where a person is looking."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, Protocol, TextIO, get_args

Layout = Literal["text", "json", "github", "sarif"]
"""How findings are printed: for people, for programs, for GitHub and for code scanners."""
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_ERASE_LINE = "\r\x1b[K"


class Progress(Protocol):
    """Takes the name of the work that begins now."""

    def __call__(self, text: str, /) -> None:
        """Show `text` in place of the last one."""


def no_progress(text: str, /) -> None:
    """Show nothing: for output that is no terminal, and for tests."""


def is_terminal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a person reads `stream` on a terminal that can move its cursor."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour text on `stream`: only on a terminal, and not if `NO_COLOR` is set (https://no-color.org)."""
    return is_terminal(stream, environ) and not environ.get("NO_COLOR")


def paint(text: str, *styles: str, colour: bool) -> str:
    """Wrap `text` in the named styles (`bold`, `red`, ...) if `colour` is on."""
    if not colour or not styles:
        return text
    return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


@contextmanager
def progress(stream: TextIO | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[Progress]:
    """Give a function that shows what is being done on one line of `stream` (stderr), erased at the end."""
    target = stream or sys.stderr
    if not is_terminal(target, environ):
        yield no_progress
        return

    def show(text: str, /) -> None:
        target.write(f"{_ERASE_LINE}{text} ...")
        target.flush()

    try:
        yield show
    finally:
        target.write(_ERASE_LINE)
        target.flush()
