"""What a generated MCP server stands on.

Importing this costs next to nothing: pydantic, the SDK and handlers come in when a call needs them.
"""

from __future__ import annotations

from toolwright_runtime.binding import Binding
from toolwright_runtime.call import ServerInfo, ToolCall
from toolwright_runtime.content import Audio, Content, Image, Reply, Resource, ResourceLink, Text
from toolwright_runtime.errors import MethodError, ToolError

__all__ = [
    "Audio",
    "Binding",
    "Content",
    "Image",
    "MethodError",
    "Reply",
    "Resource",
    "ResourceLink",
    "ServerInfo",
    "Text",
    "ToolCall",
    "ToolError",
]
