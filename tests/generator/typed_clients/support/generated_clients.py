"""Write the clients of a list of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolmason.render.typed_clients.emit import render_client
from toolmason.render.typed_clients.files import LANGUAGES
from toolmason.render.typed_clients.tools import listed_tools, typed_client

CASE: Final = Path(__file__).parents[3] / "golden" / "clients-are-packages-in-two-languages"


def write_clients(tools: Sequence[Mapping[str, Any]], directory: Path, **facts: Any) -> Path:
    """Write the clients of a server with `tools`, and return their directory."""
    client = typed_client(tuple(listed_tools(tools)), source="a list of tools", **facts)
    for file in render_client(client, LANGUAGES):
        path = directory / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8", newline="")
    return directory
