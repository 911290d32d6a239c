"""Sentences about rules outside the normal form: ``If `mode` is "file", give `path` (string)``.

Every function takes schemas without references. Schemas that have no short wording are quoted as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.schema.keywords import LIMIT_KEYWORDS, NO_EFFECT, SCHEMA_MAP_KEYWORDS, TYPE_NAMES, VALUE_CHECKS, is_small
from toolmason.schema.walk import walk
from toolmason.schema.wording import join_words, limit_sentences, lower_first, quote_schema, states_pattern

_NOT_RULES: Final = NO_EFFECT | {"title", "description", "default", "examples", "example", "deprecated"}
_LIMITS: Final = frozenset(keyword for keywords in LIMIT_KEYWORDS.values() for keyword in keywords)
_OMITTED: Final = "..."


def condition_text(rule: Mapping[str, Any]) -> str:
    """Return the sentence for `if`, `then` and `else`."""
    then, otherwise = rule.get("then", True), rule.get("else", True)
    condition = _condition(rule["if"])
    if _is_true(then):
        return f"Unless {condition}, {_demand(otherwise)}"
    return f"If {condition}, {_demand(then)}" + ("" if _is_true(otherwise) else f"; otherwise {_demand(otherwise)}")


def dependency_text(name: str, schema: Any) -> str:
    """Return the sentence for `schema` in `dependentSchemas`."""
    return f"Do not give `{name}`" if schema is False else f"With `{name}`, {_demand(schema)}"


def not_text(schema: Any) -> str:
    """Return the sentence for `not`."""
    rules = _rules(schema) or {}
    if rules.keys() == {"enum"} and isinstance(rules["enum"], list):
        return f"Must not be one of {', '.join(map(_quote, rules['enum']))}"
    if rules.keys() == {"required"} and VALUE_CHECKS["required"](rules["required"]):
        return f"Do not give {_names(rules['required'])} together"
    if (value := _value(schema)) is not None:
        return f"Must not be {_with_article(value)}"
    return f"Must not fit {_quote_short(schema)}" if (facts := _facts(schema)) is None else f"Not allowed: {facts}"


def must_be(subject: str, verb: str, schema: Any) -> str:
    """Return a sentence about all values of a kind: ("Names", "must", {"enum": ["a"]}) -> `Names must be "a"`."""
    value = _value(schema)
    return (
        f"{subject} {verb} fit {_quote_short(schema)}"
        if value is None
        else f"{subject} {verb} be {_with_article(value)}"
    )


def unstated_keywords(schema: Any, text: str) -> tuple[str, ...]:
    """Return the keywords of a schema whose values are not in `text`, its sentence."""
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
    """Return whether `text` has all names and scalars of a keyword, apart from its subschemas."""
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


def _condition(schema: Any) -> str:
    if (value := _value(schema)) is not None:
        return f"it is {_with_article(value)}"
    return f"it fits {_quote_short(schema)}" if (facts := _facts(schema)) is None else facts


def _demand(schema: Any) -> str:
    if schema is False:
        return "no value is valid"
    if (value := _value(schema)) is not None:
        return f"it must be {_with_article(value)}"
    return f"it must fit {_quote_short(schema)}" if (demands := _demands(schema)) is None else demands


def _value(schema: Any) -> str | None:
    """Return a noun phrase for values other than objects: `"a" or "b"`, `integer (at least 1)`."""
    rules = _rules(schema)
    if not rules or not all(
        VALUE_CHECKS[keyword](value) for keyword, value in rules.items() if keyword in VALUE_CHECKS
    ):
        return None
    types = [rules["type"]] if isinstance(rules.get("type"), str) else rules.get("type", [])
    if not TYPE_NAMES.issuperset(types):
        return None
    if rules.keys() - {"type"} in ({"const"}, {"enum"}):
        return join_words([_quote(value) for value in rules.get("enum", [rules.get("const")])], "or")
    limits = {keyword: value for keyword, value in rules.items() if keyword != "type"}
    if not _LIMITS.issuperset(limits) or any(
        isinstance(limits.get(f"exclusive{end}imum"), bool) for end in ("Min", "Max")
    ):
        return None
    name = join_words(types, "or") if types else "a value"
    sentences = list(map(lower_first, limit_sentences(limits)))
    sentences += [_OMITTED] if "pattern" in limits and not states_pattern(limits) else []
    return f"{name} ({'; '.join(sentences)})" if sentences else name


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


def _facts(schema: Any) -> str | None:
    """Return a clause that is true for the objects that `schema` accepts: `` `a` is "x" and `b` is given ``."""
    parts = _properties(schema)
    if parts is None:
        return None
    properties, required, absent = parts
    facts = [_fact(name, part) for name, part in properties.items() if not _is_true(part)]
    given = [name for name in required if _is_true(properties.get(name, True))]
    facts += [f"{_names(given)} {'is' if len(given) == 1 else 'are'} given"] if given else []
    facts += [f"`{name}` is not given" for name in absent]
    return join_words(facts, "and") if facts else None


def _fact(name: str, schema: Any) -> str:
    if schema is False:
        return f"`{name}` is not given"
    if (value := _value(schema)) is not None:
        return f"`{name}` is {_with_article(value)}"
    negated = (
        schema.get("not") if isinstance(schema, dict) and (_rules(schema) or {}).keys() <= {"not", "type"} else None
    )
    if negated is not None and (value := _value(negated)) is not None:
        return f"`{name}` is not {_with_article(value)}"
    return f"`{name}` fits {_quote_short(schema)}"


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
    if _is_true(schema):
        return f"`{name}`"
    return f"`{name}` ({_quote_short(schema) if (value := _value(schema)) is None else value})"


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
