"""The prefixes and directories of the workflow tools: arguments of a call, then variables of the environment."""

from __future__ import annotations

import logging
import math
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from toolmason_runtime import Prefix, ToolError, parse_prefix, prefix_from_environment

if TYPE_CHECKING:
    from workbench_handlers.workflows.data import Host

COMMAND_PREFIX_VARIABLE: Final = "GEMINI_COMMAND_PREFIX"
WORKFLOW_PREFIX_VARIABLE: Final = "GEMINI_WORKFLOW_PREFIX"
DEFAULT_PREFIX: Final = "gemini-"

DIRECTORIES: Final = {
    "specs": "DEFAULT_SPEC_DIR",
    "reviews": "DEFAULT_REVIEW_DIR",
    ".workflow-context": "DEFAULT_CONTEXT_DIR",
}
"""Directories that workflows name, each with the variable that replaces it."""
TTL_VARIABLE: Final = "CONTEXT_CACHE_TTL_MINUTES"
DEFAULT_TTL_MINUTES: Final = 30.0
_CLAUDE_COMMANDS: Final = ".claude/commands"

_log = logging.getLogger(__name__)


def command_prefix(value: str | None, parameter: str = "command_prefix") -> Prefix:
    """Return the prefix of slash commands: the argument of a call, else the variable.

    Raises:
        ToolError: the prefix is not allowed.
    """
    return _prefix(value, parameter, COMMAND_PREFIX_VARIABLE)


def workflow_prefix(value: str | None = None) -> Prefix:
    """Return the prefix of workflow files, as for `command_prefix`."""
    return _prefix(value, "workflow_prefix", WORKFLOW_PREFIX_VARIABLE)


def _prefix(value: str | None, parameter: str, variable: str) -> Prefix:
    try:
        if value is not None:
            return parse_prefix(value, parameter)
        return prefix_from_environment(variable, DEFAULT_PREFIX)
    except ValueError as error:
        raise ToolError(str(error), code="INVALID_PREFIX") from None


def command_directory(host: Host) -> str:
    """Return the directory of a client's commands. `DEFAULT_COMMAND_DIR` replaces that of Claude Code."""
    return directory("DEFAULT_COMMAND_DIR", host.directory) if host.directory == _CLAUDE_COMMANDS else host.directory


def workflow_directory(host: Host) -> str:
    """Return the directory of workflow files: `DEFAULT_WORKFLOW_DIR`, or `workflows` beside the commands."""
    return directory("DEFAULT_WORKFLOW_DIR", f"{host.directory.partition('/')[0]}/workflows")


def directory(variable: str, default: str) -> str:
    """Return the directory in an environment variable, or `default`: a path relative to the project, or absolute."""
    return os.path.expanduser(os.environ.get(variable, "").strip() or default)  # noqa: PTH111  `~unknown` stays


def with_directories(text: str) -> str:
    """Return a workflow in which directories such as `specs/` are those of the environment."""
    for name, variable in DIRECTORIES.items():
        text = text.replace(f"`{name}/`", f"`{PurePath(directory(variable, name)).as_posix()}/`")
    return text


def ttl_minutes() -> float:
    """Return the lifetime of contexts in minutes; an invalid value is logged, and replaced by the default."""
    text = os.environ.get(TTL_VARIABLE, "").strip()
    try:
        minutes = float(text or DEFAULT_TTL_MINUTES)
    except ValueError:
        minutes = math.nan
    if 0 < minutes < math.inf:
        return minutes
    _log.warning("%s must be a number of minutes; using %.0f", TTL_VARIABLE, DEFAULT_TTL_MINUTES)
    return DEFAULT_TTL_MINUTES
