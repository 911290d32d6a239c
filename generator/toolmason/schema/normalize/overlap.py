"""Decide whether the alternatives of `oneOf` overlap: then `anyOf` is not equivalent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Final, TypeAlias

from toolmason.schema.intersection import share_type
from toolmason.schema.keywords import equality_key
from toolmason.schema.normal_form import Branch, Conjunction, Node, is_false_schema

MAX_COMPARED_BRANCHES: Final = 200
"""Maximum objects that are compared pairwise; more of them count as overlapping unless a tag distinguishes them."""

Normalize: TypeAlias = Callable[[Conjunction], Node]
_Numbered: TypeAlias = Sequence[tuple[int, Branch]]
"""Branches with the index of their alternative."""


def alternatives_overlap(alternatives: Sequence[Sequence[Branch]], normalize: Normalize) -> bool:
    """Return whether a value may match two alternatives, judged by types, enums and tags."""
    branches = [(index, branch) for index, alternative in enumerate(alternatives) for branch in alternative]
    objects = [(index, branch) for index, branch in branches if branch.type == "object"]
    if _scalars_overlap([(index, branch) for index, branch in branches if branch.type != "object"]):
        return True
    if _have_tag(objects, normalize):
        return False
    pairs = ((left[1], right[1]) for left, right in combinations(objects, 2) if left[0] != right[0])
    return len(objects) > MAX_COMPARED_BRANCHES or any(_objects_overlap(*pair, normalize) for pair in pairs)


def _scalars_overlap(branches: _Numbered) -> bool:
    owners: dict[tuple[str, Any], int] = {}
    alternatives_by_type: dict[str, set[int]] = {}
    unrestricted_types: set[str] = set()
    for index, branch in branches:
        json_type = "number" if branch.is_numeric else branch.type
        alternatives_by_type.setdefault(json_type, set()).add(index)
        if branch.enum is None:
            unrestricted_types.add(json_type)
        elif any(owners.setdefault(equality_key(value), index) != index for value in branch.enum):
            return True
    return any(len(alternatives_by_type[json_type]) > 1 for json_type in unrestricted_types)


def _have_tag(objects: _Numbered, normalize: Normalize) -> bool:
    """Return whether a property that all objects require has different enum values in each alternative."""
    return any(_is_tag(name, objects, normalize) for name in (objects[0][1].required if objects else ()))


def _is_tag(name: str, objects: _Numbered, normalize: Normalize) -> bool:
    owners: dict[tuple[str, Any], int] = {}
    for index, branch in objects:
        if name not in branch.required or name not in branch.properties:
            return False
        tags = normalize(branch.properties[name]).branches
        if not tags or any(tag.enum is None for tag in tags):
            return False
        values = (value for tag in tags for value in tag.enum or ())
        if any(owners.setdefault(equality_key(value), index) != index for value in values):
            return False
    return True


def _objects_overlap(left: Branch, right: Branch, normalize: Normalize) -> bool:
    if _forbids_required_property(left, right) or _forbids_required_property(right, left):
        return False
    return all(
        _properties_overlap(left.properties[name], right.properties[name], normalize)
        for name in left.required
        if name in right.required and name in left.properties and name in right.properties
    )


def _properties_overlap(left: Conjunction, right: Conjunction, normalize: Normalize) -> bool:
    # One level is enough: a tag is a string or number, and object types can be recursive.
    ones, others = normalize(left).branches, normalize(right).branches
    return not ones or not others or any(_values_overlap(one, other) for one in ones for other in others)


def _values_overlap(left: Branch, right: Branch) -> bool:
    if not share_type(left, right):
        return False
    if left.enum is None or right.enum is None:
        return True
    return not set(map(equality_key, left.enum)).isdisjoint(map(equality_key, right.enum))


def _forbids_required_property(closed: Branch, branch: Branch) -> bool:
    """Return whether `closed` rejects a property that `branch` requires."""
    is_closed = is_false_schema(closed.additional_properties) and not closed.pattern_properties
    return is_closed and any(name not in closed.properties for name in branch.required)
