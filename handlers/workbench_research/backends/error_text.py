"""Parser of error output: HTTP statuses, phrases, file names and the time to wait before a retry.

Numbers and words in file names, source positions, ports and amounts are ignored: the "404" of `gaxios.js:404:11` and
of `pages/404.tsx` is not a status.
"""

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
_POSITION: Final = re.compile(
    r"(?:[^\s:]{1,80}:\d+:\d+\b"  # gaxios.js:404:11, and the time 10:40:404
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
_OBJECT_STATUS: Final = re.compile(
    r"\"code\\*\"\s*:\s*(?P<json>[45]\d\d)\b"  # "code": 503, also with the escaped quotes of nested JSON
    r"|^[^\S\n]++(?:code|status): (?P<printed>[45]\d\d),?$",  # code: 503, in an error object that Node prints
    re.MULTILINE,
)
_NAMED_STATUS: Final = re.compile(
    # status 503, code: 503, HTTP/1.1 503, (503, or at the beginning
    r"(?:\b(?:status|code|http(?:/\d(?:\.\d)?)?|error)\b[\"'\\]*[\s:=(\[]*(?:code[\"'\\]*[\s:=]*)?|[\[(]\s*|\A\W*)"
    r"(?P<after>[45]\d\d)(?!\w|\.\d|[/\\][a-z])"
    # 503 service unavailable
    r"|(?<![\w./\\])(?P<before>[45]\d\d)(?=[\s:,\"']+(?:too many|bad gateway|service unavail|gateway time|"
    r"internal server|not found|bad request|unauthori|forbidden|status|error))",
)
_LONE_STATUS: Final = re.compile(r"(?<![\w./\\#-])(?P<after>[45]\d\d)(?!\w|[.-]\d|[/\\][a-z])(?P<before>(?!))?")
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
_MISSING: Final = re.compile(
    r"file not found:\s*[\"'`]?(?P<program>[^\"'`\n]+)"
    r"|no such file or directory,? (?:\w+ )?[\"'`](?P<system>[^\"'`\n]+)",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"(?:\b(?:EACCES|EPERM|EROFS)\b|\[Errno (?:1|13|30)\])[^\"'`\n]{0,80}[\"'`](?P<quoted>[^\"'`\n]+)[\"'`]"
    r"|\b(?:open|mkdir|stat|lstat|read|write|rename|remove|unlink|chmod|exec) "
    r"(?P<bare>(?:[A-Za-z]:\\|~?/)[^\s:]{0,300}): permission denied"
)


def without_stack(text: str) -> str:
    """Return a message without colours and stack lines; one that has nothing else keeps its stack lines."""
    text = _ANSI.sub("", text)
    rest = _without_stack_lines(text)
    return rest if rest.strip() else text


def _without_stack_lines(text: str) -> str:
    return _STACK_LINE.sub(lambda line: "" if _PLACE.search(line[0][-_MAX_END:]) else line[0], text)


def without_files(text: str) -> str:
    """Return a message without stack lines, file names, ports, times and amounts."""
    text = _without_stack_lines(_ANSI.sub("", text[:_MAX_CHARS]))
    return _FILE.sub(" ", _POSITION.sub(" ", text))


def plain(text: str) -> str:
    """Return `without_files` in lower case with single spaces: `RateLimit_Error` becomes `rate limit error`."""
    return re.sub(r"[\s_-]+", " ", _CAMEL.sub(" ", without_files(text))).lower().strip()


def contains(phrase: str, text: str) -> bool:
    """Return whether `plain` text contains whole words. A number must be an HTTP status in the text."""
    if re.fullmatch(r"[45]\d\d", phrase):
        return int(phrase) in statuses(text)
    words = re.escape(plain(phrase))
    return bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text) is not None


def statuses(text: str) -> tuple[int, ...]:
    """Return the HTTP statuses in `plain` text: the ones labelled as such or, if there are none, bare numbers."""
    for pattern in (_NAMED_STATUS, _LONE_STATUS):
        if matches := tuple(int(match["after"] or match["before"]) for match in pattern.finditer(text)):
            return matches
    return ()


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


def denied_path(text: str) -> str:
    """Return the file to which the operating system denied access; empty if there is none."""
    match = _DENIED.search(text[:_MAX_CHARS])
    return (match["quoted"] or match["bare"]).strip() if match else ""


def missing_path(text: str) -> str:
    """Return the file that was not found; empty if there is none."""
    match = _MISSING.search(text[:_MAX_CHARS])
    return (match["program"] or match["system"]).strip() if match else ""
