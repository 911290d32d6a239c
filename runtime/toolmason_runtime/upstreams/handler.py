"""Handler of tools with `upstream`: from the arguments of a call to the result of another MCP server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import anyio
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.extras import HTTP, USERS, missing_extra
from toolmason_runtime.programs.approval import approve_handler
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.protocol.binding import Binding
from toolmason_runtime.protocol.call import ToolCall
from toolmason_runtime.protocol.content import Reply, Text
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.wording import disabled
from toolmason_runtime.upstreams.spec import UpstreamTool

_CLIENT_MODULES: Final = ("toolmason_runtime.upstreams.registry", "toolmason_runtime.upstreams.results")
"""The modules that import the SDK's client."""


def upstream(tool: UpstreamTool) -> Binding:
    """Bind a tool to its upstream; its arguments are checked against `input_schema`."""
    return Binding(None, UpstreamRun(tool), _CLIENT_MODULES)


@dataclass(frozen=True, slots=True)
class UpstreamRun:
    """The handler of one tool."""

    is_foreign: ClassVar[bool] = True
    """Its results are content of others."""

    tool: UpstreamTool

    async def __call__(self, params: dict[str, Any], call: ToolCall) -> Reply:
        """Check policy and approval, then call the upstream, which starts at the first call.

        Raises:
            ToolError: the call is not allowed or not approved, or the upstream failed.
        """
        if problem := missing_extra(USERS[HTTP], HTTP):
            raise ToolError(problem, code="NOT_INSTALLED")
        # Imported at the first call, because they import the SDK's client.
        from toolmason_runtime.upstreams.registry import Upstreams
        from toolmason_runtime.upstreams.results import reply

        settings = call.find_state(ProgramSettings) or ProgramSettings()
        if not settings.policy.is_enabled(self.tool.name):
            raise ToolError(f"Not allowed by the policy of this server: {disabled(self.tool.name)}", code="POLICY")
        arguments = self.tool.original_arguments(params)
        digest = hashlib.sha256(json.dumps([self.tool.name, arguments], sort_keys=True).encode()).hexdigest()[:32]
        await approve_handler(
            call,
            tool=self.tool.name,
            risk=self.tool.risk,
            question=self._question(arguments),
            key=f"call-{digest}",
            advice="Send shorter arguments",
        )
        running = call.state(Upstreams).run(self.tool, arguments, call)
        result = await running.follow(call)
        limit_s = self.tool.timeout_s or self.tool.upstream.timeout_s
        with anyio.move_on_after(limit_s):  # the call itself has ended, which its own limit covers
            answer = await reply(result, call.state(ChunkStore))
            if not running.refusals:
                return answer
            content = answer.content if isinstance(answer.content, list) else [answer.content]
            return replace(answer, content=[*content, *map(Text, running.refusals)])
        raise ToolError(f"The result took more than {limit_s:g} seconds: ask for less", code="UPSTREAM_TIMEOUT")

    def _question(self, arguments: Mapping[str, Any]) -> str:
        text = json.dumps(arguments, ensure_ascii=False, indent=2)
        tool, name = self.tool.original, self.tool.upstream.name
        return f"Call {tool} of the MCP server {name}? Its risk is: {self.tool.risk.value}.\n\n{text}"
