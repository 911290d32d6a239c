"""Tools that return each kind of content block."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

import json
from base64 import b64decode
from typing import Protocol

from toolmason_runtime import Audio, Content, Image, Resource, ResourceContent, Text, ToolCall

RED_PIXEL = Image(
    b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="),
    "image/png",
)
"""A PNG of one pixel."""

SILENCE = Audio(b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="), "audio/wav")
"""A WAV of two samples, 8 kHz, 8 bit, mono."""


async def simple_text(params: object, call: ToolCall) -> Content:
    """Return one text block."""
    return "This is a simple text response for testing."


async def image(params: object, call: ToolCall) -> Content:
    """Return a picture."""
    return RED_PIXEL


async def audio(params: object, call: ToolCall) -> Content:
    """Return a sound."""
    return SILENCE


async def embedded_resource(params: object, call: ToolCall) -> Content:
    """Return a resource with its text."""
    return Resource("test://embedded-resource", "This is an embedded resource content.", "text/plain")


async def mixed(params: object, call: ToolCall) -> Content:
    """Return three kinds of blocks, in order."""
    data = Resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [Text("Multiple content types test:"), RED_PIXEL, data]


class WithId(Protocol):
    """Variables of the resource template."""

    id: str


async def template_data(params: WithId, call: ToolCall) -> ResourceContent:
    """Return data that contains the variable of the URI."""
    return json.dumps({"id": params.id, "templateTest": True, "data": f"Data for ID: {params.id}"})


async def watched(params: object, call: ToolCall) -> ResourceContent:
    """Return the content of a resource that clients can subscribe to."""
    return "Watched resource content."
