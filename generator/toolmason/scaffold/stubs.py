"""Write the functions that a manifest names and the modules of the handlers do not define.

Existing lines stay as they are, except imports from a module from which a new function needs further names.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason.manifest.input_files import is_inside, read_input
from toolmason.pipeline import missing_functions
from toolmason.project import Project
from toolmason.resolve.handlers import MAX_MODULE_BYTES, defined_names
from toolmason.resolve.stubs import Stub, import_group, import_line, sorted_imports

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line as Python counts them, with its end."""
_BOM: Final = "\ufeff"


class StubError(Exception):
    """A module cannot be extended. It is unchanged."""


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """A module of the handlers: its path relative to the project, the functions to add, and the reason if it failed."""

    path: str
    functions: tuple[str, ...]
    is_new: bool = False
    problem: str = ""

    def __str__(self) -> str:
        names = ", ".join(self.functions)
        if self.problem:
            return f"{self.path}: {names} not added: {self.problem}"
        return f"{self.path}: {'created with' if self.is_new else 'added'} {names}"


def write_stubs(project: Project) -> list[ModuleChange]:
    """Add all missing functions to their modules; create missing modules. Return the changes, also failed ones.

    An invalid manifest changes nothing.
    """
    modules: dict[str, dict[str, Stub]] = {}
    for stub in missing_functions(project):
        modules.setdefault(stub.handler.module, {}).setdefault(stub.handler.function, stub)
    return [_change_module(project, module, list(stubs.values())) for module, stubs in modules.items()]


