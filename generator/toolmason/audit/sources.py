"""Load tools from the manifest, a JSON file, stdin, or a running server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.audit.json_parser import MAX_BYTES, JsonError, JsonPositions, decode, parse
from toolmason.audit.output import visible
from toolmason.audit.server_address import AddressError, is_url, redact_address, split_command
from toolmason.audit.tool_lists import ToolDeclaration, ToolListError, parse_tool_list, parse_tools
from toolmason.diagnostics import Location
from toolmason.manifest.input_files import read_input

if TYPE_CHECKING:
    from toolmason.audit.server_lists import ServerDescription
    from toolmason.model.tool import Tool
    from toolmason.model.types import DeclaredType
    from toolmason.pipeline import LoadedManifest

STDIN: Final = "-"
_MAX_SUGGESTIONS: Final = 5

Locate = Callable[[ToolDeclaration, str], Location | None]
"""Return the location of a JSON Pointer into a tool's schema; stdin and servers have none."""


class SourceError(Exception):
    """Tools cannot be loaded. The message escapes terminal control sequences: it may quote untrusted text."""

    def __init__(self, text: str) -> None:
        super().__init__("\n".join(map(visible, text.split("\n"))))


def _no_location(tool: ToolDeclaration, pointer: str) -> None:  # noqa: ARG001  # a `Locate`
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Tools and their origin. `notes` describe skipped entries."""

    name: str
    tools: tuple[ToolDeclaration, ...]
    locate: Locate = _no_location
    notes: tuple[str, ...] = ()


# The manifest


def load_manifest(reading: LoadedManifest, root: Path) -> Source:
    """Return the enabled tools of a manifest as clients receive them."""
    from toolmason.audit.manifest_location import manifest_location

    tools = {tool.name: tool for tool in reading.server.tools if tool.table.enabled}
    types: dict[str, DeclaredType] = {kind.name: kind for kind in reading.server.types}

    @cache
    def schema_file(name: str) -> tuple[PurePosixPath, JsonPositions] | None:
        # `fetch_chunk` is not in the manifest.
        path = reading.document.data["tools"].get(name, {}).get("input_schema")
        if not isinstance(path, str):
            return None
        return PurePosixPath(path), JsonPositions(read_input(root / path, root).decode())

    def locate(tool: ToolDeclaration, pointer: str) -> Location:
        if file := schema_file(tool.name):
            path, positions = file
            return Location(path, *positions.place(pointer))
        return reading.document.locate(manifest_location(pointer, tools[tool.name], types))

    return Source(name=reading.server.source, tools=tuple(map(_declare, tools.values())), locate=locate)


def _declare(tool: Tool) -> ToolDeclaration:
    schema = tool.input_schema
    title = {"title": tool.table.title} if tool.table.title else {}
    declaration = {"name": tool.name, **title, "description": tool.description, "inputSchema": schema}
    return ToolDeclaration(name=tool.name, schema=schema, declaration=declaration, original=tool.schema)


# Files


def load_file(path: str) -> Source:
    """Load a JSON file, or stdin if `path` is `-`.

    Raises:
        SourceError: it cannot be read, is not JSON, or contains no tools.
    """
    if path == STDIN:
        return _parse_source(_read_bounded(sys.stdin.buffer, "stdin"), "stdin", "stdin")
    file = Path(path)
    try:
        if file.is_dir():
            raise SourceError(f"{path}: this is a directory, not a file")
        with file.open("rb") as stream:
            raw = _read_bounded(stream, path)
    except FileNotFoundError:
        raise SourceError(f"no such file: {path}; to select a tool, use --tool NAME") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"{path}: cannot read: {reason.lower()}") from None
    return _parse_source(raw, file.as_posix(), file.stem)


def _read_bounded(stream: BinaryIO, name: str) -> bytes:
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise SourceError(f"{name}: larger than {MAX_BYTES // 1024 // 1024} MiB")
    return raw


def _parse_source(raw: bytes, name: str, stem: str) -> Source:
    try:
        text = decode(raw)
        data = parse(text)
    except JsonError as error:
        place = f":{error.place.line}:{error.place.column}" if error.place else ""
        raise SourceError(f"{name}{place}: {error}") from None
    positions = JsonPositions(text)
    try:
        parsed = parse_tools(data, stem)
    except ToolListError as error:
        at = positions.place(error.pointer)
        raise SourceError(f"{name}:{at.line}:{at.column}: {error}") from None
    if not (parsed.tools or parsed.notes):
        raise SourceError(f"{name}: the list has no tools")

    def locate(tool: ToolDeclaration, pointer: str) -> Location:
        return Location(PurePosixPath(name), *positions.place(tool.pointer + pointer))

    return Source(name=name, tools=parsed.tools, notes=parsed.notes, locate=_no_location if name == "stdin" else locate)


# Servers


def load_server(address: str, *, headers: Mapping[str, str], timeout_s: float) -> Source:
    """List the tools of a running server at a URL, or of a server started with a command line.

    Raises:
        SourceError: it does not answer, its answer is invalid, or it has no tools.
    """
    from toolmason.audit.mcp_client import list_tools

    return _ask(address, lambda server: (None, list_tools(server, headers=headers, timeout_s=timeout_s)))[1]


def load_described_server(
    address: str, *, headers: Mapping[str, str], timeout_s: float
) -> tuple[ServerDescription, Source]:
    """List the tools of a server as `load_server` does, and return its name and instructions as well.

    Raises:
        SourceError: as `load_server`.
    """
    from toolmason.audit.mcp_client import describe_server

    def described(server: str | list[str]) -> tuple[ServerDescription, list[Any]]:
        about = describe_server(server, headers=headers, timeout_s=timeout_s)
        return about, [*about.tools]

    return _ask(address, described)


_About = TypeVar("_About")


def _ask(address: str, ask: Callable[[str | list[str]], tuple[_About, list[Any]]]) -> tuple[_About, Source]:
    from toolmason.audit.server_lists import ServerError

    try:
        server = address if is_url(address) else split_command(address)
    except AddressError as error:
        raise SourceError(f"--server must be a command line or a URL, not {quoted(address)}: {error}") from None
    name = redact_address(address)
    try:
        about, tools = ask(server)
        parsed = parse_tool_list(tools, ("tools",))
    except ServerError as error:
        output = "".join(f"\n  | {line}" for line in error.stderr_tail.splitlines())
        stderr = f"; its stderr:{output}" if output else ""
        advice = f"\n{error.advice}" if error.advice else ""
        raise SourceError(f"server {quoted(name)}: {' '.join(str(error).split())}{stderr}{advice}") from error
    except ToolListError as error:
        raise SourceError(f"server {quoted(name)}: invalid `tools/list` result: {error}") from None
    if not (parsed.tools or parsed.notes):
        raise SourceError(f"server {quoted(name)}: it lists no tools")
    return about, Source(name=name, tools=parsed.tools, notes=parsed.notes)


# Selection


def select_tools(sources: Iterable[Source], names: Sequence[str]) -> tuple[Source, ...]:
    """Return the sources with only the tools called `names`; with all tools if `names` is empty.

    Raises:
        SourceError: no source has a tool of that name.
    """
    loaded = tuple(sources)
    if not names:
        return loaded
    known = list(dict.fromkeys(tool.name for source in loaded for tool in source.tools))
    for name in names:
        if name not in known:
            raise SourceError(f"no tool {quoted(name)}: {did_you_mean(name, known) or _list_some(known)}")
    return tuple(replace(source, tools=tuple(tool for tool in source.tools if tool.name in names)) for source in loaded)


def _list_some(known: Sequence[str]) -> str:
    if not known:
        return "there are no tools"
    more = f" and {len(known) - _MAX_SUGGESTIONS} more" if len(known) > _MAX_SUGGESTIONS else ""
    return f"available are {', '.join(map(quoted, known[:_MAX_SUGGESTIONS]))}{more}"
