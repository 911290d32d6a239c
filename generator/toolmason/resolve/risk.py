"""What running a command may do, said for all of its calls or by the value of a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.programs.spec import CommandTool, Risk
from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.positions import KeyPath
from toolmason_runtime.toml.problems import either, quoted

from toolmason.manifest.tables import ToolTable
from toolmason.manifest.validate_clis import RISKS
from toolmason.model.type_expression import spell
from toolmason.model.types import ListOf, Primitive, TypeRef, Value
from toolmason.resolve.context import Resolution

_NOTHING: Final = "(none)"
"""How no value is written for people."""


def base_risk(written: Any) -> Risk:
    """Give the risk that every call of a tool has; where it goes by values, they can only add to the least."""
    return _risk(written) if isinstance(written, str) else Risk.READ


def risk_by_value(written: Any) -> dict[str, dict[str, Risk]]:
    """Give the risk of each value of each parameter that is named; empty if it is the same for all calls."""
    tables = written if isinstance(written, dict) else {}
    return {
        param: {value: _risk(each) for value, each in listed.items()}
        for param, listed in tables.items()
        if isinstance(listed, dict)
    }


def _risk(word: Any) -> Risk:
    """Read a risk; what is none has been reported."""
    return Risk(word) if word in RISKS else Risk.DESTRUCTIVE


def risk_text(tool: CommandTool) -> str:
    """Write a risk for people: `write`, or `by method: GET read, PUT write`."""
    if not tool.risk_by_value:
        return tool.risk.value
    return "; ".join(
        f"by {name}: {', '.join(f'{value or _NOTHING} {risk.value}' for value, risk in listed.items())}"
        for name, listed in tool.risk_by_value.items()
    )


def reachable(tool: CommandTool, params: Sequence[Value]) -> set[Risk]:
    """Give every risk that a call of the tool can have."""
    found = {tool.risk}
    for value in params:
        if (listed := tool.risk_by_value.get(value.name)) is not None:
            found |= set(_risks(tool, value, listed))
    return found


def _risks(tool: CommandTool, value: Value, listed: Mapping[str, Risk]) -> Iterator[Risk]:
    yield from listed.values()
    possible = _possible(tool, value)
    if possible is None or _forgotten(listed, possible):
        yield Risk.DESTRUCTIVE


def check_risk(run: Resolution, table: ToolTable, tool: CommandTool, params: Sequence[Value]) -> None:
    """Refuse a risk by value that names what cannot occur, or leaves out what can."""
    values = {each.name: each for each in params}
    for name, listed in tool.risk_by_value.items():
        at = (*table.at, "risk", name)
        value = values.get(name)
        if value is None:
            hint = did_you_mean(name, values) or f"known: {', '.join(values) or 'none'}"
            run.error("TM326", f"`risk` names {quoted(name)}, which is no parameter", at, hint=hint, value=False)
        elif (possible := _possible(tool, value)) is not None:
            allowed = [*possible, "false"] if _is_switch(tool, value) else possible
            _report_strange(run, at, name, listed, allowed)
            _report_forgotten(run, at, name, _forgotten(listed, possible))
        elif _item(value.type) != "string":
            message = f"`risk` goes by the value of `{name}`, which is `{spell(value.type)}` and has no `enum`"
            run.error("TM326", message, at, hint="name a parameter with `enum`, a string or a boolean", value=False)
        else:
            _report_forgotten(run, at, name, _forgotten(listed, [""] if _may_be_missing(value) else []))

    _check_rest(run, table, tool, values)


def _check_rest(run: Resolution, table: ToolTable, tool: CommandTool, values: Mapping[str, Value]) -> None:
    """Refuse a risk that goes by switches alone and does not say what it is when all of them are off."""
    listed = tool.risk_by_value
    are_switches = all(name in values and _is_switch(tool, values[name]) for name in listed)
    if listed and are_switches and not any("false" in each for each in listed.values()):
        first = next(iter(listed))
        message = f"`risk` does not say what it is without `{first}`"
        run.error("TM326", message, (*table.at, "risk", first), hint='add `false = "read"`, or what is right')


def _report_strange(
    run: Resolution, at: KeyPath, name: str, listed: Mapping[str, Risk], allowed: Sequence[str]
) -> None:
    known = [each for each in allowed if each]
    for value in listed:
        if value not in allowed:
            hint = did_you_mean(value, known) or f"it is {either(known)}"
            message = f"`risk` lists {quoted(value)}, which `{name}` cannot be"
            run.error("TM326", message, (*at, value), hint=hint, value=False)


def _report_forgotten(run: Resolution, at: KeyPath, name: str, forgotten: Sequence[str]) -> None:
    if not forgotten:
        return
    if forgotten == [""]:
        message = f"`risk` does not say what it is without `{name}`, so that counts as destructive"
        hint = f'add `"" = "read"`, a default, or `required = true` to `{name}`'
    else:
        shown = ", ".join(f"`{each}`" if each else "no value" for each in forgotten)
        message = f"`risk` leaves out {shown} of `{name}`, which counts as destructive"
        hint = f'add `{_key(forgotten[0])} = "destructive"` if that is meant'
    run.error("TM326", message, at, hint=hint)


def _forgotten(listed: Mapping[str, Risk], possible: Sequence[str]) -> list[str]:
    return [each for each in possible if each not in listed]


def _key(value: str) -> str:
    return value if value.isalnum() and value.isascii() else f'"{value}"'


def _item(ref: TypeRef) -> str:
    return spell(ref.item if isinstance(ref, ListOf) else ref)


def _possible(tool: CommandTool, value: Value) -> list[str] | None:
    """Give all that can be written for a parameter, as text, "" for nothing; None if that has no end.

    A switch that is off is left out: it writes nothing, and adds no risk unless one is listed.
    """
    if _is_switch(tool, value):
        return ["true"]
    if value.type == Primitive("boolean"):
        found = ["true", "false"]
    elif "enum" in value.constraints:
        found = [str(each) for each in value.constraints["enum"]]
    else:
        return None
    return [*found, ""] if _may_be_missing(value) else found


def _may_be_missing(value: Value) -> bool:
    """Whether a call can come to have no value at all."""
    return not (value.required or value.has_default)


def _is_switch(tool: CommandTool, value: Value) -> bool:
    return any(each.switch for each in tool.placements if each.name == value.name)
