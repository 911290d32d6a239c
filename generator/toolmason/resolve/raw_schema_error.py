"""The error of an invalid `input_schema`."""

from __future__ import annotations


class RawSchemaError(ValueError):
    """The schema is invalid. `hint` is what to write instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
