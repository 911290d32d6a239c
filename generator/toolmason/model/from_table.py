"""Objects of the model with the table of the manifest that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.tables import Table


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
