"""Asks git about a repository, with the command and the environment that its tools have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolmason_runtime import ToolError
from toolmason_runtime.programs import CommandTool, Program, SearchPath, invocation, located, run

from workbench_handlers.workspace.roots import Root


@dataclass(frozen=True, slots=True)
class Said:
    """What git wrote, and whether it succeeded."""

    text: str
    error: str
    is_failure: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, its name in lower case but for the middle. `origin` is the file that holds it."""

    scope: str
    origin: str
    name: str
    value: str


def pinned(program: Program, roots: Sequence[Root]) -> Program:
    """Return a program by its absolute path, so that none of the roots chooses another one.

    Raises:
        ToolError: it is not installed.
    """
    environ = {**os.environ, **program.env}
    path = SearchPath.of(environ, [root.path for root in roots])
    found = located(program.command[0], path.narrow(environ), skipped=path.skipped)
    return replace(program, command=(found, *program.command[1:]))


async def ask(program: Program, folder: str, *argv: str) -> Said:
    """Run git in a folder, and give all that it writes. What is no UTF-8 becomes U+FFFD.

    Raises:
        ToolError: git could not be asked, or wrote more than can be looked at.
    """
    tool = CommandTool(name=argv[0], program=program, argv=argv)
    outcome = await run(replace(invocation(tool, {}, environ=os.environ), cwd=folder))
    try:
        if outcome.timed_out:
            raise ToolError("git did not answer in time: try again", code="TIMEOUT")
        if outcome.stdout.dropped:
            message = "the repository is too large to be looked at before git is run on it: ask the user to do this"
            raise ToolError(message, code="TOO_LARGE")
        return Said("".join(outcome.stdout.texts()), "".join(outcome.stderr.texts()).strip(), outcome.is_failure)
    finally:
        outcome.close()


async def ask_settings(program: Program, folder: str) -> tuple[Setting, ...]:
    """Return all settings that git has in a folder, in the order in which they count.

    Raises:
        ToolError: git cannot read them.
    """
    said = await ask(program, folder, "config", "--list", "--null", "--show-scope", "--show-origin")
    fields = said.text.split("\0")
    if said.is_failure or len(fields) % 3 != 1:
        message = f"the settings of the repository cannot be read: {said.error or 'git wrote something unexpected'}"
        raise ToolError(message, code="CANNOT_READ")
    return tuple(
        Setting(scope, os.path.join(folder, origin.removeprefix("file:")), *_split(setting))  # noqa: PTH118  text
        for scope, origin, setting in zip(fields[:-1:3], fields[1::3], fields[2::3], strict=True)
    )


def _split(setting: str) -> tuple[str, str]:
    name, _, value = setting.partition("\n")
    return name, value
