"""The kind `glossary` in a running server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.protocol.binding import Binding

if TYPE_CHECKING:
    from pydantic import BaseModel
    from toolmason_runtime.protocol.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Glossary:
    """`[glossaries.NAME]`."""

    name: str
    terms: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GlossaryTool:
    """A tool that looks terms up."""

    name: str
    glossary: Glossary


class Lookups:
    """The number of lookups of a server."""

    def __init__(self) -> None:
        self.count = 0

    async def aclose(self) -> None:
        """Release nothing."""


def open_state(catalogue: Catalogue) -> Lookups:
    """Return the state of a server."""
    assert "glossary" in catalogue["kinds"]
    return Lookups()


def binding(params: type[BaseModel] | str | None, tool: GlossaryTool, *, result: str = "") -> Binding:
    """Bind a tool to its glossary."""
    assert not result

    def look_up(arguments: Any, call: ToolCall) -> str:
        lookups = call.state(Lookups)
        lookups.count += 1
        if arguments.term not in tool.glossary.terms:
            raise ToolError(f"no term {arguments.term}", code="NO_TERM")
        return f"{lookups.count}: {tool.glossary.terms[arguments.term]}"

    return Binding(params, look_up)
