"""Replacement names for properties whose names a dialect rejects."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from toolmason.schema.providers import Dialect

_MAX_NAME_LENGTH: Final = 64


class PropertyNames:
    """Maps property names to accepted names. `renamed` maps replacements back to the original names."""

    def __init__(self, dialect: Dialect, *, rename: bool, reserved: Callable[[], Collection[str]]) -> None:
        self._allowed = dialect.property_names if rename else None
        self._reserved = reserved
        self._names: dict[str, str] = {}
        self.renamed: dict[str, str] = {}

    def name_for(self, name: str) -> str:
        """Return the accepted name for `name`; the same one in every call."""
        if self._allowed is None or self._allowed.fullmatch(name):
            return name
        if name not in self._names:
            self._names[name] = replacement = self._replacement(name)
            self.renamed[replacement] = name
        return self._names[name]

    def in_text(self, text: str) -> str:
        """Replace quoted original names in a sentence."""
        for replacement, name in self.renamed.items():
            text = text.replace(f"`{name}`", f"`{replacement}`")
        return text

    def _replacement(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")[: _MAX_NAME_LENGTH - 4]
        if not plain or plain[0].isdigit():
            plain = f"p_{plain}"
        candidate, number = plain, 2
        while candidate in self.renamed or candidate in self._reserved():
            candidate, number = f"{plain}_{number}", number + 1
        return candidate
