"""Find the references of a schema that are part of a cycle, in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from toolmason.schema.findings import json_pointer
from toolmason.schema.walk import Parts


class Reference(NamedTuple):
    """A resolved `$ref`: the index of its occurrence, its location and the pointer of its target."""

    occurrence: int
    parts: Parts
    target: str
    is_required: bool


def recursive_references(references: Sequence[Reference]) -> Iterator[Reference]:
    """Yield the references whose target refers back to a schema around them."""
    targets = {reference.target for reference in references}
    around = [targets.intersection(_prefixes(reference.parts)) for reference in references]
    used_by: dict[str, set[str]] = {target: set() for target in targets}
    uses: dict[str, set[str]] = {target: set() for target in targets}
    for reference, pointers in zip(references, around, strict=True):
        used_by[reference.target] |= pointers
        for pointer in pointers:
            uses[pointer].add(reference.target)
    cyclic = _unsortable(uses) & _unsortable(used_by)
    for reference, pointers in zip(references, around, strict=True):
        if reference.target in cyclic and not cyclic.isdisjoint(pointers):
            yield reference


def _prefixes(parts: Parts) -> list[str]:
    """Return the JSON Pointers of a location and of everything around it."""
    return [json_pointer(parts[:length]) for length in range(len(parts) + 1)]


def _unsortable(graph: Mapping[str, set[str]]) -> set[str]:
    """Return the nodes from which `graph` leads to a cycle."""
    sorter, remaining = TopologicalSorter(graph), set(graph)
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        remaining.difference_update(ready)
        sorter.done(*ready)
    return remaining
