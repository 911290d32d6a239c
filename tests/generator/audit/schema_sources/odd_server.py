"""A stdio MCP server of an earlier revision, without SDK. Its first argument selects an unusual behaviour."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

Message = dict[str, Any]
NEVER = threading.Event()


def tool(name: str, **schema: Any) -> Message:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}, **schema}}


def send(message: Message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(behaviour: str, message: Message) -> Message:
    """Return the result or the error for a request."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        about = {"name": "odd", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}}
    if method != "tools/list":
        return {"error": {"code": -32601, "message": f"no {method} here"}}
    cursor = params.get("cursor")
    match behaviour:
        case "pages":
            page = int(cursor or 0)
            more = {"nextCursor": str(page + 1)} if page < 2 else {}
            return {"result": {"tools": [tool(f"tool_{page}")], **more}}
        case "circle":
            return {"result": {"tools": [tool("again")], "nextCursor": "same"}}
        case "endless":
            page = int(cursor or 0)
            tools = [tool(f"tool_{page}_{index}") for index in range(2_000)]
            return {"result": {"tools": tools, "nextCursor": str(page + 1)}}
        case "malformed":
            return {"result": {"tools": [tool("good"), {"name": "bare"}, {"name": "text", "inputSchema": "object"}]}}
        case "lossy":
            return {"result": {"tools": [tool("read", properties={"mode": {"const": "r"}})]}}
        case "null":
            return {"result": {"tools": [tool("read", properties={"x": {"type": "string", "default": None}})]}}
        case "refused":
            return {"result": {"tools": [tool("good"), tool("bad", properties={"x": {"$ref": "#/none"}})]}}
        case "no-list":
            return {"result": {"tools": 3}}
        case "environment":
            return {"result": {"tools": [tool(os.environ["ODD_NAME"])]}}
        case "error":
            return {"error": {"code": -32603, "message": "out of\norder\x1b[2J"}}
        case _:
            return {"result": {"tools": [tool("only")]}}


def main(behaviour: str, *more: str) -> None:
    if behaviour == "dies":
        sys.exit("\x1b[31ma key is missing: ODD_KEY")
    if behaviour in {"hangs", "stubborn"}:
        if behaviour == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(more[0]).write_text(str(os.getpid()), encoding="utf-8")
        NEVER.wait()
    if behaviour == "daemon":
        null = subprocess.DEVNULL
        child = subprocess.Popen(["sleep", "300"], start_new_session=True, stdin=null, stdout=null, stderr=null)
        Path(more[0]).write_text(str(child.pid), encoding="utf-8")
    if behaviour == "chatters":
        while True:
            sys.stdout.write("Listening ...\n")
    if behaviour == "greets":
        sys.stdout.write("Welcome!\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if behaviour == "old" and message["method"] == "server/discover":
            sys.exit(f"what is {message['method']}?")
        send({"jsonrpc": "2.0", "id": message["id"], **answer(behaviour, message)})


if __name__ == "__main__":
    main(*sys.argv[1:])
