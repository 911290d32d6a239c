"""What `sample greet` does."""

from __future__ import annotations

import os
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Greet, and give as the exit status how many were greeted."""
    print("hello", *argv)  # noqa: T201  what it is for
    return len(argv)


def check() -> list[str]:
    """Warn of what the environment asks for."""
    if "SAMPLE_CHECK_FAILS" in os.environ:
        raise RuntimeError("on purpose")
    return [os.environ["SAMPLE_WARNING"]] if "SAMPLE_WARNING" in os.environ else []
