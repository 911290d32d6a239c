"""The facts of `providers.toml` about what each target accepts, rejects and ignores. Read once."""

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
from toolmason.schema.keywords import JsonType
from toolmason.schema.usage import share_of_clients
from toolmason.targets import Target


class NullStyle(StrEnum):
    """How a dialect expresses a nullable value."""

    UNION = "union"
    """An alternative of type null."""
    NULLABLE = "nullable"
    """`nullable` beside the type."""
    OMIT = "omit"
    """Null is omitted; the description allows it for a required property or an item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The features that a target supports. The description states all other rules."""

    keywords: frozenset[str] | None = None
    """Every keyword that may be sent; None for all of JSON Schema."""
    null: NullStyle = NullStyle.UNION
    has_null_type: bool = True
    enum_types: frozenset[JsonType] = frozenset({"string"})
    """Types that may have `enum`."""
    allows_empty_enum_value: bool = True
    """Whether `enum` may contain `""`."""
    splits_integer_enums: bool = False
    """Whether non-consecutive integers become several ranges; otherwise one range and a sentence."""
    upper_case_types: bool = False
    allows_empty_schema: bool = False
    """Whether `{}` may express any value."""
    allows_keywords_beside_any_of: bool = False
    """Whether `anyOf` may have siblings, such as a description."""
    references: bool = False
    """Whether `$ref` may refer to `$defs`; otherwise references are inlined, and recursion is limited."""
    strict_objects: bool = False
    """Whether every object must be closed and require all properties."""
    closes_objects: bool = False
    """Whether every object must be closed, though properties may be optional."""
    requires_plain_patterns: bool = False
    """Whether a pattern needs both anchors and must not have classes such as `\\d`."""
    omits_spelled_out: bool = False
    """Whether a long pattern is omitted if it only defines the format beside it."""
    formats: frozenset[str] | None = None
    """Supported string formats; None for any."""
    requires_ecma_patterns: bool = False
    """Whether some clients compile patterns with an ECMA 262 engine and fail on others."""
    allows_look_around: bool = True
    """Whether a pattern may have lookaheads, lookbehinds and backreferences."""
    allows_unnamed_groups: bool = True
    """Whether a pattern may have groups `(?:...)`."""
    zero_is_unset: frozenset[str] = frozenset()
    """Keywords whose value 0 is lost in transit (proto3 without presence)."""
    max_integer: int | None = None
    max_levels: int | None = None
    """Maximum nesting of values; None if undocumented."""
    max_repetitions: int | None = None
    """Maximum `maxLength`, `maxItems` and so on; None for any."""
    repeats_limits: bool = False
    """Whether the description repeats supported limits, because some clients drop the keywords."""
    merges_required_alternatives: bool = False
    """Whether alternatives that differ only in `required` become one object and a sentence."""
    property_names: re.Pattern[str] | None = None
    """Pattern of accepted property names; None for any."""
    renames_properties: bool = False
    adds_null_defaults: bool = False
    """Whether optional properties of an argument get `default: null`, without which they become required."""
    opens_empty_objects: bool = False
    """Whether an object without properties gets `additionalProperties: true`, without which it becomes a string."""
    requires_properties: bool = False
    """Whether every object must have `properties`."""
    requires_required: bool = False
    """Whether every object must have `required`."""
    kept_annotations: frozenset[str] = frozenset()
    """Annotations that are emitted unchanged."""
    file: str
    """Name of the generated schema set."""
    sources: tuple[str, ...]
    checked: dt.date

    def accepts(self, keyword: str) -> bool:
        """Return whether `keyword` may be sent."""
        return self.keywords is None or keyword in self.keywords


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Limits of a provider for the tools of one request; None if unknown."""

    title: str
    max_name: int
    name_pattern: re.Pattern[str] | None = None
    """Pattern of accepted tool names; None for any."""
    max_tools: int | None = None
    max_description: int | None = None
    source: str
    checked: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How some targets treat one pattern of a schema.

    `reason` completes a sentence that begins by quoting the schema; `fix` is an instruction for its author, empty if
    unknown; `source` is a thread (`owner/name#number`), a file (`owner/name:path`) or a measurement.
    """

    pattern: str
    targets: tuple[Target, ...]
    severity: Severity
    reason: str
    fix: str = ""
    providers: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    """The keys of those that a rule of `mcp` concerns; all without any."""
    kept_by: int | None = None
    """Number of the measured client paths that keep the construct."""
    share: float = 1.0
    """The weighted share of clients that the rule concerns."""
    source: str
    checked: dt.date

    @property
    def text(self) -> str:
        """The reason and the fix."""
        return "; ".join(filter(None, (self.reason, self.fix)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The content of `providers.toml`."""

    providers: Mapping[str, Provider]
    dialects: Mapping[Target, Dialect]
    rules: tuple[Rule, ...]
    """A pattern has at most one rule per target."""
    tool_rules: Mapping[str, Rule]
    """The rules about a tool apart from the schema of its input, by their pattern."""
    portable_name: re.Pattern[str]
    """Property names that every provider documents; Vertex AI is the strictest."""
    anthropic_name: re.Pattern[str]
    """Property names that Anthropic accepts. It checks only the root, and rejects the whole request."""
    annotations: frozenset[str]
    """Keywords without effect on validation."""
    snake_case: Mapping[str, str]
    """Snake-case keywords that Gemini's message accepts, with their names in JSON Schema."""
    sizes: Mapping[str, int]
    """Sizes beyond which the rule of the same name applies."""


@cache
def providers() -> Providers:
    """Return the facts about all providers."""
    return _TableReader(
        tomllib.loads(Path(__file__).with_name("providers.toml").read_text(encoding="utf-8"))
    ).providers()


class _TableReader:
    """Builds the dataclasses from the TOML, in which `@name` refers to an entry of `[sources]` or `[lists]`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def providers(self) -> Providers:
        names, checked = self._data["names"], {"checked": self._data["checked"]}
        if missing := [target for target in Target if target not in self._data["targets"]]:
            raise ValueError(f"providers.toml lacks [targets.{missing[0]}], which `Target` has")
        dialects = {Target(name): self._dialect(checked | table) for name, table in self._data["targets"].items()}
        tool_rules = [rule for table in self._data["tool_rules"] for rule in self._rules(checked | table, dialects)]
        return Providers(
            providers={key: self._provider(checked | table) for key, table in self._data["providers"].items()},
            dialects=dialects,
            rules=tuple(rule for table in self._data["rules"] for rule in self._rules(checked | table, dialects)),
            tool_rules={rule.pattern: rule for rule in tool_rules},
            portable_name=re.compile(names["portable"]["pattern"]),
            anthropic_name=re.compile(names["anthropic"]["pattern"]),
            annotations=frozenset(self._data["annotations"]["keywords"]),
            snake_case=self._data["snake-case"]["names"],
            sizes=self._data["sizes"],
        )

    def _provider(self, table: Mapping[str, Any]) -> Provider:
        values = dict(table)
        if "name_pattern" in table:
            values["name_pattern"] = re.compile(table["name_pattern"])
        return Provider(**values)

    def _dialect(self, table: Mapping[str, Any]) -> Dialect:
        values = dict(table)
        values["sources"] = tuple(map(self._source, values["sources"]))
        values["null"] = NullStyle(values.get("null", NullStyle.UNION))
        values |= {key: frozenset(self._list(value)) for key, value in values.items() if isinstance(value, list)}
        if "property_names" in table:
            values["property_names"] = re.compile(self._data["names"][table["property_names"]]["pattern"])
        return Dialect(**values)

    def _rules(self, table: Mapping[str, Any], dialects: Mapping[Target, Dialect]) -> Iterator[Rule]:
        """Yield the rules of a table, and one for each keyword with advice that a target of the table rejects."""
        targets = tuple(map(Target, self._list(table["targets"])))
        advice = {keyword: fix for fix, names in table.get("advice", {}).items() for keyword in names}
        concerned = {key: tuple(self._list(table.get(key, []))) for key in ("providers", "clients")}
        kept_by = table.get("kept_by")
        for pattern, fix in (dict.fromkeys(table["patterns"], table.get("fix", "")) | advice).items():
            is_advice = pattern in advice
            yield Rule(
                pattern=pattern,
                targets=tuple(name for name in targets if not (is_advice and dialects[name].accepts(pattern))),
                severity=Severity(table["severity"]),
                reason=table["reason"],
                fix=fix,
                **concerned,
                kept_by=kept_by,
                share=self._share(kept_by, **concerned),
                source=self._source(table["source"]),
                checked=table["checked"],
            )

    def _share(self, kept_by: int | None, *, providers: tuple[str, ...], clients: tuple[str, ...]) -> float:
        """Return the measured share of failing clients, otherwise that of the clients and providers concerned."""
        if kept_by is not None:
            paths: int = self._data["measured"]["paths"]
            return (paths - kept_by) / paths
        return share_of_clients(clients, providers) if clients or providers else 1.0

    def _list(self, values: list[str]) -> Iterator[str]:
        for value in values:
            yield from self._data["lists"][value[1:]] if value.startswith(_REFERENCE) else (value,)

    def _source(self, value: str) -> str:
        source: str = self._data["sources"][value[1:]] if value.startswith(_REFERENCE) else value
        return source


_REFERENCE: Final = "@"
