"""The options of a server: from the command line, else the environment, else the manifest's default."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmason_runtime.calls.secrets import protect
from toolmason_runtime.server.option_types import parse_value


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """An option of the manifest: a flag, and the environment variable that replaces it.

    `name` is the field of `Options`. A secret has no flag.
    """

    name: str
    flag: str
    description: str = ""
    env: str = ""
    type: str = "string"
    many: bool = False
    required: bool = False
    secret: bool = False
    default: str | int | float | bool | None = None
    implicit: str = ""
    """Value of the flag without one; empty if it needs one."""
    metavar: str = ""

    @property
    def sources(self) -> str:
        """Where its value comes from: `--region or NOTES_REGION`."""
        return " or ".join(filter(None, ["" if self.secret else self.flag, self.env]))


class OptionError(ValueError):
    """Options are missing or invalid. The message names each with its flag and variable, and no value."""


OptionValues = dict[str, Any]
"""The value of each option by its field; a tuple if `many`."""


def option_values(options: Sequence[OptionSpec], arguments: Mapping[str, Any] | None = None) -> OptionValues:
    """Return the value of each option, from `arguments`, the environment or the default.

    The values in one environment variable are separated as in `PATH`; an empty variable counts as not set. Secrets are
    masked in the log and in errors from now on.

    Raises:
        OptionError: a required option has no value, or a variable is invalid.
    """
    values, problems = OptionValues(), list[str]()
    for option in options:
        try:
            values[option.name] = _value(option, (arguments or {}).get(option.name))
        except ValueError as error:
            about = f" ({option.description})" if option.description else ""
            problems.append(f"{error}{about}")
    if problems:
        raise OptionError("; ".join(problems))
    protect(values[option.name] for option in options if option.secret)
    return values


def _value(option: OptionSpec, argument: Any) -> Any:
    if argument is not None:
        return tuple(argument) if option.many else argument
    text = os.environ.get(option.env, "") if option.env else ""
    if option.many:
        default = () if option.default is None else (option.default,)
        values = tuple(part for part in text.split(os.pathsep) if part) or default
        if option.required and not values:
            raise ValueError(f"set {option.sources}")
        return values
    if not text:
        if option.required:
            raise ValueError(f"set {option.sources}")
        return option.default
    try:
        return parse_value(option.type, text)
    except ValueError as error:
        raise ValueError(f"{option.env}: {error}") from None
