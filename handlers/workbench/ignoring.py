"""Which entries of a tree are left out: version control, installed packages, and what `.gitignore` files name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolwright_runtime import ToolError

from workbench.decoding import decode
from workbench.opening import open_child, open_folder
from workbench.packages import require
from workbench.roots import Located

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

ALWAYS_IGNORED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"})
"""Names that are left out wherever they stand, unless they are asked for by name."""

MOST_RULE_BYTES: Final = 1_000_000
"""Longest `.gitignore` that is read."""


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


def _read(folder: Located, descriptor: int) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec

    try:
        with open_child(folder.child(".gitignore"), descriptor) as stream:
            text = decode(stream.read(MOST_RULE_BYTES)) or ""
    except ToolError:  # there is none, or a link, which git does not follow either
        return None
    return GitIgnoreSpec.from_lines(text.splitlines())
