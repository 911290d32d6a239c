"""Look up the handler functions that a manifest names, without importing them."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Final

from toolmason_runtime.suggestions import closest_match

from toolmason.manifest.input_files import read_input
from toolmason.model.implementation import Handler
from toolmason.resolve.stubs import Stub

MAX_MODULE_BYTES: Final = 1024 * 1024
"""Maximum size of a module. Parsing takes about 700 times as much memory."""


@dataclass(frozen=True, slots=True)
class MissingFunction:
    """A function that is not defined. `can_be_added` is false if something else must be fixed first."""

    message: str
    hint: str
    can_be_added: bool


@dataclass(frozen=True, slots=True)
class _Module:
    """The names that a module defines. With a star import it may define any other; `error` is why it is unreadable."""

    names: frozenset[str] = frozenset()
    has_star_import: bool = False
    error: str = ""


class HandlerIndex:
    """The top-level names of each module in a source directory. Modules are parsed: importing could run anything."""

    def __init__(self, directory: Path, handlers: str) -> None:
        self._directory = directory
        self._handlers = handlers
        self._modules = cache(self._parse_module)

    def find_missing(self, stub: Stub, *, shows_body: bool = False) -> MissingFunction | None:
        """Return the problem with the function of `stub`, and what to write; None if the function exists.

        `shows_body` selects the whole function instead of its signature.
        """
        handler = stub.handler
        problem, near = self._find_problem(handler)
        if not problem:
            return None
        module = self._modules(handler.module)
        if module and module.error:
            return MissingFunction(problem, "fix the error in the module first", can_be_added=False)
        if module is None and (hint := self._other_directory_hint(handler)):
            return MissingFunction(problem, hint, can_be_added=False)
        hint = "run `toolmason generate --stubs`, or write"
        hint = f"did you mean `{near}`? If not, {hint}" if near else hint
        code = f":\n\n{indent(stub.text, '    ')}" if shows_body else f" `{stub.signature}`"
        return MissingFunction(problem, f"{hint}{code}", can_be_added=True)

    def _find_problem(self, handler: Handler) -> tuple[str, str]:
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
        path = None
        with suppress(OSError):  # of a name that is too long
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
            # Not `Path.exists`, which raises for a name that the system refuses.
            if os.path.exists(path) and not os.path.isdir(path):  # noqa: PTH110, PTH112
                return _parse(path, self._directory.parent)
        return None


def _parse(path: Path, root: Path) -> _Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = frozenset(defined_names(ast.parse(read_input(path, root, max_bytes=MAX_MODULE_BYTES)).body))
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        return _Module(error=f"{path.name}: {line}{error.msg}")
    except OSError as error:
        return _Module(error=f"{path.name}: {error.strerror}")
    except (ValueError, RecursionError, MemoryError):
        return _Module(error=f"{path.name} is too large or is not text")
    return _Module(names, has_star_import="*" in names)


def defined_names(body: Iterable[ast.AST]) -> Iterator[str]:
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
                yield from defined_names(child for child in ast.iter_child_nodes(node) if _may_define(child))


def _may_define(node: ast.AST) -> bool:
    """Return whether `node` is a statement, a branch of one or an assignment target. Values define no names."""
    is_target = isinstance(getattr(node, "ctx", None), ast.Store)
    return is_target or isinstance(node, ast.stmt | ast.excepthandler | ast.match_case | ast.withitem)
