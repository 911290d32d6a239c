"""Keeps gh to the hosts that the user chose: a token of theirs goes to whichever one a call names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program

from workbench_handlers.git.ask import ask, pinned
from workbench_handlers.git.repositories import Reach, check_repository
from workbench_handlers.workspace.roots import Root

GIT: Final = Program(
    name="git",
    command=("git", "--no-pager"),
    env={"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "no protocol", "GIT_NO_LAZY_FETCH": "1"},
    pass_env=("XDG_CONFIG_HOME",),
)
"""The git that gh asks about a clone. What is asked here reads no file of the working tree."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9_.-]+")


async def check_github(values: Mapping[str, Any], folder: str, roots: Sequence[Root]) -> None:
    """Make sure that `repo` names no host, and that the clone in `folder`, if it is one, is inside of the roots.

    Without a host gh asks github.com, or what `GH_HOST` says. From a clone it takes only remotes of hosts that the
    user is logged in to, so that their addresses need no look; the repository that a remote is resolved to does.

    Raises:
        ToolError: it does, or it is not.
    """
    repo = values.get("repo")
    if repo is not None and (not _NAME.fullmatch(repo) or repo.rpartition("/")[2] in {".", ".."}):
        raise ToolError("`repo` must be OWNER/NAME, without a host", code="HOST_NOT_ALLOWED")
    try:
        git = pinned(GIT, roots)
        await check_repository(git, folder, roots, Reach())
    except ToolError as error:
        if error.code in {"NO_REPOSITORY", "NOT_INSTALLED"}:
            return  # without git, gh cannot look at a clone either
        raise
    said = await ask(git, folder, "config", "--null", "--get-regexp", r"^remote\..*\.gh-resolved$")
    for setting in said.text.split("\0"):
        resolved = setting.partition("\n")[2]
        if resolved not in {"", "base"} and not _NAME.fullmatch(resolved):
            raise ToolError(
                "`gh-resolved` in the settings of this clone is no OWNER/NAME: ask the user to run "
                "`gh repo set-default` there",
                code="HOST_NOT_ALLOWED",
            )
