"""Pages beside the results of tools (MCP Apps): only for clients that declare them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from toolmason_runtime import ToolError, show_page
from toolmason_runtime.calls.principal import Principal
from toolmason_runtime.server.apps import MAX_ACTION_CHARS, Apps, shows_pages

UI = "io.modelcontextprotocol/ui"
CSS = "text/html;profile=mcp-app"
LISTED: list[Any] = [{"name": "search"}, {"name": "show", "_meta": {"a": 1}}]


def page() -> str:
    return "<!doctype html><title>Notes</title>"


async def slow_page() -> str:
    return page()


async def act(arguments: dict[str, Any], call: Any) -> Any:
    match arguments:
        case {"fail": "user"}:
            raise ToolError("Ask the user", code="X")
        case {"fail": "defect"}:
            raise KeyError("secret")
        case {"fail": "type"}:
            return {"a": {1, 2}}
    return {"asked": arguments, "call": call}


async def new_call(name: str, context: Any) -> Any:  # noqa: ARG001  the signature of the dispatcher
    return f"call of {name}"


def apps(served: Any = None, **entry: str) -> Apps:
    """Return the pages of a server with the tool `show`, or with the `served` ones alone."""
    here = __name__
    import sys

    sys.modules.setdefault("pages_of_a_test", sys.modules[here])
    entries = {"show": {"page": "pages_of_a_test:page", "action": "pages_of_a_test:act", **entry}}
    tools: Any = {"show": {}} if served is None else served
    return Apps(cast("Any", {"server": {"name": "notes"}, "apps": entries}), new_call, tools.get)


def client(extensions: Any) -> Any:
    return SimpleNamespace(capabilities={"extensions": extensions} if extensions is not None else {})


PAGES = client({UI: {"mimeTypes": [CSS]}})


@pytest.mark.parametrize(
    ("extensions", "shows"),
    [
        ({UI: {"mimeTypes": [CSS]}}, True),
        ({UI: {}}, True),
        ({UI: {"mimeTypes": ["text/html"]}}, False),
        ({UI: {"mimeTypes": CSS}}, False),
        ({UI: {"mimeTypes": None}}, False),
        ({UI: None}, False),
        ({UI: [CSS]}, False),
        ({"other": {}}, False),
        ([UI], False),
        (None, False),
    ],
)
def test_only_clients_that_declare_pages_get_them(extensions: Any, shows: bool) -> None:
    assert shows_pages(client(extensions)) is shows


def test_a_request_without_a_client_gets_no_page() -> None:
    assert not shows_pages(cast("Any", object()))


def test_the_tool_is_listed_once_with_its_page_and_its_other_data() -> None:
    tools: Any = apps().with_pages(LISTED, lambda name: cast("Any", {"name": name}))

    assert [tool["name"] for tool in tools] == ["search", "show", "show-page"]
    assert tools[1]["_meta"] == {"a": 1, "ui": {"resourceUri": "ui://notes/show"}}
    assert tools[2]["_meta"]["ui"]["visibility"] == ["app"]
    assert LISTED[1]["_meta"] == {"a": 1}


def test_an_unlisted_tool_is_added_and_one_that_is_not_served_is_not() -> None:
    added = apps().with_pages([], lambda name: cast("Any", {"name": name}))

    assert [tool["name"] for tool in added] == ["show", "show-page"]
    assert apps().with_pages([], lambda _: None) == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"fail": "user"}, "Ask the user"),
        ({"fail": "defect"}, ""),
        ({"fail": "type"}, ""),
        ({"text": "x" * MAX_ACTION_CHARS}, "The request of the page is too large"),
    ],
)
def test_a_failure_of_the_action_is_a_result_without_its_cause(arguments: dict[str, Any], text: str) -> None:
    result: Any = asyncio.run(apps().act("show-page", arguments, PAGES))

    assert result["isError"]
    assert text in result["content"][0]["text"]
    assert "secret" not in result["content"][0]["text"]


def test_the_action_gets_the_arguments_and_the_call() -> None:
    result: Any = asyncio.run(apps().act("show-page", {"a": 1}, PAGES))

    assert result["structuredContent"] == {"asked": {"a": 1}, "call": "call of show"}


def test_the_action_needs_the_scopes_of_its_tool() -> None:
    tool = {"tool": {"name": "show"}, "scopes": ["notes:write"]}
    for principal in (None, Principal(subject="eve", scopes=frozenset({"notes:read"}))):
        request = SimpleNamespace(capabilities=PAGES.capabilities, is_local=False, principal=principal)
        result: Any = asyncio.run(apps({"show": tool}).act("show-page", {"a": 1}, cast("Any", request)))
        assert result["isError"]
        assert "needs the scope `notes:write`" in result["content"][0]["text"]

    request.principal = Principal(subject="ada", scopes=frozenset({"notes:write"}))
    result = asyncio.run(apps({"show": tool}).act("show-page", {"a": 1}, cast("Any", request)))
    assert result["structuredContent"]["asked"] == {"a": 1}


def test_a_tool_that_is_not_served_has_no_page_and_one_that_is_disabled_has_no_action() -> None:
    without = apps({})
    assert not without.is_action("show-page", PAGES)
    assert not without.has_page("show", PAGES)
    assert asyncio.run(without.read("ui://notes/show")) is None

    disabled = {"show": {"tool": {"name": "show"}, "enabled": False}}
    result: Any = asyncio.run(apps(disabled).act("show-page", {}, PAGES))
    assert "show is disabled" in result["content"][0]["text"]


@pytest.mark.parametrize("name", ["show", "show-page-page", "-page", "search-page", "", None, 5, ["show-page"]])
def test_other_tools_are_no_action(name: Any) -> None:
    assert not apps().is_action(name, PAGES)


def test_an_action_is_unknown_to_other_clients_and_without_a_function() -> None:
    assert apps().is_action("show-page", PAGES)
    assert not apps().is_action("show-page", client({}))


@pytest.mark.parametrize("function", ["page", "slow_page"])
def test_a_page_is_read_by_its_address_alone(function: str) -> None:
    own = apps(page=f"pages_of_a_test:{function}")

    found: Any = asyncio.run(own.read("ui://notes/show"))

    assert found["contents"][0]["text"] == page()
    assert found["contents"][0]["mimeType"] == CSS
    for uri in ("ui://notes/show/", "ui://notes/../show", "ui://other/show", "UI://notes/show", None, 5, ["ui"]):
        assert asyncio.run(own.read(uri)) is None


def test_data_reaches_the_page_of_its_own_call_only() -> None:
    async def tool(data: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        return {"content": [], "_meta": {"a": 1}, "shown": show_page(data) if data else None}

    async def both() -> list[Any]:
        calls = [apps().run(tool({"day": 1})), apps().run(tool({"day": 2})), tool({"day": 3}), apps().run(tool({}))]
        return [*await asyncio.gather(*calls)]

    results = asyncio.run(both())

    assert [result["_meta"].get("toolmason/page") for result in results] == [{"day": 1}, {"day": 2}, None, None]
    assert [result["shown"] for result in results] == [True, True, False, None]
