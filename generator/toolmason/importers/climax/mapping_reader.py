"""Keys of a mapping, read as what they should hold. What they do not is noted, and as good as absent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.positions import Position
from toolmason_runtime.toml.problems import either, quoted

from toolmason.importers.climax.yaml_nodes import Node
from toolmason.importers.notes import Notes

_KINDS: Final = {dict: "a mapping", tuple: "a list"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A mapping of a file; `about` is how it is called in notes."""

    node: Node
    path: str
    notes: Notes
    about: str = ""

    def called(self, about: str) -> Fields:
        """Give the same mapping under another name."""
        return replace(self, about=about)

    def note(self, message: str, key: str = "") -> None:
        """Note something about the mapping, or about one of its keys."""
        self.notes.add(self.path, self._place(key), self.about, message)

    def stop(self, message: str, key: str = "") -> None:
        """Note a reason why nothing can be imported."""
        self.notes.stop(self.path, self._place(key), self.about, message)

    def _place(self, key: str) -> Position:
        place: Position = self.node.value[key].key if key in self.node.value else self.node.place
        return place

    def known(self, keys: Sequence[str]) -> None:
        """Note every key that is none of `keys`."""
        for key in self.node.value:
            if key not in keys:
                hint = did_you_mean(key, keys)
                self.note(f"unknown key {quoted(key)}, left out{f' ({hint})' if hint else ''}", key)

    def has(self, key: str) -> bool:
        """Whether the key is there with a value."""
        return key in self.node.value and self.node.value[key].value is not None

    def get(self, key: str) -> Node:
        """Give the value of a key that is there."""
        node: Node = self.node.value[key]
        return node

    def text(self, key: str) -> str:
        """Read a text; any scalar is one, as it is written. Empty if there is none."""
        return self.get(key).text if self.has(key) and self._is(key, None, "a text") else ""

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """Read one of several words; empty if there is none."""
        word = self.text(key)
        if word and word not in choices:
            self.note(f"{quoted(word)} is no `{key}`, left out: it would be {either(choices)}", key)
            return ""
        return word

    def flag(self, key: str) -> bool:
        """Read true or false; what is absent is false."""
        if not self.has(key):
            return False
        value = self.get(key).value
        if isinstance(value, bool):
            return value
        self.note(f"`{key}` is neither true nor false, left out", key)
        return False

    def number(self, key: str) -> int | float | None:
        """Read a finite number."""
        if not self.has(key):
            return None
        value = self.get(key).value
        if is_finite(value):
            return value
        self.note(f"`{key}` is no finite number, left out", key)
        return None

    def texts(self, key: str) -> list[str]:
        """Read a list of texts."""
        if not self.has(key) or not self._is(key, tuple, "a list"):
            return []
        nodes: tuple[Node, ...] = self.get(key).value
        if any(isinstance(each.value, dict | tuple) or each.value is None for each in nodes):
            self.note(f"`{key}` holds what is no text; that is left out", key)
        return [each.text for each in nodes if not isinstance(each.value, dict | tuple) and each.value is not None]

    def mapping(self, key: str) -> dict[str, Node]:
        """Read a mapping; empty if there is none."""
        if not self.has(key) or not self._is(key, dict, "a mapping"):
            return {}
        found: dict[str, Node] = self.get(key).value
        return found

    def mappings(self, key: str) -> Iterator[Fields]:
        """Read a list of mappings."""
        if not self.has(key) or not self._is(key, tuple, "a list"):
            return
        for each in self.get(key).value:
            if isinstance(each.value, dict):
                yield Fields(node=each, path=self.path, notes=self.notes)
            else:
                self.notes.add(self.path, each.place, self.about, f"`{key}` holds what is no mapping; that is left out")

    def inner(self, key: str, about: str = "") -> Fields | None:
        """Read a mapping as fields; None if there is none."""
        if not self.has(key) or not self._is(key, dict, "a mapping"):
            return None
        return Fields(node=self.get(key), path=self.path, notes=self.notes, about=about or self.about)

    def _is(self, key: str, kind: type | None, words: str) -> bool:
        """Whether a value is of a kind, None being a scalar."""
        value = self.get(key).value
        found = next((each for each in _KINDS if isinstance(value, each)), None)
        if found is kind:
            return True
        self.note(f"`{key}` must be {words}, not {_KINDS[found] if found else 'a scalar'}; left out", key)
        return False


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number that can be compared: a float has no room for every integer."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
