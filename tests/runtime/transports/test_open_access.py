"""A server without a token starts only where programs of this machine alone reach it, or if `NAME_OPEN=1` opens it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_peer import BEARER, TOKEN_FILE, asgi, fetch, post, serving
from stdio_peer import PATIENCE_S
from toolmason_runtime.transports.open_access import obstacle

pytestmark = pytest.mark.anyio

HTTP = ("-m", "sample_server", "--http", "--port", "0")
OPEN = {"SAMPLE_OPEN": "1"}
WARNING = "SAMPLE_OPEN=1: everyone who reaches this server can call its tools, without a token"
PROXIES: Mapping[str, Mapping[str, str]] = {
    "nginx with X-Real-IP": {"X-Real-IP": "192.0.2.1"},
    "nginx with X-Forwarded-For": {"X-Forwarded-For": "192.0.2.1"},
    "RFC 7239": {"Forwarded": "for=192.0.2.1"},
    "Apache, Varnish, Squid": {"Via": "1.1 proxy"},
    "Traefik, Caddy": {"X-Forwarded-Host": "tools.example", "X-Forwarded-Proto": "https"},
    "Cloudflare": {"CF-Connecting-IP": "192.0.2.1", "CF-Ray": "1"},
    "a content delivery network": {"CDN-Loop": "cdn"},
    "Akamai": {"True-Client-IP": "192.0.2.1"},
    "Fastly": {"Fastly-Client-IP": "192.0.2.1"},
    "Fly": {"Fly-Client-IP": "192.0.2.1"},
    "Envoy, Istio": {"X-Envoy-External-Address": "192.0.2.1"},
    "AWS": {"X-Amzn-Trace-Id": "Root=1"},
    "Azure": {"X-ARR-LOG-ID": "1"},
    "Google": {"X-Cloud-Trace-Context": "1"},
    "Tailscale": {"Tailscale-User-Login": "a@example.com"},
}


def refused(arguments: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Return the error of a server that does not start."""
    done = subprocess.run(
        [sys.executable, *HTTP, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


REMOTE: list[tuple[Sequence[str], Mapping[str, str], str]] = [
    (["--allow-host", "tools.example"], {}, "the allowed host tools.example is not this machine"),
    (["--allow-host", "localhost", "--allow-host", "a.example:443"], {}, "the allowed host a.example:443 is not"),
    (["--allow-host", "192.0.2.1"], {}, "the allowed host 192.0.2.1 is not"),
    (["--allow-host", "[2001:db8::1]:8000"], {}, "the allowed host [2001:db8::1]:8000 is not"),
    (["--allow-host", "localhost.example"], {}, "the allowed host localhost.example is not"),
    (["--allow-origin", "https://app.example"], {}, "pages of https://app.example are allowed"),
    (["--workers", "2", "--allow-host", "tools.example"], {}, "the allowed host tools.example is not"),
    ([], {"SAMPLE_ALLOW_HOST": "localhost, tools.example"}, "the allowed host tools.example is not"),
    ([], {"SAMPLE_ALLOW_ORIGIN": "http://localhost:3000 https://app.example"}, "pages of https://app.example are"),
    ([], {"FORWARDED_ALLOW_IPS": "*"}, "FORWARDED_ALLOW_IPS names a proxy"),
    (["--allow-host", "tools.example"], {"SAMPLE_OPEN": "0"}, "the allowed host tools.example is not"),
]


@pytest.mark.parametrize(("arguments", "env", "reason"), REMOTE)
def test_server_that_other_machines_can_reach_does_not_start_without_a_token(
    arguments: Sequence[str], env: Mapping[str, str], reason: str
) -> None:
    said = refused(arguments, env)

    assert said.startswith(f"sample: {reason}")
    assert "Set --token-file FILE or SAMPLE_TOKEN_FILE, or [server.auth] in the manifest; SAMPLE_OPEN=1 serves" in said


@pytest.mark.parametrize("arguments", [["--allow-host", "tools.example"], ["--allow-origin", "https://app.example"]])
def test_token_or_the_variable_lets_it_start(arguments: Sequence[str]) -> None:
    with serving(*arguments, "--token-file", TOKEN_FILE) as (_, address):
        assert (post(address, {}), post(address, BEARER)) == (401, 200)
    with serving(*arguments, "--log-format", "text", command=WARNED, env=OPEN) as (process, address):
        assert post(address, {}) == 200
        assert process.stdout is not None
        assert process.stdout.readline() == f"{WARNING}\n"


WARNED = [
    "-m",
    "code_server",
    """
import logging, sys
from toolmason_runtime.server.command import Command
from sample_server.catalogue import CATALOGUE
from sample_server.server import OPTIONS, load_index

class ToStdout(logging.Handler):
    def emit(self, record):
        print(record.getMessage(), flush=True)

logging.basicConfig(handlers=[ToStdout()], level="WARNING")
flags = ["--classic", "--http", "--port", "0", *sys.argv[1:]]
sys.exit(Command(catalogue=CATALOGUE, load_index=load_index, options=OPTIONS, prog="sample", version="1").run(flags))
""",
]


def test_open_server_on_all_addresses_has_no_token_and_needs_host_names() -> None:
    assert "list the host names of the server" in refused(["--host", "0.0.0.0"], OPEN)
    arguments = ("--host", "0.0.0.0", "--allow-host", "127.0.0.1")
    with serving(*arguments, command=WARNED, env=OPEN) as (_, address):
        assert post(address.replace("0.0.0.0", "127.0.0.1"), {}) == 200


@pytest.mark.parametrize("value", ["true", "yes", "2", "on"])
def test_other_values_of_the_variable_are_refused(value: str) -> None:
    assert "SAMPLE_OPEN must be 1 or 0" in refused([], {"SAMPLE_OPEN": value})


@pytest.mark.parametrize(
    ("host", "hosts", "origins"),
    [
        ("127.0.0.1", (), ()),
        ("127.8.0.1", ("127.0.0.1:80", "[::1]:80", "LOCALHOST:1"), ()),
        ("::1", ("::1", "[::1]"), ("http://localhost:5173", "http://127.0.0.1", "http://[::1]:3000")),
        ("localhost", (), ()),
    ],
)
def test_addresses_of_this_machine_need_no_token(host: str, hosts: Sequence[str], origins: Sequence[str]) -> None:
    assert obstacle(host, hosts, origins) == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "10.0.0.1", "::ffff:127.0.0.1", "127.1", "", "example"])
