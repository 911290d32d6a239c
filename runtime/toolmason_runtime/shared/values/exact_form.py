"""Recognize arguments that need no conversion, so that they are passed on unchanged.

The form of a value is its JSON type and the names of its members. A value of exact form may still be invalid: the model
checks its rules. A schema that this module cannot follow has no exact form, and its values are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolmason_runtime.shared.values.flat_arguments import MAX_EXACT

Check = Callable[[Any], bool]
"""Returns whether a value has exactly the form of a schema."""

_UNSUPPORTED: Final = frozenset(
    {"allOf", "discriminator", "else", "if", "oneOf", "patternProperties", "prefixItems", "then"}
)
_PREFIX: Final = "#/$defs/"


def exact_form(schema: Mapping[str, Any]) -> Check | None:
    """Return the check for the schema of a model; None if it has a keyword that is not supported."""
    try:
        return _Compiler(schema.get("$defs", {})).check(schema)
    except _UnsupportedError:
        return None


class _UnsupportedError(Exception):
    """A schema has a keyword that the check does not support."""


class _Compiler:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._checks: dict[str, Check] = {}

    def check(self, schema: Any) -> Check:
        if not isinstance(schema, Mapping) or not _UNSUPPORTED.isdisjoint(schema):
            raise _UnsupportedError
        if "$ref" in schema:
            return self._referenced(schema["$ref"])
        if "anyOf" in schema:
            branches = [self.check(branch) for branch in schema["anyOf"]]
            return lambda value: any(branch(value) for branch in branches)
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "number":
            return _is_exact_number
        if not isinstance(kind, str) or kind not in _PYTHON_TYPES:
            raise _UnsupportedError
        python_type = _PYTHON_TYPES[kind]
        return lambda value: type(value) is python_type

    def _referenced(self, reference: str) -> Check:
        """Return the check of a definition, which may refer to itself."""
        name = reference.removeprefix(_PREFIX)
        if not reference.startswith(_PREFIX) or name not in self._definitions:
            raise _UnsupportedError
        if name not in self._checks:
            self._checks[name] = self._later(name)
            self._checks[name] = self.check(self._definitions[name])
        return self._checks[name]

    def _later(self, name: str) -> Check:
        """Return a check that looks up the one of a definition when it is called."""

        def check(value: Any) -> bool:
            return self._checks[name](value)

        return check

    def _object(self, schema: Mapping[str, Any]) -> Check:
        if "properties" not in schema or schema.get("additionalProperties", False) is not False:
            raise _UnsupportedError  # a map: its values may have any form
        members = {name: self.check(part) for name, part in schema["properties"].items()}

        def check(value: Any) -> bool:
            if type(value) is not dict:
                return False
            for name, member in value.items():
                has_form = members.get(name)
                if has_form is None or not has_form(member):
                    return False
            return True

        return check

    def _array(self, schema: Mapping[str, Any]) -> Check:
        item = self.check(schema.get("items"))
        return lambda value: type(value) is list and all(map(item, value))


_PYTHON_TYPES: Final[Mapping[str, type]] = {"string": str, "integer": int, "boolean": bool, "null": type(None)}


def _is_exact_number(value: Any) -> bool:
    """Return whether a double represents a number exactly; a larger integer is rounded, with a note."""
    return type(value) is float or (type(value) is int and -MAX_EXACT <= value <= MAX_EXACT)
