"""Unified diffs of what stands on disk and what is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

Side = tuple[str, bytes | None]
"""A label and a content. None is no file at all, shown as `/dev/null`, as git does."""


def unified(old: Side, new: Side) -> str:
    """Give the unified diff from `old` to `new`, empty if they are equal up to CRLF line ends."""
    before, after = (label if content is not None else "/dev/null" for label, content in (old, new))
    lines = unified_diff(_lines(old[1]), _lines(new[1]), before, after)
    return "".join(_ended(lines))


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").replace(b"\r\n", b"\n").decode("utf-8", "backslashreplace")
    # `str.splitlines` also breaks at form feeds and the like, which are no line ends to anyone who reads a diff.
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
