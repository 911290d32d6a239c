"""Validate and convert the arguments of a call, for direct calls and for calls through a meta-tool.

Validation is lax where the meaning is certain: `repair` converts wrong forms. An argument under another of its names is
renamed and an unknown one dropped, both with a note. All problems are reported together, each with the expected value,
and with the call to send instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from toolmason_runtime.calls.binding import load_model
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.selection import is_over
from toolmason_runtime.shared.values.exact_form import Check, exact_form
from toolmason_runtime.shared.values.flat_arguments import flat_check
from toolmason_runtime.shared.values.patterns import PatternTimeoutError, time_limit
from toolmason_runtime.shared.values.renaming import renamed
from toolmason_runtime.shared.values.schema_text import without_null
from toolmason_runtime.shared.values.wording import (
    GEMINI_EXTRA_ARGUMENT,
    Path,
    call_json,
    deprecated_argument,
    ended_argument,
    mismatch,
    named,
    other_name,
    required,
    unknown,
)

if TYPE_CHECKING:
    from pydantic import BaseModel
    from toolmason_runtime.calls.repair import Repair
    from toolmason_runtime.shared.values.schema_keywords import Violation
    from toolmason_runtime.shared.values.validation import Validator

MAX_PROBLEMS = 20
"""Maximum number of problems in an error text; the others are counted."""

_CONTAINERS = frozenset({dict, list})
_INTEGER = re.compile(r"\s*[+-]?\d{1,100}\s*", re.ASCII)
"""An integer as text: ` 42`, `-7`. The limit bounds the time of `int`."""


class Arguments(NamedTuple):
    """The arguments of a handler; `notes` are for the model.

    `value` is a model, or a dict if the tool has a raw schema or an API, or the arguments were valid without the model.
    """

    value: Any
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One invalid or missing argument."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of a check: the known arguments, the value for the handler, problems, and notes on dropped names.

    `is_exact`: the model takes every value as it is.
    """

    arguments: dict[str, Any]
    value: Any
    problems: list[Problem]
    notes: tuple[str, ...]
    is_exact: bool


