"""The projections of a run: targets of a schema share one reading of it, and results of earlier runs are reused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from hashlib import sha256
from typing import Any, Final

from toolmason.schema.findings import Finding, Severity
from toolmason.schema.keywords import json_text
from toolmason.schema.normalize import Normalizer
from toolmason.schema.project import Projection, project, projected
from toolmason.store import Store
from toolmason.targets import Target


class Projections:
    """Converts schemas that are trees of JSON, as those of tools are."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._normalizers: dict[str, Normalizer] = {}
        self._texts: dict[int, tuple[Any, str]] = {}
        """The JSON text of each schema by its id. The schema is kept alive, so that its id stays unique."""

    def project(self, schema: Any, target: Target, *, rename: bool | None = None, store: bool = True) -> Projection:
        """Return the same as `toolmason.schema.project`. With `store`, a new result is stored for later runs."""
        text = self._text(schema, target)
        if not text:
            return project(schema, target, rename=rename)
        if self._store is None:
            return self._convert(text, target, rename)
        key = _key(text, target, rename)
        stored = self._store.get(key)
        if stored is not None:
            return _from_json(stored)
        projection = self._convert(text, target, rename)
        if store and (encoded := _to_json(projection)):
            self._store[key] = encoded
        return projection

    def texts(self, schemas: Iterable[Any]) -> dict[str, str]:
        """Convert schemas for all providers; return their entries in the store, for `Projections` in another process.

        Without a store, it is empty.
        """
        if self._store is None:
            return {}
        entries = {}
        for schema in schemas:
            for target in _PROVIDERS:
                key = _key(self._text(schema, target), target, None)
                if self._store.get(key) is None:
                    self.project(schema, target)
                if (text := self._store.get(key)) is not None:
                    entries[key] = text
        return entries

    def _text(self, schema: Any, target: Target) -> str:
        known = self._texts.get(id(schema))
        if known is not None:
            return known[1]
        text = json_text(schema)
        if target is not Target.MCP:
            self._texts[id(schema)] = schema, text
        return text

    def _convert(self, text: str, target: Target, rename: bool | None) -> Projection:
        shared = self._normalizers.get(text)
        if shared is None:
            shared = Normalizer(json.loads(text))
            # By default, a server has no other targets than this first one.
            if target is not Target.MCP:
                self._normalizers[text] = shared
        projection = projected(shared, target, rename=rename) if shared.is_reusable else None
        if projection is None or not shared.is_reusable:
            projection = projected(Normalizer(json.loads(text)), target, rename=rename)
        return projection


def _key(text: str, target: Target, rename: bool | None) -> str:
    return f"projection {target} {rename} {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


_PROVIDERS: Final = tuple(target for target in Target if target is not Target.MCP)
_FIELDS: Final = tuple(field.name for field in fields(Finding) if field.name not in {"clients", "providers", "share"})
"""The fields that findings of projections have."""


def _to_json(projection: Projection) -> str:
    """Return a projection as JSON on one line; empty if JSON cannot represent it."""
    findings = [[getattr(finding, name) for name in _FIELDS] for finding in projection.findings]
    return json_text([projection.schema, findings, dict(projection.renamed)])


def _from_json(text: str) -> Projection:
    schema, findings, renamed = json.loads(text)
    return Projection(schema=schema, findings=tuple(map(_finding, findings)), renamed=renamed)


def _finding(values: list[Any]) -> Finding:
    named = dict(zip(_FIELDS, values, strict=True))
    return Finding(**{**named, "severity": Severity(named["severity"])})
