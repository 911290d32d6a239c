"""From what a client sent to what a handler is given: one path, whether a tool is called directly or through another.

Lax where the meaning is plain ("42" is 42, null is absent, unknown names are dropped and noted), strict where it is
not. All that is wrong is said at once, with what was expected and an example of a call that works.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolmason_runtime.protocol.catalogue import ToolEntry
from toolmason_runtime.protocol.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.protocol.patterns import PatternTimeoutError, time_limit
from toolmason_runtime.protocol.renaming import renamed
from toolmason_runtime.protocol.schema_text import nullless
from toolmason_runtime.protocol.validation import validator
from toolmason_runtime.protocol.wording import FORWARDED, Path, mismatch, named, required, unknown

if TYPE_CHECKING:
    from pydantic import BaseModel

MAX_PROBLEMS = 20
"""So many problems are said; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a handler is given: a model, or a dict where the tool has a raw schema. `notes` are for the model."""

    value: Any
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that does not fit. `is_null` says that a null stands there, which may mean that it is left out."""

    path: Path
    text: str
    is_null: bool = False


class ArgumentReader:
    """Reads the arguments of one tool. `model` is None where they are checked against a raw schema."""

    def __init__(self, entry: ToolEntry, model: type[BaseModel] | None) -> None:
        self._entry = entry
        self._model = model
        self._sent: dict[str, Any] = entry["tool"]["inputSchema"]
        # What clients are sent cannot say every rule: the model's own schema, or the raw one as written, can.
        raw = entry.get("arguments_schema", self._sent)
        self._schema: dict[str, Any] = raw if model is None else model.model_json_schema()
        self._declared = raw
        self._own_names = entry.get("renamed", {})
        self._sent_names = {own: sent for sent, own in self._own_names.items()}
        self._validator = validator(self._schema) if model is None else None

    def read(self, given: Mapping[str, Any]) -> Arguments:
        """Give the arguments as the handler takes them.

        Raises:
            ToolError: something is missing or does not fit; the text names each.
        """
        sent = renamed(deepcopy(dict(given)), self._declared, self._own_names)
        # What is sent to clients names every argument, also one that the schema takes from elsewhere.
        if FORWARDED not in self._sent.get("properties", {}):
            sent.pop(FORWARDED, None)
        notes = tuple(self._drop_unknown(sent))
        if self._model:
            self._choose(sent)
        try:
            with time_limit():
                value, problems = self._checked(sent)
                if nulls := [problem.path for problem in problems if problem.is_null]:
                    for path in nulls:
                        _remove(sent, path)
                    value, problems = self._checked(sent)
        except PatternTimeoutError as error:
            value, problems = None, [self._timed_out(error, sent)]
        if problems:
            raise ToolError(self._complaint(problems, notes, sent), code=INVALID_ARGUMENT)
        return Arguments(value, notes)

    def _timed_out(self, error: PatternTimeoutError, sent: dict[str, Any]) -> Problem:
        places = self._places(sent, self._schema, ())
        path = next((path for path, value, _ in places if value == error.text), ())
        return Problem(path, f"{named(self._told(path))} {error}")

    def _checked(self, sent: dict[str, Any]) -> tuple[Any, list[Problem]]:
        """Give the value for the handler, or what is wrong."""
        confused = [*self._confused(sent), *self._repeated(sent)] if self._model else []
        value, problems = self._modelled(sent) if self._model else self._matched(sent)
        known = {problem.path for problem in confused}
        return value, confused + [problem for problem in problems if problem.path not in known]

    def _modelled(self, sent: dict[str, Any]) -> tuple[Any, list[Problem]]:
        from pydantic import ValidationError

        if self._model is None:
            raise AssertionError("a tool with a raw schema has no model")
        try:
            model = self._model.model_validate(sent)
        except ValidationError as error:
            return None, [self._problem(each) for each in error.errors(include_url=False)]
        if "cli" in self._entry:
            _keep_integers(model, sent)
        return model, []

    def _problem(self, error: Mapping[str, Any]) -> Problem:
        path: Path = error["loc"]
        schema = self._at(path)
        if error["type"] == "missing":
            return Problem(path, required(self._told(path), schema))
        text = mismatch(self._told(path), schema, error["input"]) or f"{named(self._told(path))}: {error['msg']}"
        return Problem(path, text, is_null=error["input"] is None and self._is_argument(path))

    def _is_argument(self, path: Path) -> bool:
        """Whether the member at `path` has a name of its own, and is no entry of a map."""
        return bool(path) and path[-1] in self._at(path[:-1]).get("properties", {})

    def _matched(self, sent: dict[str, Any]) -> tuple[Any, list[Problem]]:
        if self._validator is None:
            raise AssertionError("a tool with a model is not checked against its schema")
        problems: dict[tuple[Path, str], Problem] = {}
        for error in self._validator.iter_errors(sent):
            path: Path = tuple(error.absolute_path)
            for each in self._schema_problems(path, error):
                problems.setdefault((each.path, each.text), each)
        return sent, list(problems.values())

    def _schema_problems(self, path: Path, error: Any) -> Iterator[Problem]:
        schema, value = error.schema, error.instance
        if error.validator == "required":
            for name in [name for name in schema["required"] if name not in value]:
                absent = (*path, name)
                yield Problem(absent, required(self._told(absent), _under(schema, name)))
            return
        if error.validator in {"anyOf", "oneOf"} and error.context:
            for each in _nearest_alternative(error.context):
                yield from self._schema_problems(tuple(each.absolute_path), each)
            return
        told = self._told(path)
        text = mismatch(told, schema, value) if error.validator in _SAID else ""
        is_null = value is None and bool(path) and _is_of_a_property(error, path[-1])
        yield Problem(path, text or f"{named(told)}: {error.message[:300]}", is_null=is_null)

    def _told(self, path: Path) -> Path:
        """Give a path in the names that the model was sent."""
        return tuple(self._sent_names.get(str(step), step) for step in path) if self._sent_names else path

    def _confused(self, sent: dict[str, Any]) -> Iterator[Problem]:
        """Find booleans where numbers belong and the other way round: Python takes one for the other."""
        for path, value, schema in self._places(sent, self._schema, ()):
            kind = schema.get("type")
            is_flag, is_number = isinstance(value, bool), isinstance(value, int | float)
            if (is_flag and kind in {"integer", "number"}) or (is_number and not is_flag and kind == "boolean"):
                yield Problem(path, mismatch(self._told(path), schema, value))

    def _repeated(self, sent: dict[str, Any]) -> Iterator[Problem]:
        """Find items that stand twice where they must differ: the one rule that a model cannot hold."""
        for steps in self._entry.get("unique", ()):
            for path, value in standing_at(sent, steps, ()):
                kinds = (
                    [json.dumps(item, sort_keys=True, default=str) for item in value] if isinstance(value, list) else []
                )
                if len(set(kinds)) < len(kinds):
                    yield Problem(path, mismatch(self._told(path), self._at(path) | {"uniqueItems": True}, value))

    def _choose(self, sent: dict[str, Any]) -> None:
        """Make integers of texts where only some integers fit: of those the model takes nothing else for one."""
        for path, value, schema in list(self._places(sent, self._schema, ())):
            choices = schema["enum"] if "enum" in schema else [schema.get("const")]
            meant = int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else None
            if meant is not None and any(type(each) is int and each == meant for each in choices):
                holder: Any = sent
                for step in path[:-1]:
                    holder = holder[step]
                holder[path[-1]] = meant

    def _drop_unknown(self, sent: dict[str, Any]) -> Iterator[str]:
        """Drop what no schema names, and say so. A raw schema that does not forbid other arguments takes them."""
        places = list(self._places(sent, self._schema, ())) if self._model else [((), sent, self._schema)]
        for path, value, schema in places:
            names = schema.get("properties")
            if not isinstance(value, dict) or names is None or not _is_closed(schema, by_default=bool(self._model)):
                continue
            known = [str(each) for each in self._told(tuple(names))]
            given = [str(each) for each in self._told(tuple(name for name in value if name in names))]
            for name in [name for name in value if name not in names]:
                del value[name]
                yield unknown(self._told((*path, name)), known, given=given)

    def _places(self, value: Any, schema: Any, path: Path) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
        """Give each value inside `value` that `schema` describes, with its path and its schema."""
        plain = self._resolved(schema)
        yield path, value, plain
        if isinstance(value, dict):
            for name, inner in list(value.items()):
                yield from self._places(inner, _under(plain, name), (*path, name))
        elif isinstance(value, list):
            for place, inner in enumerate(value):
                yield from self._places(inner, plain.get("items", {}), (*path, place))

    def _at(self, path: Path) -> dict[str, Any]:
        """Give the schema of what stands at `path`; empty where there is none."""
        schema = self._resolved(self._schema)
        for step in path:
            schema = self._resolved(schema.get("items", {}) if isinstance(step, int) else _under(schema, step))
        return schema

    def _resolved(self, schema: Any) -> dict[str, Any]:
        """Give `schema` with its reference followed. A raw schema may point elsewhere than to `$defs`: not followed."""
        found = nullless(schema)
        name = str(found.get("$ref", "")).removeprefix("#/$defs/")
        named = self._schema.get("$defs", {}).get(name)
        return found if named is None else nullless(named) | ({"nullable": True} if "nullable" in found else {})

    def _complaint(self, problems: Sequence[Problem], notes: Sequence[str], sent: Mapping[str, Any]) -> str:
        lines = [problem.text for problem in problems[:MAX_PROBLEMS]]
        if len(problems) > MAX_PROBLEMS:
            lines.append(f"... and {len(problems) - MAX_PROBLEMS} more.")
        example = self._nearest_example(sent)
        return "\n".join([*lines, *notes, *([f"Example: {example}"] if example else [])])

    def _nearest_example(self, sent: Mapping[str, Any]) -> str:
        """Give the example that shares most arguments with what was sent, in call syntax."""
        examples = self._entry["examples"]
        best = max(examples, key=lambda each: len(each["arguments"].keys() & sent.keys()), default=None)
        return best["invocation"] if best else ""


