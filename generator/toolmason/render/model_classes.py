"""The Pydantic models of a module as data for a template, from the schemas of manifest types.

Types that contain each other are not described here, and neither are fields with a name that Python or Pydantic needs:
`describe` returns None for such a module, and datamodel-code-generator generates it (`generated_models`). A test
compares both ways.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason.model.identifiers import RESERVED_MODEL_NAMES
from toolmason.model.python_text import docstring

IMPORTED: Final = "x-imported"
"""Key in the source of a module: the classes that it imports and re-exports, with the module that defines them."""
DOCSTRINGS: Final = "x-docstrings"
"""Key in the source of a module: the docstrings of enumerations, which versions of the library format differently."""

_PRIMITIVES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_BUILTINS: Final = frozenset({"bool", "dict", "float", "int", "list", "str"})
"""Names of the types of fields. A field of such a name hides the type from the fields after it."""
_MODEL_ATTRIBUTES: Final = frozenset(
    {
        *("construct", "copy", "from_orm", "json", "mro", "parse_file", "parse_obj", "parse_raw", "register"),
        *("schema", "schema_json", "update_forward_refs", "validate"),
    }
)
"""Attributes of models that a field would replace, except those that begin with `model_`."""
_LIMITS: Final = {
    "maxItems": "max_length",
    "maxLength": "max_length",
    "maximum": "le",
    "minItems": "min_length",
    "minLength": "min_length",
    "minimum": "ge",
    "pattern": "pattern",
}
"""Arguments of `pydantic.Field` by keyword of JSON Schema."""
_REFERENCE: Final = re.compile(r"#/\$defs/(?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class FieldText:
    """A field of a model, as Python source. `default` and `docstring` may be empty."""

    name: str
    annotation: str
    default: str = ""
    docstring: str = ""


@dataclass(frozen=True, slots=True)
class ClassText:
    """A model or an enumeration, as Python source. `docstring` may be empty."""

    name: str
    base: str
    docstring: str
    fields: tuple[FieldText, ...] = ()


@dataclass(frozen=True, slots=True)
class AliasText:
    """The alias of a union, as Python source. `docstring` may be empty."""

    name: str
    value: str
    docstring: str


@dataclass(frozen=True, slots=True)
class ModuleText:
    """The models of a module in the order of their definitions, and what they import."""

    types: tuple[ClassText | AliasText, ...]
    imports: tuple[tuple[str, ...], ...]
    """Import statements in groups."""
    exports: tuple[str, ...]
    """The names of `__all__`, if it imports classes of another module."""
    rebuilt: tuple[str, ...]
    """The models that contain themselves."""


class _NotDescribedError(Exception):
    """The template has no form for a type or a field."""


def describe(source: Mapping[str, Any]) -> ModuleText | None:
    """Return the models of `source` (`pydantic_models.schemas`), None if the template has no form for one of them."""
    try:
        return _Module(source).text()
    except _NotDescribedError:
        return None


class _Module:
    """The types of one module, and the names that their text uses."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self._schemas: Mapping[str, Any] = source["$defs"]
        self._imported: Mapping[str, str] = source.get(IMPORTED, {})
        self._docstrings: Mapping[str, str] = source.get(DOCSTRINGS, {})
        self._used: set[str] = set()

    def text(self) -> ModuleText:
        names = [name for name in self._order() if name not in self._imported]
        types = tuple(self._type(name, self._schemas[name]) for name in names)
        exports = tuple(sorted(self._schemas)) if self._imported else ()
        rebuilt = tuple(name for name in names if name in _references(self._schemas[name]))
        return ModuleText(types, tuple(self._imports()), exports, rebuilt)

    def _order(self) -> list[str]:
        """Return the names so that each type follows those that it uses; otherwise in the order of `$defs`."""
        waiting = {name: set(_references(schema)) - {name} for name, schema in self._schemas.items()}
        ordered: dict[str, None] = {}
        while waiting:
            before = len(ordered)
            for name in list(waiting):
                if waiting[name] <= ordered.keys():
                    ordered[name] = None
                    del waiting[name]
            if len(ordered) == before:
                raise _NotDescribedError(f"types contain each other: {', '.join(waiting)}")
        return list(ordered)

    def _type(self, name: str, schema: Mapping[str, Any]) -> ClassText | AliasText:
        if "oneOf" in schema:
            self._used.update(("Annotated", "Field", "TypeAliasType"))
            members = " | ".join(self._reference(member["$ref"]) for member in schema["oneOf"])
            value = f'Annotated[{members}, Field(discriminator="{schema["discriminator"]["propertyName"]}")]'
            return AliasText(name, value, _documentation(schema.get("description", ""), indent=""))
        if "enum" in schema:
            self._used.add("StrEnum")
            pairs = zip(schema["x-enum-varnames"], schema["enum"], strict=True)
            text = self._docstrings.get(name, "")
            choices = tuple(FieldText(member, "", repr(value)) for member, value in pairs)
            return ClassText(name, "StrEnum", docstring(text) if text else "", choices)
        if schema.get("type") != "object":
            raise _NotDescribedError(f"{name} is no object")
        self._used.add("Model")
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        fields = tuple(self._field(key, value, is_required=key in required) for key, value in properties.items())
        if len({field.name for field in fields}) < len(fields):
            raise _NotDescribedError(f"two fields of {name} have one name in Python")
        documentation = _documentation(schema.get("description", ""))
        return ClassText(name, "Model", documentation, fields)

    def _field(self, key: str, schema: Mapping[str, Any], *, is_required: bool) -> FieldText:
        name = _field_name(key)
        arguments = {} if name == key else {"alias": repr(key)}
        annotation = self._annotation(schema, arguments)
        has_default = "default" in schema and not is_required
        if not is_required and not has_default and not annotation.endswith("| None"):
            annotation += " | None"
        if arguments:
            self._used.update(("Annotated", "Field"))
            listed = ", ".join(f"{argument}={arguments[argument]}" for argument in sorted(arguments))
            annotation = f"Annotated[{annotation}, Field({listed})]"
        default = "" if is_required else self._default(schema) if has_default else "None"
        return FieldText(name, annotation, default, _documentation(schema.get("description", "")))

    def _annotation(self, schema: Mapping[str, Any], arguments: dict[str, str]) -> str:
        """Return the type of a field; add its limits to `arguments`, which are those of `pydantic.Field`."""
        node = _type_node(schema)
        is_nullable = "anyOf" in schema
        kind = node.get("type")
        if isinstance(kind, list):
            kind, is_nullable = kind[0], True
        if kind == "object" and is_nullable:
            node = {"type": "object"}  # As datamodel-code-generator has it, which handlers rely on.
        text = self._type_text({**node, "type": kind} if kind else node)
        if "enum" not in schema:
            for keyword, argument in _LIMITS.items():
                if keyword in schema:
                    arguments[argument] = repr(_limit(keyword, schema[keyword], kind))
        return f"{text} | None" if is_nullable else text

    def _type_text(self, node: Mapping[str, Any]) -> str:
        if "$ref" in node:
            return self._reference(node["$ref"])
        if "enum" in node:
            self._used.add("Literal")
            return f"Literal[{', '.join(repr(choice) for choice in node['enum'] if choice is not None)}]"
        match node.get("type"):
            case "array":
                return f"list[{self._type_text(node['items'])}]"
            case "object" if isinstance(node.get("additionalProperties"), dict):
                return f"dict[str, {self._type_text(node['additionalProperties'])}]"
            case "object":
                self._used.add("Any")
                return "dict[str, Any]"
            case str(kind) if kind in _PRIMITIVES:
                return _PRIMITIVES[kind]
            case kind:
                raise _NotDescribedError(f"the type {kind}")

    def _reference(self, target: str) -> str:
        match = _REFERENCE.fullmatch(target)
        if match is None or match["name"] not in self._schemas:
            raise _NotDescribedError(f"a reference to {target}")
        self._used.add(match["name"])
        return match["name"]

    def _default(self, schema: Mapping[str, Any]) -> str:
        """Return a default as Python source. Members of enumerations are named where they stand alone or in a list."""
        value = schema["default"]
        node = _type_node(schema)
        if "$ref" in node:
            return self._member(node["$ref"], value)
        if "$ref" in node.get("items", {}) and isinstance(value, list):
            return f"[{', '.join(self._member(node['items']['$ref'], item) for item in value)}]"
        return repr(value)

    def _member(self, target: str, value: object) -> str:
        name = self._reference(target)
        schema = self._schemas[name]
        if value is None:
            return "None"
        if "x-enum-varnames" not in schema or value not in schema["enum"]:
            raise _NotDescribedError(f"a default of type {name}")
        return f"{name}.{schema['x-enum-varnames'][schema['enum'].index(value)]}"

    def _imports(self) -> Iterator[tuple[str, ...]]:
        yield ("from __future__ import annotations",)
        standard = [("enum", ("StrEnum",)), ("typing", ("Annotated", "Any", "Literal"))]
        libraries = [
            ("pydantic", ("Field",)),
            ("toolmason_runtime.serving", ("Model",)),
            ("typing_extensions", ("TypeAliasType",)),
        ]
        for group in (standard, libraries):
            used = [(module, [name for name in names if name in self._used]) for module, names in group]
            if lines := tuple(f"from {module} import {', '.join(names)}" for module, names in used if names):
                yield lines
        if self._imported:
            modules = dict.fromkeys(self._imported.values())
            yield tuple(f"from {module} import {', '.join(self._imported)}" for module in modules)


