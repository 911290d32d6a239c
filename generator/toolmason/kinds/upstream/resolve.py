"""Upstreams and the tools they implement: the schema for models, and the mapping back to the upstream's arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime.shared.specs.program import Permissions, Risk
from toolmason_runtime.shared.specs.upstream import Upstream, UpstreamTool
from toolmason_runtime.shared.suggestions import did_you_mean

from toolmason.kinds.kind import KindTool
from toolmason.kinds.upstream.implementation import UpstreamImplementation, UpstreamServer
from toolmason.kinds.upstream.tables import UpstreamKeys, UpstreamTable, UpstreamTables
from toolmason.manifest.tables import ToolTable
from toolmason.model import implementation
from toolmason.model.from_table import copied
from toolmason.model.identifiers import group_constant_name
from toolmason.model.implementation import Hints
from toolmason.model.types import JsonSchema
from toolmason.resolve.argument_aliases import argument_aliases
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.examples import SchemaChecker
from toolmason.resolve.raw_schema import check_references
from toolmason.resolve.raw_schema_error import RawSchemaError
from toolmason.resolve.variables import used_variables

NAMING_KEYWORDS: Final = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "patternProperties", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "dependencies", "minProperties", "maxProperties"),
    "unevaluatedProperties",
)
"""Keywords of the root that can name or count arguments: changes would have to be made there as well."""


def upstreams(context: ResolveContext) -> dict[str, Upstream]:
    """Resolve `[upstreams]`."""
    tables = context.tables.own(UpstreamTables).upstreams
    return {name: _upstream(context, name, table) for name, table in tables.items()}


def _upstream(context: ResolveContext, name: str, table: UpstreamTable) -> Upstream:
    return copied(
        Upstream,
        table,
        name=name,
        timeout_s=table.timeout,
        permissions=copied(Permissions, table),
        pins=_pins(context, name),
    )


def _pins(context: ResolveContext, name: str) -> dict[str, str]:
    """Return the hash of each tool of an upstream, by its original name; empty for a tool without one.

    Several tools of the manifest may call the same tool of the upstream; the first hash counts.
    """
    pins: dict[str, str] = {}
    for tool_name, tool in context.tables.tools.items():
        own = tool.own(UpstreamKeys)
        if own.upstream == name:
            original = own.upstream_tool or tool_name
            pins[original] = pins.get(original) or own.upstream_hash
    return pins


def upstream_servers(context: ResolveContext) -> tuple[UpstreamServer, ...]:
    """Return the upstreams of tools, in the order of the manifest."""
    used = {tool.own(UpstreamKeys).upstream for tool in context.tables.tools.values()}
    return tuple(
        UpstreamServer(
            name=name,
            table=table,
            address=table.url or " ".join(table.command),
            variables=_variables(table),
            access=_describe_access(table),
        )
        for name, table in context.tables.own(UpstreamTables).upstreams.items()
        if name in used
    )


def _describe_access(table: UpstreamTable) -> tuple[str, ...]:
    """Return the access of an upstream's program as declared, such as `reads ~/notes`; empty for a URL."""
    if not table.command:
        return ()
    lists = {"reads": table.reads, "writes": table.writes, "starts": table.executes}
    declared = (f"{verb} {', '.join(f'`{path}`' for path in paths)}" for verb, paths in lists.items() if paths)
    return (*declared, "network" if table.network else "no network")


def _variables(table: UpstreamTable) -> tuple[str, ...]:
    paths = (*table.reads, *table.writes, *table.executes)
    texts = (*table.command, table.url, table.working_dir, *table.env.values(), *table.headers.values(), *paths)
    return tuple(dict.fromkeys([*used_variables(texts), *table.pass_env]))


def upstream_tool(context: ResolveContext, tool: KindTool) -> UpstreamImplementation | None:
    """Return the upstream's tool that implements a tool, or None with its errors reported."""
    table = tool.table
    binding = _binding(context, tool.name, table)
    schema = None if tool.schema is None else _changed_schema(context, tool.checker, table, tool.schema)
    if not binding or schema is None:
        return None
    changes = table.own(UpstreamKeys).arguments
    aliases = {
        change.rename or name: ((*change.at, "aliases"), change.aliases)
        for name, change in changes.items()
        if change.aliases
    }
    names = schema.get("properties", {})
    return replace(binding, schema=schema, argument_aliases=argument_aliases(context, aliases, names, tool.name))


