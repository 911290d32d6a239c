"""The settings of a running server: what was given, else the environment, else the manifest's default."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """An option of the manifest: a flag, and the environment variable that stands in for it."""

    name: str
    flag: str
    description: str = ""
    env: str = ""
    many: bool = False
    default: str = ""
    metavar: str = ""


OptionValues = dict[str, str | tuple[str, ...]]


def option_values(options: Sequence[OptionSpec], given: Mapping[str, Any]) -> OptionValues:
    """Give each option its value: as `given`, else from the environment, else its default; a tuple if `many`.

    Several values in one environment variable are separated as in `PATH`; one that holds none counts as not set.
    """
    return {option.name: _value(option, given.get(option.name)) for option in options}


def _value(option: OptionSpec, given: Any) -> str | tuple[str, ...]:
    if given is not None:
        return tuple(given) if option.many else str(given)
    said = os.environ.get(option.env, "") if option.env else ""
    if option.many:
        parts = tuple(part for part in said.split(os.pathsep) if part)
        return parts or ((option.default,) if option.default else ())
    return said or option.default
