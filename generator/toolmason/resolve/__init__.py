"""From what was written to what it means: names settled, types resolved, defaults applied, order decided."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.protocol.renaming import renamed
from toolmason_runtime.toml.positions import KeyPath

from toolmason.clients import CODEX, clients
from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.idioms import result_hint
from toolmason.manifest.tables import ManifestTables, ToolTable
from toolmason.model import json_schema
from toolmason.model.client_launch import PYPROJECT, PyprojectError, declared_scripts
from toolmason.model.identifiers import (
    CONSTANTS_TAKEN,
    CONTRACT_TAKEN,
    class_name,
    constant_name,
    identifier,
    params_class_name,
    program_constant_name,
)
from toolmason.model.server import Category, Command, Discovery, FileRow, Option, Server, Step, Subcommand, Workflow
from toolmason.model.tool import Deprecation, Example, Handler, Tool
from toolmason.model.types import ClassName, Identifier, JsonSchema, ObjectType, Value
from toolmason.resolve import clis, types
from toolmason.resolve.call_expression import invocation
from toolmason.resolve.context import Resolution
from toolmason.resolve.examples import SchemaChecker
from toolmason.resolve.handlers import HandlerIndex
from toolmason.resolve.raw_schema import RawSchemaError, read_raw_schema
from toolmason.resolve.tool_names import client_name, meta_tool_names, refusal
from toolmason.schema import Projection, Severity, advertise

RESERVED_MODULES = frozenset({"catalogue", "server", "types", "__init__", "__main__", "__pycache__", "search_index"})
"""Modules of the generated package that a category must not hide."""
FILE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What may name a command or a workflow: each becomes a file, and a skill's name is held to this (Agent Skills)."""
MAX_SKILL_CHARACTERS = 1024
TIMEOUT_MARGIN_S = 30
"""Seconds a client should wait longer than the program of a tool may run: it has to start and to end."""


def resolve(
    tables: ManifestTables,
    document: Document,
    *,
    root: Path,
    diagnostics: Diagnostics,
    handlers: Path | None = None,
) -> Server | None:
    """Give the model of a manifest, or None with TM3xx diagnostics added.

    `root` is the project, for files the manifest names. Hand-written functions are looked for under
    `handlers`; without it they are taken on trust.
    """
    run = Resolution(tables, document, root, diagnostics)
    run.types = types.object_types(run)
    _read_scripts(run)
    _check_categories(run)
    _check_names(run)
    _check_references(run)
    run.programs = clis.programs(run)
    run.definitions = json_schema.definitions(tuple(run.types.values()))
    checker = SchemaChecker(run.definitions)
    tools = [tool for name, table in tables.tools.items() if (tool := _tool(run, checker, name, table))]
    if handlers is not None and not tables.server.is_uncertain("handlers", "package"):
        _check_handlers(run, tools, HandlerIndex(handlers, run.tables.server.package, run.tables.server.handlers))
    return None if diagnostics.has_errors else _server(run, tools)


def _server(run: Resolution, tools: Sequence[Tool]) -> Server:
    written = run.tables.server
    categories = _categories(run, tools)
    shared = {name for category in categories for name in category.shared_types}
    return Server(
        # It stands in docstrings and comments, so an odd file name is made plain.
        source=re.sub(r"[^\w./-]", "_", str(run.document.path)),
        name=written.name,
        title=written.title,
        version=written.version,
        package=Identifier(written.package),
        handlers=written.handlers,
        instructions=written.instructions.strip(),
        command=written.command or written.name,
        launch=_launch(run),
        tool_timeout=written.tool_timeout or _tool_timeout(tools),
        website=written.website,
        lifespan=_handler(run, written.lifespan) if written.lifespan else None,
        guard=_guard(run),
        startup_check=_handler(run, written.startup_check) if written.startup_check else None,
        page_size=written.page_size,
        options=_options(run),
        pass_env=tuple(filter(None, dict.fromkeys((*written.pass_env, written.chunk_store)))),
        chunk_store=written.chunk_store,
        subcommands=_subcommands(run),
        discovery=_discovery(run),
        categories=categories,
        clis=clis.clis(run),
        types=tuple(run.types.values()),
        shared_types=tuple(named for name, named in run.types.items() if name in shared),
        commands=_commands(run),
        workflows=_workflows(run),
        skill_description=_skill_description(run),
        files=_files(run),
    )


