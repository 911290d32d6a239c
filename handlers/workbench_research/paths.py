"""The project root of a call, and the tool `validate_paths`."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.state import roots_for
from workbench_handlers.workspace.open import similar
from workbench_handlers.workspace.roots import RefusedPathError, Root, locate

MAX_SUGGESTIONS: Final = 5
"""Missing paths of one call for which similar names are suggested."""
_QUOTED: Final = re.compile("|".join(rf"{quote}[^{quote}\n]{{1,4096}}{quote}" for quote in "'\"`"))
_UNESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


class Paths(Protocol):
    """The parameters of `validate_paths`."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths as the caller wrote them."""


async def project_root(call: ToolCall, path: str = "") -> Root:
    """Return the directory that a question is about, in which its program is started.

    Among several allowed directories, this is the innermost one that contains `path`; the first one if `path` is empty
    or in none of them. Paths outside it are refused when they are resolved in this root.

    Raises:
        ToolError: no directory is allowed.
    """
    roots = await roots_for(call)
    return await asyncio.to_thread(_root_of, path, roots) if path and len(roots) > 1 else roots[0]


def _root_of(path: str, roots: tuple[Root, ...]) -> Root:
    try:
        located = locate(path, roots)
    except ToolError:
        return roots[0]
    return max(
        (root for root in roots if located.path.is_relative_to(root.path)), key=lambda root: len(root.path.parts)
    )


async def validate_paths(params: Paths, call: ToolCall) -> dict[str, Any]:
    """Return where each path leads, whether it exists and whether it may be read.

    As section 5.5 of the specification requires, `exists` is also given for paths outside the project, of which nothing
    else is reported: no name, size, kind or similar names.
    """
    roots = await roots_for(call)
    return {"tool": "validate_paths", "results": await asyncio.to_thread(_check_all, params.paths, roots)}


def path_spellings(text: str) -> Iterator[str]:
    """Yield the possible paths in `text`, the most likely first: itself, or the spelling of a reference."""
    yield text
    path = text.strip().removeprefix("@")
    if _QUOTED.fullmatch(path):
        yield path[1:-1]
        return
    yield path
    if "\\" in path:
        yield _UNESCAPE.sub(r"\1", path)


def _check_all(paths: Sequence[str], roots: tuple[Root, ...]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    missing = 0
    for path in paths:
        results.append(_check(path, roots, suggest=missing < MAX_SUGGESTIONS))
        missing += results[-1]["allowed"] and not results[-1]["exists"]
    return results


def _check(path: str, roots: tuple[Root, ...], *, suggest: bool) -> dict[str, Any]:
    """Check the first spelling of a path that exists and is allowed, else the last spelling."""
    result: dict[str, Any] = {}
    for spelling in dict.fromkeys(path_spellings(path)):
        result = {"input": path, **_resolve(spelling, roots, suggest=suggest)}
        if result["exists"] and result["allowed"]:
            break
    return result


def _resolve(path: str, roots: tuple[Root, ...], *, suggest: bool) -> dict[str, Any]:
    try:
        located = locate(path, roots)
    except RefusedPathError as error:
        exists = bool(error.resolved) and os.path.exists(error.resolved)  # noqa: PTH110  `Path.exists` raises
        return _result(error.resolved or path, exists=exists, allowed=False, reason=error.reason)
    except ToolError as error:
        return _result(path, exists=False, allowed=False, reason=error.message)
    resolved = str(located.path)
    try:
        located.path.stat()
    except (FileNotFoundError, NotADirectoryError):
        suggestion = similar(located) if suggest else ""
        return _result(resolved, exists=False, allowed=True, reason=f"No such file or directory{suggestion}")
    except OSError as error:
        is_loop = error.errno == errno.ELOOP
        reason = "Path is a loop of symbolic links" if is_loop else f"Path cannot be accessed: {error.strerror}"
        return _result(resolved, exists=False, allowed=False, reason=reason)
    if not located.path.is_relative_to(roots[0].path):
        reason = f"Path is not in {roots[0].path}, so prompts cannot refer to it; use a tool with a path argument"
        return _result(resolved, exists=True, allowed=True, reason=reason)
    return _result(resolved, exists=True, allowed=True)


def _result(resolved: str, *, exists: bool, allowed: bool, reason: str = "") -> dict[str, Any]:
    return {"resolved": resolved, "exists": exists, "allowed": allowed} | ({"reason": reason} if reason else {})
