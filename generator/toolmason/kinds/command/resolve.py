"""Programs, and the command line, risk and hints of each tool that runs one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolmason_runtime.shared.specs.program import (
    ArgumentPlacement,
    CommandTool,
    Permissions,
    PlacementKind,
    Program,
    Risk,
)
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.kinds.command.implementation import Cli, CommandImplementation
from toolmason.kinds.command.risk import base_risk, check_risk, format_risk, possible_risks, risk_by_value
from toolmason.kinds.command.tables import CliParamTable, CliTable, CommandKeys, CommandTables
from toolmason.kinds.command.values import check_examples, check_values
from toolmason.manifest.tables import ParamTable, ToolTable, ValueTable
from toolmason.model.from_table import copied
from toolmason.model.identifiers import group_constant_name
from toolmason.model.implementation import Hints, hints_of
from toolmason.model.type_expression import format_type
from toolmason.model.types import ArrayType, MapType, PrimitiveType, Property, TypeRef
from toolmason.resolve import types
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.variables import used_variables

_SCALARS: Final = ("string", "integer", "number")
"""Types of arguments, and of the items of arrays."""
_SINGLE_USE: Final = {
    PlacementKind.STDIN: "a program has one standard input",
    PlacementKind.CWD: "a program runs in one directory",
}


def programs(context: ResolveContext) -> dict[str, Program]:
    """Resolve `[clis]`. Invalid parameters are reported and left out."""
    return {name: _program(context, name, table) for name, table in context.tables.own(CommandTables).clis.items()}


def _program(context: ResolveContext, name: str, table: CliTable) -> Program:
    values = types.values(context, {key: _as_value(param) for key, param in table.params.items()})
    params = [value for value in values if _check_location(context, value, PlacementKind.FLAG)]
    tables = table.params
    placements = [
        _flag_placement(param, tables[param.name].flag, default_env=tables[param.name].default_env) for param in params
    ]
    _check_flags(context, [(placement, (*table.at, "params", placement.name)) for placement in placements])
    program = copied(
        Program,
        table,
        name=name,
        timeout_s=table.timeout,
        permissions=_permissions(table),
        placements=tuple(placements),
    )
    check_values(context, CommandTool(name=name, program=program, placements=program.placements), params)
    return program


def _permissions(table: CliTable) -> Permissions | None:
    """Return the permissions of a program, None if its table declares none."""
    if all(key is None for key in (table.reads, table.writes, table.executes, table.network)):
        return None
    return copied(Permissions, table, network=table.open_world if table.network is None else table.network)


def _as_value(table: CliParamTable) -> ValueTable:
    return ValueTable(at=table.at, type=table.type, default=table.default, required=False)


def command_line(
    context: ResolveContext, name: str, table: ToolTable, params: Sequence[Property]
) -> CommandImplementation | None:
    """Return the command line of a tool with `cli`, or None with its errors reported."""
    own, clis = table.own(CommandKeys), context.tables.own(CommandTables).clis
    program = context.kinds["command"].get(own.cli)
    if program is None:
        if not context.is_known("clis", own.cli):
            context.report_unknown("TM323", "program", own.cli, clis, (*table.at, "cli"))
        return None
    if clis[own.cli].is_uncertain("ends_options", "params"):
        return None
    placed = [(value, _placement(value, table.params[value.name])) for value in params]
    is_valid = [_check_location(context, value, placement.place) for value, placement in placed]
    _check_separators(context, table, params)
    placements = tuple(placement for _, placement in placed)
    _check_positionals(context, placed)
    _check_single(context, placed)
    flags = [(placement, (*table.params[placement.name].at, "flag")) for placement in placements]
    own_names = {placement.name for placement in placements}
    shared = [(placement, ()) for placement in program.placements if placement.name not in own_names]
    _check_flags(context, [*shared, *flags])
    if not all(is_valid):
        return None
    tool = CommandTool(
        name=name,
        program=program,
        argv=own.argv,
        placements=placements,
        timeout_s=table.timeout,
        risk=base_risk(table.risk),
        risk_by_value=risk_by_value(table.risk),
        confirm=table.confirm.strip(),
        ok_exit_codes=tuple(sorted({0, *own.ok_exit_codes})),
    )
    check_risk(context, table, tool, params)
    check_values(context, tool, params)
    check_examples(context, tool, table.examples)
    return CommandImplementation(
        hints=_hints(clis[own.cli], table, tool, params),
        modules=_guard_modules(context),
        tool=tool,
        program_constant=group_constant_name(own.cli, "PROGRAM"),
        usage=_usage(tool, params),
        risk=format_risk(tool),
    )


def default_flag(name: str) -> str:
    """Return the flag of a parameter without a location in the manifest: `--max-count` for `max_count`."""
    return f"--{name.strip('_').replace('_', '-') or name}"


def _placement(value: Property, table: ParamTable) -> ArgumentPlacement:
    for place in (PlacementKind.POSITIONAL, PlacementKind.STDIN, PlacementKind.CWD):
        if getattr(table, place.value):
            return ArgumentPlacement(name=value.name, place=place, default=value.default if value.has_default else None)
    return _flag_placement(value, table.flag, table.separator)


def _flag_placement(value: Property, flag: str, separator: str = "", default_env: str = "") -> ArgumentPlacement:
    flag = flag or default_flag(value.name)
    default = value.default if value.has_default else None
    if isinstance(value.type, MapType):
        separator = separator or "="
        default = [f"{key}{separator}{item}" for key, item in default.items()] if default else None
    return ArgumentPlacement(
        name=value.name,
        place=PlacementKind.FLAG,
        flag=flag,
        switch=_is_boolean_flag(value.type, flag),
        separator=separator,
        default=default,
        default_env=default_env,
    )


def _is_boolean_flag(ref: TypeRef, flag: str) -> bool:
    return ref == PrimitiveType("boolean") and not flag.endswith("=")


def _check_location(context: ResolveContext, value: Property, place: PlacementKind) -> bool:
    """Return whether a value of this type can be passed at `place`; report it if not."""
    problem = _location_problem(value.type, place)
    if problem:
        message = f"`{value.name}` is `{format_type(value.type)}`: {problem}"
        context.error("TM324", message, (*value.at, "type"), hint=_LOCATION_HINTS[place])
    elif value.nullable:
        problem = f"`{value.name}` is nullable, but a command line has no null"
        context.error("TM324", problem, (*value.at, "nullable"), hint="replace it by `required = false`")
    return not problem


def _check_separators(context: ResolveContext, table: ToolTable, params: Sequence[Property]) -> None:
    for value in params:
        if table.params[value.name].separator and not isinstance(value.type, MapType):
            message = f"`{value.name}` is `{format_type(value.type)}`: only a map has a `separator`"
            context.error("TM324", message, (*value.at, "separator"), hint="remove it")


_LOCATION_HINTS: Final = {
    PlacementKind.FLAG: "use a string, a number, a boolean, or an array or map of strings or numbers",
    PlacementKind.POSITIONAL: "use a string, a number or an array of them, or `flag` instead of `positional`",
    PlacementKind.STDIN: "use `string`",
    PlacementKind.CWD: "use `string`",
}


def _location_problem(ref: TypeRef, place: PlacementKind) -> str:
    """Return why a value of type `ref` cannot be passed at `place`, empty if it can."""
    if place in _SINGLE_USE:
        return "" if ref == PrimitiveType("string") else f"`{place.value}` requires a string"
    match ref:
        case PrimitiveType("boolean"):
            return "" if place is PlacementKind.FLAG else "a boolean needs a flag"
        case PrimitiveType(kind) | ArrayType(PrimitiveType(kind)) if kind in _SCALARS:
            return ""
        case MapType(PrimitiveType(kind)) if kind in _SCALARS:
            return "" if place is PlacementKind.FLAG else "a map needs a flag"
        case _:
            return "this type cannot be written on a command line"


def _check_positionals(context: ResolveContext, placed: Sequence[tuple[Property, ArgumentPlacement]]) -> None:
    """Report positionals after an optional or repeatable one, whose positions would depend on its values."""
    previous: Property | None = None
    for value, placement in placed:
        if placement.place is not PlacementKind.POSITIONAL:
            continue
        if previous is not None and isinstance(previous.type, ArrayType):
            message = f"positional `{value.name}` comes after `{previous.name}`, which takes several values"
            context.error("TM325", message, value.at, hint=f"move `{previous.name}` to the end", value=False)
        elif previous is not None and value.required:
            message = f"positional `{value.name}` is required but comes after `{previous.name}`, which is optional"
            context.error("TM325", message, value.at, hint=f"move `{previous.name}` behind it", value=False)
        if isinstance(value.type, ArrayType) or not (value.required or value.has_default):
            previous = value


def _check_single(context: ResolveContext, placed: Sequence[tuple[Property, ArgumentPlacement]]) -> None:
    for place, reason in _SINGLE_USE.items():
        values = [value for value, placement in placed if placement.place is place]
        for value in values[1:]:
            message = f"`{values[0].name}` and `{value.name}` are both `{place.value}`: {reason}"
            context.error("TM325", message, (*value.at, place.value), hint="use a flag for one of them", value=False)


def _check_flags(context: ResolveContext, placements: Iterable[tuple[ArgumentPlacement, KeyPath]]) -> None:
    """Report flags of two parameters. Parameters of the program come first, with an empty key path."""
    owners: dict[str, str] = {}
    for placement, at in placements:
        flag = placement.flag.removesuffix("=")
        if not flag:
            continue
        if at and flag in owners:
            message = f"`{owners[flag]}` and `{placement.name}` are both `{flag}`"
            context.error("TM325", message, at, hint="choose another `flag` for one of them", value=False)
        owners.setdefault(flag, placement.name)


def _guard_modules(context: ResolveContext) -> tuple[str, ...]:
    guard = context.tables.server.guard
    return (context.handler(guard).module,) if guard else ()


def _hints(cli: CliTable, table: ToolTable, tool: CommandTool, params: Sequence[Property]) -> Hints:
    """Return the hints of a tool: those of its table, else those that follow from its risk."""
    if table.hints is not None:
        return hints_of(table)
    risks = possible_risks(tool, params)
    only_reads = risks == {Risk.READ}
    return Hints(
        read_only=only_reads,
        destructive=Risk.DESTRUCTIVE in risks,
        idempotent=only_reads,
        open_world=cli.open_world,
    )


def clis(context: ResolveContext) -> tuple[Cli, ...]:
    """Return the programs that tools run, in the order of the manifest."""
    used = {tool.own(CommandKeys).cli for tool in context.tables.tools.values()}
    return tuple(
        Cli(
            name=name,
            table=table,
            variables=_variables(table),
            is_confined=_permissions(table) is not None,
        )
        for name, table in context.tables.own(CommandTables).clis.items()
        if name in used
    )


def _variables(table: CliTable) -> tuple[str, ...]:
    """Return the environment variables that a program receives, or that its table uses as `$NAME`."""
    expanded = used_variables((*table.command, table.working_dir, *table.env.values()))
    defaults = (param.default_env for param in table.params.values() if param.default_env)
    return tuple(dict.fromkeys([*expanded, *table.pass_env, *defaults]))


def _usage(tool: CommandTool, params: Sequence[Property]) -> str:
    """Return the usage line: `git log [--max-count=<max_count>] [<paths>...]`."""
    values = {param.name: param for param in params}
    operands, options = (
        [_format_argument(item, values[item.name]) for item in tool.placements if item.place is place]
        for place in (PlacementKind.POSITIONAL, PlacementKind.FLAG)
    )
    # The runtime moves a `--` at the end of `argv` between options and operands.
    is_separated = tool.argv[-1:] == ("--",)
    line = (*tool.argv[:-1], *options, "--", *operands) if is_separated else (*tool.argv, *operands, *options)
    return " ".join((*tool.program.command, *line))


def _format_argument(placement: ArgumentPlacement, value: Property) -> str:
    space = "" if placement.flag.endswith("=") or not placement.flag else " "
    operand = f"<key>{placement.separator}<value>" if placement.separator else f"<{value.name}>"
    text = placement.flag if placement.switch else f"{placement.flag}{space}{operand}"
    if isinstance(value.type, ArrayType | MapType):
        text += "..."
    return text if value.required else f"[{text}]"
