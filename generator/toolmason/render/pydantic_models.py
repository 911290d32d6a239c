"""Pydantic models of one category, or of the types that several share, written by datamodel-code-generator.

Importing that costs about a second, so models are taken from the file on disk if no schema has changed. A mark above
them holds the hash of what they were made from, and that of their own text, which says where they end. Anybody can
write such a mark: only models in the record of the last run are taken (`toolmason.write.cache`).
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Container, Iterable
from pathlib import PurePosixPath
from typing import Any, Final

from toolmason.model import json_schema
from toolmason.model.server import Category, Server
from toolmason.render.format_python import format_python

_MARK = re.compile(r"^# schemas: sha256 ([0-9a-f]{32}), models: sha256 ([0-9a-f]{32})\n", re.MULTILINE)

OPTIONS: Final = {
    "base_class": "toolmason_runtime.serving.Model",
    "custom_file_header": " ",
    "disable_timestamp": True,
    "enum_field_as_literal": "all",
    "field_constraints": True,
    "formatters": (),
    "input_file_type": "jsonschema",
    "output_model_type": "pydantic_v2.BaseModel",
    "skip_root_model": True,
    "strict_nullable": True,
    "target_python_version": "3.11",
    "use_annotated": True,
    "use_double_quotes": True,
    "use_field_description": True,
    "use_schema_description": True,
    "use_single_line_docstring": True,
    "use_standard_collections": True,
    "use_union_operator": True,
}
"""What datamodel-code-generator is told. Part of the hash: other options give other models."""


SHARED: Final = "types"
"""Key of the shared types among the models by category, none of which may have that name."""
_IMPORTED: Final = "x-imported"
"""Key in the source of a module: the classes that it imports, and re-exports, with the module that defines them."""


def shared_schemas(server: Server) -> dict[str, Any]:
    """Return the schemas of the types that several categories use."""
    return {"$defs": json_schema.definitions(server.shared_types, formats=False)}


def schemas(category: Category, package: str) -> dict[str, Any]:
    """Return the schemas that the models of `category` are made from: its types, then a tool's parameters each.

    The classes of shared types are imported from the module `types` of `package`.
    """
    definitions = json_schema.definitions(category.types, formats=False)
    for tool in category.tools:
        if tool.params_class:
            description = f"Arguments of `{tool.name}`."
            definitions[tool.params_class] = json_schema.exact(tool.params, description, formats=False)
    imported = {_IMPORTED: dict.fromkeys(category.shared_types, f"{package}.types")} if category.shared_types else {}
    return {"$defs": definitions, **imported}


def digest(source: dict[str, Any]) -> str:
    """Return the hash of all that decides the models of `source`: itself and the options.

    The version of datamodel-code-generator is not among them: every version that the toolkit accepts makes the same
    models (`nox -s versions`).
    """
    made_from = [source, OPTIONS]
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]


def models(source: dict[str, Any], before: str = "", recorded: Container[str] = ()) -> str:
    """Return models as Python source below the module's docstring: a mark, imports and classes.

    Args:
        source: Their schemas (`schemas`, `shared_schemas`).
        before: The file on disk. Its models are taken if they are made of the same schemas and `recorded`.
        recorded: Fingerprints of models that an earlier run made, from where nobody else can write.
    """
    if (found := reusable(source, before)) and fingerprint(found) in recorded:
        return found
    return marked(source, _laid_out(_sorted_imports(_generated(source), source)))


def fingerprint(text: str) -> str:
    """Return the hash by which models, with their mark, are recorded."""
    return hashlib.sha256(text.encode()).hexdigest()


def marked(source: dict[str, Any], text: str) -> str:
    """Put the mark above `text`, the models made of `source`."""
    return f"# schemas: sha256 {digest(source)}, models: sha256 {_text_digest(text)}\n{text}"


def reusable(source: dict[str, Any], before: str) -> str:
    """Return the mark and the models in `before`, empty unless the mark says that they are made of `source`."""
    mark = _MARK.search(before)
    if mark is None or mark[1] != digest(source):
        return ""
    # They end where their hash is right: what follows, blank lines apart, is a template's.
    seen = hashlib.sha256()
    end = mark.end()
    for line in before[end:].splitlines(keepends=True):
        seen.update(line.encode())
        end += len(line)
        if seen.copy().hexdigest()[:32] == mark[2]:
            return before[mark.start() : end]
    return ""


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _laid_out(text: str) -> str:
    """Lay out models as the whole file will be, so that they are found there again."""
    path = PurePosixPath("models.py")
    return format_python({path: text})[path]


_Import = ast.Import | ast.ImportFrom
_OURS: Final = frozenset({"pydantic", "toolmason_runtime.serving"})
_GROUPS: Final = (frozenset({"__future__"}), frozenset({"builtins", "typing"}), _OURS)
"""Modules that models import, in the order of their groups. Of `builtins` those that a field's name hides."""


def _sorted_imports(text: str, source: dict[str, Any]) -> str:
    """Group the imports as this project does; datamodel-code-generator leaves that to a formatter.

    Raises:
        AssertionError: it imports what we do not know, or a class that others will import is not there.
    """
    body = ast.parse(text).body
    imports: list[_Import] = [node for node in body if isinstance(node, _Import)]
    if absent := source["$defs"].keys() - {node.name for node in body if isinstance(node, ast.ClassDef)}:
        raise AssertionError(f"datamodel-code-generator made no class for {sorted(absent)}")
    if strange := {module for node in imports for module in _modules(node)} - frozenset().union(*_GROUPS):
        raise AssertionError(f"datamodel-code-generator imports something new: {sorted(strange)}")
    imported = source.get(_IMPORTED, {})
    dropped = [*imports, *(node for node in body if _subject(node) in imported)]
    if imported:
        imports = _used(imports, [node for node in body if node not in dropped])
    groups = [sorted(ast.unparse(node) for node in imports if _modules(node) <= group) for group in _GROUPS]
    groups.append([f"from {module} import {', '.join(imported)}" for module in dict.fromkeys(imported.values())])
    head = "\n\n".join("\n".join(group) for group in groups if group)
    if imported:
        head += f"\n\n__all__ = {sorted(source['$defs'])}"
    taken = {line for node in dropped for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    classes = "\n".join(line for number, line in enumerate(text.split("\n"), 1) if number not in taken)
    return f"{head}\n\n\n{classes.strip()}\n"


def _subject(node: ast.stmt) -> str:
    """Return the class that a statement defines, or whose method it calls, as in `Note.model_rebuild()`; else empty."""
    match node:
        case ast.ClassDef(name=name) | ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):
            return name
    return ""


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
    return frozenset(each.name for each in node.names)


_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords with values instead of schemas. A `$ref` in a value is text like any other."""


def _require_local(schema: object, *, is_table: bool = False) -> None:
    """Check that no `$ref` leads to another document, which datamodel-code-generator would read or download.

    A table of schemas has names where a schema has keywords.

    Raises:
        ValueError: one does.
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


def _generated(source: dict[str, Any]) -> str:
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
