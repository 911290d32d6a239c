"""The risk of a command tool: one for all calls, or one by the value of a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.programs.spec import CommandTool, Risk
from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.positions import KeyPath
from toolmason_runtime.toml.problems import either, quoted

from toolmason.manifest.checks import RISKS
from toolmason.manifest.tables import ToolTable
from toolmason.model.type_expression import format_type
from toolmason.model.types import ArrayType, PrimitiveType, Property, TypeRef
from toolmason.resolve.context import ResolveContext

_NOTHING: Final = "(none)"
"""Label of an omitted value."""


def base_risk(table_value: Any) -> Risk:
    """Return the minimum risk of a call. A risk by value starts at `read`."""
    return _risk(table_value) if isinstance(table_value, str) else Risk.READ


def risk_by_value(table_value: Any) -> dict[str, dict[str, Risk]]:
    """Return the risk of each value of each named parameter, empty if all calls have the same risk."""
    tables = table_value if isinstance(table_value, dict) else {}
    return {
        param: {value: _risk(word) for value, word in risks.items()}
        for param, risks in tables.items()
        if isinstance(risks, dict)
    }


def _risk(word: Any) -> Risk:
    # `validate` has reported any other word.
    return Risk(word) if word in RISKS else Risk.DESTRUCTIVE


def format_risk(tool: CommandTool) -> str:
    """Return the risk as text: `write`, or `by method: GET read, PUT write`."""
    if not tool.risk_by_value:
        return tool.risk.value
    return "; ".join(
        f"by {name}: {', '.join(f'{value or _NOTHING} {risk.value}' for value, risk in risks.items())}"
        for name, risks in tool.risk_by_value.items()
    )


def possible_risks(tool: CommandTool, params: Sequence[Property]) -> set[Risk]:
    """Return the risks that calls of the tool can have."""
    risks = {tool.risk}
    for param in params:
        if (by_value := tool.risk_by_value.get(param.name)) is not None:
            risks |= set(_param_risks(tool, param, by_value))
    return risks


def _param_risks(tool: CommandTool, param: Property, risks: Mapping[str, Risk]) -> Iterator[Risk]:
    yield from risks.values()
    possible = _possible_values(tool, param)
    if possible is None or _unlisted_values(risks, possible):
        yield Risk.DESTRUCTIVE


def check_risk(context: ResolveContext, table: ToolTable, tool: CommandTool, params: Sequence[Property]) -> None:
    """Report a risk by value that lists impossible values or omits possible ones."""
    params_by_name = {param.name: param for param in params}
    for name, risks in tool.risk_by_value.items():
        at = (*table.at, "risk", name)
        param = params_by_name.get(name)
        if param is None:
            hint = did_you_mean(name, params_by_name) or f"known: {', '.join(params_by_name) or 'none'}"
            context.error("TM326", f"`risk` uses the unknown parameter {quoted(name)}", at, hint=hint, value=False)
        elif (possible := _possible_values(tool, param)) is not None:
            allowed = [*possible, "false"] if _is_boolean_flag(tool, param) else possible
            _report_impossible_values(context, at, name, risks, allowed)
            _report_unlisted_values(context, at, name, _unlisted_values(risks, possible))
        elif _item_type(param.type) != "string":
            message = f"`risk` depends on `{name}`, which is `{format_type(param.type)}` without `enum`"
            hint = "use a parameter with `enum`, a string or a boolean"
            context.error("TM326", message, at, hint=hint, value=False)
        else:
            _report_unlisted_values(context, at, name, _unlisted_values(risks, [""] if _may_be_absent(param) else []))
    _check_all_flags_off(context, table, tool, params_by_name)


def _check_all_flags_off(
    context: ResolveContext, table: ToolTable, tool: CommandTool, params: Mapping[str, Property]
) -> None:
    """Report a risk that depends on boolean flags only and omits calls without any of them."""
    by_value = tool.risk_by_value
    are_flags = all(name in params and _is_boolean_flag(tool, params[name]) for name in by_value)
    if by_value and are_flags and not any("false" in risks for risks in by_value.values()):
        first = next(iter(by_value))
        message = f"`risk` has no entry for calls without `{first}`"
        context.error("TM326", message, (*table.at, "risk", first), hint='add `false = "read"`, or the right risk')


def _report_impossible_values(
    context: ResolveContext, at: KeyPath, name: str, risks: Mapping[str, Risk], allowed: Sequence[str]
) -> None:
    known = [value for value in allowed if value]
    for value in risks:
        if value not in allowed:
            hint = did_you_mean(value, known) or f"use {either(known)}"
            message = f"`risk` lists {quoted(value)}, which is not a value of `{name}`"
            context.error("TM326", message, (*at, value), hint=hint, value=False)


def _report_unlisted_values(context: ResolveContext, at: KeyPath, name: str, unlisted: Sequence[str]) -> None:
    if not unlisted:
        return
    if unlisted == [""]:
        message = f"`risk` has no entry for calls without `{name}`; they count as destructive"
        hint = f'add `"" = "read"`, a default, or `required = true` to `{name}`'
    else:
        values = ", ".join(f"`{value}`" if value else "no value" for value in unlisted)
        message = f"`risk` has no entry for {values} of `{name}`; such calls count as destructive"
        hint = f'add `{_toml_key(unlisted[0])} = "destructive"` if that is intended'
    context.error("TM326", message, at, hint=hint)


def _unlisted_values(risks: Mapping[str, Risk], possible: Sequence[str]) -> list[str]:
    return [value for value in possible if value not in risks]


def _toml_key(value: str) -> str:
    return value if value.isalnum() and value.isascii() else f'"{value}"'


def _item_type(ref: TypeRef) -> str:
    return format_type(ref.item if isinstance(ref, ArrayType) else ref)


def _possible_values(tool: CommandTool, param: Property) -> list[str] | None:
    """Return the possible values as text (`""` for an omitted one), or None if there is no finite set.

    A boolean flag that is off is left out: it adds nothing to the command line, and no risk unless one is listed.
    """
    if _is_boolean_flag(tool, param):
        return ["true"]
    if param.type == PrimitiveType("boolean"):
        values = ["true", "false"]
    elif "enum" in param.constraints:
        values = [str(choice) for choice in param.constraints["enum"]]
    else:
        return None
    return [*values, ""] if _may_be_absent(param) else values


def _may_be_absent(param: Property) -> bool:
    """Return whether the program can be run without any value for `param`."""
    return not (param.required or param.has_default)


def _is_boolean_flag(tool: CommandTool, param: Property) -> bool:
    return any(placement.switch for placement in tool.placements if placement.name == param.name)
