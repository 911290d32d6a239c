"""The tool `fetch_chunk`, which every server has."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field
from toolmason_runtime.calls.binding import Binding
from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.calls.model import Model
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.wire.content import Reply
from toolmason_runtime.wire.results import compact_json


class FetchChunkParams(Model):
    """Parameters of `fetch_chunk`, by their names on the wire."""

    cacheKey: Annotated[str, Field(min_length=1)]  # noqa: N815
    chunkIndex: Annotated[int, Field(ge=1)]  # noqa: N815


async def fetch_chunk(params: FetchChunkParams, call: ToolCall) -> Reply:
    """Return one part of a long text.

    Raises:
        ToolError: it has expired, or has no such part.
    """
    result = await call.state(ChunkStore).fetch(params.cacheKey, params.chunkIndex)
    return Reply(compact_json(result), structure=result)


BINDINGS: Final = {FETCH_CHUNK: Binding(FetchChunkParams, fetch_chunk)}