def _launch(run: Resolution) -> tuple[str, ...]:
    """Return the server's own command if the project installs it, else the one that needs no installation."""
    command = run.tables.server.command or run.tables.server.name
    return (command,) if command in run.scripts else ("toolmason", "run", str(run.document.path))


def _tool_timeout(tools: Sequence[Tool]) -> float | None:
    commands = [tool.command.tool for tool in tools if tool.command]
    timeouts = [each.timeout_s or each.program.timeout_s for each in commands]
    # Never less than Codex waits if its file has no time-out, since a person may be asked meanwhile.
    default = clients()[CODEX].tool_timeout_s or 0
    return max(default, max(timeouts) + TIMEOUT_MARGIN_S) if timeouts else None


def _read_scripts(run: Resolution) -> None:
    try:
        run.scripts = declared_scripts(run.root)
    except PyprojectError as error:
        hint = "fix it: its `[project.scripts]` says how clients start the server"
        run.error("TM337", f"cannot read {PYPROJECT}: {error}", ("server",), hint=hint, value=False)


def _files(run: Resolution) -> tuple[FileRow, ...]:
    return tuple(
        FileRow(path=row.path, template=row.template, for_each=row.for_each, number=number, at=row.at)
        for number, row in enumerate(run.tables.files, start=1)
    )


def _skill_description(run: Resolution) -> str:
    server = run.tables.server
    uses = "; ".join(each.summary for each in run.tables.categories.values())
    text = f"Tools of the {server.title or server.name} server. Use for: {uses}"
    return text if len(text) <= MAX_SKILL_CHARACTERS else text[: MAX_SKILL_CHARACTERS - 1] + "…"


def _options(run: Resolution) -> tuple[Option, ...]:
    return tuple(
        Option(
            name=name,
            flag="--" + name.replace("_", "-"),
            description=each.description,
            env=each.env,
            many=each.many,
            default=each.default,
            metavar=each.metavar or name.upper().replace("-", "_"),
        )
        for name, each in run.tables.server.options.items()
    )


def _subcommands(run: Resolution) -> tuple[Subcommand, ...]:
    return tuple(
        Subcommand(name=name, summary=each.summary, handler=_handler(run, each.handler))
        for name, each in run.tables.server.subcommands.items()
    )


def _discovery(run: Resolution) -> Discovery:
    written = run.tables.discovery
    return Discovery(
        style=written.style,
        prefix=written.prefix,
        pinned=written.pinned,
        page_tokens=written.page_tokens,
        split_calls=written.split_calls,
        list_fetch_chunk=written.list_fetch_chunk,
    )


def _categories(run: Resolution, tools: Sequence[Tool]) -> tuple[Category, ...]:
    members_of = {name: tuple(tool for tool in tools if tool.category == name) for name in run.tables.categories}
    types_of = {
        name: types.used_types((run.tables.tools[tool.name] for tool in members), members, run.types)
        for name, members in members_of.items()
    }
    uses = Counter(named.name for types in types_of.values() for named in types)
    found = []
    for name, written in run.tables.categories.items():
        members = members_of[name]
        if not members:
            continue
        found.append(
            Category(
                name=name,
                module=identifier(name),
                summary=written.summary,
                tags=written.tags,
                has_json_errors=written.errors == "json",
                tools=members,
                types=types_of[name],
                shared_types=tuple(sorted(named.name for named in types_of[name] if uses[named.name] > 1)),
                contract_models=_contract_models(members),
                handler_modules=_handler_modules(run, members),
            )
        )
    return tuple(found)


