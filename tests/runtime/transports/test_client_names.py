"""The names that a client gets depend on the name that it sends; both forms can be called in every session."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from oracle import LEGACY, MODERN
from quiet_context import QuietContext
from stdio_peer import Peer
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.client_table import CLIENTS
from toolmason_runtime.shared.engines import ENGINES
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import STYLES

from workbench_server.catalogue import CATALOGUE
from workbench_server.server import load_index

PREFIX = "workbench_"
BARE = (
    *("claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "opencode", "Visual Studio Code - Insiders"),
    *("Cline", "github-copilot-developer", "qwen-code-mcp-client", "cursor-vscode"),
)
PREFIXED = ("continue-cli-client", "mcp", "someone else", "")
METAS = ("search", "call", "call_read")


class Client(QuietContext):
    """One request of a client with a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.client_name = name


def ask(dispatcher: Dispatcher, client: str, method: str, **params: Any) -> dict[str, Any]:
    return asyncio.run(dispatcher.dispatch(method, params, Client(client)))


def names(dispatcher: Dispatcher, client: str) -> list[str]:
    return [tool["name"] for tool in ask(dispatcher, client, "tools/list")["tools"]]


@pytest.mark.parametrize("style", STYLES)
def test_a_client_sees_the_prefix_unless_it_adds_one(style: str) -> None:
    dispatcher = Dispatcher(CATALOGUE, selection=Selection(style), load_index=load_index)
    bare = names(dispatcher, BARE[0])

    assert not any(name.startswith(PREFIX) for name in bare)
    for client in BARE:
        assert names(dispatcher, client) == bare
        assert not dispatcher.names_for(client).is_prefixed
    for client in PREFIXED:
        assert names(dispatcher, client) == [PREFIX + name for name in bare]
        assert dispatcher.names_for(client).shown("search") == "workbench_search"


@pytest.mark.parametrize("client", ["claude-code", "mcp"])
@pytest.mark.parametrize("style", STYLES)
def test_both_forms_of_a_name_can_be_called(style: str, client: str) -> None:
    dispatcher = Dispatcher(CATALOGUE, selection=Selection(style), load_index=dict)
    for name in names(dispatcher, BARE[0])[:3]:
        results = [
            ask(dispatcher, client, "tools/call", name=form, arguments={"limit": "x", "tool_name": 5, "offset": "x"})
            for form in (name, PREFIX + name)
        ]
        assert results[0] == results[1]


@pytest.mark.parametrize("client", ["claude-code", "mcp"])
@pytest.mark.parametrize(
    ("style", "meta"),
    [
        *(("search-call", meta) for meta in ("call", "call_read")),
        *(("list-describe", meta) for meta in ("call_tool", "get_tool_description")),
        *(("discover-schema", meta) for meta in ("call_tool", "get_tool_schema")),
    ],
)
def test_a_meta_tool_takes_both_forms_of_a_name(style: str, meta: str, client: str) -> None:
    dispatcher = Dispatcher(CATALOGUE, selection=Selection(style), load_index=dict)
    for name in ("query_codebase", "trace_feature_tool", "propose_and_review"):
        results = [
            ask(dispatcher, client, "tools/call", name=meta, arguments={"tool_name": form})
            for form in (name, PREFIX + name)
        ]
        assert results[0] == results[1]
    unknown = ask(dispatcher, client, "tools/call", name=meta, arguments={"tool_name": f"{PREFIX}nothing"})
    assert unknown["isError"]
    assert f"{PREFIX}nothing" in unknown["content"][0]["text"]


@pytest.mark.parametrize(("client", "prefix"), [("claude-code", ""), ("mcp", PREFIX)])
def test_texts_of_an_answer_name_the_tools_that_the_client_sees(client: str, prefix: str) -> None:
    dispatcher = Dispatcher(CATALOGUE, load_index=load_index)
    found = ask(dispatcher, client, "tools/call", name="search", arguments={"query": "read files", "limit": 1})
    refused = ask(
        dispatcher, client, "tools/call", name="call_read", arguments={"tool_name": "commit_review", "args": {}}
    )

    assert f"Run with {prefix}call_read." in found["content"][0]["text"]
    assert f"run it with `{prefix}call`" in refused["content"][0]["text"]


@contextmanager
def workbench(name: str, era: str, *arguments: str) -> Iterator[Peer]:
    peer = Peer([sys.executable, "-m", "workbench_server", *arguments], era, name=name)
    try:
        peer.open()
        yield peer
    finally:
        peer.close()


def listed(peer: Peer) -> list[str]:
    return [tool["name"] for tool in peer.result("tools/list")["tools"]]


@pytest.mark.parametrize("engine", ["boot", *ENGINES])
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize(("name", "prefix"), [("claude-code", ""), ("mcp", PREFIX)])
def test_all_engines_read_the_name_of_the_client(name: str, prefix: str, era: str, engine: str) -> None:
    with workbench(name, era, *([] if engine == "boot" else ["--engine", engine])) as peer:
        assert listed(peer) == [prefix + meta for meta in METAS]


@pytest.mark.parametrize(
    ("name", "flag", "shown"), [("mcp", "home_", "home_"), ("mcp", "", ""), ("claude-code", "home_", "")]
)
def test_the_flag_changes_the_prefix(name: str, flag: str, shown: str) -> None:
    with workbench(name, LEGACY, "--prefix", flag) as peer:
        assert listed(peer) == [shown + meta for meta in METAS]


def test_the_table_has_no_client_of_these_tests_by_accident() -> None:
    assert not {"mcp", "someone else", ""} & CLIENTS.keys()
