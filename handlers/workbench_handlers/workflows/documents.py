"""The resources `workflow://specs/NAME`, `workflow://reviews/NAME` and `workflow://context/NAME`.

They are files of the directories in DEFAULT_SPEC_DIR, DEFAULT_REVIEW_DIR and DEFAULT_CONTEXT_DIR. A context that is
older than CONTEXT_CACHE_TTL_MINUTES is not served: its facts may be outdated.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import Completion, ResourceContent, ToolCall, ToolError

from workbench_handlers.state import roots_for
from workbench_handlers.workflows.settings import directory, ttl_minutes
from workbench_handlers.workflows.writing import with_owner_directory
from workbench_handlers.workspace.open import entries_of, existing, open_directory, open_file
from workbench_handlers.workspace.roots import Root
from workbench_server.resources.models import ContextParams, ReviewReportParams, SpecificationParams

MAX_BYTES: Final = 10_000_000
"""Maximum size of a document."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of document: its directory, its file extension, and whether documents expire."""

    variable: str
    default: str
    suffix: str
    expires: bool = False


_SPECIFICATION: Final = _Kind("DEFAULT_SPEC_DIR", "specs", ".md")
_REVIEW: Final = _Kind("DEFAULT_REVIEW_DIR", "reviews", ".md")
_CONTEXT: Final = _Kind("DEFAULT_CONTEXT_DIR", ".workflow-context", ".json", expires=True)


async def read_specification(params: SpecificationParams, call: ToolCall) -> ResourceContent:
    """Return a specification."""
    return await asyncio.to_thread(_read, _SPECIFICATION, params.name, await roots_for(call))


async def complete_specification(params: Completion, call: ToolCall) -> Sequence[str]:
    """Return the names of the specifications."""
    return await asyncio.to_thread(_names, _SPECIFICATION, params.value, await roots_for(call))


async def read_review(params: ReviewReportParams, call: ToolCall) -> ResourceContent:
    """Return a review."""
    return await asyncio.to_thread(_read, _REVIEW, params.name, await roots_for(call))


async def complete_review(params: Completion, call: ToolCall) -> Sequence[str]:
    """Return the names of the reviews."""
    return await asyncio.to_thread(_names, _REVIEW, params.value, await roots_for(call))


async def read_context(params: ContextParams, call: ToolCall) -> ResourceContent:
    """Return a context that is not too old."""
    return await asyncio.to_thread(_read, _CONTEXT, params.name, await roots_for(call))


async def complete_context(params: Completion, call: ToolCall) -> Sequence[str]:
    """Return the names of the contexts that are not too old."""
    return await asyncio.to_thread(_names, _CONTEXT, params.value, await roots_for(call))


def _read(kind: _Kind, name: str, roots: Sequence[Root]) -> str | None:
    """Return the text of a document; None if there is none."""
    chosen = directory(kind.variable, kind.default)
    path = os.path.join(roots[0].path, chosen, f"{name}{kind.suffix}")  # noqa: PTH118  keeps `..`
    try:
        with open_file(existing(path, with_owner_directory(roots, chosen), suggest=False)) as stream:
            if kind.expires and _is_expired(os.fstat(stream.fileno()).st_mtime):
                return None
            data = stream.read(MAX_BYTES + 1)
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return None
        raise
    if len(data) > MAX_BYTES:
        raise ToolError(f"`{name}` has more than {MAX_BYTES:,} bytes: read a part with read_files", code="TOO_LARGE")
    return data.decode("utf-8-sig", "replace")


def _names(kind: _Kind, typed: str, roots: Sequence[Root]) -> list[str]:
    chosen = directory(kind.variable, kind.default)
    path = os.path.join(roots[0].path, chosen)  # noqa: PTH118  keeps `..`
    try:
        located = existing(path, with_owner_directory(roots, chosen), suggest=False)
        with open_directory(located) as descriptor:
            entries = [entry for entry in entries_of(located, descriptor) if entry.name.endswith(kind.suffix)]
            fresh = [entry.name for entry in entries if not (kind.expires and _is_expired(entry.stat().st_mtime))]
    except (OSError, ToolError):
        return []
    names = [name.removesuffix(kind.suffix) for name in fresh]
    return [name for name in names if typed.casefold() in name.casefold()]


def _is_expired(modified: float) -> bool:
    return time.time() - modified > ttl_minutes() * 60
