"""Store a resolved server, and resolve only the tools that have been edited since.

The server is stored without its tools. Its key is the hash of everything that can change it: the other inputs of the
run, and the manifest without what affects only one tool (`edits.frames`). The key of a tool is that hash and
the hash of the tool's table. The ordinary stages resolve an edited tool, in a manifest with this tool and those that it
names. If that gives any finding, or the stored parts may depend on the edit, the whole manifest is resolved. So
findings are always those of a full run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.catalogue import ToolEntry

from toolmason.incremental.edits import frames, reduced
from toolmason.incremental.tools import KEPT_FIELDS, KEPT_KEYS, decode, encode, kept_tool, known_fields
from toolmason.manifest.document import Document
from toolmason.model.json_text import to_json
from toolmason.model.server import Category, Server
from toolmason.model.tool import Tool
from toolmason.write.content_cache import ContentCache

MAX_EDITED: Final = 20
"""Maximum number of edited tools that are resolved alone."""

BLOCK_TOOLS: Final = 50
"""Number of tools whose values are stored together. After an edit of one tool, they are computed again."""

Resolve = Callable[[Document], Server | None]
"""Returns the server of a manifest; None if there is any finding."""


@dataclass(slots=True)
class KeptServer:
    """The keys of one manifest in the store."""

    store: ContentCache
    key: str
    """Hash of everything that can change the server, except the values that affect only one tool."""
    tables: Mapping[str, str]
    """The hash of the table of each tool, by its name."""
    edited: tuple[str, ...] = field(default=(), init=False)
    """The tools that were resolved in this run: all tools, unless the stored server was used."""
    entry_texts: dict[str, str] = field(default_factory=dict, init=False)
    """The entries in the catalogue that were stored or read, each as JSON on one line, by the name of the tool."""
    file_keys: Sequence[tuple[PurePosixPath, str]] = field(default=(), init=False)
    """The path and the key of each file whose hash may be stored; empty before `files.kept_files`."""

    def server(self, document: Document, resolve: Resolve) -> Server | None:
        """Return the stored server with the edited tools of the manifest.

        None if there is none, or the edit may affect other parts.
        """
        stored = self.store.get(self._key)
        if stored is None:
            return None
        edited = [name for name in self.tables if not self.store.use(self._tool_key(name))]
        if len(edited) > MAX_EDITED:
            return None
        with suppress(ValueError, KeyError):
            server, known = decode(stored)
            if not all(self._has_known_fields(name, *known[name]) for name in self.tables if name not in edited):
                return None
            tools = _resolved(document, edited, resolve) if edited else {}
            if tools is None or any(known_fields(tool) != known[name][:2] for name, tool in tools.items()):
                return None
            for tool in tools.values():
                self._store_tool(tool, tool)
            self.edited = tuple(edited)
            return self._joined(server, known, tools)
        return None

    def keep(self, server: Server) -> None:
        """Store a server that was resolved without findings."""
        unfilled = server.unfilled or server
        known = {}
        for filled, tool in zip(server.tools, unfilled.tools, strict=True):
            known[tool.name] = (*known_fields(tool), filled is not tool, self.tables[tool.name])
            self._store_tool(filled, tool)
        copies = _CategoryCopies()
        without = replace(copies.without_tools(server), unfilled=copies.without_tools(unfilled))
        self.store[self._key] = encode((without, known))
        self.edited = tuple(self.tables)

    def category_key(self, category: Category) -> str:
        """Return the hash of everything that determines the files of a category: the server's key and its own tools."""
        return _hash([self.key, [self.tables[tool.name] for tool in category.tools]])

    def _has_known_fields(self, name: str, own: Any, keys: Any, differs: bool, table: str) -> bool:
        """Return whether the stored server and the stored tool agree: different runs may have stored them."""
        if table == self.tables[name]:
            return True
        pair = _StoredTool(self.store, self._tool_key(name))
        tool = pair.get(1)
        return known_fields(tool) == (own, keys) and (pair.get(0) is not tool) == differs

    def known(self) -> dict[str, ToolEntry]:
        """Return the stored entries in the catalogue: those of blocks in which no tool has changed."""
        known: dict[str, ToolEntry] = {}
        for names, key in self._blocks("entries", tuple(self.tables)):
            text = self.store.get(key)
            if text is not None:
                lines = text.split("\n")
                self.entry_texts.update(zip(names, lines, strict=True))
                known.update(zip(names, json.loads(f"[{','.join(lines)}]"), strict=True))
        return known

    def keep_entries(self, entries: Mapping[str, ToolEntry]) -> None:
        """Store the entries in the catalogue of all tools, each as JSON on one line."""
        for names, key in self._blocks("entries", tuple(self.tables)):
            if self.store.use(key):
                continue
            found = [entries[name] for name in names]
            lines = [to_json(entry) for entry in found]
            if json.loads(f"[{','.join(lines)}]") == found:  # JSON would turn tuples into lists.
                self.entry_texts.update(zip(names, lines, strict=True))
                self.store[key] = "\n".join(lines)

    def blocks(
        self, kind: str, tools: Sequence[str], make: Callable[[Sequence[str]], Any], /
    ) -> Iterator[tuple[Sequence[str], Any]]:
        """Implement `catalogue.blocks.Blocks`: only values of blocks with a changed tool are computed."""
        for names, key in self._blocks(kind, tools):
            stored = self.store.get(key)
            if stored is None:
                value = make(names)
                self.store[key] = json.dumps(value)
            else:
                value = json.loads(stored)
            yield names, value

    def _blocks(self, kind: str, tools: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
        """Yield the tools and the key of each block."""
        for start in range(0, len(tools), BLOCK_TOOLS):
            names = tools[start : start + BLOCK_TOOLS]
            yield names, f"{kind} {_hash([self.key, names, [self.tables[name] for name in names]])}"

    def category_text(self, category: Category, kind: str, make: Callable[[], str]) -> str:
        """Return the stored text of a category; if there is none, store and return that of `make`."""
        key = f"{kind} {category.name} {self.category_key(category)}"
        stored = self.store.get(key)
        if stored is not None:
            return str(json.loads(stored))
        text = make()
        self.store[key] = json.dumps(text)
        return text

    @property
    def _key(self) -> str:
        return f"server {self.key}"

    def _tool_key(self, name: str) -> str:
        return f"tool {self.key[:16]} {name} {self.tables[name]}"

    def _store_tool(self, filled: Tool, tool: Tool) -> None:
        self.store[self._tool_key(tool.name)] = encode((filled, tool))

    def _joined(self, server: Server, known: Mapping[str, Any], edited: Mapping[str, Tool]) -> Server:
        filled: dict[str, Tool] = {}
        own: dict[str, Tool] = {}
        for name, (values, keys, differs, _table) in known.items():
            if name in edited:
                filled[name] = own[name] = edited[name]
                continue
            pair = _StoredTool(self.store, self._tool_key(name))
            own[name] = kept_tool(values, keys, partial(pair.get, 1))
            filled[name] = kept_tool(values, keys, partial(pair.get, 0)) if differs else own[name]
        unfilled = server.unfilled or server
        copies = _CategoryCopies()
        return replace(copies.with_tools(server, filled), unfilled=copies.with_tools(unfilled, own))


class _StoredTool:
    """A stored tool in two forms: with filled placeholders, and as in the manifest."""

    def __init__(self, store: ContentCache, key: str) -> None:
        self._store = store
        self._key = key
        self._tools: tuple[Tool, Tool] | None = None

    def get(self, form: int) -> Tool:
        if self._tools is None:
            text = self._store.get(self._key)
            if text is None:  # The key was looked up before.
                raise KeyError(self._key)
            self._tools = decode(text)
        return self._tools[form]


class _CategoryCopies:
    """Copies servers with other tools in their categories. Two servers that share a category share its copy."""

    def __init__(self) -> None:
        self._done: dict[int, Category] = {}

    def without_tools(self, server: Server) -> Server:
        """Return a server whose categories have the names of their tools in place of the tools."""
        return self._copied(server, lambda category: tuple(tool.name for tool in category.tools))

    def with_tools(self, server: Server, tools: Mapping[str, Tool]) -> Server:
        """Return a server whose categories have `tools` in place of their names."""
        return self._copied(server, lambda category: tuple(tools[str(name)] for name in category.tools))

    def _copied(self, server: Server, tools_of: Callable[[Category], Any]) -> Server:
        categories = []
        for category in server.categories:
            if id(category) not in self._done:
                self._done[id(category)] = replace(category, tools=tools_of(category))
            categories.append(self._done[id(category)])
        return replace(server, categories=tuple(categories))


def _resolved(document: Document, names: list[str], resolve: Resolve) -> dict[str, Tool] | None:
    small = reduced(document, names)
    server = resolve(small) if small else None
    tools = {tool.name: tool for tool in server.tools} if server else {}
    return {name: tools[name] for name in names} if tools else None


def keep(document: Document, store: ContentCache, others: str) -> KeptServer | None:
    """Return the keys of a manifest; None if it cannot be stored. `others` is the hash of the other inputs."""
    tools = document.data.get("tools")
    if not isinstance(tools, dict):
        return None
    # JSON has no dates. A manifest with dates is rare; it is not stored.
    with suppress(TypeError, ValueError, RecursionError):
        texts = {name: json.dumps(table) for name, table in tools.items()}
        rest = {key: value for key, value in document.data.items() if key != "tools"}
        key = _hash([others, KEPT_FIELDS, KEPT_KEYS, [*document.data], rest, frames(document)])
        return KeptServer(store, key, {name: _hash_text(text) for name, text in texts.items()})
    return None


def _hash(value: Any) -> str:
    return _hash_text(json.dumps(value))


def _hash_text(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
