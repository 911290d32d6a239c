"""The generic reader: a TOML table becomes the frozen dataclass that describes it.

All it knows about the language stands in the dataclass: types, defaults and the rules in `field.metadata`. It notes
every mistake and goes on behind each; what is wrong is left out. So is the table around it, unless it is a
`PartialTable`, which keeps its valid keys for the next stage.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, Final, Literal, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.key_path import KeyPath
from toolmason.diagnostics.wording import did_you_mean, either, kind_of, nearest, quoted, table_name, within
from toolmason.manifest.document import Document
from toolmason.manifest.tables import PartialTable, Table

MAX_DEPTH = 64
"""How deep a free value may nest. JSON writers and validators recurse, and stop at a few hundred."""
MAX_INT64 = 2**63 - 1
"""TOML 1.0: an integer has 64 bits, signed."""

_T = TypeVar("_T", bound=Table)


@dataclass(frozen=True, slots=True)
class Here:
    """A table that is being read, for a rule that looks at several of its keys: raw values, perhaps of wrong types."""

    data: Mapping[str, Any]
    at: KeyPath
    document: Document
    diagnostics: Diagnostics

    def error(self, code: str, message: str, key: str = "", *, hint: str = "", value: bool = True) -> None:
        """Add an error about the value of `key`, or its name if not `value`; without `key`, about the table."""
        at = (*self.at, key) if key else self.at
        self.document.report(self.diagnostics, code, message, at, hint=hint, value=value and bool(key))


LocalRule = Callable[[Here], None]
"""A check of one table that takes more than one key, or more than the dataclass can say."""


def read(
    table: type[_T],
    document: Document,
    *,
    diagnostics: Diagnostics,
    rules: Mapping[type[Table], LocalRule] = types.MappingProxyType({}),
) -> _T | None:
    """Read the whole of `document` as `table`, and run `rules` on each table met on the way.

    What is not as the dataclasses say is reported (TM202 to TM209 and TM214) and left out, or the table it stands in
    is; None is the whole.
    """
    result = _read_table(_Run(document, diagnostics, rules), _plan(table), document.data, ())
    return None if result is _WRONG else result


def key_of(field: dataclasses.Field[Any]) -> str:
    """Give the spelling of a field in TOML."""
    return str(field.metadata.get("toml", field.name))


def keys_of(table: type[Table]) -> dict[str, dataclasses.Field[Any]]:
    """List the fields that can be written in a table, by their spelling in TOML. `at` and `unread` are no keys."""
    return {key_of(each): each for each in dataclasses.fields(table) if each.name not in _OUR_FIELDS}


_OUR_FIELDS: Final = ("at", "unread")


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


_WRONG: Final[Any] = object()
"""Stands for a value about which a diagnostic has been added."""


@dataclass(slots=True)
class _Run:
    document: Document
    diagnostics: Diagnostics
    rules: Mapping[type[Table], LocalRule]

    def wrong(self, code: str, message: str, at: KeyPath, hint: str = "") -> Any:
        """Add an error about the value at `at`."""
        self.document.report(self.diagnostics, code, message, at, hint=hint, value=True)
        return _WRONG


_Reader = Callable[[_Run, Any, KeyPath, str | int], Any]
"""Checks and converts the value that stands in the table (or array) at a path, under a key (or index)."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A table class as the reader wants it: looked up once, since type hints are slow to resolve."""

    table: type[Table]
    slots: Mapping[str, tuple[str, _Reader]]
    """Key in TOML -> name of the field, and its reader."""
    required: Mapping[str, str]
    """Key in TOML -> what to add if it is missing."""
    empty: Mapping[str, Callable[[], Any]]
    """Key in TOML -> an empty value for it, of those that are required."""


_PLANS: Final[dict[type[Table], _Plan]] = {}


def _plan(table: type[Table]) -> _Plan:
    if table not in _PLANS:
        _PLANS[table] = _make_plan(table)
    return _PLANS[table]


