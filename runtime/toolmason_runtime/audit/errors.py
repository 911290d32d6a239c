"""The error of an audit log that cannot be opened."""

from __future__ import annotations


class AuditError(ValueError):
    """The setting of the log is invalid, or its file cannot be used. The message says which, and what to change."""
