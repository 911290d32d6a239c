"""The tables of the kind `glossary`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolmason_runtime.shared.toml.tables import JsonValue, PartialTable, Table, key

from toolmason.manifest.rules import SUMMARY
from toolmason.manifest.tables import TierDefaultsTable

_NO_DEFAULTS = TierDefaultsTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryTable(PartialTable):
    """`[glossaries.NAME]`: terms with their meanings."""

    summary: str = key(SUMMARY, default="")
    """Purpose."""
    category: str = ""
    """Default category of its tools."""
    tags: tuple[str, ...] = ()
    """Labels."""
    terms: Mapping[str, str]
    """Term -> meaning."""
    more_terms: str = ""
    """Path of a JSON file with further terms."""
    defaults: TierDefaultsTable = _NO_DEFAULTS
    """Values for its tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryKeys(Table):
    """The keys of a tool."""

    glossary: str = ""
    """Glossary in which the tool looks terms up."""
    fallback: JsonValue = None
    """Unused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryTables(Table):
    """The top-level keys."""

    glossaries: Mapping[str, GlossaryTable] = key(default={})
    """Glossaries."""
