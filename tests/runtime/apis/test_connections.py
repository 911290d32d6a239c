"""Redirects, retries and addresses of requests, over real connections."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.apis import client as client_module
from toolmason_runtime.apis.client import Answer, ApiClient, retry_after
from toolmason_runtime.apis.connect import allows_address
from toolmason_runtime.apis.request import Request
from toolmason_runtime.apis.settings import ApiSettings, is_private, load_settings
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.request import Api, Auth

from .conftest import TOKEN, Reply, Tracker

pytestmark = pytest.mark.anyio

BEARER = Auth(bearer="$TOKEN")
IN_QUERY = Auth(query="key", value="$TOKEN")


def settings_of(base_url: str, auth: Auth | None = BEARER, *allow_hosts: str) -> ApiSettings:
    api = Api(name="api", base_url=base_url, headers={"X-Own": "1"}, auth=auth, allow_hosts=allow_hosts)
    return load_settings(api, {"TOKEN": TOKEN})


@asynccontextmanager
async def connected(settings: ApiSettings) -> AsyncIterator[ApiClient]:
    client = ApiClient(settings)
    try:
        yield client
    finally:
        await client.aclose()


async def send(
    settings: ApiSettings, request: Request, *, is_repeatable: bool = True, retries: int = 0, seconds: float = 20
) -> Answer:
    async with connected(settings) as client:
        deadline = anyio.current_time() + seconds
        return await client.send(request, is_repeatable=is_repeatable, retries=retries, deadline=deadline)


def redirect(location: str, status: int = 302) -> Reply:
    return Reply(status=status, body=b"", headers={"location": location})


@pytest.mark.parametrize("auth", [BEARER, IN_QUERY])
async def test_a_redirect_on_the_same_host_keeps_the_credential(tracker: Tracker, auth: Auth) -> None:
    tracker.answer("/a", redirect("b?x=1#fragment"))
    tracker.answer("/b", {})
    request = Request(method="GET", url=f"{tracker.url}/a", headers={"x-trace": "t"})

    answer = await send(settings_of(tracker.url, auth), request)

    assert answer.url == f"{tracker.url}/b?x=1"
    last = tracker.seen[-1]
    assert last.headers["x-trace"] == "t"
    assert TOKEN in last.headers.get("authorization", "") or last.path == "/b?x=1&key=s3cret%2Ftoken%2B1"


@pytest.mark.parametrize("auth", [BEARER, IN_QUERY])
async def test_a_redirect_to_an_allowed_host_drops_credentials_and_headers(
    tracker: Tracker, other: Tracker, auth: Auth
) -> None:
    tracker.answer("/a", redirect(f"{other.url}/b?key=s3cret%2Ftoken%2B1&x=1"))
    other.answer("/b", {"done": True})
    settings = settings_of(tracker.url, auth, f"127.0.0.1:{other.server_port}")

    answer = await send(settings, Request(method="GET", url=f"{tracker.url}/a", headers={"x-trace": "t"}))

    assert answer.body == b'{"done": true}'
    (seen,) = other.seen
    assert not {"authorization", "x-own", "x-trace"} & seen.headers.keys()
    assert auth is BEARER or seen.path == "/b?x=1"


@pytest.mark.parametrize(
    ("method", "status", "location"),
    [
        ("GET", 302, "OTHER"),
        ("GET", 302, "http://user:pass@files.example.com/"),
        ("GET", 302, "file:///etc/passwd"),
        ("GET", 307, "http://[::1"),
        ("POST", 303, "OTHER"),
        ("POST", 307, "OTHER"),
        ("POST", 307, "http://files.example.com/"),
        ("POST", 301, "/b"),
    ],
)
async def test_a_redirect_that_is_not_allowed_is_not_followed(
    tracker: Tracker, other: Tracker, method: str, status: int, location: str
) -> None:
    tracker.answer("/a", redirect(location.replace("OTHER", other.url), status))
    settings = settings_of(tracker.url, BEARER, "files.example.com")

    with pytest.raises(ToolError, match=r"redirected .*not allowed.*`allow_hosts`") as raised:
        await send(settings, Request(method=method, url=f"{tracker.url}/a"))

    assert raised.value.code == "API_REDIRECT"
    assert other.seen == []
    assert len(tracker.seen) == 1


async def test_a_write_is_repeated_on_its_host_or_followed_by_a_read(tracker: Tracker) -> None:
    tracker.answer("/a", redirect("/b", 307))
    tracker.answer("/b", redirect("/c", 303))
    tracker.answer("/c", {})

    await send(settings_of(tracker.url), Request(method="POST", url=f"{tracker.url}/a", content=b"x"))

    assert [(seen.method, seen.path, seen.body) for seen in tracker.seen] == [
        ("POST", "/a", b"x"),
        ("POST", "/b", b"x"),
        ("GET", "/c", b""),
    ]


async def test_the_number_of_redirects_is_limited(tracker: Tracker) -> None:
    tracker.answer("/a", redirect("/a"))

    with pytest.raises(ToolError, match="more than 5 times"):
        await send(settings_of(tracker.url), Request(method="GET", url=f"{tracker.url}/a"))


def test_https_is_never_replaced_by_http() -> None:
    settings = settings_of("https://api.example.com", BEARER, "files.example.com")

    assert settings.allows("https://api.example.com/x")
    assert settings.allows("https://files.example.com/x")
    assert not settings.allows("https://files.example.com:8443/x")
    assert not settings.allows("http://api.example.com/x")
    assert not settings.allows("http://files.example.com/x")
    assert settings_of("http://api.example.com").allows("https://api.example.com/x")


@pytest.fixture
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "BACKOFF_S", 0.01)


BUSY = Reply(429, b"", {"retry-after": "0"})
DROPPED = Reply(is_dropped=True)


@pytest.mark.usefixtures("short_backoff")
@pytest.mark.parametrize(
    ("method", "failure", "tries"),
    [
        ("GET", BUSY, 2),
        ("GET", Reply(503, b"", {}), 2),
        ("GET", Reply(502, b"", {}), 2),
        ("GET", DROPPED, 2),
        ("GET", Reply(500, b"", {}), 1),
        ("POST", BUSY, 2),
        ("POST", Reply(503, b"", {"retry-after": "0"}), 2),
        ("POST", Reply(503, b"", {}), 1),
        ("POST", Reply(502, b"", {}), 1),
        ("GET", Reply(429, b"", {"retry-after": "3600"}), 1),
    ],
)
async def test_a_request_is_sent_again_if_that_is_safe(
    tracker: Tracker, method: str, failure: Reply, tries: int
) -> None:
    tracker.answer("/a", failure, {"done": True})
    request = Request(method=method, url=f"{tracker.url}/a")

    answer = await send(settings_of(tracker.url), request, is_repeatable=method == "GET", retries=2)

    assert len(tracker.seen) == tries
    assert answer.status == (200 if tries == 2 else failure.status)


@pytest.mark.usefixtures("short_backoff")
async def test_a_write_without_an_answer_is_not_repeated(tracker: Tracker) -> None:
    tracker.answer("/a", DROPPED)

    with pytest.raises(ToolError, match="it may have processed the request"):
        await send(
            settings_of(tracker.url), Request(method="POST", url=f"{tracker.url}/a"), is_repeatable=False, retries=3
        )

    assert len(tracker.seen) == 1


@pytest.mark.usefixtures("short_backoff")
async def test_a_server_that_does_not_run_is_reported_after_its_retries() -> None:
    with socket.socket() as reserved:  # Nothing listens there, and no other program can take the port.
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"

        with pytest.raises(ToolError, match="cannot be reached"):
            await send(settings_of(url), Request(method="POST", url=f"{url}/a"), is_repeatable=False, retries=1)


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after({"retry-after": "7"}) == 7
    assert 50 < (retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)}) or 0) <= 60
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1"])
async def test_a_name_that_resolves_to_a_private_address_is_refused_when_it_connects(
    tracker: Tracker, host: str
) -> None:
    tracker.answer("/a", redirect(f"http://{host}:{tracker.server_port}/b"))
    tracker.answer("/b", {})
    url = f"http://{host}:{tracker.server_port}"
    elsewhere = settings_of("http://93.184.216.34", BEARER, f"{host}:{tracker.server_port}")
    request = Request(method="GET", url=f"{url}/b")

    if host == "localhost":  # `allow_hosts` names a loopback address here
        assert (await send(elsewhere, request)).status == 200
        assert "authorization" not in tracker.seen[0].headers
        return
    for settings in (elsewhere, settings_of(url)):
        with pytest.raises(ToolError, match="has a private address, which its settings do not allow") as raised:
            await send(settings, request)
        assert raised.value.code == "API_ADDRESS"
    assert tracker.seen == []


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.0/8"])
async def test_a_private_address_or_network_can_be_allowed(tracker: Tracker, allowed: str) -> None:
    tracker.answer("/a", {})
    url = f"http://127.1:{tracker.server_port}"

    assert (await send(settings_of(url, BEARER, allowed), Request(method="GET", url=f"{url}/a"))).status == 200


@pytest.mark.parametrize(
    ("base_url", "allow_hosts", "host", "address", "is_allowed"),
    [
        ("https://api.example.com", (), "api.example.com", "93.184.216.34", True),
        ("https://api.example.com", (), "api.example.com", "10.0.0.1", False),
        ("https://api.example.com", (), "api.example.com", "169.254.169.254", False),
        ("https://api.example.com", (), "api.example.com", "::ffff:10.0.0.1", False),
        ("https://api.example.com", (), "api.example.com", "64:ff9b::a00:1", False),
        ("https://api.example.com", (), "api.example.com", "2002:7f00:1::", False),
        ("https://api.example.com", (), "api.example.com", "64:ff9b:1::a00:1", False),
        ("https://api.example.com", (), "api.example.com", "::10.0.0.1", False),
        ("https://api.example.com", (), "api.example.com", "::ffff:0:10.0.0.1", False),
        ("https://api.example.com", (), "api.example.com", "fec0::1", False),
        ("https://api.example.com", (), "api.example.com", "2606:4700::1111", True),
        ("https://api.example.com", (), "api.example.com", "fe80::1%eth0", False),
        ("https://api.example.com", (), "api.example.com", "0.0.0.0", False),
        ("https://api.example.com", ("10.0.0.0/8",), "api.example.com", "10.0.0.1", True),
        ("https://api.example.com", ("10.0.0.0/8",), "api.example.com", "192.168.0.1", False),
        ("https://10.0.0.1:8443", (), "10.0.0.1", "10.0.0.1", True),
        ("https://[fd00::1]:8443", (), "fd00::1", "fd00::1", True),
        ("http://localhost:8080", (), "localhost", "127.0.0.1", True),
        ("http://localhost:8080", (), "localhost", "10.0.0.1", False),
        ("http://localhost:8080", (), "evil.localhost", "127.0.0.1", False),
        # The local link and metadata services: only for an API that is at that address itself.
        ("https://api.example.com", ("0.0.0.0/0",), "api.example.com", "169.254.169.254", False),
        ("https://api.example.com", ("169.254.0.0/16",), "api.example.com", "169.254.169.254", False),
        ("https://api.example.com", ("169.254.169.254",), "api.example.com", "169.254.169.254", False),
        ("https://api.example.com", ("169.254.169.254",), "169.254.169.254", "169.254.169.254", True),
        ("http://10.0.0.5", ("10.0.0.0/8",), "10.0.0.5.nip.io", "169.254.169.254", False),
        ("http://10.0.0.5", ("fe80::/10",), "api.example.com", "fe80::1%eth0", False),
        ("http://localhost", (), "localhost", "169.254.169.254", False),
        ("http://169.254.169.254", (), "169.254.169.254", "169.254.169.254", True),
        ("http://169.254.169.254", (), "api.example.com", "169.254.169.254", False),
        ("http://169.254.169.254", (), "169.254.169.254", "169.254.169.253", False),
        ("http://[fd00:ec2::254]", (), "fd00:ec2::254", "fd00:ec2::254", True),
        ("https://api.example.com", ("fd00::/8",), "api.example.com", "fd00:ec2::254", False),
        ("https://api.example.com", ("100.64.0.0/10",), "api.example.com", "100.100.100.200", False),
        ("https://api.example.com", (), "api.example.com", "168.63.129.16", False),
        ("https://api.example.com", ("::/0",), "api.example.com", "::ffff:169.254.169.254", False),
        ("https://api.example.com", ("::/0",), "api.example.com", "64:ff9b::a9fe:a9fe", False),
        ("https://api.example.com", ("::/0",), "api.example.com", "::ffff:0:a9fe:a9fe", False),
        ("https://api.example.com", ("::/0",), "api.example.com", "64:ff9b:1::a9fe:a9fe", False),
        ("https://api.example.com", ("64:ff9b:1::/48",), "api.example.com", "64:ff9b:1::a00:1", True),
    ],
)
def test_private_addresses_are_those_that_the_settings_name(
    base_url: str, allow_hosts: tuple[str, ...], host: str, address: str, is_allowed: bool
) -> None:
    assert allows_address(settings_of(base_url, None, *allow_hosts), host, address) is is_allowed


@given(st.ip_addresses(v=4))
def test_an_ipv6_address_is_private_if_it_contains_a_private_ipv4_address(address: ipaddress.IPv4Address) -> None:
    forms: tuple[Callable[[int], int], ...] = (
        lambda number: 0xFFFF << 32 | number,
        lambda number: 0x2002 << 112 | number << 80,
        lambda number: 0x64FF9B << 96 | number,
    )
    for form in forms:
        assert is_private(str(ipaddress.IPv6Address(form(int(address))))) == is_private(str(address))
