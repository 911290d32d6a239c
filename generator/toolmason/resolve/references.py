"""Checks of names: collisions in the output, references between tables, and handler functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.prefixes import parse_prefix
from toolmason_runtime.shared.specs.program import CONFIRM_PLACEHOLDER
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.kinds import kinds
from toolmason.manifest.groups import groups_of
from toolmason.manifest.package_names import DEVICE_NAMES
from toolmason.manifest.references import references
from toolmason.manifest.tables import PromptTable, ResourceTable, ToolTable
from toolmason.model.identifiers import (
    RESERVED_CONSTANTS,
    RESERVED_CONTRACT_NAMES,
    class_name,
    constant_name,
    group_constant_name,
    identifier,
    params_class_name,
)
from toolmason.model.tool import Tool
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.handlers import HandlerIndex
from toolmason.resolve.stubs import (
    MISSING_FUNCTION,
    Stub,
    action_stub,
    completion_stub,
    guard_stub,
    lifespan_stub,
    middleware_stub,
    page_stub,
    routes_stub,
    startup_check_stub,
    subcommand_stub,
    surface_stub,
    tool_stub,
)
from toolmason.resolve.tool_names import meta_tool_names, tool_name_problem

RESERVED_MODULES: Final = frozenset(
    {
        *(
            "asgi",
            "catalogue",
            "hooks",
            "options",
            "prompts",
            "resources",
            "search_index",
            "server",
            "tool_commands",
            "types",
        ),
        *("__init__", "__main__", "__pycache__"),
        *DEVICE_NAMES,
    }
)
"""Modules of the generated package that a category must not hide, and names that no file can have."""
FILE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""Name of a command or a workflow, such as `review-diff`: a file has this name, and Agent Skills limits a skill's."""
PREFIXED_COMMAND: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Name of a command with its prefix."""

_Owners = dict[str, tuple[str, KeyPath]]
"""Each name of the output with its owner in the manifest: a description, `type `Note``, and its key path."""


def check_categories(context: ResolveContext) -> None:
    """Report categories that cannot be modules of the generated package."""
    modules: _Owners = {}
    for name, table in context.tables.categories.items():
        if not name.isidentifier() or not name.isascii() or name.lower() != name:
            hint = "use lower-case letters, digits and underscores"
            context.error("TM317", f"category `{name}` cannot name a Python module", table.at, hint=hint, value=False)
        elif name in RESERVED_MODULES:
            hint = "choose another name"
            problem = "cannot name a file on Windows" if name in DEVICE_NAMES else "hides a generated module"
            context.error("TM317", f"category `{name}` {problem}", table.at, hint=hint, value=False)
        else:
            _reserve_name(context, modules, identifier(name), f"category `{name}`", table.at)


def check_groups(context: ResolveContext) -> None:
    """Report unknown categories of programs, APIs and the like."""
    for kind in kinds().values():
        for table in groups_of(context.tables, kind).values():
            category = str(getattr(table, "category", ""))
            if category and not context.is_known("categories", category):
                at = (*table.at, "category")
                context.report_unknown("TM301", "category", category, context.tables.categories, at)


def check_names(context: ResolveContext) -> None:
    """Report names that clients reject, and different names that become the same in the output."""
    tables = context.tables
    classes: _Owners = {}
    constants: _Owners = {}
    callable_names: _Owners = {}
    for kind in kinds().values():
        for name, group in groups_of(tables, kind).items():
            if section := kind.section:
                constant = group_constant_name(name, section.suffix)
                _reserve_name(context, constants, constant, f"{section.noun} `{name}`", group.at)
    for name, object_type in context.types.items():
        _reserve_name(context, classes, name, f"type `{name}`", object_type.at)
    for name, tool in tables.tools.items():
        _reserve_name(context, callable_names, name, f"tool `{name}`", tool.at)
        for index, alias in enumerate(tool.aliases):
            at = (*tool.at, "aliases", index)
            _reserve_name(context, callable_names, alias, f"alias `{alias}`", at)
            if problem := tool_name_problem(alias, tables.server.name):
                context.error("TM311", problem.replace("tool name", "alias"), at)
        if class_name(name) in RESERVED_CONTRACT_NAMES or constant_name(name) in RESERVED_CONSTANTS:
            message = f"tool `{name}` has a name that generated code uses"
            context.error("TM317", message, tool.at, hint="choose another name", value=False)
        generated = (constants, constant_name(name)), (classes, class_name(name)), (classes, params_class_name(name))
        # `all` stops at the first collision: the others have the same cause.
        all(_reserve_name(context, owners, output, f"tool `{name}`", tool.at) for owners, output in generated)
    _check_surface_names(context)
    _check_file_names(context)
    prefix = tables.discovery.prefix
    if prefix and (problem := tool_name_problem(f"{prefix}call_read", tables.server.name)):
        hint = "choose a shorter prefix that starts with a letter"
        context.error("TM311", problem, ("discovery", "prefix"), hint=hint)
    if not (tables.is_uncertain("discovery") or tables.discovery.is_uncertain("prefix")):
        _check_meta_tool_names(context, callable_names)


_RESERVED_SURFACES: Final = RESERVED_CONTRACT_NAMES | {"PromptContent", "ResourceContent"}


def _check_surface_names(context: ResolveContext) -> None:
    """Report handlers of prompts or of resources that would have the same name in generated code."""
    sections: tuple[Mapping[str, PromptTable | ResourceTable], ...] = (context.tables.prompts, context.tables.resources)
    for section in sections:
        constants: _Owners = {}
        classes: _Owners = {}
        for name, table in section.items():
            is_reserved = class_name(name) in _RESERVED_SURFACES or constant_name(name) in RESERVED_CONSTANTS
            if table.handler and is_reserved:
                message = f"`{name}` has a name that generated code uses"
                context.error("TM317", message, table.at, hint="choose another name", value=False)
            generated: list[tuple[_Owners, str]] = [
                (constants, constant_name(f"complete_{name}.{key}"))
                for key, argument in table.arguments.items()
                if argument.complete
            ]
            if table.handler:
                generated += [(constants, constant_name(name)), (classes, class_name(name))]
                generated += [(classes, params_class_name(name))]
            all(_reserve_name(context, owners, output, f"`{name}`", table.at) for owners, output in generated)


def _check_file_names(context: ResolveContext) -> None:
    tables = context.tables
    for kind, names in (("command", [*tables.commands]), ("workflow", [*tables.workflows])):
        for name in names:
            if not FILE_NAME.fullmatch(name):
                hint = "use up to 64 lower-case letters, digits and dashes: it becomes the name of a file"
                context.error("TM320", f"`{name}` cannot name a {kind}", (f"{kind}s", name), hint=hint, value=False)
    _check_prefix(context, "command", PREFIXED_COMMAND, "letters, digits, `_` and `-`")
    _check_prefix(context, "workflow", FILE_NAME, "lower-case letters, digits and `-`")
    skill, workflows = tables.server.name.lower(), context.prefixed_names("workflow")
    if skill in workflows:
        message = f"workflow `{skill}` has the name of the server's own skill"
        context.error("TM317", message, ("workflows", workflows[skill]), hint="choose another name", value=False)


def _check_prefix(context: ResolveContext, kind: str, pattern: re.Pattern[str], characters: str) -> None:
    """Report a prefix that is invalid, or that makes a valid name of a command or a workflow invalid."""
    key = f"{kind}_prefix"
    at = ("outputs", key)
    try:
        parse_prefix(getattr(context.tables.outputs, key), f"`{key}`")
    except ValueError as error:
        message, _, hint = str(error).rpartition("; ")
        context.error("TM346", message, at, hint=hint)
        return
    for prefixed, name in context.prefixed_names(kind).items():
        if FILE_NAME.fullmatch(name) and not pattern.fullmatch(prefixed):
            message = f"`{prefixed}` cannot name a {kind}"
            hint = f"use a prefix of {characters}; names have at most 64 characters"
            context.error("TM346", message, at, hint=hint)
            return


def _check_meta_tool_names(context: ResolveContext, callable_names: _Owners) -> None:
    for reserved in meta_tool_names(context.tables.discovery):
        if reserved in callable_names:
            owner, at = callable_names[reserved]
            is_built_in = reserved in BUILT_IN
            message = f"{owner} has the name of {'the built-in tool' if is_built_in else 'a meta-tool'}"
            hint = "choose another name" if is_built_in else "choose another name, or set a prefix"
            context.error("TM317", message, at, hint=hint, value=False)


def _reserve_name(context: ResolveContext, owners: _Owners, output: str, owner: str, at: KeyPath) -> bool:
    """Reserve the name `output` for `owner`, or report its present owner and return False."""
    if output not in owners:
        owners[output] = (owner, at)
        return True
    message = f"{owner} and {owners[output][0]} would both be `{output}`"
    context.error("TM306", message, at, hint="rename one", value=False)
    return False


def check_references(context: ResolveContext) -> None:
    """Report names that one table uses and no other defines, and tools that refer to themselves."""
    tables = context.tables
    for name, tool in tables.tools.items():
        _check_self_references(context, name, tool)
        _check_confirm(context, tool)
        if tool.category and not context.is_known("categories", tool.category):
            at = (*tool.at, "category")
            context.report_unknown("TM301", "category", tool.category, tables.categories, at)
        _check_replaced_params(context, tool)
    _check_pinned(context, tables.discovery.pinned, ("discovery", "pinned"))
    for style in STYLES:
        _check_pinned(context, tables.discovery.pins.of(style) or (), ("discovery", "pins", style))
    for reference in references(tables):
        # `_check_pinned` accepts aliases as well.
        if reference.names == "tool" and reference.at[0] != "discovery":
            code = "TM304" if reference.at[0] == "tools" else "TM305"
            _check_tool_name(context, code, reference.noun, reference.name, reference.at)


def _check_confirm(context: ResolveContext, table: ToolTable) -> None:
    """Report placeholders in `confirm` that are not parameters, and other braces."""
    at = (*table.at, "confirm")
    known = context.raw_table(*map(str, table.at), "params")
    for match in CONFIRM_PLACEHOLDER.finditer(table.confirm):
        if (name := match["name"]) and name not in known and not table.is_uncertain("params"):
            context.report_unknown("TM339", "parameter in `confirm`:", name, known, at)
    if re.search(r"[{}]", CONFIRM_PLACEHOLDER.sub("", table.confirm)):
        hint = "write the name of a parameter in braces, `{path}`, and a literal brace twice, `{{`"
        context.error("TM339", "`confirm` contains a brace outside of a placeholder", at, hint=hint)


def _check_self_references(context: ResolveContext, name: str, tool: ToolTable) -> None:
    for index, related in enumerate(tool.related):
        if related == name:
            at = (*tool.at, "related", index)
            context.error("TM322", f"`{name}` is related to itself", at, hint="remove it")
    if tool.deprecated and tool.deprecated.replaced_by == name:
        at = (*tool.at, "deprecated", "replaced_by")
        context.error("TM322", f"`{name}` is replaced by itself", at, hint="name the replacement, or remove the key")


def _check_replaced_params(context: ResolveContext, tool: ToolTable) -> None:
    known = context.raw_table(*map(str, tool.at), "params")
    for name, param in tool.params.items():
        if not param.deprecated or not (replacement := param.deprecated.replaced_by):
            continue
        at = (*param.at, "deprecated", "replaced_by")
        if replacement == name:
            hint = "name the replacement, or remove the key"
            context.error("TM322", f"`{name}` is replaced by itself", at, hint=hint)
        elif replacement not in known and not tool.is_uncertain("params"):
            context.report_unknown("TM304", "parameter", replacement, known, at)


def _check_pinned(context: ResolveContext, pinned: Sequence[str], key: KeyPath) -> None:
    """Report unknown pinned tools, those that are not listed despite that, and those that are pinned twice."""
    tools = context.tables.tools
    aliases = {alias: name for name, tool in tools.items() for alias in tool.aliases}
    raw_tools = context.raw_table("tools")
    are_aliases_known = all(name in tools and not tools[name].is_uncertain("aliases") for name in raw_tools)
    own_names = [aliases.get(name, name) for name in pinned]
    for index, name in enumerate(pinned):
        at = (*key, index)
        tool = tools.get(own_names[index])
        if name not in aliases and are_aliases_known:
            _check_tool_name(context, "TM305", "pinned tool", name, at)
        if own_names[index] in own_names[:index]:
            context.error("TM322", f"`{name}` is pinned twice", at, hint="remove one")
        elif tool and not tool.enabled:
            context.error("TM322", f"`{name}` is pinned but disabled", at, hint="remove it, or enable the tool")
        elif tool and tool.tier == "all":
            message = f"`{name}` is pinned but only served with `--all`"
            context.error("TM322", message, at, hint='remove it, or set `tier = "core"` on the tool')


def _check_tool_name(context: ResolveContext, code: str, kind: str, name: str, at: KeyPath) -> None:
    if not context.is_known("tools", name):
        context.report_unknown(code, kind, name, context.tables.tools, at)


def check_handlers(context: ResolveContext, tools: Sequence[Tool], index: HandlerIndex) -> None:
    """Report functions that the manifest names and the handler modules do not define."""
    server = context.tables.server
    if server.lifespan:
        stub = lifespan_stub(context.handler(server.lifespan), server.package)
        _check_function(context, index, stub, ("server", "lifespan"))
    if server.guard:
        _check_function(context, index, guard_stub(context.handler(server.guard)), ("server", "guard"))
    if server.startup_check:
        stub = startup_check_stub(context.handler(server.startup_check))
        _check_function(context, index, stub, ("server", "startup_check"))
    if server.routes:
        _check_function(context, index, routes_stub(context.handler(server.routes)), ("server", "routes"))
    if server.middleware:
        _check_function(context, index, middleware_stub(context.handler(server.middleware)), ("server", "middleware"))
    for subcommand in server.subcommands.values():
        stub = subcommand_stub(context.handler(subcommand.handler), subcommand.summary)
        _check_function(context, index, stub, (*subcommand.at, "handler"))
    for name, app in context.tables.apps.items():
        _check_function(context, index, page_stub(context.handler(app.page), name), (*app.at, "page"))
        if app.action:
            _check_function(context, index, action_stub(context.handler(app.action), name), (*app.at, "action"))
    for tool in tools:
        if handler := tool.implementation.handler:
            stub = tool_stub(tool, handler, server.package)
            _check_function(context, index, stub, (*tool.at, "handler"), shows_body=True)


def _check_function(
    context: ResolveContext, index: HandlerIndex, stub: Stub, at: KeyPath, *, shows_body: bool = False
) -> None:
    """Report the function of `stub` if it is missing, and remember it if it can be added."""
    if missing := index.find_missing(stub, shows_body=shows_body):
        context.error(MISSING_FUNCTION, missing.message, at, hint=missing.hint)
        if missing.can_be_added:
            context.missing.append(stub)


def check_surface_handlers(context: ResolveContext, index: HandlerIndex) -> None:
    """Report handlers and completions of prompts and resources that the handler modules do not define."""
    package = context.tables.server.package
    sections: Mapping[tuple[str, str], Mapping[str, PromptTable | ResourceTable]] = {
        ("prompts", "PromptContent"): context.tables.prompts,
        ("resources", "ResourceContent"): context.tables.resources,
    }
    for (section, result), tables in sections.items():
        for name, table in tables.items():
            if table.handler:
                handler, params = context.handler(table.handler), str(params_class_name(name))
                models = f"{package}.{section}.models"
                stub = surface_stub(handler, table.summary, params=params, result=result, models=models)
                _check_function(context, index, stub, (*table.at, "handler"))
            for argument_name, argument in table.arguments.items():
                if argument.complete:
                    stub = completion_stub(context.handler(argument.complete), argument_name)
                    _check_function(context, index, stub, (*argument.at, "complete"))
