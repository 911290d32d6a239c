"""Sentences about rules outside the normal form: ``If `mode` is "file", give `path` (string)``.

Every function takes schemas without references. Schemas that have no short wording are quoted as JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolmason.schema.keywords import SCHEMA_MAP_KEYWORDS, VALUE_CHECKS, is_small
from toolmason.schema.normalize.predicates import (
    NOT_RULES,
    OMITTED,
    is_clause,
    must_be,
    negated,
    predicates,
    quote_short,
    quote_value,
    rules_of,
    words,
)
from toolmason.schema.walk import walk
from toolmason.schema.wording import EXACTLY_ONE, join_words


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
    rules = rules_of(schema) or {}
    if rules.keys() == {"required"} and rules["required"] and VALUE_CHECKS["required"](rules["required"]):
        return f"Do not give {_names(rules['required'])}{' together' if len(rules['required']) > 1 else ''}"
    facts = None if predicates(schema) else _facts(schema, ())
    return f"Must not {negated(schema)}" if facts is None else f"Not allowed: {facts}"


def exactly_one_text(schemas: Sequence[Any]) -> str:
    """Return the sentence for overlapping alternatives of `oneOf`."""
    names = [
        schema["required"] for schema in map(rules_of, schemas) if schema and schema.keys() - {"type"} == {"required"}
    ]
    if len(names) == len(schemas) and all(VALUE_CHECKS["required"](name) and len(name) == 1 for name in names):
        return f"Give exactly one of {_names([name for (name,) in names])}"
    return EXACTLY_ONE


def unstated_keywords(schema: Any, text: str) -> tuple[str, ...]:
    """Return the keywords of a schema whose values are not in `text`, its sentence."""
    if schema is None or not is_small(schema):
        return ("size",)
    is_cut = OMITTED in text
    keywords = (
        keyword
        for part, _ in walk({"allOf": [schema]})
        for keyword, value in part.items()
        if (keyword == "pattern" or is_cut) and not _is_stated(keyword, value, text)
    )
    return tuple(dict.fromkeys(keyword for keyword in keywords if keyword not in NOT_RULES))


def _is_stated(keyword: str, value: Any, text: str) -> bool:
    """Return whether `text` has all names and scalars of a keyword, apart from its subschemas."""
    if isinstance(value, dict):
        return keyword not in SCHEMA_MAP_KEYWORDS or all(name in text for name in value)
    if isinstance(value, list):
        return all(_is_stated("", part, text) for part in value)
    return (value if isinstance(value, str) else quote_value(value)) in text


def _is_true(schema: Any) -> bool:
    return schema is True or schema == {}


def _condition(schema: Any, given: Collection[str] | None) -> str:
    facts = None if predicates(schema) else _facts(schema, given)
    return is_clause("it", schema) if facts is None else facts


def _demand(schema: Any) -> str:
    if schema is False:
        return "no value is valid"
    demands = None if predicates(schema) else _demands(schema)
    return must_be("it", "must", schema) if demands is None else demands


def _properties(schema: Any) -> tuple[Mapping[str, Any], Sequence[str], Sequence[str]] | None:
    """Return the properties of an object schema, the required names, and those of `not: {required: ...}`."""
    rules = rules_of(schema)
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
    is_negated = isinstance(schema, dict) and "not" in schema and (rules_of(schema) or {}).keys() <= {"not", "type"}
    if is_negated and len(predicates(schema["not"])) == 1:
        ((verb, rest),) = predicates(schema["not"])
        return f"`{name}` is not {rest}" if verb == "be" else f"`{name}` does not {verb} {rest}"
    return is_clause(f"`{name}`", schema) + (" or is absent" if may_be_absent else "")


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
    parts = [word for word in words(schema) if word] or [quote_short(schema)]
    return f"`{name}`" if _is_true(schema) else f"`{name}` ({'; '.join(parts)})"


def _demand_of(name: str, schema: Any) -> str:
    return f"do not give `{name}`" if schema is False else must_be(f"`{name}`", "must", schema)


def _names(names: Sequence[str]) -> str:
    return join_words([f"`{name}`" for name in names], "and")
