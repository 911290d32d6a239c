"""The changed files of a project: the manifest, and all files that name its tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.toml.positions import scan_keys

from toolmason.diagnostics import Diagnostics
from toolmason.edits import ConflictError, EditError, Edits, read_text
from toolmason.model.identifiers import identifier
from toolmason.model.tool import Tool
from toolmason.project import Project
from toolmason.refactor.manifest_edits import ManifestEdits
from toolmason.refactor.mentions import Mentions, tool_mentions
from toolmason.refactor.project_files import searched_files
from toolmason.refactor.python_text import PythonText
from toolmason.refactor.result import Refactoring
from toolmason.refactor.toml_text import TomlText

_DOCUMENTS: Final = frozenset({".md", ".markdown", ".rst", ".txt", ".mdx"})
"""Suffixes of documents, in which certain mentions are replaced."""


class ChangedFiles:
    """The changed texts of all files, and the places that a person must check."""

    def __init__(self, project: Project, manifest: ManifestEdits, texts: Mapping[Path, str] | None = None) -> None:
        """Start with `texts` of the manifest, by default those of `manifest`, which may still change."""
        self._project = project
        self._manifest = manifest
        self._manifest_texts = texts
        self._texts: dict[Path, str] = {}
        self._read_texts: dict[Path, str] = {}
        self._uncertain: list[tuple[Path, int, str]] = []
        self._function: tuple[str, str, str] | None = None

    def edits(self) -> Edits:
        """Return the changes so far."""
        texts = self._manifest.results() if self._manifest_texts is None else self._manifest_texts
        read = {path: text.text for path, text in self._manifest.texts.items()} | self._read_texts
        return Edits.of(self._project.root, {**texts, **self._texts}, read=read)

    def refactoring(self, findings: Diagnostics, notes: tuple[str, ...]) -> Refactoring:
        """Return the result; `findings` are the new ones of the manifest."""
        root = self._project.root
        places = {
            (path.relative_to(root).as_posix(), line, reason)
            for path, line, reason in (*self._manifest.uncertain, *self._uncertain)
        }
        return Refactoring(self.edits(), tuple(sorted(places)), findings, notes)

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
            return PythonText(self._text(path))
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
        text = self._read(path, tool.name, tool.name.replace("_", "-"), *names)
        if text is None:
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
        text = self._read(path, old)
        if text is None or not (tool.name in text or str(tool.params_class) in text):
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

    def move_imports(self, path: Path, package: str, category: str, names: Mapping[str, frozenset[str]]) -> None:
        """Import names of the generated package from the modules that have them, of `names` by module."""
        text = self._read(path, package) if path.suffix == ".py" else None
        if text is None:
            return
        python = self.python(path)
        if python is None:
            return
        for node in python.imports_of(package):
            module = node.module or ""
            if module == f"{package}.{category}":
                python.uncertain.append((node.lineno, f"it imports modules of `{module}`"))
                continue
            moved = {}
            for name in [alias.name for alias in node.names if alias.name not in names.get(module, ())]:
                last = module.rpartition(".")[2]
                places = [
                    other for other in names if name in names[other] and other.rpartition(".")[2] in {last, "types"}
                ]
                if len(places) == 1:
                    moved[name] = places[0]
                else:
                    python.uncertain.append((node.lineno, f"`{name}` is no longer in `{module}`"))
            if moved:
                python.move_import(node, moved)
        self._finish(path, text, python)

    def _rename_in_text(self, path: Path, text: str, old: str, new: str, mentions: Mentions) -> None:
        result = text
        if path.suffix == ".toml":
            result = _queries_toml(text, old, new)
        elif path.suffix in _DOCUMENTS:
            result = mentions.replaced(text, new)
        self._set(path, text, result)
        offsets = [*mentions.listed(text)]
        if result == text:
            offsets += [start for start, _, _ in mentions.replace(text, new)]
        self._doubt(path, text, offsets, f"`{old}`")
        # Commands of tools have a dash: `notes count-words`.
        dashed = old.replace("_", "-")
        if dashed != old:
            found = re.finditer(rf"(?<= ){re.escape(dashed)}(?![\w-])", text)
            self._doubt(path, text, [match.start() for match in found], f"`{dashed}`, as the command of the tool")

    def _doubt(self, path: Path, text: str, offsets: list[int], reason: str) -> None:
        self._uncertain += [(path, text.count("\n", 0, offset) + 1, reason) for offset in offsets]

    def _finish(self, path: Path, text: str, python: PythonText) -> None:
        self._set(path, text, python.result())
        self._uncertain += [(path, line, reason) for line, reason in python.uncertain]

    def _read(self, path: Path, *names: str) -> str | None:
        """Return the text of a file that contains one of `names`; None for others.

        A file that cannot be changed, such as one that is not UTF-8, is listed if it contains one.

        Raises:
            ConflictError: it has a merge conflict.
        """
        try:
            text = self._text(path)
        except EditError as error:
            if self._has_any(path, names):
                if isinstance(error, ConflictError):
                    raise
                self._uncertain.append((path, 1, f"{error.reason}, and it contains the name"))
            return None
        return text if any(name in text for name in names) else None

    def _text(self, path: Path) -> str:
        """Return the text of a file. It is read once: a file that is saved meanwhile is refused at the end.

        Raises:
            EditError: see `read_text`.
        """
        if path not in self._read_texts:
            self._read_texts[path] = read_text(path, self._project.root)
        return self._read_texts[path]

    @staticmethod
    def _has_any(path: Path, names: Iterable[str]) -> bool:
        with suppress(OSError):
            content = path.read_bytes()
            return any(name.encode() in content for name in names)
        return False

    def _set(self, path: Path, old: str, new: str) -> None:
        if old != new:
            self._texts[path] = new


def is_certain(mentions: Mentions, name: str) -> bool:
    """Return whether a string that equals the name is the name of the tool, not that of something else."""
    return any(True for _ in mentions.replace(f" {name} ", ""))


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
    key = re.compile(rf'(["\']){re.escape(old)}\1(?=\s*:)')
    return mentions.replaced(key.sub(lambda match: f"{match[1]}{new}{match[1]}", line), new)
