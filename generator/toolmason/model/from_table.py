"""Objects with the table of the manifest that they come from, or with copies of its keys."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.tables import Table

_T = TypeVar("_T")


class FromTable:
    """An object with a `table`: its own fields are what `resolve` has computed.

    Templates read both alike: `{{ server.title }}` is a key of `[server]`, `{{ server.launch }}` a field. An own field
    wins over the key of the same name. Python code names the table, so that mypy checks the key: `server.table.title`.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def table(self) -> Table:
            """The table of the manifest."""

    else:

        def __getattr__(self, name: str) -> Any:
            return getattr(object.__getattribute__(self, "table"), name)

    @property
    def at(self) -> KeyPath:
        """Key path of the table."""
        return self.table.at


def copied(kind: type[_T], table: Table, **computed: Any) -> _T:
    """Return an object of the dataclass `kind` with the keys of `table` that have the names of its fields.

    It is for objects that cannot hold a table, such as those of generated code. A field in `computed` has that value.
    A key that is None is left out: the field has its default.
    """
    declared: Any = kind  # mypy does not take a class as hashable
    values = {name: value for name in _field_names(declared) if (value := getattr(table, name, None)) is not None}
    return kind(**{**values, **computed})


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
