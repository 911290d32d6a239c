"""Read images, audio and other binary files as content for a model."""

from __future__ import annotations

from typing import Final

from toolmason_runtime import Audio, Image, Resource, Text, ToolError

from workbench_handlers.workspace.decode import SAMPLE_BYTES, decode, sniff_media_type
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located

MAX_MEDIA_BYTES: Final = 5_000_000
"""Maximum bytes of a file: the limit for images of the strictest provider."""

_IMAGE_TYPES: Final = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Images that every provider accepts; others make the whole request fail."""

_AUDIO_TYPES: Final = {"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4"}


def read_media(located: Located) -> tuple[Text, Image | Audio | Resource]:
    """Read a file as image or audio by its first bytes, any other as an embedded resource.

    A text block comes first: some clients show the model only text, and no client shows the name of an image.

    Raises:
        ToolError: the file cannot be read, is empty or too large.
    """
    with open_file(located) as stream:
        data = stream.read(MAX_MEDIA_BYTES + 1)
    if len(data) > MAX_MEDIA_BYTES:
        message = f"`{located.shown}` exceeds the limit of {MAX_MEDIA_BYTES:,} bytes"
        raise ToolError(message, code="TOO_LARGE")
    if not data:
        raise ToolError(f"`{located.shown}` is empty", code="EMPTY_FILE")
    kind = sniff_media_type(data[:SAMPLE_BYTES], located.path.name)
    about = Text(f"{located.shown}: {kind}, {len(data):,} bytes")
    if kind in _IMAGE_TYPES:
        return about, Image(data, kind)
    if kind in _AUDIO_TYPES:
        return about, Audio(data, kind)
    text = decode(data)
    return about, Resource(located.path.as_uri(), data if text is None else text, kind)
