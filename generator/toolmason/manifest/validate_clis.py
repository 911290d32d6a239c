"""Checks of `[clis]`, and of tools and parameters that use or exclude a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.problems import either, kind_of, quoted, table_name, unprintable, within
from toolmason_runtime.toml.reader import TableContext
from toolmason_runtime.toml.tables import keys_of

from toolmason.manifest.tables import CategoryTable, CliDefaultsTable, CliTable, DefaultsTable

ARGUMENT_LOCATIONS: Final = ("flag", "positional", "stdin", "cwd")
"""Keys for the location of a parameter on a command line. A parameter has at most one."""

COMMAND_KEYS: Final = (*ARGUMENT_LOCATIONS, "separator")
"""Keys of a parameter that only tools with `cli` have."""

REQUEST_LOCATIONS: Final = ("query", "header", "body")
"""Keys for the location of a parameter in a request. A parameter has at most one."""

REQUEST_KEYS: Final = (*REQUEST_LOCATIONS, "style")
"""Keys of a parameter that only tools with `api` have."""

RISKS: Final = ("read", "write", "destructive")
"""Risks of a call, in ascending order."""

MAX_EXIT_CODE: Final = 255

_UPSTREAM_KEYS: Final = {
    "upstream_tool": "only tools with `upstream` have it",
    "upstream_hash": "only tools with `upstream` have it",
    "hints_source": "only tools with `upstream` have it",
    "arguments": "write `params` for the parameters; only tools with `upstream` change arguments",
}
_HTTP_KEYS: Final = dict.fromkeys(("http", "body", "paginate", "select"), "only tools with `api` have it")
INCOMPATIBLE_KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "handler": {
        "argv": "only tools with `cli` have a command line",
        "risk": "write `hints` instead",
        "confirm": "ask with `call.elicit` in the handler",
        "timeout": "enforce the timeout in the handler",
        "ok_exit_codes": "raise `ToolError` in the handler",
        "output": "only tools with `cli` have it; a handler with `returns` returns the type",
        **_HTTP_KEYS,
        **_UPSTREAM_KEYS,
    },
    "cli": {
        "hints": "remove them: they follow from `risk`",
        "returns": 'programs return text: remove it, or write `output = "json"` if this one prints JSON',
        "input_schema": "write `params`: each needs a location on the command line",
        "verbatim_schema": "write `params`: each needs a location on the command line",
        **_HTTP_KEYS,
        **_UPSTREAM_KEYS,
    },
    "api": {
        "argv": "only tools with `cli` have a command line",
        "hints": "remove them: they follow from the method of `http`, or from `risk`",
        "ok_exit_codes": "remove it: a status of 400 or more is an error",
        "output": "remove it: with `returns`, the answer is read as JSON",
        **_UPSTREAM_KEYS,
    },
    "upstream": {
        "argv": "only tools with `cli` have a command line",
        "risk": "write `hints` instead",
        "confirm": "remove it: the question for approval shows the arguments",
        "ok_exit_codes": "remove it: the upstream reports errors itself",
        "output": "remove it: results of the upstream are passed on",
        **_HTTP_KEYS,
        "params": "write `input_schema`, the upstream's schema",
        "returns": "remove it: results of the upstream are passed on",
    },
}
"""Implementation -> keys that require another one -> hint."""


def check_implementation(context: TableContext, implementation: str) -> None:
    """Report keys that are incompatible with an implementation, and missing or invalid keys that it requires."""
    for key, hint in INCOMPATIBLE_KEYS[implementation].items():
        if key in context.data and not (key == "returns" and _has_json_output(context)):
            message = f"`{key}` cannot be combined with `{implementation}` in {table_name(context.at)}"
            context.error("TM216", message, key, hint=hint, value=False)
    _check_param_keys(context, implementation)
    if implementation == "handler":
        _check_handler_tool(context)
    elif implementation == "cli":
        _check_cli_tool(context)


def _has_json_output(context: TableContext) -> bool:
    return context.data.get("cli") is not None and context.data.get("output") == "json"


def _check_handler_tool(context: TableContext) -> None:
    context.missing("category", '"..."')
    check_hints(context)


_PARAM_KEYS: Final = {
    **dict.fromkeys(COMMAND_KEYS, ("cli", "only tools with `cli` have a command line")),
    **dict.fromkeys(REQUEST_KEYS, ("api", "only tools with `api` send a request")),
}
"""Key of a parameter -> the implementation that it requires, and a hint."""


def _check_param_keys(context: TableContext, implementation: str) -> None:
    for name, param in table_of(context.data, "params").items():
        for key, (required, hint) in _PARAM_KEYS.items():
            if isinstance(param, dict) and key in param and implementation not in (required, "upstream"):
                path = ("params", name, key)
                message = (
                    f"`{key}` cannot be combined with `{implementation}` in {table_name((*context.at, *path[:-1]))}"
                )
                context.error("TM216", message, *path, hint=hint, value=False)


def check_hints(context: TableContext) -> None:
    """Report missing `hints`."""
    if _may_have_defaults(context, "categories", "category"):
        return
    sample = ", ".join(f"{name} = ..." for name in ("read_only", "destructive", "idempotent", "open_world"))
    context.missing("hints", f"{{ {sample} }}")


def _may_have_defaults(context: TableContext, section: str, key: str) -> bool:
    """Return whether the group that `key` names has an error, such as a misspelt name, that hides its `defaults`."""
    tables, name = context.document.data.get(section), context.data.get(key)
    if name is None:
        return any("defaults" in table for table in table_of(context.document.data, section).values())
    table = tables.get(name) if isinstance(tables, dict) and isinstance(name, str) else None
    if not isinstance(table, dict):
        return True
    defaults, types = table.get("defaults", {}), _GROUPS[section]
    return not isinstance(defaults, dict) or not (
        table.keys() <= types[0].keys() and defaults.keys() <= types[1].keys()
    )


_GROUPS: Final = {
    "categories": (keys_of(CategoryTable), keys_of(DefaultsTable)),
    "clis": (keys_of(CliTable), keys_of(CliDefaultsTable)),
}
"""Keys of a table of a section, and of its `defaults`."""


def _check_cli_tool(context: TableContext) -> None:
    check_provider(context, "cli")
    check_words(context, "argv")
    _check_exit_codes(context)
    if _has_json_output(context):
        context.missing("returns", '"..."')
    if "risk" in context.data:
        _check_risk(context)
    elif not _may_have_defaults(context, "clis", "cli"):
        context.missing("risk", '"read"`, `"write"` or `"destructive"')


def table_of(data: Any, key: str) -> Mapping[str, Any]:
    """Return the table under `key` of any value; empty if there is no table."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def check_provider(context: TableContext, key: str) -> None:
    """Report an empty name of the program, API or upstream of a tool, and a tool without category."""
    name, section = context.data[key], f"{key}s"
    if name == "":
        context.error("TM209", f"`{key}` in {table_name(context.at)} is empty", key)
    elif "category" not in context.data and not _has_category(context.document.data, section, name):
        hint = f'add `category = "..."` here, or in [{section}.{name}] for all of its tools'
        context.error("TM202", f"missing key `category` {within(context.at)}", hint=hint)


