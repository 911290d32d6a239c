"""The share of schemas that every client keeps: as their authors wrote them, and as `advertise` sends them."""

# ruff: noqa: TID251  it measures the toolkit

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.schemas.corpus import Row
from bench.schemas.fields import Field, in_json_names, problems, read_as
from bench.schemas.samples import samples
from bench.schemas.scoring import Original, Verdict, compare
from bench.schemas.semantics import UnusableSchemaError, author_semantics
from toolmason.schema import advertise

CONVERTERS: Final = Path(__file__).parents[2] / "tests" / "converters"
TIMEOUT_S: Final = 900
CLIENTS: Final[Mapping[str, Field]] = {
    "agno": Field.PARAMETERS,
    "google-adk": Field.PARAMETERS,
    "google-genai MCP": Field.PARAMETERS,
    "google-genai Schema": Field.PARAMETERS,
    "langchain-google-genai": Field.PARAMETERS,
    "litellm gemini": Field.PARAMETERS,
    "litellm vertex_ai": Field.VERTEX,
    "pydantic-ai": Field.JSON,
    "pydantic-ai Live": Field.PARAMETERS,
    "@ai-sdk/google 3": Field.PARAMETERS,
    "@ai-sdk/google 4": Field.JSON,
    "@google/genai": Field.JSON,
    "@google/gemini-cli-core": Field.JSON,
    "@langchain/google-common": Field.PARAMETERS,
    "@langchain/google-genai": Field.PARAMETERS,
    "@mastra/schema-compat": Field.JSON,
}
"""The clients with a conversion, and the field that each fills."""
UNCHANGED: Final[Mapping[str, Field]] = {f"unchanged: {field.value}": field for field in Field}
PATHS: Final[Mapping[str, Field]] = {**CLIENTS, **UNCHANGED}
LANGCHAIN: Final = frozenset({"langchain-google-genai", "@langchain/google-common"})
"""The two clients that change the most; they are also counted apart."""


class ConverterError(RuntimeError):
    """The converters could not be run."""


@dataclass(frozen=True, slots=True)
class Survival:
    """The faults of each path: the names of the schemas that it does not keep, with the first cause."""

    faults: Mapping[str, Mapping[str, str]]
    names: frozenset[str]
    hard: frozenset[str]

    def share(self, paths: Sequence[str], *, hard: bool = False) -> float:
        """Return the share of schemas that all of `paths` keep."""
        names = self.hard if hard else self.names
        failed = {name for path in paths for name in self.faults[path]} & names
        return 1 - len(failed) / max(1, len(names))

    def causes(self, paths: Sequence[str]) -> list[tuple[str, int, str]]:
        """Return each cause with the number of schemas and one of them, the most frequent first."""
        found: dict[str, str] = {}
        for path in paths:
            for name, cause in self.faults[path].items():
                found.setdefault(name, cause)
        counts = Counter(found.values())
        return [(cause, n, next(name for name in found if found[name] == cause)) for cause, n in counts.most_common()]


def measure_survival(rows: Sequence[Row], python: str = sys.executable, *, raw: bool = False) -> tuple[Survival, int]:
    """Return the survival of `rows` on all paths and the number of unusable schemas.

    `python` is the interpreter with the Python converters. With `raw`, the schemas are sent as they are.

    Raises:
        ConverterError: the converters could not be run.
    """
    originals: dict[str, Original] = {}
    sent: dict[str, Any] = {}
    hard: set[str] = set()
    unusable = 0
    for number, row in enumerate(rows):
        name = f"{number} {row.name}"
        try:
            original = Original.of(row)
        except UnusableSchemaError:
            unusable += 1
            continue
        made = samples(author_semantics(row.schema))
        originals[name] = Original(original.paths, original.acceptance, (*original.valid, *made), original.invalid)
        sent[name] = row.schema if raw else _portable(row.schema)
        hard |= {name} if row.is_hard else set()
    results = _converted(sent, python)
    faults = {path: _faults(originals, sent, results.get(path), field) for path, field in PATHS.items()}
    return Survival(faults, frozenset(originals), frozenset(hard)), unusable


def _portable(schema: Any) -> Any:
    return advertise(schema).schema


def _faults(
    originals: Mapping[str, Original], sent: Mapping[str, Any], results: Mapping[str, Any] | None, field: Field
) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, original in originals.items():
        result = {"schema": sent[name]} if results is None else results[name]
        if cause := _fault(original, result, field):
            found[name] = cause
    return found


def _fault(original: Original, result: Mapping[str, Any], field: Field) -> str:
    """Return the cause; an empty string if the schema is kept."""
    if "error" in result:
        return f"raises {str(result['error']).splitlines()[0][:70]}"
    # A client leaves out the schema of a tool without arguments.
    schema = (
        {"type": "object", "properties": {}} if result["schema"] is None else in_json_names(field, result["schema"])
    )
    refused = () if result["schema"] is None else tuple(problems(field, schema))
    verdict: Verdict = compare(original, read_as(field, schema), refused)
    if verdict.problems:
        return f"refused: {verdict.problems[0][:80]}"
    if verdict.lost:
        return "an argument is lost"
    return "a valid value is refused" if verdict.refused else ""


def _converted(schemas: Mapping[str, Any], python: str) -> dict[str, Any]:
    commands = ([python, "convert.py", "all"], ["node", "convert.mjs", "all"])
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda command: _run(command, json.dumps(schemas)), commands))
    return {path: results for answer in answers for path, results in answer.items()}


def _run(command: Sequence[str], text: str) -> dict[str, Any]:
    try:
        process = subprocess.run(  # noqa: S603  our own programs
            command, cwd=CONVERTERS, input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or str(error)
        raise ConverterError(f"{' '.join(command)}: {output.strip().splitlines()[-1]}") from error
    results: dict[str, Any] = json.loads(process.stdout)
    return results
