"""URI templates: `{name}` and `{+name}` of RFC 6570, the parts that a server can also match."""

from __future__ import annotations

import re
from typing import Final

_VARIABLE: Final = re.compile(r"\{\+?([A-Za-z_][A-Za-z0-9_]{0,63})\}")


class UriTemplateError(ValueError):
    """A URI template cannot be matched; the message continues "`uri` "."""


def variables(uri: str) -> tuple[str, ...]:
    """Return the names of the variables of a URI template, empty for a URI.

    Raises:
        UriTemplateError: it cannot be matched.
    """
    literals = _VARIABLE.sub("\0", uri)
    if "{" in literals or "}" in literals:
        raise UriTemplateError("has a brace that is not part of `{name}` or `{+name}`")
    if "\0\0" in literals:
        raise UriTemplateError("has two variables without a separator between them")
    names = tuple(_VARIABLE.findall(uri))
    if len(set(names)) < len(names):
        raise UriTemplateError("has a variable twice")
    return names
