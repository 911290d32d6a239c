"""Every name of a tool in a text of the server can be called, in each discovery style, with a prefix or without."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.shared.placeholders import has_placeholders
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.shown_names import bare_name
from toolmason_runtime.shared.styles import STYLES
from workbench_room import Client

from workbench_server.catalogue import CATALOGUE
from workbench_server.options import Options
from workbench_server.server import build_dispatcher

WORD = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w./-])|(?<=`)[a-z_]+(?=`)")
"""A word with underscores, or one in back-quotes."""
META_TOOLS = {"search", "call", "call_read", "call_tool", "list_available_tools", "get_tool_description"} | {
    *("discover_tools", "get_tool_schema")
}
NAMES = {*META_TOOLS, "fetch_chunk", *CATALOGUE["tools"]}
NAMES |= {alias for entry in CATALOGUE["tools"].values() for alias in entry.get("aliases", ())}
PREFIX = CATALOGUE["discovery"]["prefix"]
CLIENTS = ("toolmason", "someone else")
"""A client that sees bare names, and one that sees names with the prefix."""


class Server:
    """The generated server in one style, for one client with a person who approves."""

    def __init__(self, style: str, project: Path, client: str) -> None:
        self.style = style
        self.dispatcher = build_dispatcher(Selection(style), options=Options(root=(str(project),)))
        self.client = Client(client_name=client, capabilities={"elicitation": {}}, action="accept")
        self.shown = self.dispatcher.names_for(client).shown

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.dispatcher.dispatch(method, params, self.client)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a listed tool; return the text of the result."""
        result = await self.ask("tools/call", name=tool, arguments=arguments)
        return "\n".join(block.get("text", "") for block in result["content"])

    async def run(self, tool: str, **arguments: Any) -> str:
        """Call any tool, as a model does: by a meta-tool if it is not listed."""
        if self.style == "classic" or tool in await self.listed():
            return await self.call(tool, **arguments)
        if self.style == "code":
            return await self.call(self.shown("run"), code=f"await {tool}(**{arguments!r})")
        runner = {"search-call": "call"}.get(self.style, "call_tool")
        key = {"search-call": "args"}.get(self.style, "arguments")
        return await self.call(self.shown(runner), tool_name=tool, **{key: arguments})

    async def listed(self) -> set[str]:
        return {tool["name"] for tool in (await self.ask("tools/list"))["tools"]}


async def texts_of(server: Server) -> Mapping[str, str]:
    """Return all texts of a server for models, by their places."""
    texts = {"instructions": server.dispatcher.instructions(server.client.client_name)}
    for tool in (await server.ask("tools/list"))["tools"]:
        texts |= dict(_descriptions(tool, tool["name"]))
    for prompt in (await server.ask("prompts/list"))["prompts"]:
        texts |= dict(_descriptions(prompt, prompt["name"]))
        arguments = {argument["name"]: "x" for argument in prompt.get("arguments", ())}
        for message in (await server.ask("prompts/get", name=prompt["name"], arguments=arguments))["messages"]:
            texts[f"prompt {prompt['name']}"] = message["content"].get("text", "")
    for method in ("resources/list", "resources/templates/list"):
        for key, entries in (await server.ask(method)).items():
            for entry in entries if key in {"resources", "resourceTemplates"} else ():
                texts |= dict(_descriptions(entry, entry["name"]))
    styles: Mapping[str, tuple[str, Mapping[str, Any]]] = {
        "search-call": ("search", {"limit": 1}),
        "list-describe": ("get_tool_description", {"full": True}),
        "discover-schema": ("get_tool_schema", {}),
        "classic": ("", {}),
        "code": ("search", {"limit": 1}),
    }
    meta, words = styles[server.style]
    for name, entry in CATALOGUE["tools"].items() if meta else ():
        if meta == "search" or entry["tier"] == "core":
            named = {"query" if meta == "search" else "tool_name": name}
            answer = await server.call(server.shown(meta), **named, **words)
            # The other texts are data: names for a meta-tool, which have no prefix.
            is_bare = server.shown(meta) == meta or server.style == "code"
            texts |= (
                {f"{meta} {name}": answer} if is_bare else dict(_descriptions(json.loads(answer), f"{meta} {name}"))
            )
    return texts


async def texts_of_files(server: Server, project: Path) -> Mapping[str, str]:
    """Let the server write workflows and commands, for clients that see bare names; return their texts."""
    await server.run("setup_workflows", workflows=["all"], host="claude-code")
    for name in ("spec-only", "feature", "refactor", "review", "debug"):
        await server.run("generate_slash_command", command_name=name, description="It helps.", workflow_type=name)
    await server.run("generate_feature_workflow", feature_description="Add a cache", workflow_style="template")
    return await asyncio.to_thread(written_files, project)


def written_files(project: Path) -> dict[str, str]:
    """Return the content of each file."""
    return {path.name: path.read_text(encoding="utf-8") for path in project.rglob("*") if path.is_file()}


def _descriptions(value: Any, place: str) -> Iterator[tuple[str, str]]:
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        if key in {"description", "hint", "note"} and isinstance(part, str):
            yield f"{place} {key}", part
        elif isinstance(part, dict | list):
            yield from _descriptions(part, f"{place} {key}")


async def is_callable(server: Server, name: str) -> bool:
    """Return whether the client and the server know the tool that a text names."""
    bare, listed = bare_name(name, PREFIX, NAMES), await server.listed()
    # The client knows a listed tool by its listed name only, and a meta-tool takes names without the prefix.
    if name not in listed and (bare in META_TOOLS or name != bare or server.shown(name) in listed):
        return False
    try:
        text = await server.run(name, **({} if bare in META_TOOLS else {"no_such_argument": 1}))
    except MethodError:
        return False
    return not text.startswith(("Unknown tool", '{"error":"Tool not found')) and "` is not defined" not in text


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("style", STYLES)
def test_every_name_of_a_tool_in_a_text_can_be_called(style: str, client: str, tmp_path: Path) -> None:
    async def check() -> tuple[set[str], list[str], list[str]]:
        server = Server(style, tmp_path, client)
        texts = dict(await texts_of(server))
        if client == CLIENTS[0]:
            texts |= await texts_of_files(server, tmp_path)
        words = {word for text in texts.values() for word in WORD.findall(text)}
        found = {word for word in words if bare_name(word, PREFIX, NAMES) in NAMES}
        unknown = sorted([name for name in found if not await is_callable(server, name)])
        await server.dispatcher.aclose()
        return found, unknown, [place for place, text in texts.items() if has_placeholders(text)]

    found, unknown, unfilled = asyncio.run(check())

    assert unknown == []
    assert unfilled == []
    bare = {bare_name(name, PREFIX, NAMES) for name in found}
    assert len(bare & CATALOGUE["tools"].keys()) > (20 if client == CLIENTS[0] else 12)
    assert (bare & META_TOOLS == set()) is (style == "classic")
    assert any(name.startswith(PREFIX) for name in found) is (client == CLIENTS[1])


def test_every_text_of_the_manifest_is_a_text_that_the_server_fills() -> None:
    """A text that a server sends unfilled is found by its braces in `opening.json`, too."""
    package = Path(str(CATALOGUE["server"]["package"]))
    opening = (Path(__file__).parents[2] / "generated" / package / "opening.json").read_text(encoding="utf-8")

    assert not has_placeholders(json.dumps(json.loads(opening)))
