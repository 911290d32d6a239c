"""Run git for information on a repository, with the command and the environment of its tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolmason_runtime import ToolError
from toolmason_runtime.programs import (
    CommandTool,
    Guarded,
    Invocation,
    Outcome,
    Program,
    Risk,
    SearchPath,
    build_invocation,
    confined,
    find_executable,
    isolation,
    resolve_access,
    run,
)

from workbench_handlers.workspace.roots import Root


@dataclass(frozen=True, slots=True)
class GitOutput:
    """The output of git."""

    text: str
    error: str
    is_failure: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of git. `name` is in lower case except its subsection; `origin` is its file."""

    scope: str
    origin: str
    name: str
    value: str


def with_absolute_path(program: Program, roots: Sequence[Root]) -> Program:
    """Return a program by its absolute path, so that no root can contain another one.

    Raises:
        ToolError: it is not installed.
    """
    environ = {**os.environ, **program.env}
    path = SearchPath.of(environ, [root.path for root in roots])
    executable = find_executable(program.command[0], path.narrow(environ), skipped=path.skipped)
    return replace(program, command=(executable, *program.command[1:]))


async def run_git(program: Program, directory: str, *argv: str) -> GitOutput:
    """Run git in a directory and return its output. Invalid UTF-8 becomes U+FFFD.

    Raises:
        ToolError: git did not start or end in time, or its output is too large.
    """
    return _read(await run(_invocation(program, directory, argv)))


async def run_git_confined(
    program: Program, directory: str, *argv: str, roots: Sequence[Root], reads: Sequence[str]
) -> GitOutput:
    """Run git as `run_git` does, with the access of a reading tool: `reads`, the roots and the user's own settings.

    Use it where git reads objects: a repository can name a program that fetches missing ones.

    Raises:
        ToolError: git did not start or end in time, or its output is too large.
    """
    invocation = replace(_invocation(program, directory, argv), projects=tuple(str(root.path) for root in roots))
    if not isolation() or program.permissions is None:
        return _read(await run(invocation))
    guarded = Guarded(values={}, reads=tuple(reads))
    access = resolve_access(program.permissions, guarded, invocation, risk=Risk.READ, environ=os.environ)
    async with confined(invocation, access) as prepared:
        return _read(await run(prepared))


def _invocation(program: Program, directory: str, argv: tuple[str, ...]) -> Invocation:
    tool = CommandTool(name=argv[0], program=program, argv=argv)
    return replace(build_invocation(tool, {}, environ=os.environ), cwd=directory)


def _read(outcome: Outcome) -> GitOutput:
    try:
        if outcome.timed_out:
            raise ToolError("git timed out: retry", code="TIMEOUT")
        if outcome.stdout.dropped_bytes:
            message = "the repository is too large to be checked before git runs: ask the user to run this command"
            raise ToolError(message, code="TOO_LARGE")
        return GitOutput("".join(outcome.stdout.texts()), "".join(outcome.stderr.texts()).strip(), outcome.is_failure)
    finally:
        outcome.close()


async def list_settings(program: Program, directory: str) -> tuple[Setting, ...]:
    """Return all settings of git in a directory, later ones taking precedence.

    Raises:
        ToolError: git cannot read them.
    """
    output = await run_git(program, directory, "config", "--list", "--null", "--show-scope", "--show-origin")
    fields = output.text.split("\0")
    if output.is_failure or len(fields) % 3 != 1:
        message = f"the settings of the repository cannot be read: {output.error or 'git wrote something unexpected'}"
        raise ToolError(message, code="CANNOT_READ")
    return tuple(
        Setting(scope, os.path.join(directory, origin.removeprefix("file:")), *_split(setting))  # noqa: PTH118  text
        for scope, origin, setting in zip(fields[:-1:3], fields[1::3], fields[2::3], strict=True)
    )


def _split(setting: str) -> tuple[str, str]:
    name, _, value = setting.partition("\n")
    return name, value
