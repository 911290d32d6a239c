"""Converters side by side on one corpus: each schema goes through all of them in turn, then the judge looks at it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from bench.rounds import Ratio, ratio
from bench.schemas import converters
from bench.schemas.corpus import Row
from bench.schemas.judging import Original, Verdict, judge_again
from bench.schemas.sampling import UnsampleableError

PATIENCE_S: Final = 10.0
"""Seconds after which a conversion counts as failed."""
OURS: Final = "toolmason"
RIVALS: Final = {
    "google-genai, MCP session": "google-genai-mcp",
    "google-genai, from_json_schema": "google-genai",
    "pydantic-ai, Live API": "pydantic-ai",
    "litellm": "litellm",
    "the way of fs-mcp": "fs-mcp",
    "nothing": "nothing",
}
"""Label to converter. The last one is what reaches a provider that is sent the schema as it is."""
CLIENTS: Final = ("google-genai, MCP session", "google-genai, from_json_schema", "pydantic-ai, Live API", "litellm")
"""Those that stand between an MCP server and Gemini: what we advertise goes through them too."""
_DIALECT: Final = "gemini-parameters"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one converter made of one schema. `verdict` is None where it made nothing of it."""

    verdict: Verdict | None
    seconds: float | None
    findings: int | None


@dataclass(frozen=True, slots=True)
class Score:
    """One line of the table, each share of all schemas but for `tight` and `answer`."""

    label: str
    accepted: float
    kept: float
    good: float
    failed: float
    tight: float
    """Of the values next to valid ones, on average of what was converted."""
    answer: float
    findings: float | None
    microseconds: float
    to_ours: Ratio | None
    """Time against ours, schema by schema; None for ours."""


@dataclass(frozen=True, slots=True)
class Converting:
    """All outcomes, schema by schema, of the converters that are installed."""

    rows: tuple[Row, ...]
    unusable: int
    """Schemas that nobody can use, such as one with a reference that leads nowhere; they are not in `rows`."""
    outcomes: dict[str, tuple[Outcome, ...]]
    missing: tuple[str, ...]
    """Labels of converters that are not installed."""
    versions: tuple[str, ...]
    """The distributions that were compared, with their versions."""

    @property
    def hard(self) -> int:
        """How many of the schemas are hard."""
        return sum(row.hard for row in self.rows)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The other converters that are there, in the order of the table."""
        return tuple(label for label in RIVALS if label in self.outcomes)

    @property
    def clients(self) -> tuple[str, ...]:
        """Those of them that what we advertise goes through."""
        return tuple(label for label in CLIENTS if label in self.outcomes)

    def scores(self, *, hard: bool = False) -> tuple[Score, ...]:
        """Give the table, of all schemas or of the hard ones alone."""
        places = [place for place, row in enumerate(self.rows) if row.hard or not hard]
        ours = [self.outcomes[OURS][place] for place in places]
        return tuple(
            _score(label, [outcomes[place] for place in places], ours) for label, outcomes in self.outcomes.items()
        )

    def surviving(self, *, advertised: bool, hard: bool = False) -> float:
        """Give the share of schemas that come through every client well, as they are or as we advertise them."""
        labels = [through(label) if advertised else label for label in self.clients]
        places = [place for place, row in enumerate(self.rows) if row.hard or not hard]
        well = [all(_is_good(self.outcomes[label][place]) for label in labels) for place in places]
        return sum(well) / len(well)


def through(label: str) -> str:
    """Give the label of a client's converter that is given what we advertise."""
    return f"advertised by {OURS}, then {label}"