def _handler_modules(run: Resolution, tools: Sequence[Tool]) -> tuple[str, ...]:
    found = {tool.handler.module for tool in tools if tool.handler}
    guard = _guard(run)
    if guard and any(tool.command for tool in tools):
        found.add(guard.module)
    return tuple(sorted(found))


def _guard(run: Resolution) -> Handler | None:
    return _handler(run, run.tables.server.guard) if run.tables.server.guard else None


def _contract_models(tools: Sequence[Tool]) -> tuple[ClassName, ...]:
    handled = (tool for tool in tools if tool.handler)
    found = {name for tool in handled for name in (tool.params_class, tool.result_class) if name}
    return tuple(ClassName(name) for name in sorted(found))


def _commands(run: Resolution) -> tuple[Command, ...]:
    return tuple(
        Command(
            name=name,
            summary=each.summary,
            argument_hint=each.argument_hint,
            tools=each.tools,
            claude_tools=_claude_tools(run, each.tools),
            runner=_runner(run, each.tools),
            prompt=each.prompt.strip(),
        )
        for name, each in run.tables.commands.items()
    )


def _claude_tools(run: Resolution, tools: Sequence[str]) -> tuple[str, ...]:
    """Name what must be allowed for `tools` to run: those that are not listed go through a meta-tool."""
    found = {name for name in tools if _is_listed(run, name)}
    hidden = [name for name in tools if name not in found]
    if hidden:
        found |= {_runner(run, [name]) for name in hidden}
        found.add(_FINDERS[run.tables.discovery.style].format(run.tables.discovery.prefix))
    return tuple(client_name(name, run.tables.server.name) for name in sorted(found))


_FINDERS = {"search-call": "{}search", "list-describe": "get_tool_description", "discover-schema": "get_tool_schema"}
"""The meta-tool of each style that tells the arguments of a hidden tool."""


def _is_listed(run: Resolution, tool: str) -> bool:
    return run.tables.discovery.style == "classic" or tool in run.tables.discovery.pinned


def _runner(run: Resolution, tools: Sequence[str]) -> str:
    """Name the meta-tool that runs the hidden ones of `tools`; the one that only reads if that will do."""
    written = run.tables.discovery
    hidden = [run.hints[name] for name in tools if name in run.hints and not _is_listed(run, name)]
    if not hidden:
        return ""
    if written.style != "search-call":
        return "call_tool"
    only_reads = written.split_calls and all(hints.read_only for hints in hidden)
    return f"{written.prefix}call_read" if only_reads else f"{written.prefix}call"


def _workflows(run: Resolution) -> tuple[Workflow, ...]:
    return tuple(
        Workflow(
            name=name,
            summary=each.summary,
            description=each.description or each.summary,
            steps=tuple(Step(title=step.title, tool=step.tool, text=step.text.strip()) for step in each.steps),
            runner=_runner(run, [step.tool for step in each.steps if step.tool]),
        )
        for name, each in run.tables.workflows.items()
    )


