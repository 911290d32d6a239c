"""Declarations of upstreams and their tools: plain data that generated code creates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.specs.program import Permissions, Risk

DEFAULT_PERMISSIONS: Final = Permissions(network=True)
"""Permissions of a program whose manifest declares none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """`[upstreams.NAME]`: another MCP server, with either a `command` or a `url`.

    Its program receives the variables in `env`, those of our server in `pass_env`, and a minimal base environment.
    `headers` are those of every request to `url`. `timeout_s` limits a call. `allow` lists what it may ask of the
    client besides forms: `sampling`, `url`, and `context` in requests for sampling. `permissions` are the files and the
    network of the program beyond those that any program needs, and `memory_mb` limits each of its processes, in
    mebibytes. `pins` are the hashes of its tools at the import, by their original names; see `pins`.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    working_dir: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    timeout_s: float = 60.0
    memory_mb: int = 1024
    permissions: Permissions = DEFAULT_PERMISSIONS
    pins: Mapping[str, str] = field(default_factory=dict)
    unused_tools: tuple[str, ...] = ()
    """Tools that it may list although the manifest has no table for them."""

    @property
    def has_own_permissions(self) -> bool:
        """Whether the manifest declares permissions."""
        return self.permissions != DEFAULT_PERMISSIONS

    @property
    def uses_roots(self) -> bool:
        """Whether its permissions contain the project directories of the client."""
        permissions = self.permissions
        return "{roots}" in (*permissions.reads, *permissions.writes, *permissions.executes)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTool:
    """A tool with `upstream`.

    `original` is its name in the upstream. `risk` is the effect of a call by the manifest's hints, the worst without
    them; the annotations of the upstream do not count. A tool that `is_repeatable` can be called again after a crash
    without a further effect.
    """

    name: str
    upstream: Upstream
    original: str
    risk: Risk = Risk.DESTRUCTIVE
    is_repeatable: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names of arguments for models -> original names."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values of hidden arguments, by their original names."""
    hidden: tuple[str, ...] = ()
    """Original names of arguments that are never sent."""
    timeout_s: float | None = None
    """Limit of a call in seconds; None means that of the upstream."""

    def original_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call with their original names, and the fixed ones."""
        unavailable = {*self.hidden, *self.renamed.values(), *self.fixed}
        sent = {
            self.renamed.get(name, name): value
            for name, value in arguments.items()
            if name in self.renamed or name not in unavailable
        }
        return {**sent, **self.fixed}
