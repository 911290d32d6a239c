"""The normal form of a schema: each node is a union of branches, each of one type with the rules of that type.

What stands inside a node is kept as a `Place`: the schemas that must all hold there, unread until someone asks. So a
schema that refers to itself is read in bounded time, and `allOf` or what stands beside a `$ref` intersects by joining
places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, inf, lcm
from typing import Any, Final, NamedTuple

from toolmason.schema.findings import Finding
from toolmason.schema.keywords import HOLDS, KINDS, Kind, key_of

MAX_PAIRS: Final = 2_000
"""Pairs of alternatives that are tried where two unions must both hold; beyond, only the first one is kept."""


class Source(NamedTuple):
    """A schema as it was written, and its JSON Pointer."""

    schema: Any
    pointer: str


Place = tuple[Source, ...]
"""Schemas that must all hold at one place; empty, anything does."""

ANYTHING: Final[Place] = ()


def joined(one: Place, other: Place) -> Place:
    """Give the place where both hold. The same schema twice is once."""
    known = {id(source.schema) for source in one if isinstance(source.schema, dict)}
    return one + tuple(source for source in other if id(source.schema) not in known)


def is_never(place: Place | None) -> bool:
    """Whether nothing can stand there, as far as can be seen without reading."""
    return place is not None and any(source.schema is False for source in place)


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A rule that the normal form does not hold: its keywords as they were written, and the same in words."""

    keywords: Mapping[str, Any]
    words: str
    pointer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Values of one type that a node takes.

    `limits` holds the keywords of `keywords.LIMITS`; `choices`, where it is not None, the only values. `items` and
    `rest` (of properties) are None where nothing is said; `rest` is ANYTHING where others are invited. `text`
    describes the alternative that the branch was.
    """

    kind: Kind
    pointer: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Any, ...] | None = None
    choice_texts: tuple[tuple[Any, str], ...] = ()
    properties: Mapping[str, Place] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    rest: Place | None = None
    patterns: tuple[tuple[str, Place], ...] = ()
    prefix: tuple[Place, ...] = ()
    items: Place | None = None
    unsaid: tuple[Unsaid, ...] = ()
    text: str = ""

    @property
    def is_bare(self) -> bool:
        """Whether it takes every value of its type."""
        return self.choices is None and not (
            self.limits
            or self.properties
            or self.required
            or self.patterns
            or self.prefix
            or self.unsaid
            or self.rest
            or self.items is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What may stand at one place. `unsaid` holds for all branches; `default` is None where there is none."""

    branches: tuple[Branch, ...]
    pointer: str = ""
    description: str = ""
    title: str = ""
    words: tuple[str, ...] = ()
    default: Any = None
    has_default: bool = False
    unsaid: tuple[Unsaid, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Finding, ...] = ()

    @property
    def takes_anything(self) -> bool:
        """Whether every JSON value fits, but for what words say."""
        return {each.kind for each in self.branches if each.is_bare and not each.text}.issuperset(KINDS)

    @property
    def takes_null(self) -> bool:
        """Whether null is among the values."""
        return any(each.kind == "null" for each in self.branches)


ALL: Final = tuple(Branch(kind=kind) for kind in KINDS)
"""The branches of a schema that says nothing."""


def both(one: Sequence[Branch], other: Sequence[Branch]) -> tuple[Branch, ...]:
    """Give the branches of values that fit both unions."""
    if one is ALL:
        return tuple(other)
    if other is ALL:
        return tuple(one)
    if are_too_many(one, other):
        return tuple(one)
    met = (_meet(left, right) for left in one for right in other)
    return tuple(each for each in met if each is not None)


def are_too_many(one: Sequence[Branch], other: Sequence[Branch]) -> bool:
    """Whether `both` gives up on joining two unions."""
    return min(len(one), len(other)) > 1 and one is not ALL and other is not ALL and len(one) * len(other) > MAX_PAIRS