def test_other_addresses_need_a_token(host: str) -> None:
    assert obstacle(host, (), ())


async def lifespan(app: Any) -> list[dict[str, str]]:
    """Start and stop an application as each ASGI server does; return its messages."""
    received = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[dict[str, str]] = []

    async def receive() -> dict[str, str]:
        return next(received)

    async def send(message: dict[str, str]) -> None:
        sent.append(message)

    await app({"type": "lifespan"}, receive, send)
    return sent


@pytest.mark.parametrize("env", [{}, {"SAMPLE_ALLOW_HOST": "tools.example"}, {"SAMPLE_OPEN": "0"}, {"SAMPLE_OPEN": ""}])
async def test_application_does_not_start_without_a_token(
    monkeypatch: pytest.MonkeyPatch, env: Mapping[str, str]
) -> None:
    from sample_server.asgi import app

    for name, value in env.items():
        monkeypatch.setenv(name, value)
    [failed] = await lifespan(app)

    assert failed["type"] == "lifespan.startup.failed"
    assert failed["message"].startswith("an ASGI server may listen on any address and behind any proxy: every client")
    assert "SAMPLE_TOKEN_FILE" in failed["message"]
    assert "SAMPLE_OPEN=1" in failed["message"]


async def test_open_application_warns_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from sample_server.asgi import app

    monkeypatch.setenv("SAMPLE_OPEN", "1")
    sent = await lifespan(app)

    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [WARNING]


