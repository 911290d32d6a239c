"""The report of losses: everything of an operation that its tool does not express."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason.importers.server.losses import some

MESSAGES: Final = {
    "left_out": "operations left out",
    "renamed": "tools whose names differ from those in the document: verb and object, at most 40 characters",
    "parameter": "parameters left out",
    "rare": "optional parameters left out to save tokens; --all-params imports them",
    "header": "headers left out, since the API or the HTTP client sets them",
    "name": "fields left out, since model providers reject their names",
    "any": "values of several types, imported with one of them",
    "union": "unions of objects, imported as one object with the fields of all",
    "choice": "rules about combinations of fields, not checked before the request",
    "required": "fields that are required only if the optional body is sent, not checked before the request",
    "binary": "files that are sent as text",
    "recursive": "recursive types, imported as `object` where they repeat",
    "large": "large types, imported as `object`",
    "open": "objects that accept undeclared members, which tools cannot send",
    "constraint": "constraints that are not checked before the request",
    "encoding": "values with an encoding that the document does not specify",
    "answer": "fields of responses left out to save tokens; to get one, add it to the type in `returns`",
    "media": "further media types of bodies, not used",
    "security": "credentials that are not sent",
    "reference": "values left out, since a reference has no target",
}
"""Message for each kind of loss, in the order of the report."""


class LeftOutError(ValueError):
    """An operation cannot be a tool; the message is the reason."""


@dataclass(slots=True)
class Losses:
    """The losses by operation or type, and notes about the whole document."""

    notes: list[str] = field(default_factory=list)
    places: Callable[[], dict[str, str]] = dict
    """Gives `file:line:column` of each operation, for the report."""
    _lost: dict[str, dict[tuple[str, str], None]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, kind: str, about: str, detail: str) -> None:
        """Record a loss of an operation, such as `GET /items`, or of a type; `detail` names the part."""
        self._lost[about][kind, detail] = None

    def of(self, about: str) -> list[dict[str, str]]:
        """Return the losses of an operation or a type as JSON objects."""
        return [{"kind": kind, "detail": detail} for kind, detail in self._lost.get(about, ())]

    def discard(self, about: str, kinds: tuple[str, ...], prefix: str) -> None:
        """Remove losses of some kinds whose detail starts with `prefix`."""
        lost = self._lost.get(about, {})
        for kind, detail in [item for item in lost if item[0] in kinds and item[1].startswith(prefix)]:
            del lost[kind, detail]

    def keep_only(self, names: Container[str]) -> None:
        """Remove the losses of other operations and types."""
        for about in [about for about in self._lost if about not in names]:
            del self._lost[about]

    def merge(self, about: str, source: str) -> None:
        """Add the losses of one part to another."""
        if source in self._lost:
            self._lost[about].update(self._lost[source])

    def summary(self) -> list[str]:
        """Return the notes, then one line for each kind of loss with the first names."""
        by_kind: dict[str, dict[str, None]] = defaultdict(dict)
        for about, losses in self._lost.items():
            for kind, _ in losses or ():
                by_kind[kind][about] = None
        lines = [
            f"{message} ({len(by_kind[kind])}): {some(list(by_kind[kind]))}"
            for kind, message in MESSAGES.items()
            if kind in by_kind
        ]
        return [*self.notes, *lines]

    def report(self, tools: Mapping[str, str]) -> dict[str, Any]:
        """Return the whole report as JSON; `tools` are the names of the tools by operation."""
        places = self.places()
        operations = {
            key: {
                "tool": name or None,
                **({"at": place} if (place := places.get(key)) else {}),
                "losses": self.of(key),
            }
            for key, name in tools.items()
        }
        types = {about: self.of(about) for about in self._lost if about not in tools}
        return {"notes": self.notes, "operations": operations, "types": types}
