"""Reads what a program says when it fails: its JSON, its HTTP statuses, its words, and when to try again.

Words are compared whole, and without the places in source code and logs and the names of files that stand between
them: the "404" of `gaxios.js:404:11` and that of `pages/404.tsx` say nothing about a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Final, NamedTuple

_MAX_READ: Final = 32 * 1024
"""Characters of a message that are searched."""
_MAX_OBJECTS: Final = 64
"""Places in a message where JSON is looked for."""
_MAX_DEPTH: Final = 8

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_STACK_LINE: Final = re.compile(
    r"^[ \t]*at (?:async )?(?:"
    r"(?:(?:new|get|set|static) )?[^\s()]+(?: \[as [^\]\n]+\])? "  # at Object.run [as call] (file:///x.js:4:2)
    r"\((?:[^\n]*:\d+:\d+|<anonymous>|native|unknown location|index \d+)\)"
    r"|[^\s()]+:\d+:\d+|(?:file://|[A-Za-z]:[/\\]|/)[^\n]*:\d+:\d+|<anonymous>"  # at node:internal/x:4:2
    r")[ \t]*\{?[ \t]*$",
    re.MULTILINE,
)
_PLACE: Final = re.compile(
    r"(?:[^\s:]{1,80}:\d+:\d+\b"  # gaxios.js:404:11, and 10:40:404 of a clock
    r"|[\w/\\.-]{1,80}\.[A-Za-z]{1,5}:\d+\b"  # worker.py:503
    r"|\b(?:localhost|[\w.-]{1,80}\.[\w-]{1,40}):\d+\b"  # a host and its port
    r"|\b(?:lines?|col|column|row|port|pid|id|offset|position|byte|attempt|step|turn)\b[ #:=]*\d\w*"
    r"|\b\d+ ?(?:ms|s|secs?|seconds?|minutes?|hours?|days?|bytes?|[kmg]i?b|tokens?|files?|lines?|chars?|%)(?!\w))",
    re.IGNORECASE,
)
_FILE: Final = re.compile(
    r"(?P<quote>[\"'`])(?:[A-Za-z]:[/\\]|(?:~|\.{1,2})?/)[^\"'`\n]{1,300}(?P=quote)"  # '/home/u/my pages/404 b.tsx'
    r"|(?<![\w/\\:.~-])(?:[A-Za-z]:[/\\]|(?:~|\.{1,3})?/)[\w@~+%./\\-]{0,300}"  # /home/u/404, C:\p\503
    r"|(?<![\w@~+./\\-])(?=[\w@~+.-]*[\d/\\])[\w@~+./\\-]+"  # pages/404.tsx, chunk-404.js
    r"\.(?:[a-z][a-z0-9]{0,4}|[A-Z]{2,5})(?!\.?[\w@~+/\\-])"
    r"|[/\\][\w.-]{0,80}[-_][45]\d\d(?!\w)"  # posts/about-404
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IS_STATUS: Final = re.compile(r"[45]\d\d")
_NAMED_STATUS: Final = re.compile(
    r"(?:\b(?:status|code|http(?:/\d(?:\.\d)?)?|error)\b[\"'\\]*[\s:=(\[]*(?:code[\"'\\]*[\s:=]*)?|[\[(]\s*|\A\W*)"
    r"(?P<after>[45]\d\d)(?!\w|\.\d|[/\\][a-z])"
    r"|(?<![\w./\\])(?P<before>[45]\d\d)(?=[\s:,\"']+(?:too many|bad gateway|service unavail|gateway time|"
    r"internal server|not found|bad request|unauthori|forbidden|status|error))",
)
_LONE_STATUS: Final = re.compile(r"(?<![\w./\\#-])(?P<after>[45]\d\d)(?!\w|[.-]\d|[/\\][a-z])(?P<before>(?!))?")
_SECONDS: Final = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
"""How long a unit is, by how it begins."""
_NUMBER: Final = r"\d{1,15}(?:\.\d{1,9})?"
_UNIT: Final = r"(?:(?:m|milli)?s(?:ecs?|econds?)?|m(?:ins?|inutes?)?|h(?:rs?|ours?)?|d(?:ays?)?|w(?:eeks?)?)(?![a-z])"
_TIME: Final = rf"{_NUMBER}\s{{0,2}}{_UNIT}"
_TIMES: Final = rf"{_TIME}(?:,?\s{{0,2}}(?:and )?{_TIME})*"
_FIELD: Final = rf"\b\\*[\"']?\s*[:=]\s*\\*[\"']?(?P<length>{_TIMES}|{_NUMBER})"
_SOON: Final = (
    # A number without a unit is one of seconds, unless the next word may be a unit that is not known.
    rf"\s+(?:about |around |approximately )?(?P<length>{_TIMES}|{_NUMBER}(?![\d.]*\d|\s{{0,2}}[a-z]))"
)
_PART: Final = re.compile(rf"({_NUMBER})\s*({'|'.join(_SECONDS)})", re.IGNORECASE)
_RETRY_AFTER: Final = (
    re.compile(rf"\bretry[-_]?delay{_FIELD}", re.IGNORECASE),
    re.compile(rf"\bretry[-_ ]?after{_FIELD}", re.IGNORECASE),
    re.compile(rf"\b(?:retry|try again|resets?|available again)\s+(?:in|after){_SOON}", re.IGNORECASE),
    re.compile(rf"\bretry[-_]after{_SOON}", re.IGNORECASE),
)
_RETRY_DATE: Final = re.compile(
    r"\bretry-after\b\\*[\"']?\s*[:=]\s*\\*[\"']?(?P<date>[a-z]{3}, [\w: ]{10,30})", re.IGNORECASE
)
_MISSING: Final = re.compile(
    r"file not found:\s*[\"'`]?(?P<said>[^\"'`\n]+)"
    r"|no such file or directory,? (?:\w+ )?[\"'`](?P<system>[^\"'`\n]+)",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"(?:\b(?:EACCES|EPERM|EROFS)\b|\[Errno (?:1|13|30)\])[^\"'`\n]{0,80}[\"'`](?P<quoted>[^\"'`\n]+)[\"'`]"
    r"|\b(?:open|mkdir|stat|lstat|read|write|rename|remove|unlink|chmod|exec) "
    r"(?P<bare>(?:[A-Za-z]:\\|~?/)[^\s:]{0,300}): permission denied"
)
_IGNORED: Final = re.compile(r"file path [\"'`](?P<path>[^\"'`\n]+)[\"'`] is ignored", re.IGNORECASE)


class ApiError(NamedTuple):
    """An error as Google's APIs write it: its name, as `UNAVAILABLE` (empty: none), and its HTTP status."""

    name: str
    status: int | None


