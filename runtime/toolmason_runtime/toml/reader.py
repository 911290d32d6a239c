"""Convert TOML tables to the frozen dataclasses that declare them.

All problems are reported. An invalid value also drops the tables around it, up to a `PartialTable`, which keeps its
valid keys, or to a table of tables, which keeps the others.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from toolmason_runtime.suggestions import closest_match, did_you_mean
from toolmason_runtime.toml.document import TomlDocument
from toolmason_runtime.toml.json_values import HINTS, TOO_DEEP, find_non_json, json_problem
from toolmason_runtime.toml.positions import KeyPath
from toolmason_runtime.toml.problems import Kind, Problem, either, kind_of, quoted, table_name, within
from toolmason_runtime.toml.rules import value_checks
from toolmason_runtime.toml.tables import Idiom, PartialTable, Table, all_keys_of, is_required, keys_of

MAX_ITEMS: Final = 10_000
"""Maximum items of an array: of choices, examples, tags or files. Values of free form have no such limit."""
_T = TypeVar("_T", bound=Table)
_NOTHING: Final[Mapping[Any, Any]] = types.MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TableContext:
    """The raw table, its key path and the document, passed to a check of several keys."""

    data: Mapping[str, Any]
    at: KeyPath
    document: TomlDocument
    _spec: _TableSpec
    _run: _Run

    def error(self, kind: str, message: str, *path: str | int, hint: str = "", value: bool = True) -> None:
        """Report a problem of the value at `path` below the table, or of its key if not `value`.

        Without a path, the problem is that of the table.
        """
        self._run.error(kind, message, (*self.at, *path), hint, value=value and bool(path))

    def has(self, key: str) -> bool:
        """Return whether a key is present, perhaps misspelt."""
        return key in self.data or key in {
            self._run.meant(self._spec, each) for each in self.data if each not in self._spec.readers
        }

    def missing(self, key: str, sample: str) -> None:
        """Report a key that the other keys require, unless it is only misspelt."""
        if not self.has(key):
            self.error(Kind.MISSING_KEY, f"missing key `{key}` {within(self.at)}", hint=f"add `{key} = {sample}`")


TableCheck = Callable[[TableContext], None]
"""A check of one table that a dataclass cannot express."""

Extensions = Mapping[type[Table], tuple[type[Table], ...]]
"""A table -> the tables whose keys it has besides its own."""


def read(
    table: type[_T],
    document: TomlDocument,
    *,
    report: Callable[[Problem], None],
    checks: Mapping[type[Table], TableCheck] = _NOTHING,
    extensions: Extensions = _NOTHING,
) -> _T | None:
    """Read the whole of `document` as `table`; return None if too little of it is valid.

    `checks` run once for each table of their type. `extensions` are the classes whose keys an `ExtensibleTable` has
    besides its own.
    """
    run = _Run(document, report, checks, extensions)
    result = _read_table(run, run.spec(table), document.data, ())
    return None if result is _INVALID else result


_INVALID: Final[Any] = object()
"""Stands for a value with a reported problem."""


@dataclass(slots=True)
class _Run:
    document: TomlDocument
    report: Callable[[Problem], None]
    checks: Mapping[type[Table], TableCheck]
    extensions: Extensions
    meanings: dict[tuple[type[Table], str], str] = dataclasses.field(default_factory=dict)
    """Unknown keys of each table, and the key that each probably stands for."""

    def spec(self, table: type[Table]) -> _TableSpec:
        """Return the readers of a table with its extensions."""
        return _table_spec(table, self.extensions.get(table, ()))

    def meant(self, spec: _TableSpec, key: str) -> str:
        """Return the key that an unknown key probably stands for, or the empty string."""
        known = self.meanings.get((spec.table, key))
        if known is None:
            idiom = spec.idioms.get(key)
            known = self.meanings[spec.table, key] = idiom.key if idiom else closest_match(key, spec.readers)
        return known

    def error(self, kind: str, message: str, at: KeyPath, hint: str = "", *, value: bool = True) -> Any:
        """Report a problem of the value at `at`, or of its key."""
        position = self.document.position(at, value=value)
        self.report(Problem(kind=kind, message=message, position=position, path=at, hint=hint))
        return _INVALID


_Reader = Callable[[_Run, Any, KeyPath, str | int], Any]
"""Checks and converts the value in the table (or array) at a path, under a key (or index)."""


@dataclass(frozen=True, slots=True)
class _TableSpec:
    """The readers of a table class, made once, since type hints are slow to resolve."""

    table: type[Table]
    readers: Mapping[str, tuple[str, _Reader]]
    """Key in TOML -> name of the field, and its reader."""
    owners: Mapping[str, type[Table]]
    """Key in TOML of an extension -> the extension."""
    idioms: Mapping[str, Idiom]
    required: Mapping[str, str]
    """Key in TOML -> a sample value for the hint if it is missing."""
    empty: Mapping[str, Callable[[], Any]]
    """Required key in TOML -> its empty value."""


_TABLE_SPECS: Final[dict[tuple[type[Table], ...], _TableSpec]] = {}


def _table_spec(table: type[Table], extensions: tuple[type[Table], ...] = ()) -> _TableSpec:
    key = (table, *extensions)
    if key not in _TABLE_SPECS:
        hints = {owner: get_type_hints(owner) for owner in key}
        keys = {
            name: (owner, field, hints[owner][field.name])
            for name, (owner, field) in all_keys_of(table, extensions).items()
        }
        _TABLE_SPECS[key] = _TableSpec(
            table,
            {name: (field.name, _field_reader(field, hint)) for name, (_, field, hint) in keys.items()},
            {name: owner for name, (owner, _, _) in keys.items() if owner is not table},
            {word: idiom for owner in key for word, idiom in owner.idioms.items()},
            {name: _sample(hint) for name, (_, field, hint) in keys.items() if is_required(field)},
            {name: _empty(hint) for name, (_, field, hint) in keys.items() if is_required(field)},
        )
    return _TABLE_SPECS[key]


def _empty(hint: Any) -> Callable[[], Any]:
    """Return a factory of empty values of a type."""
    if isinstance(hint, type) and issubclass(hint, PartialTable):
        return lambda: _partial(_table_spec(hint), (), {}, keys_of(hint))
    kind = get_origin(hint) or hint
    return dict if kind is Mapping else kind


def _read_table(run: _Run, spec: _TableSpec, data: Mapping[str, Any], at: KeyPath) -> Any:
    values: dict[str, Any] = {}
    added: dict[type[Table], dict[str, Any]] = {}
    unread: set[str] = set()
    for key, value in data.items():
        known = spec.readers.get(key)
        if known is None:
            unread.add(run.meant(spec, key) or key)
            continue
        name, reader = known
        result = reader(run, value, at, key)
        if result is _INVALID:
            unread.add(key)
        elif spec.owners and (owner := spec.owners.get(key)) is not None:
            added.setdefault(owner, {})[name] = result
        else:
            values[name] = result
    if added:
        values["extensions"] = {owner: owner(at=at, **own) for owner, own in added.items()}
    missing = spec.required.keys() - data.keys()
    if unread or missing:
        _report_keys(run, spec, data, at)
    if (check := run.checks.get(spec.table)) is not None:
        check(TableContext(data, at, run.document, spec, run))
    if unread or missing:
        return _partial(spec, at, values, unread | missing)
    return spec.table(at=at, **values)


def _partial(spec: _TableSpec, at: KeyPath, values: Mapping[str, Any], unread: Iterable[str]) -> Any:
    """Return the table with its valid keys, or `_INVALID` if it is useless without the others."""
    if not issubclass(spec.table, PartialTable):
        return _INVALID
    empty = {spec.readers[key][0]: make() for key, make in spec.empty.items()}
    if spec.owners:
        empty["extension_keys"] = frozenset(spec.owners)
    return spec.table(at=at, unread=frozenset(unread), **{**empty, **values})


def _report_keys(run: _Run, spec: _TableSpec, data: Mapping[str, Any], at: KeyPath) -> None:
    """Report unknown and missing keys. A key that is only misspelt is not missing."""
    meant: set[str] = set()
    for key in [each for each in data if each not in spec.readers]:
        idiom, match = spec.idioms.get(key), run.meant(spec, key)
        meant.add(match)
        guess = f"did you mean `{match}`?" if match else f"valid keys: {', '.join(spec.readers)}"
        message = f"unknown key {quoted(key)} {within(at)}"
        run.error(Kind.UNKNOWN_KEY, message, (*at, key), idiom.hint if idiom else guess, value=False)
    for key, sample in spec.required.items():
        if key not in data and key not in meant:
            hint = f"add `[{key}]`" if not at and sample.startswith("{") else f"add `{key} = {sample}`"
            run.error(Kind.MISSING_KEY, f"missing key `{key}` {within(at)}", at, hint, value=False)


def _sample(hint: Any) -> str:
    """Return a placeholder value of the right type for a missing key, such as `"..."` or `[...]`."""
    if hint is str:
        return '"..."'
    if hint is int:
        return "1"
    if _is_table(hint):
        inner = get_type_hints(hint)
        needed = [field.name for field in keys_of(hint).values() if is_required(field)]
        return "{ " + ", ".join(f"{name} = {_sample(inner[name])}" for name in needed) + " }"
    return {tuple: "[...]", Mapping: "{ ... }"}.get(get_origin(hint) or hint, "...")


# Readers, from the whole field down to its parts.


def _field_reader(field: dataclasses.Field[Any], hint: Any) -> _Reader:
    rules = field.metadata
    inner = _reader(rules.get("source", hint))
    checks = value_checks(field, hint)
    advice, convert = rules.get("advice"), rules.get("convert")
    if not (checks or advice or convert):
        return inner

    def read_field(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if advice and not isinstance(value, str) and (better := advice(value)):
            return _mistyped(run, value, "a string", at, key, hint=better)
        result = inner(run, value, at, key)
        if result is _INVALID:
            return _INVALID
        for check in checks:
            if not check.is_valid(result):
                return run.error(check.kind, check.describe(result, _name(key, at)), (*at, key), check.hint(result))
        try:
            return convert(result) if convert else result
        except ValueError as error:
            return run.error(Kind.VALUE, f"{_name(key, at)} {error}", (*at, key))

    return read_field


def _reader(hint: Any) -> _Reader:
    """Return the reader of values of type `hint`.

    Raises:
        TypeError: there is no reader for that type. The tables must not use it.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return _read_json_value
    if hint in _SCALARS:
        return _scalar(hint)
    if _is_table(hint):
        return _table(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _choice(tuple(hint), hint)
    if origin is Literal:
        return _choice(arguments, str)
    if origin is tuple and arguments[1:] == (...,):
        return _array(arguments[0])
    if origin is Mapping and arguments[0] is str:
        return _mapping(arguments[1])
    if origin in (Union, types.UnionType):
        # TOML has no null, and the reader of floats takes integers.
        rest = [each for each in arguments if each is not types.NoneType]
        if len(rest) == 1:
            return _reader(rest[0])
        if set(rest) == {int, float}:
            return _scalar(float)
    raise TypeError(f"no reader for {hint}")


_SCALARS: Final = {str: "a string", bool: "a boolean", int: "an integer", float: "a number"}


def _scalar(kind: type) -> _Reader:
    allowed = (int, float) if kind is float else (kind,)
    is_number = kind in (int, float)

    def scalar(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if type(value) not in allowed:  # not isinstance: a boolean is not an integer here
            return _mistyped(run, value, _SCALARS[kind], at, key)
        if is_number and (reason := json_problem(value)):
            return run.error(Kind.NOT_JSON, f"{_name(key, at)} is {reason}", (*at, key))
        return value

    return scalar


def _table(table: type[Table]) -> _Reader:
    def read_table(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, dict):
            return _mistyped(run, value, "a table", at, key)
        return _read_table(run, run.spec(table), value, (*at, key))

    return read_table


def _choice(choices: tuple[str, ...], make: Callable[[str], str]) -> _Reader:
    def choice(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, str):
            return _mistyped(run, value, "a string", at, key)
        if value in choices:
            return make(value)
        name = at[-1] if isinstance(key, int) else key
        message = f"{quoted(value)} is not a valid {quoted(str(name))}; use {either(choices)}"
        return run.error(Kind.CHOICE, message, (*at, key), did_you_mean(value, choices))

    return choice


def _is_table(hint: Any) -> TypeGuard[type[Table]]:
    return isinstance(hint, type) and issubclass(hint, Table)


def _array(item: Any) -> _Reader:
    inner, holds_tables = _reader(item), _is_table(item)

    def array(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, list):
            return _mistyped(run, value, "an array", at, key)
        if len(value) > MAX_ITEMS:
            message = f"{_name(key, at)} has {len(value):,} items: at most {MAX_ITEMS:,} are allowed"
            return run.error(Kind.LENGTH, message, (*at, key), value=False)
        path = (*at, key)
        items = [inner(run, each, path, index) for index, each in enumerate(value)]
        valid = tuple([each for each in items if each is not _INVALID])
        return valid if holds_tables or len(valid) == len(items) else _INVALID

    return array


def _mapping(item: Any) -> _Reader:
    inner, holds_tables = _reader(item), _is_table(item)

    def mapping(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, dict):
            return _mistyped(run, value, "a table", at, key)
        path = (*at, key)
        items = {name: inner(run, each, path, name) for name, each in value.items()}
        valid = {name: each for name, each in items.items() if each is not _INVALID}
        return valid if holds_tables or len(valid) == len(items) else _INVALID

    return mapping


def _read_json_value(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
    """Accept any value that JSON can represent."""
    if type(value) in (str, bool):
        return value
    problem = find_non_json(value, (*at, key))
    if problem is None:
        return value
    path, reason = problem
    verb = "contains" if path[len(at) + 1 :] or reason is TOO_DEEP else "is"
    return run.error(Kind.NOT_JSON, f"{_name(key, at)} {verb} {reason}", path, HINTS.get(reason, ""))


def _name(key: str | int, at: KeyPath) -> str:
    """Name a value in a message: `` `summary` in [tools.search] ``."""
    if isinstance(key, int):
        return f"item {key + 1} of {quoted(str(at[-1]))} {within(at[:-1])}"
    return f"{quoted(key)} {within(at)}"


def _mistyped(run: _Run, value: Any, expected: str, at: KeyPath, key: str | int, *, hint: str = "") -> Any:
    message = f"{_name(key, at)} must be {expected}, not {kind_of(value)}"
    return run.error(Kind.TYPE, message, (*at, key), hint or _type_hint(value, expected, at, key))


def _type_hint(value: Any, expected: str, at: KeyPath, key: str | int) -> str:
    if isinstance(value, str) and expected == "an array":
        text = f'"{value}"' if len(value) <= 30 and '"' not in value else "..."
        return f"put it in brackets: `{key} = [{text}]`"
    if isinstance(value, str) and _is_quoted_literal(value, expected):
        return f"leave out the quotes: `{key} = {value}`"
    if isinstance(value, list) and expected == "a table" and value and isinstance(value[0], dict):
        return f"write `{table_name((*at, key))}` with single brackets"
    return "put it in quotes" if expected == "a string" and isinstance(value, bool | int | float) else ""


def _is_quoted_literal(text: str, expected: str) -> bool:
    """Return whether a string contains a literal of the expected type: `"true"`, `"42"`."""
    forms = {"a boolean": r"true|false", "an integer": r"[+-]?\d{1,18}", "a number": r"[+-]?\d{1,18}(\.\d{1,18})?"}
    return expected in forms and re.fullmatch(forms[expected], text, re.ASCII) is not None
