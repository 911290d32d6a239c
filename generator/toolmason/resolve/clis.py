"""Programs and the tools that run them: what each parameter becomes on the command line, and what running it may do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolmason_runtime.programs.spec import (
    CONFIRM_PLACEHOLDER,
    ArgumentPlacement,
    CommandTool,
    Permissions,
    PlacementKind,
    Program,
    Risk,
)
from toolmason_runtime.toml.positions import KeyPath

from toolmason.manifest.tables import (
    CliTable,
    GlobalTable,
    ManifestTables,
    ParamTable,
    ToolTable,
    ValueTable,
)
from toolmason.model.identifiers import program_constant_name
from toolmason.model.server import Cli
from toolmason.model.tool import CommandLine, Hints
from toolmason.model.type_expression import spell
from toolmason.model.types import ListOf, Primitive, TypeRef, Value
from toolmason.resolve import types
from toolmason.resolve.context import Resolution
from toolmason.resolve.risk import base_risk, check_risk, reachable, risk_by_value, risk_text
from toolmason.resolve.values import check_passable

_ITEMS: Final = ("string", "integer", "number")
"""What an array on a command line may hold."""
_SEVERAL: Final = {
    PlacementKind.STDIN: "a program has one standard input",
    PlacementKind.CWD: "a program runs in one folder",
}


def category_of(tables: ManifestTables, tool: ToolTable) -> str:
    """Give the category of a tool, which may be that of its program."""
    cli = tables.clis.get(tool.cli)
    return tool.category or (cli.category if cli else "")


def programs(run: Resolution) -> dict[str, Program]:
    """Resolve `[clis]`. An argument with a mistake is reported and left out."""
    return {name: _program(run, name, table) for name, table in run.tables.clis.items()}


def _program(run: Resolution, name: str, table: CliTable) -> Program:
    if table.category and not run.is_known("categories", table.category):
        run.unknown("TM301", "category", table.category, run.tables.categories, (*table.at, "category"))
    values = types.values(run, {key: _as_value(each) for key, each in table.params.items()})
    globals_ = [each for each in values if _has_place(run, each, PlacementKind.FLAG)]
    placements = [_global(each, table.params[each.name]) for each in globals_]
    _check_flags(run, [(each, (*table.at, "params", each.name)) for each in placements])
    program = Program(
        name=name,
        command=table.command,
        env=dict(table.env),
        pass_env=table.pass_env,
        working_dir=table.working_dir,
        timeout_s=table.timeout,
        memory_mb=table.memory_mb,
        ends_options=table.ends_options,
        permissions=_permissions(table),
        placements=tuple(placements),
    )
    check_passable(run, CommandTool(name=name, program=program, placements=program.placements), globals_)
    return program


def _permissions(table: CliTable) -> Permissions | None:
    """Return what a program may use; None if its table says nothing of that."""
    if all(each is None for each in (table.reads, table.writes, table.executes, table.network)):
        return None
    return Permissions(
        reads=table.reads or (),
        writes=table.writes or (),
        executes=table.executes or (),
        network=table.open_world if table.network is None else table.network,
    )


def _as_value(table: GlobalTable) -> ValueTable:
    return ValueTable(at=table.at, type=table.type, default=table.default, required=False)


def _global(value: Value, table: GlobalTable) -> ArgumentPlacement:
    flag = table.flag or automatic_flag(value.name)
    return ArgumentPlacement(
        name=value.name,
        place=PlacementKind.FLAG,
        flag=flag,
        switch=_is_switch(value.type, flag),
        default=value.default if value.has_default else None,
        default_env=table.default_env,
    )


def command_line(run: Resolution, name: str, table: ToolTable, params: Sequence[Value]) -> CommandLine | None:
    """Give what a tool with `cli` runs; None, with what is wrong reported, if that cannot be said."""
    program = run.programs.get(table.cli)
    if program is None:
        if not run.is_known("clis", table.cli):
            run.unknown("TM323", "program", table.cli, run.tables.clis, (*table.at, "cli"))
        return None
    if run.tables.clis[table.cli].is_uncertain("ends_options", "params"):
        return None
    placed = [(value, _placement(value, table.params[value.name])) for value in params]
    sound = [_has_place(run, value, placement.place) for value, placement in placed]
    placements = tuple(placement for _, placement in placed)
    _check_positionals(run, placed)
    _check_single(run, placed)
    own = {each.name for each in placements}
    shared = [(each, ()) for each in program.placements if each.name not in own]
    _check_flags(run, [*shared, *((each, (*table.params[each.name].at, "flag")) for each in placements)])
    if not all(sound):
        return None
    tool = CommandTool(
        name=name,
        program=program,
        argv=table.argv,
        placements=placements,
        timeout_s=table.timeout,
        risk=base_risk(table.risk),
        risk_by_value=risk_by_value(table.risk),
        confirm=table.confirm.strip(),
        ok_exit_codes=tuple(sorted({0, *table.ok_exit_codes})),
    )
    check_risk(run, table, tool, params)
    check_passable(run, tool, params)
    return CommandLine(
        tool=tool,
        program_constant=program_constant_name(table.cli),
        usage=_usage(tool, params),
        risk=risk_text(tool),
    )


def check_confirm(run: Resolution, table: ToolTable) -> None:
    """Report placeholders in `confirm` that are not parameters, and other braces."""
    at = (*table.at, "confirm")
    known = run.written(*map(str, table.at), "params")
    for found in CONFIRM_PLACEHOLDER.finditer(table.confirm):
        if (name := found["name"]) and name not in known and not table.is_uncertain("params"):
            run.unknown("TM339", "parameter in `confirm`:", name, known, at)
    if re.search(r"[{}]", CONFIRM_PLACEHOLDER.sub("", table.confirm)):
        hint = "write the name of a parameter in braces, `{path}`, and a literal brace twice, `{{`"
        run.error("TM339", "`confirm` contains a brace outside of a placeholder", at, hint=hint)


def command_params(table: ToolTable) -> Mapping[str, ParamTable]:
    """Return the parameters of a tool. A switch may be absent, which is false, unless it says `required`."""

    def is_optional(param: ParamTable) -> bool:
        is_switch = param.type == "boolean" and not param.flag.endswith("=")
        return is_switch and param.required is None and param.default is None

    params = table.params.items()
    return {name: replace(each, required=False) if table.cli and is_optional(each) else each for name, each in params}


def automatic_flag(name: str) -> str:
    """Give the option of a parameter for which the manifest names no place: `max_count` gives `--max-count`."""
    return f"--{name.strip('_').replace('_', '-') or name}"


def _placement(value: Value, table: ParamTable) -> ArgumentPlacement:
    default = value.default if value.has_default else None
    for place in (PlacementKind.POSITIONAL, PlacementKind.STDIN, PlacementKind.CWD):
        if getattr(table, place.value):
            return ArgumentPlacement(name=value.name, place=place, default=default)
    flag = table.flag or automatic_flag(value.name)
    return ArgumentPlacement(
        name=value.name, place=PlacementKind.FLAG, flag=flag, switch=_is_switch(value.type, flag), default=default
    )


def _is_switch(ref: TypeRef, flag: str) -> bool:
    return ref == Primitive("boolean") and not flag.endswith("=")


def _has_place(run: Resolution, value: Value, place: PlacementKind) -> bool:
    """Report a value that has no form where it is to go."""
    problem = _misplaced(value.type, place)
    if problem:
        message = f"`{value.name}` is `{spell(value.type)}`: {problem}"
        run.error("TM324", message, (*value.at, "type"), hint=_FITTING[place])
    elif value.nullable:
        problem = f"`{value.name}` is nullable, and a command line has no null"
        run.error("TM324", problem, (*value.at, "nullable"), hint="leave it out, and say `required = false`")
    return not problem


_FITTING: Final = {
    PlacementKind.FLAG: "use a string, a number, a boolean, or an array of strings or numbers",
    PlacementKind.POSITIONAL: "use a string, a number, or an array of them",
    PlacementKind.STDIN: "use `string`",
    PlacementKind.CWD: "use `string`",
}


def _misplaced(ref: TypeRef, place: PlacementKind) -> str:
    """Say why a value of type `ref` cannot go to `place`; empty if it can."""
    if place in _SEVERAL:
        return "" if ref == Primitive("string") else f"`{place.value}` takes a text"
    match ref:
        case Primitive("boolean"):
            return "" if place is PlacementKind.FLAG else "true or false says nothing without an option"
        case Primitive(kind) | ListOf(Primitive(kind)) if kind in _ITEMS:
            return ""
        case _:
            return "a command line has no form for that"


def _check_positionals(run: Resolution, placed: Sequence[tuple[Value, ArgumentPlacement]]) -> None:
    """Refuse an order in which an argument that is missing, or there several times, would move the next one."""
    before: Value | None = None
    for value, placement in placed:
        if placement.place is not PlacementKind.POSITIONAL:
            continue
        if before is not None and isinstance(before.type, ListOf):
            message = f"positional `{value.name}` comes after `{before.name}`, which may be several"
            run.error("TM325", message, value.at, hint=f"move `{before.name}` to the end", value=False)
        elif before is not None and value.required:
            message = f"positional `{value.name}` is required and comes after `{before.name}`, which may be missing"
            run.error("TM325", message, value.at, hint=f"move `{before.name}` behind it", value=False)
        if isinstance(value.type, ListOf) or not (value.required or value.has_default):
            before = value


def _check_single(run: Resolution, placed: Sequence[tuple[Value, ArgumentPlacement]]) -> None:
    for place, reason in _SEVERAL.items():
        there = [value for value, placement in placed if placement.place is place]
        for value in there[1:]:
            message = f"`{there[0].name}` and `{value.name}` are both `{place.value}`: {reason}"
            run.error("TM325", message, (*value.at, place.value), hint="give one of them a flag", value=False)


def _check_flags(run: Resolution, placements: Iterable[tuple[ArgumentPlacement, KeyPath]]) -> None:
    """Refuse one option for two parameters. Those of the program come without a place, and first."""
    taken: dict[str, str] = {}
    for placement, at in placements:
        flag = placement.flag.removesuffix("=")
        if not flag:
            continue
        if at and flag in taken:
            message = f"`{taken[flag]}` and `{placement.name}` are both `{flag}`"
            run.error("TM325", message, at, hint="give one of them another `flag`", value=False)
        taken.setdefault(flag, placement.name)


def hints_of(run: Resolution, table: ToolTable, tool: CommandTool | None, params: Sequence[Value]) -> Hints:
    """Give what a client is told of a tool: what its author says, or for a program what follows from its risk."""
    if table.hints is not None:
        said = table.hints
        return Hints(
            read_only=said.read_only,
            destructive=said.destructive,
            idempotent=said.idempotent,
            open_world=said.open_world,
        )
    risks = reachable(tool, params) if tool else {Risk.DESTRUCTIVE}
    only_reads = risks == {Risk.READ}
    cli = run.tables.clis.get(table.cli)
    return Hints(
        read_only=only_reads,
        destructive=Risk.DESTRUCTIVE in risks,
        idempotent=only_reads,
        open_world=cli.open_world if cli else True,
    )


def clis(run: Resolution) -> tuple[Cli, ...]:
    """Give the programs that tools run, in the order of the manifest."""
    used = {tool.cli for tool in run.tables.tools.values()}
    return tuple(
        Cli(
            name=name,
            summary=table.summary,
            category=table.category,
            tags=table.tags,
            command=table.command,
            variables=_variables(table),
            is_confined=_permissions(table) is not None,
        )
        for name, table in run.tables.clis.items()
        if name in used
    )


def _variables(table: CliTable) -> tuple[str, ...]:
    """Give the environment variables of the server that a program is handed, or that its table names by `$NAME`."""
    texts = (*table.command, table.working_dir, *table.env.values())
    named = (name for text in texts for pair in _VARIABLE.findall(text) for name in pair if name)
    asked = (each.default_env for each in table.params.values() if each.default_env)
    return tuple(dict.fromkeys([*named, *table.pass_env, *asked]))


_VARIABLE: Final = re.compile(r"\$\$|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
"""A variable as the runtime expands it; `$$` is a dollar sign."""


def _usage(tool: CommandTool, params: Sequence[Value]) -> str:
    """Write what is run, as manuals do: `git log [--max-count=<max_count>] [<paths>...]`."""
    values = {each.name: each for each in params}
    operands, options = (
        [_shown(each, values[each.name]) for each in tool.placements if each.place is place]
        for place in (PlacementKind.POSITIONAL, PlacementKind.FLAG)
    )
    # A `--` that ends `argv` parts the two, as the runtime has it.
    parted = tool.argv[-1:] == ("--",)
    line = (*tool.argv[:-1], *options, "--", *operands) if parted else (*tool.argv, *operands, *options)
    return " ".join((*tool.program.command, *line))


def _shown(placement: ArgumentPlacement, value: Value) -> str:
    space = "" if placement.flag.endswith("=") or not placement.flag else " "
    text = placement.flag if placement.switch else f"{placement.flag}{space}<{value.name}>"
    if isinstance(value.type, ListOf):
        text += "..."
    return text if value.required else f"[{text}]"
