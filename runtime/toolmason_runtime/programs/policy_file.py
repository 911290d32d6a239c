"""Reads the policy file of a server, and tells all that is wrong with it at once."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from toolmason_runtime.programs.argv import is_number
from toolmason_runtime.programs.key_lines import KeyPath, key_lines
from toolmason_runtime.programs.linear_regex import Pattern, PatternError
from toolmason_runtime.programs.policy import (
    Approval,
    ArgumentRule,
    Docker,
    ExecutorName,
    Headless,
    Listing,
    Policy,
    ToolRule,
    guess,
)
from toolmason_runtime.protocol.schema_text import shown

_Choice = TypeVar("_Choice", bound=StrEnum)


class PolicyError(Exception):
    """A policy file cannot be used. `mistakes` are all that was found, each with file and line, in the file's order."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


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
            self._wrong((*path, key), f"unknown key `{key}`{place}{guess(key, keys)}")

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


def _not_toml(path: Path, message: str) -> str:
    """Say why a file is no TOML; its line stands at the end of what `tomllib` says."""
    found = re.search(r" \(at line (\d+), column \d+\)$", message)
    return f"{path}:{found[1]}: {message[: found.start()]}" if found else f"{path}: {message}"


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
