"""The kinds of tools: the built-in ones, then those of installed distributions.

This package is imported by the stages, and imports none of them: `kind` is the interface, and each kind is a package
that is loaded by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
RUNTIME_GROUP: Final = "toolmason_runtime.kinds"
"""Group of their entry points for servers."""
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
    for kind, described_kind in _installed():
        for other in result.values():
            if kind.name == other.name or kind.key == other.key or _section(kind) in {_section(other)} - {""}:
                raise KindError(f"{described_kind} cannot be used: the kind `{other.name}` has its name or its keys")
        result[kind.name] = kind
    return result


def owner(kind: Kind) -> str:
    """Return the description of an installed kind with its distribution; empty for a built-in one."""
    return next((text for each, text in _installed() if each is kind), "")


@contextmanager
def errors_of(kind: Kind) -> Iterator[None]:
    """Name an installed kind whose code fails. An error of a built-in kind is ours, and keeps its traceback.

    Raises:
        KindError: it failed.
    """
    try:
        yield
    except KindError:
        raise
    except Exception as error:
        if not (described_kind := owner(kind)):
            raise
        raise KindError(f"{described_kind} failed: {type(error).__name__}: {error}") from error


@cache
def _installed() -> list[tuple[Kind, str]]:
    """Load the installed kinds, each with its description for messages."""
    return [(_load(entry_point), described(_NOUN, entry_point)) for entry_point in installed(GROUP)]


def _load(entry_point: EntryPoint) -> Kind:
    base = import_module(f"{__name__}.kind").Kind
    try:
        loaded = entry_point.load()
        kind: Kind = loaded() if isinstance(loaded, type) else loaded
        interface = [name for name in (*base.__annotations__, *vars(base)) if not name.startswith("_")]
        missing = [name for name in interface if name not in dir(kind)]
    except Exception as error:
        raise KindError(f"{described(_NOUN, entry_point)} cannot be loaded: {type(error).__name__}: {error}") from error
    problem = ""
    if missing:
        problem = f"it has no attribute `{missing[0]}`: subclass `toolmason.kinds.kind.Kind`"
    elif kind.name != entry_point.name:
        problem = f"its name is `{kind.name}`: name the entry point like it"
    elif not any(each.name == kind.name for each in installed(RUNTIME_GROUP)):
        problem = f"it lacks the entry point `{kind.name}` of the group `{RUNTIME_GROUP}`, which servers need"
    if problem:
        raise KindError(f"{described(_NOUN, entry_point)} cannot be used: {problem}")
    return kind


def _section(kind: Kind) -> str:
    return kind.section.name if kind.section else ""
