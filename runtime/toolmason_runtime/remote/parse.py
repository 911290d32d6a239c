"""Parse JSON from elsewhere within a budget. Its values are counted before they are created.

Deviations from RFC 8259 that parsers disagree about have one meaning: the last of several members with one name counts;
`NaN`, `Infinity`, and numbers that no float can represent are null; an unpaired surrogate is `?`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from toolmason_runtime.calls.secrets import MASK
from toolmason_runtime.shared.budget import ANSWER, Budget
from toolmason_runtime.wire.results import encodable

MAX_DIGITS: Final = 4_000
"""Digits of an integer. Python converts at most 4,300, because the time is quadratic."""

_SEPARATORS: Final = (",", "[", "{")
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)
"""A string, or one of the separators outside of strings. Possessive quantifiers keep it linear."""
_MAY_OVERFLOW: Final = re.compile(r"\d{200}|[eE]\+?\d{3}")
"""Part of every number that is too large for a float: many digits, or an exponent of at least 100, as in `1e999`."""
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|/)")
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class RemoteDataError(ValueError):
    """A document is not JSON, or exceeds its budget. The text has no part of the document."""


class TooDeepError(RemoteDataError):
    """A document has too many levels."""


class TooManyValuesError(RemoteDataError):
    """A document has too many values."""


def parse(text: str, budget: Budget = ANSWER, secrets: Sequence[str] = ()) -> Any:
    """Return the value of a JSON text, with a mask in place of secrets.

    Raises:
        RemoteDataError: it is not JSON, or exceeds the budget.
    """
    text = text.removeprefix("\ufeff").strip()
    check_count([text], budget)
    hooks: dict[str, Any] = {"parse_constant": _null}
    if _MAY_OVERFLOW.search(text):
        hooks |= {"parse_int": _integer, "parse_float": _number}
    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise _too_deep(budget) from None
    except ValueError as error:
        raise RemoteDataError(f"not JSON: {error}") from None
    check_depth(value, text.count("[") + text.count("{"), budget)
    if _SURROGATE.search(text):
        value = encodable(value)
    # A string can contain a secret with any of its characters as an escape sequence, such as `\u0041` or `\/`.
    if secrets and ("\\" in text or any(secret in text for secret in secrets)):
        value = mask_values(value, secrets)
    return value


def count_values(text: str, limit: int) -> int:
    """Return an upper bound of the number of values of a JSON text, exact above `limit`, where counting stops.

    A document with n values has at most n commas and brackets outside of strings, and most have only commas.
    """
    bound = 1 + sum(text.count(separator) for separator in _SEPARATORS)
    if bound <= limit:
        return bound
    count = strings = 0
    for token in _TOKEN.finditer(text):
        if token[0][0] == '"':
            strings += 1
        else:
            count += 1
        # Each string is a value or the name of one.
        if count >= limit or strings > 2 * limit:
            return limit + 1
    return count + 1


def check_count(texts: Sequence[str], budget: Budget) -> None:
    """Check the number of values of JSON texts together.

    Raises:
        TooManyValuesError: there are too many.
    """
    if sum(count_values(text, budget.values) for text in texts) > budget.values:
        raise TooManyValuesError(f"it has more than {budget.values:,} values")


def check_depth(value: Any, brackets: int, budget: Budget) -> None:
    """Check the levels of a value whose text has this number of opening brackets.

    Raises:
        RemoteDataError: there are too many.
    """
    if brackets <= budget.depth:
        return
    level = [value]
    for _ in range(budget.depth):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise _too_deep(budget)


def mask_text(text: str, secrets: Sequence[str]) -> str:
    """Return a text with a mask in place of each secret, also where JSON has its characters as escape sequences."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    if secrets and _ESCAPE.search(text):
        text = _escaped_secrets(tuple(secrets)).sub(MASK, text)
    return text


@lru_cache(maxsize=64)
def _escaped_secrets(secrets: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join("".join(map(_forms, secret)) for secret in secrets))


def _forms(character: str) -> str:
    """Return a pattern for the forms of a character in JSON."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    escape = "".join(f"\\\\u(?i:{units[start : start + 4]})" for start in range(0, len(units), 4))
    return f"(?:\\\\?{re.escape(character)}|{escape})"


def mask_values(value: Any, secrets: Sequence[str]) -> Any:
    """Return a JSON value with a mask in place of each secret: in strings, names of members, and numbers."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, list):
        return [mask_values(item, secrets) for item in value]
    if isinstance(value, dict):
        return {mask_values(name, secrets): mask_values(member, secrets) for name, member in value.items()}
    is_secret = isinstance(value, int | float) and not isinstance(value, bool) and str(value) in secrets
    return MASK if is_secret else value


def _too_deep(budget: Budget) -> TooDeepError:
    return TooDeepError(f"it has more than {budget.depth} levels of arrays and objects")


def _null(_: str) -> None:
    return None


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= MAX_DIGITS else None


def _number(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
