"""How rules read in a description: one fixed wording, so that what a dialect cannot say is never said in two ways."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.schema.keywords import is_small, json_text

MAX_BRIEF: Final = 300
"""Characters of a schema that a sentence quotes."""


_ENDS: Final = ".!?:\u3002\uff01\uff1f\uff1a"
_MAX_EXACT: Final = 2**53 - 1
"""The largest integer that JavaScript is exact about: as a bound, generators write it for none."""


def sentence(text: str) -> str:
    """End `text` with a stop where it has no end of its own."""
    return text if not text or text[-1] in _ENDS else f"{text}."


def with_sentences(description: str, words: Sequence[str]) -> str:
    """Add to a description the rules that it does not say word for word."""
    found = description
    for each in words:
        said = sentence(each)
        if each and not _says(found, said):
            found = f"{sentence(found)} {said}" if not _ends_in_a_block(found) else f"{found}\n\n{said}"
            found = found.strip()
    return found


def _says(text: str, said: str) -> bool:
    """Whether `said` stands in `text` as a sentence, not as the end of another."""
    place = text.find(said)
    while place >= 0:
        before = text[:place].rstrip(" ")
        if not before or before[-1] in _ENDS or before[-1] == "\n":
            return True
        place = text.find(said, place + 1)
    return False


def _ends_in_a_block(text: str) -> bool:
    """Whether a sentence put behind `text` would become part of its code or its list."""
    last = text.rpartition("\n")[2].lstrip()
    return "\n" in text and (last.startswith(("```", "- ", "* ", "|", ">")) or last[:1].isdigit())


def list_words(parts: Sequence[str], last: str) -> str:
    """Give `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def choice_words(choices: Sequence[Any]) -> str:
    """Say the only values."""
    shown = [json.dumps(each, ensure_ascii=False) for each in choices]
    return f"Must be {shown[0]}" if len(shown) == 1 else f"One of {', '.join(shown)}"


def count_words(lowest: float | None, highest: float | None, unit: str) -> str:
    """Say how much of `unit` (a plural, or empty for the value itself) there may be; empty where nothing limits it."""
    if lowest is not None and highest is not None:
        return (
            f"Exactly {lowest}{_unit(unit, lowest)}"
            if lowest == highest
            else f"{lowest} to {highest}{_unit(unit, highest)}"
        )
    if lowest is not None:
        return f"At least {lowest}{_unit(unit, lowest)}"
    return f"At most {highest}{_unit(unit, highest)}" if highest is not None else ""


def _unit(plural: str, count: float) -> str:
    singular = "property" if plural == "properties" else plural.removesuffix("s")
    return "" if not plural else f" {singular if count == 1 else plural}"


def limit_sentences(limits: Mapping[str, Any]) -> list[str]:
    """Say each rule of `keywords.LIMITS` that `limits` holds."""
    said = [
        count_words(limits.get("minimum"), limits.get("maximum"), ""),
        f"Must be greater than {limits['exclusiveMinimum']}" if "exclusiveMinimum" in limits else "",
        f"Must be less than {limits['exclusiveMaximum']}" if "exclusiveMaximum" in limits else "",
        f"Must be a multiple of {limits['multipleOf']}" if "multipleOf" in limits else "",
        count_words(limits.get("minLength"), limits.get("maxLength"), "characters"),
        count_words(limits.get("minItems"), limits.get("maxItems"), "items"),
        count_words(limits.get("minProperties"), limits.get("maxProperties"), "properties"),
        _pattern_words(limits["pattern"]) if "pattern" in limits else "",
        f"Format: {limits['format']}" if "format" in limits else "",
        "Items must differ" if limits.get("uniqueItems") else "",
    ]
    return [each for each in said if each]


def meant(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the bounds that generators write for none."""
    bounds = {"minimum", "maximum"}
    return {name: rule for name, rule in limits.items() if name not in bounds or abs(rule) < _MAX_EXACT}


def _pattern_words(pattern: str) -> str:
    return "Must be empty" if pattern == "^$" else f"Must match `{pattern}`"


def brief(schema: Any) -> str:
    """Quote a schema in a sentence; None is one that cannot be."""
    if not is_small(schema):
        return "a schema too large to quote"
    text = "" if schema is None else json_text(schema)
    if not text:
        return "a schema that cannot be quoted"
    return text if len(text) <= MAX_BRIEF else text[:MAX_BRIEF] + "..."
