"""Move a tool to another category, or to another file of the manifest."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from toolmason.edits import read_text
from toolmason.manifest.include import includes
from toolmason.model.identifiers import identifier
from toolmason.model.rendered_file import RenderedFile
from toolmason.pipeline import LoadedManifest
from toolmason.project import Project
from toolmason.refactor.errors import RefactorError
from toolmason.refactor.files import ChangedFiles
from toolmason.refactor.manifest_edits import ManifestEdits
from toolmason.refactor.result import Refactoring
from toolmason.refactor.toml_text import TomlText, quoted_toml
from toolmason.refactor.tools import find_tool, notes_of, raw_table, unknown_category
from toolmason.refactor.trial import load_valid, trial
from toolmason.resolve.handlers import defined_names


def move_tool(project: Project, name: str, *, category: str = "", file: Path | None = None) -> Refactoring:
    """Return the changes that move a tool to a category, to a file of the manifest, or to both.

    Raises:
        RefactorError: there is no such tool or category, or the tool or the file cannot be moved.
        InvalidManifestError: the manifest has errors, before or after the changes.
        EditError: a file cannot be changed.
    """
    before, findings = load_valid(project)
    tool = find_tool(before.server, name)
    manifest = ManifestEdits(project, before.document)
    if category:
        _set_category(before, manifest, name, category)
    if file is not None:
        texts = manifest.results()
        source = manifest.owner(("tools", name))[0]
        files = ChangedFiles(project, manifest, _with_moved(project, texts, source, file, name))
    else:
        files = ChangedFiles(project, manifest)
    with trial(project, files.edits()) as after:
        if category and category != tool.category:
            names = _modules_of_names(after.package(), str(before.server.package))
            for path in files.searched():
                files.move_imports(path, str(before.server.package), identifier(tool.category), names)
        return files.refactoring(after.new_findings(findings), notes_of(project, before) if category else ())


def _set_category(before: LoadedManifest, manifest: ManifestEdits, name: str, category: str) -> None:
    known = raw_table(before, ("categories",))
    if category not in known:
        raise unknown_category(category, known)
    at = ("tools", name)
    present = next(tool.category for tool in before.server.tools if tool.name == name)
    if present == category:
        raise RefactorError(f"`{name}` is already in the category `{category}`")
    if "category" in raw_table(before, at) and manifest.owner(at)[1].has((*at, "category")):
        manifest.owner(at)[1].set_string((*at, "category"), category)
    else:
        manifest.add_keys(at, {"category": category})


def _with_moved(project: Project, texts: Mapping[Path, str], source: Path, file: Path, name: str) -> dict[Path, str]:
    """Return the texts of the manifest with a tool's tables in another file, which may be new."""
    root = project.root
    target = file.resolve()
    directory = project.manifest.parent
    if not target.is_relative_to(directory) or target.suffix != ".toml":
        shown = directory.relative_to(root).as_posix()
        raise RefactorError(f"`{file}` cannot be a file of the manifest; name a .toml file in {shown}/")
    if target == source:
        raise RefactorError(f"`{name}` is already in {target.relative_to(root).as_posix()}")
    result = dict(texts)
    text = TomlText(result[source])
    block = text.block(("tools", name))
    if block is None:
        raise RefactorError(
            f"`{name}` is not written as one block of tables; write it with the header `[tools.{name}]` first"
        )
    moved = text.text[slice(*block)].strip("\r\n")
    text.remove_lines(*block)
    result[source] = text.result()
    old = result.get(target)
    if old is None:
        old = read_text(target, root) if target.exists() else ""
        result[project.manifest] = _including(project, result[project.manifest], target)
    newline = "\r\n" if "\r\n" in (old or texts[source]) else "\n"
    moved = moved.replace("\r\n", "\n").replace("\n", newline)
    result[target] = f"{old.rstrip()}{newline * 2}{moved}{newline}" if old.strip() else f"{moved}{newline}"
    return result


def _including(project: Project, main: str, target: Path) -> str:
    """Return the main file with a path in `include` that includes a file."""
    if includes(project.manifest, main.encode(), target):
        return main
    path = quoted_toml(target.relative_to(project.manifest.parent).as_posix())
    text = TomlText(main)
    if text.has(("include",)):
        text.add_item(("include",), path)
    else:
        text.add_after(("edition",), f"include = [{path}]")
    return text.result()


def _modules_of_names(files: tuple[RenderedFile, ...], package: str) -> dict[str, frozenset[str]]:
    """Return the names that each module of the generated package defines or imports."""
    modules = {}
    for file in files:
        if file.path.suffix == ".py" and file.path.parts[0] == package:
            parts = file.path.with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[module] = frozenset(defined_names(ast.parse(file.text).body))
    return modules
