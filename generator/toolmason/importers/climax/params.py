"""The arguments of CLImax's tools and programs, turned into parameters that write the same command line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.toml.problems import quoted

from toolmason.importers.climax.mapping_reader import Fields
from toolmason.importers.names import one_line, snake, unique
from toolmason.importers.notes import Notes
from toolmason.manifest.tables import ParamTable
from toolmason.resolve.clis import automatic_flag

_KEYS: Final = (
    *("name", "description", "type", "required", "default"),
    *("flag", "positional", "cwd", "stdin", "enum"),
)
_TYPES: Final = ("string", "integer", "number", "boolean")
_PLACES: Final = ("stdin", "cwd", "positional")
"""The places that are no flag, the one that counts first."""
_FLAG: Final = next(each.metadata["pattern"] for each in dataclasses.fields(ParamTable) if each.name == "flag")
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_MAX_NAME_LENGTH: Final = 64
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
"""An integer as Python writes it, which TOML takes too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Global:
    """An argument of every command line of a program, with its option."""

    name: str
    flag: str
    table: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of a tool, and for each argument by its old name its new one."""

    tables: dict[str, dict[str, Any]]
    names: Mapping[str, str]


def global_params(fields: Fields) -> list[Global]:
    """Give those of the arguments of all command lines that are ever written."""
    found: dict[str, Global] = {}
    # What is wrong with the tools is noted when they are read: here nobody is told.
    unheard = dataclasses.replace(fields, notes=Notes())
    names = {each.text("name") for tool in unheard.mappings("tools") for each in tool.mappings("args")}
    for argument in fields.mappings("global_args"):
        original = argument.text("name")
        inner = argument.called(f"global_args.{original}")
        inner.known(_KEYS)
        flag = _flag(inner, original, is_global=True)
        value = _global_value(inner) if flag else {}
        if not value:
            continue
        if any(_bare(each.flag) == _bare(flag) for each in found.values()):
            _leave_out(inner, f"`{flag}` is written already", is_global=True)
            continue
        # A parameter of a tool stands for the argument of its name: both were written, so they get two names.
        name = unique(snake(original, "argument"), {*found, *names})
        table: dict[str, Any] = {} if value["type"] == "string" else {"type": value["type"]}
        if description := argument.text("description").strip():
            table["description"] = description
        if flag != automatic_flag(name):
            table["flag"] = flag
        found[name] = Global(name=name, flag=flag, table=table | {k: v for k, v in value.items() if k != "type"})
    return list(found.values())


def _global_value(fields: Fields) -> dict[str, Any]:
    """Give type and value of an argument that is set by who runs the server; empty if it is never written."""
    kind = fields.choice("type", _TYPES) or "string"
    if not fields.has("default"):
        fields.note("it has no default, so it was never written: left out")
        return {}
    for key in (*_PLACES, "enum"):
        if fields.has(key):
            fields.note(f"`{key}` had no effect here, left out", key)
    text = _written(fields)
    if not text:
        return {}
    if variable := _VARIABLE.fullmatch(text):
        return {"type": "boolean" if kind == "boolean" else "string", "default_env": variable[1] or variable[2]}
    if _VARIABLE.search(text):
        _leave_out(fields, f"{quoted(text)} holds a variable besides other text, which cannot be", is_global=True)
        return {}
    if kind == "boolean":
        return {"type": kind, "default": True} if text in ("true", "True", "1") else {}
    return {"type": "string", "default": text}


def tool_params(fields: Fields, globals_: Sequence[Global]) -> Params:
    """Give the parameters of a tool, in the order that its arguments have."""
    tables: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    flags = {_bare(each.flag): each.name for each in globals_}
    single: dict[str, str] = {}
    for argument in fields.mappings("args"):
        original = argument.text("name")
        inner = argument.called(f"{fields.about}.{original}")
        if not original or original in names:
            _leave_out(inner, "an argument of the same name again" if original else "it has no name")
            continue
        inner.known(_KEYS)
        table = _param(inner, original)
        place = _place(inner)
        if table is None or not _has_room(inner, original, place, single, flags):
            continue
        name = unique(snake(original, "argument")[:_MAX_NAME_LENGTH], tables)
        names[original] = name
        if name != original:
            inner.note(f"the argument is called `{name}`", "name")
        if place == "flag" and (flag := _flag(inner, original)) != automatic_flag(name):
            table["flag"] = flag
        tables[name] = table
    _order_positionals(fields, tables)
    return Params(tables=tables, names=names)


def _has_room(fields: Fields, name: str, place: str, single: dict[str, str], flags: dict[str, str]) -> bool:
    """Whether the place of an argument is still free."""
    if place == "flag":
        flag = _flag(fields, name)
        if not flag:
            return False
        if _bare(flag) in flags:
            _leave_out(fields, f"`{_bare(flag)}` is the option of `{flags[_bare(flag)]}` already")
            return False
        flags[_bare(flag)] = name
    elif place != "positional":
        if place in single:
            fields.note(f"`{single[place]}` is its `{place}` already, left out", place)
            return False
        single[place] = name
    return True


def _bare(flag: str) -> str:
    return flag.removesuffix("=")


def _leave_out(fields: Fields, reason: str, key: str = "", *, is_global: bool = False) -> None:
    """Note that an argument is left out.

    One with a default that CLImax writes stops the import: without it, the tool would do something else.
    """
    if default := _effective_default(fields, is_global=is_global):
        words = f"and the tool would do something else without its default {quoted(default)}"
        fields.stop(f"{reason}, {words}: change it in this file, or remove the default", key)
    else:
        fields.note(f"{reason}, left out", key)


def _effective_default(fields: Fields, *, is_global: bool) -> str:
    """Return the default that CLImax writes on a command line where no value is sent; empty if it writes none."""
    if not fields.has("default"):
        return ""
    node = fields.get("default")
    text = node.text if isinstance(node.value, dict | tuple) else str(node.value)
    if fields.has("type") and fields.get("type").value == "boolean":
        is_on = text in ("true", "True", "1") if is_global else text in ("true", "True")
        return text if is_on else ""
    if not is_global and (_place(fields) != "flag" or fields.flag("required")):
        return ""
    return text or "[...]"


def _flag(fields: Fields, name: str, *, is_global: bool = False) -> str:
    """Give the option of an argument as it was written; empty, and noted, if no manifest takes it."""
    flag = fields.text("flag") or f"--{name.replace('_', '-')}"
    if not re.fullmatch(_FLAG, flag):
        _leave_out(fields, f"{quoted(flag)} is no option that a manifest takes", "flag", is_global=is_global)
        return ""
    is_switch = fields.text("type") == "boolean"
    if flag.endswith("=") and is_switch:
        _leave_out(fields, f"{quoted(flag)} was written without a value, which cannot be", "flag", is_global=is_global)
        return ""
    if not is_switch and not flag.startswith("-") and not flag.endswith("="):
        _leave_out(fields, f"{quoted(flag)} is a bare word before a value", "flag", is_global=is_global)
        return ""
    return flag


def _place(fields: Fields) -> str:
    return next((each for each in _PLACES if fields.has(each) and fields.flag(each)), "flag")


def _param(fields: Fields, name: str) -> dict[str, Any] | None:
    """Make the table of a parameter, without its flag; None if it can be no parameter."""
    place = _place(fields)
    for key in (*_PLACES, "flag"):
        if place not in (key, "flag") and fields.has(key) and (key == "flag" or fields.flag(key)):
            fields.note(f"`{key}` has no effect beside `{place}`, left out", key)
    kind, choices = _type(fields, place)
    table: dict[str, Any] = {"type": kind, "description": fields.text("description").strip() or one_line(name)}
    if not fields.text("description").strip():
        fields.note("it has no description: write one")
    is_required = fields.flag("required")
    default = _default(fields, kind, place, is_required=is_required)
    if choices and default is not None and default not in choices:
        fields.note(f"its default {quoted(str(default))} is none of `enum`: added there", "enum")
        choices.append(default)
    if choices:
        table["enum"] = choices
    if default is not None:
        table["default"] = default
    elif not is_required:
        table["required"] = False
    if place != "flag":
        table[place] = True
    return table


def _type(fields: Fields, place: str) -> tuple[str, list[Any]]:
    """Give the type of an argument with its choices, both as a manifest can have them."""
    kind = fields.choice("type", _TYPES) or "string"
    choices = list(dict.fromkeys(each for each in fields.texts("enum") if each))
    if len(choices) < len(fields.texts("enum")):
        fields.note("`enum` holds a choice twice, or an empty one: left out", "enum")
    if place in ("stdin", "cwd") and kind != "string":
        fields.note(f"`{place}` takes a text, so `{kind}` becomes `string`", "type")
        return "string", choices
    if kind == "boolean" and place == "positional":
        fields.note("true or false cannot be positional: it takes the texts `True` and `False`", "type")
        return "string", ["True", "False"]
    if kind == "boolean" and choices:
        fields.note("`enum` says nothing of true and false, left out", "enum")
        return kind, []
    if kind == "number" and choices:
        fields.note("a number cannot have `enum`: it becomes `string`", "type")
        return "string", choices
    if kind == "integer" and choices:
        if all(_INTEGER.fullmatch(each) for each in choices):
            return kind, [int(each) for each in choices]
        fields.note("`enum` holds what is no integer: it becomes `string`", "type")
        return "string", choices
    return kind, choices


def _default(fields: Fields, kind: str, place: str, *, is_required: bool) -> Any:
    """Give the default that was written on command lines; None if there was none."""
    if not fields.has("default"):
        return None
    if place != "flag":
        fields.note(f"the default of a `{place}` argument was shown and never used: left out", "default")
        return None
    if is_required:
        fields.note("it is required, so its default was never used: left out", "default")
        return None
    text = _written(fields)
    if text is None:
        return None
    if kind == "string":
        return text
    if kind == "boolean":
        return _switch(fields, text)
    if _INTEGER.fullmatch(text):
        return int(text)
    value = fields.get("default").value
    if isinstance(value, float) and str(value) == text and (kind == "number" or value.is_integer()):
        if not abs(value) < 1e15:  # not a number, infinite, or written with an exponent
            _leave_out(fields, f"the default {quoted(text)} is no number that a command line has", "default")
            return None
        if kind == "integer":
            fields.note(f"the default of an integer is written as `{int(value)}`, and was as `{text}`", "default")
        return int(value) if kind == "integer" else value
    _leave_out(fields, f"the default {quoted(text)} is no {kind}", "default")
    return None


def _switch(fields: Fields, text: str) -> bool | None:
    if text in ("True", "true"):
        return True
    if text not in ("False", "false"):
        fields.note(f"the default {quoted(text)} is neither true nor false, left out, as it had no effect", "default")
    return None


def _written(fields: Fields) -> str | None:
    """Return the default as it came on the command line, as Python writes it; None if it is no scalar."""
    value = fields.get("default").value
    if isinstance(value, dict | tuple):
        _leave_out(fields, "`default` is no scalar", "default")
        return None
    return str(value)


def _order_positionals(fields: Fields, tables: dict[str, dict[str, Any]]) -> None:
    """Let what comes after an argument that may be missing be optional too: the order is what counts."""
    before = ""
    for name, table in tables.items():
        if not table.get("positional"):
            continue
        is_required = table.get("required", True)
        if is_required and before:
            table["required"] = False
            fields.note(f"`{name}` was required and comes after `{before}`, which may be missing: now both may be")
        before = before or ("" if is_required else name)
