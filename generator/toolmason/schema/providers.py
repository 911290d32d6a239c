"""What each provider takes, refuses and loses of a schema: `providers.toml`, read once."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.keywords import Kind
from toolmason.schema.target import Target


class Null(StrEnum):
    """How a dialect says that a value may be null."""

    BRANCH = "branch"
    """One more alternative."""
    NULLABLE = "nullable"
    """`nullable` beside the type."""
    ABSENT = "absent"
    """Not at all where the value may be left out; otherwise one more alternative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What may be written for one target. Whatever may not is said in the description."""

    limits: frozenset[str]
    """Keywords of `keywords.LIMITS` that it reads."""
    null: Null = Null.BRANCH
    has_null_type: bool = True
    nests_null: bool = False
    """Whether null goes into the first of several alternatives: google-genai makes a typeless node of it elsewhere."""
    enumerates: frozenset[Kind] = frozenset({"string"})
    """Types whose `enum` it reads."""
    takes_empty_choice: bool = True
    """Whether `""` may stand in an `enum`."""
    splits_choices: bool = False
    """Whether integers that are no run are said as several runs; otherwise as one, and in words."""
    upper_case_types: bool = False
    takes_empty_schema: bool = False
    """Whether `{}` may stand for any value."""
    takes_beside_union: bool = False
    """Whether a description may stand beside `anyOf`."""
    tuples: bool = False
    takes_closed: bool = False
    takes_rest: bool = False
    """Whether `additionalProperties` may be false, and a schema."""
    closes_and_requires_all: bool = False
    conditions: frozenset[str] = frozenset()
    """Keywords of rules that the normal form does not hold, and that it takes as they are written."""
    formats: frozenset[str] | None = None
    """Formats of strings that it takes; None for any."""
    compiles_patterns: bool = False
    """Whether some of its readers compile patterns, as ECMA 262 has them, and fail at others."""
    look_around: bool = True
    """Whether a pattern may look ahead, look behind or refer back."""
    zero_is_unset: frozenset[str] = frozenset()
    """Keywords whose zero is lost on the way (proto3 without presence)."""
    largest_count: int | None = None
    most_levels: int | None = None
    """How deep values may nest; None where nobody says."""
    repeats_limits: bool = False
    """Whether limits it can say are in the description too, since some of its readers drop the keywords."""
    joins_requirements: bool = False
    """Whether alternatives that differ in `required` only become one object and words."""
    default: bool = True
    names: re.Pattern[str] | None = None
    """Names of properties that it takes; None for any."""
    renames: bool = False
    names_properties: bool = False
    """Whether every object must hold `properties`."""
    keeps: frozenset[str] = frozenset()
    """Annotations that pass through."""
    keywords: frozenset[str] | None = None
    """All keywords that it lists; None if it reads all of JSON Schema and ignores what it does not know."""
    file: str
    """Name of the schema set that is generated for it."""
    sources: tuple[str, ...]
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Limits of a provider for the tools of one request; None where nobody knows one."""

    title: str
    max_name: int
    max_tools: int | None = None
    max_description: int | None = None
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How some targets treat one pattern of a schema.

    `why` ends a sentence that begins with the user's own words; `source` is where the rule was seen (a thread as
    `owner/name#number`, a file as `owner/name:path`, or how it was measured). `spared` are values it is not about.
    """

    pattern: str
    targets: tuple[Target, ...]
    severity: Severity
    why: str
    source: str
    checked: dt.date
    spared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The content of `providers.toml`."""

    providers: Mapping[str, Provider]
    dialects: Mapping[Target, Dialect]
    rules: tuple[Rule, ...]
    """A pattern has at most one rule per target."""
    portable_name: re.Pattern[str]
    """Names of properties that every provider documents, Vertex AI the strictest."""
    anthropic_name: re.Pattern[str]
    """Names of properties that Anthropic takes. It looks at the outermost only, and refuses the whole request."""
    annotations: frozenset[str]
    """Keywords that limit no value, so that nothing is lost without them."""
    snake_case: Mapping[str, str]
    """Other names of keywords, which Gemini's message accepts."""
    sizes: Mapping[str, int]
    """Sizes beyond which the rule of the same name applies."""


@cache
def providers() -> Providers:
    """Return the facts about all providers."""
    return _Reader(tomllib.loads(Path(__file__).with_name("providers.toml").read_text(encoding="utf-8"))).providers()


class _Reader:
    """Builds the dataclasses from the TOML, in which `@name` stands for an entry of `[sources]` or `[lists]`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def providers(self) -> Providers:
        names = self._data["names"]
        return Providers(
            providers={key: Provider(**table) for key, table in self._data["providers"].items()},
            dialects={Target(name): self._dialect(table) for name, table in self._data["targets"].items()},
            rules=tuple(rule for table in self._data["rules"] for rule in self._rules(table)),
            portable_name=re.compile(names["portable"]["pattern"]),
            anthropic_name=re.compile(names["anthropic"]["pattern"]),
            annotations=frozenset(self._data["annotations"]["keywords"]),
            snake_case=self._data["snake-case"]["names"],
            sizes=self._data["sizes"],
        )

    def _dialect(self, table: Mapping[str, Any]) -> Dialect:
        values = dict(table)
        values["sources"] = tuple(map(self._source, values["sources"]))
        values["null"] = Null(values.get("null", Null.BRANCH))
        values |= {key: frozenset(self._list(value)) for key, value in values.items() if isinstance(value, list)}
        if "names" in table:
            values["names"] = re.compile(self._data["names"][table["names"]]["pattern"])
        return Dialect(**values)

    def _rules(self, table: Mapping[str, Any]) -> Iterator[Rule]:
        for pattern in table["patterns"]:
            yield Rule(
                pattern=pattern,
                targets=tuple(map(Target, self._list(table["targets"]))),
                severity=Severity(table["severity"]),
                why=table["why"],
                source=self._source(table["source"]),
                checked=table["checked"],
                spared=frozenset(self._list(table.get("except", []))),
            )

    def _list(self, values: list[str]) -> Iterator[str]:
        for value in values:
            yield from self._data["lists"][value[1:]] if value.startswith(_REFERENCE) else (value,)

    def _source(self, value: str) -> str:
        source: str = self._data["sources"][value[1:]] if value.startswith(_REFERENCE) else value
        return source


_REFERENCE: Final = "@"
