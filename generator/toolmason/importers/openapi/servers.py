"""`[apis]` from servers and security schemes: one API for each base URL with its credential."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from toolmason_runtime.shared.addresses import is_loopback_host, is_metadata_host, private_reason
from toolmason_runtime.shared.specs.request import FORBIDDEN_HEADERS
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.importers.design.texts import summary_from
from toolmason.importers.names import snake, unique
from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.document import OpenApi, Operation, UnresolvedError, items, table, text
from toolmason.importers.openapi.losses import LeftOutError, Losses

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_ORDER: Final = ("bearer", "header", "oauth", "basic", "cookie", "query")
"""Kinds of credentials, the preferred first."""


@dataclass(slots=True)
class Apis:
    """The tables of `[apis]`, created when their first operation is imported."""

    document: OpenApi
    name: str
    source: str
    base_url: str
    losses: Losses
    server_variables: Mapping[str, str] = field(default_factory=dict)
    """Values of variables in URLs of servers, instead of their defaults."""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    """Remarks about the address of each API that the document chose."""
    _names: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    """Name of each API by its URL and its security schemes."""

    def prefer(self, operations: Sequence[Operation]) -> None:
        """Give the plain name to the API that most of the operations use.

        Raises:
            ImporterError: the document's own server is an address that no document may choose.
        """
        uses = Counter[tuple[str, tuple[str, ...]]]()
        for operation in operations:
            with suppress(LeftOutError):
                uses[self._url(operation), self._schemes(operation)] += 1
        for key, _ in uses.most_common(1):
            self._names[key] = self._add(*key)

    def api_of(self, operation: Operation) -> str:
        """Return the name of the API of an operation.

        Raises:
            LeftOutError: its own server is an address that no document may choose.
        """
        url = self._url(operation)
        schemes = self._schemes(operation)
        if (url, schemes) not in self._names:
            self._names[url, schemes] = self._add(url, schemes)
        return self._names[url, schemes]

    def _add(self, url: str, schemes: tuple[str, ...]) -> str:
        known = [other for other, _ in self._names]
        parts = [self.name]
        if url in known:
            parts.append(snake(schemes[0], "other") if schemes else "public")
        elif known:
            parts.append(snake(host_of(url).partition(".")[0], "other"))
        name = unique("_".join(parts), self.tables)
        summary = summary_from(text(self.document.info.get("title")), self.name)
        entry: dict[str, Any] = {"base_url": url, "summary": summary}
        if schemes:
            entry |= self._credential(schemes[0])
        if schemes[1:] and "header" in entry.get("auth", {}):
            entry["auth"]["value"] = self._variable_of(schemes[0])
        for scheme in schemes[1:]:
            wire = text(self._definition(scheme).get("name"))
            entry.setdefault("headers", {})[wire] = self._variable_of(scheme)
        self.tables[name] = entry
        if url != self.base_url and not url.startswith("$"):
            self.warnings[name] = list(address_warnings(url, has_credential="auth" in entry))
        return name

    def _variable_of(self, scheme: str) -> str:
        """Return the variable of a header that is one of several: `$SHOP_APP_ID` for `X-App-Id`."""
        wire = text(self._definition(scheme).get("name"))
        return f"${self.name}_{snake(wire, 'key').removeprefix('x_')}".upper()

    def _url(self, operation: Operation) -> str:
        servers = items(operation.servers)
        is_general = operation.servers == items(self.document.data.get("servers"))
        if self.base_url and (is_general or not servers):
            return self.base_url
        server = table(servers[0]) if servers else {}
        variables = table(server.get("variables"))
        url = _VARIABLE.sub(lambda match: self._variable(match[1], variables), text(server.get("url")) or "/")
        try:
            absolute = urljoin(self.source, url) if self.source else url
        except ValueError:
            absolute = ""
        if absolute.startswith("//"):
            absolute = f"https:{absolute}"
        # A `$` would expand a variable, which no document may choose.
        if not (re.fullmatch(r"https?://[^\s/$?#@]+(?:/[^\s$?#]*)?", absolute) and host_of(absolute)):
            return self.base_url or f"${self.name.upper()}_URL"
        if is_metadata_host(host_of(absolute)):
            problem = f"the server {quoted(absolute)} is a link-local or metadata address, which no document may choose"
            if is_general or not servers:
                raise ImporterError(f"{problem}; set the URL of the API with --base-url")
            raise LeftOutError(problem)
        return self.base_url if self.base_url and is_general else absolute.rstrip("/")

    def _variable(self, name: str, variables: Mapping[str, Any]) -> str:
        """Return the value of a variable in the URL of a server: the chosen one, else its default."""
        if name in self.server_variables:
            return self.server_variables[name]
        declared = table(variables.get(name))
        default = str(declared.get("default", ""))
        choices = ", ".join(str(value) for value in items(declared.get("enum")) if str(value) != default)
        note = f"the address has the variable `{name}`, which is `{default}`{f' (or {choices})' if choices else ''}: "
        note += f"to change it, pass --server-variable {name}=VALUE"
        if note not in self.losses.notes:
            self.losses.notes.append(note)
        return default

    def _schemes(self, operation: Operation) -> tuple[str, ...]:
        """Return the security schemes whose credentials are sent: one of any kind, and further headers."""
        if not operation.security:
            return ()
        alternatives = [table(option) for option in operation.security]
        usable = [
            (_ORDER.index(kind), len(option), position, name)
            for position, option in enumerate(alternatives)
            for name in option
            if (kind := self._kind(name))
        ]
        if not usable:
            wanted = sorted({name for option in alternatives for name in option})
            if wanted and not any(not option for option in alternatives):
                self.losses.add("security", operation.key, ", ".join(wanted))
            return ()
        _, _, position, name = min(usable, key=lambda item: (item[1], item[0], item[2]))
        further = sorted(alternatives[position].keys() - {name})
        headers = [
            other for other in further if self._kind(other) == "header" and not self._is_same_header(other, name)
        ]
        if lost := [other for other in further if other not in headers]:
            self.losses.add("security", operation.key, f"{', '.join(lost)}, besides {name}")
        return (name, *headers)

    def _is_same_header(self, one: str, other: str) -> bool:
        """Return whether two schemes use one header."""
        names = [text(self._definition(scheme).get("name")).lower() for scheme in (one, other)]
        if self._kind(other) in ("bearer", "basic", "oauth"):
            names[1] = "authorization"
        return names[0] == names[1]

    def _kind(self, name: str) -> str:
        """Return the kind of a scheme, empty for one that a manifest cannot express."""
        scheme = self._definition(name)
        kind, place, wire = scheme.get("type"), scheme.get("in"), text(scheme.get("name"))
        if kind == "http":
            return {"bearer": "bearer", "basic": "basic"}.get(text(scheme.get("scheme")).lower(), "")
        if kind == "apiKey" and wire:
            is_allowed = place == "query" or (place in ("header", "cookie") and _is_header(wire))
            return str(place) if is_allowed else ""
        return "oauth" if kind in ("oauth2", "openIdConnect") else ""

    def _definition(self, name: str) -> Mapping[str, Any]:
        try:
            return self.document.resolved(table(self.document.components.get("securitySchemes")).get(name))
        except UnresolvedError:
            return {}

    def _credential(self, name: str) -> dict[str, Any]:
        scheme, kind = self._definition(name), self._kind(name)
        prefix = self.name.upper()
        wire = text(scheme.get("name"))
        match kind:
            case "bearer":
                return {"auth": {"bearer": f"${prefix}_TOKEN"}}
            case "oauth":
                self.losses.notes.append(f"`{name}` is OAuth: get an access token elsewhere and set {prefix}_TOKEN")
                return {"auth": {"bearer": f"${prefix}_TOKEN"}}
            case "basic":
                return {"auth": {"basic": f"${prefix}_USER:${prefix}_PASSWORD"}}
            case _ if wire.lower() == "authorization":
                self.losses.notes.append(f"`{name}`: {prefix}_AUTHORIZATION is the whole header, such as `Bearer ...`")
                return {"auth": {"header": wire, "value": f"${prefix}_AUTHORIZATION"}}
            case "cookie":
                return {"auth": {"header": "Cookie", "value": f"{wire}=${prefix}_COOKIE"}}
            case _:
                return {"auth": {kind: wire, "value": f"${prefix}_API_KEY"}}


def _is_header(name: str) -> bool:
    """Return whether a credential can be in this header."""
    return bool(_HEADER.fullmatch(name)) and name.lower() not in FORBIDDEN_HEADERS


def address_warnings(url: str, *, has_credential: bool) -> Iterator[str]:
    """Yield what an author should know about the address of an API that a document chose."""
    host = host_of(url)
    if reason := private_reason(host):
        yield f"`{url}`, a server of the document, {reason}: check `base_url`, or import with --base-url"
    if has_credential and url.startswith("http://") and not is_loopback_host(host):
        yield f"`{url}`, a server of the document, gets the credential without encryption: use https if it can"


def host_of(url: str) -> str:
    """Return the host of a URL, empty if it is invalid."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def credentials(entry: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the headers, in lower case, and the query parameters that an API sends itself."""
    auth = table(entry.get("auth"))
    headers = {name.lower() for name in table(entry.get("headers"))}
    headers |= {text(auth.get("header")).lower()} if "header" in auth else set()
    headers |= {"authorization"} if {"bearer", "basic"} & auth.keys() else set()
    return headers, {text(auth.get("query"))} if "query" in auth else set()