def _make_plan(table: type[Table]) -> _Plan:
    hints = get_type_hints(table)
    keys = keys_of(table)
    return _Plan(
        table,
        {key: (field.name, _field_reader(field, hints[field.name])) for key, field in keys.items()},
        {key: _sample(hints[field.name]) for key, field in keys.items() if is_required(field)},
        {key: _empty(hints[field.name]) for key, field in keys.items() if is_required(field)},
    )


def _empty(hint: Any) -> Callable[[], Any]:
    """Return what makes an empty value of a type."""
    if isinstance(hint, type) and issubclass(hint, PartialTable):
        return lambda: _partial(_plan(hint), (), {}, keys_of(hint))
    kind = get_origin(hint) or hint
    return dict if kind is Mapping else kind


def _read_table(run: _Run, plan: _Plan, data: Mapping[str, Any], at: KeyPath) -> Any:
    values: dict[str, Any] = {}
    unread: set[str] = set()
    slots = plan.slots
    for key, value in data.items():
        slot = slots.get(key)
        if slot is None:
            unread.add(nearest(key, slots) or key)
            continue
        name, reader = slot
        result = reader(run, value, at, key)
        if result is _WRONG:
            unread.add(key)
        else:
            values[name] = result
    missing = plan.required.keys() - data.keys()
    if unread or missing:
        _report_keys(run, plan, data, at)
    if (rule := run.rules.get(plan.table)) is not None:
        rule(Here(data, at, run.document, run.diagnostics))
    if unread or missing:
        return _partial(plan, at, values, unread | missing)
    return plan.table(at=at, **values)


def _partial(plan: _Plan, at: KeyPath, values: Mapping[str, Any], unread: Iterable[str]) -> Any:
    """Return the table with the keys that could be read; `_WRONG` if it is worth nothing without the others."""
    if not issubclass(plan.table, PartialTable):
        return _WRONG
    empty = {plan.slots[key][0]: make() for key, make in plan.empty.items()}
    return plan.table(at=at, unread=frozenset(unread), **{**empty, **values})


def _report_keys(run: _Run, plan: _Plan, data: Mapping[str, Any], at: KeyPath) -> None:
    """Report unknown and missing keys. A key that is only misspelt is not missing as well."""
    meant: set[str] = set()
    for key in [each for each in data if each not in plan.slots]:
        meant.add(nearest(key, plan.slots))
        hint = did_you_mean(key, plan.slots) or f"known here: {', '.join(plan.slots)}"
        run.document.report(run.diagnostics, "TM203", f"unknown key {quoted(key)} {within(at)}", (*at, key), hint=hint)
    for key, sample in plan.required.items():
        if key not in data and key not in meant:
            hint = f"add `[{key}]`" if not at and sample.startswith("{") else f"add `{key} = {sample}`"
            run.document.report(run.diagnostics, "TM202", f"missing key `{key}` {within(at)}", at, hint=hint)


def _sample(hint: Any) -> str:
    """Write what could stand for a missing key, as far as its type says it."""
    if hint is str:
        return '"..."'
    if hint is int:
        return "1"
    if _is_table(hint):
        inner = get_type_hints(hint)
        needed = [field.name for name, field in keys_of(hint).items() if is_required(field)]
        return "{ " + ", ".join(f"{name} = {_sample(inner[name])}" for name in needed) + " }"
    return {tuple: "[...]", Mapping: "{ ... }"}.get(get_origin(hint) or hint, "...")


# Readers, from the whole field down to its parts.


