"""The manifest of an imported server, and the files of its long schemas."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.audit.server_lists import ServerDescription
from toolmason.importers.design.budget import DEFAULT
from toolmason.importers.design.texts import clean_text
from toolmason.importers.design.tool_names import DesignedName, NamedTool, designed_names, max_length
from toolmason.importers.manifest_writer import remove_invalid
from toolmason.importers.names import MAX_SUMMARY_LENGTH, cut, one_line, server_package, snake
from toolmason.importers.notes import ImporterError, Notes
from toolmason.importers.server.address import Address
from toolmason.importers.server.hints import is_unasked
from toolmason.importers.server.layout import manifest_text
from toolmason.importers.server.losses import Losses
from toolmason.importers.server.tools import ToolTables, is_task_only, schema_file, select_tools
from toolmason.project import MANIFESTS
from toolmason.resolve import RESERVED_MODULES
from toolmason.scaffold import MAX_NAME_LENGTH

MIN_LENGTH: Final = 12
"""Minimum characters that a prefix leaves for names."""
MAX_INSTRUCTIONS: Final = 4096
"""Maximum characters of a server's instructions in a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of `toolmason import server`. Empty values are derived from the server's description."""

    name: str = ""
    category: str = ""
    prefix: str = ""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    trust_hints: bool = False
    """Whether to accept the hints that the server declares."""
    max_tokens: int = DEFAULT
    """Maximum tokens of the arguments of a tool; 0 for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedServer:
    """A manifest as TOML, the schema files that it names by their paths in the project, and the number of its tools.

    `unasked` are the tools that run without approval, `missing` those that cannot be imported.
    """

    text: str
    schemas: Mapping[str, str]
    tools: int
    unasked: list[str]
    missing: list[str]


def import_server(
    server: ServerDescription, address: Address, notes: Notes, *, options: ImportOptions, output: Path | None
) -> ImportedServer:
    """Return the manifest for a server. `output` is the path of the manifest, None for stdout.

    Raises:
        ImporterError: no tool can be imported, or a schema needs a file and there is no `output`.
    """
    name = _checked_name(options.name) if options.name else server_name(server.name)
    upstream = snake(name, "upstream")
    losses = Losses(name, notes)
    tools = ToolTables(
        upstream=upstream,
        names=_names(server, name, options.prefix),
        prefix=options.prefix,
        labels=(server.title, server.name, name),
        max_tokens=options.max_tokens,
        trusts_hints=options.trust_hints,
        losses=losses,
    )
    selected = select_tools(server.tools, include=options.include, exclude=options.exclude)
    for tool in selected:
        if is_task_only(tool):
            losses.add("task_only", tool["name"])
        else:
            tools.add(tool)
    losses.add("prompts", *server.prompts)
    losses.add("resources", *server.resources)
    losses.finish()
    data = _tables(server, address, name, options.category, tools.tables)
    schemas = _move_long_schemas(data["tools"], name, output)
    imported = _remove_invalid(data, schemas, losses)
    originals = {table.get("upstream_tool", key) for key, table in imported.items()}
    unused = [tool["name"] for tool in server.tools if tool["name"] not in originals]
    if unused:
        data["upstreams"][upstream]["unused_tools"] = unused
    quotation = _quoted_instructions(server, upstream)
    if quotation:
        losses.note("instructions", "quoted as a comment: copy those that you have reviewed to `instructions`")
    used = {table["input_schema"] for table in imported.values() if isinstance(table["input_schema"], str)}
    head = one_line(clean_text(f"Imported from {server.name} {server.version}")) + "."
    text = manifest_text(data, head, *quotation, comments=tools.comments)
    return ImportedServer(
        text=text,
        schemas={path: schemas[path] for path in schemas if path in used},
        tools=len(imported),
        unasked=[tool for tool, table in imported.items() if is_unasked(table.get("hints"))],
        missing=[tool["name"] for tool in selected if tool["name"] not in originals],
    )


