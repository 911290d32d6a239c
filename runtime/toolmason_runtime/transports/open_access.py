"""The rule for servers without a token: only programs on this machine reach them, and no proxy stands in front."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Awaitable, Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.transports.http_access import host_values, origin_value

FORWARDED_ALLOW_IPS: Final = "FORWARDED_ALLOW_IPS"
"""Environment variable of uvicorn and gunicorn with the addresses of trusted proxies."""
_PROXY_HEADERS: Final = re.compile(
    r"forwarded|via|cdn-loop|proxy-connection|true-client-ip|x-real-ip|x-real-host|x-client-ip|x-cluster-client-ip"
    r"|x-original-(?:for|host|proto|url)|x-proxyuser-ip|x-request-start|x-scheme|x-arr-.*|x-appengine-.*"
    r"|x-cloud-trace-context|x-(?:forwarded|envoy|amzn|amz-cf|azure|vercel|nginx)(?:-.*)?|tailscale-.*"
    r"|(?:cf|fastly|fly|akamai|cloudfront)-.*"
)
"""Names, in lower case, of headers that proxies, balancers and tunnels add to the requests that they pass on."""
_OLD_VERSION: Final = "1.0"
"""Version of HTTP with which nginx passes requests on by default; no client of MCP uses it."""
_REFUSAL: Final = PlainTextResponse(
    "A proxy passed this request on, and this server has no token: start it with --token-file.\n", 403
)


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def obstacle(host: str, allowed_hosts: Sequence[str], allowed_origins: Sequence[str]) -> str:
    """Return why programs of other machines, or pages of other hosts, may reach a server; empty if they cannot.

    Args:
        host: address to listen on.
        allowed_hosts: further `Host` headers, with or without a port.
        allowed_origins: origins of web pages.

    Raises:
        AccessError: an allowed host or origin is malformed.
    """
    for name in allowed_hosts:
        host_values(name, 0)
    for origin in allowed_origins:
        origin_value(origin)
    if not is_loopback(host):
        return f"--host {host} is reachable from other machines"
    for name in allowed_hosts:
        if not is_loopback(_name(name)):
            return (
                f"the allowed host {name} is not this machine, so a proxy or a tunnel forwards requests to this server"
            )
    for origin in allowed_origins:
        if not is_loopback(_name(origin.partition("://")[2])):
            return f"pages of {origin} are allowed to use the server"
    if os.environ.get(FORWARDED_ALLOW_IPS, "").strip():
        return f"{FORWARDED_ALLOW_IPS} names a proxy"
    return ""


def needs_token(reason: str, command_variable: str, open_variable: str) -> str:
    """Return the message for a server that does not start without a token."""
    return (
        f"{reason}: every client needs a token. Set --token-file FILE or {command_variable},"
        f" or [server.auth] in the manifest; {open_variable}=1 serves everyone who reaches the port"
    )


def opened(open_variable: str) -> str:
    """Return the warning of a server that serves everyone."""
    return f"{open_variable}=1: everyone who reaches this server can call its tools, without a token"


def direct_only(app: ASGIApp) -> ASGIApp:
    """Return `app` without the requests that a proxy passed on, as far as they can be recognized.

    This is a second line of defence: a proxy may send requests like those of a client.
    """

    def checking(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        is_forwarded = scope["type"] == "http" and (
            scope.get("http_version") == _OLD_VERSION or any(map(_PROXY_HEADERS.fullmatch, Headers(scope=scope)))
        )
        return (_REFUSAL if is_forwarded else app)(scope, receive, send)

    return checking


def _name(host: str) -> str:
    """Return the name in `tools.example:8000` or `[::1]:8000`; an IPv6 address may have no brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]
