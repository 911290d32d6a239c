"""The `sample` server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.protocol.selection import Selection
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.server.options import OptionSpec, option_values

from sample_server.catalogue import CATALOGUE

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

OPTIONS: Final = (
    OptionSpec(name="roots", flag="--root", description="Folder to read", env="SAMPLE_ROOTS", many=True),
    OptionSpec(name="farewell", flag="--farewell", description="100 % of the last words", metavar="TEXT"),
    OptionSpec(name="allow", flag="--allow", description="Files", many=True, implicit="**", metavar="GLOB"),
    OptionSpec(name="color", flag="--color", description="Colors", default="auto", implicit="always", metavar="WHEN"),
)


def load_index() -> dict[str, Any]:
    from toolmason.catalogue.search_index import build_index

    return dict(build_index(CATALOGUE))


def build_dispatcher(
    selection: Selection | None = None,
    state: Sequence[object] = (),
    options: Mapping[str, str | Sequence[str]] | None = None,
) -> Dispatcher:
    values = option_values(OPTIONS, options or {})
    return Dispatcher(CATALOGUE, selection=selection, load_index=load_index, state=state, options=values)


def build_server(
    selection: Selection | None = None,
    state: Sequence[object] = (),
    options: Mapping[str, str | Sequence[str]] | None = None,
) -> Server[None]:
    from toolmason_runtime.server.sdk import sdk_server

    return sdk_server(build_dispatcher(selection, state, options))
