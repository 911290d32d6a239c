"""Pictures, sounds and other binary files as content a model can take."""

from __future__ import annotations

from typing import Final

from toolmason_runtime import Audio, Image, Resource, Text, ToolError

from workbench_handlers.workspace.decode import SAMPLE_BYTES, decode, sniff_media_type
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located

MAX_MEDIA_BYTES: Final = 5_000_000
"""Largest file that is sent: what the strictest provider takes for a picture."""

_SEEN: Final = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Pictures every provider takes; others would make the whole request fail."""

_HEARD: Final = {"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4"}


def media(located: Located) -> tuple[Text, Image | Audio | Resource]:
    """Read a file as a picture or sound, by its first bytes and not its name; anything else as an embedded resource.

    A text block comes first: some clients show a model only text, and none gives the name of a picture.

    Raises:
        ToolError: it cannot be read, is empty or too large.
    """
    with open_file(located) as stream:
        data = stream.read(MAX_MEDIA_BYTES + 1)
    if len(data) > MAX_MEDIA_BYTES:
        message = f"`{located.shown}` is larger than {MAX_MEDIA_BYTES:,} bytes, the most that can be sent"
        raise ToolError(message, code="TOO_LARGE")
    if not data:
        raise ToolError(f"`{located.shown}` is empty", code="EMPTY_FILE")
    kind = sniff_media_type(data[:SAMPLE_BYTES], located.path.name)
    about = Text(f"{located.shown}: {kind}, {len(data):,} bytes")
    if kind in _SEEN:
        return about, Image(data, kind)
    if kind in _HEARD:
        return about, Audio(data, kind)
    text = decode(data)
    return about, Resource(located.path.as_uri(), data if text is None else text, kind)
