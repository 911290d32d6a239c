"""A handler learns the client's name, how it can ask its user, and how long it may wait for a person."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.types import methods
from oracle import LEGACY, MODERN
from stdio_peer import Peer, talking

PAGE = {"mode": "url", "message": "Open the page.", "url": "http://127.0.0.1:1/page"}


def client_facts(peer: Peer, **meta: Any) -> Any:
    """What the handler of a call with `meta` learns of its client."""
    result = peer.response(peer.send("tools/call", name="show_client", arguments={}, meta=meta))["result"]
    return json.loads(result["content"][0]["text"])


FORM: dict[str, Any] = {"form": {}}
URL: dict[str, Any] = {"url": {}}
TOKEN = {"progressToken": 0}


@pytest.mark.parametrize(
    ("name", "elicitation", "meta", "modes", "seconds"),
    [
        ("patient", None, TOKEN, [], 290),
        ("patient", {}, {}, ["form"], 50),
        ("hasty", FORM, TOKEN, ["form"], 20),
        ("hasty", URL, {}, ["url"], 20),
        ("gone", FORM | URL, TOKEN, ["form", "url"], 0),
        ("a client of nobody", None, TOKEN, [], 50),
        ("", None, {}, [], 50),
    ],
)
def test_a_handler_knows_its_client_and_may_wait_almost_as_long(
    name: str, elicitation: dict[str, Any] | None, meta: dict[str, Any], modes: list[str], seconds: float
) -> None:
    capabilities = {} if elicitation is None else {"elicitation": elicitation}
    with talking(LEGACY, name=name, capabilities=capabilities) as peer:
        assert client_facts(peer, **meta) == {"name": name, "modes": modes, "max_wait_s": seconds}


def test_in_2026_07_28_the_client_is_that_of_each_request_and_nothing_waits() -> None:
    with talking(MODERN) as peer:
        for name, elicitation, modes in [
            ("patient", {}, ["form"]),
            ("hasty", FORM | URL, ["form", "url"]),
            ("", URL, ["url"]),
        ]:
            peer.about, peer.capabilities = {"name": name, "version": "0"}, {"elicitation": elicitation}
            assert client_facts(peer, **TOKEN) == {"name": name, "modes": modes, "max_wait_s": 0}


def test_an_earlier_client_is_asked_to_open_a_page_in_a_request_of_its_own() -> None:
    asked: list[dict[str, Any]] = []

    def accept(params: dict[str, Any]) -> dict[str, Any]:
        methods.parse_server_request("elicitation/create", LEGACY, params)
        asked.append(params)
        return {"action": "accept"}

    with talking(LEGACY, capabilities={"elicitation": {"url": {}}}) as peer:
        peer.answers["elicitation/create"] = accept
        answer = peer.call("open_page")

    assert [{key: params[key] for key in params if key != "_meta"} for params in asked] == [
        {**PAGE, "elicitationId": "page-1"}
    ]
    assert json.loads(answer["content"][0]["text"]) == {"action": "accept"}


def test_a_modern_client_is_asked_to_open_a_page_as_an_input_request() -> None:
    with talking(MODERN, capabilities={"elicitation": {"url": {}}}) as peer:
        asked = peer.call("open_page")
        replies = {"page": {"action": "decline"}}
        answer = peer.call("open_page", inputResponses=replies, requestState=asked["requestState"])

    [(key, request)] = asked["inputRequests"].items()
    methods.parse_server_request("elicitation/create", LEGACY, request["params"] | {"elicitationId": "1"})
    assert (asked["resultType"], key) == ("input_required", "page")
    assert request == {"method": "elicitation/create", "params": PAGE}
    assert json.loads(answer["content"][0]["text"]) == {"action": "decline"}


def test_a_client_that_only_shows_forms_is_not_asked_to_open_a_page() -> None:
    with talking(LEGACY, capabilities={"elicitation": {"form": {}}}) as peer:
        refused = peer.call("open_page")
    with talking(MODERN, capabilities={"elicitation": {"form": {}}}) as peer:
        error = peer.response(peer.send("tools/call", name="open_page", arguments={}))["error"]

    assert "needs a client with elicitation.url" in refused["content"][0]["text"]
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}
