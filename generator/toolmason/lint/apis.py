"""Lint rules on the addresses of `[apis]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from toolmason_runtime.apis.addresses import is_loopback_host, is_metadata_host

from toolmason.kinds.http.implementation import apis_of
from toolmason.lint.finding import Finding
from toolmason.model.server import Server

_MAX_SHOWN: Final = 100


def check_metadata_addresses(server: Server) -> Iterator[Finding]:
    """TM528: a metadata service gives the machine's credentials to every program that asks."""
    for api in apis_of(server):
        if is_metadata_host(_host(api.table.base_url)):
            yield Finding(
                code="TM528",
                tool="",
                message=f"`{api.table.base_url:.{_MAX_SHOWN}}`, the address of the API `{api.name}`, belongs to the"
                " local link or a metadata service, whose answers can contain credentials of the machine",
                hint="write the address of the API; nothing should send text of a model there",
                at=("apis", api.name, "base_url"),
                value=True,
            )


def check_plain_credentials(server: Server) -> Iterator[Finding]:
    """TM529: everyone on the way to a host reads a credential that is not encrypted."""
    for api in apis_of(server):
        url = api.table.base_url
        if api.has_credential and url.lower().startswith("http://") and not is_loopback_host(_host(url)):
            yield Finding(
                code="TM529",
                tool="",
                message=f"the API `{api.name}` sends its credential without encryption to `{url:.{_MAX_SHOWN}}`",
                hint="write `https://`, or remove `auth`",
                at=("apis", api.name, "base_url"),
                value=True,
            )


def _host(url: str) -> str:
    """Return the host of a URL, empty for a variable."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
