"""Names of properties that a dialect refuses, and what stands for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from toolmason.schema.providers import Dialect

_MAX_LENGTH: Final = 64


class Names:
    """Gives each property the name it is shown by. `renamed` leads from there back to its own."""

    def __init__(self, dialect: Dialect, *, rename: bool, taken: Callable[[], Collection[str]]) -> None:
        self._allowed = dialect.names if rename else None
        self._taken = taken
        self._shown: dict[str, str] = {}
        self.renamed: dict[str, str] = {}

    def shown(self, name: str) -> str:
        """Give the name that the dialect takes for `name`; always the same."""
        if self._allowed is None or self._allowed.fullmatch(name):
            return name
        if name not in self._shown:
            self._shown[name] = shown = self._new(name)
            self.renamed[shown] = name
        return self._shown[name]

    def _new(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")[: _MAX_LENGTH - 4]
        if not plain or plain[0].isdigit():
            plain = f"p_{plain}"
        found, number = plain, 2
        while found in self.renamed or found in self._taken():
            found, number = f"{plain}_{number}", number + 1
        return found
