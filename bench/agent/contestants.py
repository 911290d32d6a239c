"""Ways to find tools: ours, FastMCP's search transforms, Anthropic's documented tool search, and a list of all tools.

All run in this process, without a network.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from math import log
from typing import Any, Final

from toolmason_runtime.discovery import style_for
from toolmason_runtime.discovery.functions import identifier
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.tokens import estimate_tokens

from bench.agent.policy import Answer, Contestant
from bench.agent.tasks import Tool
from bench.session import compact
from toolmason.catalogue.search_index import build_index  # noqa: TID251  as `toolmason generate` computes it

MAX_FOUND: Final = 5
"""Tools that Anthropic's tool search returns at most."""
_FUNCTION: Final = re.compile(r"^(?:# )?(\w+)(\(|: )")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")
MAX_SUMMARY: Final = 80


def _tokens(value: Any) -> int:
    return estimate_tokens(value if isinstance(value, str) else compact(value))


def catalogue_of(tools: Sequence[Tool]) -> Catalogue:
    """Return the catalogue of a server with these tools, as an import creates it: the summary is the first sentence."""
    categories = dict.fromkeys(tool.category.partition("/")[0] for tool in tools)
    return {
        "server": {
            "name": "tools",
            "title": "Tools",
            "version": "1",
            "package": "tools_server",
            "instructions": "",
            "page_size": 250,
            "lifespan": "",
        },
        "discovery": {"style": "search-call", "prefix": "", "pinned": [], "page_tokens": 1500, "split_calls": False},
        "categories": {name: {"module": "tools", "summary": "", "tags": []} for name in categories},
        "tools": {tool.name: _entry(tool) for tool in tools},
    }


def _entry(tool: Tool) -> ToolEntry:
    text = " ".join(tool.description.split())
    return {
        "tool": tool.definition,
        "summary": _SENTENCE.split(text)[0].rstrip(".")[:MAX_SUMMARY] or tool.name,
        "category": tool.category.partition("/")[0],
        "complexity": "simple",
        "tier": "core",
        "keywords": [],
        "use_cases": [],
        "related": [],
        "examples": [],
    }


class Ours:
    """A generated server in the style `search-call` or `code`, without `semantic.postings`."""

    takes_pattern = False

    def __init__(self, catalogue: Catalogue, style: str) -> None:
        data = build_index(catalogue)
        self.name = f"toolmason, {style}"
        self._style = style_for(catalogue, Selection(style), lambda: dict(data))
        self.surface = _tokens([_visible(tool) for tool in self._style.listed()])
        self._is_code = style == "code"
        self._ran: list[str] = []

    async def search(self, query: str) -> Answer:
        """Search once."""
        text, tokens = await self._ask(query)  # notes on the query may follow the answer
        if self._is_code:
            found = [match for line in text.splitlines() if (match := _FUNCTION.match(line))]
            shown = tuple(self._names[name] for match in found if (name := match[1]) in self._names)
            described = frozenset(self._names[match[1]] for match in found if match[2] == "(")
            return Answer(tokens, shown, described & frozenset(shown))
        results = json.loads(text).get("results", [])
        described = frozenset(result["tool_name"] for result in results if "signature" in result)
        return Answer(tokens, tuple(result["tool_name"] for result in results), described)

    async def look_up(self, tool: str) -> int:
        """Search for the tool's name."""
        return (await self._ask(tool))[1]

    async def call(self, tool: str) -> bool:
        """Call through the meta-tool; programs of the style `code` name the same tools."""
        if self._is_code:
            return self._style.index.get(tool) is not None
        await self._style.call("call", {"tool_name": tool, "args": {}}, self._run)
        return self._ran[-1:] == [tool]

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The tools by the names of their functions."""
        return {identifier(name): name for name in self._style.index.tools}

    async def _ask(self, query: str) -> tuple[str, int]:
        sent = {"query": query}
        result = await self._style.call("search", sent, self._run)
        text = "\n".join(block["text"] for block in result["content"])
        return str(result["content"][0]["text"]), _tokens(sent) + _tokens(text)

    async def _run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  no tool has effects
        self._ran.append(name)
        return {"content": [{"type": "text", "text": "done"}]}


def _visible(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a listed tool that a model sees."""
    return {key: value for key, value in tool.items() if key != "_meta"}


class FastMcp:
    """A FastMCP server with a search transform, called by its client in memory."""

    def __init__(self, client: Any, name: str, surface: int, *, takes_pattern: bool) -> None:
        self.name = name
        self.takes_pattern = takes_pattern
        self.surface = surface
        self._client = client

    async def search(self, query: str) -> Answer:
        """Search once. An answer has whole definitions."""
        sent = {"pattern" if self.takes_pattern else "query": query}
        result = await self._client.call_tool("search_tools", sent)
        text = "\n".join(block.text for block in result.content)
        shown = tuple(tool["name"] for tool in json.loads(text or "[]"))
        return Answer(_tokens(sent) + _tokens(text), shown, frozenset(shown))

    async def look_up(self, tool: str) -> int:  # noqa: ARG002  never needed
        """Return 0: definitions are whole."""
        return 0

    async def call(self, tool: str) -> bool:
        """Call through the meta-tool."""
        result = await self._client.call_tool("call_tool", {"name": tool, "arguments": {}})
        return [block.text for block in result.content] == [tool]


