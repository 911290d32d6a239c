"""Connections to APIs: the address of each is checked after its name is resolved, so that no name leads elsewhere."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from contextlib import suppress

import anyio
import httpcore2
from toolmason_runtime.apis.settings import ApiSettings, is_private, origin
from toolmason_runtime.shared.addresses import address_of, innermost, is_link_local


class PrivateAddressError(Exception):
    """A host has only addresses that the API may not use."""


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to public addresses, and to the private ones that the settings of one API name."""

    def __init__(self, settings: ApiSettings) -> None:
        self._settings = settings
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the interface of httpcore2
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolve a host once, and connect to the first of its allowed addresses that answers.

        Raises:
            PrivateAddressError: none of its addresses is allowed.
        """
        error: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in await self._allowed(host, port, timeout):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failure:
                error = failure
        raise error

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)

    async def _allowed(self, host: str, port: int, timeout: float | None) -> list[str]:  # noqa: ASYNC109
        try:
            with anyio.fail_after(timeout):
                records = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"{host} could not be resolved in time") from None
        except (OSError, UnicodeError):
            raise httpcore2.ConnectError(f"{host} could not be resolved") from None
        addresses = list(dict.fromkeys(str(item[4][0]) for item in records))
        allowed = [address for address in addresses if allows_address(self._settings, host, address)]
        if addresses and not allowed:
            raise PrivateAddressError(host)
        return allowed


def allows_address(settings: ApiSettings, host: str, address: str) -> bool:
    """Return whether a host may be at an address.

    A private one must be in `allow_hosts` or in the URL of the API; `localhost` there is a loopback address. One of the
    local link or of a metadata service must be there itself: no name and no network leads to it.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    own = origin(settings.base_url)[1]
    names = [own, *settings.allow_hosts]
    if is_link_local(ip):
        ip = innermost(ip)
        return address_of(host) == ip and any(address_of(_without_port(name)) == ip for name in names)
    if not is_private(address):
        return True
    if any(_contains(name, ip) for name in names):
        return True
    is_local = host == "localhost" or host.endswith(".localhost")
    return is_local and ip.is_loopback and any(name.rpartition(":")[0] == host or name == host for name in names)


def _without_port(name: str) -> str:
    """Return `[::1]` for `[::1]:80`, `10.0.0.1` for `10.0.0.1:80`, and an IPv6 address as it is."""
    return name if name.count(":") > 1 and not name.startswith("[") else re.sub(r":\d*\Z", "", name)


def _contains(name: str, ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether a name is this address, with or without a port, or a network that contains it."""
    for text in (name, name.rpartition(":")[0].strip("[]")):
        with suppress(ValueError):
            return ip in ipaddress.ip_network(text)
    return False
