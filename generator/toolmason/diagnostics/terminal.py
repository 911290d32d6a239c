"""Colour and progress on a terminal; other streams get plain text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, Protocol, TextIO, get_args

Layout = Literal["text", "json", "github", "sarif"]
"""Output formats of findings."""
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_ERASE_LINE = "\r\x1b[K"


class Progress(Protocol):
    """A function that displays the current step."""

    def __call__(self, text: str, /) -> None:
        """Replace the displayed step by `text`."""


def no_progress(text: str, /) -> None:
    """Display nothing: for streams that are not terminals, and for tests."""


def is_terminal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether `stream` is a terminal that can move its cursor."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def supports_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether `stream` is a terminal and `NO_COLOR` is unset (https://no-color.org)."""
    return is_terminal(stream, environ) and not environ.get("NO_COLOR")


def paint(text: str, *styles: str, colour: bool) -> str:
    """Wrap `text` in the named styles (`bold`, `red`, ...) if `colour` is on."""
    if not colour or not styles:
        return text
    return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


@contextmanager
def progress(stream: TextIO | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[Progress]:
    """Return a function that displays the current step on one line of `stream` (stderr), erased at the end."""
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
