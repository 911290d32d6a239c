"""Compare two schemas of one tool, part by part: each difference has a rule, a place and a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final, Literal

from toolmason_runtime.shared.suggestions import closest_match

from toolmason.diff.containment import is_contained
from toolmason.diff.counterexamples import clearest, counterexamples, find_counterexample
from toolmason.diff.rules import Severity, rules
from toolmason.diff.schema_parts import (
    CONSTRAINTS,
    MAX_DEPTH,
    Root,
    Schema,
    closed,
    enum_of,
    is_combined,
    is_type,
    types_of,
)
from toolmason.diff.validation import UndecidedError, accepts, validator
from toolmason.schema import json_pointer

Direction = Literal["argument", "result"]
MIN_SIMILARITY: Final = 0.75
"""Similarity of descriptions from which on two values with different names count as one that was renamed."""
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_FORMS: Final = ("pattern", "format")
_DESCENDED: Final = frozenset({"properties", "required", "items", "additionalProperties", "type", "enum", "const"})
_COMPARED: Final = frozenset({*_LOWER, *_UPPER, *_FORMS, *_DESCENDED, "multipleOf", "uniqueItems"})
_MAX_SHOWN_VALUES: Final = 6

# Rules by direction: if the new schema accepts less, and if it accepts more.
_NAMES: Final[Mapping[Direction, Mapping[str, str]]] = {
    "argument": {
        "type-": "argument-type-changed",
        "type+": "argument-type-widened",
        "value-": "argument-value-removed",
        "value+": "argument-value-added",
        "limit-": "argument-limit-tightened",
        "limit+": "argument-limit-relaxed",
        "form-": "argument-form-changed",
        "form+": "argument-form-removed",
        "null-": "argument-null-refused",
        "null+": "argument-null-accepted",
        "schema-": "argument-schema-narrowed",
        "schema+": "argument-schema-widened",
        "schema?": "argument-schema-undecided",
        "text": "argument-text-changed",
    },
    "result": {
        "type-": "result-type-narrowed",
        "type+": "result-type-changed",
        "type*": "result-type-changed",
        "value-": "result-value-removed",
        "value+": "result-value-added",
        "limit-": "result-limit-tightened",
        "limit+": "result-limit-relaxed",
        "form-": "result-form-added",
        "form+": "result-form-changed",
        "null-": "result-never-null",
        "null+": "result-null-returned",
        "schema-": "result-schema-narrowed",
        "schema+": "result-schema-widened",
        "schema?": "result-schema-undecided",
        "text": "result-text-changed",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference. `path` has property names and `*` for items; `pointer` leads to the part in the new schema.

    With `is_old`, it leads to the part in the old schema, because the new one has none.
    """

    rule: str
    path: tuple[str, ...]
    message: str
    fix: str = ""
    pointer: str = ""
    is_old: bool = False
    example: tuple[Any] | None = None

    @property
    def severity(self) -> Severity:
        """The severity of the rule."""
        return rules()[self.rule].severity


def compare_arguments(
    old: Schema, new: Schema, *, old_aliases: Mapping[str, str], new_aliases: Mapping[str, str]
) -> list[Difference]:
    """Return what changes for calls.

    Args:
        old: the schema of the arguments before.
        new: the schema of the arguments after.
        old_aliases: other names of arguments before, each with the name in the schema.
        new_aliases: other names of arguments after.
    """
    old, new = _typed(old), _typed(new)
    comparison = _Comparison(old, new, "argument", new_aliases)
    found = comparison.differences()
    for alias, old_name in old_aliases.items():
        name = comparison.renamed.get(old_name, old_name)
        target = alias if alias in _properties(new) else new_aliases.get(alias)
        if target != name and name in _properties(new):
            text = f"is now another name of `{target}`" if target else "is removed"
            message = f"argument `{name}`: the alias `{alias}` {text}"
            found.append(
                Difference(rule="argument-alias-removed", path=(name,), message=message, pointer=_member((), name))
            )
    for alias, name in new_aliases.items():
        if alias not in old_aliases and name in _properties(new) and alias not in _properties(old):
            message = f"argument `{name}` has the alias `{alias}`"
            found.append(
                Difference(rule="argument-alias-added", path=(name,), message=message, pointer=_member((), name))
            )
    renamed = _rename(old, comparison.renamed)
    all_renamed = _rename(old, {**comparison.renamed, **comparison.renamed_without_alias})
    checked = _check_whole(renamed, new, found, "argument", all_renamed)
    before = {name: old_name for old_name, name in comparison.renamed.items()}
    return [_with_old_names(difference, before) for difference in checked]


