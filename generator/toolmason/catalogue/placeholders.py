"""The names of tools in place of the placeholders of a server, in the style of its manifest."""

from __future__ import annotations

from toolmason_runtime.shared.placeholders import Placeholders, placeholders_of

from toolmason.catalogue.table import catalogue
from toolmason.model.server import Server


def names_in(server: Server) -> Placeholders:
    """Return the texts of the placeholders, with the names that clients see without a prefix."""
    return placeholders_of(catalogue(server))