def _field_reader(field: dataclasses.Field[Any], hint: Any) -> _Reader:
    inner = _reader(hint)
    checks = [check(field.metadata) for rule, check in _CHECKS.items() if rule in field.metadata]
    if hint is str and is_required(field) and "pattern" not in field.metadata:
        checks.insert(0, _not_blank)
    if not checks:
        return inner

    def checked(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        result = inner(run, value, at, key)
        if result is not _WRONG:
            for check in checks:
                if not check(run, result, at, str(key)):
                    return _WRONG
        return result

    return checked


def _reader(hint: Any) -> _Reader:
    """Choose how a value of type `hint` is read.

    Raises:
        TypeError: the reader has no way of reading that type. The tables must not use it.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return _read_free
    if hint in _SCALARS:
        return _scalar(hint)
    if _is_table(hint):
        return _table(hint)
    if origin is Literal:
        return _choice(arguments)
    if origin is tuple and arguments[1:] == (...,):
        return _array(arguments[0])
    if origin is Mapping and arguments[0] is str:
        return _mapping(arguments[1])
    if origin in (Union, types.UnionType):
        # None cannot be written in TOML; `int | float` is a number, and whatever reads a float takes integers.
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
        if type(value) not in allowed:  # not isinstance: a boolean is no integer
            return _mistyped(run, value, _SCALARS[kind], at, key)
        if is_number and (reason := _not_json(value)):
            return run.wrong("TM214", f"{_name(key, at)} is {reason}", (*at, key))
        return value

    return scalar


def _table(table: type[Table]) -> _Reader:
    def read_table(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, dict):
            return _mistyped(run, value, "a table", at, key)
        return _read_table(run, _plan(table), value, (*at, key))

    return read_table


def _choice(choices: tuple[str, ...]) -> _Reader:
    def choice(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, str):
            return _mistyped(run, value, "a string", at, key)
        if value in choices:
            return value
        message = f"{quoted(value)} is no {quoted(str(key))}: expected {either(choices)}"
        return run.wrong("TM207", message, (*at, key), did_you_mean(value, choices))

    return choice


def _is_table(hint: Any) -> TypeGuard[type[Table]]:
    return isinstance(hint, type) and issubclass(hint, Table)


def _array(item: Any) -> _Reader:
    inner, holds_tables = _reader(item), _is_table(item)

    def array(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, list):
            return _mistyped(run, value, "an array", at, key)
        place = (*at, key)
        items = tuple([inner(run, each, place, index) for index, each in enumerate(value)])
        if holds_tables:  # each says where it stands, so that the rest is of use without those that are wrong
            return tuple(each for each in items if each is not _WRONG)
        return _WRONG if any(each is _WRONG for each in items) else items

    return array


def _mapping(item: Any) -> _Reader:
    inner, holds_tables = _reader(item), _is_table(item)

    def mapping(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
        if not isinstance(value, dict):
            return _mistyped(run, value, "a table", at, key)
        place = (*at, key)
        items = {name: inner(run, each, place, name) for name, each in value.items()}
        if not holds_tables and any(each is _WRONG for each in items.values()):
            return _WRONG
        # The rest is read on: what a person wrote wrong in one tool must not hide what is wrong in another.
        return {name: each for name, each in items.items() if each is not _WRONG}

    return mapping


def _read_free(run: _Run, value: Any, at: KeyPath, key: str | int) -> Any:
    """Take any value that JSON can carry, since that is what becomes of it."""
    if type(value) in (str, bool):
        return value
    found = _first_not_json(value, (*at, key))
    if found is None:
        return value
    place, reason = found
    verb = "holds" if place[len(at) + 1 :] or reason is _TOO_DEEP else "is"
    return run.wrong("TM214", f"{_name(key, at)} {verb} {reason}", place, _JSON_HINTS.get(reason, ""))


_TOO_DEEP: Final = f"more than {MAX_DEPTH} levels of arrays and tables"
_JSON_HINTS: Final = {
    "a date-time": "put it in quotes",
    "a date": "put it in quotes",
    "a time": "put it in quotes",
    _TOO_DEEP: "flatten it",
}


def _first_not_json(value: Any, at: KeyPath) -> tuple[KeyPath, str] | None:
    """Find what JSON cannot carry in `value`, with what it is. Does not recurse, since depth is what it looks for."""
    waiting = [(value, at)]
    deepest = len(at) + MAX_DEPTH
    while waiting:
        part, place = waiting.pop()
        if isinstance(part, dict | list) and len(place) >= deepest:
            return at, _TOO_DEEP
        if isinstance(part, dict):
            waiting += [(each, (*place, name)) for name, each in reversed(part.items())]
        elif isinstance(part, list):
            waiting += [(each, (*place, index)) for index, each in reversed(list(enumerate(part)))]
        elif reason := _not_json(part):
            return place, reason
    return None


def _not_json(value: Any) -> str:
    """Say what a value is that JSON has no way to write; empty for the others. Never prints it: it may be huge."""
    if isinstance(value, str | bool):
        return ""
    if isinstance(value, int):
        return "" if -MAX_INT64 - 1 <= value <= MAX_INT64 else "an integer of more than 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "no finite number"
    return kind_of(value)


def _name(key: str | int, at: KeyPath) -> str:
    """Name a value in a message: `` `summary` in [tools.search] ``."""
    if isinstance(key, int):
        return f"item {key + 1} of {quoted(str(at[-1]))} {within(at[:-1])}"
    return f"{quoted(key)} {within(at)}"


def _mistyped(run: _Run, value: Any, expected: str, at: KeyPath, key: str | int) -> Any:
    hint = ""
    if isinstance(value, str) and expected == "an array":
        hint = f"put it in brackets: `{key} = [{_shortened(value)}]`"
    elif isinstance(value, str) and _reads_as(value, expected):
        hint = f"leave out the quotes: `{key} = {value}`"
    elif isinstance(value, list) and expected == "a table" and value and isinstance(value[0], dict):
        hint = f"write `{table_name((*at, key))}` with single brackets"
    elif expected == "a string" and isinstance(value, bool | int | float):
        hint = "put it in quotes"
    message = f"{_name(key, at)} must be {expected}, not {kind_of(value)}"
    return run.wrong("TM204", message, (*at, key), hint)


def _shortened(value: str) -> str:
    return f'"{value}"' if len(value) <= 30 and '"' not in value else "..."


def _reads_as(text: str, expected: str) -> bool:
    """Whether a string holds just what was expected: `"true"`, `"42"`."""
    forms = {"a boolean": r"true|false", "an integer": r"[+-]?\d{1,18}", "a number": r"[+-]?\d{1,18}(\.\d{1,18})?"}
    return expected in forms and re.fullmatch(forms[expected], text, re.ASCII) is not None


# Rules from `field.metadata`. Each factory takes the metadata and gives a check that is false after reporting.

_Check = Callable[[_Run, Any, KeyPath, str], bool]


def _not_blank(run: _Run, value: str, at: KeyPath, key: str) -> bool:
    if value and not value.isspace():
        return True
    run.wrong("TM209", f"{_name(key, at)} is empty", (*at, key))
    return False


def _at_most(metadata: Mapping[str, Any]) -> _Check:
    limit: int = metadata["max_length"]

    def check(run: _Run, value: str, at: KeyPath, key: str) -> bool:
        if len(value) <= limit:
            return True
        message = f"{_name(key, at)} has {len(value):,} characters: at most {limit:,} are allowed"
        run.wrong("TM205", message, (*at, key), f"leave out {len(value) - limit:,} or more")
        return False

    return check


def _at_least(metadata: Mapping[str, Any]) -> _Check:
    limit: int = metadata["min_length"]

    def check(run: _Run, value: str, at: KeyPath, key: str) -> bool:
        if len(value) >= limit:
            return True
        run.wrong("TM205", f"{_name(key, at)} has {len(value):,} characters: expected at least {limit:,}", (*at, key))
        return False

    return check


def _fits(metadata: Mapping[str, Any]) -> _Check:
    pattern = re.compile(metadata["pattern"])
    words: str = metadata["words"]

    def check(run: _Run, value: str, at: KeyPath, key: str) -> bool:
        if pattern.fullmatch(value):
            return True
        run.wrong("TM206", f"{quoted(value)} does not fit {_name(key, at)}: expected {words}", (*at, key))
        return False

    return check


def _from(metadata: Mapping[str, Any]) -> _Check:
    minimum: int = metadata["minimum"]

    def check(run: _Run, value: int, at: KeyPath, key: str) -> bool:
        if value >= minimum:
            return True
        run.wrong("TM208", f"{_name(key, at)} is {value}: it must be at least {minimum}", (*at, key))
        return False

    return check


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], _Check]]] = {
    "max_length": _at_most,
    "min_length": _at_least,
    "pattern": _fits,
    "minimum": _from,
}
