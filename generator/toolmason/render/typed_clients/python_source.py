"""Types, parameters and documentation of a client as Python source."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from toolmason.model.python_text import docstring
from toolmason.render.model_classes import AliasText, ClassText, FieldText, ModuleText
from toolmason.render.typed_clients.names import free, snake, unique_names, wrapped
from toolmason.render.typed_clients.tools import ClientTool, TypedClient
from toolmason.render.typed_clients.types import (
    AliasType,
    Choice,
    Declared,
    Field,
    ListOf,
    MapOf,
    Named,
    Scalar,
    Type,
    Union,
)

_SCALARS: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "any": "Any",
}
_TAKEN_PARAMETERS: Final = frozenset({"OMIT", "Omit", "arguments", "others", "params", "results", "self"})
"""Names that the body of a method uses."""
_TYPES_OF_FIELDS: Final = frozenset({"bool", "dict", "float", "int", "list", "str"})
"""Builtins in annotations, which a field of the same name would hide."""
_MAX_DEFAULT: Final = 60
"""Characters of a default in a docstring."""
LINE_LENGTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonParameter:
    """One parameter of a method."""

    name: str
    key: str
    annotation: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonMethod:
    """A tool as a method, ready to print. `result` is empty for a tool without a structured result."""

    name: str
    tool: str
    docstring: str
    sync_docstring: str
    parameters: tuple[PythonParameter, ...]
    is_open: bool
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedDictText:
    """A `TypedDict`, ready to print: as a class, or as a call if a key is no identifier."""

    name: str
    docstring: str
    fields: tuple[FieldText, ...]
    is_class: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamsText:
    """The module of types of arguments."""

    types: tuple[TypedDictText | AliasText, ...]
    typing_names: tuple[str, ...]
    has_alias: bool


def python_type(found: Type, prefix: str = "") -> str:
    """Return a type as an annotation; `prefix` is the module of declared types, with a dot."""
    match found:
        case Scalar(kind):
            return _SCALARS[kind]
        case Choice(values):
            return f"Literal[{', '.join(repr(value) for value in values)}]"
        case ListOf(item):
            return f"list[{python_type(item, prefix)}]"
        case MapOf(value):
            return f"dict[str, {python_type(value, prefix)}]"
        case Named(name):
            return f"{prefix}{name}"
        case Union(members):
            return " | ".join(python_type(member, prefix) for member in members)


def _method(tool: ClientTool) -> PythonMethod:
    names = unique_names([field.key for field in tool.parameters], _parameter_name, "_")
    parameters = tuple(
        PythonParameter(
            name=names[field.key],
            key=field.key,
            annotation=python_type(field.type, "params."),
            required=field.required,
        )
        for field in tool.parameters
    )
    return PythonMethod(
        name=tool.python_name,
        tool=tool.name,
        docstring=_documentation(tool, parameters, "await client"),
        sync_docstring=_documentation(tool, parameters, "client"),
        parameters=parameters,
        is_open=tool.is_open,
        result=python_type(tool.result, "results.") if tool.result is not None else "",
    )


def _parameter_name(key: str) -> str:
    return free(snake(key, "value"), _TAKEN_PARAMETERS)


def _documentation(tool: ClientTool, parameters: Sequence[PythonParameter], receiver: str) -> str:
    """Return the docstring of a method: what the tool does, its parameters, and the examples of the manifest."""
    lines = wrapped(tool.description or f"Call the tool `{tool.name}`.", LINE_LENGTH)
    if tool.deprecated:
        lines += ["", *wrapped(f"Deprecated: {tool.deprecated}", LINE_LENGTH)]
    if notes := [*_notes(tool.parameters, parameters)]:
        lines += ["", "Args:", *notes]
    names = {parameter.key: parameter.name for parameter in parameters}
    if tool.examples:
        lines += ["", "Example:"]
        for example in tool.examples:
            lines += [f"    # {' '.join(example.description.split())}"] if example.description else []
            lines.append(f"    {receiver}.{example_call(tool.python_name, names, example.arguments)}")
    return _quoted(lines, "        ")


def _notes(fields: Sequence[Field], parameters: Sequence[PythonParameter]) -> Iterator[str]:
    for field, parameter in zip(fields, parameters, strict=True):
        text = " ".join(field.description.split())
        if field.has_default and field.default is not None and len(shown := repr(field.default)) <= _MAX_DEFAULT:
            text = f"{text.rstrip('.')}. Default: {shown}".removeprefix(". ")
        if not text:
            continue
        first, *rest = wrapped(f"{parameter.name}: {text}", LINE_LENGTH - 8)
        yield f"    {first}"
        yield from (f"        {line}" for line in rest)


def example_call(method: str, names: Mapping[str, str], arguments: Mapping[str, Any]) -> str:
    """Return a call as Python source."""
    known = ", ".join(f"{names[key]}={value!r}" for key, value in arguments.items() if key in names)
    return f"{method}({known})"


def indented_docstring(text: str, indent: str) -> str:
    """Return a text as a docstring of short lines. Lines after the first have `indent`, as the closing quotes."""
    return _quoted(wrapped(text, LINE_LENGTH), indent)


def _quoted(lines: Sequence[str], indent: str) -> str:
    """Return lines as a docstring."""
    if len(lines) == 1:
        return docstring(lines[0])
    body = docstring("\n".join(lines))[3:-3].split("\n")
    rest = "\n".join(f"{indent}{line}" if line else "" for line in body[1:])
    return f'"""{body[0]}\n{rest}\n{indent}"""'


def result_models(client: TypedClient) -> ModuleText:
    """Return the models of results, for `python/_model_classes.jinja`."""
    declared_names = frozenset(declared.name for declared in client.results)
    used: set[str] = set()
    types = tuple(_result_type(declared, declared_names, used) for declared in client.results)
    typing_names = [name for name in ("Annotated", "Any", "Literal") if name in used]
    imports: list[tuple[str, ...]] = [("from __future__ import annotations",)]
    if typing_names:
        imports.append((f"from typing import {', '.join(typing_names)}",))
    fields = ", Field" if "Field" in used else ""
    libraries = [f"from pydantic import BaseModel, ConfigDict{fields}"]
    if "TypeAliasType" in used:
        libraries.append("from typing_extensions import TypeAliasType")
    imports.append(tuple(libraries))
    return ModuleText(types, tuple(imports), (), ())


def _result_type(declared: Declared, declared_names: frozenset[str], used: set[str]) -> ClassText | AliasText:
    if isinstance(declared, AliasType):
        return _alias(declared, used)
    names = unique_names([field.key for field in declared.fields], lambda key: _field_name(key, declared_names), "_")
    fields = []
    for field in declared.fields:
        annotation = _noted(python_type(field.type), used)
        if not field.required and not annotation.endswith("| None") and annotation != "Any":
            annotation += " | None"
        name = names[field.key]
        if name != field.key:
            used.update(("Annotated", "Field"))
            annotation = f"Annotated[{annotation}, Field(alias={field.key!r})]"
        text = indented_docstring(field.description, "    ") if field.description else ""
        fields.append(FieldText(name, annotation, "" if field.required else "None", text))
    text = indented_docstring(declared.description, "    ") if declared.description else ""
    return ClassText(declared.name, "Model", text, tuple(fields))


def _alias(declared: AliasType, used: set[str]) -> AliasText:
    used.add("TypeAliasType")
    value = _noted(python_type(declared.type), used)
    text = indented_docstring(declared.description, "") if declared.description else ""
    return AliasText(declared.name, repr(value), text)


def _noted(annotation: str, used: set[str]) -> str:
    """Note which names of `typing` an annotation uses."""
    used.update(name for name in ("Any", "Literal") if name in annotation)
    return annotation


def _field_name(key: str, declared_names: frozenset[str]) -> str:
    name = snake(key, "value")
    hides = name in _model_attributes() or name in _TYPES_OF_FIELDS or name in declared_names
    return f"{name}_" if hides or name.startswith("model_") else name


def params_module(client: TypedClient) -> ParamsText:
    """Return the types of arguments."""
    used: set[str] = set()
    types = tuple(_params_type(declared, used) for declared in client.params)
    names = {name for each in types for name in (("TypedDict",) if isinstance(each, TypedDictText) else ())}
    typing_names = tuple(sorted((used & {"Any", "Literal", "NotRequired"}) | names))
    return ParamsText(types=types, typing_names=typing_names, has_alias=any(isinstance(e, AliasText) for e in types))


def _params_type(declared: Declared, used: set[str]) -> TypedDictText | AliasText:
    if isinstance(declared, AliasType):
        return _alias(declared, used)
    fields = []
    for field in declared.fields:
        annotation = _noted(python_type(field.type), used)
        if not field.required:
            used.add("NotRequired")
            annotation = f"NotRequired[{annotation}]"
        text = indented_docstring(field.description, "    ") if field.description else ""
        fields.append(FieldText(field.key, annotation, "", text))
    text = indented_docstring(declared.description, "    ") if declared.description else ""
    return TypedDictText(
        name=declared.name, docstring=text, fields=tuple(fields), is_class=all(map(_is_plain_key, declared.fields))
    )


def _is_plain_key(field: Field) -> bool:
    """Return whether a key can be that of a class; two leading underscores would be mangled."""
    key = field.key
    # A key with the name of a builtin hides that in the annotations of the class.
    return (
        key.isidentifier() and key.isascii() and not keyword.iskeyword(key) and not key.startswith("__")
    ) and key not in _TYPES_OF_FIELDS


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonClient:
    """What the templates of a Python client print."""

    class_docstring: str
    sync_docstring: str
    methods: tuple[PythonMethod, ...]
    params: ParamsText
    results: ModuleText
    version: str

    @property
    def annotations(self) -> str:
        """All annotations of its methods."""
        parameters = (each.annotation for method in self.methods for each in method.parameters)
        return " ".join((*(method.result for method in self.methods), *parameters))

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of types that the methods name."""
        return tuple(name for name in ("params", "results") if f"{name}." in self.annotations)

    @property
    def uses_literal(self) -> bool:
        """Whether a method has a parameter with a few values."""
        return "Literal[" in self.annotations

    @property
    def bare_results(self) -> ModuleText:
        """The results without their imports."""
        return ModuleText(self.results.types, (), (), ())


def python_client(client: TypedClient) -> PythonClient:
    """Return what the templates of a Python client print."""
    start = ".stdio()" if client.command or not client.url else ".http()"
    text = f"The tools of the MCP server {client.title}.\n\nExample:\n    "
    use = f"{client.class_name}{start} as client:\n        ..."
    return PythonClient(
        class_docstring=indented_docstring(f"{text}async with {use}", "    "),
        sync_docstring=indented_docstring(f"{text}with Sync{use}", "    "),
        methods=tuple(map(_method, client.tools)),
        params=params_module(client),
        results=result_models(client),
        version=python_version(client.version),
    )


def python_version(version: str) -> str:
    """Return the version of a server as one of PyPI; 0.0.0 if it is none."""
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(version))
    except InvalidVersion:
        return "0.0.0"


@cache
def _model_attributes() -> frozenset[str]:
    """Return the names that a field of a model cannot have."""
    # Imported here: most manifests have no typed client.
    from pydantic import BaseModel

    return frozenset(dir(BaseModel)) | {"Annotated", "Any", "Field", "Literal", "Model"}
