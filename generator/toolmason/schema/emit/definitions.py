"""The `$defs` of the result: objects that it uses several times."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from toolmason.schema.emit.context import MAX_DEPTH, JsonSchema
from toolmason.schema.findings import pointer_parts
from toolmason.schema.normal_form import Branch, identity_key
from toolmason.schema.walk import walk
from toolmason.schema.wording import join_descriptions

_DEFINITION: Final = re.compile(r"/(\$defs|definitions)/[^/]+(/(anyOf|oneOf|allOf)/[0-9]+)*")
"""Pointers of definitions and of their alternatives."""
_PREFIX: Final = "#/$defs/"


def is_definition(branch: Branch) -> bool:
    """Return whether an object is one of the author's definitions."""
    return bool(branch.type == "object" and branch.properties and _DEFINITION.fullmatch(branch.pointer))


class Definitions:
    """The definitions of one result.

    An object with several descriptions has one definition for each, because some providers reject a `description`
    beside `$ref`.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[Branch, str]] = []
        self._indexes: dict[Hashable, int] = {}

    def refer(self, branch: Branch, description: str) -> JsonSchema:
        """Return a provisional reference; `complete` replaces it."""
        index = self._indexes.setdefault((_key(branch), description), len(self._entries))
        if index == len(self._entries):
            self._entries.append((branch, description))
        return {"$ref": f"{_PREFIX}{index}"}

    def describe(self, reference: JsonSchema, text: str) -> JsonSchema:
        """Return a reference to the same object with `text` added to its description. Keep the siblings of `$ref`."""
        branch, description = self._entries[_index(reference)]
        return reference | self.refer(branch, join_descriptions(description, text))

    def complete(self, root: JsonSchema, emit: Callable[[Branch, str], JsonSchema]) -> None:
        """Replace the provisional references: inline objects that are used once, add others to `$defs` of `root`."""
        if not self._entries:
            return
        uses = self._emit_used(root, emit)
        names: dict[int, str] = {}
        definitions: dict[str, JsonSchema] = {}
        pending = [root]
        while pending:
            # Replacing a schema while walking is safe: its own subschemas are visited afterwards.
            for schema, parts in walk(pending.pop(0)):
                if "$ref" not in schema:
                    continue
                index = _index(schema)
                body, is_single = uses[index].body, uses[index].count == 1
                if is_single and len(parts) < 2 * MAX_DEPTH:
                    del schema["$ref"]
                    siblings = dict(schema)
                    schema.clear()
                    schema.update(body | siblings)
                    continue
                if index not in names:
                    names[index] = name = _unused_name(self._entries[index][0], definitions)
                    definitions[name] = body
                    pending.append(body)
                schema["$ref"] = f"{_PREFIX}{names[index]}"
        if definitions:
            root["$defs"] = definitions

    def _emit_used(self, root: JsonSchema, emit: Callable[[Branch, str], JsonSchema]) -> dict[int, _Use]:
        uses: dict[int, _Use] = {}
        pending = [root]
        while pending:
            for index in [_index(schema) for schema, _ in walk(pending.pop(0)) if "$ref" in schema]:
                if index not in uses:
                    uses[index] = _Use(emit(*self._entries[index]))
                    pending.append(uses[index].body)
                uses[index].count += 1
        return uses


@dataclass(slots=True)
class _Use:
    """The schema of an object, and the number of references to it."""

    body: JsonSchema
    count: int = 0


def _index(reference: JsonSchema) -> int:
    return int(reference["$ref"].removeprefix(_PREFIX))


def _key(branch: Branch) -> Hashable:
    """Return a key: equal for equal objects at the same pointer."""
    properties = tuple((name, identity_key(conjunction)) for name, conjunction in branch.properties.items())
    others = () if branch.additional_properties is None else (identity_key(branch.additional_properties),)
    patterns = tuple((pattern, identity_key(conjunction)) for pattern, conjunction in branch.pattern_properties)
    rules = tuple((rule.pointer, rule.text) for rule in branch.opaque_rules)
    limits = tuple(branch.limits.items())
    return branch.pointer, properties, branch.required, others, patterns, rules, limits


def _unused_name(branch: Branch, used: dict[str, JsonSchema]) -> str:
    """Return the name of the author's definition, with a number if it is in use."""
    _, name, *steps = pointer_parts(branch.pointer)
    parts = [name, *(step for step in steps if step.isdecimal())]
    plain = re.sub(r"[^A-Za-z0-9_]", "_", "_".join(parts)) or "_"
    candidate, number = plain, 2
    while candidate in used:
        candidate, number = f"{plain}_{number}", number + 1
    return candidate