def _nearest_alternative(errors: Sequence[Any]) -> list[Any]:
    """Give what is wrong with the alternative that was meant: of the right type and tag, with the fewest mistakes."""
    groups: dict[Any, list[Any]] = {}
    for each in errors:
        groups.setdefault(each.schema_path[0], []).append(each)

    def distance(group: Sequence[Any]) -> tuple[bool, bool, int]:
        wrong_type = any(each.validator == "type" and not each.path for each in group)
        wrong_tag = any(each.validator in {"const", "enum"} for each in group)
        return wrong_type, wrong_tag, len(group)

    return min(groups.values(), key=distance)


def _is_of_a_property(error: Any, name: str | int) -> bool:
    """Whether the schema at fault stands under `properties`, so that leaving the value out may be meant."""
    steps = list(error.absolute_schema_path)
    places = [place for place, step in enumerate(steps) if place and step == name and steps[place - 1] == "properties"]
    return bool(places) and not {"additionalProperties", "patternProperties"} & set(steps[places[-1] :])


_SAID = frozenset(
    {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"}
)
"""The keywords whose rule `expected` puts into words."""


_INTEGER = re.compile(r"\s*[+-]?\d{1,100}\s*", re.ASCII)


def _keep_integers(model: BaseModel, sent: Mapping[str, Any]) -> None:
    """Put integers back of which the model made floats: a command line is given what was sent, digit for digit."""
    for name, field in type(model).model_fields.items():
        model.__dict__[name] = _kept(getattr(model, name), sent.get(field.alias or name))


def _kept(value: Any, sent: Any) -> Any:
    if isinstance(value, list) and isinstance(sent, list):
        return list(map(_kept, value, sent))
    if not isinstance(value, float):
        return value
    text = str(sent) if isinstance(sent, str | int) else ""
    return int(text) if _INTEGER.fullmatch(text) else value


def standing_at(value: Any, steps: Sequence[str], path: Path) -> Iterator[tuple[Path, Any]]:
    """Give what stands at the end of `steps` from `value`, which stands at `path`; `*` is each item or member."""
    if not steps:
        yield path, value
        return
    step, *rest = steps
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = value.items() if step == "*" else [(step, value[step])] if step in value else ()
    elif isinstance(value, list) and step == "*":
        inner = enumerate(value)
    for name, each in inner:
        yield from standing_at(each, rest, (*path, name))


def _under(schema: Mapping[str, Any], name: str) -> Any:
    """Give the schema of the member `name`; empty where there is none."""
    members = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    return members[name] if name in members else rest if isinstance(rest, dict) else {}


def _is_closed(schema: Mapping[str, Any], *, by_default: bool) -> bool:
    if any(keyword in schema for keyword in ("patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if")):
        return False
    rest = schema.get("additionalProperties", not by_default)
    return rest is False


def _remove(sent: Any, path: Path) -> None:
    """Take the member at `path` out of its object; what stands in an array stays."""
    for step in path[:-1]:
        sent = sent[step]
    if isinstance(sent, dict):
        sent.pop(path[-1], None)
