"""What `sample greet` does."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Greet, and give as the exit status how many were greeted."""
    print("hello", *argv)  # noqa: T201  what it is for
    return len(argv)
