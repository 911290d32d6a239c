"""Apply the edits of a request to the bytes of a file. All other bytes stay unchanged."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.editing.text.file_text import (
    FileText,
    in_style,
    line_breaks,
    read_text,
    read_version,
)
from workbench_handlers.editing.text.folding import (
    Positions,
    common_prefix,
    find_starts,
    fold,
    line_number,
    name_differences,
)
from workbench_handlers.editing.text.nearest import describe_nearest
from workbench_handlers.editing.text.request import (
    APPEND,
    CREATE,
    MAX_MATCH_CHARS,
    MAX_REPLACEMENTS,
    MAX_REPORTED,
    OVERWRITE,
    Edit,
    EditRequest,
)

MAX_LISTED_LINES: Final = 10
"""Maximum line numbers in a message."""
MAX_WORK_CHARS: Final = 20_000_000
"""Maximum characters that the edits of one call read (each edit reads the whole text), and that one edit writes."""
BATCH_NOTE: Final = ".\nNo edit was applied. Edits apply in order, each to the text after the edits before it"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed bytes of a file and notes about them for the result."""

    data: bytes
    notes: tuple[str, ...] = ()
    codec: str = "utf-8"


def apply_request(
    request: EditRequest, current: bytes | None, shown: str, *, charset: str = "", codec: str = ""
) -> Proposal:
    """Return the bytes of a file after the edits of a request. `current` is None if the file is missing.

    `charset` is that of `.editorconfig` for this file. `codec` is that of the text, if an earlier review has found it.

    The edits of a batch apply in order, each to the result of the one before; if one fails, none is applied, and the
    error reports each other edit that fails independently of those before it.

    Raises:
        ToolError: MATCH_TOO_LONG, NO_MATCH, MATCH_COUNT, FILE_EXISTS, NOT_FOUND, NO_CHANGE, NOT_TEXT, NOT_ENCODABLE,
            UNKNOWN_ENCODING, INVALID_ARGUMENT, TOO_MUCH_WORK.
    """
    if current is None and request.mode not in {"create", "overwrite"}:
        message = f'`{shown}` does not exist: send match_text="" with the whole text as new_string to create it'
        raise ToolError(message, code="NOT_FOUND")
    file = _read(current or b"", shown, request, charset=charset, codec=codec)
    text, notes = file.text, []
    if file.codec != "utf-8" and not file.bom and not request.encoding:
        notes.append(f"the file is not UTF-8; its text is read and written as {file.encoding}")
    work = 0
    failures: list[tuple[Edit, ToolError]] = []
    for number, edit in enumerate(request.edits, 1):
        work += len(text)
        where = f"edit {number} of {len(request.edits)}: " if len(request.edits) > 1 else ""
        if work > MAX_WORK_CHARS and number > 1:
            error = _work_error(number - 1, text, shown)
            failures.append((edit, ToolError(f"{where}{error.message}", code=error.code)))
            break
        try:
            text, note = _apply_edit(edit, file, text, shown, request)
        except ToolError as error:
            is_certain = error.code == "MATCH_TOO_LONG" or not any(_may_depend(edit, failed) for failed, _ in failures)
            if is_certain:
                failures.append((edit, ToolError(f"{where}{error.message}", code=error.code)))
        else:
            notes += [f"{where}{note}"] if note else []
    if failures:
        raise _failure([error for _, error in failures], is_batch=len(request.edits) > 1)
    data = file.encode(text)
    if current is None:
        notes += ["the file did not exist and is created"] if request.mode == "overwrite" else []
    elif data == current:
        raise ToolError(f"`{shown}` has this text already: nothing to change", code="NO_CHANGE")
    return Proposal(data, tuple(notes), file.codec)


def _read(data: bytes, shown: str, request: EditRequest, *, charset: str, codec: str) -> FileText:
    if codec and not request.encoding:
        file = read_version(data, codec) if data else read_text(data, shown, codec)
        with suppress(ToolError):
            if file.encode(file.text) == data or not data:
                return file
    return read_text(data, shown, request.encoding, charset=charset)


def _may_depend(edit: Edit, failed: Edit) -> bool:
    """Return whether the places of `edit` could be others if the edit `failed`, before it, were applied."""
    if edit.match_text == APPEND:
        return failed.match_text == APPEND
    lines = {line.strip() for line in edit.match_text.splitlines()} - {""} or {edit.match_text}
    changed = {line.strip() for line in f"{failed.match_text}\n{failed.new_string}".splitlines()} - {""}
    return any(line in other or other in line for line in lines for other in changed)


def _failure(errors: list[ToolError], *, is_batch: bool) -> ToolError:
    """Return one error for the failed edits of a request; it has the code of the first one."""
    lines = [error.message for error in errors[:MAX_REPORTED]]
    if len(errors) > MAX_REPORTED:
        lines.append(f"{len(errors) - MAX_REPORTED:,} more edits fail")
    return ToolError("\n".join(lines) + (BATCH_NOTE if is_batch else ""), code=errors[0].code)


def _apply_edit(edit: Edit, file: FileText, text: str, shown: str, request: EditRequest) -> tuple[str, str]:
    """Return the text after one edit, and a note or the empty string."""
    if edit.match_text == CREATE:
        if text:
            message = f'`{shown}` exists and is not empty: send match_text="{OVERWRITE}" to replace its whole text, '
            message += f'match_text="{APPEND}" to add text at its end, or the text to replace as match_text'
            raise ToolError(message, code="FILE_EXISTS")
        return file.with_newlines(edit.new_string), ""
    if edit.match_text == OVERWRITE:
        return file.with_newlines(edit.new_string), ""
    if edit.match_text == APPEND:
        lacks_newline = bool(text) and not text.endswith("\r" if file.newline == "\r" else "\n")
        note = "the file has no final newline; the text was appended to its last line" if lacks_newline else ""
        return text + in_style(edit.new_string, file.newline), note
    size = len(edit.match_text.replace("\r\n", "\n"))
    if size > MAX_MATCH_CHARS and not request.bypass_limit:
        message = f"match_text has {size:,} characters; the limit is {MAX_MATCH_CHARS:,}. Send a "
        message += "shorter part that is unique, several edits, or bypass_match_text_limit=true"
        raise ToolError(message, code="MATCH_TOO_LONG")
    return _replace(edit, file, text, shown)


