"""Which entries of a tree are left out: version control, installed packages, and what `.gitignore` files name."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.open import open_child, open_folder
from workbench_handlers.workspace.packages import require
from workbench_handlers.workspace.roots import Located

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_log = logging.getLogger(__name__)

ALWAYS_IGNORED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"})
"""Names that are left out wherever they stand, unless they are asked for by name."""

MAX_RULE_BYTES: Final = 200_000
"""How much of a `.gitignore` is read."""
MAX_RULES: Final = 5_000
"""Rules of one `.gitignore` that count."""
MAX_RULE_LENGTH: Final = 1_000
"""Characters of a rule that counts."""

_STARS: Final = "[^/]*"
"""How pathspec writes a `*`."""
_ANY_FOLDERS_FIRST: Final = "^(?:.+/)?"
"""How it writes a `**` that begins a rule."""
_ANY_FOLDERS: Final = "(?:/.+)?"
"""How it writes a `**` between folders."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The `.gitignore` files from a root down to one folder, the innermost last.

    Each stands with the number of path parts at which it does; as in git, the innermost that has an opinion decides.
    """

    levels: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def ignores(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Tell whether the entry at `parts` (from the root) is left out. Its parents are not looked at."""
        if parts[-1] in ALWAYS_IGNORED:
            return True
        for depth, spec in reversed(self.levels):
            relative = "/".join(parts[depth:]) + ("/" if is_folder else "")
            decided = spec.check_file(relative).include
            if decided is not None:
                return decided
        return False

    def entering(self, folder: Located, descriptor: int) -> IgnoreRules:
        """Give the rules that hold in `folder`, which is open as `descriptor`."""
        spec = _read(folder, descriptor)
        return IgnoreRules((*self.levels, (len(folder.parts), spec))) if spec else self


def rules_above(folder: Located) -> IgnoreRules:
    """Give the rules that hold for the entries of `folder` by the files above it.

    They are dropped where they would leave out `folder` itself: whoever names an ignored folder wants to see it.

    Raises:
        NotInstalledError: what reads such files is missing, and so no tree can be walked.
    """
    require("pathspec")
    rules = IgnoreRules()
    for depth in range(len(folder.parts)):
        parent = Located(folder.root, folder.parts[:depth], "")
        try:
            with open_folder(parent) as descriptor:
                rules = rules.entering(parent, descriptor)
        except ToolError:
            return IgnoreRules()
        if rules.ignores(folder.parts[: depth + 1], is_folder=True):
            rules = IgnoreRules()
    return rules


@dataclass(slots=True)
class IgnoreCheck:
    """Whether single entries below `top` are left out, by the same rules as a walk from there."""

    top: Located
    known: dict[tuple[str, ...], IgnoreRules] = field(default_factory=dict)

    def leaves_out(self, below: tuple[str, ...]) -> bool:
        """Tell whether the file at `below`, path parts from `top`, or a folder it stands in, is left out."""
        whole, start = self.top.parts + below, len(self.top.parts)
        return any(
            self._rules(below[:depth]).ignores(whole[: start + depth + 1], is_folder=depth < len(below) - 1)
            for depth in range(len(below))
        )

    def _rules(self, below: tuple[str, ...]) -> IgnoreRules:
        """Give the rules for the entries of the folder at `below`."""
        if below not in self.known:
            folder = Located(self.top.root, self.top.parts + below, "")
            outer = self._rules(below[:-1]) if below else rules_above(self.top)
            try:
                with open_folder(folder) as descriptor:
                    self.known[below] = outer.entering(folder, descriptor)
            except ToolError:
                self.known[below] = outer
        return self.known[below]


def spec_of(text: str) -> GitIgnoreSpec:
    """Give the rules of a `.gitignore`. What is no rule is left out, and what is too long or too much."""
    from pathspec import GitIgnoreSpec

    rules = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    kept = [rule for rule in rules[:MAX_RULES] if len(rule) <= MAX_RULE_LENGTH]
    if len(kept) < len(rules):
        _log.warning("%d of the rules of a .gitignore are left out: too long or too many", len(rules) - len(kept))
    return GitIgnoreSpec([pattern for rule in kept if (pattern := _pattern(rule))], backend="simple")


def _pattern(rule: str) -> GitIgnoreSpecPattern | None:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        regex, include = GitIgnoreSpecPattern.pattern_to_regex(rule)
        return None if regex is None else GitIgnoreSpecPattern(re.compile(_hurried(regex)), include)
    except (ValueError, re.error):  # such as a lone `!`, or a range that runs backwards: git matches nothing with it
        return None


def _hurried(regex: str) -> str:
    """Make an expression that pathspec wrote take no more than the product of the lengths, not all the ways to match.

    Of several wildcards all but the last may take the first place that fits, and never another: what comes after them
    has the most room then. So they become atomic. The last `**` stays greedy, since a deeper match wins over others.
    """
    first, *others = _with_hurried_stars(regex).split(_ANY_FOLDERS)
    if not others:
        return first
    if first.startswith(_ANY_FOLDERS_FIRST):
        first = f"^(?>(?:.+?/)??{first.removeprefix(_ANY_FOLDERS_FIRST)}(?=/))"
    *between, last = others
    return "".join([first, *(f"(?>(?:/.+?)??{each}(?=/))" for each in between), _ANY_FOLDERS, last])


def _with_hurried_stars(regex: str) -> str:
    """Do so with the stars of each name: all but those that a slash or the end of the rule comes after."""
    first, *others = regex.split(_STARS)
    is_last = ["/" in each.replace("[^/]", "") or number == len(others) for number, each in enumerate(others, 1)]
    return first + "".join(
        f"{_STARS}{each}" if last else f"(?>{_STARS}?{each})" for each, last in zip(others, is_last, strict=True)
    )


def _read(folder: Located, descriptor: int) -> GitIgnoreSpec | None:
    try:
        with open_child(folder.child(".gitignore"), descriptor) as stream:
            data = stream.read(MAX_RULE_BYTES + 1)
    except ToolError:  # there is none, or a link, which git does not follow either
        return None
    if len(data) > MAX_RULE_BYTES:  # what is cut in the middle means something else
        data = data[: data.rfind(b"\n", 0, MAX_RULE_BYTES) + 1]
    return spec_of(decode(data) or "")
