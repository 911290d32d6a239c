"""Policy of a server: its tables, and the check of a call.

A policy can only narrow the manifest. Rules apply to the final text of each argument, including defaults, numbers and
items of lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from toolmason_runtime.programs.argv import argument_text, effective_values, is_number, labelled_items, placements_of
from toolmason_runtime.programs.linear_regex import Pattern, PatternError
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import CommandTool, Risk
from toolmason_runtime.shared.toml.tables import JsonValue, Table, converted, key
from toolmason_runtime.shared.values.schema_text import shown
from toolmason_runtime.shared.values.wording import disabled, named

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
"""`-1`, `.5`, `1.`, `2e10`; the length of the exponent is limited because `Decimal` writes the number out."""


class Approval(StrEnum):
    """Calls that need approval: those with this risk or a greater one."""

    NONE = "none"
    DESTRUCTIVE = "destructive"
    WRITE = "write"
    ALL = "all"

    def covers(self, risk: Risk) -> bool:
        """Return whether a call with this risk needs approval."""
        min_risks = {Approval.DESTRUCTIVE: Risk.DESTRUCTIVE, Approval.WRITE: Risk.WRITE, Approval.ALL: Risk.READ}
        return self in min_risks and risk.rank >= min_risks[self].rank


class HeadlessMode(StrEnum):
    """Decision on a call that needs approval if the client cannot prompt the user."""

    DENY = "deny"
    APPROVE = "approve"


class DefaultAccess(StrEnum):
    """Default for tools without a table in the policy."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class ExecutorName(StrEnum):
    """Where programs run."""

    LOCAL = "local"
    DOCKER = "docker"


def _pattern(text: str) -> Pattern:
    try:
        return Pattern(text)
    except PatternError as error:
        raise ValueError(f"cannot be used: {error}") from error


def _choices(values: tuple[JsonValue, ...]) -> tuple[str | float, ...]:
    if values and all(isinstance(value, str | int | float) for value in values):
        return values
    raise ValueError("must be an array of strings, numbers and booleans, with at least one item")


def _volumes(volumes: tuple[str, ...]) -> tuple[str, ...]:
    if all(_is_docker_value(volume) and ":" in volume for volume in volumes):
        return volumes
    raise ValueError("must be an array of strings such as `/here:/there:ro`")


def _docker_value(text: str) -> str:
    if _is_docker_value(text):
        return text
    raise ValueError("must be one line that does not start with `-`")


