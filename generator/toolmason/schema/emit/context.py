"""Interface and shared state of the emitter, for the modules that emit one type each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from toolmason.schema.findings import Finding, Severity, finding
from toolmason.schema.hosts import dialect_of
from toolmason.schema.names import PropertyNames
from toolmason.schema.normal_form import Conjunction
from toolmason.schema.normalize import Normalizer

MAX_NODES: Final = 10_000
"""Maximum schemas in the result; further ones accept any value. Real schemas have under 1,000."""
MAX_DEPTH: Final = 24
"""Maximum nesting of the result."""
MAX_TEXT: Final = 1_000_000
"""Maximum characters of descriptions and enum values."""
MAX_RECURSION_UNROLLS: Final = 2
"""Maximum copies of a recursive object inside itself."""
MAX_BYTES: Final = 24_000
"""Maximum bytes of the result as JSON. Of larger results, these parts are omitted in this order: descriptions of nested
values, repeated limits, properties of repeated models, properties of the most deeply nested objects."""
MAX_BYTES_IF_RECURSIVE: Final = 700
"""Bytes up to which a recursive schema is unrolled even if the result has more than 1.5 times the original size."""

ITEMS: Final = "[]"
"""The part of a path for the items of an array."""

JsonSchema: TypeAlias = dict[str, Any]
Part: TypeAlias = tuple[JsonSchema, str]
"""A schema of one type without description, and its description."""

CLOSED: Final = "strict mode allows only declared properties, so values of other properties cannot be sent"
TOO_MANY_PARTS: Final = f"the schema has more than {MAX_NODES} parts; further ones accept any value"
_TOO_LARGE: Final = f"the schema has more than {MAX_BYTES:,} bytes"
TOO_MANY_BYTES: Final = f"{_TOO_LARGE}; deeper objects accept any property"
NO_DESCRIPTIONS: Final = f"{_TOO_LARGE}; descriptions of nested values are omitted"
SHORT_DESCRIPTIONS: Final = f"{_TOO_LARGE}; descriptions of arguments are shortened"
NO_REPEATED_LIMITS: Final = f"{_TOO_LARGE}; limits of nested values are not repeated in descriptions"


class Position(Enum):
    """The position of a value in its parent."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    """The caller may omit the value."""


class SizeLimitError(Exception):
    """The result is surely too large; fewer unrolls or fewer levels of objects may fit."""


class EmitterContext(ABC):
    """The parts of the emitter that the modules for types use."""

    def __init__(self, normalizer: Normalizer, target: str, names: PropertyNames) -> None:
        self.normalizer = normalizer
        self.target = target
        self.dialect = dialect_of(target)
        self.names = names
        self.level = 0
        """Number of schemas around the current one."""
        self.node_count = 0
        self.char_count = 0
        """Characters of descriptions and enum values."""
        self.path: list[str] = []
        """The names of the properties around the current schema, and `ITEMS` for each array."""
        self.accepted_rules: dict[str, bool] = {}
        """Whether the target accepts an opaque rule, by its JSON."""
        self._findings: dict[tuple[str, str, str], Finding] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All changes, in the order of the emitted schema."""
        return tuple(self._findings.values())

    def report(self, findings: Sequence[Finding]) -> None:
        """Add findings, each once."""
        for item in findings:
            self._findings.setdefault((item.pointer, item.pattern, item.message), item)

    def find(self, pointer: str, pattern: str, severity: Severity, message: str, *, opens_object: bool = False) -> None:
        """Add a finding."""
        key = (pointer, pattern, message)
        if key not in self._findings:
            self._findings[key] = finding(pointer, pattern, severity, message, opens_object=opens_object)

    @property
    def repeats_limits(self) -> bool:
        """Whether descriptions repeat the limits of the current schema."""
        return self.dialect.repeats_limits

    def type_name(self, json_type: str) -> str:
        """Return the type in the spelling of the dialect."""
        return json_type.upper() if self.dialect.upper_case_types else json_type

    def describe(self, schema: JsonSchema, text: str) -> JsonSchema:
        """Insert a description after the type."""
        self.char_count += len(text)
        if not text:
            return schema
        if "$ref" in schema:
            return self.describe_reference(schema, text)
        head: JsonSchema = {"type": schema["type"]} if "type" in schema else {}
        if "nullable" in schema:
            head["nullable"] = schema["nullable"]
        return {**head, "description": text, **schema}

    @abstractmethod
    def describe_reference(self, reference: JsonSchema, text: str) -> JsonSchema:
        """Return a reference to the same definition with a description."""

    @abstractmethod
    def emit(self, conjunction: Conjunction, pointer: str, position: Position = Position.REQUIRED) -> JsonSchema | None:
        """Return the schema of `conjunction`, or None if no value is valid.

        `pointer` is used for findings if the conjunction is empty.
        """
