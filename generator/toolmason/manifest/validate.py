"""Stage two: read the document into its tables, and check what can be said of one table alone."""

from __future__ import annotations

import keyword
import re
import sys
import types
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.toml.problems import Problem, kind_of, table_name
from toolmason_runtime.toml.reader import TableCheck, TableContext, read
from toolmason_runtime.toml.tables import Table

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.tables import (
    CliTable,
    GlobalTable,
    ManifestTables,
    ParamTable,
    ServerTable,
    SubcommandTable,
    ToolTable,
    ValueTable,
)
from toolmason.manifest.validate_clis import (
    check_cli,
    check_global,
    check_param,
    check_passed,
    check_programs,
    check_value,
    check_way,
)

EDITION: Final = 1
"""The version of the manifest language that this toolkit speaks."""

WAYS: Final = ("handler", "cli")
"""The keys that say how a tool is carried out. A tool has exactly one of them."""


def validate(document: Document, *, diagnostics: Diagnostics) -> ManifestTables | None:
    """Read the tables of `document`.

    What is not as it should be gets a TM2xx diagnostic and is left out, so that the next stage can look at the rest;
    None is given where nothing sensible is left. A manifest of another edition is not looked into: what is wrong there
    may be right in its own edition.
    """
    if not _is_our_edition(document, diagnostics):
        return None

    def report(problem: Problem) -> None:
        diagnostics.add(document.diagnostic(problem))

    return read(ManifestTables, document, report=report, checks=TABLE_CHECKS)


def _is_our_edition(document: Document, diagnostics: Diagnostics) -> bool:
    edition = document.data.get("edition")
    if type(edition) is not int or edition == EDITION:
        return True  # if it is no integer at all, the reader says so
    if edition > EDITION:
        message = f"this manifest is of a later edition than {EDITION}, the one known here"
        hint = f"update toolmason, or write `edition = {EDITION}` and see what it says"
    else:
        message, hint = f"there is no such edition: the first is {EDITION}", f"write `edition = {EDITION}`"
    document.report(diagnostics, "TM201", message, ("edition",), hint=hint, value=True)
    return False


def _check_server(here: TableContext) -> None:
    _check_packages(here)
    check_passed(here)
    for key in _FUNCTIONS:
        _check_reference(here, key)
    if _has_handlers(here):
        here.missing("handlers", '"..."')
    options = here.data.get("options")
    if isinstance(options, dict):
        _check_options(here, options)
    subcommands = here.data.get("subcommands")
    if isinstance(subcommands, dict):
        _check_subcommands(here, subcommands)


_FUNCTIONS: Final = ("lifespan", "guard", "startup_check")
"""Keys of the server that name a function under its handlers. Each of its subcommands names one too."""


def _has_handlers(server: TableContext) -> bool:
    tools = server.document.data.get("tools")
    found = tools.values() if isinstance(tools, dict) else ()
    names_one = any(key in server.data for key in (*_FUNCTIONS, "subcommands"))
    return names_one or any(isinstance(tool, dict) and "handler" in tool for tool in found)


def _check_packages(here: TableContext) -> None:
    for key in ("package", "handlers"):
        name = here.data.get(key)
        if not isinstance(name, str) or not _PACKAGE.fullmatch(name):
            continue  # the reader says so
        top = name.partition(".")[0]
        if bad := _bad_part(name):
            here.error("TM206", f"`{name}` cannot be imported: {bad}", key, hint="use a Python package name")
        elif top in sys.stdlib_module_names or top in _NOT_OURS or top.startswith("toolmason"):
            here.error("TM317", f"`{top}` is the name of another package", key, hint="choose another name")
    package, handlers = here.data.get("package"), here.data.get("handlers")
    if isinstance(package, str) and package in _FOLDERS:
        here.error("TM317", f"`{package}` is a folder of its own in the output", "package", hint="choose another name")
    if not isinstance(handlers, str):
        return
    top = handlers.partition(".")[0]
    if top == package:
        message = f"`{top}` is the generated package, and that of the handlers"
        here.error("TM317", message, "handlers", hint="choose another name for one")
    if top in _GENERATED_IMPORTS:
        here.error("TM317", f"`{top}` is a module of the generated package", "handlers", hint="choose another name")


_PACKAGE: Final = re.compile(r"[a-z_][a-z0-9_.]*")
_NOT_OURS: Final = frozenset({"mcp", "pydantic", "__init__", "__main__", "__pycache__"})
_FOLDERS: Final = frozenset({"clients", "commands", "docs", "schemas", "skills"})
"""What stands beside the package in `generated/`."""
_GENERATED_IMPORTS: Final = frozenset({"bindings", "command", "contract", "models"})


def _bad_part(dotted: str) -> str:
    """Say which part of a dotted name Python does not take; empty if it takes all."""
    for part in dotted.split("."):
        if not part:
            return "a dot leads nowhere"
        if keyword.iskeyword(part):
            return f"`{part}` is a word of the language"
        if part[0].isdigit():
            return f"`{part}` starts with a digit"
    return ""


