"""Write `semantic.postings`, and update it during `generate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from toolmason.catalogue.table import catalogue
from toolmason.model.server import Server
from toolmason.project import Project
from toolmason.semantic.freshness import differences
from toolmason.semantic.postings_file import read_header
from toolmason.write.model_cache import cached_vectors, find_model

OFFLINE: Final = "HF_HUB_OFFLINE"
"""Variable that stops the libraries of models from using the network: `generate` never does."""


def refreshed_postings(project: Project, server: Server, progress: Callable[[str], None]) -> str:
    """Return the new content of `semantic.postings`, in which the vectors of changed tools are made again.

    Empty if no tool has changed, or the model of the file is not on this machine: then the findings list the tools.
    """
    table, header = catalogue(server), read_header(server.postings)
    if not differences(table, header) or (place := find_model(project.root, header.model)) is None:
        return ""
    progress("embedding the tools that have changed")
    # Imported late: only the extra `semantic` has numpy.
    from toolmason.semantic.embed import embed
    from toolmason.semantic.embedder import EmbedderError, load_embedder

    try:
        with _offline():
            embedder = load_embedder(place.embedder, Path(place.directory) if place.directory else None, header.model)
            return embed(table, embedder, header, embed_words=partial(cached_vectors, project.root)).text
    except EmbedderError:
        return ""


@contextmanager
def _offline() -> Iterator[None]:
    before = os.environ.get(OFFLINE)
    os.environ[OFFLINE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[OFFLINE]
        else:
            os.environ[OFFLINE] = before
