"""Whether the hand-written functions that a manifest names are there, without importing them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from toolwright.filters import docstring
from toolwright.model import Tool
from toolwright.names import identifier


@dataclass(frozen=True, slots=True)
class Missing:
    """A function that is not there, and what to write."""

    message: str
    hint: str


class HandlerIndex:
    """The top-level names of each module under a source folder. Read as text: importing could run anything."""

    def __init__(self, folder: Path, package: str) -> None:
        self._folder = folder
        self._package = package
        self._names = cache(self._read)

    def missing(self, tool: Tool) -> Missing | None:
        """Give what is missing for `tool`, with the function to paste, or None."""
        module, function = tool.handler.module, tool.handler.function
        names = self._names(module)
        if names is None:
            where = self._folder.name + "/" + module.replace(".", "/") + ".py"
            return Missing(
                f"no module `{module}`: `{where}` is not there or is no Python",
                f"write it:\n\n{signature(tool, self._package)}",
            )
        if function in names:
            return None
        near = get_close_matches(function, names, n=1)
        hint = f"did you mean `{near[0]}`? If not, write:" if near else "write:"
        return Missing(f"no function `{function}` in `{module}`", f"{hint}\n\n{signature(tool, self._package)}")

    def _read(self, module: str) -> frozenset[str] | None:
        base = self._folder.joinpath(*module.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (OSError, SyntaxError, ValueError):
                continue
            return frozenset(_defined(tree))
        return None


def _defined(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        match node:
            case ast.AsyncFunctionDef(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names += [alias.asname or alias.name for alias in aliases]
            case ast.Assign(targets=targets):
                names += [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case _:
                pass
    return names


def signature(tool: Tool, package: str) -> str:
    """Give the function that carries `tool` out, imports included, ready to paste and fill in."""
    models = ", ".join(sorted({name for name in (tool.params_class, tool.result_class) if name}))
    params, result = tool.params_class or "dict[str, Any]", tool.result_class or "Content"
    lines = [
        *([] if tool.params_class else ["from typing import Any", ""]),
        f"from toolwright_runtime import {'ToolCall' if tool.result_class else 'Content, ToolCall'}",
        *(["", f"from {package}.{identifier(tool.category)}.models import {models}"] if models else []),
        "",
        "",
        f"async def {tool.handler.function}(params: {params}, call: ToolCall) -> {result}:",
        f"    {docstring(tool.summary)}",
        "    raise NotImplementedError",
    ]
    return "\n".join(f"    {line}".rstrip() for line in lines)
