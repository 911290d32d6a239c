"""The content blocks of MCP, for handlers that return no structured result."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the model."""

    text: str

    def to_wire(self) -> dict[str, Any]:
        """Return the MCP wire form."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its bytes and their media type.

    Example:
        ```python
        return Image(chart.to_png(), "image/png")
        ```
    """

    data: bytes
    mime_type: str

    def to_wire(self) -> dict[str, Any]:
        """Return the MCP wire form."""
        return {"type": "image", "data": b64encode(self.data).decode("ascii"), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Audio:
    """Audio data: its bytes and their media type.

    Example:
        ```python
        return Audio(speech, "audio/wav")
        ```
    """

    data: bytes
    mime_type: str

    def to_wire(self) -> dict[str, Any]:
        """Return the MCP wire form."""
        return {"type": "audio", "data": b64encode(self.data).decode("ascii"), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Resource:
    """An embedded resource with its text or bytes, which clients can show as a file.

    Example:
        ```python
        return ["The report:", Resource("report://2026", report, "text/markdown")]
        ```
    """

    uri: str
    data: str | bytes
    mime_type: str

    def to_wire(self) -> dict[str, Any]:
        """Return the MCP wire form."""
        body = {"text": self.data} if isinstance(self.data, str) else {"blob": b64encode(self.data).decode("ascii")}
        return {"type": "resource", "resource": {"uri": self.uri, "mimeType": self.mime_type, **body}}


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A link to a resource that the client can read; the content is not part of the result.

    Example:
        ```python
        return ResourceLink("notes://today", "Notes of today", "text/markdown")
        ```
    """

    uri: str
    name: str
    mime_type: str = ""
    description: str = ""

    def to_wire(self) -> dict[str, Any]:
        """Return the MCP wire form."""
        link: dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.mime_type:
            link["mimeType"] = self.mime_type
        if self.description:
            link["description"] = self.description
        return link


Block = Text | Image | Audio | Resource | ResourceLink
Content = str | Block | Sequence[str | Block]
"""The return type of a handler without a result type. A string is a text block."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a prompt.

    Example:
        ```python
        return [Message("Is this a haiku?"), Message("It has 5, 7 and 5 syllables.", role="assistant")]
        ```
    """

    content: str | Block
    role: Literal["user", "assistant"] = "user"


PromptContent = str | Block | Message | Sequence[str | Block | Message]
"""The return type of a prompt's handler. A string or a block is a message of the user."""
ResourceContent = str | bytes | None
"""The return type of a resource's handler: text, bytes, or None if there is no such resource."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Content that can be marked as an error.

    Example:
        ```python
        return Reply([log, Image(screenshot, "image/png")], is_error=True)
        ```
    """

    content: Content
    is_error: bool = False
    """Whether the call failed. Use `ToolError` for an error without images or structure."""
    structure: Mapping[str, Any] | None = None
    """Sent as `structuredContent`, for tools without an output schema that sometimes have structure."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A result with a note for the model, as a text of its own after the result."""

    result: Any
    """The result of a handler without a note."""
    note: str


def blocks(content: Content) -> list[dict[str, Any]]:
    """Return the `content` array of a tool result."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = [content] if isinstance(content, Text | Image | Audio | Resource | ResourceLink) else content
    return [Text(part).to_wire() if isinstance(part, str) else part.to_wire() for part in parts]


def messages(content: PromptContent) -> list[dict[str, Any]]:
    """Return the `messages` array of a prompt."""
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else [content]
    wrapped = [part if isinstance(part, Message) else Message(part) for part in parts]
    return [{"role": message.role, "content": blocks(message.content)[0]} for message in wrapped]


def is_prompt_content(value: Any) -> bool:
    """Return whether a value has the type `PromptContent`."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    contents = [part.content if isinstance(part, Message) else part for part in (value if is_list else [value])]
    return all(isinstance(content, str | Text | Image | Audio | Resource | ResourceLink) for content in contents)


def resource_contents(uri: str, mime_type: str, data: str | bytes) -> dict[str, Any]:
    """Return the `ResourceContents` of MCP."""
    contents: dict[str, Any] = Resource(uri, data, mime_type).to_wire()["resource"]
    return contents
