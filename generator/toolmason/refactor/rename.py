"""Rename a tool or a parameter in the whole project."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.suggestions import closest_matches
from toolmason_runtime.shared.toml.positions import KeyPath, scan_keys

from toolmason.diagnostics import Diagnostic, Diagnostics
from toolmason.edits import EditError, Edits, read_text
from toolmason.kinds import kinds
from toolmason.kinds.handler.tables import HandlerKeys
from toolmason.manifest.references import references
from toolmason.manifest.validate import validate
from toolmason.model.identifiers import identifier
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.pipeline import LoadedManifest
from toolmason.project import Project
from toolmason.refactor.errors import ClashError, RefactorError
from toolmason.refactor.manifest_edits import ManifestEdits
from toolmason.refactor.mentions import Mentions, is_distinctive, param_mentions, tool_mentions
from toolmason.refactor.project_files import searched_files
from toolmason.refactor.python_text import PythonText
from toolmason.refactor.result import Refactoring
from toolmason.refactor.toml_text import TomlText
from toolmason.refactor.trial import Trial, load_valid, trial
from toolmason.resolve.tool_names import tool_name_problem

_PARAM_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_DOCUMENTS: Final = frozenset({".md", ".markdown", ".rst", ".txt", ".mdx"})
"""Suffixes of files for people: their certain mentions change."""


def rename_tool(project: Project, old: str, new: str, *, alias: bool = True) -> Refactoring:
    """Return the changes that give a tool another name. With `alias`, calls with the old name are still answered.

    Raises:
        RefactorError: there is no such tool, or it cannot have this name.
        InvalidManifestError: the manifest has errors, before or after the changes.
        EditError: a file cannot be changed.
    """
    before, findings = load_valid(project)
    tool = find_tool(before.server, old)
    _check_tool_name(before, tool, new)
    mentions = tool_mentions(old, is_ambiguous=old in _other_names(before))
    manifest = ManifestEdits(project, before.document)
    at = ("tools", old)
    _rename_references(before, manifest, ("tool", old), new)
    manifest.rename_key(at, new)
    fixed = kinds()[tool.implementation.kind].fixed_keys(tool.table, old)
    manifest.add_alias(at, _raw(before, at), old if alias else "", new, fixed)
    manifest.replace_mentions(mentions, new, old)
    files = _Files(project, manifest)
    function = _new_function(before, files, tool, new)
    if tool.implementation.handler and function:
        reference = tool.table.own(HandlerKeys).handler
        place = manifest.document.origin((*at, "handler"))
        manifest.owner(place)[1].set_string(place, f"{reference.partition(':')[0]}:{function}")
        files.rename_function(tool.implementation.handler.module, tool.implementation.handler.function, function)
    with trial(project, files.edits()) as after:
        names = _generated_names(tool, next(row for row in after.manifest.server.tools if row.name == new))
        for path in files.searched():
            files.rename_tool(path, tool, new, names, mentions, package=before.server.package)
        return files.refactoring(after, findings, _notes(project, before))


def rename_param(project: Project, tool_name: str, old: str, new: str, *, alias: bool = True) -> Refactoring:
    """Return the changes that give a parameter of a tool another name. With `alias`, models may still send the old one.

    Raises:
        RefactorError: there is no such parameter, or it cannot have this name.
        InvalidManifestError: the manifest has errors, before or after the changes.
        EditError: a file cannot be changed.
    """
    before, findings = load_valid(project)
    tool = find_tool(before.server, tool_name)
    _check_param_name(before, tool, old, new)
    mentions = param_mentions(old)
    manifest = ManifestEdits(project, before.document)
    at = ("tools", tool_name, "params", old)
    _rename_references(before, manifest, ("param", old), new, tool=tool_name)
    manifest.rename_key(at, new)
    for index in range(len(tool.table.examples)):
        manifest.rename_key(("tools", tool_name, "examples", index, "arguments", old), new)
    fixed = kinds()[tool.implementation.kind].fixed_param_keys(tool.table, old)
    own = _raw(before, at)
    manifest.add_alias(at, own, old if alias else "", new, fixed)
    manifest.replace_mentions(mentions, new, old, inside=("tools", tool_name))
    files = _Files(project, manifest)
    with trial(project, files.edits()) as after:
        for path in files.searched():
            files.rename_param(path, tool, old, new, mentions)
        return files.refactoring(after, findings, _notes(project, before))


def _rename_references(
    before: LoadedManifest, manifest: ManifestEdits, name: tuple[str, str], new: str, *, tool: str = ""
) -> None:
    """Rename the uses of a name, of a parameter only those in its tool."""
    tables = validate(before.document, diagnostics=Diagnostics())
    for reference in references(tables) if tables else ():
        is_inside = not tool or reference.at[:2] == ("tools", tool)
        if (reference.names, reference.name) == name and is_inside:
            manifest.rename_reference(reference, new)


def find_tool(server: Server, name: str) -> Tool:
    """Return a tool by its name.

    Raises:
        RefactorError: there is none; with the nearest names.
    """
    tools = {tool.name: tool for tool in server.tools}
    if name in tools:
        return tools[name]
    owner = next((tool.name for tool in server.tools if name in tool.table.aliases), "")
    if owner:
        raise RefactorError(f"`{name}` is an alias of the tool `{owner}`; use `{owner}`")
    nearest = closest_matches(name, tools)
    hint = f"did you mean {' or '.join(f'`{match}`' for match in nearest)}?" if nearest else f"known: {_some(tools)}"
    raise RefactorError(f"unknown tool `{name}`; {hint}")


def _some(names: Collection[str]) -> str:
    shown = ", ".join([*names][:8])
    return f"{shown}, ..." if len(names) > 8 else shown or "none"


def _check_tool_name(manifest: LoadedManifest, tool: Tool, new: str) -> None:
    if new == tool.name:
        raise RefactorError(f"the tool already has the name `{new}`")
    if problem := tool_name_problem(new, manifest.server.table.name):
        raise RefactorError(f"{problem}; use letters, digits and underscores, starting with a letter")
    for other in manifest.server.tools:
        if other.name == new:
            raise ClashError(_clash(manifest, "TM306", f"the manifest has a tool `{new}`", ("tools", new)))
        if new in other.table.aliases and other is not tool:
            at = ("tools", other.name, "aliases", other.table.aliases.index(new))
            raise ClashError(_clash(manifest, "TM306", f"`{new}` is an alias of the tool `{other.name}`", at))


def _clash(manifest: LoadedManifest, code: str, message: str, at: KeyPath) -> Diagnostic:
    found = Diagnostics()
    manifest.document.report(found, code, message, at, hint="choose another name")
    return next(iter(found))


def _check_param_name(manifest: LoadedManifest, tool: Tool, old: str, new: str) -> None:
    name = f"{tool.name}.{old}"
    params = tool.table.params
    if old not in params:
        if tool.table.input_schema is not None:
            advice = "rename it there, and in the handler"
            if hasattr(tool.implementation, "original"):
                advice = (
                    f'write `[tools.{tool.name}.arguments.{old}]` with `rename = "{new}"` and `aliases = ["{old}"]`'
                )
            raise RefactorError(f"the parameters of `{tool.name}` are in its `input_schema`; {advice}")
        owner = next((param for param, table in params.items() if old in table.aliases), "")
        if owner:
            raise RefactorError(f"`{old}` is an alias of the parameter `{owner}`; use `{tool.name}.{owner}`")
        nearest = closest_matches(old, params)
        known = f"did you mean {' or '.join(f'`{tool.name}.{match}`' for match in nearest)}?" if nearest else ""
        raise RefactorError(f"unknown parameter `{name}`; {known or f'known: {_some(params)}'}")
    if new == old:
        raise RefactorError(f"the parameter already has the name `{new}`")
    if not _PARAM_NAME.fullmatch(new):
        raise RefactorError(f"`{new}` cannot name a parameter; use letters, digits and underscores")
    for other, table in params.items():
        here = ("tools", tool.name, "params", other)
        if other == new:
            raise ClashError(_clash(manifest, "TM306", f"`{tool.name}` has a parameter `{new}`", here))
        if new in table.aliases and other != old:
            message = f"`{new}` is an alias of the parameter `{other}`"
            raise ClashError(_clash(manifest, "TM306", message, (*here, "aliases", table.aliases.index(new))))


def _raw(manifest: LoadedManifest, at: KeyPath) -> Mapping[str, Any]:
    table: Any = manifest.document.data
    for part in at:
        table = table.get(part, {}) if isinstance(table, Mapping) else {}
    return table if isinstance(table, Mapping) else {}


def _other_names(manifest: LoadedManifest) -> set[str]:
    """Return the names of everything but tools, if people may write them in the same way."""
    data, server = manifest.document.data, manifest.server
    sections = [table for section, table in data.items() if section != "tools" and isinstance(table, dict)]
    params = {name for tool in server.tools for name in (*tool.table.params, *tool.argument_aliases)}
    style = STYLES[server.discovery.style]
    names = {str(name) for table in sections for name in table}
    return {
        *names,
        *params,
        *style.metas,
        server.table.name,
        str(server.package),
    }


def _generated_names(before: Tool, after: Tool) -> dict[str, str]:
    """Return the names in generated modules that have changed, with the new ones."""
    pairs = [(str(getattr(before, key)), str(getattr(after, key))) for key in _GENERATED]
    return {old: new for old, new in pairs if old and new and old != new}


_GENERATED: Final = ("params_class", "result_class", "protocol", "constant")


def _notes(project: Project, manifest: LoadedManifest) -> tuple[str, ...]:
    notes = []
    if project.postings.exists() and manifest.server.discovery.semantic == "postings":
        notes.append(f"{project.postings.name} has the old name: run toolmason embed")
    return tuple(notes)


def _new_function(manifest: LoadedManifest, files: _Files, tool: Tool, new: str) -> str:
    """Return the new name of the tool's function if it has the name of the tool and can be renamed; else nothing."""
    handler, wanted = tool.implementation.handler, str(identifier(new))
    if handler is None or handler.function != identifier(tool.name) or handler.function == wanted:
        return ""
    users = [other for other in manifest.server.tools if other.implementation.handler == handler]
    path = files.module_path(handler.module)
    if len(users) > 1 or path is None:
        return ""
    text = files.python(path)
    return wanted if text and text.rename_function(handler.function, wanted) else ""


