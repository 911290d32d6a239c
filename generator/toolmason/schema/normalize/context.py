"""Interface and shared state of the normalizer, for the modules that handle groups of keywords."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from toolmason.schema.keywords import equality_key
from toolmason.schema.normal_form import ANY_VALUE, Conjunction, Node, Subschema
from toolmason.schema.references import References

MAX_DEPTH: Final = 40
"""Maximum nesting of references and combinators; deeper schemas count as unconstrained."""
MAX_NORMALIZED_SCHEMAS: Final = 20_000
"""Maximum schemas to normalize, repetitions included; further ones count as unconstrained."""

Keywords: TypeAlias = Mapping[str, Any]
"""The valid keywords of one schema object."""


class SchemaRegistry:
    """Pointers of the original schema objects, and the synthetic schemas that the normalizer creates."""

    def __init__(self) -> None:
        self._pointers: dict[int, str] = {}
        self._synthetic: dict[int, dict[str, Any]] = {}

    def first_pointer(self, schema: dict[str, Any], pointer: str) -> str:
        """Return the pointer under which a schema object was first registered; register `pointer` if it is new."""
        return self._pointers.setdefault(id(schema), pointer)

    def is_synthetic(self, schema: dict[str, Any]) -> bool:
        """Return whether the normalizer created `schema`."""
        return id(schema) in self._synthetic

    def add_synthetic(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Register a synthetic schema and return it. Original schemas in it keep their pointers."""
        pending: list[Any] = [schema]
        while pending:
            part = pending.pop()
            if isinstance(part, dict) and id(part) not in self._pointers and id(part) not in self._synthetic:
                self._synthetic[id(part)] = part  # Keeps the object alive, so that its id stays unique.
                pending += [*part.values(), *part.get("properties", {}).values()]
            elif isinstance(part, list):
                pending += part
        return schema

    def any_of(self, subschemas: Sequence[Subschema]) -> Conjunction:
        """Return a conjunction that accepts the values of any of `subschemas`."""
        by_id: dict[int, Subschema] = {}
        for subschema in subschemas:
            by_id.setdefault(id(subschema.schema), subschema)
        by_key: dict[tuple[str, Any], Subschema] = {}
        for subschema in by_id.values():
            by_key.setdefault(equality_key(subschema.schema), subschema)
        different = list(by_key.values())
        if len(different) == 1:
            return (different[0],)
        schema = self.add_synthetic({"anyOf": [subschema.schema for subschema in different]})
        return (Subschema(schema, different[0].pointer),)

    def union(self, conjunctions: Sequence[Conjunction]) -> Conjunction:
        """Return a conjunction that accepts the values of any of `conjunctions`."""
        subschemas: list[Subschema] = []
        for conjunction in conjunctions:
            if conjunction == ANY_VALUE:
                return ANY_VALUE
            if len(conjunction) == 1:
                subschemas.append(conjunction[0])
            else:
                schema = self.add_synthetic({"allOf": [subschema.schema for subschema in conjunction]})
                subschemas.append(Subschema(schema, conjunction[0].pointer))
        return self.any_of(subschemas)


class NormalizerContext(ABC):
    """The parts of the normalizer that the keyword modules use."""

    references: References
    registry: SchemaRegistry

    @abstractmethod
    def node(self, conjunction: Conjunction) -> Node:
        """Return the normal form of the intersection of subschemas."""

    @abstractmethod
    def normalize(self, subschema: Subschema) -> Node:
        """Return the normal form of one subschema."""

    @abstractmethod
    def normalize_alternative(self, subschema: Subschema) -> Node:
        """Return the normal form of an alternative of a union, in which a self-reference adds nothing."""
