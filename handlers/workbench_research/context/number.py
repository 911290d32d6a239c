"""Read the chosen files, and number their lines: the form in which a model sees them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import escape_invisible

from workbench_handlers.workspace.decode import SAMPLE_BYTES, configured_codec, sniff_encoding
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan
from workbench_research.backends.protocol import Part
from workbench_research.context.choose import LeftOut, shown

MAX_FILE_BYTES: Final = 4_000_000
"""Maximum bytes of a file: about a million tokens, the largest window."""
MAX_BYTES: Final = 400_000_000
"""Maximum bytes of all files of a question, which are in memory while they are ranked."""
MAX_LINE_CHARS: Final = 2_000
"""Maximum characters of a line; the rest of it is left out, as in minified files."""
DOCUMENTS: Final = {
    *(".pdf", ".doc", ".docx", ".odt", ".rtf", ".xls", ".xlsx", ".ods", ".ppt", ".pptx", ".odp", ".epub", ".pages"),
    *(".numbers", ".keynote"),
}
"""Suffixes of documents with pages. No library that this package needs reads their text."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was read. `text` has line feeds only. `changed_ns` is the time of its last change.

    `note` is about its encoding; empty for UTF-8.
    """

    path: str
    text: str = field(repr=False)
    changed_ns: int = 0
    note: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines as editors count them, without line ends."""
        lines = self.text.split("\n")
        return lines[:-1] if not lines[-1] else lines


def read_files(files: Iterable[Located], scan: Scan) -> tuple[list[TextFile], list[LeftOut]]:
    """Read the files, in their order. It blocks. Binary, empty, unreadable and very large ones are left out.

    Raises:
        ScanStoppedError: the call was cancelled.
    """
    read: list[TextFile] = []
    left_out: list[LeftOut] = []
    remaining = MAX_BYTES
    for located in files:
        scan.step()
        path = shown(located)
        if scan.is_over:
            left_out.append(LeftOut(path, "the time limit for reading files was reached"))
            continue
        try:
            file, size = _read(located, path, min(MAX_FILE_BYTES, remaining))
        except (OSError, ToolError):
            file, size = "cannot be read", 0
        remaining -= size
        if isinstance(file, TextFile):
            read.append(file)
        else:
            left_out.append(LeftOut(path, file))
    return read, left_out


def _read(located: Located, path: str, limit: int) -> tuple[TextFile | str, int]:
    """Return the file, or the reason for leaving it out; and the bytes that are kept of it."""
    with open_file(located) as stream:
        status = os.fstat(stream.fileno())
        if status.st_size > limit:
            return f"too large: {status.st_size:,} bytes", 0
        data = stream.read(limit + 1)
    if len(data) > limit:  # it grew meanwhile
        return f"too large: more than {limit:,} bytes", 0
    if not data:
        return "empty", 0
    if path.casefold().endswith(tuple(DOCUMENTS)):
        return "a document whose pages cannot be read here", 0
    encoding = sniff_encoding(data[:SAMPLE_BYTES], charset=partial(configured_codec, located))
    if encoding is None:
        return f"binary, {len(data):,} bytes", 0
    text = data.decode(encoding.codec, errors="replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return TextFile(path, text, status.st_mtime_ns, encoding.note), len(data)


def number_lines(
    path: str, lines: Iterable[str], *, first_line: int = 1, only: Collection[int] | None = None, is_cut: bool = False
) -> Part:
    r"""Return a part with the lines of a file, each as `12|text`; `only` are the numbers of the lines to take.

    Characters that are invisible, reorder a text or end a line become escapes, so that each line of a part begins with
    its number: a line of a file cannot look like the end of the file.
    """
    numbered = []
    first = 0
    for number, line in enumerate(lines, first_line):
        if only is not None and number not in only:
            is_cut = True
            continue
        first = first or number
        if len(line) > MAX_LINE_CHARS:
            line = f"{line[:MAX_LINE_CHARS]}[... {len(line) - MAX_LINE_CHARS:,} characters cut]"  # noqa: PLW2901
            is_cut = True
        numbered.append(f"{number}|{escape_invisible(line, keep=_TAB)}\n")
    text = "".join(numbered)
    return Part(path=path, text=text, digest=digest(text), first_line=first or first_line, is_cut=is_cut)


def numbered_lines(part: Part) -> dict[int, str]:
    """Return the lines of a part by their numbers."""
    rows = (line.split("|", 1) for line in part.text.split("\n") if line)
    return {int(number): text for number, text in rows}


_TAB: Final = "\t"


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
