"""How a running server is named: by its URL or its command line, and what of that is fit to be shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

HIDDEN: Final = "REDACTED"
"""What stands where a secret was: a word that no shell would quote."""

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_WORDS: Final = r"(?:key|token|secret|password|passwd|pwd|credentials?|auth|authorization|cookie|bearer)"
# `--api-key`, `GITHUB_TOKEN`, but not `--keyboard` or `--tokens`. Too much hidden is a small loss.
_SECRET_NAME: Final = re.compile(rf"[\w-]*{_WORDS}", re.IGNORECASE)
_HEADER: Final = re.compile(rf"(?P<name>[\w-]*{_WORDS}[\w-]*)(?P<sign>:\s*)\S.*", re.IGNORECASE | re.DOTALL)


class AddressError(ValueError):
    """An address is neither a URL nor a command line."""


def is_url(address: str) -> bool:
    """Whether a server is reached over HTTP."""
    return address.lower().startswith(("http://", "https://"))


def split_command(address: str) -> list[str]:
    """Split a command line as a shell would, without running one.

    Raises:
        AddressError: it is empty, or a quote is not closed.
    """
    try:
        words = shlex.split(address)
    except ValueError as error:
        raise AddressError(str(error).lower()) from None
    if not words or not words[0]:
        raise AddressError("it is empty")
    return words


def shown_address(address: str) -> str:
    """Give an address as reports and errors may repeat it: without what its own words say is secret.

    Of a URL that is user, password, query and fragment; of a command line the values of options, variables and headers
    with such names, and the same parts of each URL. It is given as typed if it has none of these.
    """
    if is_url(address):
        return _shown_url(address)
    words = split_command(address)
    shown = list(_shown_words(words))
    return address if shown == words else shlex.join(shown)


def _shown_words(words: Sequence[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        name, sign, _ = word.partition("=")
        if is_value and not word.startswith("-"):
            yield HIDDEN
        elif _URL.match(word):
            yield _shown_url(word)
        elif sign and _SECRET_NAME.fullmatch(name):
            yield f"{name}={HIDDEN}"
        else:
            yield _HEADER.sub(rf"\g<name>\g<sign>{HIDDEN}", word)
        is_value = word.startswith("-") and not sign and _SECRET_NAME.fullmatch(word) is not None


def _shown_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = re.split("[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