def _tool(run: Resolution, checker: SchemaChecker, name: str, table: ToolTable) -> Tool | None:
    if reason := refusal(name, run.tables.server.name):
        run.error("TM311", reason, table.at, value=False)
    params = types.values(run, clis.command_params(table))
    # A tool with `cli` has neither, and it has been said if it is given one.
    raw = None if table.cli else _raw_schema(run, table)
    result = None if table.cli else _result(run, table)
    if _is_too_large(run, table, params, result):
        return None
    if types.is_recursive(run, params) or len(params) < len(run.written("tools", name, "params")):
        return None
    if table.input_schema is not None and raw is None:
        return None
    has_way = table.handler or table.cli or "handler" in table.unread
    if not has_way or table.is_uncertain("params", "input_schema", "cli", "argv"):
        return None
    command = clis.command_line(run, name, table, params) if table.cli else None
    if table.cli and command is None:
        return None
    run.hints[name] = clis.hints_of(run, table, command.tool if command else None, params)
    exact = json_schema.exact(params) if raw is None else raw
    if not types.has_gaps(run, params):
        _check_examples(run, checker, name, table, exact)
    schema = exact if raw is not None or not run.types else {**exact, "$defs": run.definitions}
    sent = Projection(schema=schema) if table.verbatim_schema else _advertised(run, table, schema)
    return Tool(
        name=name,
        title=table.title,
        summary=table.summary,
        description=table.description.strip() or table.summary,
        category=clis.category_of(run.tables, table),
        keywords=table.keywords,
        use_cases=table.use_cases,
        complexity=table.complexity,
        tier=table.tier,
        requires_codebase=table.requires_codebase,
        hints=run.hints[name],
        related=table.related,
        aliases=table.aliases,
        deprecated=_deprecation(table),
        enabled=table.enabled,
        since=table.since,
        ext=table.ext,
        handler=_handler(run, table.handler) if table.handler else None,
        command=command,
        params=params,
        schema=schema,
        input_schema=sent.schema,
        renamed=sent.renamed,
        output_schema=json_schema.result(result, run.types) if result else None,
        examples=_examples(name, table, sent),
        protocol=class_name(name),
        constant=constant_name(name),
        params_class="" if raw is not None else params_class_name(name),
        result_class=result.name if result else "",
        allow={each.rule: each.reason for each in table.allow},
        at=table.at,
    )


def _advertised(run: Resolution, table: ToolTable, schema: JsonSchema) -> Projection:
    found = advertise(schema, rename=True)
    for each in found.findings:
        if each.severity is Severity.REFUSED:
            hint = "or set `verbatim_schema` to send it as it is"
            run.error(
                "TM313", f"`input_schema` at `{each.path}`: {each.message}", (*table.at, "input_schema"), hint=hint
            )
    return found


def _is_too_large(run: Resolution, table: ToolTable, params: Sequence[Value], result: ObjectType | None) -> bool:
    found = [types.is_too_large(run, (each,), each.at) for each in params]
    if result:
        found.append(types.is_too_large(run, result.fields, (*table.at, "returns"), result))
    return any(found)


def _deprecation(table: ToolTable) -> Deprecation | None:
    written = table.deprecated
    if written is None:
        return None
    return Deprecation(since=written.since, replaced_by=written.replaced_by, message=written.message)


def _handler(run: Resolution, reference: str) -> Handler:
    module, _, function = reference.partition(":")
    return Handler(module=f"{run.tables.server.handlers}.{module}", function=Identifier(function))


def _raw_schema(run: Resolution, table: ToolTable) -> JsonSchema | None:
    if table.input_schema is None:
        return None
    try:
        return read_raw_schema(table.input_schema, run.root)
    except RawSchemaError as error:
        run.error("TM313", str(error), (*table.at, "input_schema"), hint=error.hint)
        return None


def _result(run: Resolution, table: ToolTable) -> ObjectType | None:
    if not table.returns:
        return None
    if not run.is_known("types", table.returns):
        at, hint = (*table.at, "returns"), result_hint(table.returns)
        run.unknown("TM315", "result type", table.returns, run.types, at, hint=hint)
    return run.types.get(ClassName(table.returns))


def _check_examples(run: Resolution, checker: SchemaChecker, name: str, table: ToolTable, schema: JsonSchema) -> None:
    for example in table.examples:
        for problem in checker.problems(schema, example.arguments, closed=table.input_schema is None):
            where = (*example.at, "arguments", *problem.path)
            run.error("TM310", f"example of `{name}` does not fit: {problem.message}", where, hint=problem.hint)


def _examples(name: str, table: ToolTable, sent: Projection) -> tuple[Example, ...]:
    names = {own: shown for shown, own in sent.renamed.items()}
    found = [(each, renamed(each.arguments, sent.schema, names)) for each in table.examples]
    return tuple(
        Example(
            description=each.description,
            arguments=arguments,
            invocation=invocation(name, arguments),
            expected_output=each.expected_output,
        )
        for each, arguments in found
    )


