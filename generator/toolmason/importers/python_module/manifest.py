"""The manifest and handlers of imported functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import Position

from toolmason.importers.design.budget import DEFAULT, Budget, fitted_schema, shared_names
from toolmason.importers.design.parameter_names import argument_names, with_aliases, with_wire_name
from toolmason.importers.design.texts import MAX_DESCRIPTION, clean_text, lead_of, shortened_text, summary_from
from toolmason.importers.design.tool_names import DesignedName, NamedTool, designed_names
from toolmason.importers.inline_toml import inline_key, inline_value
from toolmason.importers.manifest_writer import remove_invalid, toml_text
from toolmason.importers.names import (
    MAX_DESCRIPTION_LENGTH,
    MAX_SUMMARY_LENGTH,
    cut,
    one_line,
    snake,
    strip_full_stop,
)
from toolmason.importers.notes import ImporterError, Notes
from toolmason.importers.python_module.handlers import ImportedTool, handlers_text
from toolmason.importers.python_module.values import NoFormError, SchemaReader, Types
from toolmason.importers.server.losses import some
from toolmason.model.identifiers import class_name, identifier, params_class_name
from toolmason.render.format_python import format_python
from toolmason.resolve import RESERVED_MODULES
from toolmason.scaffold import project_names

HANDLERS_MODULE: Final = "functions"
"""Module of the handlers in their package."""
_MAX_INSTRUCTIONS: Final = 4096
_RENAMED: Final = "renamed, since names are unique, not reserved, and have at most 40 characters and no repeated words"
_LOST: Final = {
    "rare": "optional parameters left out to save tokens; --all-params imports them",
    "large": "large types described as `object` to save tokens",
    "constraint": "choices left out, which the function still checks",
    "long": "descriptions shortened to 1,000 characters; --all-params keeps up to 4,096",
    "too_long": "descriptions shortened to 4,096 characters",
    "size": "tools whose parameters still have more tokens than --max-tokens",
}
"""Message for each kind of loss, in the order of the report."""
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
    """The import of one module. `max_tokens` is 0 for no limit."""

    module: str
    notes: Notes
    server: str
    category: str
    max_tokens: int
    plain: bool = False
    """Whether the manifest has no types, since one of them is invalid."""
    types: Types = field(default_factory=Types)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    tools: dict[str, ImportedTool] = field(default_factory=dict)
    _lost: dict[str, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    """What tools lost for the limit, by kind and tool."""

    def note(self, about: str, message: str) -> None:
        self.notes.add(self.module, Position(0, 0), about, message)

    def add(self, kind: str, about: str, detail: str) -> None:
        """Record what a tool lost for the limit."""
        self._lost[kind][about].append(detail)

    def add_all(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Add the tools."""
        named = [NamedTool(tool["name"], tool.get("title") or "", tool["text"]) for tool in tools]
        names = designed_names(named, self.server)
        renamed = [
            f"{tool.name} is `{new.name}`" for tool, new in zip(named, names, strict=True) if new.name != tool.name
        ]
        if renamed:
            self.note("", f"{_RENAMED}: {some(renamed)}")
        # Generated code has a class for each tool and one for its parameters.
        classes = (known for new in names for known in (class_name(new.name), params_class_name(new.name)))
        self.types.reserved = frozenset(classes)
        for tool, new in zip(tools, names, strict=True):
            self._add(tool, new)
        if self.max_tokens:
            self._fit()
        self._note_lost()
        self.types.keep_only(self.tables.values())

    def _add(self, tool: Mapping[str, Any], designed: DesignedName) -> None:
        original, name = tool["name"], designed.name
        table: dict[str, Any] = self._texts(tool, name)
        if designed.aliases:
            table["aliases"] = list(designed.aliases)
        table |= {"category": self.category, "handler": f"{HANDLERS_MODULE}:{identifier(name)}"}
        table["hints"] = _hints(tool.get("annotations") or {})
        schema, names = _renamed(tool["schema"])
        table |= self._arguments(original, schema, names)
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
            names=names,
        )

    def _texts(self, tool: Mapping[str, Any], name: str) -> dict[str, str]:
        whole = clean_text(tool["text"])
        limit = MAX_DESCRIPTION if self.max_tokens else MAX_DESCRIPTION_LENGTH
        description = shortened_text(whole, limit)
        if not description:
            self.note(tool["name"], "it has no docstring: write a summary")
        elif description != whole:
            self.add("long" if self.max_tokens else "too_long", tool["name"], "")
        summary = summary_from(lead_of(whole), name.replace("_", " "))
        texts = {"summary": summary, "title": cut(one_line(tool.get("title") or ""), MAX_SUMMARY_LENGTH)}
        if description and strip_full_stop(one_line(description)).casefold() != summary.casefold():
            texts["description"] = description
        return {key: text for key, text in texts.items() if text}

    def _arguments(self, original: str, schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """Return `params`, or `input_schema` for arguments that `params` cannot express.

        `names` are those of the function, by the ones in the tool.
        """
        reason = "one of its types is invalid in a manifest"
        if not (self.plain and "$defs" in schema):
            before = dict(self.types.tables)
            try:
                fields = SchemaReader(schema.get("$defs", {}), self.types).fields(schema)
                return {"params": with_aliases(fields, names)}
            except NoFormError as error:
                self.types.tables, reason = before, str(error)
        self.note(original, f"its arguments became an `input_schema`, because `params` cannot express them: {reason}")
        return {"input_schema": _plain_schema(schema)}

    def _fit(self) -> None:
        """Keep the parameters of each tool below the maximum of tokens."""
        params = [table["params"] for table in self.tables.values() if "params" in table]
        budget = Budget(self.max_tokens, self.types.tables, self, shared_names(params))
        budget.shorten_types(params)
        for name, table in self.tables.items():
            if "params" in table:
                budget.fit(name, table, ())
                tokens = budget.tokens(table["params"])
            else:
                fitted = fitted_schema(table["input_schema"], self.max_tokens, ())
                table["input_schema"], tokens = fitted.without_dropped(), fitted.tokens
                for dropped in fitted.dropped:
                    self.add("rare", name, dropped)
            if tokens > self.max_tokens:
                self.add("size", name, f"{tokens:,}")

    def left_out(self) -> Mapping[str, Sequence[str]]:
        """Return the parameters that were left out for the limit, by tool."""
        return {name: list(map(one_line, details)) for name, details in self._lost.get("rare", {}).items()}

    def _note_lost(self) -> None:
        for kind, message in _LOST.items():
            if lost := self._lost.get(kind):
                about = {name: ", ".join(filter(None, details)) for name, details in lost.items()}
                tools = [f"{name} ({details})" if details else name for name, details in about.items()]
                self.note("", f"{message}: {some(tools)}")

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


def _renamed(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the schema of a function with names for models, and those of the function by the names that differ.

    `from_`, which Python needs, is `from`; names with other letters than ASCII get these.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    wires = {own: own.removesuffix("_") for own in properties}
    wires = {own: own if wire in properties or not wire else wire for own, wire in wires.items()}
    chosen = argument_names({wire: properties[own] for own, wire in wires.items()})
    names = {own: chosen[wire][0] for own, wire in wires.items()}
    changed: dict[str, Any] = {}
    for own, part in properties.items():
        needs_own_name = chosen[wires[own]][1]
        description = with_wire_name(part.get("description", ""), own) if needs_own_name else ""
        changed[names[own]] = {**part, "description": description} if needs_own_name else part
    result = {**schema, "properties": changed}
    if "required" in schema:
        result["required"] = [names[own] for own in schema["required"]]
    return result, {name: own for own, name in names.items() if name != own}


def import_module(
    target: str, described: Mapping[str, Any], notes: Notes, *, name: str, max_tokens: int = DEFAULT
) -> ImportedModule:
    """Return manifest and handlers for the described functions of a module.

    Args:
        target: the module, perhaps with a server after a colon.
        described: the description of its functions.
        notes: receives the losses.
        name: name of the server; empty for that of the module.
        max_tokens: maximum tokens of the parameters of a tool; 0 for no limit.

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
    summary = summary_from(lead_of(described["summary"])) or f"Functions of {module}"
    about = {"name": names.server, "package": package, "handlers": handlers}
    about["instructions"] = cut(clean_text(server["instructions"]), _MAX_INSTRUCTIONS)
    head: dict[str, Any] = {
        "edition": 1,
        "server": {key: value for key, value in about.items() if value},
        "categories": {category: {"summary": summary}},
    }
    run = _Import(module=module, notes=notes, server=names.server, category=category, max_tokens=max_tokens)
    try:
        data = _valid_tables(run, described, head)
    except ImporterError:  # a type is invalid, which belongs to no single tool
        run = replace(run, plain=True, types=Types(), tables={}, tools={}, _lost=defaultdict(lambda: defaultdict(list)))
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
    return ImportedModule(
        name=names.server, text=_manifest_text(data, module, run.left_out()), handlers=files, tools=len(tools)
    )


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


def _manifest_text(data: Mapping[str, Any], module: str, left_out: Mapping[str, Sequence[str]]) -> str:
    """Return the manifest as TOML. `left_out` has the parameters that tools lack, for comments."""
    head = {key: value for key, value in data.items() if key not in ("types", "tools")}
    lines = []
    for name, table in data["types"].items():
        lines += ["", f"[types.{inline_key(name)}]"]
        lines += [f"{key} = {inline_value(value)}" for key, value in table.items() if key != "fields"]
        fields = table.get("fields", {})
        lines += [f"fields.{inline_key(key)} = {inline_value(value)}" for key, value in fields.items()]
    for name, table in data["tools"].items():
        comment = [f"# left out to save tokens: {', '.join(left_out[name])}"] if name in left_out else []
        lines += ["", *comment, f"[tools.{inline_key(name)}]"]
        lines += [f"{key} = {inline_value(value)}" for key, value in table.items() if key != "params"]
        params = table.get("params", {})
        lines += [f"params.{inline_key(key)} = {inline_value(value)}" for key, value in params.items()]
    comments = (f"Imported from the Python module {module}.", "Review the `hints` of each tool before you serve it.")
    return toml_text(head, *comments, multiline=True) + "".join(f"{line}\n" for line in lines)
