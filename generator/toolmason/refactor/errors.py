"""The reasons why a name cannot be changed."""

from __future__ import annotations

from toolmason.diagnostics import Diagnostic


class RefactorError(Exception):
    """A change that is not possible, with the reason and a proposal."""


class ClashError(RefactorError):
    """The new name is in use, at the location of the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
