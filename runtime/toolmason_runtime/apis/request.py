"""Build the request of a call from its arguments. Pure: no environment, no network, no credentials."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote_plus, urljoin, urlsplit, urlunsplit

from toolmason_runtime.apis.files import SentFile
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.specs.request import HttpTool, Place, Placement

_PLACEHOLDER: Final = re.compile(r"\{(?P<reserved>\+?)(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\}")
"""`{owner}`, or `{+path}` whose value may contain `/`."""
_SEGMENT: Final = re.compile(r"[/\\]")
_URL_CHARACTERS: Final = "%/:?#[]@!$&'()*+,;=~"
"""Characters that stay in a URL; a path can also have letters of any script, which are sent in ASCII."""
_SEPARATORS: Final = {"comma": ",", "space": "%20", "pipe": "%7C"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An HTTP request without the headers and the credential of its API. Names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None

    @property
    def target(self) -> str:
        """The path of the URL, for messages: without host and query."""
        return urlsplit(self.url).path

    def with_query(self, name: str, value: str) -> Request:
        """Return the request with one query parameter replaced."""
        return replace(self, url=with_query(self.url, name, value))


def build_request(tool: HttpTool, arguments: Mapping[str, Any], base_url: str) -> Request:
    """Return the request of a call. The argument for a file is a `SentFile`.

    Raises:
        ToolError: a value cannot be sent in its place.
    """
    values = effective_values(tool, arguments)
    path, _, fixed_query = tool.path.partition("?")
    path = _PLACEHOLDER.sub(lambda match: _path_value(match, values), path)
    query = [fixed_query] if fixed_query else []
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for placement in tool.placements:
        value = values.get(placement.name)
        if value is None:
            continue
        if placement.place is Place.QUERY:
            query += _query_parts(placement, value)
        elif placement.place is Place.HEADER:
            headers[placement.key.lower()] = _header_value(placement.name, value)
        elif placement.place is Place.COOKIE:
            cookies += _cookies(placement, value)
    if cookies:
        headers["cookie"] = "; ".join(cookies)
    content, content_type = _body(tool, values)
    if content_type:
        headers.setdefault("content-type", content_type)
    url = f"{base_url.rstrip('/')}{path}{'?' if query else ''}{'&'.join(query)}"
    url = quote(url, safe=_URL_CHARACTERS)
    return Request(method=tool.method, url=url, headers=headers, content=content)


def effective_values(tool: HttpTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are sent, with the defaults of absent ones."""
    values: dict[str, Any] = {}
    for placement in tool.placements:
        name = placement.name
        if arguments.get(name) is not None or (placement.nullable and name in arguments):
            values[name] = arguments[name]
        elif placement.default is not None:
            values[name] = placement.default
    return values


def with_query(url: str, name: str, value: str | None) -> str:
    """Return a URL with one query parameter replaced, or removed if `value` is None."""
    parts = urlsplit(url)
    pairs = [pair for pair in parts.query.split("&") if pair and unquote_plus(pair.partition("=")[0]) != name]
    pairs += [] if value is None else [f"{_quoted(name)}={_quoted(value)}"]
    return urlunsplit(parts._replace(query="&".join(pairs)))


def join_url(base: str, reference: str) -> str:
    """Return the URL of a reference in an answer to `base`, without a fragment; empty if it is invalid."""
    try:
        return quote(urljoin(base, reference).partition("#")[0], safe=_URL_CHARACTERS)
    except ValueError:
        return ""


def query_value(url: str, name: str) -> str | None:
    """Return the value of a query parameter, None if it is absent."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)).get(name)


def _path_value(match: re.Match[str], values: Mapping[str, Any]) -> str:
    name = match["name"]
    value = values.get(name)
    text = "" if value is None else text_of(value)
    if not text and not match["reserved"]:
        raise ToolError(f"`{name}` is part of the URL and must not be empty", code=INVALID_ARGUMENT)
    if any(part in (".", "..") for part in _SEGMENT.split(text)):
        message = f"`{name}` is part of the URL and must not contain `.` or `..` between slashes"
        raise ToolError(message, code=INVALID_ARGUMENT)
    return quote(text, safe="/" if match["reserved"] else "")


def text_of(value: Any) -> str:
    """Return a value as text: `true` for a boolean, `1` for the number 1.0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, dict | list) else str(value)


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _query_parts(placement: Placement, value: Any) -> Iterator[str]:
    key = _quoted(placement.key)
    if placement.style == "json":
        yield f"{key}={_quoted(_json(value))}"
    elif placement.style == "members":
        for name, member in value.items():
            for item in [] if member is None else _items(member):
                yield f"{_quoted(name)}={_quoted(text_of(item))}"
    elif placement.style == "deepObject" or isinstance(value, dict):
        yield from _deep_parts(placement.key, value)
    elif isinstance(value, list) and placement.style in _SEPARATORS:
        yield f"{key}={_SEPARATORS[placement.style].join(_quoted(text_of(item)) for item in value)}"
    else:
        for item in value if isinstance(value, list) else [value]:
            yield f"{key}={_quoted(text_of(item))}"