def _has_category(manifest: Mapping[str, Any], section: str, name: Any) -> bool:
    """Return whether a group of `section` has a category for its tools; true for undeclared ones, reported later."""
    table = table_of(manifest, section).get(name) if isinstance(name, str) else None
    return not isinstance(table, dict) or "category" in table


def _check_risk(context: TableContext) -> None:
    """Check `risk`: a risk, or risks by the value of a parameter, as in `{ method = { GET = "read" } }`."""
    risk = context.data["risk"]
    if not isinstance(risk, dict):
        check_one_risk(context, risk, "risk")
    elif not risk:
        message = f"`risk` in {table_name(context.at)} is empty"
        context.error("TM209", message, "risk", hint=f"write {either(RISKS)}, or a table for a parameter")
    else:
        for param in risk:
            _check_risk_by_value(context, risk[param], param)


def _check_risk_by_value(context: TableContext, by_value: Any, param: str) -> None:
    if isinstance(by_value, dict):
        for value, risk in by_value.items():
            check_one_risk(context, risk, "risk", param, value)
        return
    message = f"`risk.{param}` in {table_name(context.at)} must be a table, not {kind_of(by_value)}"
    context.error("TM204", message, "risk", param, hint=f'write `risk.{param} = {{ VALUE = "read" }}`')


