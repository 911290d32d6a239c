"""Validate artefacts against the JSON Schemas of the places that read them. The schemas are in `schemas/`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

_DIRECTORY: Final = Path(__file__).with_name("schemas")


def schema_source(name: str) -> str:
    """Return the origin of a schema: the comment in it."""
    return str(_schema(name)["$comment"])


def schema_errors(name: str, document: Any) -> list[str]:
    """Return the errors of a document, each with its JSON path; none if it is valid."""
    from jsonschema import Draft7Validator

    found = Draft7Validator(_schema(name)).iter_errors(document)
    errors = sorted(found, key=lambda error: [str(part) for part in error.path])
    return [f"{error.json_path}: {error.message}" for error in errors]


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((_DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    return schema