def measure_converting(rows: Sequence[Row], python: str | None = None) -> Converting:
    """Convert all of `rows`; other converters than ours run under the interpreter `python`, this one if None."""
    originals = [(row, original) for row in rows if (original := _original(row)) is not None]
    outcomes: dict[str, list[Outcome]] = {}
    with ExitStack() as open_pipes:
        pipes = {OURS: open_pipes.enter_context(_pipe("ours", sys.executable))}
        for label, name in RIVALS.items():
            of_others = name in converters.PACKAGES
            pipes[label] = open_pipes.enter_context(_pipe(name, python if python and of_others else sys.executable))
        advertise = open_pipes.enter_context(_pipe("advertise", sys.executable))
        there = [label for label, pipe in pipes.items() if pipe.is_there]
        for number, (row, original) in enumerate(originals):
            first = number % len(there)
            answers = {label: pipes[label].convert(row.schema) for label in (*there[first:], *there[:first])}
            advertised = advertise.convert(row.schema).get("schema")
            answers |= {through(label): pipes[label].convert(advertised) for label in CLIENTS if label in there}
            for label, answer in answers.items():
                outcomes.setdefault(label, []).append(_outcome(original, answer))
    ordered = [*there, *(through(label) for label in CLIENTS if label in there)]
    return Converting(
        tuple(row for row, _ in originals),
        len(rows) - len(originals),
        {label: tuple(outcomes[label]) for label in ordered},
        tuple(label for label in pipes if label not in there),
        tuple(dict.fromkeys(pipe.version for pipe in pipes.values() if pipe.version)),
    )


def _original(row: Row) -> Original | None:
    try:
        return Original.of(row.schema)
    except UnsampleableError:
        return None


def _outcome(original: Original, answer: Mapping[str, Any]) -> Outcome:
    if "schema" not in answer:
        return Outcome(None, None, None)
    return Outcome(judge_again(original, answer["schema"], _DIALECT), answer["seconds"], answer["findings"])


def _is_good(outcome: Outcome) -> bool:
    return outcome.verdict is not None and outcome.verdict.good


def _score(label: str, outcomes: Sequence[Outcome], ours: Sequence[Outcome]) -> Score:
    verdicts = [each.verdict for each in outcomes if each.verdict is not None]
    timed = [
        (mine.seconds, other.seconds)
        for mine, other in zip(ours, outcomes, strict=True)
        if mine.seconds is not None and other.seconds is not None
    ]
    findings = [each.findings for each in outcomes if each.findings is not None]
    count = len(outcomes)
    return Score(
        label=label,
        accepted=sum(each.accepted for each in verdicts) / count,
        kept=sum(each.kept for each in verdicts) / count,
        good=sum(each.good for each in verdicts) / count,
        failed=1 - len(verdicts) / count,
        tight=_mean(each.tight for each in verdicts),
        answer=_mean(each.answer for each in verdicts),
        findings=mean(findings) if findings else None,
        microseconds=median(other for _, other in timed) * 1e6 if timed else 0,
        to_ours=ratio([other for _, other in timed], [mine for mine, _ in timed]) if timed and label != OURS else None,
    )


def _mean(shares: Iterator[float | None] | Any) -> float:
    known = [each for each in shares if each is not None]
    return mean(known) if known else 0


class _Pipe:
    """A converter in a process of its own, started again if it hangs or dies."""

    def __init__(self, name: str, python: str) -> None:
        self._command = [python, str(Path(converters.__file__)), name]
        said = self._start()
        self.is_there = "ready" in said
        self.version = str(said.get("ready", ""))

    def _start(self) -> dict[str, Any]:
        self._process = subprocess.Popen(  # noqa: S603  a program of ours
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self._answer(60)

    def convert(self, schema: Any) -> dict[str, Any]:
        """Give the answer for one schema; it holds no `schema` where there is none."""
        if schema is None:
            return {"error": "nothing to convert"}
        assert self._process.stdin is not None  # noqa: S101  a pipe was asked for
        try:
            self._process.stdin.write(f"{json.dumps(schema)}\n")
            self._process.stdin.flush()
        except OSError:
            answer: dict[str, Any] = {}
        else:
            answer = self._answer(PATIENCE_S)
        if not answer:
            self.end()
            self._start()
            return {"error": "no answer"}
        return answer

    def _answer(self, patience: float) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101  a pipe was asked for
        hung = threading.Timer(patience, self._process.kill)
        hung.start()
        line = self._process.stdout.readline()
        hung.cancel()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:  # it died in the middle of a line, or before one
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
def _pipe(name: str, python: str) -> Iterator[_Pipe]:
    pipe = _Pipe(name, python)
    try:
        yield pipe
    finally:
        pipe.end()
