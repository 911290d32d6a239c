"""The schemas that converters are compared on: our own, in `corpus/`, or those of another file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.schemas.reading import nodes

CORPUS: Final = Path(__file__).parent / "corpus"
TORTURE: Final = CORPUS / "torture.jsonl"
_HARD: Final = frozenset(
    {
        *(
            "$ref",
            "oneOf",
            "allOf",
            "not",
            "if",
            "const",
            "patternProperties",
            "propertyNames",
            "prefixItems",
            "contains",
        ),
        *("dependentRequired", "dependentSchemas", "dependencies", "nullable", "unevaluatedProperties"),
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """One tool's schema. `style` says what writes such schemas; `hard` whether it takes more than plain types."""

    name: str
    style: str
    schema: Any
    hard: bool


@dataclass(frozen=True, slots=True)
class Torture:
    """One small case, with values that a person wrote.

    Every target has to take `valid`; one that can say so has to refuse `refused`. Where `loose` is let in, or where a
    limit is advertised, the description has to hold each of `says`. An `unusable` schema cannot be used at all.
    """

    id: str
    schema: Any
    valid: tuple[Any, ...] = ()
    refused: tuple[Any, ...] = ()
    loose: tuple[Any, ...] = ()
    says: tuple[str, ...] = ()
    unusable: bool = False


def corpus(path: Path | None = None) -> tuple[Row, ...]:
    """Read our own schemas, or those of a file with one JSON object a line that has a `schema`."""
    paths = sorted(set(CORPUS.glob("*.jsonl")) - {TORTURE}) if path is None else [path]
    return tuple(
        Row(str(row.get("name", number)), str(row.get("style", "other")), row["schema"], hard=is_hard(row["schema"]))
        for each in paths
        for number, row in enumerate(_rows(each))
    )


def torture() -> tuple[Torture, ...]:
    """Read the small cases."""
    return tuple(
        Torture(
            id=row["id"],
            schema=row["schema"],
            valid=tuple(row.get("valid", ())),
            refused=tuple(row.get("refused", ())),
            loose=tuple(row.get("loose", ())),
            says=tuple(row.get("says", ())),
            unusable=row.get("unusable", False),
        )
        for row in _rows(TORTURE)
    )


def is_hard(schema: Any) -> bool:
    """Whether converters have to do more with `schema` than to copy types, texts and limits."""
    if not isinstance(schema, dict) or str(schema.get("type", "")) != "object":
        return True
    return any(_is_hard_node(node) for _, node in nodes(schema))


def _is_hard_node(node: dict[str, Any]) -> bool:
    kind = node.get("type")
    if _HARD & node.keys() or (not isinstance(kind, str) and "anyOf" not in node) or str(kind).isupper():
        return True
    if kind == "array" and not isinstance(node.get("items"), dict):
        return True
    others = [each for each in node.get("anyOf", ()) if each != {"type": "null"}]
    return (
        len(others) > 1
        or any(not isinstance(each, str) for each in node.get("enum", ()))
        or isinstance(node.get("additionalProperties"), dict)
        or isinstance(node.get("exclusiveMinimum"), bool)
        or isinstance(node.get("exclusiveMaximum"), bool)
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
