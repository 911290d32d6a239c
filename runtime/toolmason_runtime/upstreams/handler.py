"""Handler of tools with `upstream`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolmason_runtime.protocol.binding import Binding
from toolmason_runtime.protocol.call import ToolCall
from toolmason_runtime.protocol.content import Reply
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.upstreams.spec import UpstreamTool


def upstream(tool: UpstreamTool) -> Binding:
    """Bind a tool to its upstream."""
    return Binding(None, UpstreamRun(tool))


@dataclass(frozen=True, slots=True)
class UpstreamRun:
    """The handler of one tool."""

    tool: UpstreamTool

    async def __call__(self, params: dict[str, Any], call: ToolCall) -> Reply:  # noqa: ARG002
        """Call the upstream."""
        raise ToolError("Upstreams cannot be called yet")
