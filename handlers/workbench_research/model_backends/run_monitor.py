"""The state of a running program: its answer, the files it read, its errors, and the result."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Final

from workbench_research.backends.error_text import object_statuses, retry_after, without_stack
from workbench_research.backends.failure_kinds import NO_OUTPUT, NOT_READ_ONLY, AttemptError
from workbench_research.backends.question import Answer
from workbench_research.model_backends.events import (
    Event,
    EventReader,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    WarningEvent,
)
from workbench_research.redaction import excerpt, redact

MAX_ANSWER_CHARS: Final = 32 * 1024 * 1024
"""Maximum characters of an answer."""
EXIT_GRACE_S: Final = 3.0
"""Seconds to exit after the complete answer."""

_MESSAGE_GRACE_S: Final = 0.2
"""Seconds to wait for the rest of a message, which is written in parts."""
_MAX_STDERR_BYTES: Final = 64 * 1024
_MAX_ERROR_CHARS: Final = 8_000
_MAX_FILES: Final = 10_000
_MAX_WARNINGS: Final = 20
_MAX_DISPLAY_CHARS: Final = 60

_RETRYING: Final = re.compile(r"^Attempt \d+ failed\b(?: with (?:status )?(?P<status>\d{3})\b)?", re.MULTILINE)
"""A message of the CLI about its own retries: `Attempt 1 failed with status 429. Retrying after 500ms...`."""
_AFTER_WAIT: Final = re.compile(r"\. Retrying after (?P<ms>\d+) ?ms")
_BUSY: Final = re.compile(r"\b503\b|\boverloaded\b|\bUNAVAILABLE\b", re.IGNORECASE)
_NOISE: Final = re.compile(
    r"^(?:Warning: (?:256-color|True color|Basic terminal)|\[STARTUP\]|MCP issues detected|Error executing tool |"
    r"Loaded cached credentials|Data collection is disabled|\(node:\d+\)|\(Use `node ).*$",
    re.IGNORECASE,
)
"""Lines that are unrelated to a failure."""
_SECURITY: Final = re.compile(r"^Security Warning: .*$", re.MULTILINE)

_IGNORED: Final = re.compile(r"\bignored by (?:configured|git|gemini|project) ignore\b", re.IGNORECASE)
"""A tool's message about a file that `.gitignore` or `.geminiignore` excludes."""

_READ_TOOLS: Final = {"read_file", "view_file"}
_WEB_SEARCH: Final = "google_web_search"
_SEARCH_TOOLS: Final = {"grep_search", "search_file_content", "glob"}


