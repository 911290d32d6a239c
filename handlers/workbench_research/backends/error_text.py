"""Parser of error output: stack lines, HTTP statuses and the time to wait before a retry."""

from __future__ import annotations

import re
from typing import Final

_MAX_CHARS: Final = 32 * 1024
"""Characters of a message that are searched."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_MAX_END: Final = 100
"""Characters at the end of a line that `_PLACE` is searched in."""
_STACK_LINE: Final = re.compile(r"^[ \t]*+at [^\n]*+", re.MULTILINE)
_PLACE: Final = re.compile(
    # at Object.run [as call] (file:///x.js:4:2), at node:internal/x:4:2, at async all (index 4)
    r"(?::\d{1,9}:\d{1,9}|<anonymous>|native|unknown location|index \d{1,9})\)?[ \t]{0,20}+\{?[ \t]{0,20}+\Z"
)
"""The end of a stack line."""
_OBJECT_STATUS: Final = re.compile(
    r"\"code\\*\"\s*:\s*(?P<json>[45]\d\d)\b"  # "code": 503, also with the escaped quotes of nested JSON
    r"|^[^\S\n]++(?:code|status): (?P<printed>[45]\d\d),?$",  # code: 503, in an error object that Node prints
    re.MULTILINE,
)
_UNITS_S: Final = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
"""Seconds of a unit, by its first letters."""
_NUMBER: Final = r"\d{1,15}(?:\.\d{1,9})?"
_UNIT: Final = r"(?:(?:m|milli)?s(?:ecs?|econds?)?|m(?:ins?|inutes?)?|h(?:rs?|ours?)?|d(?:ays?)?|w(?:eeks?)?)(?![a-z])"
_TIME: Final = rf"{_NUMBER}\s{{0,2}}{_UNIT}"
_TIMES: Final = rf"{_TIME}(?:,?\s{{0,2}}(?:and )?{_TIME})*"
_PART: Final = re.compile(rf"({_NUMBER})\s*({'|'.join(_UNITS_S)})", re.IGNORECASE)
_RETRY_AFTER: Final = re.compile(
    # "retryDelay": "34.07s", Retry-After: 120
    rf"\bretry[-_ ]?(?:delay|after)\b\\*[\"']?\s*[:=]\s*\\*[\"']?(?P<field>{_TIMES}|{_NUMBER})"
    # retry in 34s, resets in 2h18m58s, try again in about 5 minutes. A number without a unit is in seconds, unless the
    # next word may be an unknown unit.
    r"|\b(?:(?:retry|try again|resets?|available again)\s+(?:in|after)|retry[-_]after)\s+"
    rf"(?:about |around |approximately )?(?P<phrase>{_TIMES}|{_NUMBER}(?![\d.]*\d|\s{{0,2}}[a-z]))",
    re.IGNORECASE,
)


def without_stack(text: str) -> str:
    """Return a message without colours and stack lines; one that has nothing else keeps its stack lines."""
    text = _ANSI.sub("", text)
    rest = _STACK_LINE.sub(lambda line: "" if _PLACE.search(line[0][-_MAX_END:]) else line[0], text)
    return rest if rest.strip() else text


def object_statuses(text: str) -> tuple[int, ...]:
    """Return the HTTP statuses in the JSON, or in the printed error objects, of a message."""
    matches = _OBJECT_STATUS.finditer(text[:_MAX_CHARS])
    return tuple(int(match["json"] or match["printed"]) for match in matches)


def retry_after(text: str) -> float | None:
    """Return the seconds to wait that an error states in a header, in Google's `retryDelay` or in words."""
    match = _RETRY_AFTER.search(text[:_MAX_CHARS])
    if match is None:
        return None
    length = match["field"] or match["phrase"]
    parts = _PART.findall(length)
    return sum(float(number) * _UNITS_S[unit.lower()] for number, unit in parts) if parts else float(length)
