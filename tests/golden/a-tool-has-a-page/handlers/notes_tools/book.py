"""Notes, and their page."""

from __future__ import annotations

from typing import Any

from notes_server.writing.models import ShowNotesParams
from toolmason_runtime import ToolCall, show_page


async def show_notes(params: ShowNotesParams, call: ToolCall) -> str:
    """Show the notes of a day."""
    show_page({"day": params.day})
    return f"No notes on {params.day}"


def page() -> str:
    """Return the page."""
    return "<!doctype html><title>Notes</title>"


async def act(arguments: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    """Answer the page."""
    return {"notes": [], "asked": arguments}
