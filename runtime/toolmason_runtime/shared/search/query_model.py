"""The meaning of a whole query, by the sentence model of `semantic.postings`, on a machine that has this model.

The postings add the meanings of single words. A model also uses their order and context, but is large and slow, so it
is optional: the operator names its directory in `TOOLMASON_SEARCH_MODEL`, and installs the extra `semantic`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.search.postings import SemanticPostings
from toolmason_runtime.shared.search.text import STOP_WORDS, words

MODEL_VARIABLE: Final = "TOOLMASON_SEARCH_MODEL"
"""Environment variable with the directory of the model."""
MODEL_FILES: Final = ("model.onnx", "vocab.txt")
"""A BERT-like sentence model with mean pooling, and its WordPiece vocabulary for lower-case text."""
MAX_TOKENS: Final = 256
"""Maximum tokens of a query; the rest is cut."""
INSTALL: Final = 'python3 -m pip install "toolmason[semantic]"'
QUERY_WEIGHT: Final = 10
"""Weight of the cosine of query and tool minus its mean over all tools, in hundredths, compared with BM25F scores."""
NEAREST: Final = 20
"""Maximum tools with a score by meaning."""
MIN_KNOWN: Final = 0.6
"""Minimum share of the words of a query, or of all tools, in the vocabulary of the model. It is less in a language that
the model does not know.
"""

Embed = Callable[[str], Sequence[float]]


class QueryModelError(Exception):
    """The model cannot be used."""


class QueryMeaning:
    """Compares whole queries with the tools.

    Args:
        tools: the vector of each tool as int8, by its name.
        embed: returns the vector of a query.

    Raises:
        ImportError: numpy is not installed.
    """

    def __init__(self, tools: dict[str, bytes], embed: Embed) -> None:
        self._numpy: Any = importlib.import_module("numpy")
        self._names = list(tools)
        flat = self._numpy.frombuffer(b"".join(tools.values()), dtype=self._numpy.int8)
        self._vectors = self._unit(flat.reshape(len(tools), -1))
        self._embed = embed

    def scores(self, query: str) -> dict[str, float]:
        """Return the scores of the tools that are nearest to `query`, at most `NEAREST`; a missing tool has none."""
        cosines = self._vectors @ self._unit(self._embed(query))
        centred = QUERY_WEIGHT * 100 * (cosines - cosines.mean())
        best = self._numpy.argsort(-centred, kind="stable")[:NEAREST]
        return {self._names[tool]: float(centred[tool]) for tool in best if centred[tool] > 0}

    def _unit(self, vectors: Any) -> Any:
        """Return vectors with the length 1."""
        values = self._numpy.asarray(vectors, dtype=self._numpy.float32)
        return values / self._numpy.linalg.norm(values, axis=-1, keepdims=True)


def load_query_meaning(directory: Path, postings: SemanticPostings) -> QueryMeaning:
    """Load the model in `directory`, for the tools of `postings`.

    Raises:
        QueryModelError: a package or a file is missing or unusable, or the postings were made with another model.
    """
    try:
        return QueryMeaning(postings.vectors(), _embedder(directory, postings.model))
    except ImportError as error:
        raise QueryModelError(f"{error.name} is missing; to install it:\n  {INSTALL}") from error
    except QueryModelError:
        raise
    except Exception as error:  # libraries of models raise bare `Exception` too
        raise QueryModelError(f"{type(error).__name__}: {error}") from error


def known_share(texts: Iterable[str], is_known: Callable[[str], bool]) -> float:
    """Return the share of the words of `texts` that the model knows, without stop words; 1 without words."""
    every = (word for text in texts for word in words(text) if word not in STOP_WORDS)
    found = [word for word in every if word.isalpha() and len(word) > 1]
    return sum(map(is_known, found)) / len(found) if found else 1.0


def _embedder(directory: Path, expected: str) -> Embed:
    numpy, runtime, tokenizers = map(importlib.import_module, ("numpy", "onnxruntime", "tokenizers"))
    model, vocabulary = (directory / name for name in MODEL_FILES)
    for path in (model, vocabulary):
        if not path.is_file():
            raise QueryModelError(f"there is no {path}")
    # The bytes that were checked are those that are parsed.
    data = model.read_bytes()
    if (found := sha256(data).hexdigest()) != expected:
        raise QueryModelError(f"the SHA-256 of {model} is {found}, but semantic.postings was made with {expected}")
    tokenizer: Any = tokenizers.BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    tokenizer.enable_truncation(MAX_TOKENS)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # a search shares the machine with other calls
    session = runtime.InferenceSession(data, options)
    inputs = [each.name for each in session.get_inputs()]

    @lru_cache(maxsize=64)
    def embed(query: str) -> Any:
        ids = numpy.array([tokenizer.encode(query).ids], dtype=numpy.int64)
        feeds = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        tokens = session.run(None, {name: feeds[name] for name in inputs})[0]
        return tokens[0].mean(axis=0)

    return embed
