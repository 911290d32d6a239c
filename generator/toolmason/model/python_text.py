"""Free text as Python source."""

from __future__ import annotations

import re


def docstring(text: str) -> str:
    """Return `text` as a docstring, quotes included.

    Backslashes, a run of three quotes, and quotes at the end are escaped.
    """
    body = re.sub(r'"{3,}|"+\Z', lambda run: '\\"' * len(run[0]), text.replace("\\", "\\\\"))
    return f'"""{escape_unprintable(body, keep=chr(10))}"""'


def escape_unprintable(text: str, *, keep: str = "") -> str:
    """Replace unprintable characters, such as bidirectional ones, by Python escapes, except the character `keep`."""
    if (text.replace(keep, "") if keep else text).isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode("ascii") for char in text
    )
