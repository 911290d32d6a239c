"""The settings of an API with the variables of the environment: address, headers, credential, and their secrets."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from toolmason_runtime.apis.request import Request, query_value, with_query
from toolmason_runtime.calls.secrets import secret_forms
from toolmason_runtime.programs.argv import NOT_SET_UP, expand_variables
from toolmason_runtime.remote.parse import mask_text
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.request import Api, Auth

USER_AGENT: Final = "toolmason"
_PORTS: Final = {"http": 80, "https": 443}
_ACCEPT: Final = "application/json, */*;q=0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """An API with its variables expanded. Names of headers are in lower case."""

    name: str
    base_url: str
    headers: Mapping[str, str]
    credentials: Mapping[str, str]
    """Headers with the credential."""
    query: tuple[str, str] | None
    """Name and value of the query parameter with the credential."""
    allow_hosts: tuple[str, ...]
    secrets: tuple[str, ...]
    """Texts that are masked in results, the longest first."""

    def signed(self, request: Request) -> Request:
        """Return a request with the headers of the API, and with its credential if it goes to the API itself."""
        if not self.is_own(request.url):
            url = request.url
            if self.query and query_value(url, self.query[0]) == self.query[1]:
                url = with_query(url, self.query[0], None)
            own = {name: self.headers.get(name, default) for name, default in _defaults().items()}
            return replace(request, url=url, headers=own)
        headers = {**_defaults(), **self.headers, **request.headers, **self.credentials}
        request = replace(request, headers=headers)
        return request.with_query(*self.query) if self.query else request

    def is_own(self, url: str) -> bool:
        """Return whether a URL has the origin of the API, or its host with `https` instead of `http`."""
        scheme, host, port = origin(url)
        own = origin(self.base_url)
        return (scheme, host, port) == own or (scheme, host, port) == ("https", own[1], _PORTS["https"])

    def allows(self, url: str) -> bool:
        """Return whether a redirect or a page may lead to a URL: to the API, or to a host in `allow_hosts`.

        A URL with `http` is only allowed for an API that has it.
        """
        if self.is_own(url):
            return True
        scheme, host, port = origin(url)
        if scheme not in _PORTS or (scheme == "http" and origin(self.base_url)[0] == "https"):
            return False
        names = {f"{host}:{port}", host} if port == _PORTS[scheme] else {f"{host}:{port}"}
        return bool(names & {name.lower() for name in self.allow_hosts})

    def mask(self, text: str) -> str:
        """Return a text without the secrets of the API."""
        return mask_text(text, self.secrets)


def _defaults() -> dict[str, str]:
    return {"accept": _ACCEPT, "user-agent": USER_AGENT}


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a URL; empty and 0 for an invalid one, and for one with a user."""
    try:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            return "", "", 0
        return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return "", "", 0


def load_settings(api: Api, environ: Mapping[str, str]) -> ApiSettings:
    """Return the settings of an API. An empty variable counts as unset.

    Raises:
        ToolError: a variable is not set, or the address is invalid.
    """
    variables = {name: value for name, value in environ.items() if value}

    def expand(text: str) -> str:
        # A leading `~` is not expanded here.
        expanded = expand_variables(f"\0{text}", variables, where=f"the API `{api.name}`")[1:].strip()
        if not expanded.isprintable():
            raise _not_set_up(api, "a setting contains a line break or a control character")
        return expanded

    base_url = expand(api.base_url)
    _check_address(api, base_url)
    headers = {name.lower(): expand(text) for name, text in api.headers.items()}
    path = api.base_url.rpartition("://")[2].partition("/")[2]
    secrets = _values(variables, path, *api.headers.values())
    credentials, query = dict[str, str](), None
    if (auth := api.auth) and not (auth.optional and _lacks_variable(auth, variables)):
        bearer, basic, value = expand(auth.bearer), expand(auth.basic), expand(auth.value)
        if bearer:
            credentials["authorization"] = f"Bearer {bearer}"
        if basic:
            encoded = base64.b64encode(basic.encode()).decode()
            credentials["authorization"] = f"Basic {encoded}"
            secrets += [encoded, basic.partition(":")[2]]
        if auth.header:
            credentials[auth.header.lower()] = value
        query = (auth.query, value) if auth.query else None
        secrets += [bearer, value, *_values(variables, auth.bearer, auth.value)]
    for text in (*headers.values(), *credentials.values()):
        if not text.isascii():
            raise _not_set_up(api, "a header is not ASCII")
    return ApiSettings(
        name=api.name,
        base_url=base_url,
        headers=headers,
        credentials=credentials,
        query=query,
        allow_hosts=api.allow_hosts,
        secrets=secret_forms(secrets),
    )


def _check_address(api: Api, base_url: str) -> None:
    scheme, host, _ = origin(base_url)
    if scheme not in _PORTS or not host.isascii() or "?" in base_url or "#" in base_url:
        raise _not_set_up(api, "its `base_url` must be a URL such as https://host/path")


def _not_set_up(api: Api, problem: str) -> ToolError:
    return ToolError(f"This tool is not set up: {problem}, in the settings of the API `{api.name}`", code=NOT_SET_UP)


def _lacks_variable(auth: Auth, variables: Mapping[str, str]) -> bool:
    """Return whether a variable of a credential is not set."""
    try:
        for text in (auth.bearer, auth.basic, auth.value):
            expand_variables(f"\0{text}", variables, where="")
    except ToolError:
        return True
    return False


def _values(variables: Mapping[str, str], *texts: str) -> list[str]:
    """Return the values of the variables that texts use."""
    forms = {name: (f"${name}", f"${{{name}}}") for name in variables}
    return [variables[name] for name, names in forms.items() if any(form in text for form in names for text in texts)]


def is_private(address: str) -> bool:
    """Return whether an IP address belongs to a private, local or reserved network, or contains one that does.

    `is_global` alone accepts IPv6 forms that can contain a private IPv4 address, such as `::7f00:1`.
    """
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and (inner := _embedded(ip)) is not None:
        return is_private(str(inner))
    is_reserved = isinstance(ip, ipaddress.IPv6Address) and (ip.is_reserved or ip.is_site_local)
    return not ip.is_global or ip.is_multicast or is_reserved


_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def _embedded(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to (mapped, 6to4, Teredo, NAT64)."""
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
