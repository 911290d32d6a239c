"""JSON Schema validation that never leaves the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def validator(schema: Mapping[str, Any]) -> Validator:
    """Compile `schema` (2020-12). The library is imported here, since not every server needs it."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # A registry of its own: without one a reference to another document would be fetched.
    return Draft202012Validator(schema, registry=Registry())
