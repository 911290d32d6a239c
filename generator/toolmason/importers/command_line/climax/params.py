"""Convert arguments of CLImax's tools and programs to parameters with the same command line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.toml.problems import quoted

from toolmason.importers.command_line.climax.mapping_reader import Fields
from toolmason.importers.names import one_line, snake, unique
from toolmason.importers.notes import Notes
from toolmason.kinds.command.resolve import default_flag
from toolmason.manifest.tables import ParamTable

_KEYS: Final = (
    *("name", "description", "type", "required", "default"),
    *("flag", "positional", "cwd", "stdin", "enum"),
)
_TYPES: Final = ("string", "integer", "number", "boolean")
_LOCATIONS: Final = ("stdin", "cwd", "positional")
"""Locations other than a flag, by priority."""
_FLAG: Final = next(field.metadata["pattern"] for field in dataclasses.fields(ParamTable) if field.name == "flag")
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
"""A variable: `$HOME` or `${HOME}`."""
_MAX_NAME_LENGTH: Final = 64
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
"""An integer that Python and TOML write alike, such as `-12`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Global:
    """An argument of every command line of a program, with its option."""

    name: str
    flag: str
    table: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of a tool, and the new name of each argument by its original name."""

    tables: dict[str, dict[str, Any]]
    names: Mapping[str, str]


def global_params(fields: Fields) -> list[Global]:
    """Return the arguments of all command lines that CLImax passes."""
    params: dict[str, Global] = {}
    # Problems of the tools are noted later by `tool_params`; these notes are discarded.
    without_notes = dataclasses.replace(fields, notes=Notes())
    names = {argument.text("name") for tool in without_notes.mappings("tools") for argument in tool.mappings("args")}
    for argument in fields.mappings("global_args"):
        original = argument.text("name")
        inner = argument.called(f"global_args.{original}")
        inner.report_unknown(_KEYS)
        flag = _flag(inner, original, is_global=True)
        value = _global_value(inner) if flag else {}
        if not value:
            continue
        if any(_bare(param.flag) == _bare(flag) for param in params.values()):
            _leave_out(inner, f"`{flag}` is passed already", is_global=True)
            continue
        # CLImax passes both this argument and a tool's argument of the same name, so they need two names.
        name = unique(snake(original, "argument"), {*params, *names})
        table: dict[str, Any] = {} if value["type"] == "string" else {"type": value["type"]}
        if description := argument.text("description").strip():
            table["description"] = description
        if flag != default_flag(name):
            table["flag"] = flag
        params[name] = Global(name=name, flag=flag, table=table | {k: v for k, v in value.items() if k != "type"})
    return list(params.values())


def _global_value(fields: Fields) -> dict[str, Any]:
    """Return type and value of an argument that the operator sets; empty if CLImax never passes it."""
    kind = fields.choice("type", _TYPES) or "string"
    if not fields.has("default"):
        fields.note("it has no default, so CLImax never passed it: left out")
        return {}
    for key in (*_LOCATIONS, "enum"):
        if fields.has(key):
            fields.note(f"`{key}` has no effect here, left out", key)
    text = _default_text(fields)
    if not text:
        return {}
    if variable := _VARIABLE.fullmatch(text):
        return {"type": "boolean" if kind == "boolean" else "string", "default_env": variable[1] or variable[2]}
    if _VARIABLE.search(text):
        _leave_out(
            fields,
            f"{quoted(text)} combines a variable with other text",
            is_global=True,
        )
        return {}
    if kind == "boolean":
        return {"type": kind, "default": True} if text in ("true", "True", "1") else {}
    return {"type": "string", "default": text}


def tool_params(fields: Fields, globals_: Sequence[Global]) -> Params:
    """Return the parameters of a tool in the order of its arguments."""
    tables: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    flags = {_bare(param.flag): param.name for param in globals_}
    single: dict[str, str] = {}
    for argument in fields.mappings("args"):
        original = argument.text("name")
        inner = argument.called(f"{fields.about}.{original}")
        if not original or original in names:
            _leave_out(inner, "duplicate argument" if original else "it has no name")
            continue
        inner.report_unknown(_KEYS)
        table = _param(inner, original)
        location = _location(inner)
        if not _claim_location(inner, original, location, single, flags):
            continue
        name = unique(snake(original, "argument")[:_MAX_NAME_LENGTH], tables)
        names[original] = name
        if name != original:
            inner.note(f"the argument is renamed to `{name}`", "name")
        if location == "flag" and (flag := _flag(inner, original)) != default_flag(name):
            table["flag"] = flag
        tables[name] = table
    _order_positionals(fields, tables)
    return Params(tables=tables, names=names)


def _claim_location(fields: Fields, name: str, location: str, single: dict[str, str], flags: dict[str, str]) -> bool:
    """Return whether the location of an argument is free, and reserve it."""
    if location == "flag":
        flag = _flag(fields, name)
        if not flag:
            return False
        if _bare(flag) in flags:
            _leave_out(fields, f"`{_bare(flag)}` is already the option of `{flags[_bare(flag)]}`")
            return False
        flags[_bare(flag)] = name
    elif location != "positional":
        if location in single:
            fields.note(f"`{location}` is already used by `{single[location]}`, left out", location)
            return False
        single[location] = name
    return True


def _bare(flag: str) -> str:
    return flag.removesuffix("=")


def _leave_out(fields: Fields, reason: str, key: str = "", *, is_global: bool = False) -> None:
    """Note that an argument is left out.

    A default that CLImax passes stops the import: without it, the tool would behave differently.
    """
    if default := _effective_default(fields, is_global=is_global):
        effect = f"and the tool would behave differently without its default {quoted(default)}"
        fields.stop(f"{reason}, {effect}: change it in this file, or remove the default", key)
    else:
        fields.note(f"{reason}, left out", key)


def _effective_default(fields: Fields, *, is_global: bool) -> str:
    """Return the default that CLImax passes for an omitted value; empty if it passes none."""
    if not fields.has("default"):
        return ""
    node = fields.get("default")
    text = node.text if isinstance(node.value, dict | tuple) else str(node.value)
    if fields.has("type") and fields.get("type").value == "boolean":
        is_on = text in ("true", "True", "1") if is_global else text in ("true", "True")
        return text if is_on else ""
    if not is_global and (_location(fields) != "flag" or fields.flag("required")):
        return ""
    return text or "[...]"


def _flag(fields: Fields, name: str, *, is_global: bool = False) -> str:
    """Return the option of an argument; empty, with a note, if it is invalid in a manifest."""
    flag = fields.text("flag") or f"--{name.replace('_', '-')}"
    if not re.fullmatch(_FLAG, flag):
        _leave_out(fields, f"{quoted(flag)} is not a valid option of a manifest", "flag", is_global=is_global)
        return ""
    is_boolean = fields.text("type") == "boolean"
    if flag.endswith("=") and is_boolean:
        _leave_out(
            fields,
            f"{quoted(flag)} was passed without a value",
            "flag",
            is_global=is_global,
        )
        return ""
    if not is_boolean and not flag.startswith("-") and not flag.endswith("="):
        _leave_out(fields, f"{quoted(flag)} is a bare word before a value", "flag", is_global=is_global)
        return ""
    return flag


def _location(fields: Fields) -> str:
    return next((key for key in _LOCATIONS if fields.has(key) and fields.flag(key)), "flag")


def _param(fields: Fields, name: str) -> dict[str, Any]:
    """Return the table of a parameter without its flag."""
    location = _location(fields)
    for key in (*_LOCATIONS, "flag"):
        if location not in (key, "flag") and fields.has(key) and (key == "flag" or fields.flag(key)):
            fields.note(f"`{key}` has no effect with `{location}`, left out", key)
    kind, choices = _type(fields, location)
    table: dict[str, Any] = {"type": kind, "description": fields.text("description").strip() or one_line(name)}
    if not fields.text("description").strip():
        fields.note("it has no description: write one")
    is_required = fields.flag("required")
    default = _default(fields, kind, location, is_required=is_required)
    if choices and default is not None and default not in choices:
        fields.note(f"its default {quoted(str(default))} is not in `enum`: added", "enum")
        choices.append(default)
    if choices:
        table["enum"] = choices
    if default is not None:
        table["default"] = default
    elif not is_required:
        table["required"] = False
    if location != "flag":
        table[location] = True
    return table


def _type(fields: Fields, location: str) -> tuple[str, list[Any]]:
    """Return a type and choices that are valid in a manifest."""
    kind = fields.choice("type", _TYPES) or "string"
    choices = list(dict.fromkeys(choice for choice in fields.texts("enum") if choice))
    if len(choices) < len(fields.texts("enum")):
        fields.note("`enum` contains a duplicate or an empty choice: left out", "enum")
    if location in ("stdin", "cwd") and kind != "string":
        fields.note(f"`{location}` takes a text, so `{kind}` becomes `string`", "type")
        return "string", choices
    if kind == "boolean" and location == "positional":
        fields.note("a boolean cannot be positional: it becomes the texts `True` and `False`", "type")
        return "string", ["True", "False"]
    if kind == "boolean" and choices:
        fields.note("`enum` does not apply to booleans, left out", "enum")
        return kind, []
    if kind == "number" and choices:
        fields.note("a number cannot have `enum`: it becomes `string`", "type")
        return "string", choices
    if kind == "integer" and choices:
        if all(_INTEGER.fullmatch(choice) for choice in choices):
            return kind, [int(choice) for choice in choices]
        fields.note("`enum` contains a value that is not an integer: it becomes `string`", "type")
        return "string", choices
    return kind, choices


def _default(fields: Fields, kind: str, location: str, *, is_required: bool) -> Any:
    """Return the default that CLImax passes; None if it passes none."""
    if not fields.has("default"):
        return None
    if location != "flag":
        fields.note(f"the default of a `{location}` argument was never used: left out", "default")
        return None
    if is_required:
        fields.note("it is required, so its default was never used: left out", "default")
        return None
    text = _default_text(fields)
    if text is None:
        return None
    if kind == "string":
        return text
    if kind == "boolean":
        return _boolean(fields, text)
    if _INTEGER.fullmatch(text):
        return int(text)
    value = fields.get("default").value
    if isinstance(value, float) and str(value) == text and (kind == "number" or value.is_integer()):
        if not abs(value) < 1e15:  # not a number, infinite, or written with an exponent
            _leave_out(fields, f"the default {quoted(text)} has no plain decimal form", "default")
            return None
        if kind == "integer":
            fields.note(f"the default of an integer is passed as `{int(value)}` instead of `{text}`", "default")
        return int(value) if kind == "integer" else value
    _leave_out(fields, f"the default {quoted(text)} is not of type {kind}", "default")
    return None


def _boolean(fields: Fields, text: str) -> bool | None:
    if text in ("True", "true"):
        return True
    if text not in ("False", "false"):
        fields.note(f"the default {quoted(text)} is not a boolean and had no effect, left out", "default")
    return None


def _default_text(fields: Fields) -> str | None:
    """Return the default as Python formats it; None, with a note, if it is not a scalar."""
    value = fields.get("default").value
    if isinstance(value, dict | tuple):
        _leave_out(fields, "`default` is not a scalar", "default")
        return None
    return str(value)


def _order_positionals(fields: Fields, tables: dict[str, dict[str, Any]]) -> None:
    """Make positional arguments after an optional one optional."""
    before = ""
    for name, table in tables.items():
        if not table.get("positional"):
            continue
        is_required = table.get("required", True)
        if is_required and before:
            table["required"] = False
            fields.note(f"`{name}` was required, but follows the optional `{before}`: now both are optional")
        before = before or ("" if is_required else name)
