"""Approve changed tools of upstreams: write their new `upstream_hash` into the manifest, and change nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from toolmason.importers.manifest_writer import write_text
from toolmason.importers.notes import ImporterError
from toolmason.manifest.document import Document
from toolmason.model.tool import Tool


@dataclass(frozen=True, slots=True)
class Approval:
    """A tool of the manifest, its new pin, and the parts that differ from the old one."""

    tool: Tool
    pin: str
    parts: tuple[str, ...]
    description: str
    """Its present description on one line: the server may have changed it again after a person read it."""


def approve_tools(document: Document, root: Path, approvals: Iterable[Approval]) -> dict[str, str]:
    """Write the pins of tools into the files of a manifest; return the location of each by the name of its tool.

    Either all pins are written or none.

    Raises:
        ImporterError: a file has another layout, or cannot be written.
    """
    texts: dict[Path, str] = {}
    locations: dict[str, str] = {}
    # From the end of a file to its beginning, because a new line moves the lines below it.
    places = [(document.locate(_key(document, approval.tool), value=True), approval) for approval in approvals]
    for place, approval in sorted(places, key=lambda item: item[0].line, reverse=True):
        tool, path = approval.tool, root / place.path
        before = texts.get(path)
        if before is None:
            before = path.read_bytes().decode()
        after = _with_pin(before, tool, place.line, approval.pin, has_pin=_has_pin(document, tool))
        if after is None:
            message = f"{place.path}:{place.line}: cannot edit the layout of [tools.{tool.name}]; write in this table: "
            raise ImporterError(f'{message}upstream_hash = "{approval.pin}"')
        texts[path] = after
        locations[tool.name] = f"{place.path}:{place.line}"
    for path, text in texts.items():
        try:
            write_text(path, text, force=True)
        except OSError as error:
            raise ImporterError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
    return locations


def _has_pin(document: Document, tool: Tool) -> bool:
    return "upstream_hash" in document.data["tools"][tool.name]


def _key(document: Document, tool: Tool) -> tuple[str | int, ...]:
    return (*tool.at, "upstream_hash" if _has_pin(document, tool) else "upstream")


def _with_pin(text: str, tool: Tool, line: int, pin: str, *, has_pin: bool) -> str | None:
    """Return the text of a file with the pin of a tool; None if the line of its key has an unusual form."""
    lines = text.split("\n")  # as positions are counted; `\r` stays at the end of a line
    old = lines[line - 1]
    before = tomllib.loads(text)
    if has_pin:
        recorded = before["tools"][tool.name]["upstream_hash"]
        lines[line - 1] = old.replace(f'"{recorded}"', f'"{pin}"', 1).replace(f"'{recorded}'", f'"{pin}"', 1)
    else:
        end = "\r" if old.endswith("\r") else ""
        indent = old[: len(old) - len(old.lstrip())]
        lines.insert(line, f'{indent}upstream_hash = "{pin}"{end}')
    after = "\n".join(lines)
    try:
        data = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return None
    before["tools"][tool.name]["upstream_hash"] = pin
    return after if data == before else None
