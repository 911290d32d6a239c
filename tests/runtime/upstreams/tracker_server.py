"""An issue tracker as an MCP server over stdio, of the standard library alone: `tracker_server.py NAME`."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

NAME: Final = sys.argv[1]
TOOLS: Final = ("create_issue", "list_issues", "search")


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    match message["method"]:
        case "initialize":
            about = {"name": NAME, "version": "1"}
            version = message["params"]["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        case "tools/call":
            params = message["params"]
            text = f"{NAME}: {params['name']} {json.dumps(params['arguments'], sort_keys=True)}"
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        response = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
        sys.stdout.write(f"{json.dumps(response)}\n")
        sys.stdout.flush()
