"""The errors of `install`: each message is for the person who ran it."""

from __future__ import annotations


class InstallError(Exception):
    """The server cannot be installed. Nothing was written."""


class CannotEditError(InstallError):
    """A configuration file cannot be edited safely; a person can add the entry."""


class FileSyntaxError(CannotEditError):
    """A configuration file is invalid at a position: 1-based line and column."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(f"{line}:{column}: {message}")