def without_stack(text: str) -> str:
    """Give a message without colours and without the lines that say where in a program it came from.

    Where it has no others, they stay.
    """
    kept = _words_of(text)
    return kept if kept.strip() else _ANSI.sub("", text)


def without_files(text: str) -> str:
    """Give a message without stack lines and without names of files, ports, clocks and amounts."""
    return _FILE.sub(" ", _PLACE.sub(" ", _words_of(text[:_MAX_READ])))


def plain(text: str) -> str:
    """Give the message of `without_files` in lower case, its words apart."""
    text = without_files(text)
    return re.sub(r"[\s_-]+", " ", _CAMEL.sub(" ", text)).lower().strip()


def says(words: str, text: str) -> bool:
    """Tell whether text from `plain` has these words, whole. A number counts only where it can be an HTTP status."""
    if _IS_STATUS.fullmatch(words):
        return int(words) in statuses(text)
    wanted = re.escape(plain(words))
    return bool(wanted) and re.search(rf"(?<!\w){wanted}(?!\w)", text) is not None


def statuses(text: str) -> tuple[int, ...]:
    """Give the HTTP statuses in text from `plain`: those named as one or, if there are none, numbers standing alone."""
    for pattern in (_NAMED_STATUS, _LONE_STATUS):
        if found := tuple(int(each["after"] or each["before"]) for each in pattern.finditer(text)):
            return found
    return ()


def api_errors(text: str) -> Iterator[ApiError]:
    """Give the errors in JSON within a message, the innermost of each object first."""
    return _errors_in(text[:_MAX_READ], _MAX_DEPTH)


def retry_after(text: str) -> float | None:
    """Give the seconds after which an error says to try again: a header, Google's `retryDelay`, or words."""
    text = text[:_MAX_READ]
    for pattern in _RETRY_AFTER:
        if found := pattern.search(text):
            return _seconds(found["length"])
    if found := _RETRY_DATE.search(text):
        try:
            return max(0.0, parsedate_to_datetime(found["date"].strip()).timestamp() - time())
        except ValueError:
            return None
    return None


def denied_path(text: str) -> str:
    """Give the file that the operating system does not permit to use; empty if a message names none."""
    found = _DENIED.search(text[:_MAX_READ])
    return (found["quoted"] or found["bare"]).strip() if found else ""


def named_path(text: str) -> str:
    """Give the file that a message says is ignored or missing; empty if it names none."""
    if found := _IGNORED.search(text):
        return found["path"]
    found = _MISSING.search(text)
    return (found["said"] or found["system"]).strip() if found else ""


def _words_of(text: str) -> str:
    return _STACK_LINE.sub("", _ANSI.sub("", text))


def _seconds(length: str) -> float:
    parts = _PART.findall(length)
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts) if parts else float(length)


def _errors_in(text: str, depth: int) -> Iterator[ApiError]:
    decoder = json.JSONDecoder(strict=False)
    start = 0
    for _ in range(_MAX_OBJECTS):
        start = text.find("{", start)
        if start < 0:
            return
        try:
            value, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 1
        else:
            yield from _errors_within(value, depth)


def _errors_within(value: Any, depth: int) -> Iterator[ApiError]:
    if depth == 0:
        return
    if isinstance(value, list):
        for each in value:
            yield from _errors_within(each, depth - 1)
    if not isinstance(value, dict):
        return
    message = value.get("message")
    if isinstance(message, str) and "{" in message:
        yield from _errors_in(message, depth - 1)
    yield from _errors_within(value.get("error"), depth - 1)
    name, status = value.get("status"), value.get("code", value.get("http_code"))
    is_status = isinstance(status, int) and not isinstance(status, bool)
    if isinstance(name, str) or is_status:
        yield ApiError(name.upper() if isinstance(name, str) else "", status if is_status else None)