def check_one_risk(context: TableContext, risk: Any, *path: str) -> None:
    """Report a value at `path` that is not a risk."""
    if not isinstance(risk, str):
        message = f"{quoted('.'.join(path))} in {table_name(context.at)} must be a string, not {kind_of(risk)}"
        context.error("TM204", message, *path)
    elif risk not in RISKS:
        message = f"{quoted(risk)} is not a valid risk; use {either(RISKS)}"
        context.error("TM207", message, *path, hint=did_you_mean(risk, RISKS))


def _check_exit_codes(context: TableContext) -> None:
    codes = context.data.get("ok_exit_codes")
    for index, code in enumerate(codes if isinstance(codes, list) else ()):
        if type(code) is int and not 0 <= code <= MAX_EXIT_CODE:
            message = f"item {index + 1} of `ok_exit_codes` in {table_name(context.at)} is {code}"
            hint = f"write a code from 0 to {MAX_EXIT_CODE}; a program that a signal ends has failed"
            context.error("TM224", message, "ok_exit_codes", index, hint=hint)


def check_cli_names(context: TableContext) -> None:
    """Report names of programs, APIs and upstreams that cannot be part of a Python constant."""
    for section, kind in (("clis", "program"), ("apis", "API"), ("upstreams", "upstream")):
        for name in table_of(context.data, section):
            if not _PROGRAM.fullmatch(name):
                hint = "use letters, digits, underscores and dashes, starting with a letter"
                context.error("TM206", f"invalid {kind} name {quoted(name)}", section, name, hint=hint, value=False)


_PROGRAM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_cli(context: TableContext) -> None:
    """Check the command, environment and sandbox paths of a program."""
    command = context.data.get("command")
    if isinstance(command, list) and command and isinstance(command[0], str) and not command[0].strip():
        hint = 'name the program and its fixed arguments: `command = ["git"]`'
        context.error("TM209", f"`command` in {table_name(context.at)} names no program", "command", hint=hint)
    check_words(context, "command")
    check_environment(context)
    check_access(context)


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


def check_cli_param(context: TableContext) -> None:
    """Report an argument without a value, and a bare word as the flag of a value."""
    _check_bare_word(context)
    if "default" not in context.data and "default_env" not in context.data:
        message = f"{table_name(context.at)} has no effect without a value"
        context.error("TM215", message, hint="add `default`, or `default_env` with an environment variable")


def check_value(context: TableContext) -> None:
    """Report a required value with a default."""
    if context.data.get("required") is True and "default" in context.data:
        message = f"{table_name(context.at)} is required, so its default is never used"
        context.error("TM213", message, "required", hint="remove `required` or `default`", value=False)


def check_param(context: TableContext) -> None:
    """Report a parameter with a contradiction or with two locations."""
    check_value(context)
    _check_bare_word(context)
    if context.at[:1] == ("params",) and "use" in context.data:
        message = f"`use` cannot be combined with `type` in {table_name(context.at)}"
        context.error(
            "TM225", message, "use", hint="write all keys here: a shared parameter cannot use another", value=False
        )
    locations = [key for key in (*ARGUMENT_LOCATIONS, *REQUEST_LOCATIONS) if key in context.data]
    for extra in locations[1:]:
        message = f"{table_name(context.at)} sets both `{locations[0]}` and `{extra}`"
        context.error("TM217", message, extra, hint="keep one of them", value=False)


def _check_bare_word(context: TableContext) -> None:
    """Report a bare word as the flag of a parameter that is not a boolean: its value would be a separate argument."""
    flag, kind = context.data.get("flag"), context.data.get("type", "string")
    if isinstance(flag, str) and isinstance(kind, str) and kind != "boolean" and flag[-1:].isalnum() and flag[0] != "-":
        message = f"`flag` in {table_name(context.at)} is the bare word {quoted(flag)}, which only booleans support"
        hint = f"write `--{flag}` or `{flag}=`, or make it `positional`"
        context.error("TM223", message, "flag", hint=hint)
