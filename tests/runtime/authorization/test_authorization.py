"""Authorization over HTTP: real tokens, a real server process and the SDK's client."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import jwt
import pytest
from issuer import AUDIENCE, TEAM, Issuer, make_key, public_jwk
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import TextContent
from notes_process import Environment, Notes, serving_notes

pytestmark = pytest.mark.anyio
MODERN = "2026-07-28"
ERAS = ["legacy", MODERN]


def result_of(response: httpx2.Response) -> Any:
    assert response.status_code == 200, response.text
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1] if lines else response.text)["result"]


def text(result: Any) -> str:
    """Return the text of a result, also of one in an HTTP response."""
    if isinstance(result, httpx2.Response):
        return str(result_of(result)["content"][0]["text"])
    return "\n".join(content.text for content in result.content if isinstance(content, TextContent))


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_gets_its_token_and_further_scopes_as_mcp_describes(notes: Notes, mode: str) -> None:
    async with notes.authorizing_client("ada", mode) as client:
        first = await client.call_tool("whoami", {})
        removed = await client.call_tool("remove_note", {"title": "old"})
        second = await client.call_tool("whoami", {})

    assert text(first) == "ada by ada-app: notes"
    assert text(removed) == "removed old"
    assert text(second) == "ada by ada-app: notes notes:delete notes:write"
    assert [path for path in notes.issuer.asked if path != "jwks"][-2:] == [
        "token notes",
        "token notes notes:delete notes:write",
    ]


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_may_not_have_the_scope_reads_its_name(notes: Notes, mode: str) -> None:
    async with notes.authorizing_client("bob", mode) as client:
        with pytest.raises(MCPError, match="needs the scopes `notes:write` and `notes:delete`") as error:
            await client.call_tool("remove_note", {"title": "old"})
        assert error.value.data == {"scopes": ["notes:write", "notes:delete"]}
        assert text(await client.call_tool("whoami", {})) == "bob by bob-app: notes"


def test_the_metadata_of_the_server_names_its_authorization_server(notes: Notes) -> None:
    metadata = httpx2.get(f"{notes.origin}/.well-known/oauth-protected-resource/mcp").json()

    assert metadata["resource"] == notes.url
    assert metadata["authorization_servers"] == [notes.issuer.url]
    assert metadata["scopes_supported"] == ["notes"]
    challenge = notes.call().headers["www-authenticate"]
    assert f'resource_metadata="{notes.origin}/.well-known/oauth-protected-resource/mcp"' in challenge


@pytest.mark.parametrize("path", ["", "/", "/mcp/", "/other", "/mcp/other", "/mcpx"])
def test_other_uris_of_metadata_do_not_exist(notes: Notes, path: str) -> None:
    answer = httpx2.get(f"{notes.origin}/.well-known/oauth-protected-resource{path}")

    assert answer.status_code == 404
    assert "www-authenticate" not in answer.headers
    assert answer.text == "The metadata is at /.well-known/oauth-protected-resource/mcp.\n"


def test_a_path_that_only_begins_like_metadata_is_a_route(notes: Notes) -> None:
    assert httpx2.get(f"{notes.origin}/.well-known/oauth-protected-resource-else").text == "page"


def test_routes_get_the_principal_and_a_public_route_cannot_replace_mcp_or_metadata(notes: Notes) -> None:
    headers = {"authorization": f"Bearer {notes.issuer.token()}"}
    metadata = ".well-known/oauth-protected-resource/mcp"

    assert httpx2.get(f"{notes.origin}/me", headers=headers).json() == ["ada-app", "ada", ["notes"], "ada"]
    assert [httpx2.get(f"{notes.origin}/{path}").status_code for path in ("me", "mcp", "mcp/")] == [401, 401, 401]
    assert httpx2.post(f"{notes.origin}/mcp").status_code == 401
    assert httpx2.get(f"{notes.origin}/{metadata}").json()["resource"] == notes.url
    assert httpx2.get(f"{notes.origin}/else").text == "page"


def test_only_valid_tokens_of_this_issuer_for_this_audience_are_accepted(notes: Notes) -> None:
    issuer, now = notes.issuer, int(time.time())
    valid = issuer.token()
    header, claims, signature = valid.split(".")
    stranger = make_key("RS256")
    payload = jwt.decode(valid, options={"verify_signature": False})
    public = public_jwk(issuer.keys["first"][1], "RS256", "first")["n"]
    refused = {
        "no token": "",
        "no JWT": "abc",
        "another issuer": issuer.token(iss="https://other.example"),
        "another audience": issuer.token(aud="https://other.example/mcp"),
        "no audience": issuer.token(aud=None),
        "expired": issuer.token(exp=now - 60),
        "without an end": issuer.token(exp=None),
        "not valid yet": issuer.token(nbf=now + 60),
        "changed claims": f"{header}.{claims[:-2]}AA.{signature}",
        "no signature": f"{header}.{claims}.",
        "another key under the known id": jwt.encode(payload, stranger, "RS256", headers={"kid": "first"}),
        "an unknown key": jwt.encode(payload, stranger, "RS256", headers={"kid": "other"}),
        "algorithm none": jwt.encode(payload, "", "none", headers={"kid": "first"}),
        "another algorithm of the same key": jwt.encode(
            payload, issuer.keys["first"][1], "PS256", headers={"kid": "first"}
        ),
        "the public key as a secret": jwt.encode(payload, public, "HS256", headers={"kid": "first"}),
        "another kind of token": jwt.encode(
            payload, issuer.keys["first"][1], "RS256", headers={"kid": "first", "typ": "logout+jwt"}
        ),
        "nobody's": issuer.token(sub=None, client_id=None),
        "too long": issuer.token(padding="x" * 20_000),
    }

    statuses = {name: notes.call(token).status_code for name, token in refused.items()}

    assert statuses == dict.fromkeys(refused, 401)
    assert text(notes.call(valid)) == "ada by ada-app: notes"
    assert text(notes.call(issuer.token(aud=["https://other.example", AUDIENCE]))) == "ada by ada-app: notes"
    assert (
        text(notes.call(issuer.token(scope=None, scp=["notes", "x"], client_id=None, azp="web")))
        == "ada by web: notes x"
    )


def test_a_token_without_the_scope_of_every_request_is_refused_with_403(notes: Notes) -> None:
    response = notes.call(notes.issuer.token(scope="mail"))

    assert response.status_code == 403
    assert 'error="insufficient_scope"' in response.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("remove_note", {"title": "a"}),
        ("delete_note", {"title": "a"}),
        ("call", {"tool_name": "remove_note", "args": {"title": "a"}}),
        ("call", {"tool_name": "delete_note", "args": {"title": "a"}}),
    ],
)
def test_a_call_without_the_scope_of_its_tool_is_refused_with_403(
    notes: Notes, tool: str, arguments: dict[str, Any]
) -> None:
    response = notes.call(notes.issuer.token(scope="notes notes:write other"), tool, **arguments)

    assert response.status_code == 403
    challenge = response.headers["www-authenticate"]
    assert 'error="insufficient_scope", scope="notes notes:delete notes:write"' in challenge
    assert "needs the scope `notes:delete`" in response.json()["error"]["message"]
    assert response.json()["id"] == 1


def test_a_call_that_hides_its_tool_from_the_transport_is_refused_by_the_dispatcher(notes: Notes) -> None:
    response = notes.call(notes.issuer.token(), "call", tool_name=" remove_note ", arguments={"title": "a"})
    spaced = notes.call(notes.issuer.token(), "call", name="remove_note", args={"title": "a"})

    assert response.status_code == 403
    assert "removed" not in spaced.text


async def test_tools_that_need_scopes_are_listed_and_found_with_their_scopes(notes: Notes) -> None:
    async with notes.client(notes.issuer.token(), MODERN) as client:
        listed = {tool.name: tool.description for tool in (await client.list_tools()).tools}
        found = json.loads(text(await client.call_tool("search", {"query": "remove_note"})))

    assert listed["remove_note"] == "Remove a note. Needs the scopes `notes:write`, `notes:delete`."
    assert found["results"][0]["scopes"] == ["notes:write", "notes:delete"]


@pytest.mark.parametrize("mode", ERAS)
async def test_claims_fill_parameters_hidden_from_callers(notes: Notes, mode: str) -> None:
    async with notes.client(notes.issuer.token("bob", **{TEAM: "red"}), mode) as client:
        found = text(await client.call_tool("search", {"query": "own_notes"}))
        own = await client.call_tool("call", {"tool_name": "own_notes", "args": {"word": "x", "user": "ada"}})
        greeting = await client.call_tool("call", {"tool_name": "greet", "args": {"greeting": "hello"}})
        team = await client.call_tool("call", {"tool_name": "team_notes", "args": {"tema": "blue"}})
        profile = await client.call_tool("call", {"tool_name": "profile", "args": {"user": "ada"}})

    assert "own_notes" in found
    assert "user" not in found
    assert "notes of bob with 'x'" in text(own)
    assert "unknown argument 'user' was ignored; known are: word" in text(own)
    assert text(greeting).strip() == "hello bob"
    assert '{"name":"bob"}' in text(profile)
    assert "notes of red" in text(team)
    assert "known are: none" in text(team)


def test_a_claim_that_is_missing_or_invalid_is_an_error_unless_there_is_a_default(notes: Notes) -> None:
    issuer = notes.issuer
    call = {"tool_name": "own_notes", "args": {}}

    assert "the claim `sub`, which the access token lacks" in text(notes.call(issuer.token(sub=None), "call", **call))
    assert "cannot use the claim `sub`" in text(notes.call(issuer.token("x" * 21), "call", **call))
    team = {"tool_name": "team_notes", "args": {}}
    assert text(notes.call(issuer.token(), "call", **team)) == "notes of nobody"
    assert "cannot use the claim" in text(notes.call(issuer.token(**{TEAM: 7}), "call", **team))


WHOAMI = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}


def open_session(notes: Notes, token: str) -> dict[str, str]:
    """Open a session of 2025-11-25 and return the headers of its requests."""
    client = {"name": "tests", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    opened = notes.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, token)
    session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    assert notes.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, token, session).status_code == 202
    return session


def test_a_session_belongs_to_its_principal(notes: Notes) -> None:
    issuer = notes.issuer
    session = open_session(notes, issuer.token("ada"))
    call = WHOAMI

    def status(token: str, method: str = "POST") -> int:
        if method == "POST":
            return notes.post(call, token, session).status_code
        headers = {**session, "authorization": f"Bearer {token}", "accept": "text/event-stream"}
        return int(httpx2.request(method, notes.url, headers=headers).status_code)

    assert status(issuer.token("ada", jti="another token of the same principal")) == 200
    others = [issuer.token("bob"), issuer.token("ada", client_id="other-app")]
    assert [status(token, method) for token in others for method in ("POST", "GET", "DELETE")] == [404] * 6
    assert status("") == 401
    assert text(notes.post(call, issuer.token("ada", "notes x"), session)) == "ada by ada-app: notes x"
    assert status(issuer.token("ada"), "DELETE") == 200
    assert status(issuer.token("ada")) == 404


def test_processes_of_one_server_know_the_principal_of_a_session(
    issuer: Issuer, notes_environment: Environment
) -> None:
    with serving_notes(issuer, notes_environment, "--workers", "2") as notes:
        ada, bob = issuer.token("ada"), issuer.token("bob")
        session = open_session(notes, ada)

        # Each process fetches the keys for its first request.
        for _ in range(500):
            assert text(notes.post(WHOAMI, ada, session)) == "ada by ada-app: notes"
            assert notes.post(WHOAMI, bob, session).status_code == 404
            if len(issuer.asked) == 2:
                break

        assert issuer.asked == ["jwks", "jwks"]


def test_only_the_principal_of_a_call_can_answer_its_question(notes: Notes) -> None:
    call: dict[str, Any] = {"name": "share_notes", "arguments": {}}
    asked = result_of(notes.request(notes.issuer.token("ada"), call))
    answered = {
        **call,
        "requestState": asked["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {}} for key in asked["inputRequests"]},
    }

    assert "accept" not in notes.request(notes.issuer.token("bob"), answered).text
    assert text(notes.request(notes.issuer.token("ada"), answered)) == "accept by ada"


def test_keys_are_fetched_once_and_again_when_they_are_rotated(fresh_notes: Notes) -> None:
    notes, issuer = fresh_notes, fresh_notes.issuer
    old = issuer.token()
    assert [notes.call(old).status_code for _ in range(3)] == [200] * 3
    assert issuer.asked == ["jwks"]

    issuer.keys["second"] = ("ES256", make_key("ES256"))
    assert notes.call(issuer.token()).status_code == 200
    assert notes.call(old).status_code == 200
    del issuer.keys["first"]
    issuer.keys["third"] = ("ES256", make_key("ES256"))
    assert notes.call(issuer.token()).status_code == 200
    assert notes.call(old).status_code == 401
    assert len(issuer.asked) <= 5


def test_tokens_with_invented_keys_cause_few_requests_to_the_authorization_server(fresh_notes: Notes) -> None:
    notes, issuer = fresh_notes, fresh_notes.issuer
    stranger, payload = make_key("RS256"), jwt.decode(issuer.token(), options={"verify_signature": False})

    for number in range(20):
        token = jwt.encode(payload, stranger, "RS256", headers={"kid": f"invented-{number}"})
        assert notes.call(token).status_code == 401

    assert len(issuer.asked) <= 5
    assert notes.call(issuer.token()).status_code == 200


def test_without_keys_the_answer_is_503_and_known_keys_outlive_an_outage(fresh_notes: Notes) -> None:
    notes, issuer = fresh_notes, fresh_notes.issuer
    issuer.is_down = True
    response = notes.call(issuer.token())
    assert response.status_code == 503
    assert response.headers["retry-after"]

    issuer.is_down = False
    assert notes.call(issuer.token()).status_code == 200
    issuer.is_down = True
    assert notes.call(issuer.token()).status_code == 200


def test_the_operators_bearer_token_is_accepted_beside_access_tokens(
    issuer: Issuer, notes_environment: Environment, tmp_path: Any
) -> None:
    (tmp_path / "token").write_text("a-token-of-the-operator\n", encoding="utf-8")
    (tmp_path / "token").chmod(0o600)
    with serving_notes(issuer, notes_environment, "--token-file", str(tmp_path / "token")) as notes:
        operator = "a-token-of-the-operator"
        assert text(notes.call(operator)) == "- by -: notes notes:delete notes:write"
        assert text(notes.call(operator, "remove_note", title="a")) == "removed a"
        own = notes.call(operator, "call", tool_name="own_notes", args={})
        assert "needs the claim `sub`" in text(own)
        assert text(notes.call(issuer.token())) == "ada by ada-app: notes"
        assert notes.call("a-token-of-the-operatoR").status_code == 401


async def test_over_stdio_no_scope_is_needed_and_claims_have_only_defaults(notes_environment: Environment) -> None:
    server = StdioServerParameters(command="python", args=["-m", "notes_server"], env=notes_environment)
    async with Client(server) as client:
        assert text(await client.call_tool("whoami", {})) == "nobody"
        assert text(await client.call_tool("remove_note", {"title": "a"})) == "removed a"
        own = await client.call_tool("call", {"tool_name": "own_notes", "args": {"user": "ada"}})
        team = await client.call_tool("call", {"tool_name": "team_notes", "args": {}})

    assert own.is_error
    assert "needs the claim `sub` of an access token: use this server over HTTP" in text(own)
    assert text(team) == "notes of nobody"
