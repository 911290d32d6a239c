"""Where tools come from: the manifest, a file or stdin, a running server. Each says where in it a finding stands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.problems import quoted

from toolmason.audit.diff_table import visible
from toolmason.audit.json_parser import MAX_BYTES, JsonTextError, decoded, parsed, places
from toolmason.audit.server_address import AddressError, is_url, shown_address, split_command
from toolmason.audit.tool_lists import ListedTool, NotToolsError, declared, declared_list
from toolmason.diagnostics import Location
from toolmason.manifest.input_files import read_input
from toolmason.model.tool import Tool
from toolmason.model.types import ObjectType

if TYPE_CHECKING:
    from toolmason.pipeline import Reading

STDIN: Final = "-"

Spot = tuple[ListedTool, str]
"""A tool and a JSON Pointer into its schema."""


class SourceError(Exception):
    """Tools cannot be had from where they were to come. The text says where, why, and what to do.

    It may repeat what others wrote, so nothing in it is left that a terminal would obey.
    """

    def __init__(self, text: str) -> None:
        super().__init__("\n".join(map(visible, text.split("\n"))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Some tools and where they come from.

    `locate` places each of many spots at once; a running server has no places. `notes` are what was passed over.
    """

    name: str
    tools: tuple[ListedTool, ...]
    locate: Callable[[Sequence[Spot]], Sequence[Location | None]]
    notes: tuple[str, ...] = ()


def _nowhere(spots: Sequence[Spot]) -> list[None]:
    return [None for _ in spots]


# The manifest


def from_manifest(reading: Reading, root: Path) -> Source:
    """Give the enabled tools of a manifest as clients are sent them, each with the schema that it was made from."""
    tools = {each.name: each for each in reading.server.tools if each.enabled}
    listed = tuple(_of_manifest(each) for each in tools.values())
    return Source(name=reading.server.source, tools=listed, locate=partial(_in_manifest, reading, root, tools))


def _of_manifest(tool: Tool) -> ListedTool:
    schema = tool.input_schema
    title = {"title": tool.title} if tool.title else {}
    said = {"name": tool.name, **title, "description": tool.description, "inputSchema": schema}
    return ListedTool(name=tool.name, schema=schema, declaration=said, is_mcp=True, original=tool.schema)


def _in_manifest(reading: Reading, root: Path, tools: Mapping[str, Tool], spots: Sequence[Spot]) -> list[Location]:
    from toolmason.audit.manifest_location import manifest_place

    types: dict[str, ObjectType] = {each.name: each for each in reading.server.types}
    in_files: dict[tuple[str, str], Location] = {}
    for name in tools:
        if found := _schema_file(reading, root, name):
            those = [spot for spot in spots if spot[0].name == name]
            for (_, pointer), location in zip(those, _in_text(found.text, found.path, those), strict=True):
                in_files[name, pointer] = location
    return [
        in_files.get((listed.name, pointer))
        or reading.document.locate(manifest_place(pointer, tools[listed.name], types))
        for listed, pointer in spots
    ]


class _SchemaFile(NamedTuple):
    path: PurePosixPath
    text: str


def _schema_file(reading: Reading, root: Path, name: str) -> _SchemaFile | None:
    """Give the file that holds the schema of a tool, if it stands in one."""
    written = reading.document.data["tools"][name].get("input_schema")
    if not isinstance(written, str):
        return None
    return _SchemaFile(PurePosixPath(written), read_input(root / written, root).decode())


# Files


def from_file(path: str) -> Source:
    """Read a JSON file, or stdin if `path` is `-`.

    Raises:
        SourceError: it cannot be read, is not JSON, or holds no tools.
    """
    if path == STDIN:
        return _from_raw(_bounded(sys.stdin.buffer, "stdin"), "stdin", "stdin")
    file = Path(path)
    try:
        if file.is_dir():
            raise SourceError(f"{path}: this is a folder, not a file")
        with file.open("rb") as stream:
            raw = _bounded(stream, path)
    except FileNotFoundError:
        raise SourceError(f"no such file: {path}; a tool is chosen with --tool NAME") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise SourceError(f"{path}: cannot read: {(getattr(error, 'strerror', None) or str(error)).lower()}") from None
    return _from_raw(raw, PurePosixPath(file.as_posix()).as_posix(), file.stem)


def _bounded(stream: BinaryIO, name: str) -> bytes:
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise SourceError(f"{name}: more than {MAX_BYTES // 1024 // 1024} MiB; no list of tools is that long")
    return raw


def _from_raw(raw: bytes, name: str, stem: str) -> Source:
    text = ""
    try:
        text = decoded(raw)
        found = declared(parsed(text), stem)
    except JsonTextError as error:
        raise SourceError(f"{name}:{error.place.line}:{error.place.column}: {error}") from None
    except NotToolsError as error:
        place = places(text, [error.pointer])[error.pointer]
        raise SourceError(f"{name}:{place.line}:{place.column}: {error}") from None
    locate = _nowhere if name == "stdin" else partial(_in_text, text, PurePosixPath(name))
    return Source(name=name, tools=found.tools, locate=locate, notes=found.notes)


def _in_text(text: str, path: PurePosixPath, spots: Sequence[Spot]) -> list[Location]:
    pointers = [listed.pointer + pointer for listed, pointer in spots]
    found = places(text, set(pointers))
    return [Location(path, *found[pointer]) for pointer in pointers]


# Servers


def from_server(address: str, *, headers: Mapping[str, str], timeout_s: float) -> Source:
    """Ask a running server, named by its command line or its URL.

    Raises:
        SourceError: it cannot be asked, or what it lists are no tools.
    """
    from toolmason.audit.mcp_client import ServerError, list_tools

    try:
        asked = address if is_url(address) else split_command(address)
    except AddressError as error:
        raise SourceError(f"--server takes a command line or a URL, not {quoted(address)}: {error}") from None
    name = shown_address(address)
    try:
        found = declared_list(list_tools(asked, headers=headers, timeout_s=timeout_s), ("tools",))
    except ServerError as error:
        said = "".join(f"\n  | {line}" for line in error.last_words.splitlines())
        stderr = f"; it said on stderr:{said}" if said else ""
        raise SourceError(f"server {quoted(name)}: {' '.join(str(error).split())}{stderr}") from error
    except NotToolsError as error:
        raise SourceError(f"server {quoted(name)}: in its `tools/list`, {error}") from None
    return Source(name=name, tools=found.tools, locate=_nowhere)


# Choosing


def chosen(sources: Iterable[Source], names: Sequence[str]) -> tuple[Source, ...]:
    """Keep of each source the tools called `names`; all of them if there are none.

    Raises:
        SourceError: no source has a tool of that name.
    """
    found = tuple(sources)
    if not names:
        return found
    known = list(dict.fromkeys(tool.name for source in found for tool in source.tools))
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or _some_of(known)
            raise SourceError(f"no tool {quoted(name)}: {hint}")
    return tuple(replace(source, tools=tuple(tool for tool in source.tools if tool.name in names)) for source in found)


def _some_of(known: Sequence[str]) -> str:
    if not known:
        return "there are none"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"there are {', '.join(quoted(each) for each in known[:5])}{more}"
