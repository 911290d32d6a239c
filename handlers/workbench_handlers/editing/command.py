"""The `review` command: review proposed changes in the terminal or in a browser."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Review proposed changes; return the exit code."""
    raise NotImplementedError(argv)
