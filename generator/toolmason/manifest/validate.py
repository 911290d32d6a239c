"""Stage two: convert the document to tables and check each table on its own."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import Kind, Problem, kind_of, quoted, table_name
from toolmason_runtime.shared.toml.reader import Extensions, TableCheck, TableContext, read
from toolmason_runtime.shared.toml.tables import Table, keys_of

from toolmason.diagnostics import Diagnostics, Location
from toolmason.kinds import KindError, kinds, owner
from toolmason.manifest.checks import check_group_names, check_implementation, check_param, check_pass_env, check_value
from toolmason.manifest.document import Document
from toolmason.manifest.function_names import check_function_name, import_name_problem
from toolmason.manifest.package_names import package_name_problem
from toolmason.manifest.tables import (
    ArgumentTable,
    ManifestTables,
    MessageTable,
    OptionTable,
    ParamTable,
    PromptTable,
    ResourceTable,
    ServerAuthTable,
    ServerTable,
    SubcommandTable,
    ToolTable,
    TypeTable,
    ValueTable,
)
from toolmason.manifest.validate_authorization import check_server_auth, check_tool_authorization
from toolmason.manifest.validate_prompts import check_argument, check_message, check_prompt, check_resource
from toolmason.manifest.validate_types import check_type

EDITION: Final = 1
"""The supported version of the manifest language."""


def validate(document: Document, *, diagnostics: Diagnostics) -> ManifestTables | None:
    """Return the tables of `document`.

    Invalid values are reported as TM2xx and left out, so that the next stage checks the rest. Returns None if nothing
    usable is left, or for a manifest of another edition, whose rules may differ.
    """
    if not _has_supported_edition(document, diagnostics):
        return None

    reported: set[Location] = set()

    def report(problem: Problem) -> None:
        diagnostic = document.diagnostic(problem)
        is_repeated = document.origin(problem.path) != problem.path and diagnostic.location in reported
        if not (is_repeated or _is_of_shared_param(document, problem)):
            reported.add(diagnostic.location)
            diagnostics.add(diagnostic)

    return read(ManifestTables, document, report=report, checks=table_checks(), extensions=extensions())


def extensions() -> Extensions:
    """Return the tables whose keys kinds of tools add.

    Raises:
        KindError: an installed kind adds a key that exists.
    """
    used = kinds().values()
    for kind in used:
        if text := owner(kind):
            others = [other for other in used if other is not kind]
            _check_new_keys(text, kind.tool_keys, (ToolTable, *(other.tool_keys for other in others)))
            _check_new_keys(text, kind.manifest_keys, (ManifestTables, *(other.manifest_keys for other in others)))
    return {
        ToolTable: tuple(kind.tool_keys for kind in used),
        ManifestTables: tuple(kind.manifest_keys for kind in used if kind.manifest_keys),
    }


def _check_new_keys(text: str, keys: type[Table] | None, tables: Iterable[type[Table] | None]) -> None:
    taken = {name for table in tables if table for name in keys_of(table)}
    for name in keys_of(keys) if keys else ():
        if name in taken:
            raise KindError(f"{text} cannot be used: its key `{name}` exists already, rename it")


def table_checks() -> Mapping[type[Table], TableCheck]:
    """Return the checks of one table that its dataclass cannot express, with those of kinds."""
    return {**TABLE_CHECKS, **{table: check for kind in kinds().values() for table, check in kind.checks.items()}}


def _is_of_shared_param(document: Document, problem: Problem) -> bool:
    """Return whether a parameter of a tool has a problem because of the shared one that it uses.

    `resolve` reports an unknown one. A shared parameter without a type is reported itself.
    """
    match problem.path:
        case "tools", tool, "params", name:
            param = document.data["tools"][tool]["params"][name]
            uses = (*problem.path, "use") in document.origins or (isinstance(param, dict) and "use" in param)
            return isinstance(param, str) or (problem.kind == Kind.MISSING_KEY and uses)
    return False


def _has_supported_edition(document: Document, diagnostics: Diagnostics) -> bool:
    edition = document.data.get("edition")
    if type(edition) is not int or edition == EDITION:
        return True  # The reader reports other types.
    if edition > EDITION:
        message = f"the manifest requires a later edition than {EDITION}, the only one that this version supports"
        hint = f"upgrade toolmason, or write `edition = {EDITION}` and fix the errors it reports"
    else:
        message, hint = f"unknown edition: the first is {EDITION}", f"write `edition = {EDITION}`"
    document.report(diagnostics, "TM201", message, ("edition",), hint=hint, value=True)
    return False


def _check_server(context: TableContext) -> None:
    _check_packages(context)
    check_pass_env(context)
    _check_registry_name(context)
    for key in _FUNCTION_KEYS:
        check_function_name(context, key)
    if _has_handlers(context):
        context.missing("handlers", '"..."')
    options = context.data.get("options")
    if isinstance(options, dict):
        _check_options(context, options)
    subcommands = context.data.get("subcommands")
    if isinstance(subcommands, dict):
        _check_subcommands(context, subcommands)


def _check_registry_name(context: TableContext) -> None:
    command = context.data.get("command") or context.data.get("name")
    if "registry_name" in context.data and context.data.get("distribution") != command:
        message = f"`registry_name` needs a distribution with the name of the command, `{command}`"
        hint = f'clients of the registry start `{command}` with uvx: write `distribution = "{command}"`'
        context.error("TM405", message, "registry_name", hint=hint)


_FUNCTION_KEYS: Final = ("lifespan", "guard", "startup_check", "routes", "middleware")
"""Keys of `[server]` that name a function in the package `handlers`."""


def _has_handlers(server: TableContext) -> bool:
    tools = server.document.data.get("tools")
    tool_tables = tools.values() if isinstance(tools, dict) else ()
    has_function = any(key in server.data for key in (*_FUNCTION_KEYS, "subcommands"))
    is_handled = any(isinstance(tool, dict) and "handler" in tool for tool in tool_tables)
    sections = (server.document.data.get(section) for section in ("prompts", "resources", "apps"))
    tables = [table for section in sections if isinstance(section, dict) for table in section.values()]
    return has_function or is_handled or any(_uses_package(table) for table in tables)


def _uses_package(table: Any) -> bool:
    """Return whether a prompt or a resource names a function or a file of the package `handlers`."""
    if not isinstance(table, dict):
        return False
    messages, arguments = table.get("messages"), table.get("arguments")
    parts = [
        *(messages if isinstance(messages, list) else ()),
        *(arguments.values() if isinstance(arguments, dict) else ()),
    ]
    has_part = any(isinstance(part, dict) and ("image" in part or "complete" in part) for part in parts)
    return has_part or any(key in table for key in ("handler", "file", "page"))


def _check_packages(context: TableContext) -> None:
    for key in ("package", "handlers"):
        name = context.data.get(key)
        if not isinstance(name, str) or not _PACKAGE.fullmatch(name):
            continue  # The reader reports these.
        if problem := import_name_problem(name):
            message = f"{quoted(name)} cannot be imported: {problem}"
            context.error("TM206", message, key, hint="use a Python package name")
        elif problem := package_name_problem(name):
            context.error("TM317", problem, key, hint="choose another name")
    package, handlers = context.data.get("package"), context.data.get("handlers")
    if isinstance(package, str) and package in _RESERVED_DIRECTORIES:
        context.error("TM317", f"`{package}` is another directory of the output", "package", hint="choose another name")
    if not isinstance(handlers, str):
        return
    top = handlers.partition(".")[0]
    if top == package:
        message = f"`{top}` is both the generated package and the package of the handlers"
        context.error("TM317", message, "handlers", hint="rename one")
    if top in _GENERATED_IMPORTS:
        context.error("TM317", f"`{top}` is a module of the generated package", "handlers", hint="choose another name")


_PACKAGE: Final = re.compile(r"[a-z_][a-z0-9_.]*")
_RESERVED_DIRECTORIES: Final = frozenset({"clients", "commands", "docs", "plugins", "schemas", "skills"})
"""Directories next to the package in `generated/`."""
_GENERATED_IMPORTS: Final = frozenset({"bindings", "command", "contract", "models"})


def _check_options(context: TableContext, options: Mapping[str, Any]) -> None:
    from toolmason_runtime.toolkit import own_flags

    builtin_flags, flags = own_flags(), dict[str, str]()
    for name in options:
        flag = name.replace("_", "-")
        if not _OPTION.fullmatch(name):
            hint = "use lower-case letters, digits, underscores and dashes, starting with a letter"
            context.error("TM206", f"invalid option name `{name}`", "options", name, hint=hint, value=False)
        elif flag in builtin_flags:
            message = f"`--{flag}` is a built-in flag of every server"
            context.error("TM317", message, "options", name, hint="choose another name", value=False)
        elif flag in flags:
            message = f"options `{name}` and `{flags[flag]}` both become `--{flag}`"
            context.error("TM306", message, "options", name, hint="rename one", value=False)
        flags.setdefault(flag, name)
    for name, table in options.items():
        negation = f"no-{name.replace('_', '-')}"
        if isinstance(table, dict) and table.get("type") == "boolean" and negation in {*builtin_flags, *flags}:
            message = f"the boolean option `{name}` needs the flag `--{negation}`, which already exists"
            context.error("TM306", message, "options", name, hint="rename one", value=False)


_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def _check_option(context: TableContext) -> None:
    """Report keys of an option that contradict each other."""
    data = context.data
    kind, is_secret = data.get("type", "string"), data.get("secret") is True
    if data.get("required") is True and "default" in data:
        message = f"{table_name(context.at)} is required, so its default is never used"
        context.error("TM213", message, "required", hint="remove `required` or `default`", value=False)
    default, types = data.get("default", ""), _PYTHON_TYPES.get(kind, ()) if isinstance(kind, str) else ()
    if "default" in data and types and type(default) not in types:
        message = f"the default of {table_name(context.at)} must be {_TYPE_PHRASES[kind]}, not {kind_of(default)}"
        context.error("TM238", message, "default", hint="change it, or set `type`")
    if kind != "string":
        for key in ("many", "implicit", "secret"):
            if data.get(key):
                message = f"`{key}` is only for options of type `string`"
                context.error("TM238", message, key, hint=f"remove `{key}` or `type`", value=False)
    if is_secret:
        for key in ("default", "implicit", "many", "metavar"):
            if key in data:
                reason = "everybody who has the manifest can read it" if key == "default" else "a secret has no flag"
                message = f"`{key}` cannot be combined with `secret`"
                context.error("TM238", message, key, hint=f"remove `{key}`: {reason}", value=False)
        if not data.get("env"):
            hint = 'add `env = "..."`: other processes can read a command line, so a secret has no flag'
            context.error("TM238", "a secret needs an environment variable", "secret", hint=hint, value=False)


_TYPE_PHRASES: Final = {"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}


def _check_subcommands(context: TableContext, subcommands: Mapping[str, Any]) -> None:
    from toolmason_runtime.toolkit import BUILT_IN

    for name in subcommands:
        if not _SUBCOMMAND.fullmatch(name):
            hint = "use lower-case letters, digits and dashes, starting with a letter"
            context.error("TM206", f"invalid subcommand name `{name}`", "subcommands", name, hint=hint, value=False)
        elif name in BUILT_IN:
            message = f"`{name}` is a built-in subcommand of every server"
            context.error("TM317", message, "subcommands", name, hint="choose another name", value=False)


def _check_subcommand(context: TableContext) -> None:
    check_function_name(context, "handler")


_SUBCOMMAND: Final = re.compile(r"[a-z][a-z0-9-]*")
_OPTION: Final = re.compile(r"[a-z][a-z0-9_-]*")


def _check_tool(context: TableContext) -> None:
    if "params" in context.data and "input_schema" in context.data:
        message = f"`params` cannot be combined with `input_schema` in {table_name(context.at)}"
        context.error("TM211", message, "input_schema", hint="keep one of them", value=False)
    schema: Any = context.data.get("input_schema", "")
    if not isinstance(schema, dict | str):
        message = f"`input_schema` in {table_name(context.at)} must be a table or a file name, not {kind_of(schema)}"
        context.error("TM204", message, "input_schema")
    if context.data.get("verbatim_schema") is True and "input_schema" not in context.data:
        message = f"`verbatim_schema` in {table_name(context.at)} requires `input_schema`"
        context.error("TM215", message, "verbatim_schema", hint="remove it", value=False)
    check_function_name(context, "handler")
    _check_meta_keys(context)
    check_tool_authorization(context)
    selected = [kind for kind in kinds().values() if kind.key in context.data]
    if not any(context.has(kind.key) for kind in kinds().values()):
        message = f"{table_name(context.at)} has no implementation"
        *hints, last = (kind.hint for kind in kinds().values())
        context.error("TM212", message, hint=f"add {', '.join(hints)}, or {last}")
    elif len(selected) > 1:
        first, second, *_ = selected
        message = f"`{first.key}` cannot be combined with `{second.key}` in {table_name(context.at)}"
        context.error("TM212", message, second.key, hint="keep one of them", value=False)
    elif selected:
        check_implementation(context, selected[0])


def _check_meta_keys(context: TableContext) -> None:
    """Report keys of `ext` that are invalid as `_meta` keys of MCP, or that MCP reserves.

    https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta
    """
    ext = context.data.get("ext")
    for key in ext if isinstance(ext, dict) else ():
        if not (match := _META_KEY.fullmatch(key)):
            message = f"`{key}` in {table_name((*context.at, 'ext'))} is not a valid `_meta` key of MCP"
            hint = "write a name such as `cost` or `com.example/cost`: letters, digits and inner `-`, `_` and `.`"
            context.error("TM221", message, "ext", key, hint=hint, value=False)
        elif reserved := [
            label for label in (match["prefix"] or "").split(".")[:2] if label.lower() in _RESERVED_LABELS
        ]:
            message = f"`{key}` uses the prefix label `{reserved[0]}`, which MCP reserves"
            hint = "use a prefix of your own, such as `com.example/`"
            context.error("TM222", message, "ext", key, hint=hint, value=False)


_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY: Final = re.compile(rf"(?:(?P<prefix>{_LABEL}(?:\.{_LABEL})*)/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
"""A `_meta` key: `cost`, `com.example/cost`. The empty name that MCP allows is rejected as a probable mistake."""
_RESERVED_LABELS: Final = frozenset({"mcp", "modelcontextprotocol"})
"""Reserved as second label of a prefix since revision 2025-11-25, and as first label (`mcp.dev/`) before it."""


TABLE_CHECKS: Final[Mapping[type[Table], TableCheck]] = types.MappingProxyType(
    {
        ManifestTables: check_group_names,
        ServerTable: _check_server,
        ServerAuthTable: check_server_auth,
        SubcommandTable: _check_subcommand,
        OptionTable: _check_option,
        ToolTable: _check_tool,
        TypeTable: check_type,
        ValueTable: check_value,
        ParamTable: check_param,
        PromptTable: check_prompt,
        MessageTable: check_message,
        ResourceTable: check_resource,
        ArgumentTable: check_argument,
    }
)
"""Those of the tables that all kinds share."""
