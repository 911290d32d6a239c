"""Every name of a tool in a text of the server can be called, in each discovery style."""

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
ARGUMENT_NAMES = {"spec_only"}


class Server:
    """The generated server in one style, for a client with a person who approves."""

    def __init__(self, style: str, project: Path) -> None:
        self.style = style
        self.dispatcher = build_dispatcher(Selection(style), options=Options(root=(str(project),)))
        self.client = Client(capabilities={"elicitation": {}}, action="accept")

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
        runner = {"search-call": "call"}.get(self.style, "call_tool")
        key = {"search-call": "args"}.get(self.style, "arguments")
        return await self.call(runner, tool_name=tool, **{key: arguments})

    async def listed(self) -> set[str]:
        return {tool["name"] for tool in (await self.ask("tools/list"))["tools"]}


async def texts_of(server: Server) -> Mapping[str, str]:
    """Return all texts of a server for models, by their places."""
    texts = {"instructions": server.dispatcher.instructions("")}
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
    for name in CATALOGUE["tools"]:
        if server.style == "search-call":
            texts[f"found {name}"] = await server.call("search", query=name, limit=1)
        elif server.style == "list-describe" and CATALOGUE["tools"][name]["tier"] == "core":
            texts[f"described {name}"] = await server.call("get_tool_description", tool_name=name, full=True)
        elif server.style == "discover-schema" and CATALOGUE["tools"][name]["tier"] == "core":
            texts[f"schema {name}"] = await server.call("get_tool_schema", tool_name=name)
    return texts


def written_files(project: Path) -> dict[str, str]:
    """Return the content of each file."""
    return {path.name: path.read_text(encoding="utf-8") for path in project.rglob("*") if path.is_file()}


def _descriptions(value: Any, place: str) -> Iterator[tuple[str, str]]:
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "description" and isinstance(part, str):
            yield f"{place} {key}", part
        elif isinstance(part, dict | list):
            yield from _descriptions(part, f"{place} {key}")


async def is_callable(server: Server, name: str) -> bool:
    """Return whether the server knows the tool that a text names."""
    if name in META_TOOLS and name not in await server.listed():
        return False
    try:
        text = await server.run(name, **({} if name in META_TOOLS else {"no_such_argument": 1}))
    except MethodError:
        return False
    return not text.startswith(("Unknown tool", '{"error":"Tool not found'))


@pytest.mark.parametrize("style", STYLES)
def test_every_name_of_a_tool_in_a_text_can_be_called(style: str, tmp_path: Path) -> None:
    async def check() -> tuple[set[str], list[str], list[str]]:
        server = Server(style, tmp_path)
        texts = dict(await texts_of(server))
        await server.run("setup_workflows", workflows=["all"], host="claude-code")
        for name in ("spec-only", "feature", "refactor", "review", "debug"):
            await server.run("generate_slash_command", command_name=name, description="It helps.", workflow_type=name)
        await server.run("generate_feature_workflow", feature_description="Add a cache", workflow_style="template")
        texts |= await asyncio.to_thread(written_files, tmp_path)
        found = {name for text in texts.values() for name in WORD.findall(text) if name in NAMES}
        unknown = sorted([name for name in found if not await is_callable(server, name)])
        await server.dispatcher.aclose()
        return found, unknown, [place for place, text in texts.items() if has_placeholders(text)]

    found, unknown, unfilled = asyncio.run(check())

    assert unknown == []
    assert unfilled == []
    assert len(found & CATALOGUE["tools"].keys()) > 20
    assert (found & META_TOOLS == set()) is (style == "classic")


def test_every_text_of_the_manifest_is_a_text_that_the_server_fills() -> None:
    """A text that a server sends unfilled is found by its braces in `opening.json`, too."""
    package = Path(str(CATALOGUE["server"]["package"]))
    opening = (Path(__file__).parents[2] / "generated" / package / "opening.json").read_text(encoding="utf-8")

    assert not has_placeholders(json.dumps(json.loads(opening)))