def compare_results(old: Schema, new: Schema) -> list[Difference]:
    """Return what changes for the readers of results."""
    found = _Comparison(old, new, "result", {}).differences()
    return _check_whole(old, new, found, "result", old)


def _check_whole(
    old: Schema, new: Schema, found: list[Difference], direction: Direction, renamed: Schema
) -> list[Difference]:
    """Add a call or a result to breaking differences, and what the comparison of the parts does not see.

    `renamed` is the old schema with the new names of arguments, in which only the other differences matter.
    """
    if direction == "argument":
        source, target = _whole(old), _whole(new)
    else:
        source, target = new, old
    kind = "schema-" if direction == "argument" else "schema+"
    breaking = [difference for difference in found if difference.severity is Severity.BREAKING]
    if breaking:
        shown = [one for one in breaking if one.rule != "result-field-removed"]
        return _with_examples(found, shown, (source, _whole(renamed) if direction == "argument" else source), target)
    if any(one.severity is Severity.DANGEROUS and one.rule != "argument-default-changed" for one in found):
        return found
    if source == target or is_contained(source, target):
        return found
    example = find_counterexample(source, target)
    rule = _NAMES[direction][kind if example else "schema?"]
    noun = "call" if direction == "argument" else "result"
    texts = {
        True: f"the {noun} is no longer valid" if direction == "argument" else "the result was not valid before",
        False: f"it is not decided whether each {noun} is still valid",
    }
    return [*found, Difference(rule=rule, path=(), message=texts[example is not None], example=example)]


def _with_examples(
    found: Sequence[Difference], shown: Sequence[Difference], sources: tuple[Schema, Schema], target: Schema
) -> list[Difference]:
    """Add a value to the differences in `shown`: of the first source to those of names, of the second to the others."""
    values = [counterexamples(sources[0], target)]
    values.append(values[0] if sources[0] == sources[1] else counterexamples(sources[1], target))
    return [
        replace(one, example=clearest(values[one.rule != "argument-renamed"], one.path)) if one in shown else one
        for one in found
    ]


def _with_old_names(difference: Difference, names: Mapping[str, str]) -> Difference:
    """Return a difference whose example has the names that a caller used before."""
    if not names or difference.example is None or not isinstance(difference.example[0], dict):
        return difference
    call = {names.get(name, name): value for name, value in difference.example[0].items()}
    return replace(difference, example=(call,))


def _whole(schema: Schema) -> Schema:
    """Return the arguments of a tool without those that the schema does not name."""
    schema = closed(schema)
    if isinstance(schema, dict) and not is_combined(schema) and schema.get("additionalProperties", True) in (True, {}):
        return schema | {"additionalProperties": False} if not schema.get("patternProperties") else schema
    return schema


def _typed(schema: Schema) -> Schema:
    """Return the schema of arguments, which are always an object, with this type."""
    return {**schema, "type": "object"} if isinstance(schema, dict) and "type" not in schema else schema


def _rename(schema: Schema, renamed: Mapping[str, str]) -> Schema:
    if not renamed or not isinstance(schema, dict):
        return schema
    properties = {renamed.get(name, name): part for name, part in _properties(schema).items()}
    required = [renamed.get(name, name) for name in schema.get("required") or ()]
    return {**schema, "properties": properties, "required": required}


def _properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


