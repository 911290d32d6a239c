"""The keywords of JSON Schema 2020-12. Their messages are those of the package `jsonschema`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.values.patterns import is_found
from toolmason_runtime.shared.values.schema_references import References, UnknownReferenceError

Path = tuple[str | int, ...]
"""Names of members and indices of items that lead to a value."""
_PLAIN_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A value that a keyword does not allow.

    `rule` is the keyword's value, `schema` the schema with it, `branches` the violations of each branch of a union. A
    schema that is `false` has no keyword.
    """

    keyword: str | None
    rule: Any
    schema: Any
    instance: Any
    path: Path
    message: str
    branches: tuple[tuple[Violation, ...], ...] = ()

    @property
    def json_path(self) -> str:
        """The path as a JSONPath: `$.files[0]`."""
        steps = (f"[{step}]" if isinstance(step, int) else _member_path(step) for step in self.path)
        return "".join(("$", *steps))


def violations(schema: Any, value: Any, path: Path, references: References) -> Iterator[Violation]:
    """Yield each violation of `schema` by `value`, which is at `path`."""
    if schema is True:
        return
    if schema is False:
        message = f"False schema does not allow {value!r}"
        yield Violation(keyword=None, rule=None, schema=schema, instance=value, path=path, message=message)
        return
    for keyword, rule in schema.items():
        if (check := _MESSAGES.get(keyword)) is not None:
            for message in check(rule, value, schema, references):
                yield Violation(keyword=keyword, rule=rule, schema=schema, instance=value, path=path, message=message)
        elif (apply := _APPLICATORS.get(keyword)) is not None:
            yield from apply(rule, value, schema, path, references)


def _is_valid(schema: Any, value: Any, references: References) -> bool:
    return next(violations(schema, value, (), references), None) is None


# Types and equality


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def _is_equal(one: Any, two: Any) -> bool:
    """Return whether two values are equal in JSON: `1` and `1.0` are, `1` and `true` are not."""
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_is_equal, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_is_equal(value, two[name]) for name, value in one.items())
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _is_unique(items: Sequence[Any]) -> bool:
    # Texts, since their hashes are random: a client can choose many integers with the same hash.
    return len({_canonical(item) for item in items}) == len(items)


