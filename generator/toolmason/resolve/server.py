"""The server of the model: its settings, categories, slash commands and workflows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from toolmason_runtime.shared.placeholders import CALLING
from toolmason_runtime.shared.shown_names import meta_name
from toolmason_runtime.shared.styles import CLASSIC, STYLES

from toolmason.clients import CLAUDE_CODE, CLAUDE_CODE_PLUGIN, CODEX, session_of
from toolmason.kinds import errors_of, kinds
from toolmason.manifest.groups import needs_groups
from toolmason.manifest.tables import OptionTable
from toolmason.model.identifiers import identifier
from toolmason.model.implementation import Group, Handler
from toolmason.model.prompt import Prompt, Resource, SurfaceModule
from toolmason.model.server import (
    App,
    Category,
    FileRow,
    Option,
    Server,
    SlashCommand,
    Step,
    Subcommand,
    Workflow,
)
from toolmason.model.tool import Tool
from toolmason.model.types import ClassName, Identifier
from toolmason.resolve import types
from toolmason.resolve.client_names import names_of, shown_name
from toolmason.resolve.context import ResolveContext, allowed
from toolmason.resolve.prompts import command_prompt

MAX_SKILL_CHARACTERS: Final = 1024
TIMEOUT_MARGIN_S: Final = 30
"""Seconds that a client waits beyond the timeout of a tool's program, for its start and its end."""


def resolve_server(
    context: ResolveContext, tools: Sequence[Tool], prompts: tuple[Prompt, ...], resources: tuple[Resource, ...]
) -> Server:
    """Return the server with its tools, prompts and resources, of a manifest without errors."""
    table = context.tables.server
    categories = _categories(context, tools)
    shared = {name for category in categories for name in category.shared_types}
    commands = _commands(context)
    return Server(
        # It is printed in docstrings and comments, so unusual characters of a file name are replaced.
        source=re.sub(r"[^\w./-]", "_", str(context.document.path)),
        table=table,
        package=Identifier(table.package),
        summary=table.summary or f"Tools of the {table.title or table.name} server",
        instructions=table.instructions.strip(),
        command=table.command or table.name,
        launch=_launch(context),
        declared_extras=context.declared.extras,
        tool_timeout=table.tool_timeout or _tool_timeout(tools),
        lifespan=context.handler(table.lifespan) if table.lifespan else None,
        guard=_guard(context),
        startup_check=context.handler(table.startup_check) if table.startup_check else None,
        routes=context.handler(table.routes) if table.routes else None,
        middleware=context.handler(table.middleware) if table.middleware else None,
        options=_options(context),
        pass_env=tuple(filter(None, dict.fromkeys((*table.pass_env, table.chunk_store)))),
        subcommands=_subcommands(context),
        discovery=context.tables.discovery,
        pins={style: pins for style in STYLES if (pins := context.tables.discovery.pins.of(style)) is not None},
        outputs=context.tables.outputs,
        categories=categories,
        groups=_groups(context),
        types=tuple(context.types.values()),
        shared_types=tuple(object_type for name, object_type in context.types.items() if name in shared),
        prompts=(*prompts, *map(command_prompt, commands)),
        resources=resources,
        surface_modules=_surface_modules(prompts, resources),
        commands=commands,
        workflows=_workflows(context),
        apps=_apps(context),
        skill_description=_skill_description(context),
        files=_files(context),
    )


def _surface_modules(prompts: tuple[Prompt, ...], resources: tuple[Resource, ...]) -> tuple[SurfaceModule, ...]:
    modules = SurfaceModule(name="prompts", surfaces=prompts), SurfaceModule(name="resources", surfaces=resources)
    return tuple(module for module in modules if module.has_functions)


def _launch(context: ResolveContext) -> tuple[str, ...]:
    """Return the server's own command if the project installs it, else one that needs no installation."""
    command = context.tables.server.command or context.tables.server.name
    return (command,) if command in context.declared.scripts else ("toolmason", "run", str(context.document.path))


def _tool_timeout(tools: Sequence[Tool]) -> float | None:
    timeouts = [timeout_s for tool in tools if (timeout_s := tool.implementation.timeout_s) is not None]
    # At least the default of Codex, since a call may wait for a person's approval.
    default = session_of(CODEX).tool_timeout_s or 0
    return max(default, max(timeouts) + TIMEOUT_MARGIN_S) if timeouts else None


def _files(context: ResolveContext) -> tuple[FileRow, ...]:
    return tuple(
        FileRow(path=row.path, template=row.template, for_each=row.for_each, number=number, at=row.at)
        for number, row in enumerate(context.tables.files, start=1)
    )


def _skill_description(context: ResolveContext) -> str:
    server = context.tables.server
    uses = "; ".join(category.summary for category in context.tables.categories.values())
    text = f"Tools of the {server.title or server.name} server. Use for: {uses}"
    return text if len(text) <= MAX_SKILL_CHARACTERS else text[: MAX_SKILL_CHARACTERS - 1] + "…"


def _groups(context: ResolveContext) -> dict[str, tuple[Group, ...]]:
    """Return the groups of each kind that has some."""
    groups = {}
    for name, kind in kinds().items():
        if needs_groups(context.tables, kind):
            with errors_of(kind):
                groups[name] = kind.groups(context)
    return {name: found for name, found in groups.items() if found}


def _options(context: ResolveContext) -> tuple[Option, ...]:
    def default_of(table: OptionTable) -> Any:
        return False if table.type == "boolean" and not table.required and table.default is None else table.default

    return tuple(
        Option(
            name=name,
            flag="--" + name.replace("_", "-"),
            table=table,
            default=default_of(table),
            metavar=table.metavar or name.upper().replace("-", "_"),
            field=identifier(name),
        )
        for name, table in context.tables.server.options.items()
    )


