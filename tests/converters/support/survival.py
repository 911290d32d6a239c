"""What of a schema survives a converter: each place's types, required properties, choices and words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.ai.generativelanguage_v1beta.types import content
from google.protobuf import json_format

from toolmason.schema import Severity, Target, check

MESSAGE = content.Schema.pb(content.Schema())
FIELDS = {
    "parameters": Target.GEMINI_PARAMETERS,
    "parameters of Vertex": Target.GEMINI_VERTEX,
    "parametersJsonSchema": Target.GEMINI_JSON,
}
LIMITS = frozenset(
    {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format", "default"}
)
"""What our descriptions repeat, so that a converter may drop it."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is said of one place."""

    types: frozenset[str]
    required: frozenset[str]
    choices: frozenset[str]
    limits: frozenset[str]
    words: str


def places(schema: Mapping[str, Any], path: str = "$") -> Iterator[tuple[str, Place]]:
    """Give each place of a schema, in whichever dialect: null is a type, written in any way, and case is ignored."""
    own = _plain(schema)
    branches, is_nullable = _branches(own)
    if len(branches) == 1:
        words = " ".join(each["description"] for each in (own, branches[0]) if each.get("description"))
        own |= {**branches[0], "description": words}
        branches = []
    types = {each for branch in branches or [own] for each in [branch.get("type", "")]} | (
        {"null"} if is_nullable else set()
    )
    yield (
        path,
        Place(
            types=frozenset(types),
            required=frozenset(own.get("required", ())),
            choices=frozenset(map(str, own.get("enum", ()))),
            limits=frozenset(LIMITS & own.keys()),
            words=own.get("description", ""),
        ),
    )
    for name, each in own.get("properties", {}).items():
        yield from places(each, f"{path}.{name}")
    if "items" in own:
        yield from places(own["items"], f"{path}[*]")
    for number, each in enumerate(branches):
        yield from places(each, f"{path}|{number}")


def _branches(schema: Mapping[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Give the branches of a union but for null, those of unions inside it in their place, and whether null is one."""
    found: list[dict[str, Any]] = []
    is_nullable = bool(schema.get("nullable"))
    for each in map(_plain, schema.get("anyOf", ())):
        inner, is_null_too = _branches(each)
        is_nullable |= is_null_too or each.get("type") == "null"
        rest = {key: value for key, value in each.items() if key not in {"anyOf", "nullable"}}
        if inner:
            inner[0] = {**rest, **inner[0]}
        found += inner or ([] if each.get("type") == "null" else [rest])
    return found, is_nullable


def losses(wanted: Mapping[str, Any], got: Mapping[str, Any] | None) -> list[str]:
    """Say what `got` lacks of `wanted`, or says otherwise. A schema that is left out is that of an empty object."""
    before = dict(places(wanted))
    after = dict(places(got or {"type": "object"}))
    lost = [f"{path} is lost" for path in before if path not in after]
    for path in (path for path in before if path in after):
        old, new = before[path], after[path]
        lost += [f"types of {path}"] if old.types != new.types else []
        lost += [f"required of {path}"] if old.required != new.required else []
        lost += [f"choices of {path}"] if old.choices != new.choices else []
        lost += [f"words of {path}"] if not _says(new.words, old.words) else []
    return lost


def lost_limits(wanted: Mapping[str, Any], got: Mapping[str, Any] | None) -> frozenset[str]:
    """Give the limits that stand in `wanted` and not in `got`, at places that both have."""
    before, after = dict(places(wanted)), dict(places(got or {"type": "object"}))
    return frozenset(each for path in before if path in after for each in before[path].limits - after[path].limits)


def refusals(schema: Mapping[str, Any] | None, field: str) -> list[str]:
    """Say why Gemini would refuse what a converter puts into a field of its declaration."""
    if schema is None:
        return []
    found = [
        f"{each.pattern} at {each.path}" for each in check(schema, FIELDS[field]) if each.severity is Severity.REFUSED
    ]
    if FIELDS[field] is Target.GEMINI_PARAMETERS:
        try:
            json_format.ParseDict(_upper(schema), type(MESSAGE)())
        except json_format.ParseError as error:
            found.append(str(error))
    return found


def _says(after: str, before: str) -> bool:
    """Whether each line of a text still stands. Some converters add to it."""
    return all(line in after for line in before.splitlines())


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Write keywords and types as JSON Schema does. Google's parsers also take `any_of` and `STRING`."""
    plain = {re.sub(r"_([a-z])", lambda found: found[1].upper(), key): value for key, value in schema.items()}
    return {**plain, "type": plain["type"].lower()} if isinstance(plain.get("type"), str) else plain


def _upper(schema: Any) -> Any:
    """Write types as the message has them. The parser in front of Gemini takes either case, that of Python does not."""
    if not isinstance(schema, dict):
        return schema
    upper = _plain(schema)
    if isinstance(upper.get("type"), str):
        upper["type"] = upper["type"].upper()
    if "items" in upper:
        upper["items"] = _upper(upper["items"])
    if isinstance(upper.get("anyOf"), list):
        upper["anyOf"] = [_upper(each) for each in upper["anyOf"]]
    if isinstance(upper.get("properties"), dict):
        upper["properties"] = {name: _upper(each) for name, each in upper["properties"].items()}
    return upper
