"""Convert arguments of a wrong form whose meaning is certain to the form that a schema wants.

Models send arrays and objects as JSON text, one value in place of a list, numbers as text, an enum in another case, and
`""` or `"null"` in place of an absent argument. A value is changed only if no branch of the schema accepts its type, or
if it is none of the listed values. So a valid value never changes, and a text stays where any text is accepted. The
result is not always valid: it is checked again. Pydantic is not needed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import normalize

from toolmason_runtime.shared.values.patterns import PatternTimeoutError, is_found, time_limit
from toolmason_runtime.shared.values.renaming import target_of

MAX_STEPS: Final = 50_000
"""Maximum comparisons of values with parts of the schema in one call: about 0.3 s. Arguments with more stay."""
MAX_DEPTH: Final = 64
"""Maximum nesting of the values that are converted; it includes texts inside texts."""
MAX_JSON_CHARS: Final = 4_000_000
"""Maximum characters of all texts of one call that are read as JSON."""
MAX_ALTERNATIVES: Final = 64
"""Maximum combinations of the branches of a schema, and schemas in each. Of one with more, the branches are ignored."""

_Node = Mapping[str, Any]
_Alternative = tuple[_Node, ...]
"""Schemas that must all accept a value; their combinators are already resolved."""
_Alternatives = tuple[_Alternative, ...]
"""One of them must accept a value. `((),)` accepts anything, `()` nothing."""

_ANYTHING: Final[_Alternatives] = ((),)
_KINDS: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_NUMBERS: Final = frozenset({"integer", "number"})
_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f", "n"), False),
}
"""The texts that pydantic takes for booleans as well."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,100}(?P<rest>(?:\.\d{1,100})?(?:[eE][+-]?\d{1,3})?)", re.ASCII)
_ABSENT: Final = frozenset({"", "null"})
_ABSENT_SCALARS: Final = frozenset({"none", "undefined"})
"""Further texts for an absent value in Python and JavaScript; in a list of texts they may be values."""
_BROKEN_JSON: Final = re.compile(r"""[\[{]\s*["'\[{]|\[.*\]$|\{.*\}$""", re.DOTALL)
"""The start, or start and end, of an array or object: it is not meant as one text of a list."""
_REMOVED: Final = object()
_BROKEN: Final = object()


