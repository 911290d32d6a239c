"""OpenAPI from a Postman collection, 2.0 or 2.1: its requests are examples, from which parameters and types follow.

Only parameters in the path are required: a collection does not specify it for others.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_plus

from toolmason.importers.openapi.document import items, table, text
from toolmason.importers.openapi.positions import Path_

MAX_LEVELS: Final = 50
"""Maximum nesting of folders, and of values in an example of a body."""
MAX_TEXT: Final = 20_000
"""Maximum characters of a text in which variables are replaced."""
MAX_VALUE: Final = 500
"""Maximum characters of the value of a variable."""
_VARIABLE: Final = re.compile(r"\{\{([^{}]+)\}\}")
_URL: Final = re.compile(r"(?P<base>(?:[a-zA-Z][a-zA-Z0-9+.-]*://)?[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?")
_SECRET: Final = re.compile(r"(?:api|access|auth)[-_]?(?:key|token)|^key$|^token$|secret|password", re.IGNORECASE)
_IGNORED: Final = frozenset({"accept", "content-type", "content-length", "host", "user-agent", "connection"})
_MEDIA: Final = {"json": "application/json", "xml": "application/xml", "html": "text/html", "text": "text/plain"}


@dataclass(slots=True)
class Collection:
    """The document for a collection, with the place of each operation and what was joined."""

    data: dict[str, Any]
    places: dict[str, Path_] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def is_collection(data: Any) -> bool:
    """Return whether a document is a Postman collection."""
    info = table(_inner(data).get("info"))
    return "/json/collection/v2." in text(info.get("schema")) and isinstance(_inner(data).get("item"), list)


def _inner(data: Any) -> Mapping[str, Any]:
    """Return the collection: an answer of Postman's API has it in a member."""
    return table(table(data).get("collection")) or table(data)


def converted(data: Any) -> Collection:
    """Return the OpenAPI document for a collection."""
    return _Converter(_inner(data), ("collection",) if "collection" in data else ()).convert()


