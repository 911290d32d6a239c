"""Takes secrets out of text that is logged, sent or kept.

A secret is known by where it came from (a variable or a field whose name says so, in the environment and in the user's
own files, or the password in an address) or by what it looks like (a key of Google's, a token, a private key). Redact
first and cut afterwards: half a key no longer looks like one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from workbench_handlers.model_backends.secret_files import held

HIDDEN: Final = "[redacted]"
"""What stands where a secret was."""

MIN_LENGTH: Final = 8
"""Characters that the value of a variable must have to be taken for a secret: shorter ones are flags and numbers."""

_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
# Often a secret, and often where one lies or of which kind it is. An author is none.
_LIKELY_NAME: Final = re.compile(r"CREDENTIAL|AUTH(?!OR(?!I))|HEADER|COOKIE", re.IGNORECASE)
_NO_SECRET: Final = re.compile(r"(?:TYPE|METHOD|MODE|URL|URI|ENDPOINT|HOST|PORT|NAME|ENABLED|SOCK)$", re.IGNORECASE)
_PLACE_NAME: Final = re.compile(r"(?:PATH|DIR|FILE|HOME)$", re.IGNORECASE)
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
    re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
    re.compile(r"(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|xox[abprs]-[\w-]{10,})"),
)
_AFTER_NAME: Final = (
    re.compile(r"(?P<name>\bBearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<name>\b[Bb]asic\s+)(?=[\w+/=]*[0-9A-Z+/=])[\w+/=]{8,}"),
    re.compile(r"(?P<name>\bauthorization\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\r\n\"'\\]+", re.IGNORECASE),
    re.compile(r"(?P<name>\bcookie\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\r\n\"'\\]+", re.IGNORECASE),
    # The value of a field, in JSON inside JSON as well.
    re.compile(
        rf"(?P<name>(?<![A-Za-z0-9])(?:{_FIELD})\\*[\"']?\s*[:=]\s*\\*[\"']?)[^\s\"'\\,;&}}]{{6,}}", re.IGNORECASE
    ),
    re.compile(
        r"(?P<name>(?:token|secret)(?:\\*[\"']\s*[:=]\s*|=)\\*[\"']?)(?!\d+\b)[^\s\"'\\,;&}]{6,}", re.IGNORECASE
    ),
    re.compile(r"(?P<name>[?&](?:key|token|access_token|api_key|sig|signature|password)=)[^&\s\"'\\]+", re.IGNORECASE),
    # A password in an address, up to the last `@`; a port, and `@` in the path behind it, are none.
    re.compile(r"(?P<name>://[^\s/:@\"']{0,100}:)(?!\d{1,5}[/?#])[^\s\"']{1,400}(?=@)"),
)


MIN_QUOTED: Final = 16
"""Characters that it must have to be hidden in what a model says: `POSTGRES_PASSWORD=postgres` is set on many machines,
and an answer has to be able to speak of postgres. Keys and tokens are longer.
"""


def redact(text: str, environ: Mapping[str, str]) -> str:
    """Give the text without the secrets of the environment and without anything that has a secret's form."""
    for value in _values(environ):
        text = text.replace(value, HIDDEN)
    for pattern in _LOOKS_SECRET:
        text = pattern.sub(HIDDEN, text)
    for pattern in _AFTER_NAME:
        text = pattern.sub(rf"\g<name>{HIDDEN}", text)
    return text


def secrets_hidden(texts: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Give what a model said without the keys and tokens of the environment, and else as it is.

    It may quote code, in which much has a secret's form and is none.
    """
    found: list[str] = secrets_hidden_within(list(texts), environ)
    return found


def secrets_hidden_within(value: Any, environ: Mapping[str, str]) -> Any:
    """Do the same for each text of a value of JSON. The names of members are left as they are."""
    return _hidden(value, [each for each in _values(environ) if len(each) >= MIN_QUOTED])


def _hidden(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(each, secrets) for name, each in value.items()}
    if isinstance(value, list):
        return [_hidden(each, secrets) for each in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
    return value


def is_secret_name(name: str) -> bool:
    """Tell whether a variable or field of this name holds a secret."""
    return bool(_SECRET_NAME.search(name) or (_LIKELY_NAME.search(name) and not _NO_SECRET.search(name)))


def excerpt(text: str, environ: Mapping[str, str], most: int) -> str:
    """Give the text redacted and, of what is longer than `most` characters, its beginning and its end."""
    text = redact(text, environ).strip()
    if len(text) <= most:
        return text
    half = max(0, (most - 5) // 2)
    return f"{text[:half]}\n...\n{text[len(text) - half :]}"


def _values(environ: Mapping[str, str]) -> list[str]:
    """Give the secrets as they stand, in JSON and in an address, the longest first: one may hold another."""
    forms = set()
    for name, value in (*environ.items(), *held(environ)):
        for plain in _secrets(name, value.strip()):
            if len(plain) >= MIN_LENGTH:
                forms |= {
                    plain,
                    json.dumps(plain)[1:-1],
                    json.dumps(plain, ensure_ascii=False)[1:-1],
                    quote(plain, safe="", errors="replace"),
                }
    return sorted(forms, key=lambda form: (-len(form), form))


def _secrets(name: str, value: str) -> Iterator[str]:
    """Give the secrets in a value of this name: the whole, or parts of it."""
    if "://" in value:
        yield from _in_address(value)
    if not is_secret_name(name) or _is_place(name, value):
        return
    yield value
    if _LIKELY_NAME.search(name):
        yield from _in_headers(name, value)


def _in_address(value: str) -> Iterator[str]:
    rest = value.partition("://")[2]
    # The password may hold `/` and `@` as they are, and what follows the host may hold an `@`.
    for part in (rest, re.split(r"[/?#]", rest, maxsplit=1)[0]):
        user, colon, password = part.rpartition("@")[0].partition(":")
        if colon and not re.match(r"\d{1,5}[/?#]", password):
            yield from (password, unquote(password))
        elif not colon and len(user) >= MIN_QUOTED and "/" not in user:
            yield user
    for match in re.finditer(r"[?&]([^=&#\s]+)=([^&#\s]+)", rest):
        if is_secret_name(match[1]):
            yield from (match[2], unquote(match[2]))


def _in_headers(name: str, value: str) -> Iterator[str]:
    """Give the values in `Authorization: Bearer x, X-Key: y` and in `a=x; session=y`."""
    are_all = "COOKIE" in name.upper()
    for part in re.split(r"[,;\n]", value):
        field, *rest = re.split(r"[:=]", part, maxsplit=1)
        if rest and (are_all or is_secret_name(field)):
            said = rest[0].strip()
            yield re.sub(r"^(?:bearer|basic|token)\s+", "", said, flags=re.IGNORECASE)


def _is_place(name: str, value: str) -> bool:
    """Tell whether a variable says where a secret lies: hiding the folder would hide it in every path."""
    may_be = _PLACE_NAME.search(name) or not _SECRET_NAME.search(name)
    return bool(may_be) and Path(value).is_absolute()
