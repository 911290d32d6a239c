"""Render the outcome of a program as one text of bounded length; the rest is stored in chunks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.execute import Outcome
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.shared.answer_size import fitting_length, size_of
from toolmason_runtime.shared.visible_text import visible_pieces
from toolmason_runtime.wire.content import Reply

_MAX_CHARACTER_BYTES = 4
"""Maximum bytes of a character in UTF-8."""


async def reply(outcome: Outcome, store: ChunkStore, *, ok_exit_codes: Container[int] = (0,)) -> Reply:
    """Return the result of a run, and close the outcome.

    The text is stdout without its last line break and with visible control characters (U+241B for ESC), then
    `[stderr]` with that stream, and `[exit code: N]` unless it is 0. A text that needs more than one chunk of `store`
    is cut after the first; its first line has the sizes and the call for the next chunk. The result is an error unless
    the exit code is in `ok_exit_codes`.
    """
    try:
        return Reply(await _text(outcome, store), is_error=outcome.exit_code not in ok_exit_codes)
    finally:
        outcome.close()


async def _text(outcome: Outcome, store: ChunkStore) -> str:
    if outcome.stdout.size + outcome.stderr.size <= store.part_size * _MAX_CHARACTER_BYTES:
        text = "".join(_texts(outcome))
        if size_of(text) <= store.part_size:
            return text
    try:
        stored = await store.keep(_texts(outcome))
    except OSError as error:
        beginning = _beginning(_texts(outcome), store.part_size)
        return f"[cut: the rest could not be stored: {error.strerror}]\n{beginning}"
    if not stored.next_call:  # many bytes, few characters
        return stored.first
    dropped = outcome.stdout.dropped_bytes + outcome.stderr.dropped_bytes
    lost = f", {dropped:,} more bytes were not stored" if dropped else ""
    failed = f", exit code {outcome.exit_code}" if outcome.exit_code else ""
    summary = f"{len(stored.first):,} of {stored.chars:,} characters shown{lost}{failed}"
    warnings = "".join(f"[{warning}]\n" for warning in stored.warnings)
    return f"[cut: {summary}; {stored.next_call} gives the next of {stored.total} parts]\n{warnings}{stored.first}"


def _texts(outcome: Outcome) -> Iterator[str]:
    """Yield the text in pieces."""
    separator = ""
    for section in _sections(outcome):
        yield separator
        yield from section
        separator = "\n"
    if not separator:
        yield "(no output)"


def _sections(outcome: Outcome) -> Iterator[Iterable[str]]:
    if outcome.timed_out:
        yield [f"Command timed out after {outcome.timeout_s:g}s"]
    if not outcome.stdout.is_blank:
        yield _stream_text(outcome.stdout, "stdout")
    if not outcome.stderr.is_blank:
        yield _with_heading("[stderr]\n", _stream_text(outcome.stderr, "stderr"))
    if outcome.exit_code:
        yield [f"[exit code: {outcome.exit_code}]"]


def _with_heading(head: str, texts: Iterable[str]) -> Iterator[str]:
    yield head
    yield from texts


def _stream_text(capture: Capture, name: str) -> Iterator[str]:
    # The stored parts of a text are fetched without its tool, so all of them are made visible here.
    yield from visible_pieces(_without_last_newline(capture.texts()))
    if capture.dropped_bytes:
        yield f"\n[{capture.dropped_bytes:,} more bytes of {name} were not stored]"


def _without_last_newline(texts: Iterable[str]) -> Iterator[str]:
    pending = ""
    for text in texts:
        joined = pending + text
        yield joined[:-2]
        pending = joined[-2:]
    yield pending[:-1].removesuffix("\r") if pending.endswith("\n") else pending


def _beginning(texts: Iterable[str], size: int) -> str:
    beginning = ""
    for text in texts:
        beginning += text[: size - len(beginning)]
        if len(beginning) == size:
            break
    return beginning[: fitting_length(beginning, size)]
