"""Everything the `sample` server serves, as plain data."""

from __future__ import annotations

from typing import Any, Final

from toolmason_runtime.protocol.catalogue import Catalogue, ExampleEntry, ToolEntry

READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def _tool(
    name: str,
    summary: str,
    properties: dict[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    category: str = "odd",
    output: dict[str, Any] | None = None,
    examples: tuple[ExampleEntry, ...] = (),
    tier: str = "core",
) -> ToolEntry:
    schema: dict[str, Any] = {"type": "object", "properties": properties or {}}
    if required:
        schema["required"] = list(required)
    wire: dict[str, Any] = {"name": name, "description": summary, "inputSchema": schema}
    if output is not None:
        wire["outputSchema"] = output
    return {
        "tool": wire | {"annotations": READS},
        "summary": summary,
        "category": category,
        "complexity": "simple",
        "tier": tier,
        "keywords": [],
        "use_cases": [],
        "related": [],
        "examples": list(examples),
    }


COUNT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "words": {"type": "integer"},
        "longest": {"type": "string"},
        "shortest": {"type": ["string", "null"]},
    },
    "required": ["words", "shortest"],
}
RANGE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"start": {"type": "integer"}, "stop": {"type": "integer"}},
    "required": ["start"],
}
TEXT: Final[dict[str, Any]] = {"text": {"type": "string"}}

_TOOLS: Final[list[ToolEntry]] = [
    _tool(
        "count_words",
        "Count the words of a text",
        {
            "text": {"type": "string"},
            "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
            "format": {"type": "string", "enum": ["json", "text", "csv"], "default": "json"},
            "ratio": {"type": "number"},
            "is_strict": {"type": "boolean", "default": False},
            "ranges": {"type": "array", "items": RANGE},
            "label": {"type": "string", "description": "May be null."},
            "weights": {"type": "object"},
        },
        required=("text", "label"),
        category="text",
        output=COUNT,
        examples=(
            {"description": "One", "arguments": {"text": "a", "label": "x"}, "invocation": 'count_words(text="a")'},
            {
                "description": "A part",
                "arguments": {"text": "a b", "label": "x", "ranges": [{"start": 0}]},
                "invocation": 'count_words(text="a b", label="x", ranges=[{"start": 0}])',
            },
        ),
    )
    | {"aliases": ["tally"]},
    _tool("shout", "Give a text in capitals", TEXT, required=("text",), category="text"),
    _tool("old_shout", "Give a text in capitals, the old way", TEXT, required=("text",), category="text")
    | {"deprecated": {"since": "2.0", "replaced_by": "shout", "message": "It will go."}},
    _tool("secret", "A tool that is switched off") | {"enabled": False},
    _tool("rare", "A tool of the tier all", tier="all"),
    _tool(
        "raw",
        "Take what the schema says",
        {
            "depth": {"type": "integer", "minimum": 0},
            "mode": {"enum": ["a", "b"]},
            "name": {"type": ["string", "null"]},
        },
        required=("depth",),
    ),
    _tool("mixed", "Give one block of each kind"),
    _tool("refuse", "Fail on purpose", TEXT, required=("text",)),
    _tool("crash", "Fail by mistake"),
    _tool("crash_together", "Fail in several tasks at once"),
    _tool("lie", "Return what was not promised", output={"type": "object"}) | {"result_schema": COUNT},
    _tool("odd_text", "Give text that UTF-8 cannot carry", output={"type": "object", "additionalProperties": True}),
    _tool("wait", "Report progress, then wait for ever"),
    _tool("stubborn", "Block the event loop for ever"),
    _tool("hold", "Block a worker thread until `release` is called"),
    _tool("release", "End `hold`"),
    _tool("hold_until_cancelled", "Block a worker thread until the call is cancelled"),
    _tool("ask_in_a_thread", "Ask the user one thing, from a worker thread"),
    _tool("flood", "Say more on standard error than anybody reads"),
    _tool("chatter", "Print on standard output, and start a program that does"),
    _tool("report", "Send progress and a log message of each level"),
    _tool("ask", "Ask the user two things, one after the other"),
    _tool("open_page", "Ask the user to open a page"),
    _tool("show_client", "Show what is known of the client"),
    _tool("sample", "Ask the model of the client"),
    _tool("roots", "Name the folders of the client"),
    _tool("show_state", "Show what the lifespan made"),
]
_TOOLS[5]["tool"]["inputSchema"]["additionalProperties"] = False
_TOOLS[0]["tool"]["_meta"] = {"anthropic/maxResultSizeChars": 100000, "com.example/owner": {"team": "text"}}
_TOOLS[0]["keywords"] = ["wc", "word length"]

CATALOGUE: Final[Catalogue] = {
    "server": {
        "name": "sample",
        "title": "Sample",
        "version": "1.2.3",
        "package": "sample_server",
        "instructions": "Count before you shout.",
        "description": "A server for tests.",
        "expose_all_env": "SAMPLE_ALL_TOOLS",
        "website_url": "https://example.org/sample",
        "page_size": 7,
        "lifespan": "sample_server.handlers:lifespan",
        "tool_timeouts": {"patient": 300, "hasty": 30, "gone": 5},
    },
    "discovery": {
        "style": "search-call",
        "prefix": "",
        "pinned": ["count_words"],
        "page_tokens": 1500,
        "split_calls": False,
    },
    "categories": {
        "text": {"module": "text", "summary": "Text", "tags": []},
        "odd": {"module": "odd", "summary": "Oddities", "tags": []},
    },
    "tools": {each["tool"]["name"]: each for each in _TOOLS},
}
