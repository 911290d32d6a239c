"""What a tool may return besides a structured result: the content blocks of MCP, as small values."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the model."""

    text: str

    def wire(self) -> dict[str, Any]:
        """Give the block as MCP sends it."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes and their media type, such as `image/png`."""

    data: bytes
    mime_type: str

    def wire(self) -> dict[str, Any]:
        """Give the block as MCP sends it."""
        return {"type": "image", "data": b64encode(self.data).decode("ascii"), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound: its bytes and their media type, such as `audio/wav`."""

    data: bytes
    mime_type: str

    def wire(self) -> dict[str, Any]:
        """Give the block as MCP sends it."""
        return {"type": "audio", "data": b64encode(self.data).decode("ascii"), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, whole: `data` is text or bytes."""

    uri: str
    data: str | bytes
    mime_type: str

    def wire(self) -> dict[str, Any]:
        """Give the block as MCP sends it."""
        body = {"text": self.data} if isinstance(self.data, str) else {"blob": b64encode(self.data).decode("ascii")}
        return {"type": "resource", "resource": {"uri": self.uri, "mimeType": self.mime_type, **body}}


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A pointer to a resource the client may fetch."""

    uri: str
    name: str
    mime_type: str = ""
    description: str = ""

    def wire(self) -> dict[str, Any]:
        """Give the block as MCP sends it."""
        link: dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.mime_type:
            link["mimeType"] = self.mime_type
        if self.description:
            link["description"] = self.description
        return link


Block = Text | Image | Audio | Resource | ResourceLink
Content = str | Block | Sequence[str | Block]
"""What a handler without a result type returns. A string is a text block."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Content that may be marked as a failure: what it says is then the tool's own, not an error's text.

    `structure` is sent beside it by a tool which promises none, but has one at times.
    """

    content: Content
    is_error: bool = False
    structure: Mapping[str, Any] | None = None


def blocks(content: Content) -> list[dict[str, Any]]:
    """Give `content` as the `content` array of a tool result."""
    parts = [content] if isinstance(content, str | Text | Image | Audio | Resource | ResourceLink) else content
    return [Text(part).wire() if isinstance(part, str) else part.wire() for part in parts]
