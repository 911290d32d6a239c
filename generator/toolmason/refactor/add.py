"""Add a tool, a parameter or a type to a manifest, at the place where a person would write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.toml.positions import KeyPath, dotted

from toolmason.diagnostics import Diagnostics
from toolmason.edits import Edits, read_text
from toolmason.formatting.format import format_toml
from toolmason.formatting.order import KeyOrder
from toolmason.formatting.syntax import Blank, Comment, Header, Pair, Statement, parse_statements
from toolmason.kinds.handler.tables import HandlerKeys
from toolmason.manifest.tables import ManifestTables
from toolmason.model.server import Server
from toolmason.pipeline import LoadedManifest, read, read_and_lint
from toolmason.project import Project
from toolmason.refactor.errors import RefactorError
from toolmason.refactor.manifest_edits import ManifestEdits
from toolmason.refactor.result import Refactoring
from toolmason.refactor.toml_text import quoted_toml
from toolmason.refactor.tools import clash, find_tool, raw_table, unknown_category
from toolmason.refactor.trial import InvalidManifestError, Trial, changed_copy
from toolmason.resolve.stubs import MISSING_FUNCTION
from toolmason.scaffold.stubs import write_stubs

NO_ROWS: Final[Mapping[str, Iterable[Mapping[str, str]]]] = {}
Keys = Mapping[str, str]
"""Keys of a table with their values in TOML: `{"type": '"string"', "params.q": '{ type = "string" }'}`."""


def add_tool(project: Project, name: str, keys: Keys, examples: Iterable[Keys] = ()) -> Refactoring:
    """Return the changes that add a tool after the last one of its category, and the function of its handler.

    Raises:
        RefactorError: its category is unknown, or the name exists.
        InvalidManifestError: the manifest has errors, before or after the changes.
        EditError: a file cannot be changed.
    """
    before, findings = load(project)
    _check_new_tool(before, name)
    manifest = ManifestEdits(project, before.document)
    tools = before.server.tools
    category = _category(before, keys)
    neighbours = [tool.name for tool in tools if tool.category == category] or [tool.name for tool in tools]
    path = manifest.owner(("tools", neighbours[-1]))[0] if neighbours else project.manifest
    text = _Text(manifest.texts[path].text)
    place = text.end_of(("tools", neighbours[-1])) if neighbours else None
    text.insert_table(place, ("tools", name), keys, {"examples": examples})
    return _result(project, findings, {path: text.result})


def add_param(project: Project, tool: str, name: str, keys: Keys) -> Refactoring:
    """Return the changes that add a parameter after the last one of a tool, in the same style.

    Raises:
        RefactorError: there is no such tool, or the name exists.
        InvalidManifestError: the manifest has errors, before or after the changes.
        EditError: a file cannot be changed.
    """
    before, findings = load(project)
    table = find_tool(before.server, tool).table
    at = ("tools", tool, "params")
    for other, param in table.params.items():
        if name == other:
            raise clash(before, f"`{tool}` has a parameter `{name}`", (*at, other))
        if name in param.aliases:
            raise clash(before, f"`{name}` is an alias of the parameter `{other}`", (*at, other))
    manifest = ManifestEdits(project, before.document)
    path, toml = manifest.owner(at if raw_table(before, at) else at[:2])
    text = _Text(toml.text)
    if not text.insert_param(at, name, keys):
        toml.add_keys(at, {name: _inline(keys)})
        return _result(project, findings, {path: toml.result()})
    return _result(project, findings, {path: text.result})


def add_type(project: Project, name: str, keys: Keys) -> Refactoring:
    """Return the changes that add a type after the last one, otherwise before the first tool.

    Raises:
        RefactorError: the name exists.
        InvalidManifestError: the manifest has errors, before or after the changes.
        EditError: a file cannot be changed.
    """
    before, findings = load(project)
    types = raw_table(before, ("types",))
    if name in types:
        raise clash(before, f"the manifest has a type `{name}`", ("types", name))
    manifest = ManifestEdits(project, before.document)
    if types:
        last = ("types", [*types][-1])
        path = manifest.owner(last)[0]
        text = _Text(manifest.texts[path].text)
        place = text.end_of(last)
    else:
        path = project.manifest
        text = _Text(manifest.texts[path].text)
        place = text.start_of_first("tools")
    text.insert_table(place, ("types", name), keys)
    return _result(project, findings, {path: text.result})


def handler_module(server: Server, category: str) -> str:
    """Return the module of the last handler of a category's tools, otherwise a module with its name."""
    handlers = [tool.table.own(HandlerKeys).handler for tool in server.tools if tool.category == category]
    modules = [handler.partition(":")[0] for handler in handlers if handler]
    return modules[-1] if modules else category


