"""Types of results, from the success responses of operations: the fields that matter, within a budget of tokens.

Documents often differ from what an API returns, so a field may be absent or null, and has no constraints. Members of an
answer without a field do not reach the model. So an answer whose content has no field has no type.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.importers.design.english import singular
from toolmason.importers.design.texts import value_description
from toolmason.importers.openapi.document import OpenApi, Operation, UnresolvedError, table, text
from toolmason.importers.openapi.losses import Losses
from toolmason.importers.openapi.media import is_json, plain
from toolmason.importers.openapi.shapes import Shape, Shapes
from toolmason.importers.openapi.values import Value, component_names, free_name, type_name
from toolmason.model.identifiers import class_name
from toolmason.resolve.types import PROPERTY_NAME

MAX_TOKENS: Final = 300
"""Tokens of the fields of a result, those of its parts included."""
MAX_PART_TOKENS: Final = 120
"""Tokens of the fields of an object inside of a result, which has only plain values."""
MAX_LEVELS: Final = 4
"""Objects inside of each other that are the only content of an answer, such as `data` and `attributes`."""
_FIELD_TOKENS: Final = 8
"""Tokens of the schema of a field, without its name and description."""
_MAX_DESCRIPTION: Final = 80
"""Characters of a description. Longer ones are left out: a name and a value often suffice."""

_IDENTITY: Final = re.compile(r"(?:^|_)(?:id|uuid|key|name|title|slug|number|code|login|username|sku)$")
_STATE: Final = re.compile(r"(?:^|_)(?:status|state|type|kind|result|error|message|value|amount|total|count|currency)$")
_DETAIL: Final = re.compile(r"(?:^|_)(?:email|description|summary|body|text|content|url|created|updated|date|time|at)$")
_LIST: Final = re.compile(r"^(?:items|data|results?|records|entries|values|list|rows|objects|content)$")
_NOISE: Final = re.compile(r"^_|^(?:gravatar|avatar)|(?:_urls?|_links?|_uri|etag|node_id|_html)$")
"""Names of fields by how much they matter, as words with `_` between."""
_ENVELOPE: Final = re.compile(r"^(?:meta\w*|_?links|paging|page\w*|pagination|errors?|warnings?|included|context)$")
"""Names of objects about an answer, beside its content."""


@dataclass(slots=True)
class Answers:
    """The types of results, by name in `tables`. `taken` are names of other types and of classes of tools."""

    document: OpenApi
    losses: Losses
    taken: dict[str, Any]
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    _shapes: Shapes = field(init=False)
    _components: Mapping[str, str] = field(init=False)
    _named: dict[tuple[str, bool], str] = field(default_factory=dict)
    """Name of the type of a component, and whether it is a part of another."""
    _tokens: dict[str, int] = field(default_factory=dict)
    _level: int = 0
    _about: str = ""
    _tool: str = ""
    """The operation whose result is built, and the class of its tool."""

    def __post_init__(self) -> None:
        self._shapes = Shapes(self.document)
        self._components = component_names(list(table(self.document.components.get("schemas"))), frozenset())

    def returns(self, operation: Operation, tool: str) -> str:
        """Return the type of the result of a tool, such as `Pet` or `Pet[]`; empty if no JSON object is documented."""
        shape = self._success(operation)
        self._about, self._tool = operation.key, class_name(tool)
        if shape.type == "object" and shape.properties:
            return self._type(shape, f"{self._tool}Answer")
        if shape.type == "array" and (inner := self._reduce(shape.data.get("items", {}))).properties:
            found = self._type(inner, f"{self._tool}Item")
            return f"{found}[]" if found else ""
        return ""

    def _success(self, operation: Operation) -> Shape:
        schema = success_schema(operation, self.document)
        return self._reduce(schema) if schema else Shape()

    def _reduce(self, schema: Any) -> Shape:
        return self._shapes.reduce(schema, _ignore, "")

    def _type(self, shape: Shape, name: str, *, is_part: bool = False) -> str:
        """Return the name of the type of an object, empty if it has no usable field.

        `name` is used if the object has none. `is_part`: it is inside of a result.
        """
        key = (shape.component, is_part)
        if shape.component and key in self._named:
            return self._named[key]
        if shape.component:
            self._named[key] = ""  # a type that contains itself has no field of it
        self._level += 1
        fields, left_out, tokens = self._fields(shape, is_part=is_part)
        self._level -= 1
        if not fields:
            return ""
        schemas = table(self.document.components.get("schemas"))
        own = table(schemas.get(shape.component)) if shape.component else shape.data
        description = value_description(text(own.get("description")))
        ordered = {key: fields[key] for key in shape.properties if key in fields}
        entry = {**({"description": description} if description else {}), "fields": ordered}
        found = self._name(shape, name, entry, is_part=is_part)
        self.tables[found] = entry
        self._tokens[found] = tokens
        if shape.component:
            self._named[key] = found
        if left_out:
            self.losses.add("answer", found if shape.component else self._about, f"{found}: {', '.join(left_out)}")
        return found

    def _name(self, shape: Shape, name: str, entry: Mapping[str, Any], *, is_part: bool) -> str:
        """Return a name for a type: that of its component or field, unless another type has it."""
        known = ChainMap(self.tables, self.taken)
        if shape.component:
            wanted = self._components[shape.component]
            if is_part or wanted in self.taken:
                wanted = f"{wanted}{'Part' if is_part else 'Answer'}"
        else:
            wanted = type_name(name)
            if wanted in known and self.tables.get(wanted) != entry:
                wanted = type_name(f"{self._tool}{wanted}")
        return wanted if self.tables.get(wanted) == entry else free_name(wanted, known)

    def _fields(self, shape: Shape, *, is_part: bool) -> tuple[dict[str, Value], list[str], int]:
        """Return the fields that fit, the names of the others, and the tokens."""
        budget = MAX_PART_TOKENS if is_part else MAX_TOKENS
        unnamed = [key for key in shape.properties if not PROPERTY_NAME.fullmatch(key)]
        candidates = list(self._candidates(shape))
        content = [key for key, inner in candidates if self._is_content(key, inner)]
        has_identity = any(_rank(key, inner) == 1 for key, inner in candidates)
        fields: dict[str, Value] = {}
        left_out = [*unnamed]
        lost = [key for key in unnamed if self._is_lost(key, self._reduce(shape.properties[key]), has_identity)]
        used = 0
        for key, inner in candidates:
            # An object without a name that is the only one is the content, such as `data`; others are parts of it.
            is_whole = not is_part and not has_identity and content == [key] and self._level <= MAX_LEVELS
            value, inside = self._value(inner, key, is_part=is_part, is_whole=is_whole)
            description = value_description(text(inner.data.get("description")))
            if value and description and len(description) <= _MAX_DESCRIPTION:
                value["description"] = description
            tokens = estimate_tokens(f"{key} {value.get('description', '')}") + _FIELD_TOKENS + inside if value else 0
            if value and (used + tokens <= budget or is_whole):
                fields[key] = value | {"required": False}
                used += tokens
            else:
                left_out.append(key)
                lost += [key] if not value and self._is_lost(key, inner, has_identity) else []
        has_content = any(self._is_about_content(key, inner) for key, inner in candidates if key in fields)
        if not is_part and not has_content and (lost or _is_map(shape)):
            return {}, [], 0  # the rest without its content would be worth little
        return fields, left_out, used

    def _is_lost(self, key: str, shape: Shape, has_identity: bool) -> bool:
        """Return whether a member that has no field is content: rows in lists, or values of any type.

        Of an object with a name, only a list named like content is.
        """
        return self._is_about_content(key, shape) and (not has_identity or _rank(key, shape) == 0)

    def _is_about_content(self, key: str, shape: Shape) -> bool:
        return not shape.is_scalar and not _ENVELOPE.search(_snake(key))

    def _is_content(self, key: str, shape: Shape) -> bool:
        inner = self._reduce(shape.data.get("items", {})) if shape.type == "array" else shape
        return bool(inner.properties) and not _ENVELOPE.search(_snake(key))

    def _candidates(self, shape: Shape) -> Iterator[tuple[str, Shape]]:
        """Yield the fields, those first that matter most."""
        found = [
            (key, inner)
            for key, schema in shape.properties.items()
            if PROPERTY_NAME.fullmatch(key) and (inner := self._reduce(schema)).data.get("writeOnly") is not True
        ]
        required = shape.required
        yield from sorted(found, key=lambda item: (_rank(*item), item[0] not in required))

    def _value(self, shape: Shape, key: str, *, is_part: bool, is_whole: bool) -> tuple[Value, int]:
        """Return the type of a field as a value, empty if it has none, and the tokens of its parts."""
        if shape.is_scalar:
            return {"type": shape.type}, 0
        end = "[]" * (shape.type == "array")
        inner = self._reduce(shape.data.get("items", {})) if end else shape
        if inner.is_scalar:
            return {"type": f"{inner.type}{end}"}, 0
        if inner.type != "object" or is_part:
            return {}, 0
        if not inner.properties:
            return {"type": f"object{end}"}, 0
        kind = self._type(inner, class_name(_item_name(key) if end else _snake(key)), is_part=not is_whole)
        return ({"type": f"{kind}{end}"}, self._tokens[kind]) if kind else ({}, 0)


def success_schema(operation: Operation, document: OpenApi) -> Any:
    """Return the schema of the JSON answer; None if no success has one, or several have different ones.

    A success without content, such as 204, is an object without fields.
    """
    responses = {str(status): response for status, response in table(operation.data.get("responses")).items()}
    statuses = [status for status in responses if status.startswith("2")] or ["default"]
    filled = [status for status in statuses if _has_content(responses.get(status), document)]
    schemas = [_json_schema(responses.get(status), document) for status in filled or statuses]
    if operation.method == "HEAD" or any(schema != schemas[0] for schema in schemas):
        return None
    return schemas[0]


def _has_content(response: Any, document: OpenApi) -> bool:
    try:
        return bool(document.resolved(response).get("content"))
    except UnresolvedError:
        return True


def _json_schema(response: Any, document: OpenApi) -> Any:
    try:
        content = table(document.resolved(response).get("content"))
    except UnresolvedError:
        return None
    kinds = [(plain(kind), table(media)) for kind, media in content.items()]
    return next(
        (media.get("schema") for kind, media in kinds if is_json(kind)),
        next((media.get("schema") for kind, media in kinds if kind == "*/*"), None),
    )


def _ignore(kind: str, detail: str) -> None:
    """Record nothing: a result that is less exact than its documentation is no loss."""


def _is_map(shape: Shape) -> bool:
    """Return whether an object has members of any name, such as the rates of currencies."""
    others = shape.data.get("additionalProperties")
    return isinstance(others, Mapping) and bool(others)


def _rank(key: str, shape: Shape) -> int:
    """Return how much a field matters; a lower number is more."""
    name = _snake(key)
    if shape.type == "array" and _LIST.search(name):
        return 0
    if _NOISE.search(name):
        return 5
    for rank, pattern in enumerate((_IDENTITY, _STATE, _DETAIL), 1):
        if shape.is_scalar and pattern.search(name):
            return rank
    return 3 if shape.is_scalar else 4


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-.]", "_", key).lower()


def _item_name(key: str) -> str:
    """Return the name of one item of a list: `orderLines` becomes `order_line`."""
    beginning, mark, last = _snake(key).rpartition("_")
    return f"{beginning}{mark}{singular(last)}"
