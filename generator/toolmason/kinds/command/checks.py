"""Checks of `[clis]`, and of tools that run one of its programs."""

from __future__ import annotations

from typing import Any, Final

from toolmason_runtime.toml.problems import either, kind_of, table_name
from toolmason_runtime.toml.reader import TableContext

from toolmason.kinds.command.tables import CliDefaultsTable, CliTable
from toolmason.manifest.checks import (
    ARGUMENT_LOCATIONS,
    RISKS,
    check_access,
    check_bare_word,
    check_environment,
    check_one_risk,
    check_words,
    may_have_defaults,
)

PARAM_KEYS: Final = (*ARGUMENT_LOCATIONS, "separator")
"""Keys of a parameter that only tools with `cli` have."""

MAX_EXIT_CODE: Final = 255


def check_command_tool(context: TableContext) -> None:
    """Report missing and invalid keys of a tool with `cli`."""
    check_words(context, "argv")
    _check_exit_codes(context)
    if context.data.get("output") == "json":
        context.missing("returns", '"..."')
    if "risk" in context.data:
        _check_risk(context)
    elif not may_have_defaults(context, "clis", "cli", CliTable, CliDefaultsTable):
        context.missing("risk", '"read"`, `"write"` or `"destructive"')


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


def _check_exit_codes(context: TableContext) -> None:
    codes = context.data.get("ok_exit_codes")
    for index, code in enumerate(codes if isinstance(codes, list) else ()):
        if type(code) is int and not 0 <= code <= MAX_EXIT_CODE:
            message = f"item {index + 1} of `ok_exit_codes` in {table_name(context.at)} is {code}"
            hint = f"write a code from 0 to {MAX_EXIT_CODE}; a program that a signal ends has failed"
            context.error("TM224", message, "ok_exit_codes", index, hint=hint)


def check_cli(context: TableContext) -> None:
    """Check the command, environment and sandbox paths of a program."""
    command = context.data.get("command")
    if isinstance(command, list) and command and isinstance(command[0], str) and not command[0].strip():
        hint = 'name the program and its fixed arguments: `command = ["git"]`'
        context.error("TM209", f"`command` in {table_name(context.at)} names no program", "command", hint=hint)
    check_words(context, "command")
    check_environment(context)
    check_access(context)


def check_cli_param(context: TableContext) -> None:
    """Report an argument without a value, and a bare word as the flag of a value."""
    check_bare_word(context)
    if "default" not in context.data and "default_env" not in context.data:
        message = f"{table_name(context.at)} has no effect without a value"
        context.error("TM215", message, hint="add `default`, or `default_env` with an environment variable")
