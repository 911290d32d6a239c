"""Restrict git to the opened folder of a larger repository: no path, name or content of its siblings is shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import CommandTool, Program, items

from workbench_handlers.git.outside import Reach
from workbench_handlers.git.run_git import GitOutput, run_git_confined
from workbench_handlers.workspace.roots import RefusedPathError, Root

REVISIONS: Final = frozenset({"revision", "object"})
"""Parameters of git tools that are revisions."""
MAX_COMMITS: Final = 50
"""Maximum commits that a revision may stand for: a range has two or three."""
_INDEX: Final = re.compile(r":(?:[0-3]:)?(?P<path>[^/].*|)", re.DOTALL)
"""`:PATH` and `:0:PATH`, files of the index; `:/TEXT` is a search for a commit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A call of git in `directory`, in a repository of which only `reach.limit` is open."""

    program: Program
    directory: str
    reach: Reach
    roots: Sequence[Root]

    async def values(self, tool: CommandTool, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values to replace, so that git shows the open directory only.

        Raises:
            ToolError: an argument leads out of it.
        """
        places = {placement.name: placement.place for placement in tool.placements}
        for name in REVISIONS & places.keys() & values.keys():
            await self._check_revision(values[name])
        for name in {"path", "paths"} & places.keys():
            for path in items(values.get(name) or ()):
                self._check_path(path, self.directory, path)
        if "paths" not in places:
            return {}
        # With a slash at its end, git does not list the directory above it.
        paths = items(values.get("paths") or [f"{self.reach.limit}/"])
        # Twice: with one path alone, `log.follow` follows a renamed file out of the directory.
        return {"paths": [*paths, paths[-1]]}

    async def _check_revision(self, revision: str) -> None:
        """Check that a revision is a commit or a range, or a file inside the roots: `main:./app.py`, `:0:lib/app.py`.

        Trees and blobs by their hash, or below another tree, could be anywhere in the repository.
        """
        if revision.startswith("-"):
            raise ToolError(f"`{revision}` starts with `-`, so it is not a revision", code="INVALID_ARGUMENT")
        commit, path = _split(revision)
        if path is not None:
            relative = path.startswith(("./", "../"))
            self._check_path(path, self.directory if relative else self.reach.top, revision)
        if commit:
            await self._check_commits(commit)

    async def _check_commits(self, revision: str) -> None:
        output = await self._git("rev-parse", "--revs-only", revision, "--")
        if output.is_failure:
            raise ToolError(output.error or f"`{revision}` is not a revision", code="NOT_FOUND")
        hashes = [line.removeprefix("^") for line in output.text.split()]
        if len(hashes) > MAX_COMMITS:
            raise ToolError(f"`{revision}` stands for more than {MAX_COMMITS} commits", code="INVALID_ARGUMENT")
        output = await self._git("rev-parse", *(f"{name}^{{commit}}" for name in hashes))
        if output.is_failure:
            message = (
                f"`{revision}` is not a commit. Only the folder `{self.reach.limit}` of this repository is open: send "
                "a commit, or REVISION:./PATH for a file in it"
            )
            raise RefusedPathError(message, reason="Object is not a commit")

    async def _git(self, *argv: str) -> GitOutput:
        return await run_git_confined(self.program, self.directory, *argv, roots=self.roots, reads=self.reach.reads)

    def _check_path(self, path: str, base: str, sent: str) -> None:
        """Check a path as git reads it, without following links, which may have been directories in older commits."""
        full = Path(os.path.normpath(os.path.join(base, path)))  # noqa: PTH118  `path` may be absolute
        if not any(full.is_relative_to(root.path) for root in self.roots):
            message = (
                f"`{sent}` is outside the allowed directories of this repository; in REVISION:PATH, begin PATH with "
                "`./` for a path from `repository`"
            )
            raise RefusedPathError(message, reason="Path is outside project root", resolved=str(full))


def _split(revision: str) -> tuple[str, str | None]:
    """Split `REVISION:PATH` as git does, at the first colon outside of braces; the path is None without one."""
    if match := _INDEX.fullmatch(revision):
        return "", match["path"]
    depth = 0
    for position, character in enumerate(revision):
        if character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif character == ":" and not depth and position:
            return revision[:position], revision[position + 1 :]
    return revision, None