@dataclass(slots=True)
class _Converter:
    collection: Mapping[str, Any]
    at: Path_
    variables: dict[str, str] = field(default_factory=dict)
    result: Collection = field(default_factory=lambda: Collection({}))
    paths: dict[str, dict[str, Any]] = field(default_factory=dict)
    schemes: dict[str, dict[str, Any]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def convert(self) -> Collection:
        info = table(self.collection.get("info"))
        for variable in map(table, items(self.collection.get("variable"))):
            name = text(variable.get("key")) or text(variable.get("id"))
            value = variable.get("value")
            if name and isinstance(value, str | int | float) and not _SECRET.search(name):
                self.variables |= {name: str(value)} if len(str(value)) <= MAX_VALUE else {}
        self._add_items(self.collection, (*self.at, "item"), "", self.collection.get("auth"), 0)
        operations = [operation for item in self.paths.values() for operation in item.values()]
        bases = Counter(operation["x-base"] for operation in operations if operation["x-base"])
        common = next((base for base, _ in bases.most_common(1)), "")
        for operation in operations:
            base = operation.pop("x-base")
            if base and base != common:
                operation["servers"] = [{"url": base}]
        self.result.data = {
            "openapi": "3.0.3",
            "info": {"title": text(info.get("name")), "version": "", "description": _words(info.get("description"))},
            "servers": [{"url": common}] if common else [],
            "paths": self.paths,
            "components": {"securitySchemes": self.schemes},
        }
        return self.result

    def _add_items(self, folder: Mapping[str, Any], at: Path_, tag: str, auth: Any, level: int) -> None:
        for index, item in enumerate(map(table, items(folder.get("item")))):
            own = item.get("auth") or auth
            if "item" in item and level < MAX_LEVELS:
                self._add_items(item, (*at, index, "item"), tag or text(item.get("name")), own, level + 1)
            elif "request" in item:
                self._add_request(item, (*at, index), tag, own)

    def _add_request(self, item: Mapping[str, Any], at: Path_, tag: str, auth: Any) -> None:
        name, request = text(item.get("name")).strip(), item["request"]
        request = {"url": request} if isinstance(request, str) else table(request)
        method = text(request.get("method")).lower() or "get"
        address = self._address(request.get("url"))
        headers = [header for header in _entries(request.get("header")) if text(header.get("key"))]
        operation: dict[str, Any] = {
            "x-base": address.base,
            "summary": name,
            "description": _words(request.get("description")) or _words(item.get("description")),
            "tags": [tag] if tag else [],
            "parameters": [*address.parameters, *self._query(address, request.get("url")), *self._headers(headers)],
            "security": self._security(request.get("auth") or auth, headers),
            "responses": {},
        }
        if name and "/" not in name:
            operation["operationId"] = name
        if body := self._body(table(request.get("body")), headers):
            operation["requestBody"] = body
        key = f"{method.upper()} {address.path}"
        known = self.paths.setdefault(address.path, {})
        if method in known:
            self.result.notes.append(
                f"`{name}` is another example of {key}: its parameters are added to those of the first"
            )
            _join(known[method], operation)
            return
        known[method] = operation
        self.result.places[key] = at

    def _filled(self, value: str) -> str:
        """Return a text with the values of the collection's variables, which may contain others."""
        if len(value) > MAX_TEXT:
            return value
        for _ in range(5):
            filled = _VARIABLE.sub(lambda match: self.variables.get(match[1].strip(), match[0]), value)
            if filled == value or len(filled) > MAX_TEXT:
                break
            value = filled
        return value

    def _address(self, url: Any) -> _Address:
        parts = _URL.match(_raw(url))
        assert parts is not None, "each part of the pattern may be empty"  # noqa: S101  for the type checker
        base, rest = self._filled(parts["base"]), self._filled(parts["path"])
        if "{{" in base:
            base = ""
        elif "://" not in base:
            base = f"https://{base}" if base.strip(".") else ""
        given = {text(entry.get("key")): entry for entry in _entries(table(url).get("variable"))}
        parameters: dict[str, Any] = {}
        segments: list[str] = []
        for segment in rest.split("/"):
            name = segment[1:] if re.fullmatch(r":[A-Za-z_][\w.-]*", segment) else ""
            written = f"{{{{{name}}}}}" if name else segment
            for variable in _VARIABLE.findall(written):
                wire = re.sub(r"[^A-Za-z0-9_]+", "_", variable).strip("_") or "value"
                wire = f"_{wire}" if wire[0].isdigit() else wire
                written = written.replace(f"{{{{{variable}}}}}", f"{{{wire}}}")
                parameters[wire] = {
                    "name": wire,
                    "in": "path",
                    "required": True,
                    **_described(given.get(variable.strip(), {}), self),
                    "schema": {"type": "string"},
                }
            segments.append(written)
        path = "/".join(segments)
        path = path if path.startswith("/") else f"/{path}"
        return _Address(base, path, list(parameters.values()), parts["query"] or "")

    def _query(self, address: _Address, url: Any) -> Iterator[dict[str, Any]]:
        entries = _entries(table(url).get("query"))
        if not entries and address.query:
            pairs = [pair.partition("=") for pair in address.query.split("&") if pair]
            entries = [{"key": unquote_plus(key), "value": unquote_plus(value)} for key, _, value in pairs]
        by_name: dict[str, list[Mapping[str, Any]]] = {}
        for entry in entries:
            if text(entry.get("key")):
                by_name.setdefault(entry["key"], []).append(entry)
        for name, same in by_name.items():
            is_list = sum(entry.get("disabled") is not True for entry in same) > 1
            schema = {"type": "array", "items": {"type": "string"}} if is_list else {"type": "string"}
            yield {"name": name, "in": "query", **_described(same[0], self), "schema": schema}

    def _headers(self, headers: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for header in headers:
            name = header["key"]
            if name.lower() not in {*_IGNORED, "authorization", "cookie"} and not _SECRET.search(name):
                yield {"name": name, "in": "header", **_described(header, self), "schema": {"type": "string"}}

    def _security(self, auth: Any, headers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        kind = text(table(auth).get("type"))
        for header in headers if not kind or kind == "noauth" else ():
            name, value = header["key"], text(header.get("value")).lower()
            if name.lower() == "authorization":
                scheme = value.partition(" ")[0]
                known = scheme if scheme in ("bearer", "basic") else ""
                return self._scheme(
                    {"type": "http", "scheme": known} if known else {"type": "apiKey", "in": "header", "name": name}
                )
            if _SECRET.search(name):
                return self._scheme({"type": "apiKey", "in": "header", "name": name})
        if not kind or kind == "noauth":
            return []
        settings = _settings(table(auth).get(kind))
        match kind:
            case "bearer" | "basic":
                return self._scheme({"type": "http", "scheme": kind})
            case "apikey":
                place = settings.get("in") or "header"
                return self._scheme({"type": "apiKey", "in": place, "name": self._filled(settings.get("key", ""))})
            case "oauth2":
                return self._scheme({"type": "oauth2", "flows": {}})
            case _:
                return self._scheme({"type": "http", "scheme": kind})  # no tool sends it: a loss

    def _scheme(self, scheme: dict[str, Any]) -> list[dict[str, Any]]:
        name = "_".join(str(scheme[key]) for key in ("type", "scheme", "in", "name") if key in scheme)
        self.schemes[name] = scheme
        return [{name: []}]

    def _body(self, body: Mapping[str, Any], headers: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        if body.get("disabled") is True:
            return None
        match body.get("mode"):
            case "raw" if text(body.get("raw")).strip():
                return self._raw_body(body, headers)
            case "urlencoded" | "formdata" as mode:
                media = "application/x-www-form-urlencoded" if mode == "urlencoded" else "multipart/form-data"
                fields = [entry for entry in _entries(body.get(mode)) if text(entry.get("key"))]
                return _content(media, {"type": "object", "properties": self._fields(fields)}) if fields else None
            case "graphql":
                graphql = table(body.get("graphql"))
                variables = self._example(text(graphql.get("variables")))
                query = {"type": "string", "enum": [text(graphql.get("query"))]}
                members = {"query": query} | ({"variables": schema_of(variables)} if variables else {})
                schema = {"type": "object", "properties": members, "required": ["query"]}
                return _content("application/json", schema) | {"required": True}
            case "file":
                return _content("application/octet-stream", {}) | {"required": True}
            case _:
                return None

    def _raw_body(self, body: Mapping[str, Any], headers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        language = text(table(table(body.get("options")).get("raw")).get("language"))
        declared = [text(header.get("value")) for header in headers if header["key"].lower() == "content-type"]
        value = self._example(body["raw"])
        is_json = "json" in "".join(declared) or language == "json" or (value is not None and not declared)
        media = "application/json" if is_json else (declared or [_MEDIA.get(language, "text/plain")])[0]
        return _content(media, {} if value is None else schema_of(value)) | {"required": True}

    def _fields(self, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {
            entry["key"]: {
                "type": "string",
                **({"format": "binary"} if entry.get("type") == "file" else {}),
                **_described(entry, self),
            }
            for entry in fields
        }

    def _example(self, value: str) -> Any:
        """Return the JSON value of an example; a variable without quotes is null. None if it is not JSON."""
        filled = self._filled(value)
        for candidate in (filled, re.sub(r'(?<!")\{\{[^{}"]+\}\}', "null", filled)):
            try:
                return json.loads(candidate, strict=False)
            except (ValueError, RecursionError):
                continue
        return None


@dataclass(frozen=True, slots=True)
class _Address:
    base: str
    path: str
    parameters: list[dict[str, Any]]
    query: str


def schema_of(value: Any, level: int = 0) -> dict[str, Any]:
    """Return the schema of the values that are like an example."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "integer" if isinstance(value, int) else "number", "description": f"Example: {value}"}
        case str():
            is_shown = 0 < len(value) <= 60 and "{{" not in value and value.isprintable()
            return {"type": "string", **({"description": f"Example: {value}"} if is_shown else {})}
        case list() if level < MAX_LEVELS:
            return {"type": "array", "items": schema_of(value[0], level + 1) if value else {}}
        case dict() if level < MAX_LEVELS:
            return {"type": "object", "properties": {key: schema_of(one, level + 1) for key, one in value.items()}}
        case _:
            return {}


def _content(media: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {media: {"schema": schema}}}


def _entries(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in items(value) if isinstance(entry, Mapping)]


def _settings(value: Any) -> dict[str, str]:
    """Return the settings of a credential: a list in version 2.1, an object in 2.0."""
    if isinstance(value, list):
        return {text(entry.get("key")): text(entry.get("value")) for entry in _entries(value)}
    return {key: text(one) for key, one in table(value).items()}


def _raw(url: Any) -> str:
    if isinstance(url, str):
        return url.strip()
    parts = table(url)
    if text(parts.get("raw")):
        return text(parts["raw"]).strip()
    host = parts.get("host")
    host = ".".join(map(str, host)) if isinstance(host, list) else text(host)
    scheme = f"{text(parts['protocol'])}://" if text(parts.get("protocol")) else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    path = parts.get("path")
    names = [text(one) or text(table(one).get("value")) for one in path] if isinstance(path, list) else [text(path)]
    return f"{scheme}{host}{port}/{'/'.join(names).lstrip('/')}"


def _words(value: Any) -> str:
    return text(value) or text(table(value).get("content"))


def _described(entry: Mapping[str, Any], converter: _Converter) -> dict[str, str]:
    """Return the description of a parameter, with the value of the example."""
    value = entry.get("value")
    shown = converter._filled(str(value)) if isinstance(value, str | int | float) else ""  # noqa: SLF001  one module
    is_example = 0 < len(shown) <= 60 and "{{" not in shown and not shown.startswith("<") and shown.isprintable()
    sentences = [_words(entry.get("description")).strip().rstrip("."), f"Example: {shown}" if is_example else ""]
    words = ". ".join(sentence for sentence in sentences if sentence)
    return {"description": words} if words else {}


def _join(known: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add the parameters, and the members of the body, of another example of the same request."""
    names = {(one["in"], one["name"]) for one in known["parameters"]}
    known["parameters"] += [one for one in other["parameters"] if (one["in"], one["name"]) not in names]
    if "requestBody" not in known:
        if "requestBody" in other:
            known["requestBody"] = {**other["requestBody"], "required": False}
        return
    for media, content in table(table(other.get("requestBody")).get("content")).items():
        mine = known["requestBody"]["content"].setdefault(media, content)["schema"]
        if isinstance(mine.get("properties"), dict) and isinstance(content["schema"].get("properties"), dict):
            mine["properties"] = {**content["schema"]["properties"], **mine["properties"]}
