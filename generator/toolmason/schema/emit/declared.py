"""The properties of an object, including required names that it does not declare."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from toolmason.schema.findings import json_pointer
from toolmason.schema.normal_form import ANY_VALUE, Branch, Conjunction, intersect
from toolmason.schema.patterns import matches_name


def declared_properties(branch: Branch) -> Mapping[str, Conjunction]:
    """Return the properties, including those that are only listed in `required`."""
    missing = [name for name in branch.required if name not in branch.properties]
    if not missing:
        return branch.properties
    return {**branch.properties, **{name: undeclared_property(branch, name) for name in missing}}


def property_pointer(branch: Branch, name: str) -> str:
    """Return the pointer of a property, or of `required` if only that lists it."""
    return branch.pointer + json_pointer(("properties", name) if name in branch.properties else ("required",))


def undeclared_property(branch: Branch, name: str) -> Conjunction:
    """Return the schema that `patternProperties`, otherwise `additionalProperties`, has for a name."""
    matches = [(matches_name(pattern, name), conjunction) for pattern, conjunction in branch.pattern_properties]
    matching = [conjunction for is_match, conjunction in matches if is_match]
    if matching or any(is_match is None for is_match, _ in matches):
        # A pattern that cannot be evaluated adds no rule.
        return reduce(intersect, matching, ANY_VALUE)
    return branch.additional_properties or ANY_VALUE
