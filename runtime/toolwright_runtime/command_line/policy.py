"""What whoever runs a server allows its command tools: a file of TOML, and what it says of a call.

A policy can only narrow what the manifest allows. It is held against the text that is finally written on the command
line, so that a default, a number or an item of a list is judged as what the program will read.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from toolwright_runtime.command_line.argv import is_number, named_items, placements_of, text_of, values_used
from toolwright_runtime.command_line.patterns import Pattern, PatternError
from toolwright_runtime.command_line.spec import CommandTool, Risk
from toolwright_runtime.errors import ToolError
from toolwright_runtime.expectation import shown
from toolwright_runtime.wording import disabled, named

KeyPath = tuple[str, ...]
"""Where a key stands, such as `("tools", "git_log", "args")`; empty for the whole file."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_Choice = TypeVar("_Choice", bound=StrEnum)


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


class PolicyError(Exception):
    """A policy file cannot be used. `mistakes` are all that was found, each with file and line, in the file's order."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


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
        values = values_used(tool, arguments, environ=environ)
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
                found.append(f"{rule.where}: there is no command tool `{name}`{_guess(name, known)}")
                continue
            found += [
                f"{each.where}: tool `{name}` has no argument `{argument}`{_guess(argument, known[name])}"
                for argument, each in rule.arguments.items()
                if argument not in known[name]
            ]
        return found


def load_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        PolicyError: it cannot be read, is not TOML, or holds mistakes: each is told.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise PolicyError([f"{path}: cannot read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PolicyError([f"{path}: not UTF-8 at byte {error.start}"]) from error
    except ValueError as error:  # an integer of too many digits is one too
        raise PolicyError([_not_toml(path, str(error))]) from error
    except RecursionError as error:
        raise PolicyError([f"{path}: nested too deeply"]) from error
    reader = _Reader(str(path), key_lines(text))
    policy = reader.policy(data)
    if reader.mistakes:
        raise PolicyError([f"{path}:{line}: {message}" for line, message in sorted(reader.mistakes)])
    return policy


class _Reader:
    """Reads the tables of a policy; notes every mistake, and goes on as if the key had been left out."""

    def __init__(self, shown_path: str, lines: Mapping[KeyPath, int]) -> None:
        self.mistakes: list[tuple[int, str]] = []
        self._shown_path = shown_path
        self._lines = lines

    def policy(self, data: dict[str, Any]) -> Policy:
        self._known(data, (), ("default", "approval", "headless", "executor", "docker", "tools"))
        if "default" not in data and not data.get("tools"):
            self._wrong((), 'no tool is enabled: write default = "enabled", or a table [tools.NAME] for each that is')
        return Policy(
            default=self._choice(data, ("default",), Listing) or Listing.DISABLED,
            approval=self._choice(data, ("approval",), Approval) or Approval.WRITE,
            headless=self._choice(data, ("headless",), Headless) or Headless.DENY,
            docker=self._docker(data),
            tools={name: self._tool(table, ("tools", name)) for name, table in self._tables(data, ("tools",))},
        )

    def _tool(self, table: dict[str, Any], path: KeyPath) -> ToolRule:
        self._known(table, path, ("enabled", "require_approval", "args"))
        enabled = self._boolean(table, (*path, "enabled"))
        return ToolRule(
            enabled=enabled is not False,
            require_approval=self._boolean(table, (*path, "require_approval")),
            arguments={
                name: self._argument(rule, (*path, "args", name)) for name, rule in self._tables(table, (*path, "args"))
            },
            where=self._where(path),
        )

    def _argument(self, table: dict[str, Any], path: KeyPath) -> ArgumentRule:
        self._known(table, path, ("pattern", "min", "max", "enum"))
        if not table:
            self._wrong(path, f"`{path[-1]}` has no rule: give it pattern, min, max or enum")
        least, most = self._bound(table, (*path, "min")), self._bound(table, (*path, "max"))
        if least is not None and most is not None and least > most:
            self._wrong((*path, "max"), f"`max` is less than `min`: {most} < {least}")
        return ArgumentRule(
            pattern=self._pattern(table, (*path, "pattern")),
            minimum=least,
            maximum=most,
            choices=self._choices(table, (*path, "enum")),
            where=self._where(path),
        )

    def _docker(self, data: dict[str, Any]) -> Docker | None:
        executor = self._choice(data, ("executor",), ExecutorName)
        table = self._table(data, ("docker",))
        if executor is ExecutorName.DOCKER and "docker" not in data:
            self._wrong(("executor",), 'executor = "docker" needs a table [docker] with an `image`')
        if "docker" in data and (executor is ExecutorName.LOCAL or "executor" not in data):
            self._wrong(("docker",), 'only executor = "docker" has a table [docker]')
        if table is None:
            return None
        self._known(table, ("docker",), ("image", "volumes", "network", "working_dir"))
        if "image" not in table:
            self._wrong(("docker",), "[docker] needs an `image`")
        return Docker(
            image=self._word(table, ("docker", "image")),
            volumes=self._volumes(table, ("docker", "volumes")),
            network=self._word(table, ("docker", "network")) or "none",
            working_dir=self._word(table, ("docker", "working_dir")),
        )

    def _tables(self, table: dict[str, Any], path: KeyPath) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give the tables in the table at `path`, each with its key."""
        for name, inner in (self._table(table, path) or {}).items():
            if isinstance(inner, dict):
                yield name, inner
            else:
                self._expected((*path, name), "a table", inner)

    def _table(self, table: dict[str, Any], path: KeyPath) -> dict[str, Any] | None:
        value = table.get(path[-1])
        if value is None or isinstance(value, dict):
            return value
        self._expected(path, "a table", value)
        return None

    def _choice(self, table: dict[str, Any], path: KeyPath, choices: type[_Choice]) -> _Choice | None:
        value = table.get(path[-1])
        if value is None or value in list(choices):
            return None if value is None else choices(value)
        self._expected(path, f"one of: {', '.join(choices)}", value)
        return None

    def _boolean(self, table: dict[str, Any], path: KeyPath) -> bool | None:
        value = table.get(path[-1])
        if value is None or isinstance(value, bool):
            return value
        self._expected(path, "true or false", value)
        return None

    def _bound(self, table: dict[str, Any], path: KeyPath) -> float | None:
        value = table.get(path[-1])
        if value is None or _is_finite(value):
            return value
        self._expected(path, "a finite number", value)
        return None

    def _pattern(self, table: dict[str, Any], path: KeyPath) -> Pattern | None:
        value = table.get(path[-1])
        if isinstance(value, str):
            try:
                return Pattern(value)
            except PatternError as error:
                self._wrong(path, f"`pattern` cannot be used: {error}")
        elif value is not None:
            self._expected(path, "a regular expression", value)
        return None

    def _choices(self, table: dict[str, Any], path: KeyPath) -> tuple[str | float, ...] | None:
        value = table.get(path[-1])
        if value is None:
            return None
        if (
            isinstance(value, list)
            and value
            and all(isinstance(each, str | bool) or _is_finite(each) for each in value)
        ):
            return tuple(value)
        self._expected(path, "an array of texts, finite numbers, true or false, and not empty", value)
        return None

    def _word(self, table: dict[str, Any], path: KeyPath) -> str:
        """Read a text that will stand on the command line of `docker`; empty if it is not there."""
        value = table.get(path[-1])
        if isinstance(value, str) and _is_word(value):
            return value
        if value is not None:
            self._expected(path, "a text of one line that does not start with `-`", value)
        return ""

    def _volumes(self, table: dict[str, Any], path: KeyPath) -> tuple[str, ...]:
        value = table.get(path[-1], [])
        if isinstance(value, list) and all(isinstance(each, str) and _is_word(each) and ":" in each for each in value):
            return tuple(value)
        self._expected(path, "an array of texts such as `/here:/there:ro`", value)
        return ()

    def _known(self, table: dict[str, Any], path: KeyPath, keys: Sequence[str]) -> None:
        for key in table.keys() - set(keys):
            place = f" in [{'.'.join(path)}]" if path else ""
            self._wrong((*path, key), f"unknown key `{key}`{place}{_guess(key, keys)}")

    def _expected(self, path: KeyPath, wanted: str, value: Any) -> None:
        self._wrong(path, f"`{path[-1]}` must be {wanted}; got {_toml(value)}")

    def _wrong(self, path: KeyPath, message: str) -> None:
        self.mistakes.append((self._line(path), message))

    def _where(self, path: KeyPath) -> str:
        return f"{self._shown_path}:{self._line(path)}"

    def _line(self, path: KeyPath) -> int:
        """Give the line of the key, or of the table it stands in."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


# Where keys stand.

_OPAQUE = re.compile(
    r"""
      "{3} (?:[^"\\]++ | \\. | "{1,2}(?!"))*+ "{3,5}
    | '{3} (?:[^']++ | '{1,2}(?!'))*+ '{3,5}
    | " (?:[^"\\\n]++ | \\.)*+ "
    | ' [^'\n]*+ '
    | \# [^\n]*+
    """,
    re.VERBOSE | re.DOTALL,
)
"""Strings and comments: in them a bracket, an equals sign or a line break means nothing."""
_STATEMENT = re.compile(r"[ \t]*+(?:\[{1,2}(?P<header>[^\[\]\n]+)\]|(?P<key>[^=\[\]{}\n]+)=)")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Give the line of each table and key of `text`, which is TOML, counted from 1.

    A table stands at its header if it has one, else where it is first mentioned. What stands inside an array or an
    inline table is not listed: it has the line of what holds it.
    """
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    line, start, depth = 1, 0, 0
    for plain in _OPAQUE.sub(_blank, text).split("\n"):
        statement = None if depth else _STATEMENT.match(plain)
        if statement is not None:
            kind = "key" if statement["header"] is None else "header"
            path = _key_path(text[start + statement.start(kind) : start + statement.end(kind)])
            table, path = (path, path) if kind == "header" else (table, (*table, *path))
            for length in range(1, len(path)):
                found.setdefault(path[:length], line)
            found[path] = line
        depth += sum(map(plain.count, "[{")) - sum(map(plain.count, "]}"))
        end = start + len(plain) + 1
        line, start = line + text.count("\n", start, end), end
    return found