def _meet(one: Branch, other: Branch) -> Branch | None:
    """Give the values that fit both branches, None where there are none."""
    if one.kind != other.kind and {one.kind, other.kind} != {"integer", "number"}:
        return None
    if one.is_bare and one.kind != "integer":
        return replace(other, text=_joined_texts(one.text, other.text))
    if other.is_bare and other.kind != "integer":
        return replace(one, text=_joined_texts(one.text, other.text))
    limits, unsaid = _met_limits(one, other)
    shape = _met_object(one, other) if one.kind == "object" else _met_array(one, other) if one.kind == "array" else {}
    if shape is None:
        return None
    found = replace(
        one,
        kind="integer" if "integer" in (one.kind, other.kind) else one.kind,
        limits=limits,
        choices=_met_choices(one.choices, other.choices),
        choice_texts=one.choice_texts or other.choice_texts,
        unsaid=one.unsaid + tuple(each for each in other.unsaid if each not in one.unsaid) + unsaid,
        text=_joined_texts(one.text, other.text),
        **shape,
    )
    return settled(found)


def settled(found: Branch) -> Branch | None:
    """Drop the choices that the limits refuse; None where no value is left."""
    limits = found.limits
    if found.choices is not None:
        choices = tuple(each for each in found.choices if within(each, found.kind, limits))
        if not choices:
            return None
        # The choices that are left say what the limits did.
        limits = {name: rule for name, rule in limits.items() if name in {"pattern", "format"}}
        return replace(found, choices=choices, limits=limits)
    for low, high in (("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")):
        if limits.get(low, 0) > limits.get(high, inf):
            return None
    if found.kind in {"integer", "number"} and _is_empty_range(inclusive(found)):
        return None
    return found


def _is_empty_range(limits: Mapping[str, Any]) -> bool:
    low, high = limits.get("minimum", -inf), limits.get("maximum", inf)
    above, below = limits.get("exclusiveMinimum", -inf), limits.get("exclusiveMaximum", inf)
    return bool(low > high or (above >= min(high, below) > -inf) or (below <= max(low, above) < inf))


def inclusive(found: Branch) -> Mapping[str, Any]:
    """Give the limits of a number; those of an integer that are exclusive become inclusive."""
    if found.kind != "integer":
        return found.limits
    limits = dict(found.limits)
    lows = [ceil(limits["minimum"])] if "minimum" in limits else []
    highs = [floor(limits["maximum"])] if "maximum" in limits else []
    if "exclusiveMinimum" in limits:
        lows.append(floor(limits.pop("exclusiveMinimum")) + 1)
    if "exclusiveMaximum" in limits:
        highs.append(ceil(limits.pop("exclusiveMaximum")) - 1)
    if lows:
        limits["minimum"] = max(lows)
    if highs:
        limits["maximum"] = min(highs)
    return limits


def within(value: Any, kind: Kind, limits: Mapping[str, Any]) -> bool:
    """Whether a value of type `kind` keeps to the numeric limits. A pattern is not tried."""
    if kind in {"integer", "number"}:
        return (kind == "number" or value == int(value)) and (
            limits.get("minimum", value) <= value <= limits.get("maximum", value)
            and ("exclusiveMinimum" not in limits or value > limits["exclusiveMinimum"])
            and ("exclusiveMaximum" not in limits or value < limits["exclusiveMaximum"])
            and ("multipleOf" not in limits or _exact(value) % _exact(limits["multipleOf"]) == 0)
        )
    if kind == "string":
        return bool(limits.get("minLength", 0) <= len(value) <= limits.get("maxLength", len(value)))
    return True


