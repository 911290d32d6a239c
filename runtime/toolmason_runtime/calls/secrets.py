"""Mask the secrets of this process in log lines and in errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

MIN_SECRET: Final = 6
"""Minimum characters of a masked secret: shorter ones would match parts of words."""
MASK: Final = "[secret]"

_secrets: set[str] = set()
"""The secrets of this process. Global, as the log is."""
_pattern: re.Pattern[str] | None = None


def secret_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the texts in which secrets can occur, the longest first: as they are, in JSON, and in a URL.

    Whitespace around a secret, such as the last line break of a file, is not part of it.
    """
    long_enough = {secret.strip() for secret in secrets if len(secret.strip()) >= MIN_SECRET}
    if not long_enough:
        return ()
    import json
    from urllib.parse import quote, quote_plus

    forms = {
        form
        for secret in long_enough
        for form in (
            secret,
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            quote(secret, safe=""),
            quote_plus(secret),
        )
    }
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def protect(secrets: Iterable[object]) -> None:
    """Mask these texts in this process from now on. Values that are not texts are ignored."""
    global _pattern  # noqa: PLW0603  one for the process
    new = {secret for secret in secrets if isinstance(secret, str)}
    if not new <= _secrets:
        _secrets.update(new)
        forms = secret_forms(_secrets)
        _pattern = re.compile("|".join(map(re.escape, forms))) if forms else None


def mask(text: str) -> str:
    """Return a text without the secrets of this process."""
    return _pattern.sub(MASK, text) if _pattern else text


def masked(value: Any, mask_text: Callable[[str], str] = mask) -> Any:
    """Return a JSON value without the secrets that `mask_text` replaces, by default those of this process."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, list | tuple):
        return [masked(item, mask_text) for item in value]
    if isinstance(value, dict):
        return {masked(name, mask_text): masked(member, mask_text) for name, member in value.items()}
    return value
