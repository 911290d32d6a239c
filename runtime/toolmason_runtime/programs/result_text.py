"""From what a program did to what the model is told: one text, of bounded length, whose rest can be fetched."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.execute import Outcome
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.protocol.answer_size import fitting_length, size_of
from toolmason_runtime.protocol.content import Reply

_WIDEST = 4
"""Bytes of a character in UTF-8, at most."""
_VISIBLE = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys(
        [*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD
    ),
}
"""Control characters, which a terminal would obey (ESC sets its title, or worse), to the pictures of them.

Those that change the direction of text can make it read as another, so they are among them.
"""


async def reply(outcome: Outcome, store: ChunkStore, *, ok_exit_codes: Container[int] = (0,)) -> Reply:
    """Give the result of a run, and close it.

    The text is what the program wrote, without one line break at its end, and with pictures in place of control
    characters (U+241B for ESC); then `[stderr]` and what it wrote there, and `[exit code: N]` unless that is 0. A text
    of more than one part of `store` is cut after the first, and a first line says what is shown and how to get the
    others. The result is an error unless the exit code is one of `ok_exit_codes`.
    """
    try:
        return Reply(await _bounded(outcome, store), is_error=outcome.exit_code not in ok_exit_codes)
    finally:
        outcome.close()


async def _bounded(outcome: Outcome, store: ChunkStore) -> str:
    if outcome.stdout.size + outcome.stderr.size <= store.part_size * _WIDEST:
        whole = "".join(_texts(outcome))
        if size_of(whole) <= store.part_size:
            return whole
    try:
        text = await store.keep(_texts(outcome))
    except OSError as error:
        beginning = _beginning(_texts(outcome), store.part_size)
        return f"[cut, since the rest could not be kept: {error.strerror}]\n{beginning}"
    if not text.next_call:  # it has many bytes and few characters
        return text.first
    dropped = outcome.stdout.dropped + outcome.stderr.dropped
    lost = f", {dropped:,} more bytes were not kept" if dropped else ""
    failed = f", exit code {outcome.exit_code}" if outcome.exit_code else ""
    shown = f"{len(text.first):,} of {text.chars:,} characters shown{lost}{failed}"
    warnings = "".join(f"[{warning}]\n" for warning in text.warnings)
    return f"[cut: {shown}; {text.next_call} gives the next of {text.total} parts]\n{warnings}{text.first}"


def _texts(outcome: Outcome) -> Iterator[str]:
    """Give the whole text, piece by piece."""
    joint = ""
    for section in _sections(outcome):
        yield joint
        yield from section
        joint = "\n"
    if not joint:
        yield "(no output)"


def _sections(outcome: Outcome) -> Iterator[Iterable[str]]:
    if outcome.timed_out:
        yield [f"Command timed out after {outcome.timeout_s:g}s"]
    if not outcome.stdout.is_blank:
        yield _stream(outcome.stdout, "stdout")
    if not outcome.stderr.is_blank:
        yield _headed("[stderr]\n", _stream(outcome.stderr, "stderr"))
    if outcome.exit_code:
        yield [f"[exit code: {outcome.exit_code}]"]


def _headed(head: str, texts: Iterable[str]) -> Iterator[str]:
    yield head
    yield from texts


def _stream(capture: Capture, name: str) -> Iterator[str]:
    yield from _without_last_break(capture.texts())
    if capture.dropped:
        yield f"\n[{capture.dropped:,} more bytes of {name} were not kept]"


def _without_last_break(texts: Iterable[str]) -> Iterator[str]:
    held = ""
    for text in texts:
        both = held + text
        yield both[:-2].translate(_VISIBLE)
        held = both[-2:]
    last = held[:-1].removesuffix("\r") if held.endswith("\n") else held
    yield last.translate(_VISIBLE)


def _beginning(texts: Iterable[str], size: int) -> str:
    kept = ""
    for text in texts:
        kept += text[: size - len(kept)]
        if len(kept) == size:
            break
    return kept[: fitting_length(kept, size)]
