"""What a generated MCP server stands on.

Importing this costs next to nothing: pydantic, the SDK and handlers come in when a call needs them.
"""

from __future__ import annotations

from toolmason_runtime.protocol.binding import Binding
from toolmason_runtime.protocol.call import ServerInfo, ToolCall
from toolmason_runtime.protocol.content import Audio, Content, Image, Reply, Resource, ResourceLink, Text
from toolmason_runtime.protocol.errors import MethodError, ToolError

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
