"""The interface of an embedding model, and the loader of the model that the command line specifies."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast


class EmbedderError(Exception):
    """The embedder cannot be loaded or used."""


class Embedder(Protocol):
    """A model that maps texts to vectors."""

    @property
    def model(self) -> str:
        """The SHA-256 of the model's file in hexadecimal. All vectors in `semantic.postings` come from one model."""
        ...

    @property
    def words(self) -> Sequence[str]:
        """The words of its vocabulary. Only those of two or more letters `a` to `z` are embedded."""
        ...

    def embed(self, texts: Sequence[str]) -> Iterator[Sequence[float]]:
        """Yield one vector for each text, all of the same length. A vector depends only on its own text."""
        ...


def load_embedder(spec: str, model: Path | None, sha256: str = "") -> Embedder:
    """Return the embedder of `--embedder` and `--model`; the default is fastembed.

    Args:
        spec: `module:factory`; the factory gets the directory of `--model` or None. Empty for fastembed.
        model: the directory with the files of a model; None for the embedder's default model.
        sha256: the expected SHA-256 of the model; empty for any, except that fastembed checks its default model.

    Raises:
        EmbedderError: the embedder cannot be loaded, or its model has another hash.
    """
    module, _, name = (spec or "toolmason.semantic.fastembed_adapter:FastEmbedder").partition(":")
    if not module or not name.isidentifier():
        raise EmbedderError(f"--embedder must be `module:factory`, such as `my_package.embedding:make`, not `{spec}`")
    try:
        factory = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if not spec or error.name == "numpy":
            raise EmbedderError(
                f"the module `{error.name}` is not installed; embedding needs an extra:\n"
                '  python3 -m pip install "toolmason[toolkit,semantic]"'
            ) from error
        raise EmbedderError(f"cannot import `{spec}`: {error}") from error
    except (ImportError, AttributeError) as error:
        raise EmbedderError(f"cannot import `{spec}`: {error}") from error
    with embedder_errors():
        embedder = cast("Embedder", factory(model) if spec else factory(model, sha256))
        found = embedder.model
    if sha256 and found != sha256:
        raise EmbedderError(
            f"the SHA-256 of the model is {found}, not {sha256}\n"
            f"if you trust it, embed all tools with it: --model-sha256 {found}"
        )
    return embedder


@contextmanager
def embedder_errors() -> Iterator[None]:
    """Report every exception of an embedder as EmbedderError: libraries of models raise bare `Exception` too."""
    try:
        yield
    except EmbedderError:
        raise
    except Exception as error:
        raise EmbedderError(f"the embedder failed: {type(error).__name__}: {error}") from error
