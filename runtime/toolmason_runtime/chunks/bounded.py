"""A text of any length as one answer: cut after its first part, with the call for the next one."""

from __future__ import annotations

from collections.abc import Sequence

from toolmason_runtime.chunks.store import ChunkStore


async def bounded_text(text: str | Sequence[str], store: ChunkStore) -> str:
    """Return a text, or the pieces of one, if it fits one answer, else its beginning; the rest is stored."""
    try:
        stored = await store.keep(text)
    except OSError as error:
        return f"[cut: the rest could not be stored: {error.strerror}]\n{''.join(text)[: store.part_size // 4]}"
    if not stored.next_call:  # it fits, or has many bytes and few characters
        return stored.first
    summary = f"{len(stored.first):,} of {stored.chars:,} characters shown"
    warnings = "".join(f"[{warning}]\n" for warning in stored.warnings)
    return f"[cut: {summary}; {stored.next_call} gives the next of {stored.total} parts]\n{warnings}{stored.first}"
