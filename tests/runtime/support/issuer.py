"""A small authorization server on loopback: real keys, JWKS, metadata and tokens for client credentials."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE: Final = "https://notes.example/mcp"
TEAM: Final = "https://notes.example/team"
CLIENTS: Final = {
    "ada": {"notes", "notes:write", "notes:delete"},
    "bob": {"notes"},
}
"""Clients, which are their own secrets, and the scopes that they may have."""
_ALGORITHMS: Final[dict[str, Any]] = {"RS": RSAAlgorithm, "PS": RSAAlgorithm, "ES": ECAlgorithm, "Ed": OKPAlgorithm}


def make_key(algorithm: str, *, bits: int = 2048) -> Any:
    match algorithm[:2]:
        case "RS" | "PS":
            return rsa.generate_private_key(public_exponent=65537, key_size=bits)
        case "ES":
            return ec.generate_private_key({"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1()}[algorithm])
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: Any, algorithm: str, key_id: str, **members: Any) -> dict[str, Any]:
    jwk: dict[str, Any] = _ALGORITHMS[algorithm[:2]].to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": key_id, "use": "sig", **members}


class Issuer(ThreadingHTTPServer):
    """The authorization server. `keys` are the private keys in its key set, by id, with their algorithm."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.keys: dict[str, tuple[str, Any]] = {"first": ("RS256", make_key("RS256"))}
        self.jwks: bytes | None = None
        """The answer in place of the key set."""
        self.is_down = False
        self.asked: list[str] = []
        """Paths of the requests for keys and tokens; with the scopes, for tokens."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def token(self, subject: Any = "ada", scope: Any = "notes", *, key: Any = "", **claims: Any) -> str:
        """Return a valid token, except for `claims`; a claim that is None is left out. The last key signs it."""
        now = int(time.time())
        members = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": subject,
            "client_id": f"{subject}-app",
            "scope": scope,
            "iat": now,
            "exp": now + 300,
            **claims,
        }
        key_id = key or list(self.keys)[-1]
        algorithm, private = self.keys[key_id]
        payload = {name: value for name, value in members.items() if value is not None}
        return jwt.encode(payload, private, algorithm, headers={"kid": key_id, "typ": "at+jwt"})

    def answer(self, path: str, form: dict[str, list[str]], basic: str) -> tuple[int, bytes]:
        if path == "/.well-known/oauth-authorization-server":
            return 200, json.dumps(
                {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["client_credentials"],
                    "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                }
            ).encode()
        if path == "/jwks":
            self.asked.append("jwks")
            keys = [public_jwk(key, algorithm, key_id) for key_id, (algorithm, key) in self.keys.items()]
            return (503, b"") if self.is_down else (200, self.jwks or json.dumps({"keys": keys}).encode())
        if path == "/token":
            client, _, secret = base64.b64decode(basic).decode().partition(":")
            asked = form.get("scope", [""])[0]
            self.asked.append(f"token {asked}")
            if secret != client or client not in CLIENTS:
                return 401, b'{"error": "invalid_client"}'
            granted = " ".join(sorted({*asked.split()} & CLIENTS[client]))
            body = {"access_token": self.token(client, granted), "token_type": "Bearer", "expires_in": 300}
            return 200, json.dumps({**body, "scope": granted}).encode()
        if path.startswith("/people/"):
            return 200, json.dumps({"name": path.removeprefix("/people/")}).encode()
        return 404, b""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Issuer

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        basic = self.headers.get("authorization", "").removeprefix("Basic ")
        status, text = self.server.answer(self.path, parse_qs(body.decode()), basic)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _answer  # noqa: N815  names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    with Issuer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
