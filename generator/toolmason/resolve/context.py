"""The state that the modules of `resolve` share: tables, document, findings and intermediate results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.tables import AllowTable, ManifestTables
from toolmason.model.client_launch import Declared
from toolmason.model.implementation import Handler, Hints
from toolmason.model.types import DeclaredType, Identifier, JsonSchema
from toolmason.resolve.stubs import Stub
from toolmason.schema.projections import Projections
from toolmason.store import Store


@dataclass(slots=True)
class ResolveContext:
    """The tables, document and findings of one run."""

    tables: ManifestTables
    document: Document
    root: Path
    diagnostics: Diagnostics
    projections: Projections
    types: dict[str, DeclaredType] = field(default_factory=dict)
    definitions: dict[str, JsonSchema] = field(default_factory=dict)
    """The types as `$defs`."""
    kinds: dict[str, Any] = field(default_factory=dict)
    """What each kind of tools has prepared, by the name of the kind."""
    hints: dict[str, Hints] = field(default_factory=dict)
    """The hints of each tool by its name."""

    store: Store | None = None
    """Results of earlier runs."""

    declared: Declared = Declared()  # noqa: RUF009  frozen
    """Commands and requirements in the pyproject.toml of the project."""

    missing: list[Stub] = field(default_factory=list)
    """Functions to write: the manifest names them, and the modules of the handlers do not define them."""

    def raw_table(self, *path: str) -> Mapping[str, Any]:
        """Return the table at `path` in the document, with the parts that `validate` has left out; empty if absent."""
        table: Any = self.document.data
        for key in path:
            table = table.get(key, {}) if isinstance(table, Mapping) else {}
        return table if isinstance(table, Mapping) else {}

    def handler(self, reference: str) -> Handler:
        """Return the function of a reference such as `files:read_files`."""
        module, _, function = reference.partition(":")
        return Handler(module=f"{self.tables.server.handlers}.{module}", function=Identifier(function))

    def prefixed_names(self, kind: str) -> dict[str, str]:
        """Return the names in the manifest of each `command` or `workflow` by the final names.

        Without a readable prefix, there are none.
        """
        outputs, key = self.tables.outputs, f"{kind}_prefix"
        if self.tables.is_uncertain("outputs") or outputs.is_uncertain(key):
            return {}
        return {getattr(outputs, key) + name: name for name in getattr(self.tables, f"{kind}s")}

    def is_known(self, section: str, name: str) -> bool:
        """Return whether the table `section` of the manifest has the key `name`, valid or not, or is unreadable."""
        is_built_in = section == "tools" and name in BUILT_IN
        return is_built_in or name in self.raw_table(section) or self.tables.is_uncertain(section)

    def error(self, code: str, message: str, at: KeyPath, *, hint: str = "", value: bool = True) -> None:
        """Report an error at a value, or at its key."""
        self.document.report(self.diagnostics, code, message, at, hint=hint, value=value)

    def report_unknown(
        self, code: str, kind: str, name: str, known: Iterable[str], at: KeyPath, *, hint: str = ""
    ) -> None:
        """Report an unknown name. Without a `hint`, suggest the closest known name."""
        names = known if isinstance(known, Collection) else list(known)
        hint = hint or did_you_mean(name, names) or f"known: {', '.join(islice(names, 8)) or 'none'}"
        self.error(code, f"unknown {kind} `{name}`", at, hint=hint)


def allowed(tables: Sequence[AllowTable]) -> dict[str, str]:
    """Return the suppressed lint rules of a table, with their reasons."""
    return {table.rule: table.reason for table in tables}
