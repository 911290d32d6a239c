"""Redaction of secrets in text that is logged, sent or stored.

Secrets are recognised by their source (variables and fields with a secret name, and passwords in URLs) or by their form
(Google API keys, tokens, private keys). Redact before cutting: half a key has no recognisable form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

REDACTED: Final = "[redacted]"
"""Replacement of a secret."""

MIN_SECRET_CHARS: Final = 8
"""Minimum length of a secret value of a variable; shorter ones are flags and numbers."""

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
# Often a secret, and often the location or kind of one. `AUTHOR` is excluded, `AUTHORIZATION` is not.
_LIKELY_NAME: Final = re.compile(r"CREDENTIAL|AUTH(?!OR(?!I))|HEADER|COOKIE", re.IGNORECASE)
_NOT_SECRET: Final = re.compile(r"(?:TYPE|METHOD|MODE|URL|URI|ENDPOINT|HOST|PORT|NAME|ENABLED|SOCK)$", re.IGNORECASE)
_PATH_NAME: Final = re.compile(r"(?:PATH|DIR|FILE|HOME)$", re.IGNORECASE)
_FIELD: Final = (
    r"api[_-]?key|private[_-]?key(?:[_-]?id)?|(?:access|refresh|id|auth)[_-]?token|client[_-]?secret|"
    r"secret[_-]?key|password|passwd"
)
_LOOKS_SECRET: Final = (
    # A key in PEM, in JSON (its lines joined by \n) or cut short.
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"AIza[\w-]{20,}"),
    re.compile(r"(?<![A-Za-z0-9])AQ\.[\w-]{20,}"),
    re.compile(r"ya29\.[\w.-]{8,}"),
    re.compile(r"(?<![\w/])1//0[\w-]{20,}"),
    re.compile(r"GOCSPX-[\w-]{8,}"),
    re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{8,1000}+\.[\w-]{8,}(?:\.[\w-]*)?"),
    re.compile(r"(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|xox[abprs]-[\w-]{10,})"),
)
_AFTER_NAME: Final = (
    re.compile(r"(?P<name>\bBearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<name>\b[Bb]asic\s+)(?=[\w+/=]*[0-9A-Z+/=])[\w+/=]{8,}"),
    re.compile(r"(?P<name>\bauthorization\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\r\n\"'\\]+", re.IGNORECASE),
    re.compile(r"(?P<name>\bcookie\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\r\n\"'\\]+", re.IGNORECASE),
    # The value of a field, also in JSON inside JSON.
    re.compile(
        rf"(?P<name>(?<![A-Za-z0-9])(?:{_FIELD})\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\s\"'\\,;&}}]{{6,}}",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<name>(?:token|secret)(?:\\*[\"']\s*[:=]\s*|=)\\*[\"']?)(?!\d+\b)[^\s\"'\\,;&}]{6,}", re.IGNORECASE
    ),
    re.compile(r"(?P<name>[?&](?:key|token|access_token|api_key|sig|signature|password)=)[^&\s\"'\\]+", re.IGNORECASE),
    # The password of `https://user:password@host`, up to the last `@`. A port is excluded: `https://host:8080/@x`.
    re.compile(r"(?P<name>://[^\s/:@\"']{0,100}:)(?!\d{1,5}[/?#])[^\s\"']{1,400}(?=@)"),
)


MIN_ANSWER_SECRET_CHARS: Final = 16
"""Minimum length of a secret that is redacted in a model's answer. `POSTGRES_PASSWORD=postgres` is common, and an
answer must be able to mention postgres; keys and tokens are longer.
"""


def redact(text: str, environ: Mapping[str, str]) -> str:
    """Return the text without the secrets of the environment and without texts in the form of a secret."""
    for value in _values(environ):
        text = text.replace(value, REDACTED)
    for pattern in _LOOKS_SECRET:
        text = pattern.sub(REDACTED, text)
    for pattern in _AFTER_NAME:
        text = pattern.sub(rf"\g<name>{REDACTED}", text)
    return text


def redact_known(texts: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Return a model's texts without the keys and tokens of the environment, otherwise unchanged.

    Answers quote code, which often contains texts in the form of a secret.
    """
    result: list[str] = redact_known_in_json(list(texts), environ)
    return result


def redact_known_in_json(value: Any, environ: Mapping[str, str]) -> Any:
    """Do the same for each string of a JSON value. Names of members are unchanged."""
    return _replace(value, [secret for secret in _values(environ) if len(secret) >= MIN_ANSWER_SECRET_CHARS])


def _replace(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {name: _replace(item, secrets) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, secrets) for item in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REDACTED)
    return value


def is_secret_name(name: str) -> bool:
    """Return whether a variable or field of this name contains a secret."""
    return bool(_SECRET_NAME.search(name) or (_LIKELY_NAME.search(name) and not _NOT_SECRET.search(name)))


def excerpt(text: str, environ: Mapping[str, str], max_chars: int) -> str:
    """Return the text redacted; if it is longer than `max_chars`, its beginning and its end."""
    text = redact(text, environ).strip()
    if len(text) <= max_chars:
        return text
    half = max(0, (max_chars - 5) // 2)
    return f"{text[:half]}\n...\n{text[len(text) - half :]}"


def _values(environ: Mapping[str, str]) -> list[str]:
    """Return the secrets in plain, JSON and URL form, the longest first: one may contain another."""
    forms = set()
    for name, value in environ.items():
        for plain in _secrets(name, value.strip()):
            if len(plain) >= MIN_SECRET_CHARS:
                forms |= {
                    plain,
                    json.dumps(plain)[1:-1],
                    json.dumps(plain, ensure_ascii=False)[1:-1],
                    quote(plain, safe="", errors="replace"),
                }
    return sorted(forms, key=lambda form: (-len(form), form))


def _secrets(name: str, value: str) -> Iterator[str]:
    """Return the secrets in the value of a variable: all of it, or parts of it."""
    if "://" in value:
        yield from _url_secrets(value)
    if not is_secret_name(name) or _is_path(name, value):
        return
    yield value
    if _LIKELY_NAME.search(name):
        yield from _header_secrets(name, value)


def _url_secrets(value: str) -> Iterator[str]:
    rest = value.partition("://")[2]
    # The password may contain `/` and `@`, and the part after the host may contain an `@`.
    for part in (rest, re.split(r"[/?#]", rest, maxsplit=1)[0]):
        user, colon, password = part.rpartition("@")[0].partition(":")
        if colon and not re.match(r"\d{1,5}[/?#]", password):
            yield from (password, unquote(password))
        elif not colon and len(user) >= MIN_ANSWER_SECRET_CHARS and "/" not in user:
            yield user
    for match in re.finditer(r"[?&]([^=?&#\s]++)=([^&#\s]+)", rest):
        if is_secret_name(match[1]):
            yield from (match[2], unquote(match[2]))


def _header_secrets(name: str, value: str) -> Iterator[str]:
    """Return the values in `Authorization: Bearer x, X-Key: y` and in `a=x; session=y`."""
    are_all = "COOKIE" in name.upper()
    for part in re.split(r"[,;\n]", value):
        field, *rest = re.split(r"[:=]", part, maxsplit=1)
        if rest and (are_all or is_secret_name(field)):
            yield re.sub(r"^(?:bearer|basic|token)\s+", "", rest[0].strip(), flags=re.IGNORECASE)


def _is_path(name: str, value: str) -> bool:
    """Return whether a value is the location of a secret: hiding a directory would hide it in every path."""
    is_likely = _PATH_NAME.search(name) or not _SECRET_NAME.search(name)
    return bool(is_likely) and Path(value).is_absolute()