def _blank(opaque: re.Match[str]) -> str:
    """Write as much, so that offsets stay: a comment becomes spaces, a string a bare word, even if it has lines."""
    return (" " if opaque[0].startswith("#") else "x") * len(opaque[0])


def _key_path(written_key: str) -> KeyPath:
    """Read a dotted key as TOML does."""
    path: KeyPath = ()
    inner: Any = tomllib.loads(f"{written_key.strip()} = 0")
    while isinstance(inner, dict):
        ((name, inner),) = inner.items()
        path = (*path, name)
    return path


# Words.


def _not_toml(path: Path, message: str) -> str:
    """Say why a file is no TOML; its line stands at the end of what `tomllib` says."""
    found = re.search(r" \(at line (\d+), column \d+\)$", message)
    return f"{path}:{found[1]}: {message[: found.start()]}" if found else f"{path}: {message}"


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


def _guess(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f": did you mean `{close[0]}`?" if close else ""


def _toml(value: Any) -> str:
    """Quote a value of TOML in short. Dates have no JSON, and Python writes no integer of more than 4,300 digits."""
    try:
        return shown(value) if isinstance(value, str | bool | int | float | list | dict) else str(value)
    except ValueError:
        return "a number of too many digits"


def _is_word(text: str) -> bool:
    return bool(text) and text.isprintable() and not text.startswith("-")


def _is_finite(value: Any) -> bool:
    """Whether `value` is a number that a float can hold."""
    return is_number(value) and abs(value) <= sys.float_info.max


def _exact(number: float) -> Decimal:
    """Give a number as it is written: 0.1 is a tenth."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def _plain(choice: str | float) -> str:
    return choice if isinstance(choice, str) else shown(choice)


def _is_same(value: Any, text: str, choice: str | float) -> bool:
    """Whether a value is the choice: written the same, or the same number."""
    return text == _plain(choice) or (is_number(value) and is_number(choice) and bool(value == choice))
