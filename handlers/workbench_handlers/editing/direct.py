"""Handlers of the tools that write without a review. Each change needs approval, as a program of risk `write` does."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Final

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import approve_handler, escape_invisible

from workbench_handlers.editing.state import EditingState
from workbench_handlers.editing.text.file_text import read_text
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.editorconfig import charset_of
from workbench_handlers.workspace.move import check_move, locate_entry, move_path
from workbench_handlers.workspace.open import near
from workbench_handlers.workspace.roots import Located, Root
from workbench_handlers.workspace.write import (
    check_size,
    is_directory,
    locate_for_writing,
    make_directory,
    read_for_editing,
    replace_file,
)
from workbench_server.editing.models import AppendTextParams, CreateDirectoryParams, MoveFileParams, WriteFileParams

ADVICE: Final = "Send the text with propose_and_review"
"""What to do with a text that is too long for the question."""


async def create_directory(params: CreateDirectoryParams, call: ToolCall) -> str:
    """Create a directory and its parents; an existing one needs no approval."""
    roots = await roots_for(call)
    located = await asyncio.to_thread(locate_for_writing, params.path, roots)
    if await asyncio.to_thread(is_directory, located):
        return f"`{located.shown}` exists; nothing was changed."
    await asyncio.to_thread(call.state(EditingState).store.check_apart, located)
    await _approve(call, f"Create this directory?\n\n{_quoted(located)}", [str(located.path)])
    is_new = await asyncio.to_thread(make_directory, located)
    return f"Created `{located.shown}`." if is_new else f"`{located.shown}` exists; nothing was changed."


async def write_file(params: WriteFileParams, call: ToolCall) -> str:
    """Create a file or replace its whole content."""
    located, current = await asyncio.to_thread(_read, params.path, await roots_for(call))
    await asyncio.to_thread(call.state(EditingState).store.check_apart, located)
    data = await asyncio.to_thread(_encode, current, params.content, located, params.encoding or "")
    check_size(located, len(data))
    if data == current:
        return f"`{located.shown}` has this content already; nothing was changed."
    heading = "Create this file?" if current is None else "Replace the content of this file?"
    size = f"{len(data):,} bytes" if current is None else f"{len(current):,} bytes become {len(data):,}"
    await _approve_content(call, f"{heading}\n\n{_quoted(located)}\n{size}:", located, current, params.content)
    await asyncio.to_thread(replace_file, located, data, expected=current)
    if current is None:
        return f"Created `{located.shown}` with {len(data):,} bytes."
    return f"Replaced the content of `{located.shown}`: {len(current):,} bytes became {len(data):,}."


async def append_text(params: AppendTextParams, call: ToolCall) -> str:
    """Append text to an existing file."""
    located, current = await asyncio.to_thread(_read, params.path, await roots_for(call))
    await asyncio.to_thread(call.state(EditingState).store.check_apart, located)
    if current is None:
        meant = await asyncio.to_thread(near, located)
        raise ToolError(f"no such file: `{located.shown}`; write_file creates it{meant}", code="NOT_FOUND")
    data, continues_line = await asyncio.to_thread(_append, current, params.content, located, params.encoding or "")
    check_size(located, len(data))
    added = len(data) - len(current)
    heading = f"Append to this file?\n\n{_quoted(located)}\n{added:,} bytes after its {len(current):,}:"
    await _approve_content(call, heading, located, current, params.content)
    await asyncio.to_thread(replace_file, located, data, expected=current)
    note = " Its last line had no line break: the text continues it." if continues_line else ""
    return f"Appended {added:,} bytes to `{located.shown}`; it has {len(data):,} bytes now.{note}"


async def move_file(params: MoveFileParams, call: ToolCall) -> str:
    """Move or rename a file or directory."""
    roots = await roots_for(call)
    source, destination = await asyncio.to_thread(_locate_move, params.source, params.destination, roots)
    await asyncio.to_thread(call.state(EditingState).store.check_apart, source, destination)
    question = f"Move this file or directory?\n\nfrom {_quoted(source)}\nto {_quoted(destination)}"
    await _approve(call, question, [str(source.path), str(destination.path)])
    await asyncio.to_thread(move_path, source, destination)
    return f"Moved `{source.shown}` to `{destination.shown}`."


def _read(path: str, roots: tuple[Root, ...]) -> tuple[Located, bytes | None]:
    located = locate_for_writing(path, roots)
    return located, read_for_editing(located)


def _locate_move(source: str, destination: str, roots: tuple[Root, ...]) -> tuple[Located, Located]:
    entries = locate_entry(source, roots), locate_entry(destination, roots)
    check_move(*entries)
    return entries


def _encode(current: bytes | None, content: str, located: Located, encoding: str) -> bytes:
    """Return the content in the encoding and with the line breaks of the file.

    A new file has the encoding of the call or of `.editorconfig`, else UTF-8; a binary one becomes UTF-8.
    """
    try:
        file = read_text(current or b"", located.shown, encoding, charset=charset_of(located))
    except ToolError as error:
        if error.code != "NOT_TEXT":
            raise
        file = read_text(b"", located.shown, encoding)
    return file.encode(file.with_newlines(content))


def _append(current: bytes, content: str, located: Located, encoding: str) -> tuple[bytes, bool]:
    """Return the new content in the encoding of the file, and whether the text continues an unfinished last line."""
    file = read_text(current, located.shown, encoding, charset=charset_of(located))
    return file.encode(file.text + content), bool(file.text) and not file.text.endswith("\n")


def _quoted(located: Located) -> str:
    return f'"{escape_invisible(str(located.path), keep="")}"'


async def _approve_content(call: ToolCall, heading: str, located: Located, current: bytes | None, content: str) -> None:
    text = f"{heading}\n{content}"
    base = None if current is None else hashlib.sha256(current).hexdigest()
    await _approve(call, text, [str(located.path), base, content])


async def _approve(call: ToolCall, question: str, effect: list[str | None]) -> None:
    """Request approval of one effect. The user's answer is valid for these values alone."""
    digest = hashlib.sha256(json.dumps(effect).encode()).hexdigest()[:32]
    await approve_handler(call, tool=call.tool, question=question, key=f"{call.tool}-{digest}", advice=ADVICE)
