"""Tools of an earlier run, which are read from the cache on the first use of one of their fields."""

from __future__ import annotations

import io
import pickle
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, TypeVar

from toolmason.manifest.tables import ToolTable
from toolmason.model.tool import Tool

KEPT_FIELDS: Final = (
    *("name", "category", "implementation", "protocol", "constant", "params_class", "result_class", "allow"),
)
"""Fields of a tool that are stored with the server: they do not depend on `OWN_KEYS`."""
KEPT_KEYS: Final = ("at", "enabled", "tier", "complexity", "tags", "related", "aliases", "deprecated")
"""Fields of its table that are stored with the server."""

_PACKAGES: Final = ("toolmason.", "toolmason_runtime.")
_BUILT_IN: Final = {("builtins", "frozenset"), ("builtins", "set"), ("pathlib", "PurePosixPath")}

T = TypeVar("T")
_TOOL_FIELDS: Final = frozenset(field.name for field in fields(Tool))

Load = Callable[[], Tool]


class KeptTable(ToolTable):
    """The table of a kept tool."""

    __slots__ = ("_load",)
    __qualname__ = ToolTable.__qualname__  # It is printed and compared like the class that it replaces.

    _load: Load

    def __eq__(self, other: object) -> bool:
        return _read(self).table == (_read(other).table if isinstance(other, KeptTable) else other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (_read(self).table,)

    __hash__ = None  # type: ignore[assignment]  # as tables

    def __getattr__(self, name: str) -> Any:
        if name == "_load":
            raise AttributeError(name)
        table = _read(self).table
        _fill(self, table)
        return getattr(table, name)


class KeptTool(Tool):
    """A tool that an earlier run has resolved. Its own table is read with it."""

    __slots__ = ("_load",)
    __qualname__ = Tool.__qualname__

    _load: Load

    def __eq__(self, other: object) -> bool:
        return _read(self) == (_read(other) if isinstance(other, KeptTool) else other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (_read(self),)

    __hash__ = None  # type: ignore[assignment]  # as tools

    def __getattr__(self, name: str) -> Any:
        if name == "_load":
            raise AttributeError(name)
        if name not in _TOOL_FIELDS:
            return getattr(self.table, name)
        tool = _read(self)
        _fill(self, tool)
        return getattr(tool, name)


def kept_tool(own: tuple[Any, ...], keys: tuple[Any, ...], load: Load) -> KeptTool:
    """Return a tool with the values of `KEPT_FIELDS` and `KEPT_KEYS`; `load` returns the whole tool."""
    table = KeptTable.__new__(KeptTable)
    for name, value in zip((*KEPT_KEYS, "_load"), (*keys, load), strict=True):
        object.__setattr__(table, name, value)
    tool = KeptTool.__new__(KeptTool)
    for name, value in zip((*KEPT_FIELDS, "_load", "table"), (*own, load, table), strict=True):
        object.__setattr__(tool, name, value)
    return tool


def known_fields(tool: Tool) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the values of `KEPT_FIELDS` and `KEPT_KEYS`."""
    return (
        tuple(getattr(tool, name) for name in KEPT_FIELDS),
        tuple(getattr(tool.table, name) for name in KEPT_KEYS),
    )


def _itself(whole: T) -> T:
    """Return the whole object: a kept one is pickled as this, for the process that renders templates of a project."""
    return whole


def _read(kept: KeptTable | KeptTool) -> Tool:
    return kept._load()  # noqa: SLF001  a class of this module


def _fill(kept: Any, whole: Any) -> None:
    for field in fields(whole):
        object.__setattr__(kept, field.name, getattr(whole, field.name))


def encode(value: object) -> str:
    """Return a value as text for the store."""
    return b64encode(zlib.compress(pickle.dumps(value, protocol=5), 1)).decode()


def decode(text: str) -> Any:
    """Return the value of a text that `encode` has returned.

    Only classes of the toolkit are created. The file of the cache belongs to this user as well, see `write.user_cache`.

    Raises:
        ValueError: the text is damaged, or has another class.
    """
    try:
        return _Unpickler(io.BytesIO(zlib.decompress(b64decode(text)))).load()
    except (pickle.UnpicklingError, zlib.error, AttributeError, EOFError, ImportError, IndexError, TypeError) as error:
        raise ValueError(str(error)) from error


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith(_PACKAGES) else None
        # A name may have dots, so it can lead to a class of another package that a module of the toolkit imports.
        if isinstance(found, type) and found.__module__.startswith(_PACKAGES):
            return found
        if (module, name) in _BUILT_IN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")
