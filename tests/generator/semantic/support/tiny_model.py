"""A sentence model as files: its vector of a text is the mean of those of its words, by `ConceptEmbedder`."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from struct import pack

from concept_embedder import ConceptEmbedder

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def write_model(directory: Path) -> str:
    """Write `model.onnx` and `vocab.txt`; return the SHA-256 of the model."""
    embedder = ConceptEmbedder()
    known = [word for word in embedder.words if word.isalpha() and word.islower()]
    vectors = [*([0.0] * len(vector) for vector in embedder.embed(SPECIAL)), *embedder.embed(known)]
    (directory / "vocab.txt").write_text("\n".join([*SPECIAL, *known]) + "\n", encoding="utf-8")
    model = _model(vectors)
    (directory / "model.onnx").write_bytes(model)
    return sha256(model).hexdigest()


def _model(table: Sequence[Sequence[float]]) -> bytes:
    """Return an ONNX model with one node, which looks up the vectors of tokens: `Gather(table, input_ids)`."""
    size = len(table[0])
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "tokens") + _text(4, "Gather")
    values = b"".join(pack(f"<{size}f", *row) for row in table)
    tensor = _number(1, len(table)) + _number(1, size) + _number(2, 1) + _text(8, "table") + _block(9, values)
    graph = (
        _block(1, node)
        + _text(2, "words")
        + _block(5, tensor)
        + _block(11, _value("input_ids", 7, ("batch", "length")))
        + _block(12, _value("tokens", 1, ("batch", "length", size)))
    )
    return _number(1, 8) + _block(7, graph) + _block(8, _text(1, "") + _number(2, 13))


def _value(name: str, element: int, shape: tuple[str | int, ...]) -> bytes:
    dimensions = (_number(1, each) if isinstance(each, int) else _text(2, each) for each in shape)
    tensor = _number(1, element) + _block(2, b"".join(_block(1, each) for each in dimensions))
    return _text(1, name) + _block(2, _block(1, tensor))


def _text(field: int, value: str) -> bytes:
    return _block(field, value.encode())


def _block(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])
