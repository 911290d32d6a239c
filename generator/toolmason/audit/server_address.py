"""Parse server addresses (URLs and command lines) and redact their secrets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

REDACTED: Final = "REDACTED"
"""Replacement for a secret. Needs no shell quotes."""

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_WORDS: Final = r"(?:key|token|secret|password|passwd|pwd|credentials?|auth|authorization|cookie|bearer)"
# Matches `--api-key` and `GITHUB_TOKEN`, but not `--keyboard` or `--tokens`.
_SECRET_NAME: Final = re.compile(rf"[\w-]*{_WORDS}", re.IGNORECASE)
# Matches `Authorization: Bearer abc`.
_HEADER: Final = re.compile(
    rf"(?P<name>(?<![\w-])(?=[\w-]*{_WORDS})[\w-]++)(?P<sign>:\s*)\S.*", re.IGNORECASE | re.DOTALL
)


class AddressError(ValueError):
    """An address is neither a URL nor a command line."""


def is_url(address: str) -> bool:
    """Return whether `address` is an HTTP URL."""
    return address.lower().startswith(("http://", "https://"))


def split_command(address: str) -> list[str]:
    """Split a command line into words with shell syntax. No shell runs.

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


def redact_address(address: str) -> str:
    """Return `address` without secrets, for reports and errors.

    From a URL it removes user, password, query and fragment. In a command line it replaces the values of options,
    variables and headers with secret names. An address without secrets is unchanged.
    """
    if is_url(address):
        return _redact_url(address)
    words = split_command(address)
    redacted = list(_redact_words(words))
    return address if redacted == words else shlex.join(redacted)


def secret_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line that contain a secret."""
    return [word for word, shown in zip(words, _redact_words(words), strict=True) if word != shown]


def is_secret_name(name: str) -> bool:
    """Return whether values of this name are usually secret: `api_key`, `Authorization`."""
    return _SECRET_NAME.fullmatch(name) is not None


def _redact_words(words: Sequence[str]) -> Iterator[str]:
    is_secret_value = False
    for word in words:
        name, sign, _ = word.partition("=")
        if is_secret_value and not word.startswith("-"):
            yield REDACTED
        elif _URL.match(word):
            yield _redact_url(word)
        elif sign and _SECRET_NAME.fullmatch(name):
            yield f"{name}={REDACTED}"
        else:
            yield _HEADER.sub(rf"\g<name>\g<sign>{REDACTED}", word)
        is_secret_value = word.startswith("-") and not sign and _SECRET_NAME.fullmatch(word) is not None


def _redact_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = re.split("[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