def _deep_parts(key: str, value: Any) -> Iterator[str]:
    """Yield `a[b]=1` for `{"b": 1}` under the key `a`, and `a[0]=1` for `[1]`."""
    if isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            if member is not None:
                yield from _deep_parts(f"{key}[{name}]", member)
        return
    yield f"{_quoted(key)}={_quoted(text_of(value))}"


def _cookies(placement: Placement, value: Any) -> Iterator[str]:
    values = [_quoted(text_of(item)) for item in _items(value)]
    for text in [",".join(values)] if placement.style == "comma" else values:
        yield f"{placement.key}={text}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _header_value(name: str, value: Any) -> str:
    text = ",".join(map(text_of, value)) if isinstance(value, list) else text_of(value)
    if not (text.isascii() and text.isprintable() and text == text.strip()):
        message = f"`{name}` is sent as an HTTP header and must be one line of ASCII, without spaces around it"
        raise ToolError(message, code=INVALID_ARGUMENT)
    return text


def _body(tool: HttpTool, values: Mapping[str, Any]) -> tuple[bytes | None, str]:
    """Return the body of a request and its media type; None and an empty string if it has none."""
    placements = [placement for placement in tool.placements if placement.place is Place.BODY]
    sent = {item.key: values[item.name] for item in placements if item.name in values}
    if tool.graphql:
        document = {"query": tool.graphql, "variables": sent}
        return _json(document).encode(), "application/json"
    if not placements or (placements[0].key == "." and not sent):
        return None, ""
    if tool.body == "text":
        return text_of(sent["."]).encode(), "text/plain; charset=utf-8"
    if tool.body == "file":
        file: SentFile = sent["."]
        return file.content, file.media
    if tool.body == "json":
        value = sent["."] if placements[0].key == "." else sent
        return _json(value).encode(), "application/json"
    present = {key: value for key, value in sent.items() if value is not None}
    if tool.body == "form":
        parts = [part for item in placements if item.key in present for part in _query_parts(item, present[item.key])]
        return "&".join(parts).encode(), "application/x-www-form-urlencoded"
    # A multipart body has at least one part.
    return _multipart(placements, present) if present else (None, "")


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _multipart(placements: list[Placement], values: Mapping[str, Any]) -> tuple[bytes, str]:
    known = {placement.key: placement for placement in placements}
    parts = [
        _part(key, "json" if known[key].style == "json" else known[key].format, item)
        for key, value in values.items()
        for item in ([value] if known[key].style == "json" else _items(value))
    ]
    # Derived from the content, so that no part contains it by chance or by intent.
    boundary = hashlib.sha256(b"".join(parts)).hexdigest()[:40].encode()
    body = b"".join(b"--%b\r\n%b\r\n" % (boundary, part) for part in parts) + b"--%b--\r\n" % boundary
    return body, f"multipart/form-data; boundary={boundary.decode()}"


_DATA_URI: Final = re.compile(
    rb"data:(?P<media>(?:[A-Za-z0-9.+_-]{1,60}/[A-Za-z0-9.+_-]{1,100})?)(?:;[A-Za-z0-9=._-]+)*;base64,"
    rb"(?P<data>[A-Za-z0-9+/=]*)"
)
"""A file that is not text (RFC 2397): `data:image/png;base64,iVBORw==`."""


def _part(key: str, kind: str, value: Any) -> bytes:
    name = key.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    head = f'Content-Disposition: form-data; name="{name}"'
    if isinstance(value, SentFile):
        shown = value.name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        return f'{head}; filename="{shown}"\r\nContent-Type: {value.media}\r\n\r\n'.encode() + value.content
    data = _json(value).encode() if kind == "json" else text_of(value).encode()
    if kind in ("binary", "byte"):
        media = "application/octet-stream"
        if kind == "binary" and (match := _DATA_URI.fullmatch(data)):
            media, data, kind = match["media"].decode() or media, match["data"], "byte"
        head += f'; filename="{name}"\r\nContent-Type: {media}'
    elif kind == "json" or isinstance(value, dict):
        head += "\r\nContent-Type: application/json"
    if kind == "byte":
        try:
            data = base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ToolError(f"`{key}` must be base64: {error}", code=INVALID_ARGUMENT) from error
    return f"{head}\r\n\r\n".encode() + data
