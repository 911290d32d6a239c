"""The tokens of advertised schemas, and the time of the conversion beside that of other converters."""

# ruff: noqa: TID251  it measures the toolkit

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from toolmason.schema import advertise

PROGRAM: Final = Path(__file__).with_name("measured.py")
TIMEOUT_S: Final = 900
RULES: Final = 500


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of advertised schemas, divided by those of the originals."""

    before: int
    after: int
    ratios: tuple[float, ...]
    """Of each schema, ascending."""

    @property
    def total(self) -> float:
        """The ratio of the sums."""
        return self.after / self.before

    def percentile(self, share: float) -> float:
        """Return the ratio that `share` of the schemas do not exceed."""
        return self.ratios[min(len(self.ratios) - 1, int(share * len(self.ratios)))]


@dataclass(frozen=True, slots=True)
class Time:
    """The CPU time of one converter for each schema, in microseconds; the best of some rounds."""

    times: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean."""
        return mean(self.times)

    @property
    def median(self) -> float:
        """The median."""
        return median(self.times)


def measure_tokens(schemas: Sequence[Any], python: str = sys.executable) -> Tokens:
    """Count the tokens with the vocabulary cl100k in litellm, which the interpreter `python` has."""
    texts = [_compact(schema) for schema in schemas]
    texts += [_compact(advertise(schema).schema) for schema in schemas]
    counts = _run("tokens", texts, python)
    before, after = counts[: len(schemas)], counts[len(schemas) :]
    ratios = sorted(new / old for old, new in zip(before, after, strict=True))
    return Tokens(sum(before), sum(after), tuple(ratios))


def measure_speed(schemas: Sequence[Any], python: str = sys.executable) -> Mapping[str, Time]:
    """Measure the converters in one process of `python`, schema by schema in turn."""
    times = _run("speed", schemas, python)
    return {label: Time(tuple(values)) for label, values in times.items()}


def many_rules(count: int = RULES) -> dict[str, Any]:
    """Return a schema with `count` conditions in one `allOf`."""
    return {
        "type": "object",
        "properties": {f"field_{n}": {"type": "string"} for n in range(count)},
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": n}}},
                "then": {"required": [f"field_{n}"]},
            }
            for n in range(count)
        ],
    }


def _compact(schema: Any) -> str:
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def _run(part: str, values: Any, python: str) -> Any:
    process = subprocess.run(  # noqa: S603  our own program
        [python, PROGRAM, part], input=json.dumps(values), capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    return json.loads(process.stdout)