def _names(server: ServerDescription, name: str, prefix: str) -> dict[str, DesignedName]:
    """Return the names of all tools by their original ones, so that a name does not depend on the selected tools.

    Raises:
        ImporterError: the prefix leaves no room for names.
    """
    room = max_length(name) - len(prefix)
    if room < MIN_LENGTH:
        longest = len(prefix) + room - MIN_LENGTH
        raise ImporterError(f"--prefix must have at most {longest} characters, not {len(prefix)}: names have 40")
    tools = [
        NamedTool(tool["name"], str(tool.get("title") or ""), str(tool.get("description") or ""))
        for tool in server.tools
    ]
    designed = designed_names(tools, name, prefix)
    return {tool.name: designed for tool, designed in zip(tools, designed, strict=True)}


def _quoted_instructions(server: ServerDescription, upstream: str) -> list[str]:
    """Return the server's instructions as lines of a comment. They are not served: models would take them for ours."""
    text = cut(clean_text(server.instructions), MAX_INSTRUCTIONS)
    if not text:
        return []
    head = f"The MCP server {upstream} says of itself, which is not served to models:"
    return [head, *(f"> {line}" for line in text.split("\n"))]


def server_name(text: str) -> str:
    """Return a name for a generated server: `mcp-servers/files` and `files-mcp-server` become `files`."""
    last = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    parts = snake(last, "server").split("_")
    plain = [part for part in parts if part not in {"mcp", "server"}]
    if not plain or not plain[0][0].isalpha():
        plain = parts
    return "_".join(plain)[:MAX_NAME_LENGTH].strip("_").replace("_", "-")


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name) or len(name) > MAX_NAME_LENGTH:
        raise ImporterError(f"--name must be at most {MAX_NAME_LENGTH} letters, digits and dashes, not {quoted(name)}")
    return name


def _tables(
    server: ServerDescription, address: Address, name: str, category: str, tools: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    upstream = snake(name, "upstream")
    title = cut(one_line(clean_text(server.title)), MAX_SUMMARY_LENGTH)
    about = {"name": name, "title": title, "package": server_package(name, "upstream")}
    category = category or (f"{upstream}_tools" if upstream in RESERVED_MODULES else upstream)
    return {
        "edition": 1,
        "server": {key: value for key, value in about.items() if value},
        "categories": {category: {"summary": cut(f"Tools of {title or name}", MAX_SUMMARY_LENGTH)}},
        "upstreams": {upstream: {**address.table, "category": category}},
        "tools": tools,
    }


def _move_long_schemas(tools: Mapping[str, dict[str, Any]], name: str, output: Path | None) -> dict[str, str]:
    """Replace long schemas by the paths of their files, and return the files."""
    files: dict[str, str] = {}
    for tool, table in tools.items():
        if not (text := schema_file(table["input_schema"])):
            continue
        if output is None:
            raise ImporterError(f"{tool}: its schema needs a file next to the manifest; use --output FILE")
        parent = PurePosixPath(MANIFESTS) if output.absolute().parent.name == MANIFESTS else PurePosixPath()
        path = (parent / f"{name}-schemas" / f"{tool}.json").as_posix()
        files[path] = text
        table["input_schema"] = path
    return files


def _remove_invalid(data: dict[str, Any], schemas: Mapping[str, str], losses: Losses) -> dict[str, dict[str, Any]]:
    """Remove the tools that are invalid in a manifest, with a note for each, and return the others."""
    originals = {name: table.get("upstream_tool", name) for name, table in data["tools"].items()}
    with tempfile.TemporaryDirectory(prefix="toolmason-") as directory:
        root = Path(directory).resolve()
        for path, text in schemas.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for part, message in remove_invalid(data, root):
            losses.note(originals[str(part[1])], f"left out, since it is invalid in a manifest: {message}")
    tools: dict[str, dict[str, Any]] = data["tools"]
    if not tools:
        raise ImporterError("none of the server's tools is valid in a manifest")
    return tools