def _check_categories(run: Resolution) -> None:
    modules: dict[str, tuple[str, KeyPath]] = {}
    for name, written in run.tables.categories.items():
        if not name.isidentifier() or not name.isascii() or name.lower() != name:
            message = f"category `{name}` cannot name a Python module"
            run.error("TM317", message, written.at, hint="use lower-case letters, digits and underscores", value=False)
        elif name in RESERVED_MODULES:
            run.error(
                "TM317",
                f"category `{name}` hides a generated module",
                written.at,
                hint="choose another name",
                value=False,
            )
        else:
            _claim(run, modules, identifier(name), f"category `{name}`", written.at)


def _check_names(run: Resolution) -> None:
    """Refuse names that differ in the manifest and are the same in the output."""
    classes: dict[str, tuple[str, KeyPath]] = {}
    constants: dict[str, tuple[str, KeyPath]] = {}
    called: dict[str, tuple[str, KeyPath]] = {}
    for name, cli in run.tables.clis.items():
        _claim(run, constants, program_constant_name(name), f"program `{name}`", cli.at)
    for name, named in run.tables.types.items():
        _claim(run, classes, name, f"type `{name}`", named.at)
    for name, tool in run.tables.tools.items():
        _claim(run, called, name, f"tool `{name}`", tool.at)
        for place, alias in enumerate(tool.aliases):
            _claim(run, called, alias, f"alias `{alias}`", (*tool.at, "aliases", place))
            if reason := refusal(alias, run.tables.server.name):
                run.error("TM311", reason.replace("tool name", "alias"), (*tool.at, "aliases", place))
        if class_name(name) in CONTRACT_TAKEN or constant_name(name) in CONSTANTS_TAKEN:
            message = f"tool `{name}` has the name of something in generated code"
            run.error("TM317", message, tool.at, hint="choose another name", value=False)
        names = (constants, constant_name(name)), (classes, class_name(name)), (classes, params_class_name(name))
        # One clash says it: those that follow have the same cause.
        all(_claim(run, taken, made, f"tool `{name}`", tool.at) for taken, made in names)
    for kind, files in (("command", [*run.tables.commands]), ("workflow", [*run.tables.workflows])):
        for name in files:
            if not FILE_NAME.fullmatch(name):
                hint = "use up to 64 lower-case letters, digits and dashes: it becomes the name of a file"
                run.error("TM320", f"`{name}` cannot name a {kind}", (f"{kind}s", name), hint=hint, value=False)
    if (skill := run.tables.server.name.lower()) in run.tables.workflows:
        message = f"workflow `{skill}` has the name of the server's own skill"
        run.error("TM317", message, ("workflows", skill), hint="choose another name", value=False)
    prefix = run.tables.discovery.prefix
    if prefix and (reason := refusal(f"{prefix}call_read", run.tables.server.name)):
        run.error("TM311", reason, ("discovery", "prefix"), hint="choose a shorter prefix that starts with a letter")
    if run.tables.is_uncertain("discovery") or run.tables.discovery.is_uncertain("prefix"):
        return
    for reserved in meta_tool_names(run.tables.discovery):
        if reserved in called:
            what, at = called[reserved]
            owner = "the built-in tool" if reserved == FETCH_CHUNK else "a meta-tool"
            message = f"{what} has the name of {owner}"
            hint = "choose another name" if reserved == FETCH_CHUNK else "choose another name, or set a prefix"
            run.error("TM317", message, at, hint=hint, value=False)


def _claim(run: Resolution, taken: dict[str, tuple[str, KeyPath]], made: str, what: str, at: KeyPath) -> bool:
    """Take a name of the output, or say who has it."""
    if made not in taken:
        taken[made] = (what, at)
        return True
    other = taken[made][0]
    run.error("TM306", f"{what} and {other} would both be `{made}`", at, hint="rename one", value=False)
    return False


