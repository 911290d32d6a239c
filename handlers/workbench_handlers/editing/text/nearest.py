"""Find the places in a text that are most similar to a wanted text, which does not occur in it, in bounded time."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from workbench_handlers.editing.text.diff import reveal
from workbench_handlers.editing.text.folding import fold, line_number
from workbench_handlers.editing.text.lines import compare_lines, split_lines

MAX_PLACES: Final = 3
MAX_PREVIEW_CHARS: Final = 200
MAX_COMPARED_CHARS: Final = 2_000
"""Maximum characters of the wanted text that are compared."""
MAX_COMPARED_LINES: Final = 100
"""Maximum lines of the wanted text that are compared."""
MAX_ANCHORS: Final = 24
"""Maximum anchors of each kind: words, and other short parts of the wanted text, which are searched exactly."""
MAX_ANCHOR_HITS: Final = 100
"""Maximum occurrences of one anchor that are examined."""
MAX_CANDIDATES: Final = 10
"""Maximum places whose similarity is computed."""
MAX_EXACT_CHARS: Final = 300
"""Maximum characters of one changed part that are compared character by character."""
MIN_SIMILARITY: Final = 0.5

_ANCHOR_CHARS: Final = 5
_USED_ANCHORS: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a text: its line, its similarity (0 to 1) to the wanted text, and itself."""

    line: int
    similarity: float
    text: str


def describe_nearest(text: str, wanted: str) -> str:
    """Return the most similar places and the next step, for the message of a failed match."""
    places = nearest_places(text, wanted)
    if not places:
        return "No similar text was found: re-read the file with read_files and copy the text exactly"
    lines = [f"line {place.line:,} ({_percent(place)} % similar): `{_preview(place.text)}`" for place in places]
    last = places[0].line + wanted.count("\n")
    advice = (
        f"Re-read the lines (read_files with start_line={places[0].line} and end_line={last}) and copy them exactly"
    )
    return "\n".join(["The nearest places are:", *lines, advice])


def nearest_places(text: str, wanted: str) -> list[Place]:
    """Return the places that are most similar to `wanted`, at most `MAX_PLACES`, the best first."""
    text, wanted = (fold(part, "" if "\n" in text else "\r") for part in (text, wanted))
    wanted = "".join(split_lines(wanted[:MAX_COMPARED_CHARS])[:MAX_COMPARED_LINES])
    scored = []
    for start, first in _candidates(text, wanted):
        part = _part(text, start, wanted)
        # The wanted text may be a small part of a line.
        similarity = max(_similarity(wanted, part), _similarity(wanted, text[first : first + len(wanted)]))
        scored.append((-similarity, start, part))
    places: list[tuple[int, Place]] = []
    for negated, start, part in sorted(scored):
        is_new = all(abs(start - other) > max(1, len(wanted) // 2) for other, _ in places)
        if is_new and -negated >= MIN_SIMILARITY and len(places) < MAX_PLACES:
            places.append((start, Place(line_number(text, start), -negated, part)))
    return [place for _, place in places]


def _candidates(text: str, wanted: str) -> list[tuple[int, int]]:
    """Return the most likely places, each as the start of its line and the position where `wanted` may begin.

    Each occurrence of a rare anchor votes for the place where the wanted text would begin.
    """
    counts = {anchor: text.count(anchor) for anchor in _anchors(wanted)}
    used = sorted((anchor for anchor in counts if counts[anchor]), key=lambda anchor: (counts[anchor], -len(anchor)))
    votes: defaultdict[int, float] = defaultdict(float)
    firsts: dict[int, int] = {}
    for anchor in used[:_USED_ANCHORS]:
        offset = wanted.index(anchor)
        position = text.find(anchor)
        for _ in range(min(counts[anchor], MAX_ANCHOR_HITS)):
            start = _start(text, position, wanted, offset)
            votes[start] += len(anchor) / counts[anchor]
            firsts.setdefault(start, max(0, position - offset))
            position = text.find(anchor, position + len(anchor))
    best = sorted(votes, key=lambda start: (-votes[start], start))[:MAX_CANDIDATES]
    return [(start, firsts[start]) for start in best]


def _anchors(wanted: str) -> list[str]:
    """Return the longest words of a text, and parts of it at equal distances for text without words."""
    words = sorted(set(re.findall(r"\w\w+", wanted)), key=lambda word: (-len(word), word))[:MAX_ANCHORS]
    step = max(1, len(wanted) // MAX_ANCHORS)
    size = min(_ANCHOR_CHARS, max(1, len(wanted) // 3))
    parts = [wanted[i : i + size] for i in range(0, len(wanted), step)]
    return list(dict.fromkeys([*words, *(part for part in parts if part.strip())]))


def _start(text: str, position: int, wanted: str, offset: int) -> int:
    """Return the start of the line where `wanted` would begin if its `offset` is at `position` of `text`."""
    start = text.rfind("\n", 0, position) + 1
    column = offset - (wanted.rfind("\n", 0, offset) + 1)
    if position - start > max(MAX_COMPARED_CHARS, 2 * column):
        return position - column  # within a long line
    for _ in range(wanted.count("\n", 0, offset)):
        start = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return start


def _part(text: str, start: int, wanted: str) -> str:
    """Return the lines from `start` on, as many as `wanted` has, without the last line break."""
    limit = start + 2 * len(wanted) + MAX_PREVIEW_CHARS
    end = start
    for _ in range(wanted.rstrip("\n").count("\n") + 1):
        end = text.find("\n", end, limit) + 1
        if not end:
            return text[start : start + len(wanted)] if limit < len(text) else text[start:]
    return text[start : end if wanted.endswith("\n") else end - 1]


def _similarity(text: str, other: str) -> float:
    """Return the share of equal characters: of equal lines, and of changed lines up to `MAX_EXACT_CHARS`."""
    old, new = split_lines(text), split_lines(other)
    equal = 0.0
    for block in compare_lines(old, new):
        a = "".join(old[block.old_start : block.old_end])
        b = "".join(new[block.new_start : block.new_end])
        if block.is_equal:
            equal += len(a)
        elif a and b:
            matcher = SequenceMatcher(None, a[:MAX_EXACT_CHARS], b[:MAX_EXACT_CHARS], autojunk=False)
            equal += matcher.ratio() * (len(a) + len(b)) / 2
    return 2 * equal / max(len(text) + len(other), 1)


def _percent(place: Place) -> int:
    return min(int(place.similarity * 100), 99)  # the text does not occur, so no place is equal


def _preview(text: str) -> str:
    shown = reveal(text[: MAX_PREVIEW_CHARS + 1], keep="")
    return shown if len(shown) <= MAX_PREVIEW_CHARS else shown[: MAX_PREVIEW_CHARS - 1] + "…"
