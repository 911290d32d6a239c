"""Search the tools of any MCP server: with our ranking, or with a search tool of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.placeholders import escape_placeholders
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.audit.server_address import AddressError, is_url, redact_address, split_command
from toolmason.audit.server_lists import ServerError
from toolmason.evaluation.queries import Query
from toolmason.importers.design.texts import summary_from

MAX_HITS: Final = 10
"""Results that a search tool with a limit is asked for, as many as the deepest recall needs."""
MAX_ERROR: Final = 200
"""Maximum characters of an answer in an error."""
MAX_DEPTH: Final = 5
"""Maximum depth of the list of results in an answer, and of the parameters that are searched."""
QUERY_NAMES: Final = ("query", "q", "queries", "search", "search_query", "text", "prompt", "task", "intent", "keywords")
"""Usual names of the argument for a query."""
LIMIT_NAMES: Final = ("limit", "max_results", "maxResults", "top_k", "topK", "k", "n", "num_results")
"""Usual names of the argument for the number of results."""
RESULT_KEYS: Final = ("results", "result", "tools", "matches", "hits", "items")
"""Usual keys of the results in an answer."""
NAME_KEYS: Final = ("name", "tool_name", "toolName", "tool")
"""Usual keys of the name of a tool in a result."""
_TOKEN: Final = re.compile(r"[\w.:/-]+")
"""A text that may be the name of a tool."""


class OtherServerError(Exception):
    """The server cannot be evaluated."""


def list_server(address: str, *, headers: Mapping[str, str], timeout_s: float) -> Catalogue:
    """Return the tools of a server as a catalogue, in which names and descriptions are those that it lists.

    Args:
        address: a URL, or a command line in shell syntax, which runs without a shell.
        headers: headers for a URL.
        timeout_s: seconds for the server to start and answer.

    Raises:
        OtherServerError: it does not answer, or has no tools.
    """
    from toolmason.audit.mcp_client import list_tools

    server = _server(address)
    try:
        tools = list_tools(server, headers=headers, timeout_s=timeout_s)
    except ServerError as error:
        raise _failure(address, error) from error
    if not tools:
        raise OtherServerError(f"server {quoted(redact_address(address))}: it lists no tools")
    return catalogue_of(tools)


def catalogue_of(tools: Sequence[Mapping[str, Any]]) -> Catalogue:
    """Return a catalogue of tools as in the result of `tools/list`."""
    entries = {tool["name"]: _entry(tool) for tool in tools}
    return {
        "server": {
            "name": "",
            "title": "",
            "version": "",
            "package": "",
            "instructions": "",
            "page_size": 0,
            "lifespan": "",
        },
        "discovery": {"style": "search-call", "prefix": "", "pinned": [], "page_tokens": 1500, "split_calls": False},
        "categories": {},
        "tools": entries,
    }


def _entry(tool: Mapping[str, Any]) -> ToolEntry:
    description = escape_placeholders(str(tool.get("description") or ""))
    wire = {"name": tool["name"], "description": description, "inputSchema": _searched(tool.get("inputSchema"))}
    if title := tool.get("title"):
        wire["title"] = str(title)
    return {
        "tool": wire,
        "summary": summary_from(description, str(tool.get("title") or "")),
        "category": "",
        "complexity": "simple",
        "tier": "core",
        "keywords": [],
        "use_cases": [],
        "related": [],
        "examples": [],
    }


def _searched(schema: Any, levels: int = MAX_DEPTH) -> dict[str, Any]:
    """Return the parts of a schema that are searched. Another server may send any value in their place."""
    if not isinstance(schema, dict) or not levels:
        return {}
    properties, values = schema.get("properties"), schema.get("enum")
    parts = {
        "properties": properties
        and isinstance(properties, dict)
        and {name: _searched(part, levels - 1) for name, part in properties.items()},
        "items": isinstance(schema.get("items"), dict) and _searched(schema["items"], levels - 1),
        "enum": values if isinstance(values, list) else None,
        "description": schema.get("description"),
    }
    return {key: part for key, part in parts.items() if part}


def ask_search_tool(
    address: str, search_tool: str, queries: Sequence[Query], *, headers: Mapping[str, str], timeout_s: float
) -> dict[str, list[str]]:
    """Return the names of the tools that the server's own search finds for the text of each query, best first.

    Args:
        address: as for `list_server`.
        search_tool: the name of the tool, with `:ARGUMENT` if the argument for the text has an unusual name.
        queries: the queries.
        headers: headers for a URL.
        timeout_s: seconds for the server to start, and for each search.

    Raises:
        OtherServerError: the server does not answer, has no such tool, or no answer contains the name of a tool.
    """
    from toolmason.audit.mcp_client import call_tool

    def arguments_for(tools: Sequence[Mapping[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
        name, argument, others = _parse_search_tool(search_tool, tools)
        return name, [{**others, argument: query.text} for query in queries]

    try:
        tools, results = call_tool(_server(address), arguments_for, headers=headers, timeout_s=timeout_s)
    except ServerError as error:
        raise _failure(address, error) from error
    if all(result.get("isError") for result in results):
        text = " ".join(_text(results[0]).split())[:MAX_ERROR]
        raise OtherServerError(f"each search with {quoted(search_tool)} failed: {text}")
    known = {*(tool["name"] for tool in tools), *(name for query in queries for name in query.tools)}
    hits = {query.text: found_names(result, known) for query, result in zip(queries, results, strict=True)}
    if not any(hits.values()):
        text = " ".join(_text(results[0]).split())[:MAX_ERROR]
        raise OtherServerError(f"the answers of {quoted(search_tool)} contain no name of a tool, such as: {text}")
    return hits


def _parse_search_tool(spec: str, tools: Sequence[Mapping[str, Any]]) -> tuple[str, str, dict[str, Any]]:
    """Return the names of the search tool and of the argument for a query, and the other arguments."""
    names = [tool["name"] for tool in tools]
    name, argument = (spec, "") if spec in names else (spec.rpartition(":")[0] or spec, spec.rpartition(":")[2])
    if name not in names:
        hint = did_you_mean(name, names) or f"available: {', '.join(names[:8]) or 'none'}"
        raise OtherServerError(f"the server has no tool {quoted(name)}; {hint}")
    schema = next(tool for tool in tools if tool["name"] == name).get("inputSchema") or {}
    properties = schema.get("properties") or {}
    if not argument:
        required = [key for key in schema.get("required") or () if _is_text(properties.get(key))]
        usual = [key for key in QUERY_NAMES if _is_text(properties.get(key))]
        argument = next(iter([*usual, *required]), "")
    if argument not in properties:
        found = ", ".join(properties) or "none"
        raise OtherServerError(
            f"which argument of {quoted(name)} is the query? Write `--search-tool {name}:ARGUMENT`; it has: {found}"
        )
    limit = next((key for key in LIMIT_NAMES if key in properties and key != argument), "")
    most = properties[limit].get("maximum", MAX_HITS) if limit else MAX_HITS
    return name, argument, {limit: int(min(most, MAX_HITS))} if limit else {}


def _is_text(schema: Any) -> bool:
    kinds = schema.get("type", "string") if isinstance(schema, dict) else ""
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def found_names(result: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Return the names of the tools in the answer of a search, in its order.

    They are in a list of objects with a name, as JSON; otherwise in a text, where only `known` names are recognized.
    """
    if result.get("isError"):
        return []
    text = _text(result)
    data = result.get("structuredContent")
    if data is None:
        with suppress(ValueError, RecursionError):
            data = json.loads(text)
    listed = None if data is None else _names_in(data)
    if listed is None:
        listed = [name for token in _TOKEN.findall(text) if (name := token.strip(".:/-")) in known]
    return list(dict.fromkeys(listed))


