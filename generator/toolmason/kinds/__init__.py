"""The kinds of tools: the built-in ones, then those of installed distributions.

This package is imported by the stages, and imports none of them: `kind` is the interface, and each kind is a package
that is loaded by its name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from toolmason_runtime.shared.entry_points import described, installed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from toolmason.kinds.kind import Kind

BUILT_IN: Final = ("handler", "command", "http", "upstream", "sql")
"""The packages of the built-in kinds, in the order of their keys in messages and in the reference."""
GROUP: Final = "toolmason.kinds"
"""Group of the entry points of further kinds."""
_NOUN: Final = "kind of tools"


class KindError(Exception):
    """An installed kind cannot be used; the message names its distribution."""


@cache
def kinds() -> dict[str, Kind]:
    """Return each kind by its name.

    Raises:
        KindError: an installed kind cannot be loaded, or has a name or key of another one.
    """
    result: dict[str, Kind] = {}
    for name in BUILT_IN:
        kind: Kind = import_module(f"{__name__}.{name}").KIND
        result[kind.name] = kind
    for entry_point in installed(GROUP):
        kind = _load(entry_point)
        for other in result.values():
            if kind.name == other.name or kind.key == other.key or _section(kind) in {_section(other)} - {""}:
                raise KindError(
                    f"{described(_NOUN, entry_point)} cannot be used: the kind `{other.name}` has its name or its keys"
                )
        result[kind.name] = kind
    return result


def _load(entry_point: EntryPoint) -> Kind:
    try:
        loaded = entry_point.load()
        kind: Kind = loaded() if isinstance(loaded, type) else loaded
        missing = [name for name in ("name", "key", "tool_keys", "resolve") if not hasattr(kind, name)]
    except Exception as error:
        raise KindError(f"{described(_NOUN, entry_point)} cannot be loaded: {type(error).__name__}: {error}") from error
    if missing:
        raise KindError(f"{described(_NOUN, entry_point)} cannot be used: it has no attribute `{missing[0]}`")
    return kind


def _section(kind: Kind) -> str:
    return kind.section.name if kind.section else ""