@asynccontextmanager
async def fastmcp_contestants(tools: Sequence[Tool]) -> AsyncIterator[list[Contestant]]:
    """Open both search transforms of FastMCP with their defaults."""
    from fastmcp import Client, FastMCP, __version__
    from fastmcp.server.transforms.search import BM25SearchTransform, RegexSearchTransform
    from fastmcp.tools.base import Tool as FastMcpTool
    from fastmcp.tools.base import ToolResult

    class Named(FastMcpTool):  # type: ignore[misc, unused-ignore]  # without FastMCP, its types are unknown
        async def run(self, arguments: dict[str, Any]) -> Any:  # noqa: ARG002  no tool has effects
            return ToolResult(content=self.name)

    served = [Named(name=tool.name, description=tool.description, parameters=tool.parameters) for tool in tools]
    bm25 = FastMCP("tools", tools=served, transforms=[BM25SearchTransform()])
    regex = FastMCP("tools", tools=served, transforms=[RegexSearchTransform()])
    async with Client(bm25) as one, Client(regex) as other:
        surfaces = [
            _tokens([_visible(tool.model_dump(mode="json", by_alias=True, exclude_none=True)) for tool in listed])
            for listed in (await one.list_tools(), await other.list_tools())
        ]
        yield [
            FastMcp(one, f"FastMCP {__version__}, BM25", surfaces[0], takes_pattern=False),
            FastMcp(other, f"FastMCP {__version__}, regex", surfaces[1], takes_pattern=True),
        ]


class ToolSearchTool:
    """Anthropic's tool search tool, as documented: names, descriptions, argument names and their descriptions.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool (November 2026): a pattern of at
    most 200 characters for `re.search`, or BM25; up to five tools, whose whole definitions the model then sees. The
    tokenizer and the constants of BM25 are not documented; here, words are runs of letters and digits, k1 = 1.2,
    b = 0.75. The first matches of a pattern are those that come first in the list. The tokens of the search tool are
    those of its declaration alone: its description is not documented.
    """

    def __init__(self, tools: Sequence[Tool], *, takes_pattern: bool) -> None:
        kind = "regex" if takes_pattern else "bm25"
        self.name = f"Anthropic's tool search, {'regex' if takes_pattern else 'BM25'}"
        self.takes_pattern = takes_pattern
        self.surface = _tokens([{"type": f"tool_search_tool_{kind}_20251119", "name": f"tool_search_tool_{kind}"}])
        self._tools = {tool.name: tool for tool in tools}
        self._texts = {tool.name: _searched_text(tool) for tool in tools}
        self._index = _Bm25(self._texts)

    async def search(self, query: str) -> Answer:
        """Search once; the definitions of the found tools are added to the context."""
        if self.takes_pattern:
            pattern = re.compile(query)
            found = [name for name, text in self._texts.items() if pattern.search(text)][:MAX_FOUND]
        else:
            found = self._index.search(query)[:MAX_FOUND]
        references = [{"type": "tool_reference", "tool_name": name} for name in found]
        definitions = [self._tools[name].definition for name in found]
        sent = {"pattern" if self.takes_pattern else "query": query}
        return Answer(_tokens(sent) + _tokens(references) + _tokens(definitions), tuple(found), frozenset(found))

    async def look_up(self, tool: str) -> int:  # noqa: ARG002  never needed
        """Return 0: definitions are whole."""
        return 0

    async def call(self, tool: str) -> bool:
        """Return whether there is this tool."""
        return tool in self._tools


def _searched_text(tool: Tool) -> str:
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    texts = (text for name, part in properties.items() for text in (name, str(part.get("description", ""))))
    return " ".join((tool.name, tool.description, *texts))


class _Bm25:
    """Okapi BM25."""

    K1 = 1.2
    B = 0.75

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._counts = {name: Counter(self._words(text)) for name, text in texts.items()}
        self._lengths = {name: sum(counts.values()) for name, counts in self._counts.items()}
        self._average = sum(self._lengths.values()) / max(1, len(texts))
        self._having: dict[str, list[str]] = {}
        for name, counts in self._counts.items():
            for word in counts:
                self._having.setdefault(word, []).append(name)

    def search(self, query: str) -> list[str]:
        """Return the tools with a word of the query, best first."""
        scores: dict[str, float] = {}
        for word in self._words(query):
            names = self._having.get(word, ())
            weight = log(1 + (len(self._counts) - len(names) + 0.5) / (len(names) + 0.5))
            for name in names:
                count = self._counts[name][word]
                norm = 1 - self.B + self.B * self._lengths[name] / self._average
                scores[name] = scores.get(name, 0.0) + weight * count * (self.K1 + 1) / (count + self.K1 * norm)
        return sorted(scores, key=lambda name: -scores[name])

    @staticmethod
    def _words(text: str) -> list[str]:
        return re.findall(r"[^\W_]+", text.lower())


class Everything:
    """A list of all tools."""

    name = "list of all tools"
    takes_pattern = False

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._names = frozenset(tool.name for tool in tools)
        self._order = tuple(tool.name for tool in tools)
        self.surface = _tokens([tool.definition for tool in tools])

    async def search(self, query: str) -> Answer:  # noqa: ARG002  all tools are known
        """Return all tools, which the context contains."""
        return Answer(0, self._order, self._names)

    async def look_up(self, tool: str) -> int:  # noqa: ARG002  never needed
        """Return 0: definitions are whole."""
        return 0

    async def call(self, tool: str) -> bool:
        """Return whether there is this tool."""
        return tool in self._names


@asynccontextmanager
async def contestants(tools: Sequence[Tool], *, with_fastmcp: bool) -> AsyncIterator[list[Contestant]]:
    """Open all contestants with the same tools."""
    catalogue = catalogue_of(tools)
    own: list[Contestant] = [Ours(catalogue, "search-call"), Ours(catalogue, "code")]
    others: list[Contestant] = [
        ToolSearchTool(tools, takes_pattern=False),
        ToolSearchTool(tools, takes_pattern=True),
        Everything(tools),
    ]
    if not with_fastmcp:
        yield [*own, *others]
        return
    async with fastmcp_contestants(tools) as theirs:
        yield [*own, *theirs, *others]