def _names_in(data: Any) -> list[str] | None:
    """Return the names in the outermost list of objects with names, or of a key such as `results`; None without one."""
    level = [data]
    for _ in range(MAX_DEPTH):
        for part in level:
            lists = [part] if isinstance(part, list) else []
            if isinstance(part, dict):
                lists = [part[key] for key in RESULT_KEYS if isinstance(part.get(key), list)]
            for items in lists:
                names = [_name_of(item) for item in items]
                if (not items and isinstance(part, dict)) or any(names):
                    return [name for name in names if name]
        nested = [list(part.values()) if isinstance(part, dict) else part for part in level]
        level = [item for items in nested if isinstance(items, list) for item in items]
    return None


def _name_of(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    return next((name for key in NAME_KEYS if isinstance(name := item.get(key), str)), "")


def _text(result: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in result.get("content") or () if isinstance(block.get("text"), str))


def _server(address: str) -> str | list[str]:
    try:
        return address if is_url(address) else split_command(address)
    except AddressError as error:
        raise OtherServerError(f"--server must be a command line or a URL, not {quoted(address)}: {error}") from None


def _failure(address: str, error: ServerError) -> OtherServerError:
    output = "".join(f"\n  | {line}" for line in error.stderr_tail.splitlines())
    stderr = f"; its stderr:{output}" if output else ""
    advice = f"\n{error.advice}" if error.advice else ""
    return OtherServerError(f"server {quoted(redact_address(address))}: {' '.join(str(error).split())}{stderr}{advice}")
