"""The types of columns as types of a manifest."""

from __future__ import annotations

import re
from typing import Any, Final

Keys = dict[str, Any]
"""Keys of a parameter or a field: `{"type": "string", "format": "date"}`."""

_RULES: Final = (
    (r"(tiny|small|medium|big|huge|u\w*)?(int|integer|serial)\d?(unsigned)?|int\d+|year", {"type": "integer"}),
    (r"bool(ean)?|tinyint\(1\)", {"type": "boolean"}),
    (r"real|float\d?|double(precision)?", {"type": "number"}),
    (
        r"(var)?char\w*|(tiny|medium|long|ci)?text|clob|bpchar|name|citext|string|character(varying)?|enum",
        {"type": "string"},
    ),
    (r"numeric|decimal|money", {"type": "string"}),
    (r"date", {"type": "string", "format": "date"}),
    (r"timestamptz|timestampwithtimezone", {"type": "string", "format": "date-time"}),
    (r"timestamp(withouttimezone)?(_\w+)?|datetime\d?|time(tz|with\w*)?|interval", {"type": "string"}),
    (r"uuid", {"type": "string", "format": "uuid"}),
    (r"bytea|(tiny|medium|long)?blob|(var)?binary|bit", {"type": "string", "format": "byte"}),
    (r"inet|cidr|macaddr|xml|\w*range|tsvector|oid", {"type": "string"}),
)
"""Pattern of a type's name, without spaces and size -> keys."""


def manifest_type(name: str, dialect: str) -> Keys | None:
    """Return the keys for a type such as `VARCHAR(20)`, `numeric(10, 2)` or `INTEGER[]`; None if it is unknown.

    JSON and structures have none: their members are unknown.
    """
    written = name.strip().lower()
    if written.endswith("[]") or written.startswith("_"):
        item = manifest_type(written.removesuffix("[]").removeprefix("_"), dialect)
        return {"type": f"{item['type']}[]"} if item and "[" not in item["type"] else None
    if written == "tinyint(1)":
        return {"type": "boolean"}
    plain = re.sub(r"\([^()]*+\)|\s++", "", written)
    if dialect == "sqlite" and plain in ("numeric", "decimal"):
        return {"type": "number"}
    return next((dict(keys) for pattern, keys in _RULES if re.fullmatch(pattern, plain)), None)
