"""The addresses that hosts of URLs mean, in every spelling, and those that no document may choose.

A cloud's metadata service answers every program on a machine with credentials of the machine, on an address of the
local link. It is the usual target of server-side request forgery.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_LINK_NETWORKS: Final = tuple(map(ipaddress.ip_network, ("169.254.0.0/16", "fe80::/10")))
_METADATA_ADDRESSES: Final = frozenset(
    map(
        ipaddress.ip_address,
        (
            "fd00:ec2::254",  # AWS
            "fd00:ec2::23",  # AWS, credentials of pods
            "fd20:ce::254",  # Google Cloud
            "100.100.100.200",  # Alibaba Cloud
            "192.0.0.192",  # Oracle Cloud
            "168.63.129.16",  # Azure, a public address that only its machines reach
            "fd00:42::42",  # Scaleway
        ),
    )
)
"""Addresses of metadata services outside of the networks of the local link, as their providers document them."""
_METADATA_NAMES: Final = frozenset(
    (
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.azure.com",
        "metadata.tencentyun.com",
        "metadata.platformequinix.com",
        "metadata.packet.net",
        "instance-data",
        "instance-data.ec2.internal",
        "rancher-metadata",
    )
)
_LOCAL_ENDS: Final = (
    *(".localhost", ".local", ".localdomain", ".internal", ".intranet", ".private", ".corp", ".home", ".lan"),
    *(".home.arpa", ".test", ".svc"),
)
_QUAD: Final = re.compile(r"(?<![0-9])([0-9]{1,3}(?:[.-][0-9]{1,3}){3})(?![0-9])")
_HEXADECIMAL: Final = re.compile(r"(?<![0-9a-f])([0-9a-f]{8})(?=\.(?:nip\.io|sslip\.io|xip\.io|nip\.dev)\Z)")
_DASHED_IPV6_SERVICE: Final = ".sslip.io"
"""Addresses in names of services such as nip.io, which resolve a name to the address that it contains."""
_WITH_IPV4_AT_THE_END: Final = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96")))
"""NAT64, its private prefix (RFC 8215), and IPv4-translated addresses (RFC 2765)."""
_SITE_LOCAL: Final = ipaddress.ip_network("fec0::/10")
"""The predecessor of unique local addresses. Python counts it as public."""


def plain_host(host: str) -> str:
    """Return the name or address that resolvers see: without brackets, zone, last dot and what IDNA ignores."""
    host = unicodedata.normalize("NFKC", unquote(host)).strip("[]").lower().replace("\u3002", ".")
    visible = "".join(char for char in host if unicodedata.category(char) != "Cf" and not _is_selector(char))
    return visible.partition("%")[0].rstrip(".")


def _is_selector(char: str) -> bool:
    """Return whether IDNA ignores a character: variation selectors, and a joiner of combining marks."""
    return char == "\u034f" or "\ufe00" <= char <= "\ufe0f" or "\u180b" <= char <= "\u180f"


def address_of(host: str) -> IPAddress | None:
    """Return the address that a host is, None for a name.

    Resolvers accept an IPv4 address as one to four numbers, each decimal, octal or hexadecimal (`inet_aton`).
    """
    host = plain_host(host)
    with suppress(ValueError):
        return innermost(ipaddress.ip_address(host))
    parts = host.split(".")
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    *first, last = numbers
    if len(parts) > 4 or any(number > 0xFF for number in first) or last >= 256 ** (5 - len(parts)):
        return None
    return ipaddress.IPv4Address(sum(number << 24 - 8 * index for index, number in enumerate(first)) + last)


def innermost(ip: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv6 address leads to (mapped, compatible, 6to4, Teredo, NAT64), else itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if any(ip in network for network in _WITH_IPV4_AT_THE_END) or (0xFFFF < int(ip) <= 0xFFFFFFFF):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip


def is_link_local(ip: IPAddress) -> bool:
    """Return whether an address belongs to the local link or to a metadata service, in whichever form."""
    inner = innermost(ip)
    return any(inner in network for network in _LINK_NETWORKS) or inner in _METADATA_ADDRESSES


def is_metadata_host(host: str) -> bool:
    """Return whether a host is an address of the local link, or a metadata service, or a name that contains one."""
    if (ip := address_of(host)) is not None:
        return is_link_local(ip)
    return plain_host(host) in _METADATA_NAMES or any(map(is_link_local, _embedded(plain_host(host))))


def is_loopback_host(host: str) -> bool:
    """Return whether requests for a host stay on this machine."""
    if (ip := address_of(host)) is not None:
        return ip.is_loopback
    name = plain_host(host)
    return name == "localhost" or name.endswith(".localhost")


def private_reason(host: str) -> str:
    """Return why a host is in a private network: `is a private address`; empty if it seems to be public."""
    if (ip := address_of(host)) is not None:
        return f"is {_kind(ip)}" if _is_private(ip) else ""
    name = plain_host(host)
    if is_loopback_host(name):
        return "is this machine"
    if "." not in name or name.endswith(_LOCAL_ENDS):
        return "is a name of a private network"
    inner = next(filter(_is_private, _embedded(name)), None)
    return f"contains {_kind(inner)}, to which such a name may lead" if inner else ""


def _is_private(ip: IPAddress) -> bool:
    return not ip.is_global or ip.is_multicast or (ip.version == 6 and ip in _SITE_LOCAL)


def _kind(ip: IPAddress) -> str:
    if ip.is_loopback or ip.is_unspecified:
        return "a loopback address"
    return "a private address"


def _embedded(name: str) -> Iterator[IPAddress]:
    """Yield the addresses that a name contains."""
    for found in _QUAD.finditer(name):
        with suppress(ValueError):
            yield ipaddress.IPv4Address(".".join(str(int(part)) for part in re.split("[.-]", found[1])))
    if number := _HEXADECIMAL.search(name):
        yield ipaddress.IPv4Address(int(number[1], 16))
    if name.endswith(_DASHED_IPV6_SERVICE):
        with suppress(ValueError):
            yield innermost(ipaddress.IPv6Address(_dashed_ipv6(name).replace("-", ":")))


def _dashed_ipv6(name: str) -> str:
    """Return the part of a name that can be an IPv6 address: `2a01--1` of `www-2a01--1.sslip.io`."""
    label = name.removesuffix(_DASHED_IPV6_SERVICE).rpartition(".")[2]
    end = label[len(label.rstrip("0123456789abcdef-")) :]
    if end != label:
        end = end.partition("-")[2]
    return end if "--" in end else "-".join(end.split("-")[-8:])


def _number(text: str) -> int:
    """Return a number as `inet_aton` reads it. Raises ValueError for other texts."""
    match = re.fullmatch(r"(0x)?0*([0-9a-f]{0,20})", text)
    if match is None or not text:
        raise ValueError(text)
    prefix, digits = match.groups()
    return int(digits or "0", 16 if prefix else 8 if text.startswith("0") else 10)
