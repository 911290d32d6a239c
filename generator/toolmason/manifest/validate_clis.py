"""What is checked of programs, and of the tools that run them, beyond what one key can say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.problems import either, kind_of, quoted, table_name, unprintable, within
from toolmason_runtime.toml.reader import TableContext

PLACES: Final = ("flag", "positional", "stdin", "cwd")
"""The keys that say where on a command line a parameter goes. It has one of them at most."""

RISKS: Final = ("read", "write", "destructive")
"""What running a command may do, least first."""

MAX_EXIT_CODE: Final = 255

ONLY_OF: Final[Mapping[str, Mapping[str, str]]] = {
    "handler": {
        "argv": "it is about the command line of a tool with `cli`",
        "risk": "say it with `hints`",
        "confirm": "a handler asks for itself, with `call.elicit`",
        "timeout": "a handler keeps its own time",
        "ok_exit_codes": "a handler raises `ToolError` for a failure",
    },
    "cli": {
        "hints": "they follow from `risk`: leave them out",
        "returns": "a program gives text: leave it out, or write a handler",
        "input_schema": "write `params`: each must have its place on the command line",
        "verbatim_schema": "write `params`: each must have its place on the command line",
    },
}
"""For each way of carrying a tool out, the keys of the other one, and what to do instead."""


def check_way(here: TableContext, way: str) -> None:
    """Refuse what goes with the other way of carrying out a tool, and ask for what goes with this one."""
    for key, advice in ONLY_OF[way].items():
        if key in here.data:
            message = f"`{key}` in {table_name(here.at)} does not go with `{way}`"
            here.error("TM216", message, key, hint=advice, value=False)
    if way == "handler":
        _check_handled(here)
    else:
        _check_run(here)


def _check_handled(here: TableContext) -> None:
    here.missing("category", '"..."')
    sample = ", ".join(f"{name} = ..." for name in ("read_only", "destructive", "idempotent", "open_world"))
    here.missing("hints", f"{{ {sample} }}")
    for name, param in _table(here.data, "params").items():
        for place in PLACES:
            if isinstance(param, dict) and place in param:
                path = ("params", name, place)
                message = f"`{place}` in {table_name((*here.at, *path[:-1]))} does not go with `handler`"
                hint = "it is about the command line of a tool with `cli`"
                here.error("TM216", message, *path, hint=hint, value=False)


def _check_run(here: TableContext) -> None:
    cli = here.data["cli"]
    if cli == "":
        here.error("TM209", f"`cli` in {table_name(here.at)} is empty", "cli")
    elif "category" not in here.data and not _has_category(here.document.data, cli):
        hint = f'add `category = "..."` here, or in [clis.{cli}] for all of its tools'
        here.error("TM202", f"missing key `category` {within(here.at)}", hint=hint)
    _check_words(here, "argv")
    _check_exit_codes(here)
    if "risk" in here.data:
        _check_risk(here)
    else:
        here.missing("risk", '"read"`, `"write"` or `"destructive"')


def _table(data: Any, key: str) -> Mapping[str, Any]:
    """Give the table under `key` of what may be anything; empty if there is none."""
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _has_category(manifest: Mapping[str, Any], cli: Any) -> bool:
    """Whether the program says it for its tools. One that is not there is reported as such."""
    table = _table(manifest, "clis").get(cli) if isinstance(cli, str) else None
    return not isinstance(table, dict) or "category" in table


def _check_risk(here: TableContext) -> None:
    """Look at `risk`, which is a word, or a table with a table of words for each parameter."""
    risk = here.data["risk"]
    if not isinstance(risk, dict):
        _check_one_risk(here, risk, "risk")
    elif not risk:
        message = f"`risk` in {table_name(here.at)} is empty"
        here.error("TM209", message, "risk", hint=f"write {either(RISKS)}, or name a parameter")
    else:
        for param in risk:
            _check_risk_by_value(here, risk[param], param)


def _check_risk_by_value(here: TableContext, by_value: Any, param: str) -> None:
    if isinstance(by_value, dict):
        for value, risk in by_value.items():
            _check_one_risk(here, risk, "risk", param, value)
        return
    message = f"`risk.{param}` in {table_name(here.at)} must be a table, not {kind_of(by_value)}"
    here.error("TM204", message, "risk", param, hint=f'write `risk.{param} = {{ VALUE = "read" }}`')


def _check_one_risk(here: TableContext, risk: Any, *path: str) -> None:
    if not isinstance(risk, str):
        message = f"{quoted('.'.join(path))} in {table_name(here.at)} must be a string, not {kind_of(risk)}"
        here.error("TM204", message, *path)
    elif risk not in RISKS:
        message = f"{quoted(risk)} is no risk: expected {either(RISKS)}"
        here.error("TM207", message, *path, hint=did_you_mean(risk, RISKS))


def _check_exit_codes(here: TableContext) -> None:
    written = here.data.get("ok_exit_codes")
    for place, code in enumerate(written if isinstance(written, list) else ()):
        if type(code) is int and not 0 <= code <= MAX_EXIT_CODE:
            message = f"item {place + 1} of `ok_exit_codes` in {table_name(here.at)} is {code}"
            hint = f"exit codes go from 0 to {MAX_EXIT_CODE}; a program that is ended by a signal has failed"
            here.error("TM224", message, "ok_exit_codes", place, hint=hint)


def check_programs(here: TableContext) -> None:
    """Refuse names of programs that cannot be part of a constant and of a diagnostic."""
    for name in _table(here.data, "clis"):
        if not _PROGRAM.fullmatch(name):
            hint = "use letters, digits, underscores and dashes, starting with a letter"
            here.error("TM206", f"{quoted(name)} cannot name a program", "clis", name, hint=hint, value=False)


_PROGRAM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_cli(here: TableContext) -> None:
    """Look at the command of a program, and at its environment."""
    command = here.data.get("command")
    if isinstance(command, list) and command and isinstance(command[0], str) and not command[0].strip():
        hint = 'name the program and its fixed arguments: `command = ["git"]`'
        here.error("TM209", f"`command` in {table_name(here.at)} names no program", "command", hint=hint)
    _check_words(here, "command")
    _check_environment(here)
    for key in ("reads", "writes", "executes"):
        _check_paths(here, key)


def _check_words(here: TableContext, key: str) -> None:
    """Refuse control characters in the fixed part of a command line: nobody means them there."""
    written = here.data.get(key)
    for place, word in enumerate(written if isinstance(written, list) else ()):
        if isinstance(word, str) and (what := unprintable(word)):
            message = f"item {place + 1} of `{key}` in {table_name(here.at)} holds {what}"
            here.error("TM210", message, key, place, hint="leave it out")


def _check_paths(here: TableContext, key: str) -> None:
    """Report relative paths and unknown placeholders."""
    written = here.data.get(key)
    for place, path in enumerate(written if isinstance(written, list) else ()):
        if not isinstance(path, str) or _PATH.fullmatch(path):
            continue
        if key == "executes" and _PROGRAM_NAME.fullmatch(path):
            continue
        message = (
            f"{quoted(path)} in `{key}` of {table_name(here.at)} must be absolute or start with `~/`, `$VAR/`, "
            f"`{{roots}}` or `{{cwd}}`"
        )
        hint = "write an absolute path, or the program's name alone" if key == "executes" else "write an absolute path"
        here.error("TM219", message, key, place, hint=hint)


_PATH: Final = re.compile(r"(?:/|~(?:/|\Z)|\$\w|\$\{\w+\})[^\0\n{}]*|\{roots\}|\{cwd\}")
_PROGRAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


def _check_environment(here: TableContext) -> None:
    for name, value in _table(here.data, "env").items():
        _check_variable(here, name, "env", name, value=False)
        if isinstance(value, str) and "\0" in value:
            message = f"`{name}` in {table_name((*here.at, 'env'))} holds the control character U+0000"
            here.error("TM210", message, "env", name, hint="leave it out")
    check_passed(here)


def check_passed(here: TableContext) -> None:
    """Refuse what no environment variable is called."""
    passed = here.data.get("pass_env")
    for place, name in enumerate(passed if isinstance(passed, list) else ()):
        _check_variable(here, name, "pass_env", place, value=True)


def _check_variable(here: TableContext, name: Any, *path: str | int, value: bool) -> None:
    if isinstance(name, str) and not _VARIABLE.fullmatch(name):
        message = f"{quoted(name)} cannot name an environment variable"
        hint = "use letters, digits and underscores, not starting with a digit"
        here.error("TM206", message, *path, hint=hint, value=value)


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_global(here: TableContext) -> None:
    """Refuse an argument that could never be there, and a bare word with a value."""
    _check_bare_word(here)
    if "default" not in here.data and "default_env" not in here.data:
        message = f"{table_name(here.at)} has no effect without a value"
        here.error("TM215", message, hint="add `default`, or `default_env` with an environment variable that holds it")


def check_value(here: TableContext) -> None:
    """Reject a value that contradicts itself."""
    if here.data.get("required") is True and "default" in here.data:
        message = f"{table_name(here.at)} is required, and has a default that is never used"
        here.error("TM213", message, "required", hint="leave out `required`, or the default", value=False)


def check_param(here: TableContext) -> None:
    """Refuse a parameter that contradicts itself, or that would be in two places."""
    check_value(here)
    _check_bare_word(here)
    written = [place for place in PLACES if place in here.data]
    for extra in written[1:]:
        message = f"{table_name(here.at)} goes to two places, `{written[0]}` and `{extra}`"
        here.error("TM217", message, extra, hint="keep one of them", value=False)


def _check_bare_word(here: TableContext) -> None:
    """Refuse a bare word as the flag of anything but a boolean: its value would look like the next word."""
    flag, kind = here.data.get("flag"), here.data.get("type", "string")
    if isinstance(flag, str) and isinstance(kind, str) and kind != "boolean" and flag[-1:].isalnum() and flag[0] != "-":
        message = f"`flag` in {table_name(here.at)} is the bare word {quoted(flag)}, which only a boolean can have"
        hint = f"write `--{flag}` or `{flag}=`, or make it `positional`"
        here.error("TM223", message, "flag", hint=hint)
