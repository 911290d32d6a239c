"""Sentences about schema rules for descriptions. Every rule has one fixed wording."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.schema.keywords import KNOWN_FORMATS, MAX_SAFE_INTEGER, is_small, json_text

MAX_QUOTE_LENGTH: Final = 1_000
"""Maximum characters of a schema quoted in a sentence."""


MAX_SHORT_DESCRIPTION: Final = 100
"""Maximum characters of a description in a schema with too many arguments."""
EXACTLY_ONE: Final = "Exactly one of the alternatives must fit"
"""The sentence for `oneOf` beside its alternatives."""
_BOUNDS_OF_32_BITS: Final = frozenset({-(2**31), 2**31 - 1, 2**32 - 1})
_ENDS: Final = ".!?:\u3002\uff01\uff1f\uff1a"
MAX_STATED_PATTERN: Final = 60
"""Maximum characters of a pattern in a description; longer patterns do not help a model."""


def end_sentence(text: str) -> str:
    """Append a full stop if `text` does not end with punctuation."""
    return text if not text or text[-1] in _ENDS else f"{text}."


def first_sentence(text: str) -> str:
    """Return the first sentence or line of a description, at most `MAX_SHORT_DESCRIPTION` characters."""
    line = text.lstrip().partition("\n")[0]
    position = line.find(". ")
    sentence = line if position < 0 else line[: position + 1]
    if len(sentence) <= MAX_SHORT_DESCRIPTION:
        return sentence
    return f"{sentence[:MAX_SHORT_DESCRIPTION].rpartition(' ')[0] or sentence[:MAX_SHORT_DESCRIPTION]}..."


def join_descriptions(first: str, second: str) -> str:
    """Join two texts; text that both contain appears once."""
    if not first or second.startswith(first):
        return second
    return first if not second or second in first else f"{end_sentence(first)} {second}"


def append_sentences(description: str, sentences: Sequence[str]) -> str:
    """Append the sentences that `description` does not contain yet."""
    for sentence in map(end_sentence, sentences):
        if sentence and not _contains_sentence(description, sentence):
            separator = "\n\n" if _ends_in_block(description) else " "
            before = description if _ends_in_block(description) else end_sentence(description)
            description = f"{before}{separator}{sentence}".strip()
    return description


def _contains_sentence(text: str, sentence: str) -> bool:
    """Return whether `sentence` occurs in `text` as a whole sentence, not as the end of another one."""
    position = text.find(sentence)
    while position >= 0:
        before = text[:position].rstrip(" ")
        if not before or before[-1] in _ENDS or before[-1] == "\n":
            return True
        position = text.find(sentence, position + 1)
    return False


def _ends_in_block(text: str) -> bool:
    """Return whether `text` ends in a Markdown code block, list, table or quote, which appended text would join."""
    last = text.rpartition("\n")[2].lstrip()
    return "\n" in text and (last.startswith(("```", "- ", "* ", "|", ">")) or last[:1].isdigit())


def lower_first(sentence: str) -> str:
    """Return `sentence` with a lower-case first letter, for use inside another sentence."""
    return sentence[:1].lower() + sentence[1:]


def join_words(parts: Sequence[str], conjunction: str) -> str:
    """Return `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def with_details(noun: str, details: Sequence[str]) -> str:
    """Return `noun (first; second)`."""
    return f"{noun} ({'; '.join(details)})" if details else noun


def enum_text(values: Sequence[Any]) -> str:
    """Return the sentence for `enum`."""
    quoted = [json.dumps(value, ensure_ascii=False) for value in values]
    return f"Must be {quoted[0]}" if len(quoted) == 1 else f"One of {', '.join(quoted)}"


def range_text(low: float | None, high: float | None, unit: str) -> str:
    """Return the sentence for a range of `unit` (a plural; empty for the value itself), or "" for no limit."""
    if low is not None and high is not None:
        return f"Exactly {low}{_unit(unit, low)}" if low == high else f"{low} to {high}{_unit(unit, high)}"
    if low is not None:
        return f"At least {low}{_unit(unit, low)}"
    return f"At most {high}{_unit(unit, high)}" if high is not None else ""


def _unit(plural: str, count: float) -> str:
    singular = "property" if plural == "properties" else plural.removesuffix("s")
    return "" if not plural else f" {singular if count == 1 else plural}"


def limit_sentences(limits: Mapping[str, Any]) -> list[str]:
    """Return one sentence per rule; `limits` has keywords of `keywords.LIMIT_KEYWORDS`."""
    if not limits:
        return []
    sentences = [
        range_text(limits.get("minimum"), limits.get("maximum"), ""),
        f"Must be greater than {limits['exclusiveMinimum']}" if "exclusiveMinimum" in limits else "",
        f"Must be less than {limits['exclusiveMaximum']}" if "exclusiveMaximum" in limits else "",
        f"Must be a multiple of {limits['multipleOf']}" if "multipleOf" in limits else "",
        range_text(limits.get("minLength"), limits.get("maxLength"), "characters"),
        range_text(limits.get("minItems"), limits.get("maxItems"), "items"),
        range_text(limits.get("minProperties"), limits.get("maxProperties"), "properties"),
        _pattern_text(limits["pattern"]) if states_pattern(limits) else "",
        f"Format: {limits['format']}" if "format" in limits else "",
        "Items must differ" if limits.get("uniqueItems") else "",
    ]
    return [sentence for sentence in sentences if sentence]


def states_pattern(limits: Mapping[str, Any]) -> bool:
    """Return whether the description states the pattern: it is short, and no known format implies it."""
    name = limits.get("format")
    has_format = isinstance(name, str) and name in KNOWN_FORMATS
    return "pattern" in limits and len(limits["pattern"]) <= MAX_STATED_PATTERN and not has_format


def without_sentinel_bounds(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Drop bounds of 32 bits and of JavaScript's safe integers, which generators emit for unbounded numbers."""
    bounds = {"minimum", "maximum"}
    return {name: value for name, value in limits.items() if name not in bounds or not _is_sentinel(value)}


def _is_sentinel(value: float) -> bool:
    return abs(value) >= MAX_SAFE_INTEGER or value in _BOUNDS_OF_32_BITS


def _pattern_text(pattern: str) -> str:
    return "Must be empty" if pattern == "^$" else f"Must match `{pattern}`"


def quote_schema(schema: Any) -> str:
    """Quote a schema in a sentence; None stands for one that cannot be quoted."""
    if not is_small(schema):
        return "a schema too large to quote"
    text = "" if schema is None else json_text(schema)
    if not text:
        return "a schema that cannot be quoted"
    return text if len(text) <= MAX_QUOTE_LENGTH else text[:MAX_QUOTE_LENGTH] + "..."
