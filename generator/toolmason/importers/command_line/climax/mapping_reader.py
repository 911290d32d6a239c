"""Read keys of a mapping with their expected types. Invalid values are noted and treated as missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeGuard

from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.positions import Position
from toolmason_runtime.toml.problems import either, quoted

from toolmason.importers.command_line.climax.yaml_nodes import Node
from toolmason.importers.notes import ImporterError, Notes

_KINDS: Final = {dict: "a mapping", tuple: "a list"}
"""Types of values; all others are scalars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A mapping of a file; `about` is its name in notes. If `is_strict`, an invalid value stops the import."""

    node: Node
    path: str
    notes: Notes
    about: str = ""
    is_strict: bool = False

    def called(self, about: str) -> Fields:
        """Return the same mapping with another name in notes."""
        return replace(self, about=about)

    def note(self, message: str, key: str = "") -> None:
        """Add a note about the mapping or one of its keys."""
        self.notes.add(self.path, self._position(key), self.about, message)

    def stop(self, message: str, key: str = "") -> None:
        """Add a reason to stop the import."""
        self.notes.stop(self.path, self._position(key), self.about, message)

    def _position(self, key: str) -> Position:
        position: Position = self.node.value[key].key if key in self.node.value else self.node.position
        return position

    def report_unknown(self, keys: Sequence[str]) -> None:
        """Add a note for every key that is not in `keys`."""
        for key in self.node.value:
            if key not in keys:
                hint = did_you_mean(key, keys)
                self.note(f"unknown key {quoted(key)}, left out{f' ({hint})' if hint else ''}", key)

    def has(self, key: str) -> bool:
        """Return whether the key is present with a value."""
        return key in self.node.value and self.node.value[key].value is not None

    def get(self, key: str) -> Node:
        """Return the value of a key that is present."""
        node: Node = self.node.value[key]
        return node

    def text(self, key: str) -> str:
        """Return the source of a scalar; empty if missing."""
        node = self._read(key, is_scalar, "a text")
        return node.text if node else ""

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Return one of the choices; empty if missing or invalid."""
        word = self.text(key)
        if word in choices or not (word or (self.is_strict and self.has(key))):
            return word
        if self.is_strict:
            raise self.error(key, f"`{key}` must be {either(choices)}")
        self.note(f"{quoted(word)} is not a valid `{key}`, left out; use {either(choices)}", key)
        return ""

    def flag(self, key: str) -> bool:
        """Return a boolean; false if missing."""
        node = self._read(key, lambda value: isinstance(value, bool), "true or false")
        return bool(node and node.value)

    def number(self, key: str) -> int | float | None:
        """Return a finite number; None if missing."""
        node = self._read(key, is_finite, "a finite number")
        return node.value if node else None

    def texts(self, key: str) -> list[str]:
        """Return a list of texts; empty if missing."""
        nodes = self._items(key)
        texts = [node.text for node in nodes if is_scalar(node.value) and node.value is not None]
        if len(texts) < len(nodes):
            self.note(f"`{key}` contains values that are not texts, left out", key)
        return texts

    def mapping(self, key: str) -> dict[str, Node]:
        """Return a mapping; empty if missing."""
        inner = self.inner(key)
        return inner.node.value if inner else {}

    def mappings(self, key: str) -> Iterator[Fields]:
        """Yield the mappings of a list."""
        for node in self._items(key):
            if isinstance(node.value, dict):
                yield Fields(node=node, path=self.path, notes=self.notes)
            else:
                self.notes.add(self.path, node.position, self.about, f"`{key}` contains a non-mapping, left out")

    def inner(self, key: str, about: str = "") -> Fields | None:
        """Return a mapping as fields; None if missing."""
        node = self._read(key, lambda value: isinstance(value, dict), "a mapping")
        return replace(self, node=node, about=about or self.about) if node else None

    def _items(self, key: str) -> tuple[Node, ...]:
        node = self._read(key, lambda value: isinstance(value, tuple), "a list")
        return node.value if node else ()

    def _read(self, key: str, is_valid: Callable[[Any], bool], expected: str) -> Node | None:
        """Return the value of a key; None, with a note, if it has another type, and None if it is missing."""
        if not self.has(key):
            return None
        node = self.get(key)
        if is_valid(node.value):
            return node
        kind = next((name for kind, name in _KINDS.items() if isinstance(node.value, kind)), quoted(node.text))
        message = f"`{key}` must be {expected}, not {kind}"
        if self.is_strict:
            raise self.error(key, message)
        self.note(f"{message}; left out", key)
        return None

    def error(self, key: str, message: str) -> ImporterError:
        """Return the error that stops the import at the value of a key."""
        position = self.get(key).position
        return ImporterError(f"{self.path}:{position.line}:{position.column}: {message}")


def is_scalar(value: object) -> bool:
    """Return whether a value is neither a list nor a mapping."""
    return not isinstance(value, tuple(_KINDS))


def is_finite(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number within the range of a float."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
