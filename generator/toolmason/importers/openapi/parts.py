"""The parts of an API document that an import reads: the members of each kind of object, and the kinds of those.

The tables join OpenAPI 3.0 to 3.2 and Swagger 2.0, whose members do not contradict each other.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Form(Enum):
    """How a member holds its parts."""

    ONE = 1
    LIST = 2
    MAP = 3


METHODS: Final = ("get", "head", "post", "put", "patch", "delete", "options", "trace", "query")
"""The members of a path item that are operations; `query` since OpenAPI 3.2."""

Members = dict[str, tuple[Form, str]]

PARTS: Final[dict[str, Members]] = {
    "document": {"paths": (Form.MAP, "path"), "securityDefinitions": (Form.MAP, "plain")}
    | dict.fromkeys(("tags", "servers", "security"), (Form.LIST, "plain")),
    "path": dict.fromkeys(METHODS, (Form.ONE, "operation"))
    | {
        "additionalOperations": (Form.MAP, "operation"),
        "parameters": (Form.LIST, "parameter"),
        "servers": (Form.LIST, "plain"),
    },
    "operation": {
        "parameters": (Form.LIST, "parameter"),
        "requestBody": (Form.ONE, "body"),
        "responses": (Form.MAP, "response"),
        "servers": (Form.LIST, "plain"),
        "security": (Form.LIST, "plain"),
    },
    "parameter": {"schema": (Form.ONE, "schema"), "items": (Form.ONE, "schema"), "content": (Form.MAP, "media")},
    "body": {"content": (Form.MAP, "media")},
    "media": {"schema": (Form.ONE, "schema"), "itemSchema": (Form.ONE, "schema"), "encoding": (Form.MAP, "plain")},
    "response": {
        "schema": (Form.ONE, "schema"),
        "content": (Form.MAP, "media"),
        "headers": (Form.MAP, "parameter"),
    },
    "schema": dict.fromkeys(
        (
            *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
            *("unevaluatedItems", "unevaluatedProperties", "additionalItems"),
        ),
        (Form.ONE, "schema"),
    )
    | dict.fromkeys(("allOf", "oneOf", "anyOf", "prefixItems"), (Form.LIST, "schema"))
    | dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), (Form.MAP, "schema")),
    "plain": {},
}
"""Members by kind of object. `plain` objects have no parts of their own."""

MERGED: Final = frozenset({"path", "operation", "document"})
"""Kinds of objects whose members beside a `$ref` count, too."""
