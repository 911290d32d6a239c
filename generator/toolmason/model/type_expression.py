"""The grammar of `type = "..."`: a primitive, a name from `[types]`, `T[]` or `map<T>`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.manifest.idioms import MAX_TYPE_CHARS
from toolmason.model.types import ArrayType, ClassName, MapType, NamedType, PrimitiveType, TypeRef

PRIMITIVES = ("string", "integer", "number", "boolean", "object")
MAX_DEPTH = 8
"""Maximum nesting of lists and maps. Providers reject schemas beyond about ten levels."""

NO_NAMES: Final = frozenset[ClassName]()

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class MalformedTypeError(ValueError):
    """The text is not a type expression. The message names the valid forms."""


@lru_cache(maxsize=1024)
def parse(text: str) -> TypeRef:
    """Parse a type expression such as `map<Book[]>`. Names are not resolved.

    Raises:
        MalformedTypeError: `text` is not a type expression.
    """
    if len(text) > MAX_TYPE_CHARS:
        raise MalformedTypeError(f"{quoted(text)} has more than {MAX_TYPE_CHARS} characters, the maximum of a type")
    return _parse(text.strip(), text, 0)


def _parse(part: str, whole: str, level: int) -> TypeRef:
    if level > MAX_DEPTH:
        raise MalformedTypeError(f"{quoted(whole)} nests more than {MAX_DEPTH} levels")
    if part.endswith("[]"):
        return ArrayType(_parse(part[:-2].rstrip(), whole, level + 1))
    if part.startswith("map<") and part.endswith(">"):
        return MapType(_parse(part[4:-1].strip(), whole, level + 1))
    if not _NAME.fullmatch(part):
        raise MalformedTypeError(f"{quoted(whole)} is not a type; use a name, `T[]` or `map<T>`")
    if part in PRIMITIVES:
        return PrimitiveType(part)  # type: ignore[arg-type]  # just looked up
    return NamedType(ClassName(part))


def format_type(ref: TypeRef) -> str:
    """Return a type as an expression of the manifest."""
    match ref:
        case PrimitiveType(kind):
            return kind
        case NamedType(name):
            return name
        case ArrayType(item):
            return f"{format_type(item)}[]"
        case MapType(value):
            return f"map<{format_type(value)}>"


def names(ref: TypeRef) -> frozenset[str]:
    """Return the `[types]` that `ref` refers to directly."""
    # Not `match`: this is called more often than any other function of `resolve`.
    if isinstance(ref, PrimitiveType):
        return NO_NAMES
    return (
        frozenset({ref.name})
        if isinstance(ref, NamedType)
        else names(ref.item if isinstance(ref, ArrayType) else ref.value)
    )