class ArgumentValidator:
    """Validates the arguments of one tool.

    Args:
        entry: the tool.
        params: that of its binding.
        show_call: returns a call of the tool with these arguments, for errors; by default with the tool's own name.
    """

    def __init__(
        self,
        entry: ToolEntry,
        params: type[BaseModel] | str | None,
        show_call: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        self._entry = entry
        self._show_call = show_call or partial(call_json, entry["tool"]["name"])
        self._params = params
        self._public_schema: dict[str, Any] = entry["tool"]["inputSchema"]
        # `inputSchema` cannot express every rule; the schema of the model, or the raw schema, can.
        self._declared = entry.get("arguments_schema", self._public_schema)
        self._own_names = entry.get("renamed", {})
        self._public_names = {own: public for public, own in self._own_names.items()}
        self._claims = entry.get("claims", {})
        has_all_rules = params is None or isinstance(params, str)
        self._flat_check = flat_check(self._declared) if has_all_rules else None
        # `inputSchema` lists every argument, also one that the model takes from a reference.
        self._drops_extra = GEMINI_EXTRA_ARGUMENT not in self._public_schema.get("properties", {})
        self._takes_exact_model = not {"unique", *_EXACT_KINDS} & entry.keys()
        """Whether the model's value for arguments of exact form needs no further check and no change."""

    @cached_property
    def _model(self) -> type[BaseModel] | None:
        """The model of the arguments; None if they are checked against a raw schema."""
        return load_model(self._params) if isinstance(self._params, str) else self._params

    @cached_property
    def _validator(self) -> Validator:
        from toolmason_runtime.shared.values.validation import validator

        return validator(self._schema)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return self._declared if self._model is None else self._model.model_json_schema()

    @cached_property
    def _exact_form(self) -> Check | None:
        """The check for arguments that the model takes as they are."""
        return None if self._model is None else exact_form(self._schema)

    def prepare(self) -> None:
        """Import and compile what `validate` needs for valid arguments."""
        if self._flat_check is None:
            _ = self._exact_form if self._model else self._validator

    def validate(self, raw_arguments: Mapping[str, Any]) -> Arguments:
        """Return the arguments for the handler.

        Raises:
            ToolError: an argument is missing or invalid; the text lists every problem.
        """
        arguments = dict(raw_arguments)
        renaming_notes = tuple(self._replace_aliases(arguments)) if "argument_aliases" in self._entry else ()
        if "deprecated_arguments" in self._entry:
            renaming_notes += self._deprecations(arguments)
        if self._own_names:
            arguments = renamed(arguments, self._declared, self._own_names)
        if self._drops_extra:
            arguments.pop(GEMINI_EXTRA_ARGUMENT, None)
        if self._flat_check and (sent := self._flat_check(arguments)) is not None:
            return Arguments(sent, renaming_notes)
        if self._takes_exact_model and (value := self._exact_value(arguments)) is not None:
            return Arguments(value, renaming_notes)
        attempt = self._attempt(arguments)
        if attempt.problems or attempt.notes:
            repaired = self._repair.apply(arguments)
            if repaired is not arguments:
                _check_decoded(repaired)
                attempt = self._attempt(repaired)
        notes = (*renaming_notes, *attempt.notes)
        if attempt.problems:
            raise ToolError(self._error_text(attempt, notes), code=INVALID_ARGUMENT)
        rounded = () if attempt.is_exact else self._find_rounded(attempt.arguments)
        return Arguments(attempt.value, (*notes, *rounded))

    def _exact_value(self, arguments: dict[str, Any]) -> BaseModel | None:
        """Return the value of the model for arguments of exact form; None for others, and for invalid ones."""
        if self._model is None or self._exact_form is None or not self._exact_form(arguments):
            return None
        try:
            with time_limit():
                return self._model.model_validate(arguments)
        except (ValueError, PatternTimeoutError):
            return None  # `_attempt` finds the problem

    def deprecated_names(self, raw_arguments: Mapping[str, Any]) -> list[str]:
        """Return the deprecated arguments of a call by their names in `inputSchema`, also those sent under another."""
        aliases = self._entry.get("argument_aliases", {})
        sent = {aliases.get(name, name) for name in raw_arguments}
        return [name for name in self._entry.get("deprecated_arguments", ()) if name in sent]

    @cached_property
    def _repair(self) -> Repair:
        from toolmason_runtime.calls.repair import Repair  # most arguments have the right form

        return Repair(self._schema, is_closed=self._model is not None, reserved=self._claims)

    def _replace_aliases(self, arguments: dict[str, Any]) -> Iterator[str]:
        """Rename arguments under another name of theirs in place, with a note for each."""
        for alias, name in self._entry["argument_aliases"].items():
            # A claim is filled by the server: no name sets it.
            if alias not in arguments or self._own_names.get(name, name) in self._claims:
                continue
            value = arguments.pop(alias)
            is_used = arguments.get(name) is None
            if is_used:
                arguments[name] = value
            yield other_name(alias, name, is_used=is_used)

    def _deprecations(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return a note for each deprecated argument of a call.

        Raises:
            ToolError: the last day of one is over; the text has the call without it.
        """
        found = {name: entry for name, entry in self._entry["deprecated_arguments"].items() if name in arguments}
        removed = {name: entry["replaced_by"] for name, entry in found.items() if is_over(entry)}
        if not removed:
            return tuple(deprecated_argument(name, entry) for name, entry in found.items())
        lines = [ended_argument(name, found[name]) for name in removed]
        kept = {name: value for name, value in arguments.items() if name not in removed}
        for name, replacement in removed.items():
            if replacement:
                kept.setdefault(replacement, arguments[name])
        raise ToolError("\n".join([*lines, f"Example: {self._show_call(kept)}"]), code=INVALID_ARGUMENT)

    def _attempt(self, sent: Mapping[str, Any]) -> _Attempt:
        """Check arguments without changing them."""
        arguments = {name: deepcopy(value) if type(value) in _CONTAINERS else value for name, value in sent.items()}
        is_exact = self._exact_form is not None and self._exact_form(arguments)
        notes = () if is_exact else tuple(self._drop_unknown(arguments))
        try:
            with time_limit():
                value, problems = self._check(arguments, is_exact=is_exact)
        except PatternTimeoutError as error:
            value, problems = None, [self._timeout_problem(error, arguments)]
        return _Attempt(arguments, value, problems, notes, is_exact)

    def _timeout_problem(self, error: PatternTimeoutError, arguments: dict[str, Any]) -> Problem:
        values = self._described_values(arguments, self._schema, ())
        path = next((path for path, value, _ in values if value == error.text), ())
        return Problem(path, f"{named(self._public_path(path))} {error}")

    def _check(self, arguments: dict[str, Any], *, is_exact: bool) -> tuple[Any, list[Problem]]:
        """Return the value for the handler and the problems."""
        if self._model is None:
            return arguments, self._validate_schema(arguments)
        mixups = () if is_exact else self._find_boolean_number_mixups(arguments)
        problems = [*mixups, *self._find_duplicates(arguments)]
        paths = {problem.path for problem in problems}
        value, model_problems = self._validate_model(self._model, arguments)
        return value, problems + [problem for problem in model_problems if problem.path not in paths]

    def _validate_model(self, model: type[BaseModel], arguments: dict[str, Any]) -> tuple[Any, list[Problem]]:
        from pydantic import ValidationError

        try:
            value = model.model_validate(arguments)
        except ValidationError as error:
            return None, [self._model_problem(details) for details in error.errors(include_url=False)]
        if "cli" in self._entry:
            _restore_integers(value, arguments)
        elif "api" in self._entry:
            # As a dict, since a model writes each float as a float.
            return _restore_integer(value.model_dump(mode="json", by_alias=True, exclude_unset=True), arguments), []
        return value, []

    def _find_rounded(self, arguments: dict[str, Any]) -> Iterator[str]:
        """Yield a note for each integer that the model rounded, because its parameter is a floating-point number."""
        if self._model is None or not _EXACT_KINDS.isdisjoint(self._entry):
            return
        for path, number, schema in self._described_values(arguments, self._schema, ()):
            if schema.get("type") == "number" and (rounded := _rounded(number)) is not None:
                what = f"{named(self._public_path(path))} is a floating-point number"
                yield f"{what}: {number} was rounded to {rounded}"

    def _model_problem(self, error: Mapping[str, Any]) -> Problem:
        # In a union of objects, it has the value of the discriminator after the path of the object.
        location: Path = error["loc"]
        schema, path = self._schema_at(location), self._without_tags(location)
        value = error["input"]
        if (tags := self._tags(schema)) and isinstance(value, dict):
            name = schema["discriminator"]["propertyName"]
            path, value, schema = (*path, name), value.get(name), {"enum": list(tags)}
        elif tags:
            schema = {"type": "object"}
        public_path = self._public_path(path)
        if error["type"] in {"missing", "union_tag_not_found"}:
            return Problem(path, required(public_path, schema))
        text = mismatch(public_path, schema, value) or f"{named(public_path)}: {error['msg']}"
        return Problem(path, text)

    def _without_tags(self, location: Path) -> Path:
        """Return a location of an error without the values of discriminators."""
        return tuple(
            step for index, step in enumerate(location) if step not in self._tags(self._schema_at(location[:index]))
        )

    def _tags(self, schema: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the reference to each type of a union in the model's schema by its value of the discriminator."""
        return schema["discriminator"]["mapping"] if self._model and "discriminator" in schema else {}

    def _validate_schema(self, arguments: dict[str, Any]) -> list[Problem]:
        problems: dict[tuple[Path, str], Problem] = {}
        for error in self._validator.iter_errors(arguments):
            for problem in self._schema_problems(error):
                problems.setdefault((problem.path, problem.text), problem)
        return list(problems.values())

    def _schema_problems(self, error: Violation) -> Iterator[Problem]:
        path, schema, value = error.path, error.schema, error.instance
        if error.keyword == "required":
            for name in [name for name in schema["required"] if name not in value]:
                missing = (*path, name)
                yield Problem(missing, required(self._public_path(missing), _member_schema(schema, name)))
            return
        if error.branches:
            from toolmason_runtime.shared.values.validation import nearest_alternative

            for inner in nearest_alternative(error):
                yield from self._schema_problems(inner)
            return
        public_path = self._public_path(path)
        text = mismatch(public_path, schema, value) if error.keyword in _DESCRIBED_KEYWORDS else ""
        yield Problem(path, text or f"{named(public_path)}: {error.message[:300]}")

    def _public_path(self, path: Path) -> Path:
        """Return a path with the names of `inputSchema`."""
        return tuple(self._public_names.get(str(step), step) for step in path) if self._public_names else path

    def _find_boolean_number_mixups(self, arguments: dict[str, Any]) -> Iterator[Problem]:
        """Find booleans in place of numbers and the reverse, which the model would convert."""
        for path, value, schema in self._described_values(arguments, self._schema, ()):
            kind = schema.get("type")
            is_flag, is_number = isinstance(value, bool), isinstance(value, int | float)
            if (is_flag and kind in {"integer", "number"}) or (is_number and not is_flag and kind == "boolean"):
                yield Problem(path, mismatch(self._public_path(path), schema, value))

    def _find_duplicates(self, arguments: dict[str, Any]) -> Iterator[Problem]:
        """Find duplicate items where the schema has `uniqueItems`, the one rule that a model cannot express."""
        for steps in self._entry.get("unique", ()):
            for path, value in values_at(arguments, steps, ()):
                items = value if isinstance(value, list) else []
                texts = {json.dumps(item, sort_keys=True, default=str) for item in items}
                if len(texts) < len(items):
                    schema = self._schema_at(path) | {"uniqueItems": True}
                    yield Problem(path, mismatch(self._public_path(path), schema, value))

    def _drop_unknown(self, arguments: dict[str, Any]) -> Iterator[str]:
        """Drop undeclared members, with a note for each. A raw schema allows them unless it forbids them."""
        is_model = bool(self._model)
        root = (), arguments, self._schema
        values = list(self._described_values(arguments, self._schema, ())) if is_model else [root]
        for path, value, schema in values:
            properties = schema.get("properties")
            if not isinstance(value, dict) or properties is None or not _is_closed(schema, by_default=is_model):
                continue
            visible = tuple(name for name in properties if path or name not in self._claims)
            valid_names = [str(name) for name in self._public_path(visible)]
            used_names = [str(name) for name in self._public_path(tuple(name for name in value if name in properties))]
            for name in [name for name in value if name not in properties]:
                del value[name]
                yield unknown(self._public_path((*path, name)), valid_names, used=used_names)

    def _described_values(self, value: Any, schema: Any, path: Path) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
        """Yield each value inside `value` that `schema` describes, with its path and its schema."""
        resolved = self._resolve(schema)
        if isinstance(value, dict) and (tags := self._tags(resolved)):
            tag = value.get(resolved["discriminator"]["propertyName"])
            resolved = self._resolve({"$ref": tags[tag]}) if isinstance(tag, str) and tag in tags else resolved
        yield path, value, resolved
        if isinstance(value, dict):
            for name, member in list(value.items()):
                yield from self._described_values(member, _member_schema(resolved, name), (*path, name))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._described_values(item, resolved.get("items", {}), (*path, index))

    def _schema_at(self, path: Path) -> dict[str, Any]:
        """Return the schema of the value at `path`; empty without one."""
        schema = self._resolve(self._schema)
        for step in path:
            if step in (tags := self._tags(schema)):
                schema = self._resolve({"$ref": tags[str(step)]})
            else:
                part = schema.get("items", {}) if isinstance(step, int) else _member_schema(schema, step)
                schema = self._resolve(part)
        return schema

    def _resolve(self, schema: Any) -> dict[str, Any]:
        """Return `schema` with a reference to `$defs` resolved; other references of a raw schema stay."""
        resolved = without_null(schema)
        name = str(resolved.get("$ref", "")).removeprefix("#/$defs/")
        target = self._schema.get("$defs", {}).get(name)
        if target is None:
            return resolved
        return without_null(target) | ({"nullable": True} if "nullable" in resolved else {})

    def _error_text(self, attempt: _Attempt, notes: Sequence[str]) -> str:
        problems = attempt.problems
        lines = [problem.text for problem in problems[:MAX_PROBLEMS]]
        if len(problems) > MAX_PROBLEMS:
            lines.append(f"... and {len(problems) - MAX_PROBLEMS} more.")
        return "\n".join([*lines, *notes, f"Example: {self._show_call(self._corrected(attempt))}"])

    def _corrected(self, attempt: _Attempt) -> dict[str, Any]:
        """Return arguments of the right form, with the names of `inputSchema`."""
        from toolmason_runtime.calls.correction import corrected

        names = {name for problem in attempt.problems for name in self._public_path(problem.path[:1])}
        arguments = renamed(attempt.arguments, self._declared, self._public_names)
        examples = [example["arguments"] for example in self._entry["examples"]]
        # A problem of the arguments as a whole does not tell which of them is wrong.
        return corrected(arguments if names else {}, {*map(str, names)}, self._public_schema, examples)


def _check_decoded(arguments: Mapping[str, Any]) -> None:
    """Raise ToolError if a value that was decoded from a text cannot be encoded; other arguments are checked before."""
    from toolmason_runtime.wire.json_boundary import problems_of

    if problems := problems_of(arguments, ()):
        raise ToolError("\n".join(problems), code=INVALID_ARGUMENT)


_DESCRIBED_KEYWORDS = frozenset(
    {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"}
)
"""The keywords that `describe_schema` puts into words."""


_EXACT_KINDS = frozenset({"cli", "api"})
"""Keys of the tools whose program or API gets the digits that were sent."""


def _restore_integers(model: BaseModel, arguments: Mapping[str, Any]) -> None:
    """Replace the floats that the model made of integers."""
    for name, field in type(model).model_fields.items():
        model.__dict__[name] = _restore_integer(getattr(model, name), arguments.get(field.alias or name))


def _rounded(argument: Any) -> int | None:
    """Return the integer that a double has instead of `argument`; None if it is exact, or no integer."""
    is_text = isinstance(argument, str) and _INTEGER.fullmatch(argument)
    if not is_text and (not isinstance(argument, int) or isinstance(argument, bool)):
        return None
    try:
        number = int(argument)
        rounded = int(float(number))
    except (OverflowError, ValueError):
        return None
    return None if rounded == number else rounded


def _restore_integer(value: Any, argument: Any) -> Any:
    if isinstance(value, list) and isinstance(argument, list):
        return list(map(_restore_integer, value, argument))
    if isinstance(value, dict) and isinstance(argument, dict):
        return {key: _restore_integer(item, argument.get(key)) for key, item in value.items()}
    if not isinstance(value, float):
        return value
    text = str(argument) if isinstance(argument, str | int) else ""
    return int(text) if _INTEGER.fullmatch(text) else value


def values_at(value: Any, steps: Sequence[str], path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the values at the end of `steps`, with their paths; `*` is every item or member.

    Example: `["files", "*", "tags"]` yields `tags` of each file in `{"files": [{"tags": []}]}`.

    Args:
        value: the value at which the steps start.
        steps: names of members, or `*`.
        path: the path of `value`.
    """
    if not steps:
        yield path, value
        return
    step, *rest = steps
    children: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        children = value.items() if step == "*" else [(step, value[step])] if step in value else ()
    elif isinstance(value, list) and step == "*":
        children = enumerate(value)
    for name, child in children:
        yield from values_at(child, rest, (*path, name))


def _member_schema(schema: Mapping[str, Any], name: str) -> Any:
    """Return the schema of the member `name`; empty without one."""
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    return properties[name] if name in properties else rest if isinstance(rest, dict) else {}


def _is_closed(schema: Mapping[str, Any], *, by_default: bool) -> bool:
    if any(keyword in schema for keyword in ("patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if")):
        return False
    return schema.get("additionalProperties", not by_default) is False