def _check_references(run: Resolution) -> None:
    """Look up each name that one part of the manifest uses of another."""
    tables, tools = run.tables, run.tables.tools
    for name, tool in tools.items():
        _check_itself(run, name, tool)
        clis.check_confirm(run, tool)
        if tool.category and not run.is_known("categories", tool.category):
            run.unknown("TM301", "category", tool.category, tables.categories, (*tool.at, "category"))
        _look_up(run, "TM304", "related tool", tool.related, (*tool.at, "related"))
        if tool.deprecated and tool.deprecated.replaced_by:
            _look_up(run, "TM304", "tool", tool.deprecated.replaced_by, (*tool.at, "deprecated", "replaced_by"))
    _look_up(run, "TM305", "pinned tool", tables.discovery.pinned, ("discovery", "pinned"))
    _check_pinned(run)
    for command in tables.commands.values():
        _look_up(run, "TM305", "tool", command.tools, (*command.at, "tools"))
    for workflow in tables.workflows.values():
        for step in workflow.steps:
            if step.tool:
                _look_up(run, "TM305", "tool", step.tool, (*step.at, "tool"))


def _check_itself(run: Resolution, name: str, tool: ToolTable) -> None:
    """Refuse a tool that points to itself."""
    for place, related in enumerate(tool.related):
        if related == name:
            run.error("TM322", f"`{name}` is related to itself", (*tool.at, "related", place), hint="leave it out")
    if tool.deprecated and tool.deprecated.replaced_by == name:
        at = (*tool.at, "deprecated", "replaced_by")
        run.error("TM322", f"`{name}` is replaced by itself", at, hint="name the better tool, or leave it out")


def _check_pinned(run: Resolution) -> None:
    """Refuse pinned tools that are not listed for all that, or are listed already."""
    pinned = run.tables.discovery.pinned
    for place, name in enumerate(pinned):
        at = ("discovery", "pinned", place)
        tool = run.tables.tools.get(name)
        if name in pinned[:place]:
            run.error("TM322", f"`{name}` is pinned twice", at, hint="leave one out")
        elif tool and not tool.enabled:
            run.error("TM322", f"`{name}` is pinned, and disabled", at, hint="leave it out, or enable it")
        elif tool and tool.tier == "all":
            hint = 'leave it out, or give it `tier = "core"`'
            run.error("TM322", f"`{name}` is pinned, and served only with `--all`", at, hint=hint)


def _look_up(run: Resolution, code: str, what: str, names: str | Sequence[str], at: KeyPath) -> None:
    places: Iterable[tuple[str, KeyPath]] = (
        [(names, at)] if isinstance(names, str) else [(name, (*at, place)) for place, name in enumerate(names)]
    )
    for name, where in places:
        if not run.is_known("tools", name):
            run.unknown(code, what, name, run.tables.tools, where)


def _check_handlers(run: Resolution, tools: Sequence[Tool], index: HandlerIndex) -> None:
    server = run.tables.server
    for key, reference, hint in (
        (
            "lifespan",
            server.lifespan,
            "it is an async context manager that is given the options and yields one object or a tuple of them",
        ),
        ("guard", server.guard, "it is an async function that is given a CommandTool, its values and the ToolCall"),
        ("startup_check", server.startup_check, "it is a function that takes nothing and gives warnings"),
    ):
        problem = index.problem(_handler(run, reference))[0] if reference else ""
        if problem:
            run.error("TM312", problem, ("server", key), hint=hint)
    for each in server.subcommands.values():
        problem = index.problem(_handler(run, each.handler))[0]
        if problem:
            hint = "it is a function that is given the arguments after its name and gives the exit status"
            run.error("TM312", problem, (*each.at, "handler"), hint=hint)
    for tool in tools:
        if tool.handler and (missing := index.missing(tool, tool.handler)):
            run.error("TM312", missing.message, (*tool.at, "handler"), hint=missing.hint)