def test_uvicorn_ends_with_the_reason() -> None:
    with asgi(env={"SAMPLE_OPEN": ""}) as (process, said):
        assert process.wait(PATIENCE_S) == 3  # of uvicorn, for a failed lifespan
    assert "every client needs a token. Set --token-file FILE or SAMPLE_TOKEN_FILE" in said


@pytest.mark.parametrize("proxy", PROXIES)
def test_application_with_a_token_requires_it_behind_each_proxy(proxy: str, application: str) -> None:
    assert post(application, dict(PROXIES[proxy])) == 401
    assert post(application, {**PROXIES[proxy], **BEARER}) == 200


@pytest.fixture(scope="module")
def application() -> Iterator[str]:
    """An application with a token."""
    env = {"SAMPLE_TOKEN_FILE": TOKEN_FILE, "PYTHONPATH": os.pathsep.join(sys.path)}
    with asgi(env=env) as (_, address):
        yield address


@pytest.fixture(scope="module")
def direct() -> Iterator[str]:
    """A server on loopback without a token."""
    with serving(env={"PYTHONPATH": os.pathsep.join(sys.path)}) as (_, address):
        yield address


@pytest.mark.parametrize("proxy", PROXIES)
def test_direct_server_refuses_requests_of_proxies(proxy: str, direct: str) -> None:
    status, _, text = fetch(direct, "GET", "/mcp", **PROXIES[proxy])

    assert (status, text.partition(":")[0]) == (403, "A proxy passed this request on, and this server has no token")
    assert post(direct, {}) == 200


def test_health_check_of_a_direct_server_passes_proxies(direct: str) -> None:
    assert fetch(direct, "GET", "/healthz", Via="1.1 proxy")[0] == 200


CONFIG = """
daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {here}; proxy_temp_path {here}; fastcgi_temp_path {here}; uwsgi_temp_path {here};
  scgi_temp_path {here};
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {target}; {settings} }} }}
}}
"""


@contextmanager
def nginx(here: Path, target: str, settings: str) -> Iterator[str]:
    """Run nginx in front of a server, and give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (here / "conf").write_text(CONFIG.format(here=here, port=port, target=target, settings=settings), encoding="utf-8")
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    process = subprocess.Popen([program, "-c", str(here / "conf"), "-e", str(here / "error.log")])
    try:
        while True:
            assert process.poll() is None, (here / "error.log").read_text("utf-8")
            try:
                socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
            except ConnectionRefusedError:
                continue
            break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.mark.skipif(
    not shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"), reason="nginx is missing; .ci/run installs it"
)
@pytest.mark.parametrize(
    "settings",
    [
        "",
        "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        "proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;",
        "proxy_http_version 1.1; proxy_set_header Forwarded for=$remote_addr;",
        "proxy_http_version 1.1; proxy_set_header Via '1.1 nginx';",
        "proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header X-Forwarded-Host $host;",
    ],
)
def test_server_without_a_token_refuses_requests_through_nginx(tmp_path: Path, direct: str, settings: str) -> None:
    with nginx(tmp_path, direct.removesuffix("/mcp"), settings) as address:
        assert post(address, {}) == 403


@pytest.mark.skipif(
    not shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"), reason="nginx is missing; .ci/run installs it"
)
def test_nginx_passes_tokens_on(tmp_path: Path, application: str) -> None:
    settings = "proxy_set_header Host localhost; proxy_set_header X-Forwarded-For $remote_addr; proxy_buffering off;"
    with nginx(tmp_path, application.removesuffix("/mcp"), settings) as address:
        assert (post(address, {}), post(address, BEARER)) == (401, 200)
        status, _, text = fetch(address, "GET", "/healthz")
        assert (status, json.loads(text)) == (200, {"status": "ok"})
