"""Find a value that one schema accepts and another rejects. Every value is checked with a validator of JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import ceil, floor, inf
from typing import Any, Final

from toolmason.diff.pattern_examples import pattern_example
from toolmason.diff.schema_parts import CONSTRAINTS, MAX_DEPTH, Root, Schema, conjuncts, enum_of, is_type, types_of
from toolmason.diff.validation import UndecidedError, accepts, matches, validator

MAX_VALUES: Final = 400
"""Maximum values of one part that are tried."""
MAX_TEXT: Final = 2_000
"""Maximum length of a text that is tried."""
MAX_ITEMS: Final = 60
MAX_LEVELS: Final = 8
MAX_PARTS: Final = 1_000
"""Maximum parts of a schema that values are made for."""
ANY_VALUES: Final[tuple[Any, ...]] = ("a", 0, True, None, 0.5, [], {})
"""Values of a schema without rules."""
_TEXTS: Final = (
    *(
        "a",
        "",
        "A",
        "0",
        "text",
        "a b",
        "-1",
        "é",
        "2026-01-31",
        "2026-01-31T12:00:00Z",
        "12:00:00",
        "name@[192.0.2.1]",
    ),
    *("https://example.com/a", "example.com", "192.0.2.1", "2001:db8::1", "6f1b0c9e-58a0-4a7e-9c1d-0f4c6f2f9f10"),
)
_START: Final = re.compile(r"\^?([\w-]+)")
_NUMBERS: Final = (0, 1, -1, 2, 10, 100, 0.5, -0.5)


def find_counterexample(old: Schema, new: Schema) -> tuple[Any] | None:
    """Return a value, in a tuple, that `old` accepts and `new` rejects; None if none was found."""
    return next(_counterexamples(old, new), None)


def counterexamples(old: Schema, new: Schema) -> list[Any]:
    """Return the values that were found and that `old` accepts and `new` rejects."""
    return [value for (value,) in _counterexamples(old, new)]


def clearest(values: Sequence[Any], path: Sequence[str | int]) -> tuple[Any] | None:
    """Return the smallest of `values` in a tuple, if possible one that has the part at `path`; None without values."""
    return (min(values, key=lambda value: _order(value, path)),) if values else None


def _order(value: Any, path: Sequence[str | int]) -> tuple[bool, int, int]:
    """Return the order of examples: those with the part first, then those without empty texts, then short ones."""
    text = json.dumps(value)
    return not _has(value, path), text.count('""'), len(text)


def _has(value: Any, path: Sequence[str | int]) -> bool:
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and value:
            value = value[0]
        else:
            return False
    return True


def _counterexamples(old: Schema, new: Schema) -> Iterator[tuple[Any]]:
    mine, theirs = validator(old), validator(new)
    for value in samples(old, new):
        try:
            if accepts(mine, value) and not accepts(theirs, value):
                yield (value,)
        except UndecidedError:
            continue


def samples(old: Schema, new: Schema) -> Iterator[Any]:
    """Yield values of `old`, many of them at its limits and at those of `new`. Some may be invalid."""
    hints = _Hints()
    for schema in (old, new):
        hints.collect(schema)
    yield from _Samples(old, hints).values(old)


class _Hints:
    """The constants of schemas, which are the values where they differ."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.numbers: dict[float, None] = {}
        self.counts: dict[int, None] = {}
        self.names: dict[str, None] = {}

    def collect(self, schema: Any, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            return
        match schema:
            case dict():
                for key, value in schema.items():
                    self._keyword(key, value)
                    self.collect(value, depth + 1)
            case list():
                for part in schema:
                    self.collect(part, depth + 1)

    def _keyword(self, key: str, value: Any) -> None:
        match key, value:
            case (("enum" | "examples"), list()):
                for item in value:
                    self._value(item)
            case (("const" | "default" | "example"), _):
                self._value(value)
            case (("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"), int() | float()):
                self._value(value)
            case "multipleOf", int() | float():
                self.numbers |= dict.fromkeys([value, value * 2, value * 3, value / 2])
            case (
                ("minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"),
                int() | float(),
            ):
                self.counts |= dict.fromkeys(max(0, int(value) + step) for step in (-1, 0, 1))
            case "required", list():
                self.names |= dict.fromkeys(name for name in value if isinstance(name, str))
            case "properties", dict():
                self.names |= dict.fromkeys(value)

    def _value(self, value: Any) -> None:
        match value:
            case str():
                self.texts[value] = None
            case bool():
                pass
            case int() | float() if abs(value) < inf:
                self.numbers |= dict.fromkeys([value, value - 1, value + 1, value + 0.5])


class _Samples:
    def __init__(self, root: Schema, hints: _Hints) -> None:
        self._root, self._hints = Root(root), hints
        self._validator = validator(root)
        self._remaining = MAX_PARTS

    def values(self, *schemas: Schema, depth: int = 0) -> list[Any]:
        """Return values that probably satisfy the conjunction of `schemas`, valid ones first."""
        self._remaining -= 1
        if self._remaining < 0 or depth > MAX_LEVELS:
            return []
        parts = [part for schema in schemas for part in conjuncts(schema, self._root)]
        rules = [part for part in parts if isinstance(part, dict)]
        if any(part is False for part in parts):
            return []
        if not any(CONSTRAINTS.intersection(part) for part in rules):
            return [*ANY_VALUES, *islice(self._hints.texts, 10), *islice(self._hints.numbers, 10)]
        for part in rules:
            for keyword in ("anyOf", "oneOf"):
                if isinstance(part.get(keyword), list):
                    rest = {key: value for key, value in part.items() if key not in {keyword, "allOf"}}
                    others = [rest if other is part else other for other in rules]
                    branches = [self.values(*others, branch, depth=depth + 1) for branch in part[keyword]]
                    return _in_turn(branches)
        return self._valid(_in_turn([self._of_type(kind, rules, depth) for kind in self._types(rules)]), rules)

    def _types(self, rules: Sequence[Mapping[str, Any]]) -> list[str]:
        found = ["string", "integer", "number", "boolean", "array", "object", "null"]
        for part in rules:
            found = [kind for kind in found if any(is_type(kind, wide) for wide in types_of(part))]
        return found

    def _valid(self, values: Iterable[Any], rules: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return the valid values of `values`, without repetition."""
        checks = [self._validator.evolve(schema=part) for part in rules]
        found: dict[str, Any] = {}
        for value in values:
            try:
                if all(accepts(check, value) for check in checks):
                    found.setdefault(json.dumps(value, sort_keys=True), value)
            except UndecidedError:
                return []
            if len(found) >= MAX_VALUES:
                break
        return list(found.values())

    def _of_type(self, kind: str, rules: Sequence[Mapping[str, Any]], depth: int) -> list[Any]:
        for part in rules:
            if (values := enum_of(part)) is not None:
                return values
        stated = [part["default"] for part in rules if "default" in part]
        for part in rules:
            stated += part["examples"] if isinstance(part.get("examples"), list) else []
        match kind:
            case "null":
                return [None]
            case "boolean":
                return [True, False]
            case "integer" | "number":
                return [*stated, *_numbers(rules, self._hints, kind)]
            case "string":
                patterns = [str(part["pattern"]) for part in rules if "pattern" in part]
                stated += [text for pattern in patterns if (text := pattern_example(pattern)) is not None]
                lengths = [0, 1, *self._hints.counts]
                texts = ["a" * length for length in lengths if length <= MAX_TEXT]
                return [*stated, *_TEXTS[:1], *self._hints.texts, *texts, *_TEXTS[1:]]
            case "array":
                return [*stated, *self._arrays(rules, depth)]
            case _:
                return [*stated, *self._objects(rules, depth)]

    def _arrays(self, rules: Sequence[Mapping[str, Any]], depth: int) -> list[Any]:
        prefix: list[Any] = max((part["prefixItems"] for part in rules if part.get("prefixItems")), key=len, default=[])
        items = [part["items"] for part in rules if isinstance(part.get("items"), dict | bool)]
        firsts = [self.values(schema, depth=depth + 1) for schema in prefix]
        values = self.values(*(items or [True]), depth=depth + 1)
        start = [found[0] for found in firsts if found]
        is_unique = any(part.get("uniqueItems") is True for part in rules)
        arrays: list[Any] = [[]]
        if len(start) == len(prefix):
            if start:
                arrays.append(start)
            for index, found in enumerate(firsts):
                arrays += [[*start[:index], value, *start[index + 1 :]] for value in found[1:]]
            arrays += [[*start, value] for value in values]
            for count in self._hints.counts:
                if values and len(start) < count <= MAX_ITEMS:
                    arrays.append(
                        [*start, *values[:count]] if is_unique else [*start, *[values[0]] * (count - len(start))]
                    )
            if values and not is_unique:
                arrays.append([*start, values[0], values[0]])
        return arrays

    def _objects(self, rules: Sequence[Mapping[str, Any]], depth: int) -> list[Any]:
        names = dict.fromkeys(name for part in rules for name in part.get("properties") or ())
        required = dict.fromkeys(name for part in rules for name in part.get("required") or ())
        extra = [name for name in (*self._hints.names, *_names_of_patterns(rules)) if name not in names]
        by_name: dict[str, list[Any]] = {}
        for name in (*names, *required, *extra):
            if name not in by_name:
                by_name[name] = self.values(*(_member(part, name) for part in rules), depth=depth + 1)
        base = {name: by_name[name][0] for name in required if by_name[name]}
        objects: list[Any] = [base]
        full = base | {name: by_name[name][0] for name in names if by_name[name]}
        objects += [full] if full != base else []
        for name, values in by_name.items():
            objects += [base | {name: value} for value in values]
        key = "other"
        others = self.values(*(part.get("additionalProperties", True) for part in rules), depth=depth + 1)
        objects += [base | {key: value} for value in others[:40]]
        for count in self._hints.counts:
            if others and len(base) < count <= MAX_ITEMS:
                objects.append(base | {f"{key}{index}": others[0] for index in range(count - len(base))})
        return objects


def _member(part: Mapping[str, Any], name: str) -> Schema:
    properties, patterns = part.get("properties") or {}, part.get("patternProperties") or {}
    if name in properties:
        return properties[name]
    return next((schema for pattern, schema in patterns.items() if _is_match(pattern, name)), _other(part))


def _other(part: Mapping[str, Any]) -> Schema:
    return part.get("additionalProperties", True)


def _is_match(pattern: str, name: str) -> bool:
    try:
        return matches(pattern, name)
    except UndecidedError:
        return False


def _names_of_patterns(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each pattern that starts with literal characters."""
    patterns = [pattern for part in rules for pattern in part.get("patternProperties") or ()]
    starts = [found[1] for pattern in patterns if (found := _START.match(pattern))]
    return [name for start in starts for name in (start, f"{start}1", f"{start}a")]


def _numbers(rules: Sequence[Mapping[str, Any]], hints: _Hints, kind: str) -> list[Any]:
    factors = [part["multipleOf"] for part in rules if isinstance(part.get("multipleOf"), int | float)]
    found: list[Any] = [*_NUMBERS, *hints.numbers]
    for factor in factors:
        found += [
            step * factor for value in hints.numbers if factor for step in (floor(value / factor), ceil(value / factor))
        ]
    if kind == "integer":
        return [int(value) for value in found if value == int(value)]
    return found


def _in_turn(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the members of all lists: the first of each, then the second of each, and so on."""
    longest = max(map(len, lists), default=0)
    return [values[index] for index in range(longest) for values in lists if index < len(values)]
