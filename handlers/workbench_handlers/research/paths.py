"""Which folder a question is about, and what becomes of paths that a prompt may refer to."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from typing import Any, Final, Protocol

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.research.references import spellings
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.open import similar
from workbench_handlers.workspace.roots import RefusedPathError, Root, locate

MAX_SUGGESTIONS: Final = 5
"""Missing paths of one call for which similar names are looked for."""


class Paths(Protocol):
    """What `validate_paths` is asked."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths, as they were written."""


async def project_root(call: ToolCall, path: str = "") -> Root:
    """Give the one folder that a question is about, and that its program is started in.

    A call may read several folders, but a program has one: of those allowed, the one that holds `path`, the innermost
    if they are nested; the first if `path` is empty or in none of them. What then cannot be read is refused where
    `path` is located in this root.

    Raises:
        ToolError: no folder is allowed.
    """
    roots = await roots_for(call)
    return await asyncio.to_thread(_holder, path, roots) if path and len(roots) > 1 else roots[0]


def _holder(path: str, roots: tuple[Root, ...]) -> Root:
    try:
        located = locate(path, roots)
    except ToolError:
        return roots[0]
    return max(
        (root for root in roots if located.path.is_relative_to(root.path)), key=lambda root: len(root.path.parts)
    )


async def validate_paths(params: Paths, call: ToolCall) -> dict[str, Any]:
    """Say of each path where it leads, whether it is there and whether it may be read.

    Section 5.5 of the specification has `exists` tell of paths outside of the project as well, so it does: one bit on a
    path the caller named, which needs no more rights than the user's. Nothing more is told of what is outside: no
    name, size or kind, and no similar names.
    """
    roots = await roots_for(call)
    return {"tool": "validate_paths", "results": await asyncio.to_thread(_all_checked, params.paths, roots)}


def _all_checked(paths: Sequence[str], roots: tuple[Root, ...]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    missing = 0
    for path in paths:
        results.append(_checked(path, roots, suggest=missing < MAX_SUGGESTIONS))
        missing += results[-1]["allowed"] and not results[-1]["exists"]
    return results


def _checked(path: str, roots: tuple[Root, ...], *, suggest: bool) -> dict[str, Any]:
    """Judge a path by the first of its spellings that is there and allowed, else by the last of them."""
    result: dict[str, Any] = {}
    for written in dict.fromkeys(spellings(path)):
        result = {"input": path, **_judged(written, roots, suggest=suggest)}
        if result["exists"] and result["allowed"]:
            break
    return result


def _judged(written: str, roots: tuple[Root, ...], *, suggest: bool) -> dict[str, Any]:
    try:
        located = locate(written, roots)
    except RefusedPathError as error:
        exists = bool(error.resolved) and os.path.exists(error.resolved)  # noqa: PTH110  `Path.exists` raises
        return _result(error.resolved or written, exists=exists, allowed=False, reason=error.reason)
    except ToolError as error:
        return _result(written, exists=False, allowed=False, reason=error.message)
    resolved = str(located.path)
    try:
        located.path.stat()
    except (FileNotFoundError, NotADirectoryError):
        near = similar(located) if suggest else ""
        return _result(resolved, exists=False, allowed=True, reason=f"No such file or directory{near}")
    except OSError as error:
        is_loop = error.errno == errno.ELOOP
        reason = "Path leads in a circle of links" if is_loop else f"Path cannot be looked at: {error.strerror}"
        return _result(resolved, exists=False, allowed=False, reason=reason)
    if not located.path.is_relative_to(roots[0].path):
        reason = f"Path is not in {roots[0].path}, so prompts cannot refer to it: only tools with a path can read it"
        return _result(resolved, exists=True, allowed=True, reason=reason)
    return _result(resolved, exists=True, allowed=True)


def _result(resolved: str, *, exists: bool, allowed: bool, reason: str = "") -> dict[str, Any]:
    return {"resolved": resolved, "exists": exists, "allowed": allowed} | ({"reason": reason} if reason else {})
