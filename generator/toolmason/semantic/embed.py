"""Create `semantic.postings`. Only tools that have changed since the last run are embedded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search.query_model import known_share

from toolmason.semantic.embedder import Embedder, EmbedderError, embedder_errors
from toolmason.semantic.postings_file import MODEL_HASH, EmbeddedTool, Header, write_postings
from toolmason.semantic.similarity import cosine, nearest, quantize, vectors
from toolmason.semantic.texts import content_hash, tool_texts

MIN_COSINE: Final = 0.9999
"""Minimum cosine of two vectors that the same model makes of the same text on different machines."""
_WORD: Final = re.compile(r"[a-z]{2,}")
"""A whole lower-case word of a vocabulary, not a part such as `##ing`."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """The content of the file, and the numbers of tools and words for the report."""

    text: str
    embedded: int
    """Tools whose vectors were made in this run."""
    reused: int
    removed: int
    words: int
    known: float
    """Share of the words of the summaries that the model knows."""


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """Return the quantized vector of each text.

    Raises:
        EmbedderError: the embedder returns unusable vectors.
    """
    with embedder_errors():
        quantized = [quantize(vector) for vector in embedder.embed(texts)] if texts else []
    if len(quantized) != len(texts) or len({len(vector) for vector in quantized}) > 1:
        raise EmbedderError("the embedder must return one vector for each text, all of the same length")
    return quantized


def embed(
    catalogue: Catalogue,
    embedder: Embedder,
    previous: Header | None,
    *,
    embed_words: Callable[[Embedder, Sequence[str]], list[bytes]] = embed_texts,
) -> Embedding:
    """Return the content of the file for the enabled tools of `catalogue`.

    The vector of a tool in `previous` is reused if its text and the model have not changed.

    Args:
        catalogue: the tools.
        embedder: the model.
        previous: the header of the existing file; None if there is no file.
        embed_words: returns the vectors of words, for example from a cache.

    Raises:
        EmbedderError: the embedder returns unusable vectors, or its vocabulary has no words.
    """
    with embedder_errors():
        words, model = sorted({word for word in embedder.words if _WORD.fullmatch(word)}), embedder.model
    if not words:
        raise EmbedderError("the vocabulary of the embedder has no lower-case words")
    if not MODEL_HASH.fullmatch(model):
        raise EmbedderError(f"the `model` of the embedder must be a SHA-256 in hexadecimal, not `{model}`")
    texts = tool_texts(catalogue)
    known = previous.tools if previous and previous.model == model else {}
    hashes = {name: content_hash(text) for name, text in texts.items()}
    changed = [name for name in texts if name not in known or known[name].hash != hashes[name]]
    new = dict(zip(changed, embed_texts(embedder, [texts[name] for name in changed]), strict=True))
    tools = {name: EmbeddedTool(hashes[name], new[name]) if name in new else known[name] for name in texts}
    header = Header(model, tools)
    word_vectors, tool_vectors = embed_words(embedder, words), [tool.vector for tool in tools.values()]
    if {len(vector) for vector in tool_vectors} - {len(word_vectors[0])}:
        raise EmbedderError("the vectors of words and tools differ in length; delete semantic.postings and embed again")
    rows = nearest(vectors(word_vectors), vectors(tool_vectors)) if tools else ([] for _ in words)
    return Embedding(
        text=write_postings(header, zip(words, rows, strict=True)),
        embedded=len(changed),
        reused=len(tools) - len(changed),
        removed=len(previous.tools.keys() - tools.keys()) if previous else 0,
        words=len(words),
        known=known_share((catalogue["tools"][name]["summary"] for name in texts), set(words).__contains__),
    )


def compare_sample(catalogue: Catalogue, embedder: Embedder, header: Header, count: int) -> dict[str, float]:
    """Embed about `count` tools again, evenly spread; return the cosine of the new and the stored vector of each."""
    texts = {name: text for name, text in tool_texts(catalogue).items() if name in header.tools}
    step = max(1, -(-len(texts) // count))
    names = list(texts)[::step]
    fresh = embed_texts(embedder, [texts[name] for name in names])
    return {name: cosine(header.tools[name].vector, vector) for name, vector in zip(names, fresh, strict=True)}
