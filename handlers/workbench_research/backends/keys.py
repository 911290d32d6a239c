"""Keys and base URLs: where they come from, and to which hosts a key may be sent."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from workbench_research.backends.models import Provider
from workbench_research.redaction import REDACTED, redact

RESEARCH: Final = "WORKBENCH_RESEARCH"
"""The variable that names the provider, and a model: `anthropic`, `openai/gpt-6-luna`, `ollama/qwen3:8b`."""
URL: Final = "WORKBENCH_RESEARCH_URL"
"""The variable with the base URL of another server for the provider that `RESEARCH` names."""
URL_KEY: Final = "WORKBENCH_RESEARCH_KEY"
"""The variable with the key of the server in `URL`."""
OFFLINE: Final = "WORKBENCH_RESEARCH_OFFLINE"
"""The variable that allows only servers on this machine."""
KEY_STORE: Final = "toolmason-workbench"
"""The service in the system's key store; the name of the variable is the user."""

NO_KEY: Final = "none"
"""The key for a server without one: the libraries require a value."""

Environ = Mapping[str, str]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and the name of its variable. Its value is in no representation."""

    variable: str
    value: str = field(repr=False)

    def redact(self, text: str, environ: Environ) -> str:
        """Return the text without this key and without the other secrets of the environment."""
        return redact(text.replace(self.value, REDACTED) if self.value not in ("", NO_KEY) else text, environ)

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The base URL of a provider, and the key for it. The URL is empty if the library knows it."""

    url: str
    key: Key


class EndpointError(Exception):
    """A provider cannot be asked. The text says why and what to do."""


def endpoint(provider: Provider, environ: Environ) -> Endpoint:
    """Return the base URL and the key of a provider. It may read the system's key store: call it in a thread.

    Raises:
        EndpointError: there is no key, or the settings would send it to another host.
    """
    variable, url = _base_url(provider, environ)
    if url:
        _check_scheme(variable, url)
    if is_offline(environ) and not is_loopback(url):
        raise EndpointError(
            f"{OFFLINE} allows only servers on this machine: set {RESEARCH} to one, such as ollama/MODEL, "
            f"or unset {OFFLINE}"
        )
    if not url and provider.url_example:
        raise EndpointError(f"set {URL} to the URL of the server, such as {provider.url_example}")
    if url and not (provider.local or _is_host_of(provider, url)):
        return Endpoint(url=url, key=_key_of_server(provider, variable, url, environ))
    if provider.local:
        value = environ.get(URL_KEY, "").strip() if named(environ)[0] == provider.name else ""
        return Endpoint(url=url, key=Key(URL_KEY, value) if value else Key("", NO_KEY))
    key = find_key(provider, environ)
    if key is None:
        raise EndpointError(_missing_key(provider))
    return Endpoint(url=url, key=key)


def find_key(provider: Provider, environ: Environ) -> Key | None:
    """Return the provider's key from the environment, else from the system's key store; None if there is none."""
    for variable in (*provider.keys, *provider.shared_keys):
        if value := environ.get(variable, "").strip():
            return Key(variable, value)
    for variable in provider.keys:
        if value := _stored(variable):
            return Key(variable, value)
    return None


def named(environ: Environ) -> tuple[str, str]:
    """Return the provider and the model in `WORKBENCH_RESEARCH`; both are empty if it is not set."""
    name, _, model = environ.get(RESEARCH, "").strip().partition("/")
    return name.strip().lower(), model.strip()


def is_offline(environ: Environ) -> bool:
    """Return whether only servers on this machine may be asked."""
    return environ.get(OFFLINE, "").strip().lower() not in ("", "0", "false", "no", "off")


def is_loopback(url: str) -> bool:
    """Return whether a URL is of this machine."""
    host = _host(url)
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _base_url(provider: Provider, environ: Environ) -> tuple[str, str]:
    """Return the base URL, and the variable that it comes from."""
    is_named = named(environ)[0] == provider.name
    for variable in (*([URL] if is_named else ()), *provider.url_keys):
        if url := environ.get(variable, "").strip():
            return variable, url.rstrip("/")
    return "", provider.url


def _check_scheme(variable: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = bool(parts.hostname) and parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise EndpointError(f"{variable} is invalid: set it to a URL that starts with https://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(f"{variable} must not have a user, a query or a fragment: set the key in {URL_KEY}")
    if parts.scheme == "http" and not is_loopback(url):
        raise EndpointError(f"{variable} is not encrypted: use https://, or a server on this machine")


def _is_host_of(provider: Provider, url: str) -> bool:
    parts = urlsplit(url)
    if parts.port not in (None, 443):
        return False
    return any(fnmatchcase(_host(url), pattern) for pattern in provider.hosts)


def _key_of_server(provider: Provider, variable: str, url: str, environ: Environ) -> Key:
    """Return the key of a server that is not the provider's: never the provider's key."""
    if value := environ.get(URL_KEY, "").strip():
        return Key(URL_KEY, value)
    if is_loopback(url):
        return Key("", NO_KEY)
    names = " or ".join(provider.keys) or "a key"
    raise EndpointError(
        f"{variable} names {_host(url)}, which is not a host of {provider.title}: {names} is not sent there; "
        f"set {URL_KEY} to that server's own key"
    )


def _missing_key(provider: Provider) -> str:
    variable = provider.keys[0]
    return f"set {variable} (create a key at {provider.key_page}), or store it: keyring set {KEY_STORE} {variable}"


def _stored(variable: str) -> str:
    """Return a key in the system's key store; empty if there is none, or no store."""
    try:
        if find_spec("keyring") is None:
            return ""
        import keyring

        return (keyring.get_password(KEY_STORE, variable) or "").strip()
    except Exception as error:  # noqa: BLE001  a store may be locked, missing or broken in many ways
        _log.debug("the system's key store cannot be read: %s", type(error).__name__)
        return ""


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""