class RunMonitor:
    """The state of a running program."""

    def __init__(self, reader: EventReader, directory: Path, real_directory: Path, environ: Mapping[str, str]) -> None:
        self._reader, self._directories, self._environ = reader, (directory, real_directory), environ
        self._stderr = bytearray()
        self.stop_waiting: Callable[[float], None] = lambda _: None
        """Called with the seconds that the program has to end by itself, once the result is decided."""
        self.is_decided = False
        self.changed = asyncio.Event()
        self.activity = ""
        self.is_retrying = False
        self.timed_out = False
        self._texts: list[str] = []
        self._size = 0
        self._is_cut = False
        self._calls: dict[str, tuple[str, ...]] = {}
        self._tool_calls = 0
        self._running_searches: set[str] = set()
        self._web_searches = 0
        self._files: dict[str, None] = {}
        self._refused: dict[str, None] = {}
        self._ignored: dict[str, None] = {}
        self._warnings: dict[str, None] = {}
        self._started = ""
        self._ended: RunFinished | None = None

    def close(self) -> None:
        """Process the last, incomplete line."""
        self._handle_events(self._reader.finish())

    def _decide(self, within_s: float) -> None:
        self.is_decided = True
        self.stop_waiting(within_s)

    def result(self, code: int | None, model: str, latency_ms: int) -> Answer:
        """Return the answer.

        Raises:
            AttemptError: the answer is incomplete.
        """
        ended = self._ended
        text = _join_surrogates("".join(self._texts))
        # A complete answer counts, even if the program then exits with an error.
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
            web_searches=self._web_searches,
            latency_ms=latency_ms,
            is_cut=self._is_cut,
            warnings=tuple(self._warnings),
        )

    def _model(self, ended: RunFinished, requested: str) -> str:
        for name in (requested, self._started):
            if name and name in ended.models:
                return name
        return next(iter(ended.models), self._started or requested)

    def _failure(self, code: int | None) -> AttemptError:
        ended, errors = self._ended, self._errors
        reported = "" if ended is None else ended.error
        if self.is_retrying:
            match = _RETRYING.search(errors)
            reported, errors = "", errors[match.start() :] if match else errors
        messages = "\n".join(part for part in (reported, _without_noise(errors), *self._warnings) if part.strip())
        text = excerpt(messages or self._describe_end(code), self._environ, _MAX_ERROR_CHARS)
        kind = "" if ended is None or ended.error_type.lower() in ("", "unknown") else ended.error_type
        if ended is not None and ended.ok and not self._size and not self._warnings:
            kind = NO_OUTPUT
        return AttemptError(
            text,
            exit_code=None if self.is_retrying or self.timed_out else code,
            status=None if self.timed_out else self._status(reported, errors),
            error_type=kind,
            timed_out=self.timed_out and not self.is_retrying,
            retry_after_s=self._wait(text),
        )

    def _status(self, reported: str, errors: str) -> int | None:
        """Return the HTTP status that the program labels as one; other digits are left to the classifier."""
        if self.is_retrying and (match := _RETRYING.search(errors)):
            if match["status"]:
                return int(match["status"])
            if _AFTER_WAIT.search(errors):
                return 503 if _BUSY.search(errors) else 429
        return next(iter(object_statuses(f"{reported}\n{errors}")), None)

    def _wait(self, text: str) -> float | None:
        """Return the seconds to wait before a retry, from the API or else from the CLI's own retries."""
        wait, match = retry_after(text), _AFTER_WAIT.search(text) if self.is_retrying else None
        return int(match["ms"]) / 1000 if wait is None and match else wait

    def _describe_end(self, code: int | None) -> str:
        """Return how the program ended, if it printed no error."""
        if self.timed_out:
            return "no answer in time"
        if self._reader.invalid_output:
            return f"its output is not an answer: {_printable(self._reader.invalid_output)!r}"
        if code is not None and code < 0:
            return f"it was ended by signal {-code}"
        if self._ended is not None or self._started:
            return "it ended without an answer" if not self._size else "it ended before its answer was complete"
        return "it ended without output"

    def feed_stdout(self, data: bytes) -> None:
        """Parse the next bytes of stdout."""
        self._handle_events(self._reader.feed(data))

    @property
    def _errors(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def feed_stderr(self, data: bytes) -> None:
        """Keep the end of stderr, and search whole lines for the CLI's own retries."""
        line = self._stderr.rfind(b"\n") + 1
        self._stderr += data
        if not self.is_retrying and _RETRYING.search(self._stderr[line:].decode("utf-8", "replace")):
            self.is_retrying = True
            self._decide(_MESSAGE_GRACE_S)
        if len(self._stderr) > 2 * _MAX_STDERR_BYTES:
            del self._stderr[:-_MAX_STDERR_BYTES]

    def _handle_events(self, events: list[Event]) -> None:
        for event in events:
            self._handle_event(event)

    def _handle_event(self, event: Event) -> None:
        match event:
            case RunStarted(model):
                self._started = model
                self._set_activity("asking the model")
            case TextDelta(text):
                self._append_text(text)
            case ToolStarted():
                self._start_tool(event)
            case ToolFinished():
                self._finish_tool(event)
            case WarningEvent(text):
                self.warn(text)
            case RunFinished():
                self._ended = self._ended or event
                self._decide(0.0 if self._ended.error_type == NOT_READ_ONLY else EXIT_GRACE_S)

    def _append_text(self, text: str) -> None:
        part = text[: MAX_ANSWER_CHARS - self._size]
        self._size += len(part)
        self._texts.append(part)
        if len(part) < len(text):
            self._is_cut = True
            self.warn(f"the answer was cut after {MAX_ANSWER_CHARS:,} characters")
        self._set_activity(f"answering, {self._size:,} characters")

    def _start_tool(self, event: ToolStarted) -> None:
        self._tool_calls += 1
        paths = tuple(self._relative(path) for path in _paths(event))
        if len(self._calls) < _MAX_FILES:
            self._calls[event.id] = paths
        if paths:
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            self._set_activity(f"reading {self._display(paths[0])}{more}")
        elif event.name == _WEB_SEARCH:
            self._running_searches.add(event.id)
            self._set_activity(f"searching the web for {self._display(event.parameters.get('query', ''))}")
        elif event.name in _SEARCH_TOOLS:
            self._set_activity(f"searching for {self._display(event.parameters.get('pattern', ''))}")
        else:
            where = event.parameters.get("dir_path") or event.parameters.get("path") or "."
            self._set_activity(f"listing {self._display(where)}" if event.name == "list_directory" else "using a tool")

    def _finish_tool(self, event: ToolFinished) -> None:
        if event.id in self._running_searches:
            self._running_searches.remove(event.id)
            self._web_searches += event.ok
        lists = [self._files if event.ok else self._refused]
        if not event.ok and _IGNORED.search(event.message):
            lists.append(self._ignored)
        for path in self._calls.pop(event.id, ()):
            for paths in lists:
                if len(paths) < _MAX_FILES:
                    paths.setdefault(path)

    def warn(self, text: str) -> None:
        """Add a warning to the answer."""
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.setdefault(excerpt(text, self._environ, 500))

    def _set_activity(self, activity: str) -> None:
        self.activity = activity
        self.changed.set()

    def _relative(self, path: str) -> str:
        """Return a path of the project relative to its directory, and any other path unchanged."""
        for directory in self._directories:
            absolute = PurePath(os.path.normpath(directory / path))
            if absolute.is_relative_to(directory):
                return absolute.relative_to(directory).as_posix()
        return PurePath(os.path.normpath(path)).as_posix()

    def _display(self, value: object) -> str:
        text = redact(_printable(value if isinstance(value, str) else ""), self._environ)
        return text if len(text) <= _MAX_DISPLAY_CHARS else f"{text[: _MAX_DISPLAY_CHARS - 3]}..."


def _paths(event: ToolStarted) -> tuple[str, ...]:
    """Return the files that a call reads."""
    parameters = event.parameters
    if event.name in _READ_TOOLS:
        path = parameters.get("file_path") or parameters.get("absolute_path") or parameters.get("path")
        return (path,) if isinstance(path, str) else ()
    if event.name == "read_many_files":
        paths = parameters.get("include") or parameters.get("paths")
        # The files that a pattern matches are not reported.
        paths = paths if isinstance(paths, list) else []
        return tuple(path for path in paths if isinstance(path, str) and not re.search(r"[*?\[{]", path))
    return ()


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs that two parts of the answer separated, and replace unpaired surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _without_noise(errors: str) -> str:
    """Return error output without stack traces and unrelated lines."""
    lines = without_stack(errors).splitlines()
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))
