"""The description of the server that clients receive: `Implementation` of the MCP schema."""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

MEMBERS: Final[Mapping[str, str]] = {
    "title": "title",
    "description": "description",
    "website_url": "websiteUrl",
    "icons": "icons",
}
"""Optional keys of `[server]` -> members of `Implementation`."""


def server_info(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `Implementation` for the entry of a server in the catalogue."""
    optional = {member: value for key, member in MEMBERS.items() if (value := server.get(key))}
    return {"name": server["name"], "version": server["version"], **optional}
