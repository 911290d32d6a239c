"""The hashes of model files. A file is checked before a library parses it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Final

from toolmason.semantic.embedder import EmbedderError

DEFAULT_FILES: Final[Mapping[str, str]] = {
    "config.json": "1b4d8e2a3988377ed8b519a31d8d31025a25f1c5f8606998e8014111438efcd7",
    "model.onnx": "bbd7b466f6d58e646fdc2bd5fd67b2f5e93c0b687011bd4548c420f7bd46f0c5",
    "special_tokens_map.json": "5d5b662e421ea9fac075174bb0688ee0d9431699900b90662acd44b2a350503a",
    "tokenizer.json": "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    "tokenizer_config.json": "bd2e06a5b20fd1b13ca988bedc8763d332d242381b4fbc98f8fead4524158f79",
}
"""File -> SHA-256 of the default model: revision 5f1b8cd78bc4 of Qdrant/all-MiniLM-L6-v2-onnx on Hugging Face."""


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def check_files(directory: Path, hashes: Mapping[str, str]) -> None:
    """Compare files in `directory` with their hashes.

    Raises:
        EmbedderError: a file has another hash, or is missing.
    """
    for name, expected in hashes.items():
        path = directory / name
        found = hash_file(path) if path.is_file() else "missing"
        if found != expected:
            raise EmbedderError(
                f"the SHA-256 of {path} is {found}, not {expected}\n"
                "if you trust the model: --model-sha256 with that of model.onnx"
            )
