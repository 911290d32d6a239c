"""The implementation of a tool by another MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolmason_runtime.shared.extras import HTTP
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.upstream import Upstream, UpstreamTool

from toolmason.kinds.upstream.tables import UpstreamTable
from toolmason.model.implementation import Group, Implementation
from toolmason.model.tool import Tool
from toolmason.model.types import Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamImplementation(Implementation):
    """The tool of an upstream. `upstream_constant` is the upstream in generated code.

    Of hints that contradict each other in the manifest, the worse one counts.
    """

    kind: ClassVar[str] = "upstream"
    plural: ClassVar[str] = "upstreams"
    tool: UpstreamTool
    upstream_constant: Identifier
    has_contradicting_hints: bool = False

    @property
    def group(self) -> tuple[Identifier, Upstream]:
        """The upstream."""
        return self.upstream_constant, self.tool.upstream

    @property
    def extras(self) -> tuple[str, ...]:
        """The MCP client."""
        return (HTTP,)

    @property
    def risks(self) -> frozenset[Risk]:
        """The risk of its calls."""
        return frozenset({self.tool.risk})

    @property
    def timeout_s(self) -> float:
        """Seconds until a call is cancelled."""
        return self.tool.timeout_s or self.tool.upstream.timeout_s

    @property
    def imports(self) -> Mapping[str, tuple[str, ...]]:
        """The classes of its specification."""
        permissions = ("Permissions",) if self.tool.upstream.has_own_permissions else ()
        return {"toolmason_runtime.serving": ("Risk", "Upstream", "UpstreamTool", "upstream", *permissions)}

    @property
    def entry(self) -> Mapping[str, Any]:
        """The name of the upstream."""
        return {"upstream": self.tool.upstream.name}


def upstream_of(tool: Tool) -> UpstreamImplementation | None:
    """Return the upstream's tool that implements a tool; None for a tool of another kind."""
    implementation = tool.implementation
    return implementation if isinstance(implementation, UpstreamImplementation) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamServer(Group):
    """A server of `[upstreams]`, for search, docs and operators. `address` is its command line or its URL."""

    kind: ClassVar[str] = "upstream"
    catalogue_section: ClassVar[str] = "upstreams"
    table: UpstreamTable
    address: str
    access: tuple[str, ...] = ()
    """The files and the network that its program may use; empty for a URL."""