def _check_reference(here: TableContext, key: str) -> None:
    """Refuse a `module:function` that has the right signs and cannot be imported."""
    text = here.data.get(key)
    # What has other signs too is for the reader to report.
    if isinstance(text, str) and text.count(":") == 1 and (bad := _bad_part(text.replace(":", "."))):
        here.error("TM206", f"`{text}` cannot be imported: {bad}", key, hint="write `module:function`")


def _check_options(here: TableContext, options: Mapping[str, Any]) -> None:
    from toolmason_runtime.server.command import own_flags

    own, flags = own_flags(), dict[str, str]()
    for name in options:
        flag = name.replace("_", "-")
        if not _OPTION.fullmatch(name):
            hint = "use lower-case letters, digits, underscores and dashes, starting with a letter"
            here.error("TM206", f"option `{name}` cannot be a flag", "options", name, hint=hint, value=False)
        elif flag in own:
            message = f"every server has a flag `--{flag}`"
            here.error("TM317", message, "options", name, hint="choose another name", value=False)
        elif flag in flags:
            message = f"options `{name}` and `{flags[flag]}` would both be `--{flag}`"
            here.error("TM306", message, "options", name, hint="rename one", value=False)
        flags.setdefault(flag, name)


def _check_subcommands(here: TableContext, subcommands: Mapping[str, Any]) -> None:
    for name in subcommands:
        if not _SUBCOMMAND.fullmatch(name):
            hint = "use lower-case letters, digits and dashes, starting with a letter"
            here.error("TM206", f"subcommand `{name}` cannot be typed", "subcommands", name, hint=hint, value=False)
        elif name == _SERVE:
            message = "every server has a subcommand `serve`"
            here.error("TM317", message, "subcommands", name, hint="choose another name", value=False)


def _check_subcommand(here: TableContext) -> None:
    _check_reference(here, "handler")


_SERVE: Final = "serve"
_SUBCOMMAND: Final = re.compile(r"[a-z][a-z0-9-]*")
_OPTION: Final = re.compile(r"[a-z][a-z0-9_-]*")


def _check_tool(here: TableContext) -> None:
    if "params" in here.data and "input_schema" in here.data:
        message = f"{table_name(here.at)} states its parameters twice, as `params` and as `input_schema`"
        here.error("TM211", message, "input_schema", hint="keep one of them", value=False)
    schema: Any = here.data.get("input_schema", "")
    if not isinstance(schema, dict | str):
        message = f"`input_schema` in {table_name(here.at)} must be a table or a file name, not {kind_of(schema)}"
        here.error("TM204", message, "input_schema")
    if here.data.get("verbatim_schema") is True and "input_schema" not in here.data:
        message = f"`verbatim_schema` in {table_name(here.at)} is about `input_schema`, which is not there"
        here.error("TM215", message, "verbatim_schema", hint="leave it out", value=False)
    _check_reference(here, "handler")
    _check_meta_keys(here)
    written = [way for way in WAYS if way in here.data]
    if not any(here.has(way) for way in WAYS):
        message = f"nothing says how {table_name(here.at)} is carried out"
        here.error("TM212", message, hint='add `handler = "module:function"`, or `cli` with the name of a program')
    elif len(written) > 1:
        message = f"{table_name(here.at)} is carried out in two ways, by a handler and by a program"
        here.error("TM212", message, "cli", hint="keep one of `handler` and `cli`", value=False)
    elif written:
        check_way(here, written[0])


def _check_meta_keys(here: TableContext) -> None:
    """Reject keys of `ext` that are no `_meta` keys of MCP, or that MCP reserves.

    https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta
    """
    ext = here.data.get("ext")
    for key in ext if isinstance(ext, dict) else ():
        if not (match := _META_KEY.fullmatch(key)):
            message = f"`{key}` in {table_name((*here.at, 'ext'))} is not a `_meta` key of MCP"
            hint = "write a name such as `cost` or `com.example/cost`: letters, digits and inner `-`, `_` and `.`"
            here.error("TM221", message, "ext", key, hint=hint, value=False)
        elif reserved := [each for each in (match["prefix"] or "").split(".")[:2] if each.lower() in _RESERVED_LABELS]:
            message = f"`{key}` uses the prefix label `{reserved[0]}`, which MCP reserves"
            hint = "use a prefix of your own, such as `com.example/`"
            here.error("TM222", message, "ext", key, hint=hint, value=False)


_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY: Final = re.compile(rf"(?:(?P<prefix>{_LABEL}(?:\.{_LABEL})*)/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
"""A `_meta` key: `cost`, `com.example/cost`. MCP also allows an empty name, which can only be a mistake."""
_RESERVED_LABELS: Final = frozenset({"mcp", "modelcontextprotocol"})
"""Reserved as second label of a prefix since revision 2025-11-25, and as first label (`mcp.dev/`) before it."""


TABLE_CHECKS: Final[Mapping[type[Table], TableCheck]] = types.MappingProxyType(
    {
        ManifestTables: check_programs,
        ServerTable: _check_server,
        SubcommandTable: _check_subcommand,
        CliTable: check_cli,
        GlobalTable: check_global,
        ToolTable: _check_tool,
        ValueTable: check_value,
        ParamTable: check_param,
    }
)
"""What is checked of one table beyond what its dataclass says."""
