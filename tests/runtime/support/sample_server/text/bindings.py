"""Joins the `text` tools to the functions that carry them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolmason_runtime.serving import Binding

from sample_server import handlers
from sample_server.text import models

BINDINGS: Final[Mapping[str, Binding]] = {
    "count_words": Binding(models.CountWordsParams, handlers.count_words),
    "shout": Binding(models.ShoutParams, handlers.shout),
    "old_shout": Binding(models.ShoutParams, handlers.shout),
}