def _change_module(project: Project, module: str, stubs: Sequence[Stub]) -> ModuleChange:
    path, is_new = _find_module(project.handler_directory, module)
    functions = tuple(stub.handler.function for stub in stubs)
    shown = path.relative_to(project.root).as_posix()
    try:
        if not is_inside(path, project.root):
            raise StubError("it is outside the project")  # noqa: TRY301  reported below
        if is_new:
            _create(project, path, new_module(module, stubs))
        else:
            _replace(path.resolve(), with_functions(read_input(path, project.root, max_bytes=MAX_MODULE_BYTES), stubs))
    except (StubError, OSError, SyntaxError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        return ModuleChange(shown, functions, is_new, reason)
    return ModuleChange(shown, functions, is_new)


def _find_module(directory: Path, module: str) -> tuple[Path, bool]:
    """Return the path of a module, and whether the file is missing."""
    base = directory.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path, False
    return base.with_suffix(".py"), True


def new_module(module: str, stubs: Sequence[Stub]) -> str:
    """Return the text of a module with the functions of `stubs`."""
    text = f'"""The functions of `{module}`."""\n\nfrom __future__ import annotations\n'
    return with_functions(text.encode(), stubs).decode()


def with_functions(source: bytes, stubs: Sequence[Stub]) -> bytes:
    """Return the source of a module with further functions at its end, and the imports that they need.

    Raises:
        StubError: a name that a function imports means something else in the module.
        SyntaxError: the module is invalid.
        ValueError: it is not UTF-8.
    """
    text = source.decode()
    mark, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    newline = "\r\n" if "\r\n" in text else "\n"
    old = ast.parse(text)
    lines = _LINE.findall(text)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    blank = sum(1 for _ in _trailing_blank(lines)) if lines else 2
    body = "\n\n\n".join(stub.definition for stub in stubs).split("\n")
    lines += [f"{line}{newline}" for line in [*[""] * (2 - blank), *body]]
    for module, names in sorted_imports(_merged(stub.imports for stub in stubs)):
        lines = _with_import(lines, module, names, newline)
    result = "".join(lines)
    _check_unchanged(old, ast.parse(result), len(stubs))
    return f"{mark}{result}".encode()


def _trailing_blank(lines: Sequence[str]) -> Iterator[str]:
    for line in reversed(lines[-2:]):
        if line.strip():
            return
        yield line


def _merged(imports: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    merged: dict[str, frozenset[str]] = {}
    for mapping in imports:
        for module, names in mapping.items():
            merged[module] = merged.get(module, frozenset()) | names
    return merged


def _with_import(lines: list[str], module: str, names: Sequence[str], newline: str) -> list[str]:
    """Return the lines of a module that imports `names` from `module`."""
    body = ast.parse("".join(lines)).body
    imported = set(_imported_names(body, module))
    missing = [name for name in names if name not in imported]
    own = set(defined_names(body))
    if clash := next((name for name in missing if name in own), None):
        raise StubError(f"its `{clash}` is not the one of `{module}`; write the function by hand")
    if not missing:
        return lines
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == module and not node.level:
            present = [alias.name for alias in node.names]
            if _source(lines, node) == import_line(module, present):  # else it has comments or aliases
                merged = dict(sorted_imports({module: frozenset({*present, *missing})}))[module]
                return _replaced(lines, node.lineno - 1, node.end_lineno or 0, import_line(module, merged), newline)
    return _inserted(lines, body, module, import_line(module, missing), newline)


def _inserted(lines: list[str], body: Sequence[ast.stmt], module: str, statement: str, newline: str) -> list[str]:
    """Insert an import after the last one of its group at the top of the module, with blank lines between groups."""
    group, place, last = import_group(module), 0, -1
    for node in _header(body):
        own_group = _group(node)
        if own_group > group:
            following = [] if place else [""]
            return _replaced(lines, place, place, "\n".join(_spaced(statement, last, group) + following), newline)
        place, last = node.end_lineno or 0, own_group
    if not place and body:
        place = min([body[0].lineno, *(node.lineno for node in getattr(body[0], "decorator_list", ()))]) - 1
        statement += "\n\n"
    return _replaced(lines, place, place, "\n".join(_spaced(statement, last, group)), newline)


def _spaced(statement: str, last: int, group: int) -> list[str]:
    """Return the lines of an import after one of the group `last`; -1 for none."""
    return [statement] if last in {-1, group} else ["", statement]


def _header(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the docstring and the imports at the top of a module."""
    for index, node in enumerate(body):
        is_docstring = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_docstring or isinstance(node, ast.Import | ast.ImportFrom)):
            return
        yield node


def _group(node: ast.stmt) -> int:
    """Return the group of an import; a docstring comes before all."""
    if isinstance(node, ast.ImportFrom):
        return 3 if node.level else import_group(node.module or "")
    return import_group(node.names[0].name) if isinstance(node, ast.Import) else -2


def _imported_names(body: Sequence[ast.stmt], origin: str) -> Iterator[str]:
    """Yield the names that a module imports from a module like `origin`.

    Of branches, only those of `try` count: others may be for type checkers.
    """
    has_lazy_annotations = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in body)
    branches = (ast.Try, ast.If) if has_lazy_annotations else (ast.Try,)
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.level or _is_alike(node.module or "", origin)):
            yield from (alias.name for alias in node.names if alias.asname in {None, alias.name})
        elif isinstance(node, branches):
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            yield from _imported_names(children, origin)


def _is_alike(module: str, origin: str) -> bool:
    """Return whether equal names of two modules mean the same: both are of the standard library or of one package."""
    is_standard = import_group(module) == import_group(origin) == import_group("typing")
    return is_standard or module.partition(".")[0] == origin.partition(".")[0]


def _source(lines: Sequence[str], node: ast.stmt) -> str:
    return "\n".join(line.rstrip("\r\n") for line in lines[node.lineno - 1 : node.end_lineno])


def _replaced(lines: list[str], start: int, end: int, text: str, newline: str) -> list[str]:
    return [*lines[:start], *(f"{line}{newline}" for line in text.split("\n")), *lines[end:]]


def _check_unchanged(old: ast.Module, new: ast.Module, added: int) -> None:
    """Check that a module has its old statements, apart from imports, and then the new functions."""

    def statements(tree: ast.Module) -> list[str]:
        return [ast.dump(node) for node in tree.body if not isinstance(node, ast.ImportFrom)]

    before, after = statements(old), statements(new)
    if after[:-added] != before:
        raise StubError("its imports cannot be extended; write the function by hand")


def _create(project: Project, path: Path, text: str) -> None:
    """Create a module and the packages that contain it."""
    for parent in reversed(path.parents[: len(path.relative_to(project.root).parts) - 1]):
        if parent.exists():
            continue
        if parent.with_suffix(".py").exists():
            raise StubError(f"`{parent.name}.py` is a module, not a package")
        parent.mkdir()
        if parent != project.handler_directory:
            (parent / "__init__.py").write_text('"""Handlers of the server."""\n', encoding="utf-8", newline="\n")
            if parent.parent == project.handler_directory:
                (parent / "py.typed").touch()
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _replace(path: Path, data: bytes) -> None:
    """Replace a file at once. It keeps its mode."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
