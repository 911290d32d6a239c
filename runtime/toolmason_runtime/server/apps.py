"""MCP Apps: HTML pages that a client shows beside the results of tools, and the requests of these pages.

Only clients that declare `io.modelcontextprotocol/ui` see any of it: the tool of a page is listed with its page, the
tool of the page's requests is listed for the page alone (`visibility`), and `resources/read` returns the page.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.audit import events
from toolmason_runtime.calls.call import Context
from toolmason_runtime.calls.page import PAGE_DATA, current_page
from toolmason_runtime.discovery.results import error_result
from toolmason_runtime.server.failures import to_tool_error
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry, WireTool
from toolmason_runtime.shared.selection import is_enabled
from toolmason_runtime.shared.values.wording import disabled
from toolmason_runtime.wire.results import WireResult

if TYPE_CHECKING:
    from toolmason_runtime.server.surface_handlers import NewCall

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"
ACTION_SUFFIX: Final = "-page"
"""Suffix of the name of the tool for requests of a page. Names in manifests contain no hyphen, so it cannot clash."""
MAX_ACTION_CHARS: Final = 8 * 1024 * 1024
"""Maximum characters of the arguments in a request of a page."""


def shows_pages(context: Context) -> bool:
    """Return whether the client of a request shows pages."""
    extensions = getattr(context, "capabilities", {}).get("extensions")
    declared = extensions.get(EXTENSION) if isinstance(extensions, Mapping) else None
    if not isinstance(declared, Mapping):
        return False
    types = declared.get("mimeTypes", [MIME_TYPE])
    return isinstance(types, list) and MIME_TYPE in types


class Apps:
    """The pages of one server, by their tools.

    A page is as accessible as its tool: without the tool there is no page, and its requests need the same scopes.

    Args:
        catalogue: the pages, and the name of the server.
        new_call: makes the call of a request.
        served: returns the entry of a served tool; None for any other.
    """

    def __init__(self, catalogue: Catalogue, new_call: NewCall, served: Callable[[str], ToolEntry | None]) -> None:
        self._entries = catalogue.get("apps", {})
        self._server = catalogue["server"]["name"]
        self._new_call = new_call
        self._served = served

    def has_pages(self, context: Context) -> bool:
        """Return whether the client of a request shows pages."""
        return shows_pages(context)

    def has_page(self, tool: str, context: Context) -> bool:
        """Return whether the client shows a page beside the results of a tool that it calls by its own name."""
        return tool in self._entries and shows_pages(context) and self._served(tool) is not None

    def with_pages(self, listed: Sequence[WireTool], find: Callable[[str], WireTool | None]) -> Sequence[WireTool]:
        """Return the tools for a client that shows pages. `find` returns a served tool, as the client sees it."""
        tools = list(listed)
        for name, entry in self._entries.items():
            if (found := find(name)) is None:
                continue
            page = {"ui": {"resourceUri": self._uri(name)}}
            index = next((index for index, tool in enumerate(tools) if tool["name"] == found["name"]), len(tools))
            before: Any = tools[index] if index < len(tools) else found
            tools[index : index + 1] = [{**before, "_meta": {**before.get("_meta", {}), **page}}]
            if "action" in entry:
                tools.append(self._action_tool(name))
        return tools

    def is_action(self, tool: Any, context: Context) -> bool:
        """Return whether a call is a request of a page."""
        name = tool.removesuffix(ACTION_SUFFIX) if isinstance(tool, str) else ""
        has_action = tool != name and "action" in self._entries.get(name, {})
        return has_action and shows_pages(context) and self._served(name) is not None

    async def act(self, tool: str, arguments: Mapping[str, Any], context: Context) -> WireResult:
        """Return the result of a request of a page."""
        name = tool.removesuffix(ACTION_SUFFIX)
        events.note(kind="page", tool=name)
        try:
            entry = self._served(name)
            if entry is None or not is_enabled(entry):
                return error_result(disabled(name))
            if "scopes" in entry:
                from toolmason_runtime.calls.authorization import check_scopes

                check_scopes(entry, context)
            if len(json.dumps(arguments)) > MAX_ACTION_CHARS:
                return error_result("The request of the page is too large")
            function = _function(self._entries[name]["action"])
            result = await function(dict(arguments), await self._new_call(name, context))
            text = json.dumps(result, ensure_ascii=False)
        except (Exception, BaseExceptionGroup) as failure:  # noqa: BLE001  it is the result
            return error_result(to_tool_error(tool, failure).message)
        return {"content": [{"type": "text", "text": text}], "structuredContent": result}

    async def run(self, work: Awaitable[WireResult]) -> WireResult:
        """Return the result of a tool with the data for its page."""
        data: dict[str, Any] = {}
        token = current_page.set(data)
        try:
            result = await work
        finally:
            current_page.reset(token)
        return {**result, "_meta": {**result.get("_meta", {}), PAGE_DATA: data}} if data else result

    async def read(self, uri: Any) -> dict[str, Any] | None:
        """Return a page as the result of `resources/read`; None for another URI."""
        for name, entry in self._entries.items():
            if uri == self._uri(name) and self._served(name) is not None:
                page = _function(entry["page"])()
                html = await page if inspect.isawaitable(page) else page
                # An empty policy permits no domain; the client adds its own sandbox.
                about = {"ui": {"csp": {}, "prefersBorder": True}}
                return {"contents": [{"uri": uri, "mimeType": MIME_TYPE, "text": html, "_meta": about}]}
        return None

    def _uri(self, tool: str) -> str:
        return f"{SCHEME}{self._server}/{tool}"

    def _action_tool(self, tool: str) -> Any:
        return {
            "name": f"{tool}{ACTION_SUFFIX}",
            "description": f"Requests of the page of {tool}; not for models",
            "inputSchema": {"type": "object"},
            "_meta": {"ui": {"resourceUri": self._uri(tool), "visibility": ["app"]}},
        }


def _function(reference: str) -> Any:
    module, _, function = reference.partition(":")
    return getattr(importlib.import_module(module), function)
