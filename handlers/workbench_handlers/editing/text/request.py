"""Check the parameters of `propose_and_review` and find the mode that they select."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from toolmason_runtime import ToolError

Mode = Literal["single", "batch", "create", "overwrite", "append", "files"]
"""The last one is that of a review of several files."""

CREATE: Final = ""
OVERWRITE: Final = "OVERWRITE_FILE"
APPEND: Final = "APPEND_TO_FILE"
MAX_MATCH_CHARS: Final = 2_000
"""Maximum characters of `match_text` without `bypass_match_text_limit`."""
MAX_EDITS: Final = 200
MAX_REPORTED: Final = 8
"""Maximum failed edits of a batch that an error describes."""
MAX_REPLACEMENTS: Final = 10_000
"""Maximum places that one edit replaces. Both limits bound the work of a call in a large file."""

MODES: Final[dict[Mode, str]] = {
    "batch": "edits=[{match_text, new_string}, ...], without match_text and new_string",
    "single": "match_text and new_string",
    "create": 'match_text="" and new_string',
    "overwrite": f'match_text="{OVERWRITE}" and new_string',
    "append": f'match_text="{APPEND}" and new_string',
}
"""The parameters of each mode, for messages."""

_SENTINELS: Final[dict[str, Mode]] = {CREATE: "create", OVERWRITE: "overwrite", APPEND: "append"}
_UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
"""NUL, which would make a text file binary, and surrogates, which no encoding has."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of one text by another, or a special `match_text`."""

    match_text: str
    new_string: str
    expected_replacements: int = 1


@dataclass(frozen=True, slots=True)
class EditRequest:
    """The edits of one call, in order. All modes except "batch" have exactly one."""

    mode: Mode
    edits: tuple[Edit, ...]
    bypass_limit: bool = False
    encoding: str = ""
    """The name of the file's encoding; empty to detect it."""


def parse_request(
    *,
    match_text: str | None,
    new_string: str | None,
    edits: Sequence[Edit] | None,
    expected_replacements: int | None,
    bypass_match_text_limit: bool,
    encoding: str = "",
) -> EditRequest:
    """Return the request that the parameters select.

    An empty `match_text` or `new_string` beside `edits`, and an empty list of edits, count as absent: models in strict
    mode fill every property. A batch with one special `match_text` has the mode of that text.

    Raises:
        ToolError: the parameters select no mode, or more than one, or a value is invalid.
    """
    if edits:
        _check_batch(match_text, new_string, edits, expected_replacements)
        mode = _SENTINELS.get(edits[0].match_text, "batch") if len(edits) == 1 else "batch"
        return EditRequest(mode, tuple(edits), bypass_match_text_limit, encoding)
    if match_text is None:
        problem = "match_text is missing" if new_string is not None else "match_text, new_string and edits are missing"
        raise _invalid(f"{problem}. Select one mode by its parameters:\n{_list_modes()}")
    mode = _SENTINELS.get(match_text, "single")
    if new_string is None:
        deletion = '; send new_string="" to delete the matched text' if mode == "single" else ""
        raise _invalid(f"new_string is missing: the mode {mode} takes {MODES[mode]}{deletion}")
    count = 1 if expected_replacements is None or mode != "single" else expected_replacements
    edit = Edit(match_text, new_string, count)
    if flaw := _flaw(edit):
        raise _invalid(flaw)
    return EditRequest(mode, (edit,), bypass_match_text_limit, encoding)


def _check_batch(
    match_text: str | None, new_string: str | None, edits: Sequence[Edit], expected_replacements: int | None
) -> None:
    if match_text or new_string:
        filled = "match_text" if match_text else "new_string"
        mode = _SENTINELS.get(match_text or "", "single") if match_text else "single"
        message = (
            f"{filled} and edits cannot be combined. Send the parameters of one mode:\n{_list_modes('batch', mode)}"
        )
        raise _invalid(message)
    if expected_replacements not in {None, 0, 1}:
        message = "expected_replacements beside edits has no effect: put it into the edit that it belongs to"
        raise _invalid(message)
    if len(edits) > MAX_EDITS:
        raise _invalid(f"there are {len(edits):,} edits; one call takes at most {MAX_EDITS}: send the rest later")
    flaws = [
        f"edit {number} of {len(edits)}: {flaw}"
        for number, edit in enumerate(edits, 1)
        if (flaw := _flaw(edit) or (_flaw_in_batch(edit) if len(edits) > 1 else ""))
    ]
    if flaws:
        raise _invalid("\n".join(flaws[:MAX_REPORTED]))


def _flaw(edit: Edit) -> str:
    """Return why an edit is invalid in every file; empty if it is not."""
    if not 1 <= edit.expected_replacements <= MAX_REPLACEMENTS and edit.match_text not in _SENTINELS:
        message = f"expected_replacements is {edit.expected_replacements}: send 1 to {MAX_REPLACEMENTS:,}"
        return f"{message}, or leave it out"
    for name, text in (("match_text", edit.match_text), ("new_string", edit.new_string)):
        if found := _UNWRITABLE.search(text):
            return f"{name} contains U+{ord(found[0]):04X}, which a text file cannot contain: remove it"
    return ""


def _flaw_in_batch(edit: Edit) -> str:
    """Return why an edit cannot be one of several; empty if it can."""
    if edit.match_text == OVERWRITE:
        return f"{OVERWRITE} replaces the whole file: send it without other edits"
    if edit.match_text == CREATE:
        message = f'match_text is empty: send the text to replace, or match_text="{APPEND}" to add text'
        return f"{message} at the end of the file. An empty match_text creates a file, without other edits"
    return ""


def _list_modes(*modes: Mode) -> str:
    return "\n".join(f"- {mode}: {MODES[mode]}" for mode in modes or MODES)


def _invalid(message: str) -> ToolError:
    return ToolError(message, code="INVALID_ARGUMENT")
