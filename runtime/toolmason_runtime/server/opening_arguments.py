"""The command lines and environments that the prepared answers apply to. The boot phase reads them without `argparse`.

`opening.json` contains the flags with prepared answers: those that change no answer, and those with answers of their
own. Every other word, and a value that the server would reject, starts the whole server.
"""

from __future__ import annotations

import os

from toolmason_runtime.server.option_types import parse_value
from toolmason_runtime.shared.opening import CLASSIC_VARIANT, DEFAULT_VARIANT, NO_COMMANDS_VARIANT

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

    from toolmason_runtime.shared.opening import PreparedFlag

    Flags = Mapping[str, PreparedFlag]

_SERVE: Final = "serve"
_DISCOVERY: Final = "--discovery"
_CLASSIC_STYLE: Final = "classic"


def parse_arguments(words: Sequence[str], flags: Flags, environ: Mapping[str, str]) -> dict[str, str] | None:
    """Return the given flags and their values; None if the whole server must parse or reject them.

    A switch and a flag without its value have an empty one.
    """
    given: dict[str, str] = {}
    rest = list(words[1:] if words[:1] == [_SERVE] else words)
    try:
        while rest:
            name, separator, value = rest.pop(0).partition("=")
            flag = flags[name]
            if "secret" in flag:
                return None
            if not separator and "switch" not in flag and rest and not rest[0].startswith("-"):
                separator, value = "=", rest.pop(0)
            _check(flag, value, has_value=bool(separator))
            given[name] = value
        for name, flag in flags.items():
            if name not in given:
                _check_variable(flag, environ)
    except (KeyError, ValueError):
        return None
    return given


def _check(flag: PreparedFlag, value: str, *, has_value: bool) -> None:
    """Raise ValueError if the server would reject a value on the command line, or has no answer prepared for it."""
    if not has_value:
        is_valid = "switch" in flag or "implicit" in flag
    else:
        is_valid = bool(value) and "switch" not in flag and value in flag.get("choices", (value,))
        parse_value(flag.get("type", "string"), value)
    if not is_valid:
        raise ValueError


def _check_variable(flag: PreparedFlag, environ: Mapping[str, str]) -> None:
    """Raise ValueError if a flag's variable is invalid, or has no value although the flag is required."""
    text = environ.get(flag["env"], "") if "env" in flag else ""
    if text:
        parse_value(flag.get("type", "string"), text)
    if "required" in flag and not text.strip(os.pathsep):
        raise ValueError


def variant_of(given: Mapping[str, str]) -> str | None:
    """Return the variant of the prepared answers for the given flags; None if there is none."""
    style = given.get(_DISCOVERY, _CLASSIC_STYLE if CLASSIC_VARIANT in given else "")
    if CLASSIC_VARIANT in given and style != _CLASSIC_STYLE:
        return None  # the server reports the contradiction
    is_classic = style == _CLASSIC_STYLE
    if NO_COMMANDS_VARIANT in given:
        return None if is_classic else NO_COMMANDS_VARIANT
    return CLASSIC_VARIANT if is_classic else DEFAULT_VARIANT
