"""Ignore rules of a tree: version control, installed packages, and the `.gitignore` files."""

from __future__ import annotations

import logging
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.open import open_child, open_directory
from workbench_handlers.workspace.packages import require
from workbench_handlers.workspace.roots import Located

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_log = logging.getLogger(__name__)

ALWAYS_IGNORED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"})
"""Names that are ignored at any depth, unless a path names them."""

MAX_RULE_BYTES: Final = 200_000
"""Maximum bytes read of a `.gitignore`."""
MAX_RULES: Final = 5_000
"""Maximum rules of one `.gitignore`; further ones are ignored."""
MAX_RULE_LENGTH: Final = 1_000
"""Maximum characters of a rule; longer ones are ignored."""

_STAR_REGEX: Final = "[^/]*"
"""The regular expression of pathspec for `*`."""
_LEADING_GLOBSTAR_REGEX: Final = "^(?:.+/)?"
"""Its regular expression for `**/` at the start of a rule, as in `**/build`."""
_GLOBSTAR_REGEX: Final = "(?:/.+)?"
"""Its regular expression for `/**` between directories, as in `src/**/build`."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The `.gitignore` files from a root down to one directory, the innermost last.

    Each level has its depth in path parts and its rules. As in git, the innermost matching rule decides.
    """

    levels: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def ignores(self, parts: tuple[str, ...], *, is_directory: bool) -> bool:
        """Return whether the entry at `parts` (from the root) is ignored. Its parents are not checked."""
        if parts[-1] in ALWAYS_IGNORED:
            return True
        for depth, spec in reversed(self.levels):
            relative = "/".join(parts[depth:]) + ("/" if is_directory else "")
            decided = spec.check_file(relative).include
            if decided is not None:
                return decided
        return False

    def entering(self, directory: Located, descriptor: int) -> IgnoreRules:
        """Return the rules for the entries of `directory`, which is open as `descriptor`."""
        spec = _read(directory, descriptor)
        return IgnoreRules((*self.levels, (len(directory.parts), spec))) if spec else self


def rules_above(directory: Located) -> IgnoreRules:
    """Return the rules for the entries of `directory` from the `.gitignore` files above it.

    If they ignore `directory` itself, they are dropped: a path can name an ignored directory explicitly.

    Raises:
        NotInstalledError: the package that parses `.gitignore` is missing.
    """
    require("pathspec")
    rules = IgnoreRules()
    for depth in range(len(directory.parts)):
        parent = Located(directory.root, directory.parts[:depth], "")
        try:
            with open_directory(parent) as descriptor:
                rules = rules.entering(parent, descriptor)
        except ToolError:
            return IgnoreRules()
        if rules.ignores(directory.parts[: depth + 1], is_directory=True):
            rules = IgnoreRules()
    return rules


@dataclass(slots=True)
class IgnoreCheck:
    """Checks single files below `top` by the same rules as a walk from there."""

    top: Located
    known: dict[tuple[str, ...], IgnoreRules] = field(default_factory=dict)

    def ignores_file(self, below: tuple[str, ...]) -> bool:
        """Return whether the file at `below`, path parts from `top`, or one of its directories is ignored."""
        parts, start = self.top.parts + below, len(self.top.parts)
        return any(
            self._rules(below[:depth]).ignores(parts[: start + depth + 1], is_directory=depth < len(below) - 1)
            for depth in range(len(below))
        )

    def _rules(self, below: tuple[str, ...]) -> IgnoreRules:
        """Return the rules for the entries of the directory at `below`."""
        if below not in self.known:
            directory = Located(self.top.root, self.top.parts + below, "")
            outer = self._rules(below[:-1]) if below else rules_above(self.top)
            try:
                with open_directory(directory) as descriptor:
                    self.known[below] = outer.entering(directory, descriptor)
            except ToolError:
                self.known[below] = outer
        return self.known[below]


def parse_gitignore(text: str) -> GitIgnoreSpec:
    """Parse a `.gitignore`. Invalid rules, too long ones and too many are skipped."""
    from pathspec import GitIgnoreSpec

    rules = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    valid_rules = [rule for rule in rules[:MAX_RULES] if len(rule) <= MAX_RULE_LENGTH]
    if len(valid_rules) < len(rules):
        _log.warning("skipped %d rules of a .gitignore: too long or too many", len(rules) - len(valid_rules))
    return GitIgnoreSpec([pattern for rule in valid_rules if (pattern := _pattern(rule))], backend="simple")


def _pattern(rule: str) -> GitIgnoreSpecPattern | None:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        regex, include = GitIgnoreSpecPattern.pattern_to_regex(rule)
        if regex is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of `[[`, which begins a nested set in other languages
            return GitIgnoreSpecPattern(re.compile(_without_backtracking(regex)), include)
    except (ValueError, re.error):  # such as a single `!`, or a reversed range: in git it matches nothing
        return None


def _without_backtracking(regex: str) -> str:
    """Return an expression of pathspec with atomic groups: its time is the product of the lengths, not exponential.

    Every wildcard but the last may match as little as possible and never backtrack: that leaves the longest rest to the
    others. The last `**` stays greedy, since the deepest match decides. For `**/a/**/b/**/c`:

        ^(?:.+/)?a(?:/.+)?/b(?:/.+)?/c  ->  ^(?>(?:.+?/)??a(?=/))(?>(?:/.+?)??/b(?=/))(?:/.+)?/c
    """
    first, *others = _with_atomic_stars(regex).split(_GLOBSTAR_REGEX)
    if not others:
        return first
    if first.startswith(_LEADING_GLOBSTAR_REGEX):
        first = f"^(?>(?:.+?/)??{first.removeprefix(_LEADING_GLOBSTAR_REGEX)}(?=/))"
    *between, last = others
    return "".join([first, *(f"(?>(?:/.+?)??{part}(?=/))" for part in between), _GLOBSTAR_REGEX, last])


def _with_atomic_stars(regex: str) -> str:
    """Make the stars of each name atomic, except the last one before a slash or the end of the rule."""
    first, *others = regex.split(_STAR_REGEX)
    is_last = ["/" in part.replace("[^/]", "") or number == len(others) for number, part in enumerate(others, 1)]
    return first + "".join(
        f"{_STAR_REGEX}{part}" if last else f"(?>{_STAR_REGEX}?{part})"
        for part, last in zip(others, is_last, strict=True)
    )


def _read(directory: Located, descriptor: int) -> GitIgnoreSpec | None:
    try:
        with open_child(directory.child(".gitignore"), descriptor) as stream:
            data = stream.read(MAX_RULE_BYTES + 1)
    except ToolError:  # missing, or a link, which git does not follow either
        return None
    if len(data) > MAX_RULE_BYTES:  # a rule that is cut would have another meaning
        data = data[: data.rfind(b"\n", 0, MAX_RULE_BYTES) + 1]
    return parse_gitignore(decode(data) or "")
