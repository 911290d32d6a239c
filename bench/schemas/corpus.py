"""The schemas of the comparison, with instances: our own corpus, or a file of the user."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.schemas.semantics import nodes

CORPUS: Final = Path(__file__).parent / "corpus"
SMALL_CASES: Final = CORPUS / "torture.jsonl"
"""Small cases for the tests of the schema library."""
_HARD_KEYWORDS: Final = frozenset(
    {
        *("$ref", "oneOf", "allOf", "not", "if", "const", "patternProperties", "propertyNames", "prefixItems"),
        *("contains", "dependentRequired", "dependentSchemas", "dependencies", "nullable", "unevaluatedProperties"),
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """The schema of a tool. `style` names its origin; `valid` and `invalid` are instances."""

    name: str
    style: str
    schema: Any
    is_hard: bool
    valid: tuple[Any, ...] = ()
    invalid: tuple[Any, ...] = ()


def load_corpus(path: Path | None = None) -> tuple[Row, ...]:
    """Load our schemas, or those of a file with one JSON object with a `schema` per line; other keys are optional."""
    paths = sorted(set(CORPUS.glob("*.jsonl")) - {SMALL_CASES}) if path is None else [path]
    return tuple(
        Row(
            name=str(data.get("name", number)),
            style=str(data.get("style", "other")),
            schema=data["schema"],
            is_hard=is_hard(data["schema"]),
            valid=tuple(data.get("valid", ())),
            invalid=tuple(data.get("invalid", ())),
        )
        for path in paths
        for number, data in enumerate(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    )


def is_hard(schema: Any) -> bool:
    """Return whether a converter must do more than copy types, texts and bounds."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return True
    return any(map(_is_hard_node, nodes(schema)))


def _is_hard_node(node: dict[str, Any]) -> bool:
    kind = node.get("type")
    if _HARD_KEYWORDS & node.keys() or (not isinstance(kind, str) and "anyOf" not in node) or str(kind).isupper():
        return True
    if kind == "array" and not isinstance(node.get("items"), dict):
        return True
    return (
        len([branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]) > 1
        or any(not isinstance(value, str) for value in node.get("enum", ()))
        or isinstance(node.get("additionalProperties"), dict)
        or any(isinstance(node.get(bound), bool) for bound in ("exclusiveMinimum", "exclusiveMaximum"))
    )
