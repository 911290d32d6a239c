"""Sentences about rules outside the normal form: ``If `mode` is "file", give `path` (string)``.

Every function takes schemas without references. Schemas that have no short wording are quoted as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from toolmason.schema.keywords import LIMIT_KEYWORDS, NO_EFFECT, SCHEMA_MAP_KEYWORDS, TYPE_NAMES, VALUE_CHECKS, is_small
from toolmason.schema.walk import walk
from toolmason.schema.wording import EXACTLY_ONE, join_words, limit_sentences, lower_first, quote_schema, states_pattern

_NOT_RULES: Final = NO_EFFECT | {"title", "description", "default", "examples", "example", "deprecated"}
_EXCLUSIVE: Final = ("exclusiveMinimum", "exclusiveMaximum")
_LIMITS: Final = frozenset(keyword for keywords in LIMIT_KEYWORDS.values() for keyword in keywords)
_OMITTED: Final = "..."
_PRESENT: Final = {"be": "is", "fit": "fits", "have": "has", "match": "matches"}


def condition_text(rule: Mapping[str, Any], given: Collection[str] = ()) -> str:
    """Return the sentence for `if`, `then` and `else`; `given` are the names that every object has."""
    then, otherwise = rule.get("then", True), rule.get("else", True)
    if then is False and _is_true(otherwise):
        return not_text(rule["if"])
    # A condition on a property holds without the property, which matters where the sentence has another case.
    condition = _condition(rule["if"], None if _is_true(otherwise) else given)
    if _is_true(then):
        return f"Unless {condition}, {_demand(otherwise)}"
    return f"If {condition}, {_demand(then)}" + ("" if _is_true(otherwise) else f"; otherwise {_demand(otherwise)}")


def dependency_text(name: str, schema: Any) -> str:
    """Return the sentence for `schema` in `dependentSchemas`."""
    return f"Do not give `{name}`" if schema is False else f"With `{name}`, {_demand(schema)}"


def not_text(schema: Any) -> str:
    """Return the sentence for `not`."""
    rules = _rules(schema) or {}
    if rules.keys() == {"required"} and rules["required"] and VALUE_CHECKS["required"](rules["required"]):
        return f"Do not give {_names(rules['required'])}{' together' if len(rules['required']) > 1 else ''}"
    facts = None if _predicates(schema) else _facts(schema, ())
    return f"Must not {_negated(schema)}" if facts is None else f"Not allowed: {facts}"


def must_be(subject: str, auxiliary: str, schema: Any) -> str:
    """Return a sentence about all values of a kind: ("Names", "must", {"enum": ["a"]}) -> `Names must be "a"`."""
    predicates = _predicates(schema) or [("fit", _quote_short(schema))]
    return f"{subject} {auxiliary} {join_words([f'{verb} {rest}' for verb, rest in predicates], 'and')}"


def exactly_one_text(schemas: Sequence[Any]) -> str:
    """Return the sentence for overlapping alternatives of `oneOf`."""
    names = [
        schema["required"] for schema in map(_rules, schemas) if schema and schema.keys() - {"type"} == {"required"}
    ]
    if len(names) == len(schemas) and all(VALUE_CHECKS["required"](name) and len(name) == 1 for name in names):
        return f"Give exactly one of {_names([name for (name,) in names])}"
    return EXACTLY_ONE


def unstated_keywords(schema: Any, text: str) -> tuple[str, ...]:
    """Return the keywords of a schema whose values are missing in its sentence."""
    if schema is None or not is_small(schema):
        return ("size",)
    is_cut = _OMITTED in text
    keywords = (
        keyword
        for part, _ in walk({"allOf": [schema]})
        for keyword, value in part.items()
        if (keyword == "pattern" or is_cut) and not _is_stated(keyword, value, text)
    )
    return tuple(dict.fromkeys(keyword for keyword in keywords if keyword not in _NOT_RULES))


def _is_stated(keyword: str, value: Any, text: str) -> bool:
    """Return whether all names and scalars of a keyword are in `text`; schemas have keywords of their own."""
    if isinstance(value, dict):
        return keyword not in SCHEMA_MAP_KEYWORDS or all(name in text for name in value)
    if isinstance(value, list):
        return all(_is_stated("", part, text) for part in value)
    return (value if isinstance(value, str) else _quote(value)) in text


def _is_true(schema: Any) -> bool:
    return schema is True or schema == {}


def _rules(schema: Any) -> dict[str, Any] | None:
    """Return the keywords that constrain a value."""
    if not isinstance(schema, dict) or not is_small(schema):
        return None
    return {keyword: value for keyword, value in schema.items() if keyword not in _NOT_RULES}


def _condition(schema: Any, given: Collection[str] | None) -> str:
    facts = None if _predicates(schema) else _facts(schema, given)
    return _is("it", schema) if facts is None else facts


def _demand(schema: Any) -> str:
    if schema is False:
        return "no value is valid"
    demands = None if _predicates(schema) else _demands(schema)
    return must_be("it", "must", schema) if demands is None else demands


def _is(subject: str, schema: Any) -> str:
    predicates = _predicates(schema) or [("fit", _quote_short(schema))]
    return f"{subject} {join_words([f'{_PRESENT[verb]} {rest}' for verb, rest in predicates], 'and')}"


def _negated(schema: Any) -> str:
    """Return the predicate of a sentence with "must not" or "does not"."""
    predicates = _predicates(schema)
    return " ".join(predicates[0]) if len(predicates) == 1 else f"fit {_quote_short(schema)}"


def _predicates(schema: Any) -> list[tuple[str, str]]:
    """Return a verb and its complement for each rule on a value that is no object; none for any other schema."""
    noun, *details = _words(schema) or [""]
    if noun:
        return [("be", _with_article(_with_details(noun, details)))]
    return [] if _OMITTED in details else [_limit_predicate(sentence) for sentence in details]


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


def _words(schema: Any) -> list[str]:
    """Return a noun ("" without a type) and the limits of a value that is no object; [] for any other schema.

    `["array of integer", "at least 1 item"]`
    """
    rules = _rules(schema)
    if not rules or not all(
        VALUE_CHECKS[keyword](value) for keyword, value in rules.items() if keyword in VALUE_CHECKS
    ):
        return []
    types = [rules["type"]] if isinstance(rules.get("type"), str) else rules.get("type", [])
    if not TYPE_NAMES.issuperset(types):
        return []
    if rules.keys() - {"type"} in ({"const"}, {"enum"}):
        return [join_words([_quote(value) for value in rules.get("enum", [rules.get("const")])], "or")]
    limits = {keyword: value for keyword, value in rules.items() if keyword != "type"}
    noun = join_words(types, "or") if types else ""
    if types == ["array"] and (noun_of_items := _words(limits.pop("items", None))) and noun_of_items[0]:
        noun = f"array of {_with_details(noun_of_items[0], noun_of_items[1:])}"
    if not _LIMITS.issuperset(limits) or any(isinstance(limits.get(keyword), bool) for keyword in _EXCLUSIVE):
        return []
    details = list(map(lower_first, limit_sentences(limits)))
    details += [_OMITTED] if "pattern" in limits and not states_pattern(limits) else []
    return [noun, *details]


def _with_details(noun: str, details: Sequence[str]) -> str:
    return f"{noun} ({'; '.join(details)})" if details else noun


def _with_article(value: str) -> str:
    word = value.split(" ", 1)[0]
    if word in {"array", "integer", "object"}:
        return f"an {value}"
    return f"a {value}" if word in {"boolean", "number", "string"} else value


def _properties(schema: Any) -> tuple[Mapping[str, Any], Sequence[str], Sequence[str]] | None:
    """Return the properties of an object schema, the required names, and those of `not: {required: ...}`."""
    rules = _rules(schema)
    if (
        rules is None
        or rules.keys() - {"type", "properties", "required", "not"}
        or rules.get("type", "object") != "object"
    ):
        return None
    excluded = rules.get("not", {"required": []})
    if not isinstance(excluded, dict) or excluded.keys() != {"required"}:
        return None
    properties, required, absent = rules.get("properties", {}), rules.get("required", []), excluded["required"]
    is_valid = VALUE_CHECKS["properties"](properties) and all(map(VALUE_CHECKS["required"], (required, absent)))
    return (
        (properties, required, absent) if is_valid and len(absent) < 2 and (properties or required or absent) else None
    )


def _facts(schema: Any, given: Collection[str] | None) -> str | None:
    """Return a clause that is true for the objects that `schema` accepts: `` `a` is "x" and `b` is given ``.

    It adds that a property may be absent, unless it is required or in `given`; None stands for all names.
    """
    parts = _properties(schema)
    if parts is None:
        return None
    properties, required, absent = parts
    facts = [
        _fact(name, part, may_be_absent=given is not None and name not in {*given, *required})
        for name, part in properties.items()
        if not _is_true(part)
    ]
    plain = [name for name in required if _is_true(properties.get(name, True))]
    facts += [f"{_names(plain)} {'is' if len(plain) == 1 else 'are'} given"] if plain else []
    facts += [f"`{name}` is not given" for name in absent]
    return join_words(facts, "and") if facts else None


def _fact(name: str, schema: Any, *, may_be_absent: bool) -> str:
    if schema is False:
        return f"`{name}` is not given"
    is_negated = isinstance(schema, dict) and "not" in schema and (_rules(schema) or {}).keys() <= {"not", "type"}
    if is_negated and len(_predicates(schema["not"])) == 1:
        ((verb, rest),) = _predicates(schema["not"])
        return f"`{name}` is not {rest}" if verb == "be" else f"`{name}` does not {verb} {rest}"
    return _is(f"`{name}`", schema) + (" or is absent" if may_be_absent else "")


def _demands(schema: Any) -> str | None:
    """Return what an object must have to fit `schema`: `` give `a` (integer) and `b` must be "x" ``."""
    parts = _properties(schema)
    if parts is None:
        return None
    properties, required, absent = parts
    given = [_given(name, properties.get(name, True)) for name in required]
    demands = [f"give {join_words(given, 'and')}"] if given else []
    demands += [
        _demand_of(name, part) for name, part in properties.items() if name not in required and not _is_true(part)
    ]
    demands += [f"do not give `{name}`" for name in absent]
    return join_words(demands, "and") if demands else None


def _given(name: str, schema: Any) -> str:
    words = [word for word in _words(schema) if word] or [_quote_short(schema)]
    return f"`{name}`" if _is_true(schema) else f"`{name}` ({'; '.join(words)})"


def _demand_of(name: str, schema: Any) -> str:
    return f"do not give `{name}`" if schema is False else must_be(f"`{name}`", "must", schema)


def _names(names: Sequence[str]) -> str:
    return join_words([f"`{name}`" for name in names], "and")


def _quote(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _quote_short(schema: Any) -> str:
    """Quote a schema without the patterns that a description does not state."""
    return quote_schema(_without_long_patterns(schema) if schema is not None and is_small(schema) else schema)


def _without_long_patterns(value: Any) -> Any:
    if isinstance(value, dict):
        is_hidden = isinstance(value.get("pattern"), str) and not states_pattern(value)
        parts = {name: _without_long_patterns(part) for name, part in value.items()}
        return parts | ({"pattern": _OMITTED} if is_hidden else {})
    return [_without_long_patterns(part) for part in value] if isinstance(value, list) else value
