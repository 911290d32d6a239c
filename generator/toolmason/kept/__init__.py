"""The resolved server of an earlier run, in which an edit of one tool changes only that tool."""

from toolmason.kept.server import KeptServer, keep

__all__ = ["KeptServer", "keep"]