def _is_docker_value(text: str) -> bool:
    """Return whether a text can be a value on the command line of `docker`."""
    return bool(text) and text.isprintable() and not text.startswith("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker(Table):
    """`[docker]`: the container of each call."""

    image: str = key(converted(str, _docker_value))
    """Image of the container."""
    volumes: tuple[str, ...] = key(converted(tuple[str, ...], _volumes), default=())
    """Directories of this machine in the container: `/here:/there:ro`."""
    network: str = key(converted(str, _docker_value), default="none")
    """Network of the container."""
    working_dir: str = key(converted(str, _docker_value), default="")
    """Directory in the container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule(Table):
    """`[tools.NAME.args.NAME]`: the allowed texts of one argument."""

    pattern: Pattern | None = key(converted(str, _pattern), default=None)  # noqa: RUF009 - a field
    """Regular expression for the whole text."""
    minimum: int | float | None = key(name="min", default=None)
    """Smallest number."""
    maximum: int | float | None = key(name="max", default=None)
    """Largest number."""
    choices: tuple[str | float, ...] | None = key(converted(tuple[JsonValue, ...], _choices), name="enum", default=None)
    """Allowed values."""

    def problem(self, value: Any, text: str) -> str:
        """Return the violated condition of `value` with the text `text`; empty if it is allowed."""
        if self.choices is not None and not any(_is_same(value, text, choice) for choice in self.choices):
            return f"must be one of: {', '.join(_plain(choice) for choice in self.choices)}"
        if self.pattern is not None and not self.pattern.matches(text):
            return f"must match `{self.pattern.text}` as a whole"
        if self.minimum is None and self.maximum is None:
            return ""
        number = None if _NUMBER.fullmatch(text) is None else Decimal(text)
        is_low = number is not None and self.minimum is not None and number < _exact(self.minimum)
        is_high = number is not None and self.maximum is not None and number > _exact(self.maximum)
        return f"must be a number {self._range()}" if number is None or is_low or is_high else ""

    def _range(self) -> str:
        if self.minimum is None:
            return f"of at most {self.maximum}"
        return f"of at least {self.minimum}" if self.maximum is None else f"from {self.minimum} to {self.maximum}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRule(Table):
    """`[tools.NAME]`: one tool."""

    enabled: bool = True
    """Whether it may run."""
    require_approval: bool | None = None
    """Whether each call needs approval; by default `approval` decides."""
    arguments: Mapping[str, ArgumentRule] = key(name="args", default={})
    """Rules for its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Table):
    """The policy of a server. The default enables every tool, and those that write need approval.

    `docker` is None if programs run on this machine.
    """

    default: DefaultAccess = DefaultAccess.ENABLED
    """Tools of programs, APIs and upstreams without a table of their own. In a file the default is `disabled`."""
    approval: Approval = Approval.WRITE
    """Calls that need approval."""
    headless: HeadlessMode = HeadlessMode.DENY
    """Calls that need approval from a client that cannot ask."""
    executor: ExecutorName = ExecutorName.LOCAL
    """Where programs run."""
    docker: Docker | None = None
    """The container, for executor `docker`."""
    tools: Mapping[str, ToolRule] = key(default={})
    """Rules by the name of the tool."""

    def is_enabled(self, name: str, *, is_program: bool = True) -> bool:
        """Return whether the tool may run. `default` does not apply to handlers."""
        rule = self.tools.get(name)
        return not is_program or self.default is DefaultAccess.ENABLED if rule is None else rule.enabled

    def needs_approval(self, name: str, risk: Risk) -> bool:
        """Return whether a call with `risk` needs approval. The rule of the tool takes precedence."""
        rule = self.tools.get(name)
        required = None if rule is None else rule.require_approval
        return self.approval.covers(risk) if required is None else required

    def check(self, tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str]) -> list[str]:
        """Return every policy violation of a call, defaults included; empty if it is allowed.

        Raises:
            ToolError: see `effective_values`.
        """
        if not self.is_enabled(tool.name):
            return [disabled(tool.name)]
        rules = self.tools[tool.name].arguments if tool.name in self.tools else {}
        off = {placement.name: False for placement in placements_of(tool) if placement.switch}
        values = off | effective_values(tool, arguments, environ=environ)
        return [
            problem
            for name, rule in rules.items()
            if name in values
            for problem in _problems(name, values[name], rule, is_default=arguments.get(name) is None)
        ]


def _problems(name: str, value: Any, rule: ArgumentRule, *, is_default: bool) -> Iterator[str]:
    """Yield the violations of each text of a value."""
    for label, item in labelled_items(name, value):
        try:
            problem = rule.problem(item, argument_text(label, item))
        except ToolError as error:
            yield error.message
            continue
        if problem:
            source = ", its default" if is_default else ""
            yield f"{named((label,))} {problem}, by the policy of this server; got {shown(item)}{source}"


def _exact(number: float) -> Decimal:
    """Return the decimal that the number is written as: 0.1 is a tenth."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def _plain(choice: str | float) -> str:
    return choice if isinstance(choice, str) else shown(choice)


def _is_same(value: Any, text: str, choice: str | float) -> bool:
    """Return whether a value has the same text as the choice, or is the same number."""
    return text == _plain(choice) or (is_number(value) and is_number(choice) and bool(value == choice))