class _Comparison:
    def __init__(self, old: Schema, new: Schema, direction: Direction, aliases: Mapping[str, str]) -> None:
        self._old, self._new = Root(old), Root(new)
        self._direction: Direction = direction
        self._aliases = aliases
        self.renamed: dict[str, str] = {}
        """Arguments with another name whose old one is an alias."""
        self.renamed_without_alias: dict[str, str] = {}
        """Arguments that probably have another name."""
        self._seen: set[tuple[int, int]] = set()

    def differences(self) -> list[Difference]:
        return list(self._compare(self._old.schema, self._new.schema, (), ()))

    # A value

    def _compare(self, old: Schema, new: Schema, path: tuple[str, ...], at: tuple[str, ...]) -> Iterator[Difference]:
        old, new = self._old.resolve(old), self._new.resolve(new)
        if old is new or (id(old), id(new)) in self._seen or len(path) > MAX_DEPTH:
            return
        self._seen.add((id(old), id(new)))
        if not isinstance(old, dict) or not isinstance(new, dict):
            if old != new:
                yield from self._semantic(old, new, path, at)
            return
        if path:
            yield from self._texts(old, new, path, at)
        (before, had_null), (after, has_null) = _without_null(old), _without_null(new)
        if had_null != has_null and (accepts_null := _accepts_null(old, self._old)) == _accepts_null(new, self._new):
            # One of them accepts or rejects null in another way: `not`, `if`, `enum`, or without `type`.
            before, after = (old, new) if accepts_null else (before, after)
            had_null = has_null
        old, new = self._old.resolve(before), self._new.resolve(after)
        if not isinstance(old, dict) or not isinstance(new, dict):
            return
        if had_null != has_null:
            text = "may be null" if has_null else "is never null" if self._is_result else "no longer accepts null"
            if has_null and not self._is_result:
                text = "accepts null"
            yield self._difference("null+" if has_null else "null-", path, at, text)
        if is_combined(old) or is_combined(new):
            yield from self._semantic(old, new, path, at)
            return
        yield from self._types(old, new, path, at)

    @property
    def _is_result(self) -> bool:
        return self._direction == "result"

    def _difference(self, kind: str, path: tuple[str, ...], at: tuple[str, ...], text: str, **more: Any) -> Difference:
        rule = _NAMES[self._direction].get(kind, kind)
        return Difference(rule=rule, path=path, message=f"{self._label(path)} {text}", pointer=json_pointer(at), **more)

    def _label(self, path: Sequence[str]) -> str:
        noun = "argument" if self._direction == "argument" else "result"
        return (
            f"{noun} `{show_path(path)}`" if path else "the object of arguments" if noun == "argument" else "the result"
        )

    def _texts(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        changed = [key for key in ("title", "description") if old.get(key, "") != new.get(key, "")]
        if changed:
            key = changed[-1]
            is_gone = key not in new
            text = f"has no {key} any more" if is_gone else f"has another {key}"
            yield self._difference("text", path, at if is_gone else (*at, key), text)

    def _default(self, old: Schema, new: Schema, path: tuple[str, ...], at: tuple[str, ...]) -> Iterator[Difference]:
        """Compare the defaults of an argument that could be omitted before."""
        old, new = self._old.resolve(old), self._new.resolve(new)
        if self._is_result or not isinstance(old, dict) or not isinstance(new, dict):
            return
        before, after = (_shown(part["default"]) if "default" in part else "none" for part in (old, new))
        if before != after:
            where = (*at, "default") if "default" in new else at
            yield self._difference("argument-default-changed", path, where, f"has the default {after}, not {before}")

    # Types

    def _types(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        before, after = _stated_types(old), _stated_types(new)
        lost = [kind for kind in before if not any(is_type(kind, wide) for wide in after)]
        added = [kind for kind in after if not any(is_type(kind, wide) for wide in before)]
        if lost or added:
            text = f"has the type {_list(after)}, not {_list(before)}"
            kind = "type*" if lost and added and self._is_result else "type-" if lost else "type+"
            yield self._difference(kind, path, (*at, "type"), text)
            if lost or not set(before) & set(after):
                return
        found = [*self._values(old, new, path, at), *self._limits(old, new, path, at)]
        narrowing = [one for one in found if self._is_worse(one)]
        if narrowing and self._is_proven(old, new):
            yield self._difference("schema-" if self._is_result else "schema+", path, at, "is written differently")
        else:
            yield from found
        if "object" in before and "object" in after:
            yield from self._objects(old, new, path, at)
        if "array" in before and "array" in after:
            yield from self._arrays(old, new, path, at)
        rest = [key for key in (CONSTRAINTS - _COMPARED) if old.get(key) != new.get(key)]
        if rest:
            yield from self._semantic(old, new, path, at)

    @staticmethod
    def _is_worse(difference: Difference) -> bool:
        return difference.severity is not Severity.SAFE

    def _is_proven(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Return whether a value without its parts is proven to be compatible."""
        before, after = (
            {key: value for key, value in part.items() if key not in {"properties", "required", "items"}}
            for part in (old, new)
        )
        if self._is_result:
            before, after = after, before
        return not any("$ref" in _text(part) for part in (before, after)) and is_contained(before, after)

    def _values(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        before, after = enum_of(old), enum_of(new)
        key = "const" if "const" in new else "enum"
        match before, after:
            case None, None:
                return
            case None, list():
                yield self._difference("value-", path, (*at, key), f"has only the values {_list_values(after)}")
            case list(), None:
                yield self._difference("value+", path, at, f"is no longer limited to {_list_values(before)}")
            case list(), list():
                known = {_text(value) for value in before}
                kept = {_text(value) for value in after}
                if lost := [value for value in before if _text(value) not in kept]:
                    yield self._difference("value-", path, (*at, key), f"no longer has the values {_list_values(lost)}")
                if added := [value for value in after if _text(value) not in known]:
                    yield self._difference("value+", path, (*at, key), f"also has the values {_list_values(added)}")

    def _limits(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        for key in (*_LOWER, *_UPPER, "multipleOf", "uniqueItems"):
            before, after = old.get(key), new.get(key)
            if before == after:
                continue
            kind = "limit-" if _is_stricter(key, before, after) else "limit+"
            gone = f"has no `{key}` any more, it was {_shown(before)}"
            text = gone if after is None else f"has `{key}` {_shown(after)}, not {_shown(before)}"
            if before is None:
                text = f"has `{key}` {_shown(after)}"
            yield self._difference(kind, path, at if after is None else (*at, key), text)
        for key in _FORMS:
            before, after = old.get(key), new.get(key)
            if before == after:
                continue
            if after is None:
                yield self._difference("form+", path, at, f"has no {key} any more, it was {_shown(before)}")
            elif before is None:
                yield self._difference("form-", path, (*at, key), f"has the {key} {_shown(after)}")
            else:
                kind = "form+" if self._is_result else "form-"
                yield self._difference(kind, path, (*at, key), f"has the {key} {_shown(after)}, not {_shown(before)}")

    def _semantic(self, old: Schema, new: Schema, path: tuple[str, ...], at: tuple[str, ...]) -> Iterator[Difference]:
        """Compare values that have alternatives or conditions as a whole."""
        if old == new and _text(self._old.schema) == _text(self._new.schema):
            return
        before, after = (
            self._with_definitions(closed(part) if not self._is_result else part, root.schema)
            for part, root in ((old, self._old), (new, self._new))
        )
        if not self._is_result and not path:
            return  # `_check_whole` does it
        if _text(_bare(before)) == _text(_bare(after)):
            return
        source, target = (after, before) if self._is_result else (before, after)
        if is_contained(source, target):
            if not is_contained(target, source):
                text = "has fewer values" if self._is_result else "accepts more values"
                yield self._difference("schema-" if self._is_result else "schema+", path, at, text)
            return
        if found := find_counterexample(source, target):
            text = f"may be {_shown(found[0])}" if self._is_result else f"no longer accepts {_shown(found[0])}"
            yield self._difference("schema+" if self._is_result else "schema-", path, at, text)
        else:
            yield self._difference("schema?", path, at, "has another schema; it is not decided whether values fail")

    @staticmethod
    def _with_definitions(schema: Schema, root: Schema) -> Schema:
        if not isinstance(schema, dict) or not isinstance(root, dict):
            return schema
        return {**{key: root[key] for key in ("$defs", "definitions") if key in root}, **schema}

    # Parts

    def _arrays(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        before, after = old.get("items", True), new.get("items", True)
        if isinstance(before, dict | bool) and isinstance(after, dict | bool):
            yield from self._compare(before, after, (*path, "*"), (*at, "items"))
        elif before != after:
            yield from self._semantic(old, new, path, at)

    def _objects(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        before, after = _properties(old), _properties(new)
        had, has = set(old.get("required") or ()), set(new.get("required") or ())
        renamed = self._renamed(before, after, path)
        for name, value in before.items():
            if name in after:
                yield from self._required(name, had, path, at, new)
                yield from self._compare(value, after[name], (*path, name), (*at, "properties", name))
                if name not in had | has:
                    yield from self._default(value, after[name], (*path, name), (*at, "properties", name))
            elif name in renamed:
                other = renamed[name]
                yield self._rename(name, other, path, at)
                yield from self._required(other, {renamed.get(each, each) for each in had}, path, at, new)
                yield from self._compare(value, after[other], (*path, other), (*at, "properties", other))
            else:
                rule = "result-field-removed" if self._is_result else "argument-removed"
                text = f"{self._label((*path, name))} is removed"
                pointer = json_pointer((*at, "properties", name))
                yield Difference(rule=rule, path=(*path, name), message=text, pointer=pointer, is_old=True)
        for name in after:
            if name not in before and name not in renamed.values():
                yield self._added(name, name in has, old, path, at)
        yield from self._additional(old, new, path, at)

    def _additional(
        self, old: Mapping[str, Any], new: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Iterator[Difference]:
        """Compare the values of maps."""
        before, after = old.get("additionalProperties"), new.get("additionalProperties")
        if before and after and (isinstance(before, dict) or isinstance(after, dict)):
            yield from self._compare(before, after, (*path, "*"), (*at, "additionalProperties"))

    def _rename(self, name: str, other: str, path: tuple[str, ...], at: tuple[str, ...]) -> Difference:
        pointer, where = json_pointer((*at, "properties", other)), (*path, other)
        if self._is_result:
            text = f"result `{show_path((*path, name))}` is now called `{other}`"
            return Difference(rule="result-field-removed", path=where, message=text, pointer=pointer)
        text = f"argument `{show_path((*path, name))}` is now called `{other}`"
        if name in self.renamed:
            return Difference(rule="argument-renamed-with-alias", path=where, message=text, pointer=pointer)
        fix = f'add `aliases = ["{name}"]` to the parameter `{other}`' if not path else f"keep the name `{name}`"
        return Difference(rule="argument-renamed", path=(*path, name), message=text, pointer=pointer, fix=fix)

    def _renamed(self, before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, str]:
        """Return the new name of each value that has another one."""
        renamed: dict[str, str] = {}
        removed = [name for name in before if name not in after]
        if not path and not self._is_result:
            for name in removed:
                if self._aliases.get(name) in after:
                    renamed[name] = self.renamed[name] = self._aliases[name]
        for name in removed:
            added = [other for other in after if other not in before and other not in renamed.values()]
            if name not in renamed and (other := self._similar(name, before[name], {key: after[key] for key in added})):
                renamed[name] = other
                if not path:
                    self.renamed_without_alias[name] = other
        return renamed

    def _similar(self, name: str, value: Schema, choices: Mapping[str, Schema]) -> str:
        """Return the added value that probably is `name` under another name, or the empty string."""
        value = self._old.resolve(value)
        fitting = [
            other
            for other, schema in choices.items()
            if isinstance(value, dict)
            and isinstance(resolved := self._new.resolve(schema), dict)
            and set(types_of(value)) == set(types_of(resolved))
        ]
        if near := closest_match(name, fitting):
            return near
        text = str(value.get("description", "")) if isinstance(value, dict) else ""
        for other in fitting if text else ():
            its = str(self._new.resolve(choices[other]).get("description", ""))
            if SequenceMatcher(None, text[:500], its[:500]).ratio() >= MIN_SIMILARITY:
                return other
        return ""

    def _required(
        self, name: str, before: set[str], path: tuple[str, ...], at: tuple[str, ...], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        """Compare whether a value is required; `before` are the names that were."""
        has = name in (new.get("required") or ())
        if (name in before) == has:
            return
        where = (*path, name)
        pointer = json_pointer((*at, "properties", name))
        if has:
            required = [str(other) for other in new.get("required") or ()]
            pointer = json_pointer((*at, "required", str(required.index(name))))
        rule = {
            (False, True): "argument-now-required",
            (False, False): "argument-now-optional",
            (True, True): "result-field-now-required",
            (True, False): "result-field-now-optional",
        }[self._is_result, has]
        text = f"{self._label(where)} is now {'required' if has else 'optional'}"
        if self._is_result:
            text = f"{self._label(where)} {'is always there' if has else 'may be missing'}"
        yield Difference(rule=rule, path=where, message=text, pointer=pointer)

    def _added(
        self, name: str, is_required: bool, old: Mapping[str, Any], path: tuple[str, ...], at: tuple[str, ...]
    ) -> Difference:
        where, pointer = (*path, name), _member(at, name)
        if self._is_result:
            is_closed = old.get("additionalProperties") is False
            rule = "result-field-added-to-closed" if is_closed else "result-field-added"
        else:
            rule = "required-argument-added" if is_required else "argument-added"
        text = f"{self._label(where)} is added" + (" and required" if is_required and not self._is_result else "")
        return Difference(rule=rule, path=where, message=text, pointer=pointer)


def _member(at: tuple[str, ...], name: str) -> str:
    return json_pointer((*at, "properties", name))


def show_path(path: Sequence[str]) -> str:
    """Return a path as text: `files[].path`."""
    text = ".".join(path)
    return text.replace(".*", "[]") if path[:1] != ("*",) else f"[]{text[1:]}".replace(".*", "[]")


def _without_null(schema: Mapping[str, Any]) -> tuple[Schema, bool]:
    """Return a schema without the value null, and whether it has that value."""
    stated = schema.get("type")
    if isinstance(stated, list) and "null" in stated and len(stated) > 1:
        rest = [kind for kind in stated if kind != "null"]
        result: dict[str, Any] = {**schema, "type": rest[0] if len(rest) == 1 else rest}
        if isinstance(schema.get("enum"), list):
            result["enum"] = [value for value in schema["enum"] if value is not None]
        return result, True
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and {"type": "null"} in branches and len(branches) > 1:
            rest = [branch for branch in branches if branch != {"type": "null"}]
            outer = {name: value for name, value in schema.items() if name != key}
            if len(rest) == 1 and isinstance(rest[0], dict) and CONSTRAINTS.isdisjoint(outer):
                return {**rest[0], **outer}, True
            return {**outer, key: rest}, True
    return schema, False


def _accepts_null(schema: Schema, root: Root) -> bool | None:
    """Return whether a schema accepts null; None if it cannot be evaluated."""
    try:
        return accepts(validator(root.schema).evolve(schema=schema), None)
    except UndecidedError:
        return None


def _stated_types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = types_of(schema)
    return tuple(kind for kind in kinds if kind != "integer" or "number" not in kinds)


def _is_stricter(key: str, before: Any, after: Any) -> bool:
    if after is None or before is None:
        return after is not None and after is not False
    if key == "uniqueItems":
        return after is True
    try:
        if key == "multipleOf":
            return bool(after > before) or bool(before % after)
        return bool(after > before) if key in _LOWER else bool(after < before)
    except (TypeError, ArithmeticError):
        return True


def _bare(schema: Schema) -> Schema:
    """Return a schema without texts."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _bare(part) for name, part in value.items()} if key == "properties" else _bare(value)
        for key, value in schema.items()
        if key not in {"title", "description"} or not isinstance(value, str)
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return f"`{text}`" if len(text) <= 200 else f"`{text[:199]}…`"


def _list(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names) if len(names) < len(_ALL) else "any"


_ALL: Final = ("string", "number", "boolean", "array", "object", "null")


def _list_values(values: Sequence[Any]) -> str:
    more = f" and {len(values) - _MAX_SHOWN_VALUES} more" if len(values) > _MAX_SHOWN_VALUES else ""
    return ", ".join(_shown(value) for value in values[:_MAX_SHOWN_VALUES]) + more