def _subcommands(context: ResolveContext) -> tuple[Subcommand, ...]:
    return tuple(
        Subcommand(name=name, table=table, handler=context.handler(table.handler))
        for name, table in context.tables.server.subcommands.items()
    )


def _categories(context: ResolveContext, tools: Sequence[Tool]) -> tuple[Category, ...]:
    """Return the categories that have tools."""
    found: dict[str, list[Tool]] = {name: [] for name in context.tables.categories}
    for tool in tools:
        if tool.category in found:
            found[tool.category].append(tool)
    tools_of = {name: tuple(members) for name, members in found.items()}
    types_of = {name: types.reachable_types(members, context.types) for name, members in tools_of.items()}
    uses = Counter(object_type.name for object_types in types_of.values() for object_type in object_types)
    return tuple(
        Category(
            name=name,
            module=identifier(name),
            table=table,
            has_json_errors=table.errors == "json",
            tools=tools_of[name],
            types=types_of[name],
            shared_types=tuple(sorted(item.name for item in types_of[name] if uses[item.name] > 1)),
            contract_models=_contract_models(tools_of[name]),
            handler_modules=_handler_modules(tools_of[name]),
            kinds=_kinds(tools_of[name]),
        )
        for name, table in context.tables.categories.items()
        if tools_of[name]
    )


def _handler_modules(tools: Sequence[Tool]) -> tuple[str, ...]:
    return tuple(sorted({module for tool in tools for module in tool.implementation.modules}))


def _kinds(tools: Sequence[Tool]) -> tuple[str, ...]:
    """Return the kinds of tools in the order of their bindings: handlers are last."""
    used = {tool.implementation.kind for tool in tools}
    return tuple(name for name in reversed(kinds()) if name in used)


def _guard(context: ResolveContext) -> Handler | None:
    guard = context.tables.server.guard
    return context.handler(guard) if guard else None


def _contract_models(tools: Sequence[Tool]) -> tuple[ClassName, ...]:
    handler_tools = (tool for tool in tools if tool.implementation.handler)
    names = {name for tool in handler_tools for name in (tool.params_class, tool.result_class) if name}
    return tuple(ClassName(name) for name in sorted(names))


def _commands(context: ResolveContext) -> tuple[SlashCommand, ...]:
    prefix = context.tables.outputs.command_prefix
    return tuple(
        SlashCommand(
            name=prefix + name,
            base_name=name,
            table=table,
            claude_tools=_claude_tools(context, table.tools, CLAUDE_CODE),
            plugin_tools=_claude_tools(context, table.tools, CLAUDE_CODE_PLUGIN),
            call_hint=_call_hint(context, table.tools),
            template=table.prompt.strip(),
            allow=allowed(table.allow),
        )
        for name, table in context.tables.commands.items()
    )


def _apps(context: ResolveContext) -> tuple[App, ...]:
    return tuple(
        App(
            tool=name,
            page=context.handler(table.page),
            action=context.handler(table.action) if table.action else None,
        )
        for name, table in context.tables.apps.items()
    )


def _workflows(context: ResolveContext) -> tuple[Workflow, ...]:
    return tuple(
        Workflow(
            name=context.tables.outputs.workflow_prefix + name,
            base_name=name,
            table=table,
            title=table.title or table.summary,
            description=table.description or table.summary,
            steps=tuple(Step(table=step, text=step.text.strip()) for step in table.steps),
            call_hint=_call_hint(context, [step.tool for step in table.steps if step.tool]),
            allow=allowed(table.allow),
        )
        for name, table in context.tables.workflows.items()
    )


def _claude_tools(context: ResolveContext, tools: Sequence[str], client: str) -> tuple[str, ...]:
    """Return the tools that Claude Code must allow for calls of `tools`: unlisted ones need meta-tools.

    `client` is the key of Claude Code or of its plugins, which have other names for tools.
    """
    names = {name for name in tools if _is_listed(context, name)}
    unlisted = [name for name in tools if name not in names]
    if unlisted:
        names |= {_call_meta_tool(context, name) for name in unlisted}
        discovery = context.tables.discovery
        names.add(_meta_name(context, STYLES[discovery.style].describe))
    server = context.tables.server.name
    # A plugin and its server have the name of the server in lower case.
    server = server.lower() if client == CLAUDE_CODE_PLUGIN else server
    return tuple(shown_name(names_of(client), server, name) for name in sorted(names))


def _is_listed(context: ResolveContext, tool: str) -> bool:
    discovery = context.tables.discovery
    return discovery.style == CLASSIC or tool in discovery.pinned_in(discovery.style)


def _call_hint(context: ResolveContext, tools: Sequence[str]) -> str:
    """Return the placeholder of the sentence with the meta-tools that call the unlisted ones of `tools`."""
    names = [name for name in dict.fromkeys(tools) if name in context.hints]
    return f"{{{CALLING}{','.join(names)}}}" if names else ""


def _call_meta_tool(context: ResolveContext, tool: str) -> str:
    """Return the meta-tool that calls an unlisted tool."""
    discovery = context.tables.discovery
    style = STYLES[discovery.style]
    only_reads = discovery.split_calls and tool in context.hints and context.hints[tool].read_only
    return _meta_name(context, style.call_read if only_reads and style.call_read else style.call)


def _meta_name(context: ResolveContext, name: str) -> str:
    """Return the bare name of a meta-tool."""
    tables = context.tables
    aliases = (alias for tool in tables.tools.values() for alias in tool.aliases)
    return meta_name(name, {*tables.tools, *aliases}, tables.discovery.prefix or "")
