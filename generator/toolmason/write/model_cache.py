"""What the user's cache has about models: the vectors of their words, and where they are.

Embedding all words takes minutes, and a later `generate` must find the model without options.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from toolmason.write.user_cache import cache_directory, read_cached, write_cached

if TYPE_CHECKING:
    from toolmason.semantic.embedder import Embedder


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """The options of `toolmason embed` that load a model: `--embedder` and `--model`, each empty without it."""

    embedder: str
    directory: str


def cached_vectors(project: Path, embedder: Embedder, words: Sequence[str]) -> list[bytes]:
    """Return the vectors of `words`, from the user's cache if it contains those of this model."""
    from toolmason.semantic.embed import embed_texts

    directory = cache_directory(project)
    if directory is None:
        return embed_texts(embedder, words)
    path = directory / f"words-{sha256(repr((embedder.model, words)).encode()).hexdigest()}.int8"
    with suppress(OSError):
        data = read_cached(path)
        size, rest = divmod(len(data), len(words))
        if size and not rest:
            return [data[start : start + size] for start in range(0, len(data), size)]
    vectors = embed_texts(embedder, words)
    with suppress(OSError):
        write_cached(path, b"".join(vectors))
    return vectors


def remember_model(project: Path, model: str, place: ModelPlace) -> None:
    """Store where the model with the SHA-256 `model` is."""
    if directory := cache_directory(project):
        with suppress(OSError):
            write_cached(_place_file(directory, project, model), json.dumps([place.embedder, place.directory]).encode())


def find_model(project: Path, model: str) -> ModelPlace | None:
    """Return where the user has loaded the model with this SHA-256 for this project; None if they have not."""
    directory = cache_directory(project)
    if directory is None:
        return None
    with suppress(OSError, ValueError, TypeError):
        embedder, path = json.loads(read_cached(_place_file(directory, project, model)))
        return ModelPlace(str(embedder), str(path))
    return None


def _place_file(directory: Path, project: Path, model: str) -> Path:
    # By project: an embedder of one must not be imported for another that names the same model.
    return directory / f"model-{sha256(repr((str(project), model)).encode()).hexdigest()}.json"
