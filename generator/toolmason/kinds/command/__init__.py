"""Tools that run a program of `[clis]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolmason_runtime.shared.toml.reader import TableCheck, TableContext
from toolmason_runtime.shared.toml.tables import Table

from toolmason.kinds.command.checks import MAX_EXIT_CODE, PARAM_KEYS, check_cli, check_cli_param, check_command_tool
from toolmason.kinds.command.tables import CliParamTable, CliTable, CommandKeys, CommandTables
from toolmason.kinds.kind import Kind, KindTool, Section
from toolmason.manifest.checks import ARGUMENT_LOCATIONS
from toolmason.manifest.editor_rules import BARE_WORDS, PROPERTY_NAME, VARIABLE, none_of, whole
from toolmason.manifest.tables import ParamTable, ToolTable

if TYPE_CHECKING:
    from toolmason.kinds.command.implementation import Cli, CommandImplementation
    from toolmason.resolve.context import ResolveContext


class CommandKind(Kind):
    """Tools whose calls are command lines."""

    name = "command"
    key = "cli"
    tool_keys = CommandKeys
    hint = "`cli` with the name of a program"
    section = Section(
        name="clis",
        key="cli",
        noun="program",
        suffix="PROGRAM",
        defaults=("risk", "tier", "tags"),
        derived=frozenset({"hints"}),
    )
    decisive_keys = ("cli", "argv")
    manifest_keys = CommandTables
    foreign_keys = {
        "hints": "remove them: they follow from `risk`",
        "returns": 'programs return text: remove it, or write `output = "json"` if this one prints JSON',
        "input_schema": "write `params`: each needs a location on the command line",
        "verbatim_schema": "write `params`: each needs a location on the command line",
    }
    key_hints = {"argv": "only tools with `cli` have a command line"}
    param_keys = PARAM_KEYS
    param_hint = "only tools with `cli` have a command line"
    takes_schema = False
    conditional_keys = frozenset({"returns"})
    editor_rules = {
        CliParamTable: BARE_WORDS,
        ToolTable: {
            "if": {"required": ["output"], "properties": {"output": {"const": "json"}}},
            "then": {"required": ["returns"]},
            "else": none_of(["returns"]),
        },
    }
    editor_key_rules = {
        (CommandKeys, "ok_exit_codes"): {"items": {"type": "integer", "minimum": 0, "maximum": MAX_EXIT_CODE}},
        (CliTable, "params"): {"propertyNames": {"pattern": whole(PROPERTY_NAME)}},
        (CliTable, "env"): {"propertyNames": {"pattern": whole(VARIABLE)}},
    }

    @property
    def checks(self) -> Mapping[type[Table], TableCheck]:
        """Checks of programs and their arguments."""
        return {CliTable: check_cli, CliParamTable: check_cli_param}

    def check_tool(self, context: TableContext) -> None:
        """Report missing and invalid keys."""
        check_command_tool(context)

    def excludes(self, key: str, data: Mapping[str, Any]) -> bool:
        """Return whether a tool cannot have `key`: `returns` needs JSON output."""
        return key != "returns" or data.get("output") != "json"

    def has_result(self, table: ToolTable) -> bool:
        """Return whether the program prints JSON."""
        return table.own(CommandKeys).output == "json"

    def fixed_param_keys(self, table: ToolTable, name: str) -> Mapping[str, str]:
        """Return the flag that follows from the name."""
        from toolmason.kinds.command.resolve import default_flag

        param = table.params.get(name)
        has_place = param is None or any(getattr(param, key) for key in (*ARGUMENT_LOCATIONS, "claim"))
        return {} if has_place else {"flag": default_flag(name)}

    def params(self, table: ToolTable) -> Mapping[str, ParamTable]:
        """Return the parameters. A boolean flag is optional unless it sets `required`: absent means false."""

        def is_optional(param: ParamTable) -> bool:
            is_flag = param.type == "boolean" and not param.flag.endswith("=")
            return is_flag and param.required is None and param.default is None

        params = table.params.items()
        return {name: replace(param, required=False) if is_optional(param) else param for name, param in params}

    def prepare(self, context: ResolveContext) -> None:
        """Resolve the programs."""
        from toolmason.kinds.command.resolve import programs

        context.kinds[self.name] = programs(context)

    def resolve(self, context: ResolveContext, tool: KindTool) -> CommandImplementation | None:
        """Return the command line of a tool."""
        from toolmason.kinds.command.resolve import command_line

        return command_line(context, tool.name, tool.table, tool.params)

    def groups(self, context: ResolveContext) -> tuple[Cli, ...]:
        """Return the programs that tools run."""
        from toolmason.kinds.command.resolve import clis

        return clis(context)


KIND = CommandKind()