def _type_node(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the type in a field's schema, where `anyOf` adds null and `allOf` adds limits to a reference."""
    node: Mapping[str, Any] = schema["anyOf"][0] if "anyOf" in schema else schema
    return node["allOf"][0] if "allOf" in node else node


def _references(node: object) -> Iterator[str]:
    """Return the names of the types that a schema refers to. A default is a value, not a schema."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str) and (match := _REFERENCE.fullmatch(node["$ref"])):
            yield match["name"]
        for keyword in ("allOf", "anyOf", "oneOf"):
            for branch in node.get(keyword, ()):
                yield from _references(branch)
        yield from _references(node.get("items"))
        if not isinstance(node.get("type"), list):  # Otherwise `_annotation` has any values.
            yield from _references(node.get("additionalProperties"))
        yield from _all_references(node.get("properties", {}).values())


def _all_references(nodes: Iterable[object]) -> Iterator[str]:
    for node in nodes:
        yield from _references(node)


def _field_name(key: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", key)
    if name.startswith("_") or name in RESERVED_MODEL_NAMES or name in _BUILTINS:
        raise _NotDescribedError(f"a field named {key}")
    if keyword.iskeyword(name) or name in _MODEL_ATTRIBUTES:
        return f"{name}_"
    if name.startswith("model_") or name[0].isdigit():
        raise _NotDescribedError(f"a field named {key}")
    return name


def _limit(keyword: str, value: Any, kind: object) -> Any:
    """Return a limit in the type of the field, so that no number is compared with one of another type."""
    match keyword, kind:
        case (("minimum" | "maximum"), "number"):
            return float(value)
        case "minimum", "integer":
            return math.ceil(value)
        case "maximum", "integer":
            return math.floor(value)
        case _:
            return value


def _documentation(text: str, indent: str = "    ") -> str:
    """Return the docstring of a model or a field, each line with `indent`; empty without a text."""
    if not text.strip():
        return ""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" not in text:
        return docstring(text)
    lines = "\n".join(f"{indent}{line}" if line else "" for line in docstring(text)[3:-3].split("\n"))
    return f'"""\n{lines}\n{indent}"""'
