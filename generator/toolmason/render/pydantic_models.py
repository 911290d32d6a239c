"""Pydantic models of a category, or of the types that several categories share.

A template writes them (`model_classes`). datamodel-code-generator generates the modules for which it has no form
(`generated_models`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from jinja2 import BytecodeCache

from toolmason.model import json_schema
from toolmason.model.identifiers import member_names
from toolmason.model.prompt import SurfaceModule
from toolmason.model.server import Category, Server
from toolmason.model.types import DeclaredType, EnumType, UnionType
from toolmason.render.environment import make_environment
from toolmason.render.format_python import format_python
from toolmason.render.generated_models import generated_models
from toolmason.render.model_classes import DOCSTRINGS, IMPORTED, describe

SHARED: Final = "types"
"""Key of the shared types among the models by category. No category may have this name."""
_TEMPLATE: Final = "python/_model_classes.jinja"


def shared_schemas(server: Server) -> dict[str, Any]:
    """Return the schemas of the types that several categories use."""
    return type_schemas(server.shared_types)


def type_schemas(types: Sequence[DeclaredType]) -> dict[str, Any]:
    """Return the schemas for the models of `types`."""
    return _with_docstrings(types, {"$defs": _definitions(types)})


def _definitions(types: Sequence[DeclaredType]) -> dict[str, Any]:
    return {declared.name: _definition(declared) for declared in types}


def _definition(declared: DeclaredType) -> dict[str, Any]:
    match declared:
        case EnumType(choices=choices):
            extensions = {"x-enum-field-as-literal": False, "x-enum-varnames": list(member_names(choices))}
            return {"type": "string", "enum": list(choices), **extensions}
        case UnionType(members=members, discriminator=discriminator):
            mapping = {value: f"#/$defs/{name}" for name, value in members.items()}
            union = {
                "oneOf": [{"$ref": reference} for reference in mapping.values()],
                "discriminator": {"propertyName": discriminator, "mapping": mapping},
            }
            return union | ({"description": declared.description} if declared.description else {})
        case _:
            return json_schema.object_schema(declared.fields, declared.description, formats=False)


def _with_docstrings(types: Sequence[DeclaredType], source: dict[str, Any]) -> dict[str, Any]:
    texts = {item.name: item.description for item in types if isinstance(item, EnumType) and item.description}
    return source | ({DOCSTRINGS: texts} if texts else {})


def schemas(category: Category | SurfaceModule, package: str) -> dict[str, Any]:
    """Return the schemas for the models of `category`: its types, then the parameters of each tool, prompt or resource.

    The classes of shared types are imported from the module `types` of `package`.
    """
    definitions = _definitions(category.types)
    for tool in category.tools:
        if tool.params_class:
            description = f"Arguments of `{tool.name}`."
            definitions[tool.params_class] = json_schema.object_schema(tool.fields, description, formats=False)
    imported = {IMPORTED: dict.fromkeys(category.shared_types, f"{package}.types")} if category.shared_types else {}
    return _with_docstrings(category.types, {"$defs": definitions, **imported})


def models(source: dict[str, Any]) -> str:
    """Return the models of `source` (`schemas`, `shared_schemas`) as formatted Python source.

    It is for the space below a module's docstring: imports and classes.
    """
    path = PurePosixPath("models.py")
    text = templated_models({"": source}).get("") or generated_models({"": source})[""]
    return format_python({path: text})[path]


def templated_models(sources: Mapping[str, dict[str, Any]], compiled: BytecodeCache | None = None) -> dict[str, str]:
    """Return the models of `sources` that the template can write, by their keys; they are not formatted.

    `compiled` has the packaged templates of earlier runs.
    """
    template = make_environment(compiled=compiled).get_template(_TEMPLATE)
    modules = {key: describe(source) for key, source in sources.items()}
    return {key: template.render(module=module) for key, module in modules.items() if module}
