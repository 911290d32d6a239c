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
_TRANSLATED_NETWORKS: Final = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "::ffff:0:0:0/96")))
"""Networks whose last 32 bits are an IPv4 address: NAT64 and IPv4-translated addresses."""
_LOCAL_NAT64: Final = ipaddress.ip_network("64:ff9b:1::/48")
"""RFC 8215: each site chooses one of the prefixes of RFC 6052 in it."""
_IGNORED: Final = re.compile(
    r"[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u1806\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that a version of IDNA removes from names: `Default_Ignorable_Code_Point`, and table B.1 of RFC 3454."""
_LOW_BITS: Final = 0xFFFFFFFF
_MAX_DIGITS: Final = 22
"""Digits of an octal number of 64 bits, without leading zeros."""


def plain_host(host: str) -> str:
    """Return the name or address that resolvers see.

    It has no brackets, zone, last dot and ignored characters, and its characters are the compatible ones.
    """
    host = _IGNORED.sub("", unicodedata.normalize("NFKC", unquote(host)))
    return host.strip("[]").lower().replace("\u3002", ".").partition("%")[0].rstrip(".")


def address_of(host: str) -> IPAddress | None:
    """Return the address that a host is, None for a name.

    Resolvers accept an IPv4 address as one to four numbers, each decimal, octal or hexadecimal (`inet_aton`).
    """
    host = plain_host(host)
    with suppress(ValueError):
        return innermost(ipaddress.ip_address(host))
    return _ipv4(host)


def _ipv4(host: str, *, can_overflow: bool = False) -> ipaddress.IPv4Address | None:
    """Return the address that one to four numbers are, None for another text.

    Args:
        host: a plain host.
        can_overflow: read numbers of up to 64 bits, of which FreeBSD and macOS use the lowest 32.
    """
    parts = host.split(".")
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    if can_overflow:
        numbers = [number & _LOW_BITS for number in numbers]
    *first, last = numbers
    if len(parts) > 4 or any(number > 0xFF for number in first) or last >= 256 ** (5 - len(parts)):
        return None
    return ipaddress.IPv4Address(sum(number << 24 - 8 * index for index, number in enumerate(first)) + last)


def innermost(ip: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv6 address leads to, else itself.

    It can be mapped, compatible, translated, 6to4, Teredo or NAT64. One of a local NAT64, which has several possible
    IPv4 addresses, leads to that of the local link or a metadata service.
    """
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if any(ip in network for network in _TRANSLATED_NETWORKS) or (0xFFFF < int(ip) <= _LOW_BITS):
        return ipaddress.IPv4Address(int(ip) & _LOW_BITS)
    if ip in _LOCAL_NAT64:
        return next(filter(_is_refused, _local_nat64(int(ip))), ip)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip


def _local_nat64(number: int) -> Iterator[IPAddress]:
    """Yield the IPv4 addresses of an IPv6 address, for prefixes of 96, 64, 56 and 48 bits (RFC 6052, section 2.2)."""
    yield ipaddress.IPv4Address(number & _LOW_BITS)
    yield ipaddress.IPv4Address(number >> 24 & _LOW_BITS)
    yield ipaddress.IPv4Address((number >> 64 & 0xFF) << 24 | number >> 32 & 0xFFFFFF)
    yield ipaddress.IPv4Address((number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF)


def is_link_local(ip: IPAddress) -> bool:
    """Return whether an address belongs to the local link or to a metadata service, in whichever form."""
    return _is_refused(innermost(ip))


def _is_refused(ip: IPAddress) -> bool:
    return any(ip in network for network in _LINK_NETWORKS) or ip in _METADATA_ADDRESSES


def is_metadata_host(host: str) -> bool:
    """Return whether a host is an address of the local link, or a metadata service, or a name that contains one."""
    if (ip := address_of(host)) is not None:
        return is_link_local(ip)
    name = plain_host(host)
    if (ip := _ipv4(name, can_overflow=True)) is not None:
        return is_link_local(ip)
    return name in _METADATA_NAMES or any(map(is_link_local, _embedded(name)))


def is_loopback_host(host: str) -> bool:
    """Return whether requests for a host stay on this machine."""
    if (ip := address_of(host)) is not None:
        return ip.is_loopback
    name = plain_host(host)
    return name == "localhost" or name.endswith(".localhost")


def private_reason(host: str) -> str:
    """Return why a host is in a private network: `is a private address`; empty if it seems to be public."""
    if (ip := address_of(host)) is not None:
        return "" if _is_public(ip) else f"is {_kind(ip)}"
    name = plain_host(host)
    if _ipv4(name, can_overflow=True) is not None:
        return "is an address on some systems only"
    if is_loopback_host(name):
        return "is this machine"
    if "." not in name or name.endswith(_LOCAL_ENDS):
        return "is a name of a private network"
    inner = next((ip for ip in _embedded(name) if not _is_public(ip)), None)
    return f"contains {_kind(inner)}, to which such a name may resolve" if inner else ""


def _is_public(ip: IPAddress) -> bool:
    """Return whether an address is one of the internet. `is_global` alone accepts site-local and reserved ones."""
    is_reserved = isinstance(ip, ipaddress.IPv6Address) and (ip.is_reserved or ip.is_site_local)
    return ip.is_global and not ip.is_multicast and not is_reserved


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
    """Return a number of at most 64 bits as `inet_aton` reads it. Raises ValueError for other texts."""
    if not re.fullmatch(r"0x[0-9a-f]*|[0-9]+", text):
        raise ValueError(text)
    base = 16 if text.startswith("0x") else 8 if text.startswith("0") else 10
    digits = text.removeprefix("0x").lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:  # the time of `int` grows with the square of the length
        raise ValueError(text)
    return int(digits, base)
