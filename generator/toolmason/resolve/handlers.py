"""Whether the hand-written functions that a manifest names are there, without importing them."""

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
class Missing:
    """A function that is not there, and what to write."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Module:
    """What a module defines. `is_open`: it imports `*`, so any name may be in it; `fault` says why it is unreadable."""

    names: frozenset[str] = frozenset()
    is_open: bool = False
    fault: str = ""


class HandlerIndex:
    """The top-level names of each module under a source folder. Read as text: importing could run anything."""

    def __init__(self, folder: Path, package: str, handlers: str) -> None:
        self._folder = folder
        self._package = package
        self._handlers = handlers
        self._modules = cache(self._read)

    def missing(self, tool: Tool, handler: Handler) -> Missing | None:
        """Give what is missing for `tool`, which `handler` carries out, with the function to paste, or None."""
        problem, near = self.problem(handler)
        if not problem:
            return None
        module = self._modules(handler.module)
        if module and module.fault:
            return Missing(problem, "mend it first")
        if module is None and (hint := self._other_directory(handler)):
            return Missing(problem, hint)
        verb = f"did you mean `{near}`? If not, write:" if near else "write:" if module else "write it:"
        return Missing(problem, f"{verb}\n\n{signature(tool, handler, self._package)}")

    def problem(self, handler: Handler) -> tuple[str, str]:
        """Return why `handler` is not there, or nothing, and the closest name that is."""
        module = self._modules(handler.module)
        if module is None:
            where = self._folder.name + "/" + handler.module.replace(".", "/") + ".py"
            return f"no module `{handler.module}`: `{where}` is not there", ""
        if module.fault:
            return f"module `{handler.module}` cannot be read: {module.fault}", ""
        if module.is_open or handler.function in module.names:
            return "", ""
        return f"no function `{handler.function}` in `{handler.module}`", closest_match(
            handler.function, sorted(module.names)
        )

    def _other_directory(self, handler: Handler) -> str:
        """Return the hint for a module that is in another directory; empty if there is none."""
        inner = handler.module.removeprefix(f"{self._handlers}.")
        found = next(iter(sorted(self._folder.rglob(f"{inner.replace('.', '/')}.py"))), None)
        if found is None:
            return ""
        relative = found.relative_to(self._folder).with_suffix("")
        module = ".".join(relative.parts)
        exists = f"`{self._folder.name}/{relative.as_posix()}.py` exists:"
        if module.startswith(f"{self._handlers}."):
            reference = f"{module.removeprefix(f'{self._handlers}.')}:{handler.function}"
            return f'{exists} write `handler = "{reference}"`'
        package = module.removesuffix(inner).rstrip(".")
        if package:
            return f'{exists} write `handlers = "{package}"` in [server], or move it'
        return f"{exists} move it to `{self._folder.name}/{self._handlers.replace('.', '/')}/`"

    def _read(self, module: str) -> _Module | None:
        base = self._folder.joinpath(*module.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.exists() and not path.is_dir():
                return _parsed(path, self._folder.parent)
        return None


def _parsed(path: Path, root: Path) -> _Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = frozenset(_defined(ast.parse(read_input(path, root, max_bytes=MAX_MODULE_BYTES)).body))
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        return _Module(fault=f"{path.name}: {line}{error.msg}")
    except OSError as error:
        return _Module(fault=f"{path.name}: {error.strerror}")
    except (ValueError, RecursionError, MemoryError):
        return _Module(fault=f"{path.name} is too large or holds what is no text")
    return _Module(names, is_open="*" in names)


def _defined(body: Iterable[ast.AST]) -> Iterator[str]:
    """Give the names bound by statements and by those in their branches, `*` among them where all are imported."""
    for node in body:
        match node:
            case ast.AsyncFunctionDef(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                yield from _defined(each for each in ast.iter_child_nodes(node) if _may_define(each))


def _may_define(node: ast.AST) -> bool:
    """Whether `node` is a statement, a branch of one, or what is assigned to; values are not looked into."""
    is_target = isinstance(getattr(node, "ctx", None), ast.Store)
    return is_target or isinstance(node, ast.stmt | ast.excepthandler | ast.match_case | ast.withitem)


def signature(tool: Tool, handler: Handler, package: str) -> str:
    """Give the function `handler`, which carries `tool` out, imports included, ready to paste and fill in."""
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
