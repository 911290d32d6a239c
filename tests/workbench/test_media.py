from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
WAV = b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 20


@pytest.mark.parametrize(
    ("name", "data", "kind", "media_type"),
    [
        ("a.png", PNG, "image", "image/png"),
        ("lies.txt", PNG, "image", "image/png"),
        ("a", b"\xff\xd8\xff\xe0" + b"\0" * 9, "image", "image/jpeg"),
        ("a.gif", b"GIF89a" + b"\0" * 9, "image", "image/gif"),
        ("a.webp", b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 9, "image", "image/webp"),
        ("a.wav", WAV, "audio", "audio/wav"),
        ("a.mp3", b"ID3\x04" + b"\0" * 9, "audio", "audio/mpeg"),
        ("a.ogg", b"OggS" + b"\0" * 9, "audio", "audio/ogg"),
    ],
)
def test_media_types_are_detected_from_the_bytes(room: Any, name: str, data: bytes, kind: str, media_type: str) -> None:
    room.write(name, data)
    about, block = room.call("read_media_file", path=name).raw["content"]
    assert about == {"type": "text", "text": f"{name}: {media_type}, {len(data):,} bytes"}
    assert (block["type"], block["mimeType"], b64decode(block["data"])) == (kind, media_type, data)


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.pdf", b"%PDF-1.7\0", "application/pdf"),
        ("a.bmp", b"BM\0\0", "image/bmp"),
        ("lies.png", b"\0\1\2", "application/octet-stream"),
        ("a.zip", b"PK\3\4\0", "application/zip"),
    ],
)
def test_other_binary_files_are_embedded(room: Any, name: str, data: bytes, media_type: str) -> None:
    path = room.write(name, data)
    about, block = room.call("read_media_file", path=name).raw["content"]
    assert about["text"] == f"{name}: {media_type}, {len(data):,} bytes"
    assert block["type"] == "resource"
    assert block["resource"]["uri"] == path.as_uri()
    assert (block["resource"]["mimeType"], b64decode(block["resource"]["blob"])) == (media_type, data)


@pytest.mark.parametrize(
    ("name", "media_type"), [("a.svg", "image/svg+xml"), ("lies.png", "text/plain"), ("a.txt", "text/plain")]
)
def test_text_is_embedded_as_text(room: Any, name: str, media_type: str) -> None:
    room.write(name, "<svg/>")
    about, block = room.call("read_media_file", path=name).raw["content"]
    assert (block["resource"]["mimeType"], block["resource"]["text"]) == (media_type, "<svg/>")
    assert about["text"] == f"{name}: {media_type}, 6 bytes"


@pytest.mark.parametrize(
    ("data", "message"), [(b"", "is empty"), (PNG + b"\0" * 5_000_000, "exceeds the limit of 5,000,000 bytes")]
)
def test_empty_and_oversized_media_are_refused(room: Any, data: bytes, message: str) -> None:
    room.write("a.png", data)
    answer = room.call("read_media_file", path="a.png")
    assert answer.is_error
    assert message in answer.text


def test_a_picture_outside_is_refused(room: Any) -> None:
    (room.outside / "a.png").write_bytes(PNG)
    (room.project / "a.png").symlink_to(room.outside / "a.png")
    assert room.call("read_media_file", path="a.png").is_error
