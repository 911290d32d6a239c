"""What is known of a program while it runs: what it has said, read and complained about, and how that ends."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Final

from workbench_handlers.model_backends.error_text import object_statuses, retry_after, without_stack
from workbench_handlers.model_backends.events import (
    Ended,
    Event,
    EventReader,
    Said,
    Started,
    ToolEnded,
    ToolUsed,
    Warned,
)
from workbench_handlers.model_backends.failure_kinds import NO_OUTPUT, NOT_READ_ONLY, AttemptError
from workbench_handlers.model_backends.question import Answer
from workbench_handlers.model_backends.redaction import excerpt, redact

MAX_MESSAGES: Final = 32 * 1024 * 1024
"""Characters of an answer that are kept."""
FAREWELL_S: Final = 3.0
"""Seconds to end by itself after the whole answer was given."""

_SETTLE_S: Final = 0.2
"""Seconds in which the rest of a message may come: it is written in pieces."""
_MAX_ERRORS: Final = 64 * 1024
_MAX_TEXT: Final = 8_000
_MAX_FILES: Final = 10_000
_MAX_WARNINGS: Final = 20
_MAX_SHOWN: Final = 60

_RETRYING: Final = re.compile(r"^Attempt \d+ failed\b(?: with (?:status )?(?P<status>\d{3})\b)?", re.MULTILINE)
_AFTER_WAIT: Final = re.compile(r"\. Retrying after (?P<ms>\d+) ?ms")
_BUSY: Final = re.compile(r"\b503\b|\boverloaded\b|\bUNAVAILABLE\b", re.IGNORECASE)
_NOISE: Final = re.compile(
    r"^(?:Warning: (?:256-color|True color|Basic terminal)|\[STARTUP\]|MCP issues detected|Error executing tool |"
    r"Loaded cached credentials|Data collection is disabled|\(node:\d+\)|\(Use `node ).*$",
    re.IGNORECASE,
)
_SECURITY: Final = re.compile(r"^Security Warning: .*$", re.MULTILINE)

_IGNORED: Final = re.compile(r"\bignored by (?:configured|git|gemini|project) ignore\b", re.IGNORECASE)
"""What a tool of the CLI says of a file that `.gitignore` or `.geminiignore` names."""

_READING: Final = {"read_file", "view_file"}
_SEARCHING: Final = {"grep_search", "search_file_content", "glob"}


class Observed:
    """What is known of a program while it runs."""

    def __init__(self, reader: EventReader, folder: Path, real_folder: Path, environ: Mapping[str, str]) -> None:
        self._reader, self._folders, self._environ = reader, (folder, real_folder), environ
        self._stderr = bytearray()
        self.stop_waiting: Callable[[float], None] = lambda _: None
        """Called with the seconds that the program has to end by itself, once the result is decided."""
        self.is_decided = False
        self.changed = asyncio.Event()
        self.doing = ""
        self.is_retrying = False
        self.timed_out = False
        self._said: list[str] = []
        self._size = 0
        self._is_cut = False
        self._calls: dict[str, tuple[str, ...]] = {}
        self._tool_calls = 0
        self._files: dict[str, None] = {}
        self._refused: dict[str, None] = {}
        self._ignored: dict[str, None] = {}
        self._warnings: dict[str, None] = {}
        self._started = ""
        self._ended: Ended | None = None

    def close(self) -> None:
        """Process the last, incomplete line."""
        self._take(self._reader.finish())

    def _decide(self, within_s: float) -> None:
        self.is_decided = True
        self.stop_waiting(within_s)

    def outcome(self, code: int | None, model: str, latency_ms: int) -> Answer:
        """Judge what came.

        Raises:
            AttemptError: it is no whole answer.
        """
        ended = self._ended
        text = _whole("".join(self._said))
        # What ended well and said so is an answer, even if the program stumbled on its way out.
        if ended is None or not ended.ok or not text.strip():
            raise self._failure(code)
        for warning in _SECURITY.findall(self._errors):
            self.warn(warning)
        return Answer(
            text=text,
            model=self._model(ended, model),
            files=tuple(self._files),
            refused=tuple(self._refused),
            ignored=tuple(self._ignored),
            tokens=ended.tokens,
            tool_calls=ended.tool_calls or self._tool_calls,
            latency_ms=latency_ms,
            is_cut=self._is_cut,
            warnings=tuple(self._warnings),
        )

    def _model(self, ended: Ended, asked: str) -> str:
        for name in (asked, self._started):
            if name and name in ended.models:
                return name
        return next(iter(ended.models), self._started or asked)

    def _failure(self, code: int | None) -> AttemptError:
        ended, errors = self._ended, self._errors
        said = "" if ended is None else ended.error
        if self.is_retrying:
            found = _RETRYING.search(errors)
            said, errors = "", errors[found.start() :] if found else errors
        known = "\n".join(each for each in (said, _told_plainly(errors), *self._warnings) if each.strip())
        text = excerpt(known or self._unspoken(code), self._environ, _MAX_TEXT)
        kind = "" if ended is None or ended.error_type.lower() in ("", "unknown") else ended.error_type
        if ended is not None and ended.ok and not self._size and not self._warnings:
            kind = NO_OUTPUT
        return AttemptError(
            text,
            exit_code=None if self.is_retrying or self.timed_out else code,
            status=None if self.timed_out else self._status(said, errors),
            error_type=kind,
            timed_out=self.timed_out and not self.is_retrying,
            retry_after_s=self._wait(text),
        )

    def _status(self, said: str, errors: str) -> int | None:
        """Give the HTTP status that the program names as one; digits in mere text are for others to judge."""
        if self.is_retrying and (found := _RETRYING.search(errors)):
            if found["status"]:
                return int(found["status"])
            if _AFTER_WAIT.search(errors):
                return 503 if _BUSY.search(errors) else 429
        return next(iter(object_statuses(f"{said}\n{errors}")), None)

    def _wait(self, text: str) -> float | None:
        """Give the seconds after which to try again, if the API said so; else those the program itself would wait."""
        wait, found = retry_after(text), _AFTER_WAIT.search(text) if self.is_retrying else None
        return int(found["ms"]) / 1000 if wait is None and found else wait

    def _unspoken(self, code: int | None) -> str:
        """Say how it ended, if it did not do so itself."""
        if self.timed_out:
            return "no answer in time"
        if self._reader.garbage:
            return f"what it wrote is no answer: {_printable(self._reader.garbage)!r}"
        if code is not None and code < 0:
            return f"it was ended by signal {-code}"
        if self._ended is not None or self._started:
            return "it ended without an answer" if not self._size else "it ended before its answer was complete"
        return "it ended without a word"

    def heard(self, data: bytes) -> None:
        """Take what it wrote to stdout."""
        self._take(self._reader.feed(data))

    @property
    def _errors(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def complained(self, data: bytes) -> None:
        """Take what it wrote to stderr: the end is kept, and whole lines are searched for the retries of the CLI."""
        line = self._stderr.rfind(b"\n") + 1
        self._stderr += data
        if not self.is_retrying and _RETRYING.search(self._stderr[line:].decode("utf-8", "replace")):
            self.is_retrying = True
            self._decide(_SETTLE_S)
        if len(self._stderr) > 2 * _MAX_ERRORS:
            del self._stderr[:-_MAX_ERRORS]

    def _take(self, events: list[Event]) -> None:
        for event in events:
            self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case Started(model):
                self._started = model
                self._do("asking the model")
            case Said(text):
                self._say(text)
            case ToolUsed():
                self._use(event)
            case ToolEnded():
                self._close(event)
            case Warned(text):
                self.warn(text)
            case Ended():
                self._ended = self._ended or event
                self._decide(0.0 if self._ended.error_type == NOT_READ_ONLY else FAREWELL_S)

    def _say(self, text: str) -> None:
        kept = text[: MAX_MESSAGES - self._size]
        self._size += len(kept)
        self._said.append(kept)
        if len(kept) < len(text):
            self._is_cut = True
            self.warn(f"the answer was cut after {MAX_MESSAGES:,} characters")
        self._do(f"answering, {self._size:,} characters")

    def _use(self, event: ToolUsed) -> None:
        self._tool_calls += 1
        paths = tuple(self._relative(each) for each in _paths(event))
        if len(self._calls) < _MAX_FILES:
            self._calls[event.id] = paths
        if paths:
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            self._do(f"reading {self._shown(paths[0])}{more}")
        elif event.name in _SEARCHING:
            self._do(f"searching for {self._shown(event.parameters.get('pattern', ''))}")
        else:
            where = event.parameters.get("dir_path") or event.parameters.get("path") or "."
            self._do(f"listing {self._shown(where)}" if event.name == "list_directory" else "using a tool")

    def _close(self, event: ToolEnded) -> None:
        places = [self._files if event.ok else self._refused]
        if not event.ok and _IGNORED.search(event.message):
            places.append(self._ignored)
        for path in self._calls.pop(event.id, ()):
            for place in places:
                if len(place) < _MAX_FILES:
                    place.setdefault(path)

    def warn(self, text: str) -> None:
        """Keep what should be known besides the answer."""
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.setdefault(excerpt(text, self._environ, 500))

    def _do(self, what: str) -> None:
        self.doing = what
        self.changed.set()

    def _relative(self, path: str) -> str:
        """Give a path of the project as seen from its folder; any other as it is."""
        for folder in self._folders:
            whole = PurePath(os.path.normpath(folder / path))
            if whole.is_relative_to(folder):
                return whole.relative_to(folder).as_posix()
        return PurePath(os.path.normpath(path)).as_posix()

    def _shown(self, value: object) -> str:
        text = redact(_printable(value if isinstance(value, str) else ""), self._environ)
        return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _paths(event: ToolUsed) -> tuple[str, ...]:
    """Give the files that a call reads."""
    parameters = event.parameters
    if event.name in _READING:
        given = parameters.get("file_path") or parameters.get("absolute_path") or parameters.get("path")
        return (given,) if isinstance(given, str) else ()
    if event.name == "read_many_files":
        given = parameters.get("include") or parameters.get("paths")
        # A pattern names no file; what it stood for is not told.
        some = given if isinstance(given, list) else []
        return tuple(each for each in some if isinstance(each, str) and not re.search(r"[*?\[{]", each))
    return ()


def _whole(text: str) -> str:
    """Join the halves of characters that were said in two pieces, and replace those that stand alone."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _told_plainly(errors: str) -> str:
    """Leave out the lines that say nothing about a failure."""
    lines = without_stack(errors).splitlines()
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))
