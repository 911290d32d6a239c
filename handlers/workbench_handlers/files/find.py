"""Finding files and folders by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from toolmason_runtime import ToolError, size_of, text_budget

from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan
from workbench_handlers.workspace.walk import Walk

MAX_FOUND: Final = 500
"""Paths in one answer."""

_MAX_ALTERNATIVES: Final = 64
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Finding:
    """Paths that match, in path order, folders with a slash at the end; `note` says what is missing, if anything."""

    paths: list[str]
    note: str


def find(top: Located, pattern: str, scan: Scan) -> Finding:
    """Find what matches `pattern` below `top`. See `matcher` for what a pattern means."""
    alternatives = [each.strip("/").split("/") for each in alternatives_of(pattern)]
    wants_folder = pattern.endswith("/")
    walk = Walk(top, scan)
    paths: list[str] = []
    left = text_budget()
    for found in walk.entries():
        is_folder = found.kind == "directory"
        below = found.located.parts[len(top.parts) :]
        if (is_folder or not wants_folder) and any(matches(below, each) for each in alternatives):
            shown = found.located.shown + ("/" if is_folder else "")
            left -= size_of(json.dumps(shown, ensure_ascii=False) + ",")
            if len(paths) == MAX_FOUND or left < 0:
                return Finding(paths, f"stopped after {len(paths)} paths: narrow `pattern` or `path` to see the rest")
            paths.append(shown)
    return Finding(paths, _note(walk, bool(paths)))


def fitting_items(items: Sequence[Item], text: Callable[[Item], str], share: float = 1.0) -> list[Item]:
    """Return the first items that fit into one structured answer, or a share of it; `text` prints one as JSON."""
    left = text_budget() * share
    kept: list[Item] = []
    for item in items:
        left -= size_of(text(item) + ",")
        if left < 0:
            break
        kept.append(item)
    return kept


def _note(walk: Walk, is_found: bool) -> str:
    if walk.scan.is_over:
        return "stopped after the time allowed for one search: narrow `path`"
    if not is_found and walk.ignored:
        return f"nothing found; {walk.ignored} ignored entries (.gitignore, node_modules, ...) were not searched"
    return ""


def alternatives_of(pattern: str) -> list[str]:
    """Write out the `{a,b}` of a glob.

    Raises:
        ToolError: the pattern is empty or stands for too many others.
    """
    if not pattern.strip("/ "):
        raise ToolError("the pattern is empty: give a glob such as `*.py` or `src/**/*.ts`", code="INVALID_ARGUMENT")
    pending, done = [pattern.removeprefix("./")], list[str]()
    while pending:
        each = pending.pop()
        if braces := _BRACES.search(each):
            before, after = each[: braces.start()], each[braces.end() :]
            pending += [before + choice + after for choice in reversed(braces[1].split(","))]
        else:
            done.append(each)
        if len(pending) + len(done) > _MAX_ALTERNATIVES:
            message = f"the braces of the pattern stand for more than {_MAX_ALTERNATIVES} patterns: use fewer"
            raise ToolError(message, code="INVALID_ARGUMENT")
    return list(dict.fromkeys(done))


def matches(parts: tuple[str, ...], pattern: list[str]) -> bool:
    """Tell whether a path matches a glob, both split at slashes.

    `**` stands for any number of folders. A glob without a slash is matched with the name alone; a plain word, without
    wildcards, is looked for anywhere in the name, in either case. Takes time in proportion to the product of the
    lengths, whatever the glob: a regular expression for all of it could take for ever.
    """
    if len(pattern) == 1 and pattern[0] != "**":
        glob, name = pattern[0], parts[-1]
        return fnmatchcase(name, glob) if any(sign in glob for sign in "*?[") else glob.casefold() in name.casefold()
    reached = {0}
    for part in parts:
        reached = _advance(_skipped(reached, pattern), part, pattern)
    return len(pattern) in _skipped(reached, pattern)


def _skipped(places: set[int], pattern: list[str]) -> set[int]:
    """Add the places that are reached when a `**` stands for nothing."""
    places = set(places)
    for place, glob in enumerate(pattern):
        if place in places and glob == "**":
            places.add(place + 1)
    return places


def _advance(places: set[int], part: str, pattern: list[str]) -> set[int]:
    after: set[int] = set()
    for place in places:
        if place == len(pattern):
            continue
        if pattern[place] == "**":
            after.add(place)
        elif fnmatchcase(part, pattern[place]):
            after.add(place + 1)
    return after
