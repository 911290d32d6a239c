"""Convert the result of an upstream: bound the length of its text, pass on all other content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import anyio.to_thread
from mcp import types
from toolmason_runtime.chunks.bounded import bounded_text
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.shared.answer_size import BLOCK_OVERHEAD, size_of
from toolmason_runtime.shared.visible_text import visible_pieces
from toolmason_runtime.wire.content import Reply, Text
from toolmason_runtime.wire.results import compact_json

MAX_MEDIA_CHARS: Final = 8 * 1024 * 1024
"""Maximum size of the pictures, sounds and resources of one answer, in characters of JSON."""


@dataclass(frozen=True, slots=True)
class WireBlock:
    """A content block as the upstream sent it."""

    wire: dict[str, Any]

    def to_wire(self) -> dict[str, Any]:
        """Return the MCP wire form."""
        return self.wire


async def reply(result: types.CallToolResult, store: ChunkStore) -> Reply:
    """Return the result of an upstream for the client.

    If the texts exceed one answer, they are joined and cut after the first chunk. A structure that does not
    fit beside them is left out, and so are other blocks that are too large together.
    """
    wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    blocks: list[dict[str, Any]] = wire.get("content", [])
    structure = wire.get("structuredContent")
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    size = sum(_size_of(text, store.part_size) + BLOCK_OVERHEAD for text in texts)
    content: list[Any] = []
    if size > store.part_size:
        # The stored parts are fetched without this tool, so all of them are made visible here.
        show = partial("".join, visible_pieces(["\n".join(texts)]))
        text = await anyio.to_thread.run_sync(show, abandon_on_cancel=True)
        content.append(Text(await bounded_text(text, store)))
        blocks = [block for block in blocks if block["type"] != "text"]
    structure_size = 0 if structure is None else _size_of(compact_json(structure), store.part_size)
    if structure is not None and size + structure_size > store.part_size:
        structure = None
        content.append(Text(f"[the structured result of {structure_size:,} characters was left out]"))
    return Reply([*content, *_fitting(blocks)], is_error=result.is_error, structure=structure)


def _size_of(text: str, limit: int) -> int:
    """Return the size of a text; for one beyond a limit, its characters, because counting tokens takes long."""
    return len(text) if len(text) > limit else size_of(text)


def _fitting(blocks: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the blocks in their order, with a note in place of each that is too large."""
    content: list[Any] = []
    budget = MAX_MEDIA_CHARS
    for block in blocks:
        size = len(compact_json(block))
        fits = size <= budget
        budget -= size if fits else 0
        content.append(WireBlock(block) if fits else Text(f"[{block['type']} of {size:,} characters left out]"))
    return content
