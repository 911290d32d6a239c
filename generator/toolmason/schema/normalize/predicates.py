"""Predicates about values: `must be "a" or "b"`, `has at least 3 characters`. Other schemas are quoted as JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from toolmason.schema.keywords import LIMIT_KEYWORDS, NO_EFFECT, TYPE_NAMES, VALUE_CHECKS, is_small
from toolmason.schema.wording import (
    join_words,
    limit_sentences,
    lower_first,
    quote_schema,
    states_pattern,
    with_details,
)

NOT_RULES: Final = NO_EFFECT | {"title", "description", "default", "examples", "example", "deprecated"}
_EXCLUSIVE: Final = ("exclusiveMinimum", "exclusiveMaximum")
_LIMITS: Final = frozenset(keyword for keywords in LIMIT_KEYWORDS.values() for keyword in keywords)
OMITTED: Final = "..."
_PRESENT: Final = {"be": "is", "fit": "fits", "have": "has", "match": "matches"}


def must_be(subject: str, auxiliary: str, schema: Any) -> str:
    """Return a sentence about all values of a kind: ("Names", "must", {"enum": ["a"]}) -> `Names must be "a"`."""
    pairs = predicates(schema) or [("fit", quote_short(schema))]
    return f"{subject} {auxiliary} {join_words([f'{verb} {rest}' for verb, rest in pairs], 'and')}"


def is_clause(subject: str, schema: Any) -> str:
    """Return a clause that is true for the values that `schema` accepts: `it has at least 3 characters`."""
    pairs = predicates(schema) or [("fit", quote_short(schema))]
    return f"{subject} {join_words([f'{_PRESENT[verb]} {rest}' for verb, rest in pairs], 'and')}"


def negated(schema: Any) -> str:
    """Return the predicate of a sentence with "must not" or "does not"."""
    pairs = predicates(schema)
    return " ".join(pairs[0]) if len(pairs) == 1 else f"fit {quote_short(schema)}"


def predicates(schema: Any) -> list[tuple[str, str]]:
    """Return a verb and its complement for each rule on a value that is no object; none for any other schema."""
    noun, *details = words(schema) or [""]
    if noun:
        return [("be", _with_article(with_details(noun, details)))]
    return [] if OMITTED in details else [_limit_predicate(sentence) for sentence in details]


def _limit_predicate(sentence: str) -> tuple[str, str]:
    """Split the sentence of a limit: ``must match `^a` `` -> ("match", "`^a`"), `at least 1 item` -> ("have", ...)."""
    if sentence.startswith("must "):
        verb, _, rest = sentence.removeprefix("must ").partition(" ")
        return verb, rest
    if sentence.startswith("format: "):
        return "have", f"the format {sentence.removeprefix('format: ')}"
    if sentence == "items must differ":
        return "have", "different items"
    return "be" if sentence[-1].isdigit() else "have", sentence


def words(schema: Any) -> list[str]:
    """Return a noun ("" without a type) and the limits of a value that is no object; [] for any other schema.

    `["array of integer", "at least 1 item"]`
    """
    rules = rules_of(schema)
    if not rules or not all(
        VALUE_CHECKS[keyword](value) for keyword, value in rules.items() if keyword in VALUE_CHECKS
    ):
        return []
    types = [rules["type"]] if isinstance(rules.get("type"), str) else rules.get("type", [])
    if not TYPE_NAMES.issuperset(types):
        return []
    if rules.keys() - {"type"} in ({"const"}, {"enum"}):
        return [join_words([quote_value(value) for value in rules.get("enum", [rules.get("const")])], "or")]
    limits = {keyword: value for keyword, value in rules.items() if keyword != "type"}
    noun = join_words(types, "or") if types else ""
    if types == ["array"] and (noun_of_items := words(limits.pop("items", None))) and noun_of_items[0]:
        noun = f"array of {with_details(noun_of_items[0], noun_of_items[1:])}"
    if not _LIMITS.issuperset(limits) or any(isinstance(limits.get(keyword), bool) for keyword in _EXCLUSIVE):
        return []
    details = list(map(lower_first, limit_sentences(limits)))
    details += [OMITTED] if "pattern" in limits and not states_pattern(limits) else []
    return [noun, *details]


def _with_article(value: str) -> str:
    word = value.split(" ", 1)[0]
    if word in {"array", "integer", "object"}:
        return f"an {value}"
    return f"a {value}" if word in {"boolean", "number", "string"} else value


def rules_of(schema: Any) -> dict[str, Any] | None:
    """Return the keywords that constrain a value."""
    if not isinstance(schema, dict) or not is_small(schema):
        return None
    return {keyword: value for keyword, value in schema.items() if keyword not in NOT_RULES}


def quote_value(value: Any) -> str:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def quote_short(schema: Any) -> str:
    """Quote a schema without the patterns that a description does not state."""
    return quote_schema(_without_long_patterns(schema) if schema is not None and is_small(schema) else schema)


def _without_long_patterns(value: Any) -> Any:
    if isinstance(value, dict):
        is_hidden = isinstance(value.get("pattern"), str) and not states_pattern(value)
        parts = {name: _without_long_patterns(part) for name, part in value.items()}
        return parts | ({"pattern": OMITTED} if is_hidden else {})
    return [_without_long_patterns(part) for part in value] if isinstance(value, list) else value
