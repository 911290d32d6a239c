"""Select the objects of a large schema that fit into a number of bytes, before anything is emitted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from toolmason.schema.emit.context import ITEMS, MAX_DEPTH, MAX_NODES, MAX_RECURSION_UNROLLS
from toolmason.schema.emit.declared import declared_properties
from toolmason.schema.emit.limits import without_spelled_out
from toolmason.schema.normal_form import ANY_VALUE, Branch, Conjunction
from toolmason.schema.normalize import Normalizer
from toolmason.schema.providers import Dialect

Path = tuple[str, ...]
"""The names of the properties around a schema, with `ITEMS` for the items of an array."""

_TYPE_BYTES: Final = len('{"type":"integer"},')
_OBJECT_BYTES: Final = len(',"properties":{}')
_REQUIRED_BYTES: Final = len(',"required":[]')
_ARRAY_BYTES: Final = len(',"items":')
_SENTENCE_BYTES: Final = len("At most 1000. ")
_SENTENCE_ABOUT_MODEL_BYTES: Final = len(',"description":"Like `parent.child`."')
_MIN_OBJECT_BYTES: Final = 60
_MAX_MISSES: Final = 12
"""Objects that do not fit, after which no other one is tried."""
_UNION_BYTES: Final = len('{"anyOf":[]}')
_ANY_BYTES: Final = 240
"""Bytes of a union of all types."""
_DESCRIPTION_BYTES: Final = len('"description":"",')


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that keep their properties. `models` has the path of the first object of each model."""

    objects: frozenset[Path] = frozenset()
    models: Mapping[Hashable, str] = field(default_factory=dict)

    def like(self, branches: Iterable[Branch]) -> str:
        """Return the path of a selected object of the same model; an empty string without one."""
        return next((self.models[branch.pointer] for branch in branches if branch.pointer in self.models), "")


@dataclass(frozen=True, slots=True)
class Form:
    """The parts of a schema to emit.

    A recursive object is copied into itself `unrolls` times. Objects outside of `selection` accept any property. The
    author's descriptions are omitted below `description_levels`; those of arguments are shortened. With `is_lean`,
    limits of nested values are not repeated in descriptions.
    """

    unrolls: int = MAX_RECURSION_UNROLLS
    description_levels: int = MAX_DEPTH
    is_lean: bool = False
    selection: Selection | None = None

    @property
    def has_inner_objects(self) -> bool:
        """Whether the selection has an object below the root."""
        return self.selection is not None and len(self.selection.objects) > 1


def select_objects(normalizer: Normalizer, max_bytes: int, dialect: Dialect) -> Form:
    """Return the parts that fit into about `max_bytes`: names first, then repeated limits, then descriptions.

    The least deep objects come first, but further objects of a model after all others, since the first one lists the
    names. Descriptions of arguments come before everything else.
    """
    selector = _Selector(normalizer, max_bytes, dialect)
    selection = selector.select()
    remaining = selector.remaining - selector.limit_bytes
    if remaining < 0:
        return Form(unrolls=0, description_levels=1, is_lean=True, selection=selection)
    levels = 1
    while levels < MAX_DEPTH and remaining >= selector.description_bytes[levels]:
        remaining -= selector.description_bytes[levels]
        levels += 1
    return Form(unrolls=0, description_levels=levels, selection=selection)


class _Candidate(NamedTuple):
    """An object that is not selected yet. `level` is that of its properties, `around` has the models around it."""

    branches: Sequence[Branch]
    path: Path
    level: int
    around: tuple[Hashable, ...]


