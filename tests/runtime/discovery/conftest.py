"""Catalogues to discover tools in: one written by hand, synthetic ones of any size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from toolmason_runtime.discovery import Style, style_for
from toolmason_runtime.shared.catalogue import Catalogue, ExampleEntry, ToolEntry
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.selection import Selection, visible_tools
from toolmason_runtime.shared.shown_names import ShownNames

from toolmason.catalogue.search_index import build_index

READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
WRITES = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}
REACHES = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True}


def text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def number(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "description": description, **more}


def flag(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "boolean", "description": description, **more}


def entry(
    name: str,
    category: str,
    summary: str,
    parameters: Mapping[str, dict[str, Any]],
    *,
    required: tuple[str, ...] = (),
    more: str = "",
    hints: Mapping[str, bool] = READS,
    keywords: tuple[str, ...] = (),
    use_cases: tuple[str, ...] = (),
    related: tuple[str, ...] = (),
    complexity: str = "simple",
    tier: str = "core",
    example: Mapping[str, Any] | None = None,
) -> ToolEntry:
    schema: dict[str, Any] = {"type": "object", "properties": dict(parameters)}
    if required:
        schema["required"] = list(required)
    call = ", ".join(f"{key}={value!r}" for key, value in (example or {}).items())
    examples: list[ExampleEntry] = []
    if example is not None:
        shown = f"{name}({call})"
        examples = [{"description": f"{summary}, the usual way", "arguments": dict(example), "invocation": shown}]
    description = f"{summary}. {more}".strip()
    return {
        "tool": {"name": name, "description": description, "inputSchema": schema, "annotations": dict(hints)},
        "summary": summary,
        "category": category,
        "complexity": complexity,
        "tier": tier,
        "keywords": list(keywords),
        "use_cases": list(use_cases),
        "related": list(related),
        "examples": examples,
    }


def handmade() -> Catalogue:
    """Fourteen tools in four categories; one is deprecated, one disabled, one of the tier `all`."""
    path = text("Path relative to the root")
    entries = [
        entry(
            "read_file",
            "files",
            "Read a text file, whole or in part",
            {"path": path, "head": number("First N lines"), "tail": number("Last N lines")},
            required=("path",),
            more="Give head or tail for large files.",
            keywords=("open", "cat", "codebase"),
            use_cases=("Look at the first lines of a log",),
            related=("search_files", "write_file"),
            example={"path": "README.md", "head": 20},
        ),
        entry(
            "write_file",
            "files",
            "Write text to a file, replacing what it held",
            {"path": path, "content": text("The whole new text")},
            required=("path", "content"),
            hints=WRITES,
            use_cases=("Save generated code to disk",),
            related=("read_file",),
            example={"path": "notes.md", "content": "# Notes"},
        ),
        entry(
            "search_files",
            "files",
            "Find files by name",
            {"pattern": text("Glob such as **/*.py"), "limit": number("Most results", default=50)},
            required=("pattern",),
            use_cases=("Where are all the Python modules",),
            example={"pattern": "**/*.py"},
        ),
        entry(
            "directory_tree",
            "files",
            "Show folders and their files as a tree",
            {"path": path, "depth": number("Levels to descend", default=3)},
            use_cases=("Get an overview of a project layout",),
        ),
        entry(
            "git_log",
            "git",
            "List commits of a branch, newest first",
            {"branch": text("Branch name", default="main"), "limit": number("Most commits", default=20)},
            use_cases=("Who changed this recently",),
            related=("git_diff",),
            example={"branch": "main", "limit": 5},
        ),
        entry(
            "git_diff",
            "git",
            "Compare two commits",
            {"base": text("Older commit"), "head": text("Newer commit"), "stat": flag("Only count lines")},
            required=("base", "head"),
            example={"base": "HEAD~1", "head": "HEAD"},
        ),
        entry(
            "git_commit",
            "git",
            "Record staged changes as a commit",
            {"message": text("What changed and why"), "sign": flag("Sign with GPG", default=False)},
            required=("message",),
            hints=WRITES,
            complexity="moderate",
            use_cases=("Save my work in version control",),
        ),
        entry("git_branch", "git", "List, create or delete branches", {"name": text("Branch name")}, hints=WRITES),
        entry(
            "create_issue",
            "issues",
            "Open a ticket in the tracker",
            {
                "title": text("One line"),
                "labels": {"type": "array", "items": {"type": "string"}, "description": "Labels to set"},
                "priority": text("How urgent it is", enum=["low", "normal", "high"]),
            },
            required=("title",),
            hints={**WRITES, "openWorldHint": True},
            keywords=("bug", "report"),
            example={"title": "Login fails", "priority": "high"},
        ),
        entry(
            "list_issues",
            "issues",
            "List open tickets",
            {"state": text("Which tickets", enum=["open", "closed", "all"], default="open")},
            hints=REACHES,
        ),
        entry("find_issue", "issues", "List open tickets", {"state": text("Which tickets")}, hints=REACHES),
        entry("send_email", "messages", "Send a message to a person", {"to": text("Address")}, hints=WRITES),
        entry("purge_mailbox", "messages", "Delete every message for good", {}, hints=WRITES, tier="all"),
        entry("fax", "messages", "Send a page over the telephone line", {}, hints=WRITES),
    ]
    tools = {each["tool"]["name"]: each for each in entries}
    tools["find_issue"]["deprecated"] = {"since": "2.0", "replaced_by": "list_issues", "message": "Goes in 3.0."}
    tools["fax"]["enabled"] = False
    tools["search_files"]["aliases"] = ["findFiles"]
    for name in ("git_log", "git_diff", "git_commit", "git_branch"):
        tools[name]["cli"] = "git-tools"
    return catalogue_of(
        tools,
        {
            "files": ("Read and write files", ["disk"]),
            "git": ("Version control", ["vcs", "history"]),
            "issues": ("The team's tracker", ["tracker"]),
            "messages": ("Write to people", []),
        },
    )


def catalogue_of(tools: dict[str, ToolEntry], categories: Mapping[str, tuple[str, list[str]]]) -> Catalogue:
    return {
        "server": {
            "name": "desk",
            "title": "Desk",
            "version": "1.0.0",
            "package": "desk_server",
            "instructions": "",
            "page_size": 250,
            "lifespan": "",
        },
        "discovery": {
            "style": "search-call",
            "prefix": "",
            "pinned": [],
            "page_tokens": 1500,
            "split_calls": True,
        },
        "categories": {
            name: {"module": name, "summary": summary, "tags": tags} for name, (summary, tags) in categories.items()
        },
        "tools": tools,
    }


VERBS = (
    *("create", "delete", "list", "update", "fetch", "archive", "restore"),
    *("merge", "export", "import", "rename", "validate", "cancel"),
)
SYLLABLES = tuple(f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou")


def synthetic(count: int) -> Catalogue:
    """As many tools as wanted in twelve categories, with made-up nouns, each of which occurs in several of them."""
    random = Random(count)
    nouns = sorted({"".join(random.choices(SYLLABLES, k=3)) for _ in range(max(120, count))})
    tools: dict[str, ToolEntry] = {}
    while len(tools) < count:
        verb, (noun, other, by, for_) = random.choice(VERBS), random.sample(nouns, 4)
        name = f"{verb}_{noun}_{other}"
        if name in tools:
            continue
        tools[name] = entry(
            name,
            f"area{len(tools) % 12}",
            f"{verb.capitalize()} the {noun} of one {other}",
            {
                f"{noun}_id": text(f"Identity of the {noun}"),
                "since": text(f"Only records changed after this {by} date"),
                "limit": number("Most records", default=10),
            },
            required=(f"{noun}_id",),
            more=f"The {by} for the {for_} in it.",
            hints=random.choice((READS, WRITES)),
        )
    areas: dict[str, tuple[str, list[str]]] = {f"area{place}": (f"Tools of area {place}", []) for place in range(12)}
    return catalogue_of(tools, areas)


@dataclass
class Desk:
    """A style in front of a dispatcher that notes what it is asked to run."""

    style: Style
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.ran.append((name, arguments))
        return {"content": [{"type": "text", "text": f"{name} ran"}], "isError": False}

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return asyncio.run(self.style.call(name, arguments, self.run))

    def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call, and return the answer: one text block of JSON."""
        result = self.call(name, arguments)
        assert not result.get("isError"), result
        (block,) = result["content"]
        assert result.keys() == {"content"}
        assert "$ref" not in block["text"]
        answer: dict[str, Any] = json.loads(block["text"])
        return answer

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """Call, and give the text of the error."""
        result = self.call(name, arguments)
        assert result["isError"] is True
        assert "structuredContent" not in result
        (block,) = result["content"]
        message: str = block["text"]
        return message

    def listed(self) -> list[str]:
        return [tool["name"] for tool in self.style.listed()]


MakeDesk = Callable[..., Desk]
MakeIndex = Callable[[Catalogue], ToolIndex]


@pytest.fixture
def catalogue() -> Catalogue:
    return handmade()


@pytest.fixture(scope="session")
def large() -> Catalogue:
    return synthetic(200)


@pytest.fixture(scope="session")
def huge() -> Catalogue:
    return synthetic(1000)


@pytest.fixture
def make_index() -> MakeIndex:
    def make(catalogue: Catalogue) -> ToolIndex:
        visible = visible_tools(catalogue, Selection("classic", all_tools=True))
        return ToolIndex(catalogue, visible, lambda: build_index(catalogue))

    return make


@pytest.fixture
def desk() -> MakeDesk:
    def make(catalogue: Catalogue, style: str, names: ShownNames | None = None, **selected: Any) -> Desk:
        selection = Selection(style, **selected)
        return Desk(style_for(catalogue, selection, lambda: dict(build_index(catalogue)), names=names))

    return make
