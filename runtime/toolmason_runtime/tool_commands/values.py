"""Texts of a command line to values of parameters."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.tool_commands.declarations import CommandOption

MAX_INPUT_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of a file or of standard input that is a value."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class ValueRefusedError(ValueError):
    """A text cannot be a value of its option; the message has the reason."""


class Inputs:
    """Reads the files and the standard input that values refer to: `@FILE` and `-`."""

    def __init__(self) -> None:
        self._user = ""
        """The option that has read standard input."""

    def text(self, text: str, flag: str) -> str:
        """Return the text that an argument means: itself, or the content of `@FILE` or of standard input.

        `@@` at the start is an `@` of the text itself. A line feed at the end of a file is left as it is.

        Raises:
            ValueRefusedError: the input cannot be read, or is not UTF-8.
        """
        if text == "-":
            return self._standard_input(flag)
        if text.startswith("@@"):
            return text[1:]
        if text.startswith("@") and text != "@":
            return _file(text[1:])
        return text

    def _standard_input(self, flag: str) -> str:
        if self._user:
            raise ValueRefusedError(f"{self._user} has already read standard input; write the other value to a file")
        self._user = flag
        if sys.stdin is None:
            raise ValueRefusedError("there is no standard input")
        return _decoded(sys.stdin.buffer.read(MAX_INPUT_BYTES + 1), "standard input")


def _file(name: str) -> str:
    try:
        with Path(name).expanduser().open("rb") as file:
            data = file.read(MAX_INPUT_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        advice = f"to pass the text itself, write `@@{name}`"
        raise ValueRefusedError(f"cannot read the file `{name}`: {reason}; {advice}") from None
    return _decoded(data, f"the file `{name}`")


def _decoded(data: bytes, source: str) -> str:
    if len(data) > MAX_INPUT_BYTES:
        raise ValueRefusedError(f"{source} has more than {MAX_INPUT_BYTES:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueRefusedError(f"{source} is not text in UTF-8: byte {error.start + 1} is invalid") from None


def value_of(option: CommandOption, given: Sequence[str], inputs: Inputs) -> Any:
    """Return the value of a parameter from the arguments of its option, of which the last one counts.

    Raises:
        ValueRefusedError: an argument cannot be a value.
    """
    if not option.repeated:
        return _one(option, given[-1], inputs)
    values = []
    for text in given:
        value = _one(option, text, inputs)
        # An item of such a list is an object, so a list is all items.
        values += value if option.kind == "json" and isinstance(value, list) else [value]
    return values


def _one(option: CommandOption, text: str, inputs: Inputs) -> Any:
    if option.kind == "choice":
        return _choice(option, text)
    if option.kind == "boolean":
        return _boolean(text)
    if option.kind in {"integer", "number"}:
        return number_of(text, whole=option.kind == "integer")
    content = inputs.text(text, option.flag)
    if option.kind == "text":
        return content
    if option.kind == "json":
        return parse_json(content)
    try:
        value = parse_json(content)
    except ValueRefusedError:
        return content
    return content if isinstance(value, str) else value


def _choice(option: CommandOption, text: str) -> Any:
    for value in option.choices:
        if text == shown(value):
            return value
    raise ValueRefusedError(f"`{text}` is not one of {', '.join(shown(value) for value in option.choices)}")


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueRefusedError(f"`{text}` is neither true nor false") from None


def number_of(text: str, *, whole: bool) -> int | float:
    """Return the number that a text means, which JSON can express.

    Raises:
        ValueRefusedError: it is no number, or no integer although it is `whole`.
    """
    kind = "an integer" if whole else "a number"
    if _INTEGER.fullmatch(text):
        try:
            return int(text)
        except ValueError:  # too many digits
            raise ValueRefusedError(f"it has {len(text):,} digits, which is too many") from None
    try:
        value = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise ValueRefusedError(f"`{text}` is not {kind}") from None
    if not isinstance(value, float) or value - value != 0 or (whole and not value.is_integer()):
        raise ValueRefusedError(f"`{text}` is not {kind}")
    return int(value) if whole else value


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueRefusedError: it is not JSON.
    """
    try:
        return json.loads(text, parse_constant=_refused)
    except RecursionError:
        raise ValueRefusedError("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise ValueRefusedError(f'it is not JSON: {error.msg} at {at}; write it as \'{{"key": "value"}}\'') from None
    except ValueError as error:
        raise ValueRefusedError(f"it is not JSON: {error}") from None


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def parse_arguments(text: str, inputs: Inputs) -> dict[str, Any]:
    """Return the argument of `--arguments`: all parameters as a JSON object.

    Raises:
        ValueRefusedError: it is not one.
    """
    value = parse_json(inputs.text(text, "--arguments"))
    if not isinstance(value, dict):
        raise ValueRefusedError('it is not a JSON object, such as \'{"key": "value"}\'')
    return value


def missing(options: Sequence[CommandOption], arguments: Mapping[str, Any]) -> list[str]:
    """Return the options of required parameters that have no value."""
    return [option.flag for option in options if option.required and option.parameter not in arguments]


def shown(value: Any) -> str:
    """Return a value as a word of a command line: a text itself, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
