"""The kinds of tools at run time: the state of each in a server, and the bindings of installed kinds.

Generated code binds tools of the built-in kinds with typed functions, such as `programs.handler.command`.

A distribution adds a kind with an entry point of the group `toolmason_runtime.kinds`, named like the kind, that names a
module or an object with the functions of `RuntimeKind`. Entry points are read at the first call of such a tool.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from pydantic import BaseModel
    from toolmason_runtime.calls.binding import Binding
    from toolmason_runtime.shared.catalogue import Catalogue

GROUP: Final = "toolmason_runtime.kinds"
"""Group of the entry points of further kinds."""
_BUILT_IN: Final = {
    "apis": "toolmason_runtime.apis.registry",
    "upstreams": "toolmason_runtime.upstreams.registry",
}
"""Key of the catalogue -> the module with `open_state` of a built-in kind. Handlers and programs have no state."""
_SHARED_SECTION: Final = {"sql": "toolmason_runtime.sql.registry"}
"""Name -> the module with `open_state` of a built-in kind whose groups are in `kinds` of the catalogue."""


class KindState(Protocol):
    """The state of a kind in one server, such as its connections; in the state of every call."""

    async def aclose(self) -> None:
        """Release it when the server ends."""


class RuntimeKind(Protocol):
    """A kind of tools that an installed distribution adds."""

    def binding(self, params: type[BaseModel] | str | None, tool: Any, *, result: str = "") -> Binding:
        """Bind a tool, for generated code.

        `params` validates the arguments (see `Binding`). `tool` is its specification, and `result` a reference to the
        model of its result, such as `books.models:FindResult`; empty for text.
        """

    def open_state(self, catalogue: Catalogue) -> KindState:
        """Return the state of a server, at the first call of any of its tools."""


class MissingKindError(ImportError):
    """A server has tools of a kind that is not installed, or that cannot be loaded."""


def bind(kind: str, params: type[BaseModel] | str | None, tool: Any, *, result: str = "") -> Binding:
    """Bind a tool of an installed kind; see `RuntimeKind.binding`.

    Raises:
        MissingKindError: the kind cannot be loaded.
    """
    return find_kind(kind).binding(params, tool, result=result)


def open_states(catalogue: Catalogue) -> Iterator[KindState]:
    """Yield the state of each kind of tools that a server uses.

    Raises:
        MissingKindError: a kind cannot be loaded.
    """
    for section, module in _BUILT_IN.items():
        if section in catalogue:
            yield import_module(module).open_state(catalogue)
    for name in catalogue.get("kinds", ()):
        kind = import_module(_SHARED_SECTION[name]) if name in _SHARED_SECTION else find_kind(name)
        yield kind.open_state(catalogue)


def find_kind(name: str) -> RuntimeKind:
    """Return an installed kind.

    Raises:
        MissingKindError: it cannot be loaded.
    """
    # Takes long to import, and servers with built-in kinds alone do not need it.
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=GROUP, name=name):
        distribution = entry_point.dist.name if entry_point.dist else entry_point.value
        try:
            kind: RuntimeKind = entry_point.load()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise MissingKindError(
                f"the kind of tools `{name}` of `{distribution}` cannot be loaded: {reason}"
            ) from error
        return kind
    raise MissingKindError(f"the kind of tools `{name}` is not installed: install its distribution")
