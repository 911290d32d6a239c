"""A home of the real CLI, and the environment of a server that would ask it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

KEY: Final = "AIzaSyFakeKeyThatMustNeverLeak0123456789"
"""The secret of the fixture `gemini_home`: it must be found nowhere but in the request's header."""


@dataclass(frozen=True)
class Home:
    """A home of the real CLI. `environ` is the whole environment of a server that would ask it."""

    path: Path
    environ: Mapping[str, str]

    @property
    def settings(self) -> Path:
        return self.path / ".gemini" / "settings.json"

    def set(self, **settings: Any) -> None:
        """Add to the user's settings, section by section."""
        old = json.loads(self.settings.read_text(encoding="utf-8"))
        self.settings.write_text(json.dumps({**old, **settings}), encoding="utf-8")

    def without(self, *names: str, **more: str) -> dict[str, str]:
        """Give the environment without some variables, and with others."""
        return {name: value for name, value in self.environ.items() if name not in names} | more
