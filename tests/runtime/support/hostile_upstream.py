"""A hostile MCP server over stdio, with the standard library alone: `hostile_upstream.py [lists|cursors]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

MB = 1024 * 1024
SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}}
HIDING = "a\x1b]0;PWN\x07b\u202ec\U000e0041d"


def content(*blocks: dict[str, Any]) -> str:
    return json.dumps({"content": list(blocks), "structuredContent": {"a": []}})


def structure(text: str) -> str:
    return f'{{"content":[],"structuredContent":{{"a":[{text}]}}}}'


RESULTS: dict[str, Callable[[], str]] = {
    "values": lambda: structure("{}," * (5 * MB) + "{}"),
    "structure": lambda: structure("{}," * 200_000 + "{}"),
    "nested": lambda: structure("[" * 100_000 + "]" * 100_000),
    "nested a little": lambda: structure("[" * 300 + "]" * 300),
    "text": lambda: content({"type": "text", "text": "x" * (15 * MB)}),
    "commas": lambda: content({"type": "text", "text": ",[{" * (5 * MB)}),
    "escapes": lambda: content({"type": "text", "text": "\x1b" * (2 * MB)}),
    "too long": lambda: content({"type": "text", "text": "x" * (40 * MB)}),
    "blocks": lambda: content(*[{"type": "text", "text": "x"}] * 100_000),
    "numbers": lambda: structure("1e999,NaN," + "9" * 10_000),
    "surrogates": lambda: f'{{"content":[{{"type":"text","text":"{chr(92)}ud800"}}]}}',
    "many surrogates": lambda: f'{{"content":[{{"type":"text","text":"{(chr(92) + "ud800") * 100_000}"}}]}}',
    "duplicates": lambda: structure('{"a":1,"a":1},' * 300_000 + "1"),
    "unknown": lambda: content({"type": "script", "text": "alert(1)"}),
    "hiding": lambda: json.dumps(
        {"content": [{"type": "text", "text": HIDING}], "structuredContent": {"a": [{HIDING: HIDING}]}}
    ),
    "html image": lambda: content({"type": "image", "mimeType": "text/html", "data": "PGI+"}),
    "invalid base64": lambda: content({"type": "audio", "mimeType": "audio/wav", "data": "?!"}),
    "links": lambda: content(
        {"type": "resource_link", "uri": "javascript:alert(1)", "name": "click\u202e"},
        {"type": "resource_link", "uri": "https://example.com/", "name": "ok\u200b"},
    ),
    "resource": lambda: content(
        {"type": "resource", "resource": {"uri": "notes://1", "mimeType": "text/plain", "text": HIDING}}
    ),
    "fine": lambda: content({"type": "text", "text": "fine"}),
}


def result(message: dict[str, Any], variant: str) -> str:
    """Return the JSON text of the result of a request."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}}
        return json.dumps({**about, "serverInfo": {"name": "hostile", "version": "1"}})
    if method == "tools/list":
        tool = {"name": "call", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
        if variant == "lists":
            tools = [tool, *({"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(100_000))]
            return json.dumps({"tools": tools})
        cursor = {"nextCursor": params.get("cursor", "") + "x"} if variant == "cursors" else {}
        return json.dumps({"tools": [tool], **cursor})
    kind = params.get("arguments", {}).get("kind", "fine")
    return RESULTS.get(kind, RESULTS["fine"])()


def answer(line: bytes, variant: str = "") -> bytes:
    """Return the answer to a message; empty for a notification."""
    message = json.loads(line)
    if "id" not in message:
        return b""
    head = f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},'
    if message.get("method") not in ("initialize", "tools/list", "tools/call"):
        return (head + '"error":{"code":-32601,"message":"Method not found"}}').encode()
    return f'{head}"result":{result(message, variant)}}}'.encode()


def main() -> None:
    variant = sys.argv[1] if len(sys.argv) > 1 else ""
    for line in sys.stdin.buffer:
        kind = json.loads(line).get("params", {}).get("arguments", {}).get("kind")
        if kind == "flood":
            for _ in range(200):
                sys.stdout.buffer.write(b"1\n" * 10_000)
        if kind == "endless":
            while True:
                sys.stdout.buffer.write(b"x" * MB)
        if reply := answer(line, variant):
            sys.stdout.buffer.write(reply + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
