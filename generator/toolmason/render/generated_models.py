"""Pydantic models from datamodel-code-generator, for modules that `model_classes` does not describe.

These have types that contain each other, or fields whose names Python or Pydantic needs. Importing the library takes
about a second, so models of an earlier run are used again if no schema has changed (`toolmason.write.content_cache`).
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolmason.model.python_text import docstring
from toolmason.render.model_classes import DOCSTRINGS, IMPORTED

OPTIONS: Final = {
    "base_class": "toolmason_runtime.serving.Model",
    "custom_file_header": " ",
    "disable_timestamp": True,
    "enum_field_as_literal": "all",
    "field_constraints": True,
    "formatters": (),
    "input_file_type": "jsonschema",
    "output_model_type": "pydantic_v2.BaseModel",
    "set_default_enum_member": True,
    "skip_root_model": True,
    "strict_nullable": True,
    "target_python_version": "3.11",
    "use_annotated": True,
    "use_double_quotes": True,
    "use_field_description": True,
    "use_schema_description": True,
    "use_single_line_docstring": True,
    "use_standard_collections": True,
    "use_type_alias": True,
    "use_union_operator": True,
}
"""Options of datamodel-code-generator. They are part of the hash, since they change the models."""


def cache_key(source: dict[str, Any]) -> str:
    """Return the hash of `source` and the options, which determine the models.

    The version of datamodel-code-generator does not: all supported versions generate the same models
    (`nox -s versions`).
    """
    return hashlib.sha256(json.dumps([source, OPTIONS]).encode()).hexdigest()


def generated_models(sources: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Return the models of several modules by their keys in `sources`; they are not formatted."""
    return {key: _sort_imports(_generate(source), source) for key, source in sources.items()}


_Import = ast.Import | ast.ImportFrom
_LIBRARIES: Final = frozenset({"pydantic", "toolmason_runtime.serving", "typing_extensions"})
_GROUPS: Final = (frozenset({"__future__"}), frozenset({"builtins", "enum", "typing"}), _LIBRARIES)
"""Modules that models import, in the order of their groups. `builtins` is for names that a field hides."""


def _sort_imports(text: str, source: dict[str, Any]) -> str:
    """Return `text` with its imports grouped and sorted; datamodel-code-generator leaves that to a formatter.

    Raises:
        AssertionError: it has an unexpected import or lacks a class.
    """
    body = ast.parse(text).body
    imports: list[_Import] = [node for node in body if isinstance(node, _Import)]
    subjects = _subjects(body)
    if absent := source["$defs"].keys() - set(subjects):
        raise AssertionError(f"datamodel-code-generator generated no class for {sorted(absent)}")
    if unexpected := {module for node in imports for module in _modules(node)} - frozenset().union(*_GROUPS):
        raise AssertionError(f"datamodel-code-generator generated unexpected imports: {sorted(unexpected)}")
    imported = source.get(IMPORTED, {})
    dropped = [*imports, *(node for node, subject in zip(body, subjects, strict=True) if subject in imported)]
    if imported:
        imports = _used(imports, [node for node in body if node not in dropped])
    groups = [sorted(ast.unparse(node) for node in imports if _modules(node) <= group) for group in _GROUPS]
    groups.append([f"from {module} import {', '.join(imported)}" for module in dict.fromkeys(imported.values())])
    head = "\n\n".join("\n".join(group) for group in groups if group)
    if imported:
        head += f"\n\n__all__ = {sorted(source['$defs'])}"
    dropped_lines = {line for node in dropped for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    docstrings = {
        node.lineno: f"\n    {docstring(source[DOCSTRINGS][node.name])}\n"
        for node in body
        if isinstance(node, ast.ClassDef) and node.name in source.get(DOCSTRINGS, {})
    }
    lines = [line + docstrings.get(number, "") for number, line in enumerate(text.split("\n"), 1)]
    classes = "\n".join(line for number, line in enumerate(lines, 1) if number not in dropped_lines)
    return f"{head}\n\n\n{classes.strip()}\n"


def _subjects(body: Sequence[ast.stmt]) -> list[str]:
    """Return the type that each statement is about; empty for others.

    It defines a class or an alias, calls a method, as in `Note.model_rebuild()`, or is the docstring of an alias.
    """
    subjects: list[str] = []
    for previous, node in zip([None, *body], body, strict=False):
        match node:
            case ast.ClassDef(name=name) | ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):
                subjects.append(name)
            case ast.Assign([ast.Name(name)]):
                subjects.append(name)
            case ast.Expr(ast.Constant(str())) if isinstance(previous, ast.Assign):
                subjects.append(subjects[-1])
            case _:
                subjects.append("")
    return subjects


def _used(imports: Iterable[_Import], body: Iterable[ast.stmt]) -> list[_Import]:
    """Return `imports` without the names that `body` does not use. Those of `__future__` stay."""
    names = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    used = []
    for node in imports:
        if _modules(node) != {"__future__"}:
            node.names = [alias for alias in node.names if (alias.asname or alias.name) in names]
        if node.names:
            used.append(node)
    return used


def _modules(node: _Import) -> frozenset[str]:
    if isinstance(node, ast.ImportFrom):
        return frozenset({node.module or ""})
    return frozenset(alias.name for alias in node.names)


_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords with values instead of schemas. A `$ref` in a value is not a reference."""


def _require_local(schema: object, *, is_table: bool = False) -> None:
    """Check that no `$ref` leads to another document, which datamodel-code-generator would read or download.

    A table of schemas has names where a schema has keywords.

    Raises:
        ValueError: a `$ref` does.
    """
    if isinstance(schema, dict):
        target = schema.get("$ref", "#/")
        if isinstance(target, str) and not target.startswith("#/"):
            raise ValueError(f"`$ref` leads to another document: {target}")
        for keyword, inner in schema.items():
            if is_table or keyword not in _VALUES:
                _require_local(inner, is_table=not is_table and keyword in {"$defs", "properties"})
    if isinstance(schema, list):
        for inner in schema:
            _require_local(inner)


def _generate(source: dict[str, Any]) -> str:
    _require_local(source)
    if not source["$defs"]:
        return "from __future__ import annotations\n"
    from datamodel_code_generator import InputFileType, LiteralType, PythonVersion, generate
    from datamodel_code_generator.enums import DataModelType

    options: dict[str, Any] = {
        **OPTIONS,
        "enum_field_as_literal": LiteralType(OPTIONS["enum_field_as_literal"]),
        "formatters": [],
        "input_file_type": InputFileType(OPTIONS["input_file_type"]),
        "output_model_type": DataModelType(OPTIONS["output_model_type"]),
        "target_python_version": PythonVersion(OPTIONS["target_python_version"]),
    }
    return str(generate(json.dumps(source), **options))
