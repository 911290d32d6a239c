"""Tools of a loaded manifest, for changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from toolmason_runtime.shared.suggestions import closest_matches
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.diagnostics import Diagnostics
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.pipeline import LoadedManifest
from toolmason.project import Project
from toolmason.refactor.errors import ClashError, RefactorError


def find_tool(server: Server, name: str) -> Tool:
    """Return a tool by its name.

    Raises:
        RefactorError: the tool does not exist; with the nearest names.
    """
    tools = {tool.name: tool for tool in server.tools}
    if name in tools:
        return tools[name]
    owner = next((tool.name for tool in server.tools if name in tool.table.aliases), "")
    if owner:
        raise RefactorError(f"`{name}` is an alias of the tool `{owner}`; use `{owner}`")
    raise RefactorError(f"unknown tool `{name}`; {suggestion(name, tools)}")


def suggestion(name: str, choices: Collection[str]) -> str:
    """Return a question with the nearest names, or a list of the first names."""
    nearest = " or ".join(f"`{match}`" for match in closest_matches(name, choices))
    return f"did you mean {nearest}?" if nearest else f"known: {_some(choices)}"


def unknown_category(name: str, known: Collection[str]) -> RefactorError:
    """Return the error for a category that the manifest does not have."""
    advice = f"To create it, add `[categories.{name}]` with a `summary` to the manifest"
    return RefactorError(f"unknown category `{name}`; {suggestion(name, known)}\n{advice}")


def _some(names: Collection[str]) -> str:
    shown = ", ".join([*names][:8])
    return f"{shown}, ..." if len(names) > 8 else shown or "none"


def raw_table(manifest: LoadedManifest, at: KeyPath) -> Mapping[str, Any]:
    """Return a table as it is in the manifest; empty if there is none."""
    table: Any = manifest.document.data
    for part in at:
        table = table.get(part, {}) if isinstance(table, Mapping) else {}
    return table if isinstance(table, Mapping) else {}


def notes_of(project: Project, manifest: LoadedManifest) -> tuple[str, ...]:
    """Return the further steps after a change of the manifest."""
    notes = []
    if project.postings.exists() and manifest.server.discovery.semantic == "postings":
        notes.append(f"{project.postings.name} may be out of date: run toolmason embed")
    return tuple(notes)


def clash(manifest: LoadedManifest, message: str, at: KeyPath) -> ClashError:
    """Return the error that a new name belongs to something else, which is at a path of the manifest."""
    found = Diagnostics()
    manifest.document.report(found, "TM306", message, at, hint="choose another name")
    return ClashError(next(iter(found)))
