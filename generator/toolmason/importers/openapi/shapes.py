"""Schemas of OpenAPI 3.0 to 3.2 in one form: references followed, `allOf` merged, unions reduced to one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason.importers.openapi.document import OpenApi, UnresolvedError, items, table, text

SCALARS: Final = ("string", "integer", "number", "boolean")
_TEXTS: Final = frozenset(
    {"title", "description", "example", "examples", "default", "deprecated", "externalDocs", "xml"}
)
_UNIONS: Final = ("oneOf", "anyOf")
_MAX_PARTS: Final = 400
"""Maximum number of parts of one composed schema."""

_UNDECLARED: Final = {"type": "string", "description": "Required; the document does not describe it"}

Record = Callable[[str, str], None]
"""Records a loss: its kind and the part."""


@dataclass(slots=True)
class Shape:
    """A schema of one type. An empty `type` accepts any value; `component` is its name among the components."""

    type: str = ""
    component: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    nullable: bool = False

    @property
    def is_scalar(self) -> bool:
        """Whether values are strings, numbers or booleans."""
        return self.type in SCALARS

    @property
    def members(self) -> dict[str, Any]:
        """The properties, and those that are required without being declared, which are texts."""
        if self.data.get("additionalProperties") is False:
            return self.properties
        return self.properties | dict.fromkeys(sorted(self.required - self.properties.keys()), _UNDECLARED)


@dataclass(slots=True)
class Shapes:
    """Reduces the schemas of one document."""

    document: OpenApi
    _parts: int = 0

    def reduce(self, schema: Any, record: Record, where: str) -> Shape:
        """Return the shape of a schema; `record` gets what it does not express about the part `where`."""
        self._parts = 0
        return self._reduce(schema, record, where, ())

    def _reduce(self, schema: Any, record: Record, where: str, trail: tuple[str, ...]) -> Shape:
        self._parts += 1
        if self._parts > _MAX_PARTS or not isinstance(schema, Mapping):
            return Shape()
        if "$ref" in schema:
            return self._reference(schema, record, where, trail)
        shape = self._own_shape(schema)
        for part in items(schema.get("allOf")):
            shape = _intersection(shape, self._reduce(part, record, where, trail))
        for keyword in _UNIONS:
            if branches := items(schema.get(keyword)):
                shape = self._with_union(shape, branches, record, where, trail)
        return shape

    def _reference(self, schema: Mapping[str, Any], record: Record, where: str, trail: tuple[str, ...]) -> Shape:
        reference = schema["$ref"]
        try:
            target = self.document.target(reference)
        except UnresolvedError as error:
            record("reference", f"{where}: {error}")
            return Shape()
        if reference in trail:
            record("recursive", where)
            return Shape("object")
        shape = self._reduce(target, record, where, (*trail, reference))
        prefix = "#/components/schemas/"
        if reference.startswith(prefix) and "/" not in reference[len(prefix) :] and not shape.component:
            shape.component = reference[len(prefix) :].replace("~1", "/").replace("~0", "~")
        # OpenAPI 3.1 allows siblings; both versions use them for texts.
        siblings = {key: value for key, value in schema.items() if key in _TEXTS}
        shape.data = {**shape.data, **siblings}
        return shape

    def _own_shape(self, schema: Mapping[str, Any]) -> Shape:
        kinds = schema.get("type")
        kinds = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else [text(kinds)]
        nullable = schema.get("nullable") is True or "null" in kinds
        kinds = [kind for kind in kinds if kind in (*SCALARS, "object", "array")]
        data = {key: value for key, value in schema.items() if key not in ("allOf", *_UNIONS)}
        if "const" in schema and "enum" not in schema:
            data["enum"] = [schema["const"]]
        if choices := items(data.pop("enum", None)):
            nullable = nullable or None in choices
            data["enum"] = [choice for choice in choices if isinstance(choice, str | int | float)]
        kind = kinds[0] if len(kinds) == 1 else _joined_kind(kinds) if kinds else _implied_kind(data)
        return Shape(
            type=kind,
            data=data,
            properties={name: part for name, part in table(schema.get("properties")).items() if part is not False},
            required=frozenset(text(name) for name in items(schema.get("required"))),
            nullable=nullable,
        )

    def _with_union(self, base: Shape, schemas: Any, record: Record, where: str, trail: tuple[str, ...]) -> Shape:
        branches = [self._reduce(schema, record, where, trail) for schema in schemas if not _is_null(schema)]
        nullable = base.nullable or len(branches) < len(schemas) or any(branch.nullable for branch in branches)
        if all(not branch.type and not branch.properties for branch in branches):
            if any(branch.required for branch in branches):
                record("choice", where)
            base.nullable = nullable
            return base
        # Stripe writes "or empty to unset it" as an enum with an empty string.
        filled = [branch for branch in branches if branch.data.get("enum") != [""]] or branches
        if len(filled) < len(branches):
            record("constraint", f"{where}: an empty string is also valid")
        shape = _intersection(base, self._joined(filled, record, where)) if filled else base
        shape.nullable = nullable
        return shape

    def _joined(self, branches: list[Shape], record: Record, where: str) -> Shape:
        """Return one shape for the branches of a union."""
        if len(branches) == 1:
            return branches[0]
        kinds = list(dict.fromkeys(branch.type for branch in branches))
        if kinds == ["object"]:
            record("union", where)
            return _joined_objects(branches)
        if all(branch.is_scalar for branch in branches):
            return _joined_scalars(branches, record, where)
        arrays = [branch for branch in branches if branch.type == "array"]
        objects = [branch for branch in branches if branch.type == "object"]
        if len(arrays) == len(branches):
            parts = [branch.data.get("items", {}) for branch in branches]
            same = all(part == parts[0] for part in parts)
            return Shape("array", data={"items": parts[0] if same else {"anyOf": parts}})
        record("any", where)
        if arrays:
            return self._joined(arrays, record, where)
        # A branch without a type accepts what the others accept.
        typed = objects or [branch for branch in branches if branch.is_scalar]
        return self._joined(typed, record, where) if typed else Shape()


def _is_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return (
        schema.get("type") in ("null", ["null"])
        or schema.get("enum") == [None]
        or ("const" in schema and schema["const"] is None)
    )


def _joined_kind(kinds: list[str]) -> str:
    """Return one type for a list of types, empty if no type has all their values."""
    if set(kinds) == {"integer", "number"}:
        return "number"
    return "" if set(kinds) - set(SCALARS) else "string*"


def _implied_kind(data: Mapping[str, Any]) -> str:
    """Return the type of a schema without `type`, from its other keywords."""
    if "properties" in data or isinstance(data.get("additionalProperties"), Mapping):
        return "object"
    if "items" in data:
        return "array"
    if choices := data.get("enum"):
        if all(isinstance(choice, str) for choice in choices):
            return "string"
        if all(isinstance(choice, int) and not isinstance(choice, bool) for choice in choices):
            return "integer"
    if {"pattern", "format", "minLength", "maxLength"} & data.keys():
        return "string"
    return ""


def _joined_scalars(branches: list[Shape], record: Record, where: str) -> Shape:
    kinds = list(dict.fromkeys(branch.type for branch in branches))
    kind = kinds[0] if len(kinds) == 1 else _joined_kind(kinds)
    choices = [branch.data.get("enum") for branch in branches]
    data: dict[str, Any] = {}
    if all(choices) and len(kinds) == 1:
        data["enum"] = list(dict.fromkeys(choice for listed in choices for choice in listed or ()))
    elif any(
        branch.data.keys() & {"enum", "pattern", "minLength", "maxLength", "minimum", "maximum"} for branch in branches
    ):
        record("constraint", f"{where}: alternatives have different constraints")
    return Shape(kind, data=data)


def _joined_objects(branches: list[Shape]) -> Shape:
    properties: dict[str, Any] = {}
    for branch in branches:
        for name, schema in branch.properties.items():
            known = properties.get(name)
            properties[name] = schema if known is None or known == schema else _either(known, schema)
    required = frozenset.intersection(*(branch.required for branch in branches))
    data: dict[str, Any] = {}
    extra = [branch.data.get("additionalProperties") for branch in branches]
    if any(extra):
        data["additionalProperties"] = extra[0] if all(item == extra[0] for item in extra) else True
    return Shape("object", data=data, properties=properties, required=required)


def _either(first: Any, second: Any) -> dict[str, Any]:
    branches = first["anyOf"] if isinstance(first, Mapping) and list(first) == ["anyOf"] else [first]
    return {"anyOf": branches if second in branches else [*branches, second]}


def _intersection(first: Shape, second: Shape) -> Shape:
    """Return the shape with the constraints of both."""
    only = [shape for shape in (first, second) if shape.type or shape.properties]
    component = only[0].component if len(only) == 1 else ""
    properties = {**first.properties}
    for name, schema in second.properties.items():
        known = properties.get(name)
        properties[name] = schema if known in (None, schema) else {"allOf": [known, schema]}
    data = {**second.data, **first.data}
    if len(only) == 1:
        data = {**only[0].data, **{key: value for key, value in first.data.items() if key in _TEXTS}}
    kinds = {first.type, second.type} - {""}
    kind = "integer" if kinds == {"integer", "number"} else first.type or second.type
    return Shape(
        type=kind or ("object" if properties else ""),
        component=component,
        data=data,
        properties=properties,
        required=first.required | second.required,
        nullable=(first.nullable and second.nullable)
        if first.type and second.type
        else first.nullable or second.nullable,
    )
