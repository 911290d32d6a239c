"""Compare a received request with a sample by the rules of OpenAPI for styles and encodings."""

from __future__ import annotations

import email
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from bench.openapi.samples import Part, Sample

_JOINTS: Final = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request that the server has received; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def differences(sample: Sample, method: str, path: str, received: Received) -> Iterator[str]:
    """Yield each difference between a received request and the documented one."""
    parts = urlsplit(received.target)
    if received.method != method:
        yield f"method {received.method}"
    yield from _path_differences(path, parts.path, {part.name: part for part in sample.parts if part.place == "path"})
    sent = sorted(parse_qsl(parts.query, keep_blank_values=True))
    expected = sorted(pair for part in sample.parts if part.place == "query" for pair in _pairs(part))
    if sent != expected:
        yield f"query {sent} instead of {expected}"
    for part in sample.parts:
        if part.place == "header" and received.headers.get(part.name.lower()) != text(part.value):
            yield f"header {part.name}: {received.headers.get(part.name.lower())} instead of {text(part.value)}"
    cookies = sorted(
        f"{part.name}={quote(text(part.value), safe='')}" for part in sample.parts if part.place == "cookie"
    )
    if cookies != sorted(filter(None, received.headers.get("cookie", "").split("; "))):
        yield f"cookies {received.headers.get('cookie')} instead of {cookies}"
    yield from _body_differences(sample, received)


def _path_differences(path: str, sent: str, values: Mapping[str, Part]) -> Iterator[str]:
    names = re.findall(r"\{([^{}]+)\}", path)
    pattern = re.sub(r"\\\{[^{}]+\\\}", "(.+)", re.escape(path))
    match = re.fullmatch(pattern, sent)
    if not match:
        yield f"path {sent} instead of {path}"
        return
    for name, group in zip(names, match.groups(), strict=True):
        if name in values and unquote(group) != text(values[name].value):
            yield f"path value {name}: {unquote(group)!r} instead of {text(values[name].value)!r}"


def _pairs(part: Part) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a query or form by the part's style."""
    value = part.value
    if part.style == "deepObject":
        yield from _deep(part.name, value)
    elif isinstance(value, list) and not part.explode:
        yield part.name, _JOINTS[part.style].join(map(text, value))
    elif isinstance(value, list):
        yield from ((part.name, text(item)) for item in value)
    elif isinstance(value, dict):
        yield from _deep(part.name, value)
    else:
        yield part.name, text(value)


def _deep(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _deep(f"{name}[{key}]", item)
    else:
        yield name, text(value)


def _body_differences(sample: Sample, received: Received) -> Iterator[str]:
    media = received.headers.get("content-type", "").partition(";")[0]
    if not sample.media or (sample.body == {} and not received.body):
        # An absent optional body and an object without members are both valid.
        if received.body not in (b"", b"{}"):
            yield f"body {received.body[:80]!r} instead of none"
        return
    if not fnmatchcase(media, sample.media):
        yield f"media type {media} instead of {sample.media}"
    elif media == "multipart/form-data":
        parts = sorted(_multipart(received))
        expected = sorted(
            (name, _normal(text(item)))
            for name, value in sample.body.items()
            for item in (value if isinstance(value, list) else [value])
        )
        if parts != expected:
            yield f"form {_unlike(parts, expected)} instead of {_unlike(expected, parts)}"
    elif media == "application/x-www-form-urlencoded":
        pairs = sorted(parse_qsl(received.body.decode(), keep_blank_values=True))
        wanted = sorted(pair for name, value in sample.body.items() for pair in _pairs(_form_part(name, value, sample)))
        if pairs != wanted:
            yield f"form {_unlike(pairs, wanted)} instead of {_unlike(wanted, pairs)}"
    elif media != "application/json" and not media.endswith("+json"):
        if received.body != text(sample.body).encode():
            yield f"body {received.body[:80]!r} instead of {text(sample.body)[:80]!r}"
    elif (body := json.loads(received.body or b"null")) != sample.body:
        yield f"body {_difference(body, sample.body)}"


def _form_part(name: str, value: Any, sample: Sample) -> Part:
    encoding = sample.encoding.get(name, {})
    style = encoding.get("style") or ("deepObject" if _is_nested(value) else "form")
    return Part(name=name, place="form", value=value, style=style)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value))


def _unlike(first: list[Any], second: list[Any]) -> str:
    return str([item for item in first if item not in second][:4])


def _multipart(received: Received) -> Iterator[tuple[str, str]]:
    """Yield name and text of each part. A list has a part for each item."""
    head = f"Content-Type: {received.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + received.body)
    for part in message.walk():
        if not part.is_multipart():
            name = str(part.get_param("name", header="content-disposition"))
            yield name, _normal(part.get_payload(decode=True).decode())  # type: ignore[union-attr]


def _normal(text: str) -> str:
    """Return a text; that of a JSON object with its members in order."""
    if not text.startswith("{"):
        return text
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def _difference(sent: Any, expected: Any, at: str = "") -> str:
    """Return the first difference of two JSON values."""
    if isinstance(sent, dict) and isinstance(expected, dict):
        for key in {**sent, **expected}:
            if key not in sent:
                return f"lacks {at}.{key}"
            if key not in expected:
                return f"has {at}.{key} in addition"
            if sent[key] != expected[key]:
                return _difference(sent[key], expected[key], f"{at}.{key}")
    if isinstance(sent, list) and isinstance(expected, list) and len(sent) == len(expected):
        for index, (one, other) in enumerate(zip(sent, expected, strict=True)):
            if one != other:
                return _difference(one, other, f"{at}[{index}]")
    return f"{at or 'value'} is {str(sent)[:80]} instead of {str(expected)[:80]}"


def text(value: Any) -> str:
    """Return a value as the text of a URL or a header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(text, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)
