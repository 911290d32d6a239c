"""Look up the handler functions that a manifest names, without importing them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from toolmason_runtime.suggestions import closest_match

from toolmason.manifest.input_files import read_input
from toolmason.model.identifiers import identifier
from toolmason.model.python_text import docstring
from toolmason.model.tool import Handler, Tool

MAX_MODULE_BYTES: Final = 1024 * 1024
"""Maximum size of a module. Parsing takes about 700 times as much memory."""


@dataclass(frozen=True, slots=True)
class MissingHandler:
    """A function that is not defined, with the code to write in `hint`."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Module:
    """The names that a module defines. With a star import it may define any other; `error` is why it is unreadable."""

    names: frozenset[str] = frozenset()
    has_star_import: bool = False
    error: str = ""


class HandlerIndex:
    """The top-level names of each module in a source directory. Modules are parsed: importing could run anything."""

    def __init__(self, directory: Path, package: str, handlers: str) -> None:
        self._directory = directory
        self._package = package
        self._handlers = handlers
        self._modules = cache(self._parse_module)

    def find_missing(self, tool: Tool, handler: Handler) -> MissingHandler | None:
        """Return the problem with `handler`, which implements `tool`, and the function to paste; None if it exists."""
        problem, near = self.find_problem(handler)
        if not problem:
            return None
        module = self._modules(handler.module)
        if module and module.error:
            return MissingHandler(problem, "fix the error in the module first")
        if module is None and (hint := self._other_directory_hint(handler)):
            return MissingHandler(problem, hint)
        verb = f"did you mean `{near}`? If not, write:" if near else "write:" if module else "write it:"
        return MissingHandler(problem, f"{verb}\n\n{handler_stub(tool, handler, self._package)}")

    def find_problem(self, handler: Handler) -> tuple[str, str]:
        """Return why `handler` is missing, empty if it exists, and the closest name that exists."""
        module = self._modules(handler.module)
        if module is None:
            path = self._directory.name + "/" + handler.module.replace(".", "/") + ".py"
            return f"module `{handler.module}` not found: `{path}` does not exist", ""
        if module.error:
            return f"module `{handler.module}` cannot be read: {module.error}", ""
        if module.has_star_import or handler.function in module.names:
            return "", ""
        near = closest_match(handler.function, sorted(module.names))
        return f"no function `{handler.function}` in `{handler.module}`", near

    def _other_directory_hint(self, handler: Handler) -> str:
        """Return the hint for a module that is in another directory; empty if it is in none."""
        inner = handler.module.removeprefix(f"{self._handlers}.")
        path = next(iter(sorted(self._directory.rglob(f"{inner.replace('.', '/')}.py"))), None)
        if path is None:
            return ""
        relative = path.relative_to(self._directory).with_suffix("")
        module = ".".join(relative.parts)
        exists = f"`{self._directory.name}/{relative.as_posix()}.py` exists:"
        if module.startswith(f"{self._handlers}."):
            reference = f"{module.removeprefix(f'{self._handlers}.')}:{handler.function}"
            return f'{exists} write `handler = "{reference}"`'
        package = module.removesuffix(inner).rstrip(".")
        if package:
            return f'{exists} write `handlers = "{package}"` in [server], or move it'
        return f"{exists} move it to `{self._directory.name}/{self._handlers.replace('.', '/')}/`"

    def _parse_module(self, module: str) -> _Module | None:
        base = self._directory.joinpath(*module.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.exists() and not path.is_dir():
                return _parse(path, self._directory.parent)
        return None


def _parse(path: Path, root: Path) -> _Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = frozenset(_defined_names(ast.parse(read_input(path, root, max_bytes=MAX_MODULE_BYTES)).body))
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        return _Module(error=f"{path.name}: {line}{error.msg}")
    except OSError as error:
        return _Module(error=f"{path.name}: {error.strerror}")
    except (ValueError, RecursionError, MemoryError):
        return _Module(error=f"{path.name} is too large or is not text")
    return _Module(names, has_star_import="*" in names)


def _defined_names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names bound by statements and their branches, and `*` for a star import."""
    for node in body:
        match node:
            case ast.AsyncFunctionDef(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                yield from _defined_names(child for child in ast.iter_child_nodes(node) if _may_define(child))


def _may_define(node: ast.AST) -> bool:
    """Return whether `node` is a statement, a branch of one or an assignment target. Values define no names."""
    is_target = isinstance(getattr(node, "ctx", None), ast.Store)
    return is_target or isinstance(node, ast.stmt | ast.excepthandler | ast.match_case | ast.withitem)


def handler_stub(tool: Tool, handler: Handler, package: str) -> str:
    """Return an empty function `handler` for `tool` with its imports, indented, ready to paste."""
    models = ", ".join(sorted({name for name in (tool.params_class, tool.result_class) if name}))
    params, result = tool.params_class or "dict[str, Any]", tool.result_class or "Content"
    lines = [
        *([] if tool.params_class else ["from typing import Any", ""]),
        f"from toolmason_runtime import {'ToolCall' if tool.result_class else 'Content, ToolCall'}",
        *(["", f"from {package}.{identifier(tool.category)}.models import {models}"] if models else []),
        "",
        "",
        f"async def {handler.function}(params: {params}, call: ToolCall) -> {result}:",
        f"    {docstring(tool.summary or '...')}",
        "    raise NotImplementedError",
    ]
    return "\n".join(f"    {line}".rstrip() for line in lines)
