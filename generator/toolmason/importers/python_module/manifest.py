"""The manifest and handlers of imported functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import Position

from toolmason.importers.design.texts import clean_text
from toolmason.importers.inline_toml import inline_key, inline_value
from toolmason.importers.manifest_writer import remove_invalid, toml_text
from toolmason.importers.names import (
    MAX_DESCRIPTION_LENGTH,
    MAX_SUMMARY_LENGTH,
    ToolNames,
    cut,
    one_line,
    snake,
    strip_full_stop,
    summary_of,
)
from toolmason.importers.notes import ImporterError, Notes
from toolmason.importers.python_module.handlers import ImportedTool, handlers_text
from toolmason.importers.python_module.values import NoFormError, SchemaReader, Types
from toolmason.model.identifiers import class_name, identifier, params_class_name
from toolmason.render.format_python import format_python
from toolmason.resolve import RESERVED_MODULES
from toolmason.scaffold import project_names

HANDLERS_MODULE: Final = "functions"
"""Module of the handlers in their package."""
_MAX_INSTRUCTIONS: Final = 4096
_HINTS: Final = {
    "read_only": ("readOnlyHint", False),
    "destructive": ("destructiveHint", True),
    "idempotent": ("idempotentHint", False),
    "open_world": ("openWorldHint", True),
}
"""Hint -> annotation of MCP with the value that MCP assumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedModule:
    """The server's name, a manifest as TOML, the files of the handlers by path in the project, the number of tools."""

    name: str
    text: str
    handlers: Mapping[str, str]
    tools: int


