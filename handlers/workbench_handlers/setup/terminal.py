"""What a command prints for a person: marks, colour and lines that fit, as far as their terminal has them."""

from __future__ import annotations

import os
import shutil
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TextIO

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_MARKS: Final = {"good": ("✓", "[ok]", "green"), "bad": ("✗", "[x]", "red"), "mind": ("!", "[!]", "yellow")}
_SKIPPED: Final = ("-", "[-]", "dim")
_ERASE_LINE: Final = "\r\x1b[K"
_WIDEST: Final = 100


@dataclass(frozen=True, slots=True)
class Page:
    """Where it is printed.

    `has_marks` says whether its encoding has check marks, `is_terminal` whether a line can be erased.
    """

    stream: TextIO
    width: int = 80
    colour: bool = False
    has_marks: bool = True
    is_terminal: bool = False

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> Page:
        """Look at a stream: colour only on a terminal, and not with `NO_COLOR` (https://no-color.org)."""
        is_terminal = stream.isatty() and environ.get("TERM") != "dumb"
        return cls(
            stream,
            width=min(max(shutil.get_terminal_size().columns, 40), _WIDEST) if is_terminal else 80,
            colour=is_terminal and not environ.get("NO_COLOR"),
            has_marks=_can_print("".join(mark for mark, _plain, _style in _MARKS.values()), stream),
            is_terminal=is_terminal,
        )

    def paint(self, text: str, *styles: str) -> str:
        """Colour text, if this page has colour."""
        if not self.colour or not styles:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: str) -> None:
        """Print one line as it is."""
        self.stream.write(f"{self.paint(text, *styles) if text else ''}\n")
        self.stream.flush()

    def heading(self, text: str, *styles: str) -> None:
        """Print a heading, underlined."""
        self.line(text, "bold", *styles)
        self.line("=" * len(text), "dim")

    def say(self, mark: str, text: str) -> None:
        """Print a finding: `good`, `bad`, `mind`, or anything else for what was left out. Long text is broken."""
        fine, plain, style = _MARKS.get(mark, _SKIPPED)
        shown = fine if self.has_marks else plain
        first, *rest = self._broken(text, len(shown) + 3)
        self.line(f"  {self.paint(shown, style)} {first}")
        for each in rest:
            self.line(f"{' ' * (len(shown) + 3)}{each}")

    def text(self, text: str, indent: int = 4) -> None:
        """Print a paragraph, broken into lines; those of a point of a list hang below its first word."""
        hang = 2 if text.startswith("- ") else 0
        first, *rest = self._broken(text, indent + hang)
        self.line(f"{' ' * indent}{first}")
        for each in rest:
            self.line(f"{' ' * (indent + hang)}{each}")

    def code(self, text: str, indent: int = 6) -> None:
        """Print what is to be copied: not broken, and in colour."""
        for each in text.splitlines():
            self.line(f"{' ' * indent}{self.paint(each, 'cyan')}" if each else "")

    def _broken(self, text: str, indent: int) -> list[str]:
        room = max(self.width - indent, 30)
        return textwrap.wrap(visible(text), room, break_long_words=False, break_on_hyphens=False) or [""]

    @contextmanager
    def status(self) -> Iterator[_Status]:
        """Give a line that shows what goes on and is erased at the end; without a terminal there is none."""
        shown = _Status(self)
        try:
            yield shown
        finally:
            shown.erase()


class _Status:
    """One line of a terminal, written again and again."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def show(self, text: str) -> None:
        """Put `text` in place of the last one."""
        if self._page.is_terminal:
            self._page.stream.write(f"{_ERASE_LINE}{self._page.paint(visible(text)[: self._page.width - 1], 'dim')}")
            self._page.stream.flush()

    def erase(self) -> None:
        """Leave no trace."""
        if self._page.is_terminal:
            self._page.stream.write(_ERASE_LINE)
            self._page.stream.flush()


def visible(text: str) -> str:
    """Give text of unknown origin without what a terminal would act upon."""
    return "".join(" " if each in "\r\n\t" else each for each in text if each in "\r\n\t" or _is_visible(each))


def _is_visible(character: str) -> bool:
    # Control characters, and those that change the direction of what follows.
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs"}


def _can_print(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
