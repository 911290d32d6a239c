"""A deterministic embedder without a model: words of one concept share a dimension, others have hashed ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

CONCEPTS = (
    ("mail", "email", "letter", "message", "send", "post"),
    ("note", "memo", "write", "jot", "remember"),
    ("delete", "remove", "erase", "discard"),
    ("find", "search", "seek", "lookup"),
    ("weather", "rain", "forecast", "umbrella"),
)
VOCABULARY = (
    "jot down what to remember show whether you need umbrella count words of lines characters text in and a the"
)
"""Words of the summaries in the tests."""
HASHED = 8
"""Dimensions for words without a concept."""


class ConceptEmbedder:
    """Counts the words of each concept. `embedded` records the texts, for tests."""

    def __init__(self, model: str = "a" * 64) -> None:
        self.model = model
        self.words = [word for concept in CONCEPTS for word in concept] + ["##ing", "Paris", "[CLS]", "x", "table"]
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
        for text in texts:
            self.embedded.append(text)
            yield self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] + [0.0] * (len(CONCEPTS) + HASHED)
        for word in re.findall(r"[a-z]+", text.lower()):
            concept = next((number for number, words in enumerate(CONCEPTS, 1) if word in words), None)
            if concept is None:
                digest = sha256(word.encode()).digest()
                vector[1 + len(CONCEPTS) + digest[0] % HASHED] += 0.1 if digest[1] % 2 else -0.1
            else:
                vector[concept] += 1.0
        return vector


def make(_model: Path | None) -> ConceptEmbedder:
    """Return the embedder for the command line."""
    return ConceptEmbedder()


def make_other(_model: Path | None) -> ConceptEmbedder:
    """Return one with another model."""
    return ConceptEmbedder("b" * 64)


class _Drifted(ConceptEmbedder):
    def _vector(self, text: str) -> list[float]:
        return [*super()._vector(text)[:-1], 5.0]


def make_drifted(_model: Path | None) -> ConceptEmbedder:
    """Return one that claims to be the same model, with other vectors."""
    return _Drifted()


def make_zero(_model: Path | None) -> ConceptEmbedder:
    """Return one whose vectors are zero."""

    class Zero(ConceptEmbedder):
        def _vector(self, text: str) -> list[float]:
            return [0.0 * len(text)]

    return Zero()


def make_failing(_model: Path | None) -> ConceptEmbedder:
    """Return one that fails as libraries of models do."""

    class Failing(ConceptEmbedder):
        def embed(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
            raise RuntimeError(f"no memory for {len(texts)} texts")

    return Failing()


def make_unloadable(model: Path | None) -> ConceptEmbedder:
    """Fail while loading the model."""
    raise TypeError(f"no graph in {model}")


def make_unnamed(_model: Path | None) -> ConceptEmbedder:
    """Return one without the hash of its model."""
    return ConceptEmbedder("my model")


def make_well_read(_model: Path | None) -> ConceptEmbedder:
    """Return one whose vocabulary has the words of the summaries in the tests."""
    embedder = ConceptEmbedder()
    embedder.words += re.findall("[a-z]+", VOCABULARY)
    return embedder
