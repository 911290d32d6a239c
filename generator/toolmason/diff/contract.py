"""The contract of a server: what callers, models and administrators rely on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.diagnostics import Location

Place = tuple[str, str]
"""A tool, and a JSON Pointer in its arguments (`/arguments/...`) or result (`/result/...`); or a section and a name."""


def _nowhere(at: KeyPath) -> None:
    """Return no location: lists of running servers have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContract:
    """One tool. `arguments` are its exact schema, `listed` that in `tools/list`: the same without a manifest."""

    name: str
    arguments: Any
    listed: Any
    result: Any = None
    title: str = ""
    summary: str = ""
    description: str = ""
    category: str = ""
    tier: str = "core"
    hints: Mapping[str, bool] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    argument_aliases: Mapping[str, str] = field(default_factory=dict)
    deprecated: bool = False
    scopes: tuple[str, ...] | None = None
    """None if unknown, for a server without its manifest."""
    needs_tasks: bool | None = None
    """Whether only clients with tasks can call it (`task = "required"`); None if unknown."""
    locate: Callable[[str], Location | None] = lambda _: None
    """Return the location of a JSON Pointer in `arguments`; that of the tool for an empty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessContract:
    """What programs, APIs and upstreams may reach: `clis.git` -> `reads` -> values; None means everything."""

    rights: Mapping[str, Mapping[str, tuple[str, ...] | None]] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Host -> the table with it, such as `apis.issues`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A server. Keys with None are unknown: a list of tools says nothing about them."""

    source: str
    tools: Mapping[str, ToolContract]
    name: str | None = None
    prefix: str | None = None
    version: str = ""
    instructions: str | None = None
    style: str | None = None
    pinned: tuple[str, ...] | None = None
    prompts: Mapping[str, Mapping[str, Any]] | None = None
    resources: Mapping[str, Mapping[str, Any]] | None = None
    workflows: Mapping[str, str] | None = None
    access: AccessContract | None = None
    catalogue: Catalogue | None = None
    """The data of searches; None without a manifest."""
    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool -> prompts, commands, workflows and files that use it."""
    locate: Callable[[KeyPath], Location | None] = _nowhere
    is_exact: bool = False
    """Whether `arguments` of its tools are the exact schemas of a manifest."""
    path: PurePosixPath | None = None
    """The file of the contract, for findings without a place of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change. `subject` is the tool, prompt or table that has changed, `message` a sentence about it.

    `location` is in the new contract, or in the old one if `is_old`. `example` is a call or a result that the change
    breaks, in a tuple.
    """

    rule: str
    subject: str
    message: str
    place: str = ""
    fix: str = ""
    location: Location | None = None
    is_old: bool = False
    example: tuple[Any] | None = None
    tool: str = ""
    touches: tuple[str, ...] = ()