def _check_new_tool(manifest: LoadedManifest, name: str) -> None:
    for tool in manifest.server.tools:
        if tool.name == name:
            raise clash(manifest, f"the manifest has a tool `{name}`", ("tools", name))
        if name in tool.table.aliases:
            at = ("tools", tool.name, "aliases", tool.table.aliases.index(name))
            raise clash(manifest, f"`{name}` is an alias of the tool `{tool.name}`", at)


def _category(manifest: LoadedManifest, keys: Keys) -> str:
    """Return the category of a new tool: its own, or that of its program, API, database or upstream."""
    categories = raw_table(manifest, ("categories",))
    for key, value in keys.items():
        name = value.strip("\"'")
        if key == "category":
            if name not in categories:
                raise unknown_category(name, categories)
            return name
        for section in ("clis", "apis", "databases", "upstreams"):
            group = raw_table(manifest, (section, name))
            if section.startswith(key) and group.get("category"):
                return str(group["category"])
    return ""


def _result(project: Project, findings: Diagnostics, texts: Mapping[Path, str]) -> Refactoring:
    """Return the changes, with the functions of new handlers, after a trial of both."""
    edits = Edits.of(project.root, texts)
    with changed_copy(project, edits) as copy:
        _check(copy)
        problems = [change for change in write_stubs(copy) if change.problem]
        if problems:
            raise RefactorError(str(problems[0]))
        written = _changed_handlers(project, copy)
    edits = Edits.of(project.root, {**texts, **written})
    with changed_copy(project, edits) as copy:
        new = Trial(copy, *load(copy, is_result=True)).new_findings(findings)
    return Refactoring(edits, (), new)


def load(project: Project, *, is_result: bool = False) -> tuple[LoadedManifest, Diagnostics]:
    """Return the manifest of a project and all findings about it, which may be errors of `lint`.

    A new tool can take the rank of another one in the search: an author sees that and decides.

    Raises:
        InvalidManifestError: it has errors besides.
    """
    diagnostics = Diagnostics()
    manifest = read_and_lint(project, diagnostics=diagnostics)
    if manifest is None:
        raise InvalidManifestError(diagnostics, is_result=is_result)
    return manifest, diagnostics


def _check(copy: Project) -> None:
    """Check a changed manifest, whose handlers may be missing.

    Raises:
        InvalidManifestError: it has errors.
    """
    diagnostics, errors = Diagnostics(), Diagnostics()
    read(copy, diagnostics=diagnostics, missing=[], handlers=copy.handler_directory)
    for finding in diagnostics:
        if finding.code != MISSING_FUNCTION:
            errors.add(finding)
    if errors.has_errors:
        raise InvalidManifestError(errors, is_result=True)


def _changed_handlers(project: Project, copy: Project) -> dict[Path, str]:
    """Return the modules of a copy that are new or differ from those of the project."""
    changed = {}
    for path in copy.handler_directory.rglob("*") if copy.handler_directory.is_dir() else ():
        if path.suffix != ".py" and path.name != "py.typed":
            continue
        own = project.root / path.relative_to(copy.root)
        if not own.exists() or own.read_bytes() != path.read_bytes():
            changed[own] = read_text(path, copy.root)
    return changed


