"""Insert shared values where they are used: parameters of `[params]`, and the `defaults` of categories and providers.

Later stages see a manifest in which each tool has its own values. `Document.origins` leads from them to the place where
they were written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolmason_runtime.toml.positions import KeyPath

from toolmason.kinds import kinds
from toolmason.kinds.kind import Section
from toolmason.manifest.document import Document

CATEGORY_DEFAULTS: Final = ("hints", "tier", "tags")
"""Keys of `defaults` of a category."""


def defaults() -> dict[str, tuple[str, ...]]:
    """Return the sections with `defaults` and their keys: categories, then those of kinds of tools."""
    return {"categories": CATEGORY_DEFAULTS, **{section.name: section.defaults for section in _sections()}}


def _sections() -> Iterator[Section]:
    yield from (kind.section for kind in kinds().values() if kind.section)


def insert_shared_values(document: Document) -> Document:
    """Return the document with shared values in its tools. The name of an unknown shared parameter stays."""
    tools = document.data.get("tools")
    groups = [group for section in defaults() for group in _table(document.data, section).values()]
    has_defaults = any("defaults" in group for group in groups if isinstance(group, dict))
    if not isinstance(tools, dict) or not (has_defaults or _uses_params(tools)):
        return document
    insertion = _Insertion(document)
    expanded = {name: insertion.expand(name, tool) if isinstance(tool, dict) else tool for name, tool in tools.items()}
    # Problems of shared values are reported where they were written, so those tables are read first.
    first = {key: document.data[key] for key in ("params", *defaults()) if key in document.data}
    return replace(document, data={**first, **document.data, "tools": expanded}, origins=insertion.origins)


def _uses_params(tools: Mapping[str, Any]) -> bool:
    params = (param for tool in tools.values() for param in _table(tool, "params").values())
    return any(isinstance(param, str) or (isinstance(param, dict) and "use" in param) for param in params)


def _table(data: Any, key: Any) -> Mapping[str, Any]:
    value = data.get(key) if isinstance(data, dict) and isinstance(key, str) else None
    return value if isinstance(value, dict) else {}


@dataclass
class _Insertion:
    """The insertion of shared values into the tools of one document."""

    document: Document
    origins: dict[KeyPath, KeyPath] = field(default_factory=dict)

    def expand(self, name: str, tool: Mapping[str, Any]) -> dict[str, Any]:
        """Return a tool with its defaults and shared parameters."""
        expanded = {**tool, **self._defaults(name, tool)}
        if isinstance(tool.get("params"), dict):
            params = tool["params"].items()
            expanded["params"] = {key: self._param(("tools", name, "params", key), value) for key, value in params}
        return expanded

    def _defaults(self, name: str, tool: Mapping[str, Any]) -> dict[str, Any]:
        """Return the defaults of the tool's program, API or upstream, then those of its category."""
        data = self.document.data
        section = next((section for section in _sections() if section.key in tool), None)
        group = tool.get(section.key) if section else None
        category = tool.get("category", _table(_table(data, section.name), group).get("category") if section else None)
        own = ((section.name, group, section.defaults),) if section else ()
        # The hints of tools with `cli` or `api` follow from their risk. Those of another server need a statement about
        # that server, not about the category that it was put into.
        derived = section.derived if section else frozenset[str]()
        shared = tuple(key for key in CATEGORY_DEFAULTS if key not in derived)
        values: dict[str, Any] = {}
        for owner_section, owner, keys in (*own, ("categories", category, shared)):
            defaults = _table(_table(_table(data, owner_section), owner), "defaults")
            for key in keys:
                if key in defaults and key not in tool and key not in values:
                    values[key] = defaults[key]
                    self.origins["tools", name, key] = (owner_section, str(owner), "defaults", key)
        return values

    def _param(self, at: KeyPath, param: Any) -> Any:
        """Return a parameter with the keys of the shared one that it uses. An unknown one stays a text."""
        shared = _table(self.document.data, "params")
        own = param if isinstance(param, dict) else {}
        used = own.get("use") if own else param
        if not isinstance(used, str):
            return param
        if not isinstance(shared.get(used), dict):
            self.origins |= {at: (*at, "use")} if own else {}
            return used
        self.origins |= {(*at, key): ("params", used, key) for key in shared[used] if key not in own}
        self.origins[*at, "use"] = ("params", used)
        return {**shared[used], **{key: value for key, value in own.items() if key != "use"}}
