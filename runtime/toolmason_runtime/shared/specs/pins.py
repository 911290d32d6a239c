"""Pins: the hashes of an upstream's approved tools, and their differences from its current tools.

A manifest has the hash of each tool in `upstream_hash`. A server that changes a tool after its approval ("rug pull") is
found when its tools are listed: at the start of a connection, and again when the upstream reports a change. Behind the
hash, the words of a pin name the parts of the tool, so that a report names the part that changed:
`39f4... description=1a2b3c4d arguments=5e6f7a8b hints=readOnly:true`. Only the hash decides whether a tool changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.look_alikes import skeleton
from toolmason_runtime.shared.specs.upstream import Upstream

HASH_LENGTH: Final = 64
"""Hexadecimal digits of a hash. The author of a server can choose both versions of a tool, so 64 bits are too few."""
MIN_HASH_LENGTH: Final = 16
"""Digits of hashes in older manifests, which are compared with the first digits of a hash."""
PIN_PATTERN: Final = rf"[0-9a-f]{{{MIN_HASH_LENGTH}}}|[0-9a-f]{{{HASH_LENGTH}}}( [a-z]+=[A-Za-z0-9:,]+)*"
"""The form of a pin."""
_PARTS: Final = ("title", "description", "inputSchema", "outputSchema")
_NAMES: Final = {
    "title": "title",
    "description": "description",
    "inputSchema": "arguments",
    "outputSchema": "result",
    "annotations": "hints",
}
"""The parts of a tool -> their names in pins and reports."""
_HINTS: Final = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_PART_LENGTH: Final = 8
"""Hexadecimal digits of a part in a pin."""
_MAX_NAMED: Final = 8
_RANKS: Final = ("read-only", "not destructive", "destructive")
"""The effects that hints declare, the least first."""
REVIEW_COMMAND: Final = "toolmason check --upstreams"
"""The command that shows the differences of upstreams and, with `--approve TOOL`, accepts those of a tool."""
UNKNOWN_PARTS: Final = ("a text, a hint or a schema",)
"""The changed parts of a tool whose pin does not name its parts."""
TWICE: Final = ("listed several times with differences",)


def fingerprint(tool: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the texts, hints and schemas of a tool as on the wire, in hexadecimal digits.

    It is empty if a schema nests too deep. The name is not a part: hashes of tools of the same name are compared.
    """
    return _digest(_parts(tool))


def pin_of(tool: Mapping[str, Any]) -> str:
    """Return the pin of a tool as on the wire: its hash, and a word for each of its parts.

    It is empty if a schema nests too deep.
    """
    if not (hash_ := fingerprint(tool)):
        return ""
    return " ".join([hash_, *(f"{name}={value}" for name, value in _words(tool).items())])


def hash_in(pin: str) -> str:
    """Return the hash at the beginning of a pin."""
    return pin.partition(" ")[0]


def is_pinned(pin: str, hash_: str) -> bool:
    """Return whether a hash matches the pin in a manifest; pins of older manifests have the first 16 digits."""
    return len(recorded := hash_in(pin)) >= MIN_HASH_LENGTH and hash_.startswith(recorded)