def _exact(value: float) -> Fraction:
    """Give a number as it is written: 0.3 is three times 0.1, though not as floats."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _joined_texts(one: str, other: str) -> str:
    if not one or not other or other in one:
        return one or other
    return other if one in other else f"{one} {other}"


_HIGHER: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_LOWER: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def _met_limits(one: Branch, other: Branch) -> tuple[dict[str, Any], tuple[Unsaid, ...]]:
    limits = dict(one.limits)
    unsaid: list[Unsaid] = []
    for keyword, value in other.limits.items():
        had = limits.get(keyword)
        if had is None or had == value:
            limits[keyword] = value
        elif keyword in _HIGHER:
            limits[keyword] = max(had, value)
        elif keyword in _LOWER:
            limits[keyword] = min(had, value)
        elif keyword == "uniqueItems":
            limits[keyword] = True
        elif keyword == "multipleOf" and (shared := _shared_multiple(had, value)) is not None:
            limits[keyword] = shared
        else:
            # A second pattern, format or fraction: only words can ask for both.
            unsaid.append(Unsaid({keyword: value}, _SECOND.get(keyword, "{}").format(value), other.pointer))
    return limits, tuple(unsaid)


def _shared_multiple(one: float, other: float) -> int | None:
    """Give the factor of what both divide; None where there is none that can be written."""
    found = lcm(one, other) if isinstance(one, int) and isinstance(other, int) else None
    return found if HOLDS["multipleOf"](found) else None


_SECOND: Final = {
    "pattern": "Must also match `{}`",
    "format": "Format: {}",
    "multipleOf": "Must be a multiple of {}",
}


def _met_choices(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if one is None or other is None:
        return one if other is None else other
    known = {key_of(each) for each in other}
    return tuple(each for each in one if key_of(each) in known)


def _met_object(one: Branch, other: Branch) -> dict[str, Any] | None:
    required = one.required + tuple(name for name in other.required if name not in one.required)
    properties = _met_properties(one, other)
    if any(name not in properties for name in required if name in one.properties or name in other.properties):
        return None
    rest = one.rest if other.rest is None else other.rest if one.rest is None else joined(one.rest, other.rest)
    return {
        "properties": properties,
        "required": required,
        "rest": rest,
        "patterns": one.patterns + tuple(each for each in other.patterns if each not in one.patterns),
    }


def _met_properties(one: Branch, other: Branch) -> Mapping[str, Place]:
    """Give the properties of both without those that nothing fits."""
    for silent, found in ((other, one.properties), (one, other.properties)):
        if not silent.properties and silent.rest is None and not any(map(is_never, found.values())):
            return found
    names = [*one.properties, *(name for name in other.properties if name not in one.properties)]
    found = {name: joined(_declared(one, name), _declared(other, name)) for name in names}
    return {name: place for name, place in found.items() if not is_never(place)}


def _declared(found: Branch, name: str) -> Place:
    """Give what the branch says of the property `name`."""
    if name in found.properties:
        return found.properties[name]
    # With `patternProperties` a name may be another's; what is said of the rest is then not said of it.
    return found.rest if found.rest is not None and not found.patterns else ANYTHING


def _met_array(one: Branch, other: Branch) -> dict[str, Any]:
    length = max(len(one.prefix), len(other.prefix))
    prefix = tuple(joined(_at(one, place), _at(other, place)) for place in range(length))
    items = one.items if other.items is None else other.items if one.items is None else joined(one.items, other.items)
    return {"prefix": prefix, "items": items}


def _at(found: Branch, place: int) -> Place:
    return found.prefix[place] if place < len(found.prefix) else found.items or ANYTHING


def merged(branches: Iterable[Branch]) -> tuple[Branch, ...]:
    """Join what can be one branch: equal ones, and choices of one type that nothing else tells apart."""
    alike: dict[tuple[Any, ...], list[list[Branch]]] = {}
    found: list[list[Branch]] = []
    for each in branches:
        known = alike.setdefault(_likeness(each), [])
        group = next((group for group in known if _are_one(group[0], each)), None)
        if group is None:
            group = []
            known.append(group)
            found.append(group)
        group.append(each)
    return tuple(group[0] if len(group) == 1 else _as_one(group) for group in found)


def _likeness(found: Branch) -> tuple[Any, ...]:
    """Give what two branches must share to be one."""
    if found.is_bare:
        return "number" if found.kind == "integer" else found.kind, found.text
    if found.choices is not None:
        return found.kind, frozenset(found.limits.items())
    return found.kind, found.pointer, found.required, *found.properties, *found.limits


def _are_one(known: Branch, new: Branch) -> bool:
    if known.kind != new.kind:
        # An integer is a number: beside a number without rules, a branch for it says nothing.
        return known.is_bare and new.is_bare and not known.text and not new.text
    if known.choices is not None and new.choices is not None:
        return known.limits == new.limits and known.unsaid == new.unsaid
    return (known.is_bare and new.is_bare) or known == new


def _as_one(group: Sequence[Branch]) -> Branch:
    first = group[0]
    if first.choices is None:
        return first if all(each.kind == first.kind for each in group) else replace(first, kind="number")
    choices: dict[tuple[str, Any], Any] = {}
    texts: list[tuple[Any, str]] = []
    for each in group:
        for value in each.choices or ():
            choices.setdefault(key_of(value), value)
            if each.text and not each.choice_texts:
                texts.append((value, each.text))
        texts += each.choice_texts
    return replace(first, choices=tuple(choices.values()), choice_texts=tuple(texts), text="")