@dataclass(slots=True)
class _Import:
    """The import of one module."""

    module: str
    notes: Notes
    names: ToolNames
    category: str
    plain: bool = False
    """Whether the manifest has no types, since one of them is invalid."""
    types: Types = field(default_factory=Types)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    tools: dict[str, ImportedTool] = field(default_factory=dict)

    def note(self, about: str, message: str) -> None:
        self.notes.add(self.module, Position(0, 0), about, message)

    def add_all(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Add the tools."""
        names = []
        for tool in tools:
            name, reason = self.names.add(snake(tool["name"], "tool"), group=self.category)
            if name != tool["name"]:
                self.note(tool["name"], f"renamed to `{name}`, {reason}")
            names.append(name)
        # Generated code has a class for each tool and one for its parameters.
        classes = (known for name in names for known in (class_name(name), params_class_name(name)))
        self.types.reserved = frozenset(classes)
        for tool, name in zip(tools, names, strict=True):
            self._add(tool, name)

    def _add(self, tool: Mapping[str, Any], name: str) -> None:
        original = tool["name"]
        table: dict[str, Any] = self._texts(tool, name) | {
            "category": self.category,
            "handler": f"{HANDLERS_MODULE}:{identifier(name)}",
        }
        table["hints"] = _hints(tool.get("annotations") or {})
        table |= self._arguments(original, tool["schema"])
        result, is_wrapped = self._result(original, name, tool["returns"])
        if result:
            table["returns"] = result
        self.tables[name] = table
        self.tools[name] = ImportedTool(
            name=name,
            path=tool["path"],
            summary=table["summary"],
            has_params="params" in table,
            result=result,
            is_wrapped=is_wrapped,
        )

    def _texts(self, tool: Mapping[str, Any], name: str) -> dict[str, str]:
        description = cut(clean_text(tool["text"]), MAX_DESCRIPTION_LENGTH)
        if not description:
            self.note(tool["name"], "it has no docstring: write a summary")
        summary = summary_of(description.partition("\n\n")[0]) or name.replace("_", " ").capitalize()
        texts = {"summary": summary, "title": cut(one_line(tool.get("title") or ""), MAX_SUMMARY_LENGTH)}
        if description and strip_full_stop(description) != summary:
            texts["description"] = description
        return {key: text for key, text in texts.items() if text}

    def _arguments(self, original: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return `params`, or `input_schema` for arguments that `params` cannot express."""
        reason = "one of its types is invalid in a manifest"
        if not (self.plain and "$defs" in schema):
            before = dict(self.types.tables)
            try:
                return {"params": SchemaReader(schema.get("$defs", {}), self.types).fields(schema)}
            except NoFormError as error:
                self.types.tables, reason = before, str(error)
        self.note(original, f"its arguments became an `input_schema`, because `params` cannot express them: {reason}")
        return {"input_schema": _plain_schema(schema)}

    def _result(self, original: str, name: str, schema: Mapping[str, Any] | None) -> tuple[str, bool]:
        """Return the type of a result and whether the value is its field `result`; an empty type for text."""
        if schema is None or self.plain:
            return "", False
        before = dict(self.types.tables)
        try:
            kind, constraints = SchemaReader(schema.get("$defs", {}), self.types).type_of(schema)
        except NoFormError as error:
            self.types.tables = before
            self.note(original, f"its result is JSON as text, since a type cannot express it: {error}")
            return "", False
        if kind in self.types.tables:
            return kind, False
        table = {"type": kind, "description": "Result"} | constraints
        return self.types.add(f"{class_name(name)}Result", {"fields": {"result": table}}), True


def import_module(target: str, described: Mapping[str, Any], notes: Notes, *, name: str) -> ImportedModule:
    """Return manifest and handlers for the described functions of a module.

    Raises:
        InitError: the name cannot be that of a server.
        ImporterError: no function can be imported.
    """
    module = target.partition(":")[0]
    server = described["server"] or {"name": "", "instructions": ""}
    names = project_names(name or module.rpartition(".")[2].replace("_", "-"))
    # A package with the name of the module would be imported in its place.
    top = module.partition(".")[0]
    package = f"{top}_mcp" if names.package == top else names.package
    handlers = names.handlers if names.handlers.endswith("_tools") else f"{names.handlers}_tools"
    handlers = f"{top}_handlers" if handlers == top else handlers
    category = snake(module.rpartition(".")[2], "functions")
    category = f"{category}_tools" if category in RESERVED_MODULES else category
    summary = summary_of(described["summary"].partition("\n\n")[0]) or f"Functions of {module}"
    about = {"name": names.server, "package": package, "handlers": handlers}
    about["instructions"] = cut(clean_text(server["instructions"]), _MAX_INSTRUCTIONS)
    head: dict[str, Any] = {
        "edition": 1,
        "server": {key: value for key, value in about.items() if value},
        "categories": {category: {"summary": summary}},
    }
    run = _Import(module=module, notes=notes, names=ToolNames(names.server), category=category)
    try:
        data = _valid_tables(run, described, head)
    except ImporterError:  # a type is invalid, which belongs to no single tool
        run = _Import(module=module, notes=notes, names=ToolNames(names.server), category=category, plain=True)
        data = _valid_tables(run, described, head)
    _note_losses(run, described)
    if not data["tools"]:
        raise ImporterError(f"no function of `{module}` can be a tool")
    tools = [run.tools[key] for key in data["tools"]]
    models = f"{package}.{category}.models"
    files = {
        f"handlers/{handlers}/__init__.py": f'"""Handlers of `{names.server}`."""\n',
        f"handlers/{handlers}/py.typed": "",
        f"handlers/{handlers}/{HANDLERS_MODULE}.py": _formatted(handlers_text(module, models, tools)),
    }
    return ImportedModule(name=names.server, text=_manifest_text(data, module), handlers=files, tools=len(tools))


def _valid_tables(run: _Import, described: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest without invalid tools. A tool with an invalid parameter is removed, not changed.

    Raises:
        ImporterError: an error belongs to no tool.
    """
    run.add_all(described["tools"])
    data = {**head, "types": run.types.tables, "tools": run.tables}
    for part, message in remove_invalid(data):
        if part[0] != "tools":
            raise ImporterError(message)
        run.note(str(part[1]), f"left out, since it is invalid in a manifest: {message}")
        data["tools"].pop(str(part[1]), None)
    return data


def _note_losses(run: _Import, described: Mapping[str, Any]) -> None:
    for refused, reason in described["refused"].items():
        run.note(refused, f"left out: {reason}")
    for kind, lost in described["losses"].items():
        if lost:
            run.note("", f"{kind.replace('_', ' ')} are not imported: {', '.join(lost)}")
    if not any(tool.get("annotations") for tool in described["tools"]):
        run.note("", "the functions have no hints; all tools are destructive, so that a person approves each call")


def _formatted(code: str) -> str:
    path = PurePosixPath(f"{HANDLERS_MODULE}.py")
    return format_python({path: code})[path]


def _hints(annotations: Mapping[str, Any]) -> dict[str, bool]:
    hints = {hint: bool(annotations.get(name, default)) for hint, (name, default) in _HINTS.items()}
    if hints["read_only"]:
        hints |= {"destructive": False, "idempotent": True}
    return hints


def _plain_schema(schema: Any) -> Any:
    """Return a schema without the titles that pydantic writes, and without null, which TOML lacks."""
    if isinstance(schema, dict):
        return {
            key: _plain_schema(value)
            for key, value in schema.items()
            if value is not None and not (key == "title" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_plain_schema(value) for value in schema]
    return schema


def _manifest_text(data: Mapping[str, Any], module: str) -> str:
    head = {key: value for key, value in data.items() if key not in ("types", "tools")}
    lines = []
    for name, table in data["types"].items():
        lines += ["", f"[types.{inline_key(name)}]"]
        lines += [f"{key} = {inline_value(value)}" for key, value in table.items() if key != "fields"]
        fields = table.get("fields", {})
        lines += [f"fields.{inline_key(key)} = {inline_value(value)}" for key, value in fields.items()]
    for name, table in data["tools"].items():
        lines += ["", f"[tools.{inline_key(name)}]"]
        lines += [f"{key} = {inline_value(value)}" for key, value in table.items() if key != "params"]
        params = table.get("params", {})
        lines += [f"params.{inline_key(key)} = {inline_value(value)}" for key, value in params.items()]
    comments = (f"Imported from the Python module {module}.", "Review the `hints` of each tool before you serve it.")
    return toml_text(head, *comments, multiline=True) + "".join(f"{line}\n" for line in lines)
