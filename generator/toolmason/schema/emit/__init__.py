"""Emit the normal form as a schema in the dialect of a target, within size limits."""

from toolmason.schema.emit.context import (
    MAX_BYTES,
    MAX_BYTES_IF_RECURSIVE,
    MAX_DEPTH,
    MAX_NODES,
    MAX_RECURSION_UNROLLS,
    MAX_TEXT,
    TOO_MANY_BYTES,
    SizeLimitError,
)
from toolmason.schema.emit.emitter import Emitter
from toolmason.schema.emit.scalars import MAX_RANGES
from toolmason.schema.emit.selection import Form, select_objects

__all__ = [
    "MAX_BYTES",
    "MAX_BYTES_IF_RECURSIVE",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_RANGES",
    "MAX_RECURSION_UNROLLS",
    "MAX_TEXT",
    "TOO_MANY_BYTES",
    "Emitter",
    "Form",
    "SizeLimitError",
    "select_objects",
]