class _Text:
    """The text of a manifest's file, to which one table or key is added."""

    def __init__(self, text: str) -> None:
        self._old_lines = text.split("\n")
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._text = text.replace("\r\n", "\n")
        self._statements = parse_statements(self._text)

    @property
    def result(self) -> str:
        """The text with the addition. Lines that were there keep their ends, which may be mixed."""
        lines, old = self._text.split("\n"), [line.removesuffix("\r") for line in self._old_lines]
        before = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, old, strict=False)))
        rest = len(old) - before
        end = self._newline[:-1]
        added = [f"{line}{end}" for line in lines[before : len(lines) - rest]]
        if lines[len(lines) - rest :] != old[before:]:  # Blank lines between tables changed as well.
            return self._text.replace("\n", self._newline)
        result = "\n".join([*self._old_lines[:before], *added, *self._old_lines[before:]])
        return result if rest else result.removesuffix("\r")

    def end_of(self, path: KeyPath) -> int | None:
        """Return the offset after a table, the tables inside it and the comments right below; None if there is none."""
        last = None
        for index, statement in enumerate(self._statements):
            if isinstance(statement, Header | Pair) and statement.path[: len(path)] == path:
                last = index
        return None if last is None else self._end_with_comments(last)

    def start_of_first(self, section: str) -> int | None:
        """Return the offset of the first header of a section, with the comments above it."""
        for index, statement in enumerate(self._statements):
            if isinstance(statement, Header) and statement.path[0] == section:
                start = statement.start
                for above in reversed(self._statements[:index]):
                    if not isinstance(above, Comment):
                        break
                    start = above.start
                return start
        return None

    def insert_table(
        self, place: int | None, path: KeyPath, keys: Keys, rows: Mapping[str, Iterable[Keys]] = NO_ROWS
    ) -> None:
        """Add a table with arrays of tables at an offset, by default at the end."""
        place = len(self._text) if place is None else place
        before, after = self._text[:place].rstrip("\n"), self._text[place:].lstrip("\n")
        blocks = [part for part in (before, _table(path, keys, rows), after) if part]
        self._text = "\n\n".join(blocks) if after else "\n\n".join(blocks) + "\n"

    def insert_param(self, at: KeyPath, name: str, keys: Keys) -> bool:
        """Add a parameter below the last one of `at`; return False if they are in an inline table."""
        header: Header | None = None
        pairs: list[tuple[KeyPath, Pair]] = []
        headers: dict[KeyPath, Header] = {}
        for statement in self._statements:
            if isinstance(statement, Header):
                header = headers[statement.path] = statement
            elif isinstance(statement, Pair) and statement.path[: len(at)] == at:
                pairs.append((header.path if header else (), statement))
        if any(pair.path == at for _, pair in pairs):
            return False
        tables = [path for path in headers if path[:-1] == at]
        if tables:
            self.insert_table(self.end_of(tables[-1]), (*at, name), keys)
        elif pairs:
            self._insert_line(pairs[-1][1].end, pairs[-1][0], (*at, name), keys)
        elif at[:-1] in headers:
            self._insert_line(self._place_in(headers[at[:-1]], at), at[:-1], (*at, name), keys)
        else:
            raise RefactorError(f"`{at[1]}` has no header; write it as `[{dotted(at[:-1])}]` first")
        return True

    def _place_in(self, table: Header, at: KeyPath) -> int:
        """Return the offset after the last key of a table that is before `params` in the reference."""
        order = KeyOrder(ManifestTables)
        index = next(number for number, statement in enumerate(self._statements) if statement is table)
        place = table.end
        for statement in self._statements[index + 1 :]:
            if isinstance(statement, Header):
                break
            if isinstance(statement, Pair) and order.rank(statement.path) < order.rank(at):
                place = statement.end
        return place

    def _insert_line(self, place: int, table: KeyPath, path: KeyPath, keys: Keys) -> None:
        before = self._text[:place]
        before += "" if before.endswith("\n") else "\n"
        self._text = f"{before}{dotted(path[len(table) :])} = {_inline(keys)}\n{self._text[place:]}"

    def _end_with_comments(self, index: int) -> int:
        """Return the offset after a statement and the comments below it, unless they are above another statement."""
        end = _end(self._statements[index])
        for statement in self._statements[index + 1 :]:
            if not isinstance(statement, Comment):
                return end if isinstance(statement, Blank) else _end(self._statements[index])
            end = statement.end
        return end


def _end(statement: Statement) -> int:
    return 0 if isinstance(statement, Blank) else statement.end


def _table(path: KeyPath, keys: Keys, rows: Mapping[str, Iterable[Keys]]) -> str:
    """Return a table with its keys in the order of the reference, without a final newline."""
    lines = [f"[{dotted(path)}]", *_pairs(keys)]
    for name, tables in rows.items():
        for table in tables:
            lines += [f"[[{dotted((*path, name))}]]", *_pairs(table)]
    return _lines(lines).removesuffix("\n")


def _pairs(keys: Keys) -> list[str]:
    return [f"{key} = {value}" for key, value in keys.items()]


def _inline(keys: Keys) -> str:
    """Return an inline table with its keys in the order of the reference."""
    line = _lines(["[tools.x]", f"params.x = {{ {', '.join(_pairs(keys))} }}"]).split("\n", 1)[1]
    return line.partition(" = ")[2].removesuffix("\n")


def _lines(lines: Iterable[str]) -> str:
    result = format_toml("\n".join(lines).encode())
    if not isinstance(result, bytes):
        raise RefactorError(f"a value is not TOML: {result.message}; write a text in quotes")
    return result.decode()


def text_value(text: str) -> str:
    """Return a text in TOML."""
    return quoted_toml(text)
