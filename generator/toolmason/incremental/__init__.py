"""Reuse of the resolved server of an earlier run: after an edit of a few tools, only these are resolved again."""

from toolmason.incremental.server import KeptServer, keep

__all__ = ["KeptServer", "keep"]