def changed_parts(pin: str, tool: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of a tool that differ from its pin, hints first: `hints (read-only, now destructive)`."""
    old = dict(word.split("=", 1) for word in pin.split(" ")[1:])
    if not old:
        return UNKNOWN_PARTS
    new = _words(tool)
    changed = [name for name in _NAMES.values() if old.get(name) != new.get(name)]
    parts = [name for name in changed if name != "hints"]
    if "hints" in changed:
        parts.insert(0, _hint_change(old.get("hints", ""), new.get("hints", "")))
    return tuple(parts) or UNKNOWN_PARTS


def is_escalation(parts: Iterable[str]) -> bool:
    """Return whether changed parts contain hints that now declare a worse effect."""
    return any(part == _escalation(old, new) for part in parts for old, new in _escalations())


def _escalations() -> list[tuple[str, str]]:
    return [(old, new) for index, old in enumerate(_RANKS) for new in _RANKS[index + 1 :]]


def _escalation(old: str, new: str) -> str:
    return f"hints ({old}, now {new})"


def _hint_change(old: str, new: str) -> str:
    before, after = _effect(old), _effect(new)
    return "hints" if before == after else _escalation(before, after)


def _effect(hints: str) -> str:
    """Return the effect that hints in a pin declare, with the defaults of MCP. If they contradict, the worse counts."""
    declared = dict(hint.split(":", 1) for hint in hints.split(",") if ":" in hint)
    if declared.get("readOnly") == "true" and declared.get("destructive") != "true":
        return "read-only"
    return "not destructive" if declared.get("destructive") == "false" else "destructive"


def _parts(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a tool that its hash covers."""
    parts = {key: tool[key] for key in _PARTS if tool.get(key) is not None}
    annotations = tool.get("annotations")
    if isinstance(annotations, Mapping):
        parts["annotations"] = {key: annotations[key] for key in _HINTS if annotations.get(key) is not None}
    return parts


def _words(tool: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of each part of a tool, with the first digits of its hash; hints are readable."""
    words: dict[str, str] = {}
    parts = _parts(tool)
    hints = parts.pop("annotations", {})
    titles = [title for title in (parts.pop("title", None), hints.pop("title", None)) if title is not None]
    if titles:
        words["title"] = _digest(titles)[:_PART_LENGTH]
    words |= {_NAMES[key]: _digest(value)[:_PART_LENGTH] for key, value in parts.items()}
    if hints:
        words["hints"] = ",".join(
            f"{name.removesuffix('Hint')}:{json.dumps(value) if isinstance(value, bool) else 'invalid'}"
            for name, value in sorted(hints.items())
        )
    return words


def _digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value in hexadecimal digits; empty if it nests too deep."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:  # deeper than any schema that could have been imported
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools that an upstream lists now, and their differences from the manifest."""

    hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of each tool by its name; empty for a name with several different tools."""
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The changed parts of each changed tool, by its name."""
    gone: tuple[str, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    """New tool -> the known tool whose name looks like its own; empty without one."""
    is_cut: bool = False
    """Whether the list exceeds the limits, so that the rest was not read."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The differences as sentences for logs and reports, those with worse hints first."""
        changed = sorted(self.changed.items(), key=lambda item: not is_escalation(item[1]))
        messages = {
            "changed since the import, so each call needs approval": [
                f"{_shown(name)} ({', '.join(parts)})" for name, parts in changed
            ],
            "no longer listed": [_shown(name) for name in self.gone],
            "new, and not served": [
                f"{_shown(name)} (looks like {_shown(known)})" if known else _shown(name)
                for name, known in sorted(self.added.items(), key=lambda item: not item[1])
            ],
        }
        problems = [f"tools {reason}: {_some(tools)}" for reason, tools in messages.items() if tools]
        return (*problems, *(["its list of tools is too long: the rest was not read"] if self.is_cut else []))


def compare(upstream: Upstream, tools: Iterable[Mapping[str, Any]], *, is_cut: bool = False) -> Listing:
    """Return the differences of the listed tools, as on the wire, from the pins of an upstream."""
    hashes: dict[str, str] = {}
    listed: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        name, new = tool["name"], fingerprint(tool)
        hashes[name] = new if hashes.get(name, new) == new else ""
        listed[name] = tool
    pins = {name: pin for name, pin in upstream.pins.items() if pin}
    # A manifest without hashes was written by hand, so it may omit tools.
    known = {*upstream.pins, *upstream.unused_tools} if pins else hashes
    served = {skeleton(name): name for name in upstream.pins}
    return Listing(
        hashes=hashes,
        changed={
            name: changed_parts(pin, listed[name]) if hashes[name] else TWICE
            for name, pin in pins.items()
            if name in hashes and not is_pinned(pin, hashes[name])
        },
        gone=tuple(name for name in pins if name not in hashes),
        added={name: served.get(skeleton(name), "") for name in hashes if name not in known},
        is_cut=is_cut,
    )


def _shown(name: str) -> str:
    """Return a name of a tool as one printable line of ASCII."""
    return json.dumps(name[:80])[1:-1]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"
