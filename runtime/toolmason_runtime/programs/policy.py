"""What whoever runs a server allows its command tools, and what that says of a call.

A policy can only narrow what the manifest allows. It is held against the text that is finally written on the command
line, so that a default, a number or an item of a list is judged as what the program will read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from toolmason_runtime.programs.argv import is_number, named_items, placements_of, text_of, values_used
from toolmason_runtime.programs.linear_regex import Pattern
from toolmason_runtime.programs.spec import CommandTool, Risk
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.schema_text import shown
from toolmason_runtime.protocol.wording import disabled, named

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)


class Approval(StrEnum):
    """Which calls a person is asked about: those of this risk or of a greater one."""

    NONE = "none"
    DESTRUCTIVE = "destructive"
    WRITE = "write"
    ALL = "all"

    def covers(self, risk: Risk) -> bool:
        """Whether a call of that risk is asked about."""
        least = {Approval.DESTRUCTIVE: Risk.DESTRUCTIVE, Approval.WRITE: Risk.WRITE, Approval.ALL: Risk.READ}
        return self in least and risk.rank >= least[self].rank


class Headless(StrEnum):
    """What becomes of a call that needs approval where nobody can be asked."""

    DENY = "deny"
    APPROVE = "approve"


class Listing(StrEnum):
    """What a tool is that the policy does not list."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class ExecutorName(StrEnum):
    """Where programs run."""

    LOCAL = "local"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    """`[docker]`: how the container of one call is made. `network` is `none` unless the policy names another."""

    image: str
    volumes: tuple[str, ...] = ()
    network: str = "none"
    working_dir: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule:
    """`[tools.NAME.args]`: what the text of one argument must be. None: anything. `where` is its file and line."""

    pattern: Pattern | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str | float, ...] | None = None
    where: str = field(default="", compare=False)

    def problem(self, value: Any, text: str) -> str:
        """Say what `value`, written as `text`, must be instead; empty if it is allowed."""
        if self.choices is not None and not any(_is_same(value, text, each) for each in self.choices):
            return f"must be one of: {', '.join(_plain(each) for each in self.choices)}"
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
class ToolRule:
    """`[tools.NAME]`. A tool that is listed is enabled, unless it says otherwise. `where` is its file and line."""

    enabled: bool = True
    require_approval: bool | None = None
    arguments: Mapping[str, ArgumentRule] = field(default_factory=dict)
    where: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a server's command tools may do. As made without arguments: all of them, asking before any that writes.

    `docker` is None where programs run on this machine.
    """

    default: Listing = Listing.ENABLED
    approval: Approval = Approval.WRITE
    headless: Headless = Headless.DENY
    docker: Docker | None = None
    tools: Mapping[str, ToolRule] = field(default_factory=dict)

    def is_enabled(self, name: str) -> bool:
        """Whether the tool of that name may be run at all."""
        rule = self.tools.get(name)
        return self.default is Listing.ENABLED if rule is None else rule.enabled

    def needs_approval(self, name: str, risk: Risk) -> bool:
        """Whether a person is asked before the tool runs with `risk`. What the policy says of the tool itself wins."""
        rule = self.tools.get(name)
        required = None if rule is None else rule.require_approval
        return self.approval.covers(risk) if required is None else required

    def check(self, tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str]) -> list[str]:
        """Say all that speaks against a call with these arguments and the defaults of the rest; empty if nothing does.

        Raises:
            ToolError: as `values_used`.
        """
        if not self.is_enabled(tool.name):
            return [disabled(tool.name)]
        rules = self.tools[tool.name].arguments if tool.name in self.tools else {}
        off = {each.name: False for each in placements_of(tool) if each.switch}
        values = off | values_used(tool, arguments, environ=environ)
        return [
            problem
            for name, rule in rules.items()
            if name in values
            for problem in _problems(name, values[name], rule, is_default=arguments.get(name) is None)
        ]

    def misfits(self, tools: Iterable[CommandTool]) -> list[str]:
        """Name each tool and argument that the policy has rules for and that is not there, each with file and line.

        A rule for a misspelt name would protect nothing.
        """
        known = {tool.name: [each.name for each in placements_of(tool)] for tool in tools}
        found = []
        for name, rule in self.tools.items():
            if name not in known:
                found.append(f"{rule.where}: there is no command tool `{name}`{guess(name, known)}")
                continue
            found += [
                f"{each.where}: tool `{name}` has no argument `{argument}`{guess(argument, known[name])}"
                for argument, each in rule.arguments.items()
                if argument not in known[name]
            ]
        return found


def _problems(name: str, value: Any, rule: ArgumentRule, *, is_default: bool) -> Iterator[str]:
    """Hold each text that is written of a value against its rule."""
    for called, item in named_items(name, value):
        try:
            problem = rule.problem(item, text_of(called, item))
        except ToolError as error:
            yield error.message
            continue
        if problem:
            source = ", its default" if is_default else ""
            yield f"{named((called,))} {problem}, by the policy of this server; got {shown(item)}{source}"


def guess(name: str, known: Iterable[str]) -> str:
    """Ask for the name that may have been meant, as the end of a sentence on `name`; empty if none is near."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f": did you mean `{close[0]}`?" if close else ""


def _exact(number: float) -> Decimal:
    """Give a number as it is written: 0.1 is a tenth."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def _plain(choice: str | float) -> str:
    return choice if isinstance(choice, str) else shown(choice)


def _is_same(value: Any, text: str, choice: str | float) -> bool:
    """Whether a value is the choice: written the same, or the same number."""
    return text == _plain(choice) or (is_number(value) and is_number(choice) and bool(value == choice))
