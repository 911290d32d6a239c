"""Find files and directories by name."""

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
"""Maximum paths in one result."""

_MAX_ALTERNATIVES: Final = 64
_BRACES: Final = re.compile(r"\{([^{},]*+,[^{}]*+)\}")
"""Innermost alternatives: `{py,ts}`."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Matching paths in path order; those of directories end with a slash. `note` describes missing ones."""

    paths: list[str]
    note: str


def find(top: Located, pattern: str, scan: Scan) -> SearchResult:
    """Find the entries below `top` that match `pattern`; see `matches`."""
    alternatives = [glob.strip("/").split("/") for glob in expand_braces(pattern)]
    is_directory_pattern = pattern.endswith("/")
    walk = Walk(top, scan)
    paths: list[str] = []
    remaining = text_budget()
    for entry in walk.entries():
        is_directory = entry.kind == "directory"
        below = entry.located.parts[len(top.parts) :]
        if (is_directory or not is_directory_pattern) and any(matches(below, glob) for glob in alternatives):
            shown = entry.located.shown + ("/" if is_directory else "")
            remaining -= size_of(json.dumps(shown, ensure_ascii=False) + ",")
            if len(paths) == MAX_FOUND or remaining < 0:
                return SearchResult(
                    paths, f"stopped after {len(paths)} paths: narrow `pattern` or `path` to see the rest"
                )
            paths.append(shown)
    return SearchResult(paths, _note(walk, bool(paths)))


def fitting_items(items: Sequence[Item], text: Callable[[Item], str], share: float = 1.0) -> list[Item]:
    """Return the first items that fit into one structured result, or a share of it; `text` returns an item's JSON."""
    remaining = text_budget() * share
    fitting: list[Item] = []
    for item in items:
        remaining -= size_of(text(item) + ",")
        if remaining < 0:
            break
        fitting.append(item)
    return fitting


def _note(walk: Walk, is_found: bool) -> str:
    if walk.scan.is_over:
        return "stopped at the time limit of one search: narrow `path`"
    if not is_found and walk.ignored:
        return f"no matches; {walk.ignored} ignored entries (.gitignore, node_modules, ...) were skipped"
    return ""


def expand_braces(pattern: str) -> list[str]:
    """Expand the `{a,b}` of a glob: `*.{c,h}` into `*.c` and `*.h`.

    Raises:
        ToolError: the pattern is empty, or expands to too many.
    """
    if not pattern.strip("/ "):
        raise ToolError("the pattern is empty: use a glob such as `*.py` or `src/**/*.ts`", code="INVALID_ARGUMENT")
    pending, done = [pattern.removeprefix("./")], list[str]()
    while pending:
        glob = pending.pop()
        if braces := _BRACES.search(glob):
            before, after = glob[: braces.start()], glob[braces.end() :]
            pending += [before + choice + after for choice in reversed(braces[1].split(","))]
        else:
            done.append(glob)
        if len(pending) + len(done) > _MAX_ALTERNATIVES:
            message = f"the braces of the pattern expand to more than {_MAX_ALTERNATIVES} patterns: use fewer"
            raise ToolError(message, code="INVALID_ARGUMENT")
    return list(dict.fromkeys(done))


def matches(parts: tuple[str, ...], pattern: list[str]) -> bool:
    """Return whether a path matches a glob, both split at slashes.

    `**` matches any number of directories. A glob without a slash matches the name alone; a word without wildcards
    matches every name that contains it, ignoring case. The time is the product of the lengths for every glob, unlike
    that of a regular expression.
    """
    if len(pattern) == 1 and pattern[0] != "**":
        glob, name = pattern[0], parts[-1]
        return fnmatchcase(name, glob) if any(sign in glob for sign in "*?[") else glob.casefold() in name.casefold()
    reached = {0}
    for part in parts:
        reached = _advance_glob(_skip_globstar(reached, pattern), part, pattern)
    return len(pattern) in _skip_globstar(reached, pattern)


def _skip_globstar(positions: set[int], pattern: list[str]) -> set[int]:
    """Add the positions after each `**` that matches no directory."""
    positions = set(positions)
    for index, glob in enumerate(pattern):
        if index in positions and glob == "**":
            positions.add(index + 1)
    return positions


def _advance_glob(positions: set[int], part: str, pattern: list[str]) -> set[int]:
    after: set[int] = set()
    for index in positions:
        if index == len(pattern):
            continue
        if pattern[index] == "**":
            after.add(index)
        elif fnmatchcase(part, pattern[index]):
            after.add(index + 1)
    return after