class _Selector:
    """Selects objects and counts the bytes that remain."""

    def __init__(self, normalizer: Normalizer, max_bytes: int, dialect: Dialect) -> None:
        self.remaining = max_bytes
        self.limit_bytes = 0
        """Bytes of the limits that are repeated in descriptions."""
        self.description_bytes = [0] * (MAX_DEPTH + 2)
        """Bytes of the descriptions of each level."""
        self._normalizer = normalizer
        self._dialect = dialect
        self._objects: set[Path] = set()
        self._models: dict[Hashable, str] = {}
        self._inner: list[_Candidate] = []
        self._visits = 0
        self._misses = 0

    def select(self) -> Selection:
        """Return the objects that fit."""
        pending = [_Candidate(self._normalizer.node(self._normalizer.root).objects, (), 0, ())]
        repeated: list[_Candidate] = []
        while (pending or repeated) and self.remaining > _MIN_OBJECT_BYTES and self._misses < _MAX_MISSES:
            is_new, candidate = bool(pending), (pending or repeated).pop(0)
            if is_new and any(branch.pointer in self._models for branch in candidate.branches):
                repeated.append(candidate)
            else:
                self._add(candidate)
                pending += self._inner
        return Selection(frozenset(self._objects), self._models)

    def _add(self, candidate: _Candidate) -> None:
        """Select an object if it fits, and collect those inside it."""
        self._inner = []
        models = [branch.pointer for branch in candidate.branches]
        if self._visits > MAX_NODES or any(model in candidate.around for model in models):
            return
        limits, descriptions = self.limit_bytes, list(self.description_bytes)
        inside = candidate._replace(around=(*candidate.around, *models))
        size = sum([self._object_bytes(branch, inside) for branch in candidate.branches])
        if candidate.path and size > self.remaining:
            self._misses += 1
            self._inner, self.limit_bytes, self.description_bytes = [], limits, descriptions
            return
        self.remaining -= size - self._sentence_bytes(candidate.branches)
        if not candidate.path:
            self.remaining -= self.description_bytes[0]
        self._objects.add(candidate.path)
        name = ".".join(part for part in candidate.path if part != ITEMS)
        for model in models:
            self._models.setdefault(model, name)

    def _object_bytes(self, branch: Branch, inside: _Candidate) -> int:
        size = _OBJECT_BYTES
        if branch.required:
            size += _REQUIRED_BYTES + sum([len(name) + 3 for name in branch.required])
        for name, conjunction in declared_properties(branch).items():
            place = _Candidate((), (*inside.path, name), inside.level, inside.around)
            size += len(name) + 4 + self._bytes(conjunction, place)
        return size

    def _sentence_bytes(self, branches: Sequence[Branch]) -> int:
        """Return the bytes of the sentence about an equal object, which only an object without properties has."""
        is_known = any(branch.pointer in self._models for branch in branches)
        return _SENTENCE_ABOUT_MODEL_BYTES if is_known else 0

    def _bytes(self, conjunction: Conjunction, place: _Candidate) -> int:
        """Return the bytes of a schema at `place` without the properties of its objects, which become candidates."""
        self._visits += 1
        node = self._normalizer.node(conjunction)
        if self._visits > MAX_NODES or place.level > MAX_DEPTH or node.accepts_any_value:
            return _ANY_BYTES
        size = _UNION_BYTES if len(node.branches) > 1 else 0
        if node.description:
            self.description_bytes[place.level] += len(node.description) + _DESCRIPTION_BYTES
        objects = node.objects
        if objects and has_properties(objects):
            self._inner.append(_Candidate(objects, place.path, place.level + 1, place.around))
            size += self._sentence_bytes(objects)
        return size + sum([self._branch_bytes(branch, place) for branch in node.branches])

    def _branch_bytes(self, branch: Branch, place: _Candidate) -> int:
        size = _TYPE_BYTES
        if branch.limits:
            limits = without_spelled_out(self._dialect, branch.limits)
            size += sum([len(keyword) + len(str(value)) + 4 for keyword, value in limits.items()])
            self.limit_bytes += _DESCRIPTION_BYTES + _SENTENCE_BYTES * len(limits)
        if branch.enum is not None:
            size += sum([len(str(value)) + 3 for value in branch.enum])
        if branch.type == "array":
            items = (*branch.prefix_items, branch.items) if branch.items else branch.prefix_items
            inner = _Candidate((), (*place.path, ITEMS), place.level + 1, place.around)
            size += sum([_ARRAY_BYTES + self._bytes(item, inner) for item in items or [ANY_VALUE]])
        return size + sum([len(rule.text) for rule in branch.opaque_rules])


def has_properties(branches: Iterable[Branch]) -> bool:
    """Return whether one of the objects lists properties."""
    return any(branch.properties or branch.required for branch in branches)
