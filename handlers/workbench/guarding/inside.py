"""Tells whether a path leads into the folders that may be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.roots import Root, real_path


def is_inside(path: str, roots: Sequence[Root]) -> bool:
    """Tell whether an absolute path leads into one of the roots, links followed.

    Raises:
        ToolError: it changed meanwhile, or has links that may not be followed, or too many.
    """
    real = Path(real_path(path))
    return real.is_absolute() and any(real.is_relative_to(root.path) for root in roots)
