"""Load the policy file of a server and report all of its errors at once."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from toolmason_runtime.programs.argv import placements_of
from toolmason_runtime.programs.policy import ArgumentRule, DefaultAccess, ExecutorName, Policy
from toolmason_runtime.shared.specs.program import CommandTool
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.document import TomlDocument, parse_toml
from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.problems import Kind, Problem, table_name
from toolmason_runtime.shared.toml.reader import TableCheck, TableContext, read
from toolmason_runtime.shared.toml.tables import Table


class PolicyError(Exception):
    """A policy file cannot be used. `mistakes` are its errors, each with file, line and column, in file order."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


def load_policy(
    path: Path, tools: Iterable[CommandTool] | None = None, *, handlers: Mapping[str, bool] = MappingProxyType({})
) -> Policy:
    """Read a policy file. With `tools`, its rules must name these tools and their arguments, or one of `handlers`.

    `handlers` are the names of the other tools, and whether each never asks for approval, because it only reads.

    Raises:
        PolicyError: the file cannot be read, is not TOML, or has errors.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise PolicyError([f"{path}: cannot read: {error.strerror}"]) from error
    document = parse_toml(raw.removeprefix(codecs.BOM_UTF8))
    if isinstance(document, Problem):
        raise PolicyError([f"{path}:{document}"])
    problems: list[Problem] = []
    checks: dict[type[Table], TableCheck] = {Policy: _check_policy, ArgumentRule: _check_rule}
    policy = read(Policy, document, report=problems.append, checks=checks)
    if policy and tools is not None:
        problems += _unknown_names(policy, document, tools, handlers)
    if policy is None or problems:
        in_file_order = sorted(problems, key=lambda problem: (problem.position, problem.message))
        raise PolicyError([f"{path}:{problem}" for problem in in_file_order])
    return policy if "default" in document.data else replace(policy, default=DefaultAccess.DISABLED)


def _unknown_names(
    policy: Policy, document: TomlDocument, tools: Iterable[CommandTool], handlers: Mapping[str, bool]
) -> Iterator[Problem]:
    """Report each tool and argument with rules that does not exist, and each rule without effect on a handler."""
    known = {tool.name: [placement.name for placement in placements_of(tool)] for tool in tools}
    for name, rule in policy.tools.items():
        if name in handlers:
            for limits in rule.arguments.values():
                message = f"tool `{name}` runs no program; only command tools have `args`"
                yield _unknown(document, limits.at, message, "use `enabled` and `require_approval`")
            if rule.require_approval and handlers[name]:
                message = f"tool `{name}` only reads and never asks for approval"
                yield _unknown(document, (*rule.at, "require_approval"), message, "use `enabled = false` to remove it")
            continue
        if name not in known:
            hint = did_you_mean(name, [*known, *handlers])
            yield _unknown(document, rule.at, f"there is no tool `{name}`", hint)
            continue
        for argument, limits in rule.arguments.items():
            if argument not in known[name]:
                message = f"tool `{name}` has no argument `{argument}`"
                yield _unknown(document, limits.at, message, did_you_mean(argument, known[name]))


def _unknown(document: TomlDocument, path: KeyPath, message: str, hint: str) -> Problem:
    position = document.position(path)
    return Problem(kind=Kind.UNKNOWN_KEY, message=message, position=position, path=path, hint=hint)


def _check_policy(table: TableContext) -> None:
    if "default" not in table.data and not table.data.get("tools"):
        message = (
            'the policy enables no tool; set `default = "enabled"` or add a [tools.NAME] table for each permitted tool'
        )
        table.error(Kind.EMPTY, message)
    uses_docker = table.data.get("executor") == ExecutorName.DOCKER
    if uses_docker and "docker" not in table.data:
        message = 'executor = "docker" needs a table [docker] with an `image`'
        table.error(Kind.MISSING_KEY, message, "executor", value=False)
    if "docker" in table.data and not uses_docker and table.data.get("executor", "local") == ExecutorName.LOCAL:
        table.error(Kind.VALUE, 'only executor = "docker" has a table [docker]', "docker", value=False)


def _check_rule(table: TableContext) -> None:
    if not table.data:
        message = f"{table_name(table.at)} has no rule; add `pattern`, `min`, `max` or `enum`"
        table.error(Kind.EMPTY, message)
    minimum, maximum = table.data.get("min"), table.data.get("max")
    if isinstance(minimum, int | float) and isinstance(maximum, int | float) and minimum > maximum:
        table.error(Kind.VALUE, f"`max` is less than `min`: {maximum} < {minimum}", "max")
