"""Find the references of a schema that are part of a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolmason.schema.findings import json_pointer
from toolmason.schema.scan.occurrences import Parts


@dataclass(frozen=True, slots=True)
class Reference:
    """A resolved `$ref`: the index of its occurrence, its location and the pointer of its target."""

    occurrence: int
    parts: Parts
    target: str
    is_required: bool


def recursive_references(references: Sequence[Reference]) -> Iterator[Reference]:
    """Yield the references whose target refers back to a schema around them."""
    targets = {reference.target for reference in references}
    around = [[pointer for pointer in _prefixes(reference.parts) if pointer in targets] for reference in references]
    graph: dict[str, set[str]] = {target: set() for target in targets}
    for reference, pointers in zip(references, around, strict=True):
        for pointer in pointers:
            graph[pointer].add(reference.target)
    cyclic = _nodes_on_cycles(graph)
    for reference, pointers in zip(references, around, strict=True):
        if reference.target in cyclic and not cyclic.isdisjoint(pointers):
            yield reference


def _prefixes(parts: Parts) -> list[str]:
    """Return the JSON Pointers of a location and of everything around it."""
    return [json_pointer(parts[:length]) for length in range(len(parts) + 1)]


def _nodes_on_cycles(graph: Mapping[str, set[str]]) -> set[str]:
    """Return the nodes on a cycle or between two cycles, by removing the others layer by layer."""
    remaining = dict(graph)
    while True:
        reached = {target for targets in remaining.values() for target in targets}
        inner = {
            node: targets & remaining.keys()
            for node, targets in remaining.items()
            if node in reached and targets & remaining.keys()
        }
        if len(inner) == len(remaining):
            return set(inner)
        remaining = inner
