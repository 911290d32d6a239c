"""Tools that return each kind of content block."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

from base64 import b64decode

from toolmason_runtime import Audio, Content, Image, Resource, Text, ToolCall

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
