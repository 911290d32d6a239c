"""Find and change notes."""

from __future__ import annotations

import anyio
from diary_server.notes.models import (
    AddNoteParams,
    CleanUpParams,
    FindNotesParams,
    FoundNotes,
    Mood,
    Note,
    OldNotesParams,
    Place,
)
from toolmason_runtime import ToolCall, ToolError

NOTES = [
    Note(id=1, text="Buy bread", mood=Mood.urgent, place=Place(city="Oslo", altitude_m=23), class_="home"),
    Note(id=2, text="Bake bread", mood=Mood.calm, place=None),
]


async def find_notes(params: FindNotesParams, call: ToolCall) -> FoundNotes:
    """Find notes by words in their text."""
    found = [note for note in NOTES if params.text in note.text and (not params.moods or note.mood in params.moods)]
    if not found:
        raise ToolError("no note matches\nTry fewer words", code="NOT_FOUND")
    return FoundNotes(notes=found[: params.limit], counts={"home": 1})


async def add_note(params: AddNoteParams, call: ToolCall) -> Note:
    """Add a note."""
    return Note(id=3, text=params.text, mood=Mood.calm, place=params.place)


async def old_notes(params: OldNotesParams, call: ToolCall) -> str:
    """List notes by age."""
    return "Bake bread"


async def clean_up(params: CleanUpParams, call: ToolCall) -> str:
    """Delete the oldest notes after a question."""
    await call.progress(1, 2, "asking")
    answer = await call.elicit("Delete 2 notes?", {"type": "object", "properties": {"sure": {"type": "boolean"}}})
    await anyio.sleep(params.seconds)
    return f"{answer['action']}: {answer.get('content')}"
