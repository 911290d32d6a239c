"""`[apis]` from servers and security schemes: one API for each base URL with its credential."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from toolmason_runtime.shared.addresses import is_loopback_host, is_metadata_host, private_reason
from toolmason_runtime.shared.specs.request import FORBIDDEN_HEADERS
from toolmason_runtime.shared.suggestions import did_you_mean
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


@dataclass(frozen=True, slots=True)
class Credential:
    """The security schemes whose credentials an API sends: one of any kind, and further headers."""

    schemes: tuple[str, ...] = ()
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One of the alternatives of an operation: its credential, the schemes that are not sent, and its rank."""

    number: int
    credential: Credential
    lost: tuple[str, ...]
    rank: tuple[bool, int, int, int, int]


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
    preferred: Sequence[str] = ()
    """Security schemes that the author prefers."""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    """Remarks about the address of each API that the document chose."""
    _names: dict[tuple[str, Credential], str] = field(default_factory=dict)
    """Name of each API by its URL and its credential."""
    _alternatives: dict[Credential, dict[str, None]] = field(default_factory=dict)
    """The alternatives to each credential, as phrases."""

    def prefer(self, operations: Sequence[Operation]) -> None:
        """Give the plain name to the API that most of the operations use.

        Raises:
            ImporterError: the document's own server is an address that no document may choose.
        """
        uses = Counter[tuple[str, Credential]]()
        for operation in operations:
            with suppress(LeftOutError):
                uses[self._url(operation), self._choice(operation)] += 1
        for key, _ in uses.most_common(1):
            self._names[key] = self._add(*key)

    def api_of(self, operation: Operation) -> str:
        """Return the name of the API of an operation.

        Raises:
            LeftOutError: its own server is an address that no document may choose.
        """
        url = self._url(operation)
        credential = self._choice(operation)
        if (url, credential) not in self._names:
            self._names[url, credential] = self._add(url, credential)
        return self._names[url, credential]

    def _add(self, url: str, credential: Credential) -> str:
        known = [other for other, _ in self._names]
        schemes = credential.schemes
        parts = [self.name]
        if (url, Credential(schemes)) in self._names:
            parts.append("optional")
        elif url in known:
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
        if credential.is_optional:
            entry["auth"]["optional"] = True
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
        url = text(server.get("url")) or "/"
        if missing := self._variables_without_value(url, variables):
            return self._address_to_complete(url, missing, is_general=is_general)
        url = _VARIABLE.sub(lambda match: self._variable(match[1], variables), url)
        try:
            absolute = urljoin(self.source, url) if self.source else url
        except ValueError:
            absolute = ""
        if absolute.startswith("//"):
            absolute = f"https:{absolute}"
        # A `$` would expand a variable, which no document may choose.
        if not (re.fullmatch(r"https?://[^\s/$?#@]+(?:/[^\s$?#]*)?", absolute) and host_of(absolute)):
            variable = f"{self.name.upper()}_URL"
            if "://" in url and not self.base_url:  # not shown: it can have a password
                self._note(
                    "a server of the document is not used, since its address is not a plain https or http URL, or has a"
                    f" user, a query or `$`: set {variable} to the address, or pass --base-url"
                )
            return self.base_url or f"${variable}"
        if is_metadata_host(host_of(absolute)):
            problem = f"the server {quoted(absolute)} is a link-local or metadata address, which no document may choose"
            if is_general or not servers:
                raise ImporterError(f"{problem}; set the URL of the API with --base-url")
            raise LeftOutError(problem)
        return self.base_url if self.base_url and is_general else absolute.rstrip("/")

    def _variables_without_value(self, url: str, variables: Mapping[str, Any]) -> list[str]:
        """Return the variables of a URL that have neither a chosen value nor a default; the host needs text."""
        host = url.partition("://")[2].partition("/")[0]
        return [
            name
            for name in dict.fromkeys(_VARIABLE.findall(url))
            if name not in self.server_variables
            and (default := table(variables.get(name)).get("default")) in (None, "")
            and (default is None or f"{{{name}}}" in host)
        ]

    def _address_to_complete(self, url: str, missing: Sequence[str], *, is_general: bool) -> str:
        """Return the address of an API whose variables have no value: a variable of the environment.

        Raises:
            LeftOutError: it is a server of the operation alone.
        """
        names = " and ".join(f"`{name}`" for name in missing)
        verb = "which has" if len(missing) == 1 else "which have"
        advice = " ".join(f"--server-variable {name}=VALUE" for name in missing)
        problem = f"the address {quoted(url)} has the variable {names}, {verb} no default: pass {advice}"
        if not is_general:
            raise LeftOutError(problem)
        variable = f"{self.name.upper()}_URL"
        self._note(f"{problem}, or set {variable} to the whole address")
        return f"${variable}"

    def _variable(self, name: str, variables: Mapping[str, Any]) -> str:
        """Return the value of a variable in the URL of a server: the chosen one, else its default."""
        if name in self.server_variables:
            return self.server_variables[name]
        declared = table(variables.get(name))
        default = str(declared.get("default", ""))
        choices = ", ".join(str(value) for value in items(declared.get("enum")) if str(value) != default)
        more = f" (other values: {choices})" if choices else ""
        note = f"the variable `{name}` of the address is `{default}`{more}: "
        note += f"to change it, pass --server-variable {name}=VALUE"
        self._note(note)
        return default

    def _note(self, note: str) -> None:
        if note not in self.losses.notes:
            self.losses.notes.append(note)

    def _choice(self, operation: Operation) -> Credential:
        """Return the credential that is sent: one scheme of any kind, and further headers."""
        alternatives = [table(option) for option in operation.security or ()]
        is_optional = any(not option for option in alternatives)
        choices = [
            self._alternative(option, number)
            for number, option in enumerate(alternatives)
            if any(self._kind(name) for name in option)
        ]
        if is_optional:  # without a credential, a header of the API is not sent either
            choices = [choice for choice in choices if len(choice.credential.schemes) == 1]
        if not choices:
            wanted = sorted({name for option in alternatives for name in option})
            if wanted and not (is_optional and not any(self._kind(name) for name in wanted)):
                self.losses.add("security", operation.key, f"{', '.join(wanted)}{', optional' * is_optional}")
            return Credential()
        chosen = min(choices, key=lambda choice: choice.rank)
        if chosen.lost:
            self.losses.add(
                "security", operation.key, f"{', '.join(chosen.lost)}; the tool sends {chosen.credential.schemes[0]}"
            )
        others = [option for option in alternatives if option and option.keys() != alternatives[chosen.number].keys()]
        credential = replace(chosen.credential, is_optional=is_optional)
        if others:
            self._alternatives.setdefault(credential, {})[" or ".join(sorted(map(self._shown, others)))] = None
        return credential

    def _alternative(self, option: Mapping[str, Any], number: int) -> _Alternative:
        usable = [
            (_ORDER.index(kind), position, name) for position, name in enumerate(option) if (kind := self._kind(name))
        ]
        order, _, name = min(usable)
        further = sorted(option.keys() - {name})
        headers = [
            other for other in further if self._kind(other) == "header" and not self._is_same_header(other, name)
        ]
        lost = tuple(other for other in further if other not in headers)
        is_other = bool(self.preferred) and not option.keys() & set(self.preferred)
        rank = (is_other, len(lost), len(option), order, number)
        return _Alternative(number, Credential((name, *headers)), lost, rank)

    def _shown(self, option: Mapping[str, Any]) -> str:
        """Return an alternative for a note: `key` (header X-Api-Key) with `team` (header X-Team)."""
        return " with ".join(f"`{name}` ({self._place(name)})" for name in option)

    def _place(self, name: str) -> str:
        scheme, kind = self._definition(name), self._kind(name)
        if kind in ("header", "cookie", "query"):
            return f"{kind} {text(scheme.get('name'))}"
        return {"oauth": "OAuth token", "bearer": "bearer token", "basic": "user and password"}.get(
            kind, f"{text(scheme.get('type')) or 'undefined'}, which tools cannot send"
        )

    def choices(self) -> list[str]:
        """Return a note for each set of alternatives of credentials: the chosen one and the others."""
        notes = (
            f"the API accepts {self._shown(dict.fromkeys(credential.schemes))} or {others}; tools send the first: to"
            " choose another, pass --security NAME"
            for credential, sets in self._alternatives.items()
            for others in sets
        )
        return list(dict.fromkeys(notes))

    def check_preferred(self) -> None:
        """Check that the document has the security schemes that the author prefers.

        Raises:
            ImporterError: it lacks one.
        """
        known = table(self.document.components.get("securitySchemes"))
        for name in self.preferred:
            if name not in known:
                hint = did_you_mean(name, list(known)) or f"available: {', '.join(known) or 'none'}"
                raise ImporterError(f"--security {quoted(name)} is not a security scheme of the document; {hint}")
            if not self._kind(name):
                raise ImporterError(f"--security {quoted(name)} is a scheme of the type {self._place(name)}")

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
                self._note(f"`{name}` is OAuth: get an access token elsewhere and set {prefix}_TOKEN")
                return {"auth": {"bearer": f"${prefix}_TOKEN"}}
            case "basic":
                return {"auth": {"basic": f"${prefix}_USER:${prefix}_PASSWORD"}}
            case _ if wire.lower() == "authorization":
                self._note(f"`{name}`: {prefix}_AUTHORIZATION is the whole header, such as `Bearer ...`")
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