class Repair:
    """Converts the arguments of one tool.

    Args:
        schema: the JSON Schema of the arguments.
        is_closed: whether an object with `properties` has no other members by default, as in a model.
        reserved: names of arguments that clients cannot set under any name.
    """

    def __init__(self, schema: Mapping[str, Any], *, is_closed: bool = False, reserved: Collection[str] = ()) -> None:
        self._root = schema
        self._is_closed = is_closed
        self._reserved = reserved
        self._expanded: dict[int, _Alternatives] = {}

    def apply(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the converted arguments; `arguments` itself, which is not modified, if nothing was converted."""
        try:
            with time_limit():
                result = _Walk(self).members(arguments, self.expand(self._root), 0, self._reserved)
        except (_TooMuchError, PatternTimeoutError, RecursionError):
            return arguments
        return result

    def expand(self, schema: Any) -> _Alternatives:
        """Return the alternatives of a part of the schema."""
        # The parts live as long as the schema, so an `id` is unique.
        key = id(schema)
        if key not in self._expanded:
            # In a circle of references, the inner one accepts anything, which only leads to fewer conversions.
            self._expanded[key] = _ANYTHING
            self._expanded[key] = self._expand(schema)
        return self._expanded[key]

    def together(self, schemas: Sequence[Any]) -> _Alternatives:
        """Return the alternatives of values that all of `schemas` accept."""
        if len(schemas) == 1:
            return self.expand(schemas[0])
        result: _Alternatives = _ANYTHING
        for schema in schemas:
            result = tuple(_joined(one, other) for one in result for other in self.expand(schema))
            if len(result) > MAX_ALTERNATIVES:
                return _ANYTHING
        return result

    def is_closed(self, node: _Node) -> bool:
        """Return whether an object has only the members of `properties`."""
        default = not (self._is_closed and "properties" in node)
        return node.get("additionalProperties", default) is False and "patternProperties" not in node

    def _expand(self, schema: Any) -> _Alternatives:
        if schema is False:
            return ()
        # In a schema with its own `$id`, references have another root.
        is_other_document = schema is not self._root and isinstance(schema, Mapping) and "$id" in schema
        if not isinstance(schema, Mapping) or is_other_document:
            return _ANYTHING
        result: _Alternatives = ((schema,),)
        for branches in self._combined(schema):
            if len(result) * len(branches) > MAX_ALTERNATIVES:
                return ((schema,),)
            result = tuple(_joined(one, other) for one in result for other in branches)
        return result

    def _combined(self, schema: _Node) -> Iterator[_Alternatives]:
        """Yield alternatives that apply together; fewer rules than the schema has accept more."""
        for part in _list(schema.get("allOf")):
            yield self.expand(part)
        for keyword in ("anyOf", "oneOf"):
            if branches := _list(schema.get(keyword)):
                yield self._union(branches)
        if "then" in schema or "else" in schema:
            yield self._union((schema.get("then", True), schema.get("else", True)))
        for part in _mapping(schema.get("dependentSchemas")).values():
            yield self._union((part, True))
        if isinstance(reference := schema.get("$ref"), str) and reference.startswith("#"):
            target = target_of(self._root, reference)
            yield _ANYTHING if target is None else self.expand(target)

    def _union(self, branches: Iterable[Any]) -> _Alternatives:
        result: _Alternatives = ()
        for branch in branches:
            result += self.expand(branch)
            if len(result) > MAX_ALTERNATIVES:
                return _ANYTHING
        return result


class _TooMuchError(Exception):
    """The arguments have too many values, or too long texts."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What alternatives have in common: the JSON types, and the listed texts by their folded form."""

    alternatives: _Alternatives
    kinds: frozenset[str]
    texts: Mapping[str, Collection[str]] | None
    """None if any text may be valid."""


class _Walk:
    """The conversion of one call."""

    def __init__(self, repair: Repair) -> None:
        self._repair = repair
        self._steps = 0
        self._json_chars = 0
        self._wanted: dict[int, _Wanted] = {}

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise _TooMuchError

    def _wants(self, alternatives: _Alternatives) -> _Wanted:
        wanted = self._wanted.get(id(alternatives))
        if wanted is None:
            choices = [(kinds, _choices(one)) for one in alternatives if (kinds := _kinds(one))]
            self._spend(len(alternatives) + sum(len(values or ()) for _, values in choices) // 8)
            kinds = frozenset[str]().union(*(kinds for kinds, _ in choices))
            textual = [values for one, values in choices if "string" in one]
            texts: dict[str, set[str]] = {}
            for value in (value for values in textual for value in values or ()):
                if isinstance(value, str):
                    texts.setdefault(_folded(value), set()).add(value)
            is_any = any(values is None for values in textual)
            # It holds `alternatives`, so their `id` stays unique.
            wanted = self._wanted[id(alternatives)] = _Wanted(alternatives, kinds, None if is_any else texts)
        return wanted

    def members(
        self, value: dict[str, Any], alternatives: _Alternatives, depth: int, reserved: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return an object with its members converted; the same object if none changed."""
        possible = tuple(one for one in alternatives if "object" in _kinds(one))
        live = tuple(one for one in possible if not _has_other_tag(one, value)) or possible
        declared = {name for one in live for node in one for name in _mapping(node.get("properties"))}
        self._spend(len(value) * (1 + len(alternatives)) + len(declared))
        result: dict[str, Any] = {}
        is_changed = False
        for sent_name, member in value.items():
            name = sent_name if sent_name in declared else self._declared_name(sent_name, value, live, reserved)
            parts = self._member_alternatives(live, name, value)
            converted = self._value(member, parts, depth + 1)
            if name in declared and self._is_absent(converted, parts, is_required=_is_required(live, name)):
                converted = _REMOVED
            is_changed |= name != sent_name or converted is not member
            if converted is not _REMOVED:
                result[name] = converted
        return result if is_changed else value

    def _declared_name(
        self, name: str, value: Mapping[str, Any], live: _Alternatives, reserved: Collection[str]
    ) -> str:
        """Return the only declared name that looks the same as `name`; `name` itself if an undeclared name is valid."""
        if not live or not all(any(map(self._repair.is_closed, one)) for one in live):
            return name
        self._spend(len(value))
        form = normalize("NFC", name)
        names = {other for one in live for node in one for other in _mapping(node.get("properties"))}
        same = [other for other in names if normalize("NFC", other) == form]
        is_free = len(same) == 1 and same[0] not in value and same[0] not in reserved
        others = sum(normalize("NFC", other) == form for other in value) if is_free else 0
        return same[0] if others == 1 else name

    def _member_alternatives(self, live: _Alternatives, name: str, value: Mapping[str, Any]) -> _Alternatives:
        result: _Alternatives = ()
        undeclared = False
        for one in live:
            schemas = [schema for node in one for schema in _member_schemas(node, name)]
            if schemas:
                result += self._repair.together(schemas)
            else:
                undeclared = undeclared or all(key in value for node in one for key in _list(node.get("required")))
        # A branch without this member accepts anything under its name, if the value can be of that branch at all.
        return _ANYTHING if undeclared or not live else result

    def _items(self, value: list[Any], alternatives: _Alternatives, depth: int) -> list[Any]:
        possible = tuple(one for one in alternatives if "array" in _kinds(one))
        prefix = max((len(_list(node.get("prefixItems"))) for one in possible for node in one), default=0)
        rest = self._item_alternatives(possible, prefix)
        result = []
        is_changed = False
        for index, item in enumerate(value):
            parts = self._item_alternatives(possible, index) if index < prefix else rest
            # `[1, 2]` where lists are wanted may mean `[[1, 2]]` or `[[1], [2]]`.
            converted = self._value(item, parts, depth + 1, wraps=False)
            is_changed |= converted is not item
            result.append(converted)
        return result if is_changed else value

    def _item_alternatives(self, arrays: _Alternatives, index: int) -> _Alternatives:
        result: _Alternatives = ()
        for one in arrays:
            schemas = []
            for node in one:
                prefix = _list(node.get("prefixItems"))
                schemas += [prefix[index]] if index < len(prefix) else [node["items"]] if "items" in node else []
            result += self._repair.together(schemas)
        return result

    def _value(self, value: Any, alternatives: _Alternatives, depth: int, *, wraps: bool = True) -> Any:
        """Return a converted value; the same object if it did not change."""
        if () in alternatives:
            return value
        self._spend(1)
        if depth > MAX_DEPTH:
            return value
        if isinstance(value, str):
            return self._text(value, alternatives, depth, wraps=wraps)
        kinds = self._wants(alternatives).kinds
        if isinstance(value, dict) and "object" in kinds:
            return self.members(value, alternatives, depth)
        if isinstance(value, list):
            return self._items(value, alternatives, depth) if "array" in kinds else value
        is_fitting = _kind(value) in kinds or value is None
        return value if is_fitting or not wraps else self._wrapped(value, alternatives, depth)

    def _text(self, text: str, alternatives: _Alternatives, depth: int, *, wraps: bool) -> Any:
        wanted = self._wants(alternatives)
        kinds = wanted.kinds
        if "string" in kinds:
            return _choice(text, wanted.texts)
        stripped = text.strip()
        if stripped == "null":
            return None if "null" in kinds else text
        if stripped[:1] in {"[", "{", '"'} and kinds & {"array", "object"}:
            value = self._decoded(stripped)
            if value is not _BROKEN and (isinstance(value, str | dict) or _kind(value) in kinds):
                converted = self._value(value, alternatives, depth + 1, wraps=wraps)
                if _kind(converted) in kinds:
                    return converted
        number = _number(stripped, kinds) if kinds & _NUMBERS else None
        if number is not None and self._may_accept(number, alternatives):
            return number
        if "boolean" in kinds and (flag := _FLAGS.get(stripped.lower())) is not None:
            return flag
        is_one_value = wraps and stripped and not _BROKEN_JSON.match(stripped)
        return self._wrapped(text, alternatives, depth) if is_one_value else text

    def _decoded(self, text: str) -> Any:
        """Return the value of a JSON text; `_BROKEN` if it is not JSON."""
        self._json_chars += len(text)
        if self._json_chars > MAX_JSON_CHARS:
            raise _TooMuchError
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return _BROKEN

    def _wrapped(self, value: Any, alternatives: _Alternatives, depth: int) -> Any:
        """Return a list of one item, if a list of it is wanted."""
        arrays = tuple(one for one in alternatives if "array" in _kinds(one) and _accepts_one_item(one))
        parts = self._item_alternatives(arrays, 0)
        item = self._value(value, parts, depth + 1, wraps=False)
        return [item] if self._may_accept(item, parts) else value

    def _may_accept(self, value: Any, alternatives: _Alternatives) -> bool:
        """Return whether type and listed values allow a value."""
        wanted = self._wants(alternatives)
        if isinstance(value, str):
            is_listed = wanted.texts is None or value in wanted.texts.get(_folded(value), ())
            return "string" in wanted.kinds and is_listed
        kind = _kind(value)
        for one in alternatives if kind in wanted.kinds else ():
            if kind in _kinds(one):
                choices = _choices(one)
                self._spend(1 + len(choices or ()) // 8)
                if choices is None or any(_is_same(value, choice) for choice in choices):
                    return True
        return False

    def _is_absent(self, value: Any, alternatives: _Alternatives, *, is_required: bool) -> bool:
        """Return whether a value only stands for an absent argument: null, or a text where no such text is valid."""
        kinds = self._wants(alternatives).kinds
        if value is None:
            return bool(alternatives) and "null" not in kinds
        if not isinstance(value, str) or is_required or not alternatives:
            return False
        text = value.strip().lower()
        is_empty = text in _ABSENT or (text in _ABSENT_SCALARS and "array" not in kinds)
        return is_empty and not any(self._may_accept(other, alternatives) for other in (value, *_ABSENT))


def _joined(one: _Alternative, other: _Alternative) -> _Alternative:
    """Return the schemas of both, each once; without those beyond a limit, which only leads to fewer conversions."""
    return tuple({id(node): node for node in (*one, *other)}.values())[:MAX_ALTERNATIVES]


def _kind(value: Any) -> str:
    """Return the JSON type of a value; `integer` for each number without a fraction."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case dict():
            return "object"
        case _:
            return "array"


def _kinds(alternative: _Alternative) -> frozenset[str]:
    """Return the JSON types that an alternative may accept; `number` always with `integer`."""
    result = _KINDS
    for node in alternative:
        if "type" in node:
            types = frozenset([node["type"]] if isinstance(node["type"], str) else _list(node["type"]))
            result &= types | ({"integer"} if "number" in types else frozenset())
        if (values := _listed(node)) is not None:
            result &= frozenset(map(_kind, values))
    return result


def _listed(node: _Node) -> Sequence[Any] | None:
    """Return the values that a schema lists; None if it does not."""
    values = [node["const"]] if "const" in node else None
    if isinstance(node.get("enum"), list):
        values = [value for value in node["enum"] if values is None or _is_same(value, values[0])]
    return values


def _choices(alternative: _Alternative) -> Sequence[Any] | None:
    """Return the values that an alternative lists; None if it does not."""
    result: Sequence[Any] | None = None
    for node in alternative:
        if (values := _listed(node)) is not None:
            result = [value for value in values if result is None or any(_is_same(value, other) for other in result)]
    return result


def _is_same(one: Any, other: Any) -> bool:
    # With the type, because True equals 1.
    return bool(_kind(one) == _kind(other) and one == other)


def _choice(text: str, texts: Mapping[str, Collection[str]] | None) -> str:
    """Return the only listed text that differs from `text` in case or in its normal form; else `text`."""
    same = () if texts is None else texts.get(_folded(text), ())
    return text if text in same or len(same) != 1 else next(iter(same))


def _folded(text: str) -> str:
    return normalize("NFC", normalize("NFC", text).casefold())


def _number(text: str, kinds: Collection[str]) -> int | float | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if not match["rest"]:
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        return None
    if "number" in kinds:
        return number
    return int(number) if number.is_integer() and abs(number) <= 2**53 else None


def _member_schemas(node: _Node, name: str) -> list[Any]:
    properties = _mapping(node.get("properties"))
    schemas = [properties[name]] if name in properties else []
    patterns = _mapping(node.get("patternProperties"))
    schemas += [schema for pattern, schema in patterns.items() if is_found(pattern, name)]
    if not schemas and "additionalProperties" in node:
        schemas.append(node["additionalProperties"])
    return schemas


def _has_other_tag(alternative: _Alternative, value: Mapping[str, Any]) -> bool:
    """Return whether a member has none of the values that an alternative lists for it: a union's discriminator."""
    for node in alternative:
        for name, schema in _mapping(node.get("properties")).items():
            tags = _listed(schema) if isinstance(schema, Mapping) and name in value else None
            if tags is None or not isinstance(tag := value[name], str | int):
                continue
            texts = {_folded(other) for other in tags if isinstance(other, str)}
            is_near = isinstance(tag, str) and _folded(tag) in texts
            if not is_near and not any(_is_same(tag, other) for other in tags):
                return True
    return False


def _is_required(alternatives: _Alternatives, name: str) -> bool:
    return any(name in _list(node.get("required")) for one in alternatives for node in one)


def _accepts_one_item(alternative: _Alternative) -> bool:
    is_listed = _choices(alternative) is not None
    return not is_listed and all(node.get("minItems", 0) <= 1 <= node.get("maxItems", 1) for node in alternative)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