class _Files:
    """The changed texts of all files, and the places that a person has to look at."""

    def __init__(self, project: Project, manifest: ManifestEdits) -> None:
        self._project = project
        self._manifest = manifest
        self._texts: dict[Path, str] = {}
        self._uncertain: list[tuple[Path, int, str]] = []
        self._function: tuple[str, str, str] | None = None

    def edits(self) -> Edits:
        """Return the changes so far."""
        return Edits.of(self._project.root, self._manifest.results() | self._texts)

    def refactoring(self, after: Trial, findings: Diagnostics, notes: tuple[str, ...]) -> Refactoring:
        """Return the result."""
        root = self._project.root
        places = {
            (path.relative_to(root).as_posix(), line, reason)
            for path, line, reason in (*self._manifest.uncertain, *self._uncertain)
        }
        return Refactoring(self.edits(), tuple(sorted(places)), after.new_findings(findings), notes)

    def searched(self) -> Iterator[Path]:
        """Yield the files of the project outside of the manifest and the generated directory."""
        yield from (path for path in searched_files(self._project) if path not in self._manifest.texts)

    def module_path(self, module: str) -> Path | None:
        """Return the file of a module of the handlers."""
        base = self._project.handler_directory.joinpath(*module.split("."))
        return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)

    def python(self, path: Path) -> PythonText | None:
        """Return a module for changes, None if it is not valid Python; then it is listed."""
        try:
            return PythonText(read_text(path, self._project.root))
        except (SyntaxError, ValueError):
            self._uncertain.append((path, 1, "not valid Python"))
            return None

    def rename_function(self, module: str, old: str, new: str) -> None:
        """Rename a function of the handlers in its module, and later in all others."""
        self._function = (module, old, new)
        path = self.module_path(module)
        text = self.python(path) if path else None
        if path and text:
            text.rename_function(old, new)
            self._texts[path] = text.result()

    def rename_tool(
        self, path: Path, tool: Tool, new: str, names: Mapping[str, str], mentions: Mentions, *, package: str
    ) -> None:
        """Change one file outside of the manifest for the new name of a tool."""
        text = self._read(path)
        if text is None or not any(name in text for name in (tool.name, *names)):
            return
        if path.suffix != ".py":
            self._rename_in_text(path, text, tool.name, new, mentions)
            return
        python = self.python(path)
        if python is None:
            return
        if self._function:
            module, old_function, function = self._function
            if path == self.module_path(module):
                python.rename_function(old_function, function)
            else:
                python.rename_imported_function(module, old_function, function)
        python.rename_globals(names, package=package)
        python.rename_strings(tool.name, new, mentions, is_certain=is_certain(mentions, tool.name))
        self._finish(path, text, python)

    def rename_param(self, path: Path, tool: Tool, old: str, new: str, mentions: Mentions) -> None:
        """Change one file outside of the manifest for the new name of a parameter."""
        text = self._read(path)
        if text is None or old not in text or not (tool.name in text or str(tool.params_class) in text):
            return
        if path.suffix == ".py":
            if python := self.python(path):
                fields = str(identifier(old)), str(identifier(new))
                models = frozenset(filter(None, [str(tool.params_class)]))
                python.rename_params(models, tool.name, *fields, old_key=old, new_key=new)
                self._finish(path, text, python)
        elif path.suffix in _DOCUMENTS:
            lines = text.splitlines(keepends=True)
            calls = tool_mentions(tool.name)
            self._set(path, text, "".join(_with_param(line, calls, old, new, mentions) for line in lines))

    def _rename_in_text(self, path: Path, text: str, old: str, new: str, mentions: Mentions) -> None:
        result = text
        if path.suffix == ".toml":
            result = _queries_toml(text, old, new)
        elif path.suffix in _DOCUMENTS:
            result = mentions.replaced(text, new)
        self._set(path, text, result)
        if result == text or path.suffix in _DOCUMENTS:
            for offset in mentions.listed(text) if path.suffix in _DOCUMENTS else _whole_words(text, old):
                self._uncertain.append((path, text.count("\n", 0, offset) + 1, f"`{old}`"))

    def _finish(self, path: Path, text: str, python: PythonText) -> None:
        self._set(path, text, python.result())
        self._uncertain += [(path, line, reason) for line, reason in python.uncertain]

    def _read(self, path: Path) -> str | None:
        """Return the text of a file; None if it is no text or cannot be changed."""
        try:
            return read_text(path, self._project.root)
        except EditError:
            return None

    def _set(self, path: Path, old: str, new: str) -> None:
        if old != new:
            self._texts[path] = new


def is_certain(mentions: Mentions, name: str) -> bool:
    """Return whether a string that is the whole name is the name of the tool."""
    return any(True for _ in mentions.replace(f" {name} ", ""))


def _whole_words(text: str, name: str) -> Iterator[int]:
    if is_distinctive(name):
        yield from (match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _queries_toml(text: str, old: str, new: str) -> str:
    """Return a file of `toolmason eval` with the new name; other TOML files stay."""
    if not any(occurrence.path == ("queries", old) for occurrence in scan_keys(text)):
        return text
    toml = TomlText(text)
    toml.rename_key(("queries", old), new)
    return toml.result()


def _with_param(line: str, calls: Mentions, old: str, new: str, mentions: Mentions) -> str:
    """Return a line of a document with the new name, if it has a call of the tool."""
    if not any(True for _ in calls.replace(line, "")):
        return line
    line = re.sub(rf'(["\']){re.escape(old)}\1(?=\s*:)', lambda match: f"{match[1]}{new}{match[1]}", line)
    return mentions.replaced(line, new)
