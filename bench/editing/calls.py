"""A scripted caller that makes the mistakes of weak models, then follows the error messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.editing.servers import TOOL, Editor, Reply

MAX_TURNS: Final = 6
"""A caller that is not done by then gives up."""
APPEND: Final = "APPEND_TO_FILE"

_LINES: Final = 60
_NAME: Final = "WORK.md"
_ENTRY: Final = "\n### [LOG-003] - [DECISION] - Use one queue - Task: QUEUE\n\n**Date:** 2026-02-17\n"
_OLD: Final = ("- item 10: open", "- item 20: open", "- item 30: open")
_NEW: Final = ("- item 10: done", "- item 20: done", "- item 30: done")

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A change to make: its first call (or calls, which are sent one after another), and the intended pairs or text."""

    label: str
    first: tuple[Arguments, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    appended: str = ""

    @property
    def after(self) -> str:
        """The intended text of the file."""
        text = original()
        for old, new in self.pairs:
            text = text.replace(old, new)
        return text + self.appended


@dataclass(frozen=True, slots=True)
class Outcome:
    """The calls and tokens of one task, and the state of the file: `exact`, `final newline lost` or `wrong`."""

    turns: int
    tokens: int
    file: str


def tasks() -> tuple[Task, ...]:
    """Return the tasks: the gaps that were seen with weak models."""
    pairs = tuple(zip(_OLD, _NEW, strict=True))
    one, edits = pairs[:1], [_edit(*pair) for pair in pairs]
    return (
        Task("append, mode known", ({"match_text": APPEND, "new_string": _ENTRY},), appended=_ENTRY),
        Task("append, guessed as `\\n`", ({"match_text": "\n", "new_string": _ENTRY},), appended=_ENTRY),
        Task("append, guessed as an empty text", ({"match_text": "", "new_string": _ENTRY},), appended=_ENTRY),
        Task("both modes at once", ({**_edit(*pairs[0]), "edits": edits[1:]},), pairs),
        Task("three changes, one batch", ({"edits": edits},), pairs),
        Task("three changes, one by one", tuple(edits), pairs),
        Task("`match_text` missing", ({"new_string": _NEW[0]},), one),
        Task("`new_string` missing", ({"match_text": _OLD[0]},), one),
        Task("only the path", ({},), one),
    )


def original() -> str:
    """Return the file before each task."""
    return "# Work log\n\n" + "".join(f"- item {number}: open\n" for number in range(1, _LINES + 1))


def perform(editor: Editor, task: Task) -> Outcome:
    """Make the calls of a task until none fails, or the caller gives up."""
    file = editor.project / _NAME
    file.write_bytes(original().encode())
    turns = tokens = 0

    def send(tool: str, arguments: Arguments) -> Reply:
        nonlocal turns, tokens
        reply = editor.call(tool, **arguments)
        turns, tokens = turns + 1, tokens + reply.tokens
        return reply

    for arguments in task.first:
        reply = send(TOOL, {"path": _NAME, **arguments})
        while reply.is_error and turns < MAX_TURNS:
            reply = send(TOOL, {"path": _NAME, **_repair(task, reply.text, send)})
    return Outcome(turns, tokens, _state(file, task))


def _repair(task: Task, error: str, send: Callable[[str, Arguments], Reply]) -> Arguments:
    """Return the next call after an error, with the mode that the error names. If it names `read_files`, read first."""
    if task.appended and APPEND in error:
        return {"match_text": APPEND, "new_string": task.appended}
    if "read_files" in error or task.appended:
        send("read_files", {"files": [{"path": _NAME}]})
    if task.appended:
        last = f"- item {_LINES}: open\n"
        return {"match_text": last, "new_string": last + task.appended}
    if len(task.pairs) > 1:
        return {"edits": [_edit(*pair) for pair in task.pairs]}
    return _edit(*task.pairs[0])


def _edit(old: str, new: str) -> Arguments:
    return {"match_text": old, "new_string": new}


def _state(file: Path, task: Task) -> str:
    text, intended = file.read_bytes(), task.after.encode()
    if text == intended:
        return "exact"
    return "final newline lost" if text.rstrip(b"\n") == intended.rstrip(b"\n") else "**wrong**"
