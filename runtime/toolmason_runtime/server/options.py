"""The options of a server: from the command line, else the environment, else the manifest's default."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """An option of the manifest: a flag, and the environment variable that replaces it."""

    name: str
    flag: str
    description: str = ""
    env: str = ""
    many: bool = False
    default: str = ""
    implicit: str = ""
    """Value of the flag without one; empty if it needs one."""
    metavar: str = ""


OptionValues = dict[str, str | tuple[str, ...]]


def option_values(options: Sequence[OptionSpec], arguments: Mapping[str, Any]) -> OptionValues:
    """Return the value of each option, from `arguments`, the environment or the default; a tuple if `many`.

    The values in one environment variable are separated as in `PATH`; an empty variable counts as not set.
    """
    return {option.name: _value(option, arguments.get(option.name)) for option in options}


def _value(option: OptionSpec, argument: Any) -> str | tuple[str, ...]:
    if argument is not None:
        return tuple(argument) if option.many else str(argument)
    text = os.environ.get(option.env, "") if option.env else ""
    if option.many:
        parts = tuple(part for part in text.split(os.pathsep) if part)
        return parts or ((option.default,) if option.default else ())
    return text or option.default
