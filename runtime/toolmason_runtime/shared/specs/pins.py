"""Pins: the hashes of an upstream's tools at the import, and the differences of its present tools from them.

A manifest has the hash of each tool in `upstream_hash`. A server that changes a tool after its import ("rug pull") is
found when its tools are listed: at the start of a connection, and again when the upstream reports a change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.specs.upstream import Upstream

HASH_LENGTH: Final = 64
"""Hexadecimal digits of a hash: the author of a server chooses both versions of a tool, so 64 bits are too few."""
MIN_HASH_LENGTH: Final = 16
"""Digits of hashes in older manifests, which are compared with the first digits of a hash."""
_PARTS: Final = ("title", "description", "inputSchema", "outputSchema")
_HINTS: Final = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_MAX_NAMED: Final = 8


def fingerprint(tool: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the texts, hints and schemas of a tool as on the wire, in hexadecimal digits.

    It is empty if a schema nests too deep. The name is not a part: hashes of tools of the same name are compared.
    """
    parts = {key: tool[key] for key in _PARTS if tool.get(key) is not None}
    annotations = tool.get("annotations")
    if isinstance(annotations, Mapping):
        parts["annotations"] = {key: annotations[key] for key in _HINTS if annotations.get(key) is not None}
    try:
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    except RecursionError:  # too deep for a schema that anyone could have imported
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


def is_pinned(pin: str, hash_: str) -> bool:
    """Return whether a hash equals the pin of a manifest; old manifests have the first 16 digits."""
    return len(pin) >= MIN_HASH_LENGTH and hash_.startswith(pin)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools that an upstream lists now, and their differences from the manifest."""

    hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of each tool by its name; empty for a name with several different tools."""
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    is_cut: bool = False
    """Whether the list exceeds the limits, so that the rest was not read."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The differences as sentences for logs and reports."""
        messages = {
            "changed since the import, so each call needs approval": self.changed,
            "no longer listed": self.gone,
            "new, and not served": self.added,
        }
        problems = [f"tools {reason}: {_some(names)}" for reason, names in messages.items() if names]
        return (*problems, *(["its list of tools is too long: the rest was not read"] if self.is_cut else []))


def compare(upstream: Upstream, tools: Iterable[Mapping[str, Any]], *, is_cut: bool = False) -> Listing:
    """Return the differences of the listed tools, as on the wire, from the pins of an upstream."""
    hashes: dict[str, str] = {}
    for tool in tools:
        name, new = tool["name"], fingerprint(tool)
        hashes[name] = new if hashes.get(name, new) == new else ""
    pins = {name: pin for name, pin in upstream.pins.items() if pin}
    # A manifest without hashes was not imported, so it may leave tools out.
    known = {*upstream.pins, *upstream.unused_tools} if pins else hashes
    return Listing(
        hashes=hashes,
        changed=tuple(name for name, pin in pins.items() if name in hashes and not is_pinned(pin, hashes[name])),
        gone=tuple(name for name in pins if name not in hashes),
        added=tuple(name for name in hashes if name not in known),
        is_cut=is_cut,
    )


def _some(names: tuple[str, ...]) -> str:
    """Return the first names, each as one printable line."""
    shown = [json.dumps(name[:80])[1:-1] for name in names[:_MAX_NAMED]]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(shown)}{more}"