def _replace(edit: Edit, file: FileText, text: str, shown: str) -> tuple[str, str]:
    folded, wanted = (fold(part, file.newline) for part in (text, edit.match_text))
    count = folded.count(wanted)
    if not count:
        return _replace_typographic(edit, file, text, shown)
    starts = find_starts(folded, wanted, min(count, MAX_REPLACEMENTS) + 1)
    if len(starts) > count:
        raise _overlap_error(starts, folded, shown)
    if count != edit.expected_replacements:
        raise _count_error(edit, count, starts, folded, shown)
    if count * len(edit.new_string) > MAX_WORK_CHARS:
        message = f"{count:,} times new_string is more than {MAX_WORK_CHARS:,} characters: send a shorter one"
        raise ToolError(message, code="TOO_MUCH_WORK")
    matches = [(start, start + len(wanted)) for start in starts]
    return _splice(edit, file.newline, text, Positions(text), matches), ""


def _replace_typographic(edit: Edit, file: FileText, text: str, shown: str) -> tuple[str, str]:
    """Replace the only place that equals `match_text` except for quotes, ellipses, spaces and dashes."""
    folded, wanted = (fold(part, file.newline, typography=True) for part in (text, edit.match_text))
    starts = find_starts(folded, wanted, 2)
    if len(starts) != 1 or edit.expected_replacements != 1:
        raise _no_match_error(edit, text, shown, is_ambiguous=len(starts) > 1)
    positions = Positions(text, typography=True)
    start, end = starts[0], starts[0] + len(wanted)
    if not (positions.is_boundary(start) and positions.is_boundary(end)):
        raise _no_match_error(edit, text, shown)
    matched = text[positions.original(start) : positions.original(end)]
    line = line_number(text, positions.original(start))
    note = f"matched typographic {name_differences(matched, edit.match_text)} at line {line:,}"
    return _splice(edit, file.newline, text, positions, [(start, end)]), note


def _splice(edit: Edit, newline: str, text: str, positions: Positions, matches: list[tuple[int, int]]) -> str:
    """Return `text` with each match replaced. `matches` are positions in the folded text.

    Where `new_string` begins or ends like `match_text`, the file keeps its characters, so the context of an edit keeps
    its line breaks and typographic characters. The rest gets the line breaks of the match.
    """
    old, new = edit.match_text.replace("\r\n", "\n"), edit.new_string
    if newline or "\n" in text:
        new = new.replace("\r\n", "\n")
    prefix = common_prefix(old, new)
    suffix = common_prefix(old[prefix:][::-1], new[prefix:][::-1])
    pieces, written = [], 0
    for first, last in matches:
        while not positions.is_boundary(start := first + positions.folded_size(old[:prefix])):
            prefix -= 1
        while not positions.is_boundary(end := last - positions.folded_size(old[len(old) - suffix :])):
            suffix -= 1
        matched = text[positions.original(first) : positions.original(last)]
        style = line_breaks(matched)[0] if "\n" in matched else newline
        pieces += [text[written : positions.original(start)], in_style(new[prefix : len(new) - suffix], style)]
        written = positions.original(end)
    return "".join([*pieces, text[written:]])


def _overlap_error(starts: list[int], folded: str, shown: str) -> ToolError:
    lines = dict.fromkeys(f"{line_number(folded, start):,}" for start in starts[:MAX_LISTED_LINES])
    message = f"the occurrences of match_text in `{shown}` overlap (line{'s' if len(lines) > 1 else ''} "
    message += f"{', '.join(lines)}): add context until only the intended places match"
    return ToolError(message, code="MATCH_COUNT")


def _work_error(number: int, text: str, shown: str) -> ToolError:
    message = f"`{shown}` has {len(text):,} characters, which is too many for so many edits: send at most {number} in "
    message += "one call, and the others after it"
    return ToolError(message, code="TOO_MUCH_WORK")


def _count_error(edit: Edit, count: int, starts: list[int], folded: str, shown: str) -> ToolError:
    lines = [f"{line_number(folded, start):,}" for start in starts[:MAX_LISTED_LINES]]
    more = f" and {count - len(lines):,} more" if count > len(lines) else ""
    places = f"{count} match{'es' if count > 1 else ''} at line{'s' if count > 1 else ''} {', '.join(lines)}{more}"
    message = f"found {places} of `{shown}`; expected {edit.expected_replacements}: "
    message += f"add context until only the intended places match, or set expected_replacements={count}"
    if not edit.match_text.strip():
        message += f'. To add text at the end of the file, send match_text="{APPEND}"'
    return ToolError(message, code="MATCH_COUNT")


def _no_match_error(edit: Edit, text: str, shown: str, *, is_ambiguous: bool = False) -> ToolError:
    if not text:
        message = f'`{shown}` is empty: send match_text="" with the whole text as new_string'
        return ToolError(message, code="NO_MATCH")
    message = f"match_text does not occur in `{shown}`"
    if is_ambiguous:
        message += ", except with other quotes, spaces or dashes at several places: send the characters of the file"
    return ToolError(f"{message}. {describe_nearest(text, edit.match_text)}", code="NO_MATCH")
