"""Decide whether a JSON Schema accepts every value that another one accepts.

The answer "yes" is a proof: the older schema is only ever taken as wider than it is, and the newer one as narrower. No
answer is not a "no": `counterexamples` finds a value for that. Decided are types, values, limits, arrays, objects,
references, `allOf`, `anyOf` and `oneOf`; other keywords, patterns and formats only if both schemas have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, inf
from typing import Any, Final

from toolmason.diff.schema_parts import (
    ANNOTATIONS,
    MAX_DEPTH,
    Root,
    Schema,
    conjuncts,
    enum_of,
    is_type,
    types_of,
)
from toolmason.diff.validation import UndecidedError, accepts, validator
from toolmason.schema.keywords import JSON_TYPES, NO_EFFECT
from toolmason.schema.patterns import matches_name

MAX_STEPS: Final = 20_000
"""Maximum pairs of schemas that one decision compares."""
_UNORDERED: Final = ("anyOf", "oneOf")
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_DECIDED_ELSEWHERE: Final = frozenset(
    {"type", "enum", "const", "allOf", "anyOf", "oneOf", "properties", "required", "items", "prefixItems"}
    | {"additionalProperties", "patternProperties", "uniqueItems", "nullable", "contentEncoding", "contentMediaType"}
)
_IGNORED: Final = ANNOTATIONS | NO_EFFECT | _DECIDED_ELSEWHERE
_TYPES_OF_KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(_NUMBERS, frozenset({"integer", "number"})),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), frozenset({"string"})),
    **dict.fromkeys(("format",), frozenset({"string", "integer", "number"})),
    **dict.fromkeys(("minItems", "maxItems", "contains", "minContains", "maxContains"), frozenset({"array"})),
    **dict.fromkeys(("unevaluatedItems", "additionalItems"), frozenset({"array"})),
    **dict.fromkeys(("minProperties", "maxProperties", "propertyNames"), frozenset({"object"})),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "dependencies"), frozenset({"object"})),
    **dict.fromkeys(("unevaluatedProperties",), frozenset({"object"})),
}
"""Keyword -> types of the values that it constrains; others constrain every value."""


_OF_TYPE: Final[Mapping[str, Mapping[str, Any]]] = {kind: {"type": kind} for kind in (*JSON_TYPES, "integer")}


def is_contained(old: Schema, new: Schema) -> bool:
    """Return whether it is proven that `new` accepts every value that `old` accepts."""
    return _Decision(old, new).contains([old], new)


class _TooLongError(Exception):
    """A decision takes too many steps."""


class _Decision:
    """One decision. A pair of schemas that occurs again below itself is assumed to hold, as values are finite."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = Root(old), Root(new)
        self._old_validator, self._new_validator = validator(old), validator(new)
        self._open: dict[tuple[Any, ...], int] = {}
        self._without: dict[tuple[int, str], tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._has_same_definitions = _definitions(old) == _definitions(new)
        self._steps = 0

    def contains(self, old: Sequence[Schema], new: Schema) -> bool:
        """Return whether the conjunction of `old` is proven to be contained in `new`."""
        try:
            return self._contains(old, new, 0)
        except (_TooLongError, UndecidedError, RecursionError):
            return False

    def _contains(self, old: Sequence[Schema], new: Schema, level: int) -> bool:
        self._steps += 1
        if self._steps > MAX_STEPS or level > MAX_DEPTH:
            raise _TooLongError
        parts = [part for schema in old for part in conjuncts(schema, self.old)]
        if any(part is False for part in parts):
            return True
        rules = [part for part in parts if isinstance(part, dict)]
        key = (*map(id, (part for part in rules)), id(new))
        if key in self._open:
            return self._open[key] < level
        self._open[key] = level
        try:
            return self._decide(rules, new, level)
        finally:
            del self._open[key]

    def _decide(self, old: Sequence[Mapping[str, Any]], new: Schema, level: int) -> bool:
        new = self.new.resolve(new)
        if new is True or new == {} or any(self._is_same(part, new) for part in old):
            return True
        for index, part in enumerate(old):
            for keyword in _UNORDERED:
                if isinstance(part.get(keyword), list):
                    others = [*old[:index], *old[index + 1 :], self._rest(part, keyword)]
                    return all(self._contains([*others, branch], new, level) for branch in part[keyword])
        values = self._values(old)
        if values is not None:
            schema = self._new_validator.evolve(schema=new)
            return all(accepts(schema, value) for value in values)
        if new is False:
            return False
        types = self._types(old)
        return all(self._contains_type(kind, old, part, level) for kind in types for part in conjuncts(new, self.new))

    def _is_same(self, part: Mapping[str, Any], new: Schema) -> bool:
        return part == new and repr(part) == repr(new) and (self._has_same_definitions or not _has_reference(part))

    def _rest(self, part: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
        """Return `part` without a keyword: always the same object, so that repeated pairs are recognised."""
        key = (id(part), keyword)
        if key not in self._without:
            # The pair keeps `part`, and so its identity, alive.
            rest = {name: value for name, value in part.items() if name not in {keyword, "allOf"}}
            self._without[key] = (part, rest)
        return self._without[key][1]

    def _types(self, old: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the types that all conjuncts permit."""
        found = ["string", "integer", "number", "boolean", "array", "object", "null"]
        for part in old:
            found = [kind for kind in found if any(is_type(kind, wide) for wide in types_of(part))]
        return [kind for kind in found if kind != "integer" or "number" not in found]

    def _values(self, old: Sequence[Mapping[str, Any]]) -> list[Any] | None:
        """Return all values of a conjunction that has few; None if it has many, or if they cannot be checked."""
        values = next((found for part in old if (found := enum_of(part)) is not None), None)
        if values is None:
            types = self._types(old)
            if not set(types) <= {"boolean", "null"}:
                return None
            values = [value for kind in types for value in ((True, False) if kind == "boolean" else (None,))]
        checks = [self._old_validator.evolve(schema=part) for part in old]
        return [value for value in values if all(accepts(check, value) for check in checks)]

    def _contains_type(self, kind: str, old: Sequence[Mapping[str, Any]], new: Schema, level: int) -> bool:
        """Return whether the values of one type in `old` are in `new`, which has no references and no `allOf`."""
        if isinstance(new, bool):
            return new
        if not any(is_type(kind, wide) for wide in types_of(new)):
            return False
        if enum_of(new) is not None or not self._contains_branches(kind, old, new, level):
            return False
        rules = [(keyword, value) for keyword, value in new.items() if keyword not in _IGNORED]
        if not all(_implies(kind, old, keyword, value) for keyword, value in rules):
            return False
        if kind == "array":
            return self._contains_arrays(old, new, level)
        return kind != "object" or self._contains_objects(old, new, level)

    def _contains_branches(
        self, kind: str, old: Sequence[Mapping[str, Any]], new: Mapping[str, Any], level: int
    ) -> bool:
        typed = [*old, _OF_TYPE[kind]]
        branches = new.get("anyOf")
        if isinstance(branches, list) and not any(self._contains(typed, branch, level) for branch in branches):
            return False
        if isinstance(branches := new.get("oneOf"), list):
            fitting = [index for index, branch in enumerate(branches) if self._contains(typed, branch, level)]
            others = [branch for index, branch in enumerate(branches) if index not in fitting[:1]]
            return bool(fitting) and all(self._is_disjoint(typed, branch) for branch in others)
        return True

    def _is_disjoint(self, old: Sequence[Mapping[str, Any]], branch: Schema) -> bool:
        """Return whether no value of `old` is in `branch`: by types, or by the values of a required property."""
        parts = [part for schema in (*old,) for part in conjuncts(schema, self.old) if isinstance(part, dict)]
        others = list(conjuncts(branch, self.new))
        if any(part is False for part in others):
            return True
        rules = [part for part in others if isinstance(part, dict)]
        types = self._types(parts)
        if not any(is_type(a, b) or is_type(b, a) for part in rules for a in types for b in types_of(part)):
            return True
        if types != ["object"]:
            return False
        required = {name for part in rules for name in part.get("required") or ()}
        for name in required:
            mine = self._enum_of_property(parts, name, self.old)
            theirs = self._enum_of_property(rules, name, self.new)
            if mine is not None and theirs is not None and not any(value in theirs for value in mine):
                return True
        return False

    @staticmethod
    def _enum_of_property(parts: Sequence[Mapping[str, Any]], name: str, root: Root) -> list[Any] | None:
        for part in parts:
            for schema in conjuncts((part.get("properties") or {}).get(name, True), root):
                if isinstance(schema, dict) and (values := enum_of(schema)) is not None:
                    # 1 and true are equal in Python.
                    return None if any(isinstance(value, bool | float) for value in values) else values
        return None

    # Arrays

    def _contains_arrays(self, old: Sequence[Mapping[str, Any]], new: Mapping[str, Any], level: int) -> bool:
        most = _limit(old, "maxItems", inf, min)
        if new.get("uniqueItems") is True and most > 1 and not any(part.get("uniqueItems") is True for part in old):
            return False
        length = max((_prefix_length(part) for part in (*old, new)), default=0)
        for index in range(length + 1):
            if index >= most:
                return True
            if not self._contains([_item(part, index) for part in old], _item(new, index), level + 1):
                return False
        return True

    # Objects

    def _contains_objects(self, old: Sequence[Mapping[str, Any]], new: Mapping[str, Any], level: int) -> bool:
        required = {name for part in old for name in part.get("required") or ()}
        if not required.issuperset(new.get("required") or ()):
            return False
        names = {name for part in (*old, new) for name in part.get("properties") or ()}
        for name in names:
            wanted = _properties_of(new, name)
            if not all(self._contains(self._property(old, name), schema, level + 1) for schema in wanted):
                return False
        patterns = new.get("patternProperties") or {}
        for pattern, schema in patterns.items():
            if not self._contains([_of_pattern(part, pattern) for part in old], schema, level + 1):
                return False
        others = [_other(part) if patterns.keys() >= _patterns(part) else True for part in old]
        return self._contains(others, _other(new), level + 1)

    def _property(self, old: Sequence[Mapping[str, Any]], name: str) -> list[Schema]:
        return [schema for part in old for schema in _properties_of(part, name)]


def _prefix_length(part: Mapping[str, Any]) -> int:
    items = part.get("prefixItems") or (part["items"] if isinstance(part.get("items"), list) else ())
    return len(items)


def _item(part: Mapping[str, Any], index: int) -> Schema:
    prefix = part.get("prefixItems") or ()
    items = part.get("items", True)
    if isinstance(items, list):
        prefix, items = items, part.get("additionalItems", True)
    return prefix[index] if index < len(prefix) else items


def _properties_of(part: Mapping[str, Any], name: str) -> list[Schema]:
    """Return the schemas of one property."""
    properties, patterns = part.get("properties") or {}, part.get("patternProperties") or {}
    found = [properties[name]] if name in properties else []
    for pattern, schema in patterns.items():
        matches = matches_name(pattern, name)
        if matches is None:
            raise UndecidedError(pattern)
        if matches:
            found.append(schema)
    return found or [_other(part)]


def _patterns(part: Mapping[str, Any]) -> set[str]:
    return set(part.get("patternProperties") or ())


def _of_pattern(part: Mapping[str, Any], pattern: str) -> Schema:
    """Return a schema of the properties that match a pattern, and that the schema does not name."""
    if pattern in _patterns(part):
        return part["patternProperties"][pattern]
    return True if _patterns(part) else _other(part)


def _other(part: Mapping[str, Any]) -> Schema:
    return part.get("additionalProperties", True)


# Keywords


def _implies(kind: str, old: Sequence[Mapping[str, Any]], keyword: str, value: Any) -> bool:
    """Return whether `old` has a rule that implies the keyword for values of the type `kind`."""
    if kind not in _TYPES_OF_KEYWORDS.get(keyword, {kind}):
        return True
    if keyword in _NUMBERS:
        return _implies_number(kind, old, keyword, value)
    if keyword in _COUNTS:
        return _implies_count(old, keyword, value)
    return any(keyword in part and part[keyword] == value and not _has_reference(value) for part in old)


def _has_reference(value: Any) -> bool:
    return isinstance(value, dict | list) and ("$ref'" in (text := repr(value)) or "$dynamicRef'" in text)


def _definitions(schema: Schema) -> Any:
    return [schema.get(key) for key in ("$defs", "definitions")] if isinstance(schema, dict) else None


def _implies_count(old: Sequence[Mapping[str, Any]], keyword: str, value: Any) -> bool:
    if keyword.startswith("min"):
        least = _limit(old, keyword, 0, max)
        if keyword == "minProperties":
            least = max(least, len({name for part in old for name in part.get("required") or ()}))
        return bool(least >= value)
    most = _limit(old, keyword, inf, min)
    if keyword == "maxProperties":
        sizes = [
            len(part.get("properties") or ())
            for part in old
            if part.get("additionalProperties") is False and not part.get("patternProperties")
        ]
        most = min([most, *sizes])
    return bool(most <= value)


def _limit(old: Sequence[Mapping[str, Any]], keyword: str, default: float, choose: Any) -> Any:
    return choose([default, *(part[keyword] for part in old if _is_number(part.get(keyword)))])


def _implies_number(kind: str, old: Sequence[Mapping[str, Any]], keyword: str, value: Any) -> bool:
    if not _is_number(value):
        return False
    if keyword == "multipleOf":
        factors = [part["multipleOf"] for part in old if _is_number(part.get("multipleOf"))]
        factors += [1] if kind == "integer" or any(part.get("type") == "integer" for part in old) else []
        return any((_exact(factor) / _exact(value)).denominator == 1 for factor in factors)
    is_integer = kind == "integer"
    low, high = _lower(old, is_integer=is_integer), _upper(old, is_integer=is_integer)
    number = _exact(value)
    match keyword:
        case "minimum":
            return low >= (number, False)
        case "exclusiveMinimum":
            return low >= (number, True) or (is_integer and low >= (Fraction(floor(number) + 1), False))
        case "maximum":
            return high <= (number, True)
        case _:
            return high <= (number, False) or (is_integer and high <= (Fraction(ceil(number) - 1), True))


_Bound = tuple[Any, bool]


def _lower(old: Sequence[Mapping[str, Any]], *, is_integer: bool) -> _Bound:
    """Return the greatest lower bound, and whether it is exclusive."""
    bounds: list[_Bound] = [(-inf, False)]
    for part in old:
        if _is_number(part.get("minimum")):
            least = _exact(part["minimum"])
            bounds.append((Fraction(ceil(least)) if is_integer else least, False))
        if _is_number(part.get("exclusiveMinimum")):
            least = _exact(part["exclusiveMinimum"])
            bounds.append((Fraction(floor(least) + 1), False) if is_integer else (least, True))
    return max(bounds)


def _upper(old: Sequence[Mapping[str, Any]], *, is_integer: bool) -> _Bound:
    """Return the least upper bound, and whether it is inclusive."""
    bounds: list[_Bound] = [(inf, True)]
    for part in old:
        if _is_number(part.get("maximum")):
            most = _exact(part["maximum"])
            bounds.append((Fraction(floor(most)) if is_integer else most, True))
        if _is_number(part.get("exclusiveMaximum")):
            most = _exact(part["exclusiveMaximum"])
            bounds.append((Fraction(ceil(most) - 1), True) if is_integer else (most, False))
    return min(bounds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf


def _exact(value: float) -> Fraction:
    """Return the decimal value: 0.3 is a multiple of 0.1, unlike in binary."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))
