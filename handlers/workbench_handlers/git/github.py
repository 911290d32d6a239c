"""Restrict gh to the hosts that the user is logged in to: gh sends the user's token to the host of a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Program

from workbench_handlers.git.repositories import GitAccess, check_repository
from workbench_handlers.git.run_git import run_git, with_absolute_path
from workbench_handlers.workspace.roots import Root

GIT: Final = Program(
    name="git",
    command=("git", "--no-pager"),
    env={"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "no protocol", "GIT_NO_LAZY_FETCH": "1"},
    pass_env=("XDG_CONFIG_HOME",),
)
"""git for the check of a clone; its commands read no file of the working tree."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9_.-]+")
"""`octo-org/hello.world`, without a host."""


async def check_github(values: Mapping[str, Any], directory: str, roots: Sequence[Root]) -> tuple[str, ...]:
    """Check that `repo` contains no host, and that the clone in `directory` may be read.

    Return the directories of the clone outside the roots, which git needs.

    Without a host gh uses github.com or `GH_HOST`. In a clone it uses only remotes on hosts that the user is logged in
    to, so only the repository in `gh-resolved` needs a check.

    Raises:
        ToolError: `repo` or `gh-resolved` contains a host, or the clone must not be read.
    """
    repo = values.get("repo")
    if repo is not None and (not _NAME.fullmatch(repo) or repo.rpartition("/")[2] in {".", ".."}):
        raise ToolError("`repo` must be OWNER/NAME, without a host", code="HOST_NOT_ALLOWED")
    try:
        git = with_absolute_path(GIT, roots)
        reach = await check_repository(git, directory, roots, GitAccess())
    except ToolError as error:
        if error.code in {"NO_REPOSITORY", "NOT_INSTALLED"}:
            return ()  # without git, gh cannot read a clone either
        raise
    output = await run_git(git, directory, "config", "--null", "--get-regexp", r"^remote\..*\.gh-resolved$")
    for setting in output.text.split("\0"):
        resolved = setting.partition("\n")[2]
        if resolved not in {"", "base"} and not _NAME.fullmatch(resolved):
            raise ToolError(
                "`gh-resolved` in the git config of this clone must be OWNER/NAME: ask the user to run "
                "`gh repo set-default` there",
                code="HOST_NOT_ALLOWED",
            )
    return reach.reads
