"""Draws values that a schema takes, and values one step away that it refuses.

The draws depend on the schema and the seed alone. Each is looked at with `jsonschema` before it is given, so what the
drawing itself does not understand (`not`, a lookaround) costs draws and never a wrong one.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from urllib.parse import unquote

from bench.schemas.reading import meaning, nodes, validator
from bench.schemas.texts import FORMATS, text_of_pattern

_MAX_DEPTH: Final = 40
"""Levels of a value after which a draw is given up."""
_MIN_AFTER: Final = 5
"""Levels after which only what has to be there is drawn."""
_STEPS: Final = 3000
"""Nodes that one draw may look at."""
_MAX_LENGTH: Final = 5000
_TRIES: Final = 4
_WORDS: Final = ("alpha", "beta gamma", "x", "Grüße", "a/b.txt", "2024", "true")
_FOR_LOOKAROUNDS: Final = ("a1b2c3d4", "Abc-1234", "abc", "A", "1")
"""Tried where what a pattern gives does not fit it."""
_KINDS: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
_SPEAKS_OF: Final = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class UnsampleableError(ValueError):
    """The schema cannot be used to look at values: a reference leads nowhere, a pattern cannot be read."""


@dataclass(frozen=True, slots=True)
class NearValid:
    """A value that the schema refuses, one step from one that it takes.

    `step` is `type`, `null`, `missing`, `unknown` (an undeclared property) or `value`; `path` leads to the change.
    """

    instance: Any
    step: str
    path: tuple[str | int, ...]


def valid_instances(schema: Any, *, count: int, seed: int = 0) -> list[Any]:
    """Draw up to `count` different values that `schema` takes: with all that is optional, with none of it, then mixed.

    Raises:
        UnsampleableError: no validator can use the schema.
    """
    meant = meaning(schema)
    return drawn(meant, Acceptance(meant), count=count, seed=seed)


def drawn(meant: Any, acceptance: Acceptance, *, count: int, seed: int = 0, kind: str | None = None) -> list[Any]:
    """Draw as `valid_instances` does from a schema that was read before, values of one type if `kind` names it."""
    schemas = [meant] if kind is None else [meant, {"type": kind}]
    random = Random(f"{seed}")  # noqa: S311  nothing secret; a text seeds it alike in every process
    found: dict[str, Any] = {}
    for number in range(3 * count + 6):
        if len(found) == count:
            break
        try:
            value = _Draw(meant, random, full=number == 0, least=number == 1).value(schemas, 0)
            if acceptance.takes(value):
                found.setdefault(json.dumps(value, sort_keys=True), value)
        except _ExhaustedError:
            continue
    return list(found.values())


def near_valid_instances(
    schema: Any, *, count: int, seed: int = 0, valid: Sequence[Any] | None = None
) -> list[NearValid]:
    """Give up to `count` values that `schema` refuses, each one change away from one of `valid`, steps taken in turn.

    A null for an optional property is no step: servers read it as absent.

    Raises:
        UnsampleableError: no validator can use the schema.
    """
    meant = meaning(schema)
    acceptance = Acceptance(meant)
    starts = drawn(meant, acceptance, count=count, seed=seed) if valid is None else valid
    random = Random(f"near {seed}")  # noqa: S311
    limits = _limits(meant)
    steps: dict[str, list[NearValid]] = {}
    for start in starts:
        for candidate in _changed(start, limits, random):
            steps.setdefault(candidate.step, []).append(candidate)
    for candidates in steps.values():
        random.shuffle(candidates)
    found: dict[str, NearValid] = {}
    tried = 0
    while len(found) < count and any(steps.values()) and tried < 12 * count:
        for candidates in steps.values():
            if candidates and len(found) < count:
                candidate = candidates.pop()
                tried += 1
                if not acceptance.takes(candidate.instance) and not _is_absence(candidate, acceptance):
                    found.setdefault(json.dumps(candidate.instance, sort_keys=True), candidate)
    return list(found.values())


class Acceptance:
    """Says whether a schema that was read takes a value."""

    def __init__(self, meant: Any) -> None:
        self._validator = validator(meant)

    def takes(self, value: Any) -> bool:
        """Look at `value`.

        Raises:
            UnsampleableError: the schema itself is at fault.
        """
        try:
            return bool(self._validator.is_valid(value))
        except Exception as error:  # a reference, a pattern, a keyword of the wrong type: each fails in its own way
            raise UnsampleableError(f"{type(error).__name__}: {error}") from error

    def takes_but_nulls(self, value: Any) -> bool:
        """Look at `value`, or at what is left of it once nulls that nothing asks for are left out."""
        return self.takes(value) or any(map(self.takes, _fewer_nulls(value)))


def without_nulls(value: Any, acceptance: Acceptance) -> Any:
    """Leave out of `value`, which `acceptance` takes, every null of a property that it takes without."""
    for path in reversed(_nulls(value)):
        left = _removed(value, path)
        if acceptance.takes(left):
            value = left
    return value


def _fewer_nulls(value: Any) -> Iterator[Any]:
    paths = _nulls(value)
    yield from (_removed(value, path) for path in paths)
    for path in reversed(paths):
        value = _removed(value, path)
        yield value


def _nulls(value: Any) -> list[tuple[str | int, ...]]:
    return [path for path, each in _places(value) if each is None and path and isinstance(path[-1], str)]


class _ExhaustedError(Exception):
    """A draw that leads nowhere."""


class _Draw:
    """One draw from one schema."""

    def __init__(self, root: Any, random: Random, *, full: bool, least: bool) -> None:
        self._root = root
        self._random = random
        self._full = full
        self._least = least
        self._steps = 0

    def value(self, schemas: Sequence[Any], depth: int) -> Any:
        """Draw a value that all of `schemas` take, as far as the drawing understands them."""
        for _ in range(_TRIES):
            try:
                return self._once(self._expanded(schemas, depth), depth)
            except _ExhaustedError:
                self._step()
        raise _ExhaustedError

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise _ExhaustedError

    def _expanded(self, schemas: Sequence[Any], depth: int) -> list[dict[str, Any]]:
        """Write references out and choose among alternatives: what is left has to hold all at once."""
        self._step()
        result: list[dict[str, Any]] = []
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop(0)
            if schema is False or len(result) > 300 or depth > _MAX_DEPTH:
                raise _ExhaustedError
            if not isinstance(schema, dict):
                continue
            result.append(schema)
            if isinstance(schema.get("$ref"), str):
                waiting.append(self._target(schema["$ref"]))
            waiting += schema.get("allOf", [])
            waiting += [self._chosen(schema[keyword], depth) for keyword in ("anyOf", "oneOf") if keyword in schema]
            if "if" in schema:
                holds = self._random.random() < 0.6
                waiting += [schema["if"], schema.get("then", True)] if holds else [schema.get("else", True)]
        return result

    def _chosen(self, branches: Sequence[Any], depth: int) -> Any:
        if depth < _MIN_AFTER:
            return self._random.choice(branches)
        simple = [each for each in branches if not (isinstance(each, dict) and {"$ref", "anyOf"} & each.keys())]
        return self._random.choice(simple or branches)

    def _target(self, address: str) -> Any:
        if address == "#":
            return self._root
        if not address.startswith("#/"):
            for _, node in nodes(self._root):
                if f"#{node.get('$anchor')}" == address or node.get("$id") == address:
                    return node
            raise _ExhaustedError
        value = self._root
        for part in unquote(address[2:]).split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                raise _ExhaustedError
        return value

    def _once(self, schemas: list[dict[str, Any]], depth: int) -> Any:
        kinds = self._kinds(schemas)
        listed = _listed(schemas)
        if listed is not None:
            fitting = [each for each in listed if any(_is_kind(each, kind) for kind in kinds)]
            if not fitting:
                raise _ExhaustedError
            return copy.deepcopy(self._random.choice(fitting))
        match self._random.choice(kinds):
            case "string":
                return self._text(schemas)
            case "integer":
                return self._number(schemas, whole=True)
            case "number":
                return self._number(schemas, whole=self._random.random() < 0.3)
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
            case "array":
                return self._array(schemas, depth)
            case _:
                return self._object(schemas, depth)

    def _kinds(self, schemas: list[dict[str, Any]]) -> list[str]:
        kinds = [*_KINDS]
        typed = False
        for schema in schemas:
            if "type" in schema:
                typed = True
                named = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
                allowed = {*named, "integer"} if "number" in named else {*named}
                kinds = [kind for kind in kinds if kind in allowed]
        if not kinds:
            raise _ExhaustedError
        if not typed and _listed(schemas) is None:
            said = [
                kind for kind, words in _SPEAKS_OF.items() if any(word in each for each in schemas for word in words)
            ]
            if said and self._random.random() < 0.85:
                return said
        return kinds

    def _text(self, schemas: list[dict[str, Any]]) -> str:
        least = _most(schemas, "minLength", 0)
        most = _least(schemas, "maxLength", math.inf)
        patterns = [each["pattern"] for each in schemas if isinstance(each.get("pattern"), str)]
        formats = [each["format"] for each in schemas if each.get("format") in FORMATS]
        if least > min(most, _MAX_LENGTH):
            raise _ExhaustedError
        for number in range(12):
            if patterns:
                text = self._of_pattern(patterns[0]) if number < 8 else self._random.choice(_FOR_LOOKAROUNDS)
            elif formats:
                text = self._random.choice(FORMATS[formats[0]])
            else:
                text = self._random.choice(_WORDS)
                text = (text * (int(least) // len(text) + 1) if len(text) < least else text)[
                    : int(min(most, _MAX_LENGTH))
                ]
            if least <= len(text) <= most and all(_searches(each, text) for each in patterns):
                return text
        raise _ExhaustedError

    def _of_pattern(self, pattern: str) -> str:
        try:
            return text_of_pattern(pattern, self._random)
        except ValueError as error:
            raise _ExhaustedError from error

    def _number(self, schemas: list[dict[str, Any]], *, whole: bool) -> int | float:
        low = max(_most(schemas, "minimum", -math.inf), _most(schemas, "exclusiveMinimum", -math.inf))
        high = min(_least(schemas, "maximum", math.inf), _least(schemas, "exclusiveMaximum", math.inf))
        factors = [each["multipleOf"] for each in schemas if _is_number(each.get("multipleOf"))]
        if not math.isfinite(low):
            low = min(-10.0, high - 20) if math.isfinite(high) else -10
        if not math.isfinite(high):
            high = low + 1000
        if factors:
            step = max(factors)
            number = step * self._random.randint(
                math.ceil(low / step), max(math.ceil(low / step), math.floor(high / step))
            )
            return int(number) if whole or float(number).is_integer() else number
        if whole:
            first, last = math.ceil(low), math.floor(high)
            if first > last:
                raise _ExhaustedError
            return self._random.choice((first, last, self._random.randint(first, last), min(first + 1, last)))
        return self._random.choice((low, high, low + (high - low) * self._random.random(), (low + high) / 2))

    def _array(self, schemas: list[dict[str, Any]], depth: int) -> list[Any]:
        least = int(_most(schemas, "minItems", 0))
        most = int(_least(schemas, "maxItems", least + 3))
        if least > most or least > _MAX_LENGTH:
            raise _ExhaustedError
        places = max((len(each["prefixItems"]) for each in schemas if "prefixItems" in each), default=0)
        length = self._length(least, min(most, max(least + 2, places)), depth)
        wanted = [each["contains"] for each in schemas if isinstance(each.get("contains"), dict | bool)]
        if wanted and length == 0:
            length = 1
        unique = any(each.get("uniqueItems") is True for each in schemas)
        result: list[Any] = []
        for place in range(length):
            inner = [each for schema in schemas if (each := _item(schema, place)) is not None]
            if place == length - 1:
                inner += wanted
            result.append(self._item(inner, depth, result if unique else []))
        return result

    def _length(self, least: int, most: int, depth: int) -> int:
        if self._least or depth > _MIN_AFTER:
            return least
        if self._full:
            return min(max(least, 1), most)
        return self._random.randint(least, most)

    def _item(self, schemas: list[Any], depth: int, others: list[Any]) -> Any:
        for _ in range(8):
            value = self.value(schemas, depth + 1)
            if value not in others:
                return value
        raise _ExhaustedError

    def _object(self, schemas: list[dict[str, Any]], depth: int) -> dict[str, Any]:
        named = dict.fromkeys(name for schema in schemas for name in schema.get("properties", {}))
        required = dict.fromkeys(name for schema in schemas for name in schema.get("required", ()))
        result: dict[str, Any] = {}
        for name in (*named, *(each for each in required if each not in named)):
            if name in required or self._is_wanted(depth):
                self._fill(result, schemas, name, depth, required=name in required)
        for _ in range(3):
            for schema in schemas:
                for name, more in schema.get("dependentRequired", {}).items():
                    for other in more if name in result else ():
                        if other not in result:
                            self._fill(result, schemas, other, depth, required=True)
                for name, inner in schema.get("dependentSchemas", {}).items():
                    if name in result and isinstance(inner, dict):
                        for other in (*inner.get("required", ()), *inner.get("properties", ())):
                            if other not in result:
                                self._fill(result, [*schemas, inner], other, depth, required=False)
        self._extend(result, schemas, depth, declared=bool(named))
        most = _least(schemas, "maxProperties", math.inf)
        for name in [each for each in result if each not in required]:
            if len(result) > most:
                del result[name]
        return result

    def _is_wanted(self, depth: int) -> bool:
        if self._full and depth <= 2:
            return True
        return not self._least and depth <= _MIN_AFTER and self._random.random() < 0.6

    def _fill(
        self, result: dict[str, Any], schemas: list[dict[str, Any]], name: str, depth: int, *, required: bool
    ) -> None:
        """Draw one property. An optional one that cannot be drawn is left out."""
        try:
            result[name] = self.value([inner for each in schemas for inner in _property(each, name)], depth + 1)
        except _ExhaustedError:
            if required or self._steps > _STEPS:
                raise

    def _extend(self, result: dict[str, Any], schemas: list[dict[str, Any]], depth: int, *, declared: bool) -> None:
        """Add properties that the schema does not name: as many as it asks for, and some where it is made for them."""
        least = _most(schemas, "minProperties", 0)
        closed = any(each.get("additionalProperties") is False for each in schemas)
        patterns = [pattern for each in schemas for pattern in each.get("patternProperties", {})]
        if closed and not patterns:
            return
        is_map = bool(patterns) or any(isinstance(each.get("additionalProperties"), dict) for each in schemas)
        free = is_map or (depth > 0 and not declared)  # a tool without arguments gets none
        some = not self._least and depth <= _MIN_AFTER and free
        wanted = max(int(least) - len(result), self._random.randint(0 if not self._full else 1, 2) if some else 0)
        rules = [each["propertyNames"] for each in schemas if isinstance(each.get("propertyNames"), dict)]
        for number in range(min(wanted, _MAX_LENGTH)):
            if rules:
                name = self.value([*rules, {"type": "string"}], depth + 1)
            elif patterns and (closed or self._random.random() < 0.7):
                name = self._of_pattern(self._random.choice(patterns))
            else:
                name = f"{self._random.choice(('key', 'other', 'X-Thing'))}{number}"
            if name not in result:
                self._fill(result, schemas, name, depth, required=False)


def _property(schema: dict[str, Any], name: str) -> Iterator[Any]:
    """Give what one schema says of the property `name`."""
    known = False
    if name in schema.get("properties", {}):
        known = True
        yield schema["properties"][name]
    for pattern, inner in schema.get("patternProperties", {}).items():
        if _searches(pattern, name):
            known = True
            yield inner
    if not known and "additionalProperties" in schema:
        yield schema["additionalProperties"]


def _item(schema: dict[str, Any], place: int) -> Any:
    front = schema.get("prefixItems", ())
    return front[place] if place < len(front) else schema.get("items")


def _listed(schemas: Sequence[dict[str, Any]]) -> list[Any] | None:
    """Give the values that `enum` and `const` leave, None where neither says anything."""
    left: list[Any] | None = None
    for schema in schemas:
        for values in ([schema["const"]] if "const" in schema else None, schema.get("enum")):
            if isinstance(values, list):
                keys = {json.dumps(each, sort_keys=True) for each in values}
                left = values if left is None else [each for each in left if json.dumps(each, sort_keys=True) in keys]
    return left


def _most(schemas: Sequence[Mapping[str, Any]], keyword: str, otherwise: float) -> float:
    return max((each[keyword] for each in schemas if _is_number(each.get(keyword))), default=otherwise)


def _least(schemas: Sequence[Mapping[str, Any]], keyword: str, otherwise: float) -> float:
    return min((each[keyword] for each in schemas if _is_number(each.get(keyword))), default=otherwise)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_kind(value: Any, kind: str) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "integer":
            return _is_number(value) and float(value).is_integer()
        case "number":
            return _is_number(value)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _searches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _limits(meant: Any) -> list[float]:
    """Give every number that limits something, in the order of the schema."""
    words = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    return list(dict.fromkeys(node[word] for _, node in nodes(meant) for word in words if _is_number(node.get(word))))


def _lengths(value: str | list[Any], random: Random) -> Iterator[Any]:
    """Give shorter and longer ones."""
    if value:
        yield value[:-1]
        yield value[:0]
    more: Any = "z" if isinstance(value, str) else value[:1] or ["alpha"]
    yield value + more
    yield value + more * random.choice((8, 60))


def _changed(start: Any, limits: Sequence[float], random: Random) -> Iterator[NearValid]:
    """Give `start` with one thing changed, in every way that may hurt."""
    for path, value in _places(start):
        if path:
            if isinstance(path[-1], str):
                yield NearValid(_removed(start, path), "missing", path)
            yield NearValid(_replaced(start, path, None), "null", path)
            for other in _of_other_types(value):
                yield NearValid(_replaced(start, path, other), "type", path)
            for other in _other_values(value, limits, random):
                yield NearValid(_replaced(start, path, other), "value", path)
        if isinstance(value, dict):
            unknown = {**value, "undeclared_property": "alpha"}
            yield NearValid(_replaced(start, path, unknown), "unknown", (*path, "undeclared_property"))


def _of_other_types(value: Any) -> Iterator[Any]:
    if not isinstance(value, str):
        yield "not this type"
    if not _is_number(value):
        yield 7
    if not isinstance(value, bool):
        yield True
    if not isinstance(value, list):
        yield [value]
    if not isinstance(value, dict):
        yield {"value": value}


def _other_values(value: Any, limits: Sequence[float], random: Random) -> Iterator[Any]:
    if _is_number(value):
        if float(value).is_integer():
            yield value + 0.5
        for limit in limits:
            yield limit - 1
            yield limit + 1
    elif isinstance(value, str):
        yield f"{value} !"
        yield value.swapcase()
        yield from _lengths(value, random)
    elif isinstance(value, list):
        yield from _lengths(value, random)


def _is_absence(candidate: NearValid, acceptance: Acceptance) -> bool:
    """Whether the change is a null that a server reads as an argument left out."""
    if candidate.step != "null" or not isinstance(candidate.path[-1], str):
        return False
    return acceptance.takes(_removed(candidate.instance, candidate.path))


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _places(inner, (*path, place))


def _replaced(value: Any, path: Sequence[str | int], new: Any) -> Any:
    if not path:
        return new
    result = copy.copy(value)
    result[path[0]] = _replaced(value[path[0]], path[1:], new)
    return result


def _removed(value: Any, path: Sequence[Any]) -> Any:
    result = copy.copy(value)
    if len(path) == 1:
        if path[0] in result:
            del result[path[0]]
        return result
    if isinstance(result, list) or path[0] in result:
        result[path[0]] = _removed(value[path[0]], path[1:])
    return result
