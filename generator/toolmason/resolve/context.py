"""What the parts of `resolve` share: the tables, the document, the findings and the types known so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolmason_runtime.programs.spec import Program
from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.suggestions import did_you_mean
from toolmason_runtime.toml.positions import KeyPath

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.tables import ManifestTables
from toolmason.model.tool import Hints
from toolmason.model.types import JsonSchema, ObjectType


@dataclass(slots=True)
class Resolution:
    """One run's tables, document and findings, passed along instead of eight arguments."""

    tables: ManifestTables
    document: Document
    root: Path
    diagnostics: Diagnostics
    types: dict[str, ObjectType] = field(default_factory=dict)
    definitions: dict[str, JsonSchema] = field(default_factory=dict)
    """The types as `$defs`."""
    programs: dict[str, Program] = field(default_factory=dict)
    hints: dict[str, Hints] = field(default_factory=dict)
    """What clients are told of each tool, by its name."""

    scripts: frozenset[str] = frozenset()
    """The commands that the project installs."""

    def written(self, *path: str) -> Mapping[str, Any]:
        """Give the table at `path` as it stands in the document, with what `validate` left out of it."""
        found: Any = self.document.data
        for key in path:
            found = found.get(key, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    def is_known(self, section: str, name: str) -> bool:
        """Whether a name stands in a table of the manifest, valid or not, or that table is unreadable."""
        is_built_in = section == "tools" and name == FETCH_CHUNK
        return is_built_in or name in self.written(section) or self.tables.is_uncertain(section)

    def error(self, code: str, message: str, at: KeyPath, *, hint: str = "", value: bool = True) -> None:
        """Note a mistake at a value, or at its key."""
        self.document.report(self.diagnostics, code, message, at, hint=hint, value=value)

    def unknown(self, code: str, what: str, name: str, known: Iterable[str], at: KeyPath, *, hint: str = "") -> None:
        """Report an unknown name. Without a `hint`, suggest the closest known name."""
        names = list(known)
        hint = hint or did_you_mean(name, names) or f"known: {', '.join(names[:8]) or 'none'}"
        self.error(code, f"unknown {what} `{name}`", at, hint=hint)
