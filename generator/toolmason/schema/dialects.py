"""What each target can say of the normal form. Sources and dates stand in `docs/schemas.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from toolmason.schema.keywords import Kind
from toolmason.schema.target import Target


class Null(Enum):
    """How a dialect says that a value may be null."""

    BRANCH = "one more alternative"
    NULLABLE = "`nullable` beside the type"
    ABSENT = "not at all where the value may be left out; otherwise one more alternative"


_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_BOUNDS: Final = frozenset({"minimum", "maximum"})
_EXACT: Final = frozenset({"exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_ALL_LIMITS: Final = _COUNTS | _BOUNDS | _EXACT | {"pattern", "format", "uniqueItems"}
_CONDITIONS: Final = frozenset(
    {"not", "if", "dependentRequired", "dependentSchemas", "propertyNames", "contains", "patternProperties"}
    | {"contentEncoding", "contentMediaType"}
)
_EVERY_TYPE: Final[frozenset[Kind]] = frozenset({"string", "integer", "number", "boolean"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What may be written. Whatever may not is said in the description."""

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
    keeps: Mapping[str, Any] | frozenset[str] = frozenset()
    """Annotations that pass through."""


_VERTEX_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
ANTHROPIC_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Names of arguments that Anthropic takes; another fails the whole request."""
_GEMINI_FORMATS: Final = frozenset({"date-time", "enum", "float", "double", "int32", "int64"})
_UNSET: Final = frozenset({"maxItems", "maxLength", "maxProperties", "minProperties"})
_INT64: Final = 2**63 - 1

DIALECTS: Final[Mapping[Target, Dialect]] = {
    Target.MCP: Dialect(
        limits=_COUNTS | _BOUNDS | {"pattern", "format"},
        null=Null.ABSENT,
        nests_null=True,
        takes_empty_choice=False,
        compiles_patterns=True,
        largest_count=_INT64,
        repeats_limits=True,
        joins_requirements=True,
        names=_VERTEX_NAME,
        keeps=frozenset({"x-mcp-header"}),
    ),
    Target.GEMINI_PARAMETERS: Dialect(
        limits=_COUNTS | _BOUNDS | {"pattern", "format"},
        null=Null.NULLABLE,
        takes_empty_choice=False,
        splits_choices=True,
        upper_case_types=True,
        formats=_GEMINI_FORMATS,
        look_around=False,
        zero_is_unset=_UNSET,
        largest_count=_INT64,
    ),
    Target.GEMINI_VERTEX: Dialect(
        limits=_COUNTS | _BOUNDS | {"pattern", "format"},
        null=Null.NULLABLE,
        has_null_type=False,
        takes_empty_choice=False,
        splits_choices=True,
        upper_case_types=True,
        takes_closed=True,
        takes_rest=True,
        formats=_GEMINI_FORMATS,
        look_around=False,
        zero_is_unset=_UNSET | _BOUNDS,
        largest_count=_INT64,
        names=_VERTEX_NAME,
        renames=True,
    ),
    Target.GEMINI_JSON: Dialect(
        limits=_BOUNDS | {"minItems", "maxItems", "format"},
        enumerates=frozenset({"string", "integer", "number"}),
        takes_empty_choice=False,
        tuples=True,
        takes_closed=True,
        takes_rest=True,
        default=False,
    ),
    Target.OPENAI: Dialect(
        limits=_ALL_LIMITS,
        enumerates=_EVERY_TYPE,
        takes_empty_schema=True,
        takes_beside_union=True,
        tuples=True,
        takes_closed=True,
        takes_rest=True,
        conditions=_CONDITIONS,
        names_properties=True,
    ),
    Target.OPENAI_STRICT: Dialect(
        limits=_BOUNDS | _EXACT | {"pattern", "format", "minItems", "maxItems"},
        enumerates=_EVERY_TYPE,
        takes_beside_union=True,
        closes_and_requires_all=True,
        formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
        default=False,
        names_properties=True,
        most_levels=10,
    ),
    Target.ANTHROPIC: Dialect(
        limits=_ALL_LIMITS,
        enumerates=_EVERY_TYPE,
        takes_empty_schema=True,
        takes_beside_union=True,
        tuples=True,
        takes_closed=True,
        takes_rest=True,
        conditions=_CONDITIONS,
        names=ANTHROPIC_NAME,
        renames=True,
    ),
}