def _canonical(value: Any) -> str:
    """Return a text that is the same for equal values alone."""
    if isinstance(value, list):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{name!r}:{_canonical(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # `repr` refuses integers of more than 4,300 digits.
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)


# Keywords that check a value without its members


Messages = Iterator[str]
MessageCheck = Callable[[Any, Any, Mapping[str, Any], References], Messages]
"""Takes the keyword's value, the checked value, the schema and the references; yields a message for each violation."""


def _type(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    names = [rule] if isinstance(rule, str) else rule
    if not any(_TYPES[name](value) for name in names):
        yield f"{value!r} is not of type {', '.join(map(repr, names))}"


def _enum(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if not any(_is_equal(choice, value) for choice in rule):
        yield f"{value!r} is not one of {rule!r}"


def _const(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if not _is_equal(value, rule):
        yield f"{rule!r} was expected"


def _limit(is_outside: Callable[[Any, Any], bool], words: str) -> MessageCheck:
    def check(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
        if _is_number(value) and is_outside(value, rule):
            yield f"{value!r} is {words} of {rule!r}"

    return check


def _multiple_of(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if _is_number(value) and not _is_multiple(value, rule):
        yield f"{value!r} is not a multiple of {rule}"


def _is_multiple(value: Any, divisor: Any) -> bool:
    if not isinstance(divisor, float):
        return bool(value % divisor == 0)
    try:
        quotient = value / divisor
        return bool(int(quotient) == quotient)
    except OverflowError:
        from fractions import Fraction  # imports the module decimal, which few schemas need

        return (Fraction(value) / Fraction(divisor)).denominator == 1


def _length(kind: type[Sized], *, is_least: bool, words: str, special: tuple[int, str]) -> MessageCheck:
    """Return the check of a limit of a length. `special` is a limit with its own words."""

    def check(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
        if isinstance(value, kind) and (len(value) < rule if is_least else len(value) > rule):
            yield f"{value!r} {special[1] if rule == special[0] else words}"

    return check


def _pattern(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if isinstance(value, str) and not is_found(rule, value):
        yield f"{value!r} does not match {rule!r}"


def _unique_items(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if rule and isinstance(value, list) and not _is_unique(value):
        yield f"{value!r} has non-unique elements"


def _required(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if isinstance(value, dict):
        yield from (f"{name!r} is a required property" for name in rule if name not in value)


def _dependent_required(rule: Any, value: Any, _schema: Any, _references: References) -> Messages:
    if isinstance(value, dict):
        for name, needed in rule.items():
            if name in value:
                yield from (f"{other!r} is a dependency of {name!r}" for other in needed if other not in value)


def _not(rule: Any, value: Any, _schema: Any, references: References) -> Messages:
    if _is_valid(rule, value, references):
        yield f"{value!r} should not be valid under {rule!r}"


def _contains(rule: Any, value: Any, schema: Mapping[str, Any], references: References) -> Messages:
    if not isinstance(value, list):
        return
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    count = sum(_is_valid(rule, item, references) for item in value)
    if count > most:
        yield f"Too many items match the given schema (expected at most {most})"
    elif count < least and count:
        yield f"Too few items match the given schema (expected at least {least} but only {count} matched)"
    elif count < least:
        yield f"{value!r} does not contain items matching the given schema"


def _unevaluated_items(rule: Any, value: Any, schema: Mapping[str, Any], references: References) -> Messages:
    if not isinstance(value, list):
        return
    evaluated = _evaluated_items(schema, value, references, own=False)
    rest = [
        item for index, item in enumerate(value) if index not in evaluated and not _is_valid(rule, item, references)
    ]
    if rest:
        yield f"Unevaluated items are not allowed ({_listed(rest)} unexpected)"


def _unevaluated_properties(rule: Any, value: Any, schema: Mapping[str, Any], references: References) -> Messages:
    if not isinstance(value, dict):
        return
    evaluated = _evaluated_names(schema, value, references, own=False)
    names = [name for name in value if name not in evaluated and not _is_valid(rule, value[name], references)]
    if names and rule is False:
        yield f"Unevaluated properties are not allowed ({_listed(sorted(names))} unexpected)"
    elif names:
        words = "Unevaluated properties are not valid under the given schema"
        yield f"{words} ({_listed(names)} unevaluated and invalid)"


def _listed(values: Sequence[Any]) -> str:
    return f"{', '.join(map(repr, values))} {'was' if len(values) == 1 else 'were'}"


_MESSAGES: Final[Mapping[str, MessageCheck]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _limit(lambda value, rule: value < rule, "less than the minimum"),
    "maximum": _limit(lambda value, rule: value > rule, "greater than the maximum"),
    "exclusiveMinimum": _limit(lambda value, rule: value <= rule, "less than or equal to the minimum"),
    "exclusiveMaximum": _limit(lambda value, rule: value >= rule, "greater than or equal to the maximum"),
    "multipleOf": _multiple_of,
    "minLength": _length(str, is_least=True, words="is too short", special=(1, "should be non-empty")),
    "maxLength": _length(str, is_least=False, words="is too long", special=(0, "is expected to be empty")),
    "pattern": _pattern,
    "minItems": _length(list, is_least=True, words="is too short", special=(1, "should be non-empty")),
    "maxItems": _length(list, is_least=False, words="is too long", special=(0, "is expected to be empty")),
    "uniqueItems": _unique_items,
    "contains": _contains,
    "minProperties": _length(
        dict, is_least=True, words="does not have enough properties", special=(1, "should be non-empty")
    ),
    "maxProperties": _length(
        dict, is_least=False, words="has too many properties", special=(0, "is expected to be empty")
    ),
    "required": _required,
    "dependentRequired": _dependent_required,
    "not": _not,
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
}


# Keywords that apply schemas to a value or its members


Applicator = Callable[[Any, Any, Mapping[str, Any], Path, References], Iterator[Violation]]
"""Takes the keyword's value, the checked value, the schema, the value's path and the references; yields violations."""


def _ref(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    return violations(references.target(rule), value, path, references)


def _dynamic_ref(rule: Any, _value: Any, _schema: Any, _path: Path, _references: References) -> Iterator[Violation]:
    raise UnknownReferenceError(f"$dynamicRef {rule} is not supported")


def _id(rule: Any, _value: Any, schema: Any, _path: Path, references: References) -> Iterator[Violation]:
    """Reject another document in the schema: references in it would have other targets."""
    if schema is not references.schema:
        raise UnknownReferenceError(f"$id {rule} below the root is not supported")
    return iter(())


def _properties(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    if isinstance(value, dict):
        for name, part in rule.items():
            if name in value:
                yield from violations(part, value[name], (*path, name), references)


def _pattern_properties(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    if isinstance(value, dict):
        for pattern, part in rule.items():
            for name, member in value.items():
                if is_found(pattern, name):
                    yield from violations(part, member, (*path, name), references)


def _additional_properties(
    rule: Any, value: Any, schema: Mapping[str, Any], path: Path, references: References
) -> Iterator[Violation]:
    if not isinstance(value, dict):
        return
    names = _additional_names(value, schema)
    if rule is not False:
        for name in names:
            yield from violations(rule, value[name], (*path, name), references)
    elif names:
        message = f"Additional properties are not allowed ({_listed(sorted(names))} unexpected)"
        yield Violation(
            keyword="additionalProperties", rule=rule, schema=schema, instance=value, path=path, message=message
        )


def _additional_names(value: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [name for name in value if name not in declared and not any(is_found(pattern, name) for pattern in patterns)]


def _property_names(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    if isinstance(value, dict):
        for name in value:
            yield from violations(rule, name, path, references)


def _items(rule: Any, value: Any, schema: Mapping[str, Any], path: Path, references: References) -> Iterator[Violation]:
    if not isinstance(value, list):
        return
    start = len(schema.get("prefixItems", ()))
    extra = value[start:]
    if rule is False and extra:
        shown = extra[0] if len(extra) == 1 else extra
        message = (
            f"Expected at most {start} {'item' if start == 1 else 'items'} but found {len(extra)} extra: {shown!r}"
        )
        yield Violation(keyword="items", rule=rule, schema=schema, instance=value, path=path, message=message)
    else:
        for index, item in enumerate(extra, start):
            yield from violations(rule, item, (*path, index), references)


def _prefix_items(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    if isinstance(value, list):
        for index, (item, part) in enumerate(zip(value, rule, strict=False)):
            yield from violations(part, item, (*path, index), references)


def _all_of(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    for part in rule:
        yield from violations(part, value, path, references)


def _any_of(rule: Any, value: Any, schema: Any, path: Path, references: References) -> Iterator[Violation]:
    if not any(_is_valid(part, value, references) for part in rule):
        yield _no_branch("anyOf", value, schema, path, references)


def _one_of(rule: Any, value: Any, schema: Any, path: Path, references: References) -> Iterator[Violation]:
    valid = [part for part in rule if _is_valid(part, value, references)]
    if not valid:
        yield _no_branch("oneOf", value, schema, path, references)
    elif len(valid) > 1:
        first, *others = valid
        message = f"{value!r} is valid under each of {', '.join(map(repr, (*others, first)))}"
        yield Violation(keyword="oneOf", rule=rule, schema=schema, instance=value, path=path, message=message)


def _no_branch(keyword: str, value: Any, schema: Any, path: Path, references: References) -> Violation:
    # All violations of each branch are looked for only here: with nested branches, that takes exponential time.
    branches = tuple(tuple(violations(part, value, path, references)) for part in schema[keyword])
    message = f"{value!r} is not valid under any of the given schemas"
    return Violation(
        keyword=keyword,
        rule=schema[keyword],
        schema=schema,
        instance=value,
        path=path,
        message=message,
        branches=branches,
    )


def _if(rule: Any, value: Any, schema: Mapping[str, Any], path: Path, references: References) -> Iterator[Violation]:
    keyword = "then" if _is_valid(rule, value, references) else "else"
    yield from violations(schema.get(keyword, True), value, path, references)


def _dependent_schemas(rule: Any, value: Any, _schema: Any, path: Path, references: References) -> Iterator[Violation]:
    if isinstance(value, dict):
        for name, part in rule.items():
            if name in value:
                yield from violations(part, value, path, references)


_APPLICATORS: Final[Mapping[str, Applicator]] = {
    "$id": _id,
    "$ref": _ref,
    "$dynamicRef": _dynamic_ref,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "items": _items,
    "prefixItems": _prefix_items,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "if": _if,
    "dependentSchemas": _dependent_schemas,
}


# Members that a schema evaluates, for `unevaluatedItems` and `unevaluatedProperties`


def _evaluated_names(
    schema: Any, value: Mapping[str, Any], references: References, *, own: bool = True
) -> Collection[str]:
    """Return the names that a schema evaluates. `own` includes its `unevaluatedProperties`."""
    if not isinstance(schema, dict):
        return ()
    if "additionalProperties" in schema or (own and "unevaluatedProperties" in schema):
        return value.keys()
    found = {name for name in schema.get("properties", ()) if name in value}
    found.update(name for name in value for pattern in schema.get("patternProperties", ()) if is_found(pattern, name))
    for part in _in_place(schema, value, references):
        found.update(_evaluated_names(part, value, references))
    return found


def _evaluated_items(schema: Any, value: Sequence[Any], references: References, *, own: bool = True) -> Collection[int]:
    """Return the indices that a schema evaluates. `own` includes its `unevaluatedItems`."""
    if not isinstance(schema, dict):
        return ()
    if "items" in schema or (own and "unevaluatedItems" in schema):
        return range(len(value))
    found = set(range(len(schema.get("prefixItems", ()))))
    if "contains" in schema:
        found.update(index for index, item in enumerate(value) if _is_valid(schema["contains"], item, references))
    for part in _in_place(schema, value, references):
        found.update(_evaluated_items(part, value, references))
    return found


def _in_place(schema: Mapping[str, Any], value: Any, references: References) -> Iterator[Any]:
    """Yield the schemas that a schema applies to the same value, and that allow it.

    Those that a valid value always meets are not checked again: with nested values, that would take exponential time.
    """
    yield from schema.get("allOf", ())
    if "$ref" in schema:
        yield references.target(schema["$ref"])
    if isinstance(value, dict):
        yield from (part for name, part in schema.get("dependentSchemas", {}).items() if name in value)
    parts = [part for keyword in ("anyOf", "oneOf") for part in schema.get(keyword, ())]
    yield from (part for part in parts if _is_valid(part, value, references))
    if "if" in schema:
        is_met = _is_valid(schema["if"], value, references)
        if is_met:
            yield schema["if"]
        yield schema.get("then" if is_met else "else", True)


def _member_path(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return f".{name}"
    escaped = name.replace("\\", "\\\\").replace("'", r"\'")
    return f"['{escaped}']"
