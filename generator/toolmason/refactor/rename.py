"""Rename a tool or a parameter in the whole project."""

from __future__ import annotations

import re
from typing import Final

from toolmason_runtime.shared.styles import STYLES

from toolmason.diagnostics import Diagnostics
from toolmason.kinds import kinds
from toolmason.kinds.handler.tables import HandlerKeys
from toolmason.manifest.references import references
from toolmason.manifest.validate import validate
from toolmason.model.identifiers import identifier
from toolmason.model.tool import Tool
from toolmason.pipeline import LoadedManifest
from toolmason.project import Project
from toolmason.refactor.errors import RefactorError
from toolmason.refactor.files import ChangedFiles
from toolmason.refactor.manifest_edits import ManifestEdits
from toolmason.refactor.mentions import param_mentions, tool_mentions
from toolmason.refactor.result import Refactoring
from toolmason.refactor.tools import clash, find_tool, notes_of, raw_table, suggestion
from toolmason.refactor.trial import load_valid, trial
from toolmason.resolve.tool_names import tool_name_problem

_PARAM_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


def rename_tool(project: Project, old: str, new: str, *, alias: bool = True) -> Refactoring:
    """Return the changes that rename a tool. With `alias`, calls with the old name still work.

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
    manifest.add_alias(at, raw_table(before, at), old if alias else "", new, fixed)
    manifest.replace_mentions(mentions, new, old)
    files = ChangedFiles(project, manifest)
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
        return files.refactoring(after.new_findings(findings, old=old, new=new), notes_of(project, before))


def rename_param(project: Project, tool_name: str, old: str, new: str, *, alias: bool = True) -> Refactoring:
    """Return the changes that rename a parameter of a tool. With `alias`, models may still send the old name.

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
    own = raw_table(before, at)
    manifest.add_alias(at, own, old if alias else "", new, fixed)
    manifest.replace_mentions(mentions, new, old, inside=("tools", tool_name))
    files = ChangedFiles(project, manifest)
    with trial(project, files.edits()) as after:
        for path in files.searched():
            files.rename_param(path, tool, old, new, mentions)
        return files.refactoring(after.new_findings(findings, old=old, new=new), notes_of(project, before))


def _rename_references(
    before: LoadedManifest, manifest: ManifestEdits, name: tuple[str, str], new: str, *, tool: str = ""
) -> None:
    """Rename the uses of a name, of a parameter only those in its tool."""
    tables = validate(before.document, diagnostics=Diagnostics())
    for reference in references(tables) if tables else ():
        is_inside = not tool or reference.at[:2] == ("tools", tool)
        if (reference.names, reference.name) == name and is_inside:
            manifest.rename_reference(reference, new)


def _check_tool_name(manifest: LoadedManifest, tool: Tool, new: str) -> None:
    if new == tool.name:
        raise RefactorError(f"the tool already has the name `{new}`")
    if problem := tool_name_problem(new, manifest.server.table.name):
        raise RefactorError(f"{problem}; use letters, digits and underscores, starting with a letter")
    for other in manifest.server.tools:
        if other.name == new:
            raise clash(manifest, f"the manifest has a tool `{new}`", ("tools", new))
        if new in other.table.aliases and other is not tool:
            at = ("tools", other.name, "aliases", other.table.aliases.index(new))
            raise clash(manifest, f"`{new}` is an alias of the tool `{other.name}`", at)


def _check_param_name(manifest: LoadedManifest, tool: Tool, old: str, new: str) -> None:
    name = f"{tool.name}.{old}"
    params = tool.table.params
    if old not in params:
        if tool.table.input_schema is not None:
            advice = "rename it there, and in the handler"
            if tool.implementation.kind == "upstream":
                advice = (
                    f'write `[tools.{tool.name}.arguments.{old}]` with `rename = "{new}"` and `aliases = ["{old}"]`'
                )
            raise RefactorError(f"the parameters of `{tool.name}` are in its `input_schema`; {advice}")
        owner = next((param for param, table in params.items() if old in table.aliases), "")
        if owner:
            raise RefactorError(f"`{old}` is an alias of the parameter `{owner}`; use `{tool.name}.{owner}`")
        raise RefactorError(f"unknown parameter `{name}`; {suggestion(old, params)}")
    if new == old:
        raise RefactorError(f"the parameter already has the name `{new}`")
    if not _PARAM_NAME.fullmatch(new):
        raise RefactorError(f"`{new}` cannot name a parameter; use letters, digits and underscores")
    for other, table in params.items():
        here = ("tools", tool.name, "params", other)
        if other == new:
            raise clash(manifest, f"`{tool.name}` has a parameter `{new}`", here)
        if new in table.aliases and other != old:
            message = f"`{new}` is an alias of the parameter `{other}`"
            raise clash(manifest, message, (*here, "aliases", table.aliases.index(new)))


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


def _new_function(manifest: LoadedManifest, files: ChangedFiles, tool: Tool, new: str) -> str:
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
