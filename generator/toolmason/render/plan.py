"""Plan: list the files of one server from rows of data. Renders nothing.

A row is a `model.FileRow`: those of every server are in `files.toml`, `clients.toml` and `schema/providers.toml`, those
of one server in `[[files]]` of its manifest.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.checksum import CHECKSUM_FILE
from toolmason_runtime.shared.suggestions import did_you_mean

from toolmason.clients import Client, Plugin, clients
from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.package_names import DEVICE_NAMES
from toolmason.model.parts import SKIPPED_NAMES, part_of
from toolmason.model.server import FileRow, Server, SlashCommand
from toolmason.render.overrides import packaged
from toolmason.render.typed_clients.files import DIRECTORY, client_files
from toolmason.schema.providers import providers

MAX_PATH: Final = 200
"""Maximum characters of a path below `generated/`. Windows allows 260 with the path of the project."""

TYPED_CLIENTS: Final = PurePosixPath(DIRECTORY)
"""Directory of the typed clients that `clients` of `[outputs]` lists."""
UNSELECTED: Final = "TM617"
"""Code of files on disk that the manifest neither selects nor removes."""
DEFAULT_FILES: Final = (
    *("commands", "docs/discovery.md", "docs/effects.svg", "docs/index.md", "docs/prompts.md", "docs/resources.md"),
    *("docs/tokens.svg", "docs/tools"),
    *("schemas/manifest.schema.json", "schemas/mcp.json"),
)
"""Files that are written without `[outputs]`, besides the package and the skills of workflows."""

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("name", "package", "skill"),
    "category": ("name", "module"),
    "tool": ("name", "category"),
    "command": ("name", "base_name"),
    "workflow": ("name", "base_name"),
}
"""The fields that a path may use of each subject; `{server.name}` in every path, the others with their `for_each`."""

SHELL_SKILL: Final = "skills/{server.skill}-shell/SKILL.md"
"""Path of the skill for agents with a shell."""

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
"""For example `{tool.name}`."""
_PART: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._@+-]*[A-Za-z0-9_@+-]")
"""One component of a path: `SKILL.md`, `.cursor`. Not `..`, and no name that a file system rejects or rewrites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file to render: its path under `generated/`, the template, and the template's variables besides `server`.

    `readable` JSON is indented.
    """

    path: PurePosixPath
    template: str
    subject: Mapping[str, Any] = field(default_factory=dict)
    readable: bool = True

    @property
    def part(self) -> str:
        """The part of `generated/` with this file."""
        return part_of(self.path)


class PathError(ValueError):
    """The path of a row is invalid."""


def plan(server: Server) -> tuple[PlannedFile, ...]:
    """List the files of one server, in path order."""
    planned = (*_selected(server, _own_files(server)), *(file for row in server.files for file in _expand(row, server)))
    written = (file for file in planned if not _is_listed(file.path, server.outputs.omit))
    return tuple(sorted(written, key=lambda file: file.path.as_posix()))


def _selected(server: Server, own: Iterable[PlannedFile]) -> Iterator[PlannedFile]:
    """Select from `own`, the files of every server: those of the package, and those that `[outputs]` selects."""
    outputs = server.outputs
    if outputs.include is None and outputs.omit:
        yield from own
        return
    skills = tuple(f"skills/{workflow.name}" for workflow in server.workflows)
    entries = (*DEFAULT_FILES, *skills, *(outputs.include or ()))
    for file in own:
        is_own = file.path.parts[0] in {server.package, DIRECTORY}
        if is_own or _is_listed(file.path, entries):
            yield file


def unselected_files(server: Server) -> tuple[PlannedFile, ...]:
    """List the files of every server that are not written because the manifest has neither `include` nor `omit`."""
    if server.outputs.include is not None or server.outputs.omit:
        return ()
    own = tuple(_own_files(server))
    selected = {file.path for file in _selected(server, own)}
    return tuple(file for file in own if file.path not in selected)


def check_kept_files(
    server: Server, document: Document, generated: Path, *, part: str | None, diagnostics: Diagnostics
) -> None:
    """Report files in `generated` that earlier versions wrote by default and that would be removed (`UNSELECTED`)."""
    unselected = (file for file in unselected_files(server) if part in {None, file.part})
    present = [file.path for file in unselected if (generated / file.path).is_file()]
    if not present:
        return
    counts = Counter(_surface(path) for path in present)
    names = ", ".join(f"`{name}` ({count})" for name, count in sorted(counts.items()))
    message = f"generated/ contains files that are no longer generated by default: {names}"
    hint = f"write `include = {json.dumps(sorted(counts))}` in [outputs] to keep them, `include = []` to remove them"
    at = ("outputs",) if "outputs" in document.data else ("server",)
    document.report(diagnostics, UNSELECTED, message, at, hint=hint)


def _surface(path: PurePosixPath) -> str:
    """Return the entry of `[outputs]` for a file: one file of the documentation, else the directory."""
    return path.as_posix() if path.parts[0] == "docs" else path.parts[0]


def _all_files(server: Server) -> tuple[PlannedFile, ...]:
    """List the files of one server, omitted ones included."""
    return (*_own_files(server), *(file for row in server.files for file in _expand(row, server)))


def _is_listed(path: PurePosixPath, entries: Iterable[str]) -> bool:
    return any(_is_below(path, entry) for entry in entries)


def _is_below(path: PurePosixPath, entry: str) -> bool:
    """Return whether an entry of `[outputs]` is `path` or a directory with it."""
    return f"{path}/".startswith(f"{entry.rstrip('/')}/")


def check_omitted(server: Server, document: Document, *, diagnostics: Diagnostics) -> None:
    """Report entries of `[outputs]` that match no file or a file of the package (TM404)."""
    outputs = server.outputs
    paths = [file.path for file in _all_files(server)] if outputs.omit or outputs.include else []
    names = sorted({directory.as_posix() for path in paths for directory in (path, *path.parents[:-1])})
    listed = {"include": outputs.include or (), "omit": outputs.omit}
    for at, entry in ((("outputs", key, number), entry) for key in listed for number, entry in enumerate(listed[key])):
        if entry.rstrip("/").partition("/")[0] == server.package:
            message = f"`{entry}` is part of the package, which is always generated"
            document.report(diagnostics, "TM404", message, at, hint="remove the entry", value=True)
        elif not any(_is_below(path, entry) for path in paths):
            hint = did_you_mean(entry, names) or "use a path below generated/ such as `docs` or `schemas/openai.json`"
            document.report(diagnostics, "TM404", f"no generated file is below `{entry}`", at, hint=hint, value=True)


def check_files(server: Server, document: Document, *, templates: Path | None, diagnostics: Diagnostics) -> None:
    """Report rows of the manifest with a duplicate path (TM401), an invalid path (TM402) or no template (TM403).

    `templates` is the project's template directory, if it has one.
    """
    if not server.files:
        return
    owners = _Owners(file.path for file in _own_files(server))
    for row in server.files:
        if (message := _missing_template(row.template, templates)) is not None:
            hint = did_you_mean(row.template, packaged()) or "add the file to templates/"
            document.report(diagnostics, "TM403", message, (*row.at, "template"), hint=hint, value=True)
        try:
            paths = [file.path for file in _expand(row, server)]
        except PathError as error:
            document.report(diagnostics, "TM402", str(error), (*row.at, "path"), hint=_PATH_HINT, value=True)
            continue
        for path in paths:
            if (message := owners.claim(path, f"[[files]] number {row.number}")) is not None:
                hint = "use another path, or a field that differs, such as `{tool.name}`"
                document.report(diagnostics, "TM401", message, (*row.at, "path"), hint=hint, value=True)
                break


_PATH_HINT: Final = "write a path below generated/ such as `docs/{tool.name}.md`"
_PACKAGED: Final = "a file of every server"


class _Owners:
    """The owner of each planned path. Paths are compared without case, as some file systems do."""

    def __init__(self, paths: Iterable[PurePosixPath]) -> None:
        self._files: dict[str, str] = {CHECKSUM_FILE.as_posix().casefold(): _PACKAGED}
        self._directories: set[str] = set()
        for path in paths:
            self.claim(path, _PACKAGED)

    def claim(self, path: PurePosixPath, owner: str) -> str | None:
        """Reserve `path` for `owner`; return the reason if that is impossible, else None."""
        name = path.as_posix().casefold()
        parents = [parent.as_posix().casefold() for parent in path.parents[:-1]]
        if name in self._files:
            return f"the path `{path}` is already used by {self._files[name]}"
        if name in self._directories:
            return f"`{path}` is a directory of other files"
        if occupied := next((parent for parent in parents if parent in self._files), None):
            return f"`{path}` is below `{occupied}`, which is a file"
        self._files[name] = owner
        self._directories.update(parents)
        return None


def _missing_template(name: str, templates: Path | None) -> str | None:
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute() or "\\" in name:
        return f"`{name}` is not the name of a template"
    if name in packaged() or (templates is not None and (templates / name).is_file()):
        return None
    return f"unknown template `{name}`"


def _own_files(server: Server) -> Iterator[PlannedFile]:
    """List the files of every server."""
    for row in _packaged_rows():
        yield from _expand(row, server)
    for client in clients().values():
        if (shape := client.configuration) and shape.template:
            row = FileRow(path=f"clients/{client.key}/{shape.file}", template=shape.template)
            yield from _expand(row, server, client=client)
        if commands := client.commands:
            path = f"commands/{client.key}/{commands.file}"
            yield from _expand(FileRow(path=path, template=commands.template, for_each="command"), server)
        if plugin := client.plugin:
            yield from _plugin_files(client, plugin, server)
    if server.outputs.clients:
        from toolmason.render.typed_clients.manifest_tools import client_package

        for file, template in client_files(server.outputs.clients, client_package(server)):
            yield PlannedFile(path=TYPED_CLIENTS / file, template=template)
    for dialect in providers().dialects.values():
        path = f"schemas/{dialect.file}"
        yield from _expand(FileRow(path=path, template=f"{path}.jinja", readable=False), server)


def _plugin_files(client: Client, plugin: Plugin, server: Server) -> Iterator[PlannedFile]:
    """List the files of a plugin; none if the manifest has no key that they need."""
    if plugin.needs and not getattr(server, plugin.needs):
        return
    root = f"plugins/{client.key}"
    rows = [FileRow(path=f"{root}/{path}", template=template) for path, template in plugin.files.items()]
    if plugin.commands and client.commands:
        path = f"{root}/{plugin.commands}"
        rows.append(FileRow(path=path, template=client.commands.template, for_each="command"))
    if plugin.skills:
        # In a plugin the tools are listed already, so an agent needs no commands for them.
        skills = (row for row in _packaged_rows() if row.path.startswith("skills/") and row.path != SHELL_SKILL)
        rows += [replace(row, path=f"{root}/{row.path}") for row in skills]
    commands = tuple(_in_plugin(command, plugin, server) for command in server.commands)
    for row in rows:
        yield from _expand(row, replace(server, commands=commands), client=client)


def _in_plugin(command: SlashCommand, plugin: Plugin, server: Server) -> SlashCommand:
    """Return a command with its own name and those of its tools in a plugin.

    Tools have other names in a plugin of Claude Code; other clients have no list of allowed tools.
    """
    name = _filled(plugin.command_name, {"server": server, "command": command})
    template = command.template.replace("{COMMAND_NAME}", name)
    return replace(command, template=template, claude_tools=command.plugin_tools)


@cache
def _packaged_rows() -> tuple[FileRow, ...]:
    data = tomllib.loads(Path(__file__).with_name("files.toml").read_text(encoding="utf-8"))
    return tuple(FileRow(**row) for row in data["files"])


def _expand(row: FileRow, server: Server, **variables: Any) -> Iterator[PlannedFile]:
    """List the files of one row.

    Raises:
        PathError: one of the paths is invalid.
    """
    for subject in _subjects(row.for_each, server):
        if not row.only_if or getattr(next(iter(subject.values()), server), row.only_if):
            yield PlannedFile(
                path=expand_path(row.path, {"server": server, **subject}),
                template=row.template,
                subject={**variables, **subject},
                readable=row.readable,
            )


def _subjects(for_each: str, server: Server) -> Iterator[dict[str, Any]]:
    if for_each == "server":
        yield {}
        return
    if for_each == "surface":  # for packaged rows
        yield from ({"category": module} for module in server.surface_modules)
        return
    subjects = {"category": "categories", "tool": "tools", "command": "commands", "workflow": "workflows"}
    yield from ({for_each: subject} for subject in getattr(server, subjects[for_each]))


def expand_path(path: str, subjects: Mapping[str, Any]) -> PurePosixPath:
    """Return a path with its placeholders replaced: `docs/{tool.name}.md` becomes `docs/read_files.md`.

    A placeholder is `{subject.field}` with a field of `FIELDS`; nothing else is evaluated.

    Raises:
        PathError: a placeholder is unknown, or the result is not a path below `generated/` on every file system.
    """
    expanded = _filled(path, subjects)
    if "{" in expanded or "}" in expanded:
        raise PathError(f"unpaired brace in the path `{path}`")
    if expanded.startswith("/"):
        raise PathError(f"the path `{path}` is absolute")
    for part in expanded.split("/"):
        if not _PART.fullmatch(part) or part in SKIPPED_NAMES or part.partition(".")[0].lower() in DEVICE_NAMES:
            raise PathError(f"`{part}` in the path `{expanded}` cannot name a file or a directory")
    if len(expanded) > MAX_PATH:
        raise PathError(f"the path `{expanded[:40]}...` has {len(expanded)} characters, at most {MAX_PATH} are allowed")
    return PurePosixPath(expanded)


def _filled(text: str, subjects: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda match: _field(match[1], subjects), text)


def _field(placeholder: str, subjects: Mapping[str, Any]) -> str:
    name, _, key = placeholder.partition(".")
    if name not in subjects or key not in FIELDS[name]:
        known = ", ".join(f"`{{{subject}.{key}}}`" for subject in subjects for key in FIELDS[subject])
        raise PathError(f"unknown placeholder `{{{placeholder}}}`; use one of {known}")
    return str(getattr(subjects[name], key))
