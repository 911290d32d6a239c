"""Checks of tables that several kinds of tools share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.problems import either, kind_of, quoted, table_name, unprintable, within
from toolmason_runtime.shared.toml.reader import TableContext
from toolmason_runtime.shared.toml.tables import Table, keys_of

from toolmason.kinds import errors_of, kinds
from toolmason.kinds.kind import Kind, Section
from toolmason.manifest.tables import CategoryTable, DefaultsTable

ARGUMENT_LOCATIONS: Final = ("flag", "positional", "stdin", "cwd")
"""Keys for the location of a parameter on a command line. A parameter has at most one."""

REQUEST_LOCATIONS: Final = ("query", "header", "cookie", "body")
"""Keys for the location of a parameter in a request. A parameter has at most one."""

RISKS: Final = ("read", "write", "destructive")
"""Risks of a call, in ascending order."""


def check_implementation(context: TableContext, kind: Kind) -> None:
    """Report keys that are incompatible with a kind, and missing or invalid keys that it requires."""
    for key, hint in incompatible_keys(kind).items():
        if key in context.data and kind.excludes(key, context.data):
            message = f"`{key}` cannot be combined with `{kind.key}` in {table_name(context.at)}"
            context.error("TM216", message, key, hint=hint, value=False)
    _check_param_keys(context, kind)
    if kind.section:
        _check_group(context, kind.section)
    with errors_of(kind):
        kind.check_tool(context)


def incompatible_keys(kind: Kind) -> dict[str, str]:
    """Return the keys of tools that a kind excludes, with a hint: those of other kinds, and its own list."""
    foreign = {
        key: other.key_hints.get(key, f"only tools with `{other.key}` have it")
        for other in kinds().values()
        if other is not kind
        for key in keys_of(other.tool_keys)
        if key != other.key
    }
    shared = keys_of(kind.tool_keys)
    return {key: hint for key, hint in (foreign | dict(kind.foreign_keys)).items() if key not in shared}


def _check_param_keys(context: TableContext, kind: Kind) -> None:
    if kind.takes_all_param_keys:
        return
    foreign = {key: other for other in kinds().values() if other is not kind for key in other.param_keys}
    for name, param in table_of(context.data, "params").items():
        for key, other in foreign.items():
            if isinstance(param, dict) and key in param:
                path = ("params", name, key)
                message = f"`{key}` cannot be combined with `{kind.key}` in {table_name((*context.at, *path[:-1]))}"
                context.error("TM216", message, *path, hint=other.param_hint, value=False)


def check_hints(context: TableContext) -> None:
    """Report missing `hints`."""
    if may_have_defaults(context, "categories", "category", CategoryTable, DefaultsTable):
        return
    sample = ", ".join(f"{name} = ..." for name in ("read_only", "destructive", "idempotent", "open_world"))
    context.missing("hints", f"{{ {sample} }}")


def may_have_defaults(
    context: TableContext, section: str, key: str, group: type[Table], group_defaults: type[Table]
) -> bool:
    """Return whether the group that `key` names has an error, such as a misspelt name, that hides its `defaults`.

    `group` and `group_defaults` are the classes of a table of `section` and of its `defaults`.
    """
    tables, name = context.document.data.get(section), context.data.get(key)
    if name is None:
        return any("defaults" in table for table in table_of(context.document.data, section).values())
    table = tables.get(name) if isinstance(tables, dict) and isinstance(name, str) else None
    if not isinstance(table, dict):
        return True
    defaults = table.get("defaults", {})
    return not isinstance(defaults, dict) or not (
        table.keys() <= keys_of(group).keys() and defaults.keys() <= keys_of(group_defaults).keys()
    )


def table_of(data: Any, key: str) -> Mapping[str, Any]:
    """Return the table under `key` of any value; empty if there is no table."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _check_group(context: TableContext, section: Section) -> None:
    """Report a missing or empty name of the table that a tool uses, and a tool without category."""
    key = section.key
    if key not in context.data:
        context.missing(key, '"..."')
        return
    name = context.data[key]
    if name == "":
        context.error("TM209", f"`{key}` in {table_name(context.at)} is empty", key)
    elif "category" not in context.data and not _has_category(context.document.data, section.name, name):
        hint = f'add `category = "..."` here, or in [{section.name}.{name}] for all of its tools'
        context.error("TM202", f"missing key `category` {within(context.at)}", hint=hint)


def _has_category(manifest: Mapping[str, Any], section: str, name: Any) -> bool:
    """Return whether a group of `section` has a category for its tools; true for undeclared ones, reported later."""
    table = table_of(manifest, section).get(name) if isinstance(name, str) else None
    return not isinstance(table, dict) or "category" in table


def check_one_risk(context: TableContext, risk: Any, *path: str) -> None:
    """Report a value at `path` that is not a risk."""
    if not isinstance(risk, str):
        message = f"{quoted('.'.join(path))} in {table_name(context.at)} must be a string, not {kind_of(risk)}"
        context.error("TM204", message, *path)
    elif risk not in RISKS:
        message = f"{quoted(risk)} is not a valid risk; use {either(RISKS)}"
        context.error("TM207", message, *path, hint=did_you_mean(risk, RISKS))


