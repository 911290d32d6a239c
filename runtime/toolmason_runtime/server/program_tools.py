"""The tools of a server, as programs call them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from toolmason_runtime.audit import events
from toolmason_runtime.calls.call import Context
from toolmason_runtime.discovery.functions import Functions
from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.wire.results import WireResult

if TYPE_CHECKING:
    from toolmason_runtime.calls.text_store import KeptText
    from toolmason_runtime.chunks.store import ChunkStore


class ProgramTools:
    """Calls tools through the dispatcher; each call has its own line in the audit log.

    Args:
        tools: the tools that are served, by name.
        run: the dispatcher's function that runs a tool.
        problem: returns what is wrong with the arguments of a tool.
        chunks: the long texts of the server.
    """

    def __init__(
        self,
        tools: Mapping[str, ToolEntry],
        run: Callable[[str, dict[str, Any], Context], Awaitable[WireResult]],
        problem: Callable[[str, Mapping[str, Any]], str],
        chunks: ChunkStore,
    ) -> None:
        self.functions = Functions(tools, BUILT_IN)
        self.problem = problem
        self._run = run
        self._chunks = chunks

    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        """Call a tool, as a client does."""
        work = partial(self._run, name, arguments, context)
        if (log := events.active()) is None:
            return await work()
        from toolmason_runtime.audit.calls import audited

        async def noted() -> WireResult:
            events.note(via="program", kind="meta")
            return await work()

        return await audited(log, "tools/call", {"name": name, "arguments": arguments}, context, noted)

    async def keep(self, text: str, *, max_part_bytes: int | None = None) -> KeptText:
        """See `ToolCall.keep`."""
        return await self._chunks.keep(text, max_part_bytes=max_part_bytes)
