"""Compare the installed converters on one corpus; each runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.schemas import converters
from bench.schemas.corpus import Row
from bench.schemas.scoring import Original, Verdict, score
from bench.schemas.semantics import UnusableSchemaError

TIMEOUT_S: Final = 10.0
"""A conversion that takes longer has failed."""
OURS: Final = "toolmason"
COMPETITORS: Final = {
    "google-genai, MCP session": "google-genai-mcp",
    "google-genai, from_json_schema": "google-genai",
    "pydantic-ai, Live API": "pydantic-ai",
    "litellm": "litellm",
    "the way of fs-mcp": "fs-mcp",
    "nothing": "nothing",
}
"""Label to converter. `nothing` sends the schema unchanged."""
CLIENTS: Final = ("google-genai, MCP session", "google-genai, from_json_schema", "pydantic-ai, Live API", "litellm")
"""Converters between an MCP server and Gemini."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one converter for one schema. `verdict` is None if it failed."""

    verdict: Verdict | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """One line of the table: shares of all schemas, and the median time of the converted ones."""

    label: str
    accepted: float
    kept: float
    good: float
    failed: float
    microseconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes of all installed converters, in the order of `rows`."""

    rows: tuple[Row, ...]
    unusable: int
    """Schemas that no validator can use. They are not in `rows`."""
    outcomes: dict[str, tuple[Outcome, ...]]
    missing: tuple[str, ...]
    """Labels of converters that are not installed."""
    versions: tuple[str, ...]

    @property
    def hard(self) -> int:
        """The number of hard schemas."""
        return sum(row.is_hard for row in self.rows)

    @property
    def competitors(self) -> tuple[str, ...]:
        """The installed converters other than ours."""
        return tuple(label for label in COMPETITORS if label in self.outcomes)

    @property
    def clients(self) -> tuple[str, ...]:
        """The installed converters of clients."""
        return tuple(label for label in CLIENTS if label in self.outcomes)

    def scores(self, *, hard: bool = False) -> tuple[Score, ...]:
        """Return the score of each converter on all schemas, or on the hard ones."""
        return tuple(_score(label, self._select(label, hard=hard)) for label in self.outcomes)

    def surviving(self, *, advertised: bool, hard: bool = False) -> float:
        """Return the share of schemas that every client converts well, before or after `advertise`."""
        columns = [self._select(through(label) if advertised else label, hard=hard) for label in self.clients]
        good = [all(map(_is_good, outcomes)) for outcomes in zip(*columns, strict=True)]
        return sum(good) / len(good) if good else 1.0

    def _select(self, label: str, *, hard: bool) -> list[Outcome]:
        pairs = zip(self.rows, self.outcomes[label], strict=True)
        return [outcome for row, outcome in pairs if row.is_hard or not hard]


def through(label: str) -> str:
    """Return the label of a client's converter applied to advertised schemas."""
    return f"advertised by {OURS}, then {label}"


def compare_converters(rows: Sequence[Row], python: str | None = None) -> Comparison:
    """Convert all of `rows`; competitors run under the interpreter `python`, by default this one."""
    originals: list[tuple[Row, Original]] = []
    for row in rows:
        try:
            originals.append((row, Original.of(row)))
        except UnusableSchemaError:
            continue
    with ExitStack() as processes:
        running = {OURS: processes.enter_context(_process("ours", sys.executable))}
        for label, name in COMPETITORS.items():
            interpreter = python if python and name in converters.PACKAGES else sys.executable
            running[label] = processes.enter_context(_process(name, interpreter))
        advertise = processes.enter_context(_process("advertise", sys.executable))
        installed = [label for label, process in running.items() if process.is_installed]
        clients = [label for label in CLIENTS if label in installed]
        outcomes: dict[str, list[Outcome]] = {label: [] for label in (*installed, *map(through, clients))}
        for row, original in originals:
            for label in installed:
                outcomes[label].append(_outcome(original, running[label].convert(row.schema)))
            advertised = advertise.convert(row.schema).get("schema")
            for label in clients:
                outcomes[through(label)].append(_outcome(original, running[label].convert(advertised)))
        return Comparison(
            rows=tuple(row for row, _ in originals),
            unusable=len(rows) - len(originals),
            outcomes={label: tuple(results) for label, results in outcomes.items()},
            missing=tuple(label for label in running if label not in installed),
            versions=tuple(dict.fromkeys(process.version for process in running.values() if process.version)),
        )


def _outcome(original: Original, answer: Mapping[str, Any]) -> Outcome:
    if "schema" not in answer:
        return Outcome(None, None)
    return Outcome(score(original, answer["schema"]), answer["seconds"])


def _is_good(outcome: Outcome) -> bool:
    return outcome.verdict is not None and outcome.verdict.is_good


def _score(label: str, outcomes: Sequence[Outcome]) -> Score:
    verdicts = [outcome.verdict for outcome in outcomes if outcome.verdict is not None]
    times = [outcome.seconds for outcome in outcomes if outcome.seconds is not None]
    count = max(1, len(outcomes))
    return Score(
        label=label,
        accepted=sum(verdict.is_accepted for verdict in verdicts) / count,
        kept=sum(verdict.is_kept for verdict in verdicts) / count,
        good=sum(verdict.is_good for verdict in verdicts) / count,
        failed=1 - len(verdicts) / count,
        microseconds=median(times) * 1e6 if times else 0,
    )


class _Process:
    """A converter process, restarted after a time-out or a crash."""

    def __init__(self, name: str, python: str) -> None:
        self._command = [python, str(Path(converters.__file__)), name]
        answer = self._start()
        self.is_installed = "ready" in answer
        self.version = str(answer.get("ready", ""))

    def _start(self) -> dict[str, Any]:
        self._process = subprocess.Popen(  # noqa: S603  our own program
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self._read(60)

    def convert(self, schema: Any) -> dict[str, Any]:
        """Return the answer for one schema; without a key `schema` if the converter failed."""
        if schema is None:
            return {}
        assert self._process.stdin is not None  # noqa: S101  it is a pipe
        try:
            self._process.stdin.write(f"{json.dumps(schema)}\n")
            self._process.stdin.flush()
            answer = self._read(TIMEOUT_S)
        except OSError:
            answer = {}
        if not answer:
            self.end()
            self._start()
        return answer

    def _read(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101  it is a pipe
        timer = threading.Timer(timeout_s, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:  # it was killed
            return {}
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()


@contextmanager
def _process(name: str, python: str) -> Iterator[_Process]:
    process = _Process(name, python)
    try:
        yield process
    finally:
        process.end()