def check_group_names(context: TableContext) -> None:
    """Report names of tables of kinds, such as programs, that cannot be part of a Python constant."""
    for section in (kind.section for kind in kinds().values() if kind.section):
        for name in table_of(context.data, section.name):
            if not _GROUP_NAME.fullmatch(name):
                hint = "use letters, digits, underscores and dashes, starting with a letter"
                message = f"invalid {section.noun} name {quoted(name)}"
                context.error("TM206", message, section.name, name, hint=hint, value=False)


_GROUP_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_access(context: TableContext) -> None:
    """Report invalid paths in `reads`, `writes` and `executes`."""
    for key in ("reads", "writes", "executes"):
        _check_paths(context, key)


def check_words(context: TableContext, key: str) -> None:
    """Report control characters in the fixed part of a command line."""
    words = context.data.get(key)
    for index, word in enumerate(words if isinstance(words, list) else ()):
        if isinstance(word, str) and (characters := unprintable(word)):
            message = f"item {index + 1} of `{key}` in {table_name(context.at)} contains {characters}"
            context.error("TM210", message, key, index, hint="remove it")


def _check_paths(context: TableContext, key: str) -> None:
    """Report relative paths and unknown placeholders."""
    paths = context.data.get(key)
    for index, path in enumerate(paths if isinstance(paths, list) else ()):
        if not isinstance(path, str) or _PATH.fullmatch(path):
            continue
        if key == "executes" and _PROGRAM_NAME.fullmatch(path):
            continue
        message = (
            f"{quoted(path)} in `{key}` of {table_name(context.at)} must be absolute or start with `~/`, `$VAR/`, "
            f"`{{roots}}` or `{{cwd}}`"
        )
        hint = "write an absolute path, or the program's name alone" if key == "executes" else "write an absolute path"
        context.error("TM219", message, key, index, hint=hint)


_PATH: Final = re.compile(r"(?:/|~(?:/|\Z)|\$\w|\$\{\w+\})[^\0\n{}]*|\{roots\}|\{cwd\}")
"""A path of a sandbox: `/usr`, `~/.gitconfig`, `$HOME/src`, `${HOME}/src`, `{roots}` or `{cwd}`."""
_PROGRAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
"""A program that is looked up in `PATH`: `git`, `g++`, `python3.11`."""


def check_environment(context: TableContext) -> None:
    """Report invalid variables and values of `env` and `pass_env`."""
    for name, value in table_of(context.data, "env").items():
        _check_variable(context, name, "env", name, value=False)
        if isinstance(value, str) and "\0" in value:
            message = f"`{name}` in {table_name((*context.at, 'env'))} contains the control character U+0000"
            context.error("TM210", message, "env", name, hint="remove it")
    check_pass_env(context)


def check_pass_env(context: TableContext) -> None:
    """Report invalid names of environment variables in `pass_env`."""
    names = context.data.get("pass_env")
    for index, name in enumerate(names if isinstance(names, list) else ()):
        _check_variable(context, name, "pass_env", index, value=True)


def _check_variable(context: TableContext, name: Any, *path: str | int, value: bool) -> None:
    if isinstance(name, str) and not _VARIABLE.fullmatch(name):
        message = f"{quoted(name)} is not a valid name of an environment variable"
        hint = "use letters, digits and underscores, not starting with a digit"
        context.error("TM206", message, *path, hint=hint, value=value)


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_headers(context: TableContext) -> None:
    """Report names of HTTP headers and values that a request cannot have."""
    headers = context.data.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if not _HEADER.fullmatch(name):
            message = f"{quoted(name)} is not a valid name of an HTTP header"
            context.error("TM206", message, "headers", name, hint="write a name such as `Authorization`", value=False)
        elif isinstance(value, str) and (characters := unprintable(value)):
            message = f"`{name}` in {table_name((*context.at, 'headers'))} contains {characters}"
            context.error("TM210", message, "headers", name, hint="remove it")


_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""Name of an HTTP header (RFC 9110, token)."""


def check_value(context: TableContext) -> None:
    """Report a required value with a default."""
    if context.data.get("required") is True and "default" in context.data:
        message = f"{table_name(context.at)} is required, so its default is never used"
        context.error("TM213", message, "required", hint="remove `required` or `default`", value=False)


def check_param(context: TableContext) -> None:
    """Report a parameter with a contradiction or with two locations."""
    check_value(context)
    check_bare_word(context)
    if context.at[:1] == ("params",) and "use" in context.data:
        message = f"`use` cannot be combined with `type` in {table_name(context.at)}"
        context.error(
            "TM225", message, "use", hint="write all keys here: a shared parameter cannot use another", value=False
        )
    locations = [key for key in (*ARGUMENT_LOCATIONS, *REQUEST_LOCATIONS) if key in context.data]
    for extra in locations[1:]:
        message = f"{table_name(context.at)} sets both `{locations[0]}` and `{extra}`"
        context.error("TM217", message, extra, hint="keep one of them", value=False)


def check_bare_word(context: TableContext) -> None:
    """Report a bare word as the flag of a parameter that is not a boolean: its value would be a separate argument."""
    flag, kind = context.data.get("flag"), context.data.get("type", "string")
    if isinstance(flag, str) and isinstance(kind, str) and kind != "boolean" and flag[-1:].isalnum() and flag[0] != "-":
        message = f"`flag` in {table_name(context.at)} is the bare word {quoted(flag)}, which only booleans support"
        hint = f"write `--{flag}` or `{flag}=`, or make it `positional`"
        context.error("TM223", message, "flag", hint=hint)
