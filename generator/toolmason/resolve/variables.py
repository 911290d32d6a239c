"""Environment variables in texts of the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final


def used_variables(texts: Iterable[str]) -> list[str]:
    """Return the environment variables that texts use as `$NAME`."""
    return [name for text in texts for pair in _VARIABLE.findall(text) for name in pair if name]


_VARIABLE: Final = re.compile(r"\$\$|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
"""A variable as the runtime expands it: `$HOME` or `${HOME}`; `$$` is a dollar sign."""