def _binding(context: ResolveContext, name: str, table: ToolTable) -> UpstreamImplementation | None:
    own = table.own(UpstreamKeys)
    upstream = context.kinds["upstream"].get(own.upstream)
    if upstream is None:
        if not context.is_known("upstreams", own.upstream):
            at = (*table.at, "upstream")
            context.report_unknown("TM351", "upstream", own.upstream, context.tables.own(UpstreamTables).upstreams, at)
        return None
    changes = own.arguments.items()
    hints = hints_of(table)
    tool = UpstreamTool(
        name=name,
        upstream=upstream,
        original=own.upstream_tool or name,
        risk=_risk(hints),
        is_repeatable=hints.read_only or hints.idempotent,
        renamed={change.rename: original for original, change in changes if change.rename},
        fixed={original: change.value for original, change in changes if change.value is not None},
        hidden=tuple(original for original, change in changes if change.hidden),
        timeout_s=table.timeout,
    )
    return UpstreamImplementation(
        hints=hints,
        tool=tool,
        upstream_constant=group_constant_name(own.upstream, "UPSTREAM"),
        has_contradicting_hints=bool(table.hints and table.hints.read_only and table.hints.destructive),
    )


def hints_of(table: ToolTable) -> Hints:
    """Return the hints of an upstream's tool: the worst case without `hints`, the worse of contradicting ones."""
    hints = implementation.hints_of(table)
    return replace(hints, read_only=hints.read_only and not hints.destructive)


def _risk(hints: Hints) -> Risk:
    """Return the risk that follows from the hints."""
    if hints.destructive:
        return Risk.DESTRUCTIVE
    return Risk.READ if hints.read_only else Risk.WRITE


def _changed_schema(
    context: ResolveContext, checker: SchemaChecker, table: ToolTable, schema: JsonSchema
) -> JsonSchema | None:
    """Return the schema of a tool for models, with the changes of `arguments`; None with the errors reported."""
    arguments = table.own(UpstreamKeys).arguments
    if not arguments:
        return schema
    properties = schema.get("properties", {})
    at = (*table.at, "arguments")
    if keyword := next((keyword for keyword in NAMING_KEYWORDS if keyword in schema), ""):
        message = f"arguments of a schema with `{keyword}` at its root cannot be changed"
        context.error("TM352", message, at, hint="remove `arguments`, or simplify `input_schema`", value=False)
        return None
    valid = [_check_change(context, checker, table, name, schema) for name in arguments]
    names = {name: arguments[name].rename or name if name in arguments else name for name in properties}
    shown = [new for name, new in names.items() if not _is_removed(table, name)]
    for change in arguments.values():
        if change.rename and Counter(shown)[change.rename] > 1:
            message = f"two arguments would have the name `{change.rename}`"
            context.error("TM352", message, (*change.at, "rename"), hint="choose another name")
            valid.append(False)
    if not all(valid):
        return None
    changed = {
        **schema,
        "properties": {names[name]: part for name, part in properties.items() if not _is_removed(table, name)},
        "required": [names.get(name, name) for name in schema.get("required", ()) if not _is_removed(table, name)],
    }
    return _without_lost_references(context, table, changed)


def _is_removed(table: ToolTable, name: str) -> bool:
    change = table.own(UpstreamKeys).arguments.get(name)
    return change is not None and (change.value is not None or change.hidden)


def _check_change(
    context: ResolveContext, checker: SchemaChecker, table: ToolTable, name: str, schema: Mapping[str, Any]
) -> bool:
    """Return whether the change of the argument `name` fits the upstream's schema; report it if not."""
    change, properties = table.own(UpstreamKeys).arguments[name], schema.get("properties", {})
    if name not in properties:
        hint = did_you_mean(name, properties) or f"known: {', '.join(properties) or 'none'}"
        context.error("TM352", f"`input_schema` has no argument `{name}`", change.at, hint=hint, value=False)
        return False
    if change.hidden and name in schema.get("required", ()):
        hint = "write `value` with the value of every call"
        context.error("TM352", f"`{name}` is required, so it cannot be left out", (*change.at, "hidden"), hint=hint)
        return False
    if change.value is None:
        return True
    problems = checker.find_problems({**schema, "required": []}, {name: change.value}, closed=False)
    for problem in problems:
        message = f"`value` of `{name}` is invalid: {problem.message}"
        context.error("TM352", message, (*change.at, "value", *problem.path[1:]), hint=problem.hint)
    return not problems


def _without_lost_references(context: ResolveContext, table: ToolTable, schema: JsonSchema) -> JsonSchema | None:
    try:
        check_references(schema)
    except RawSchemaError as error:
        message = f"`arguments` changes a part that another one refers to: {error}"
        context.error("TM352", message, (*table.at, "arguments"), hint="move that part to `$defs`", value=False)
        return None
    return schema
