"""An MCP server that ends in the middle of each call."""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if method == "initialize":
        about = {"name": "relay", "version": "1"}
        version = message["params"]["protocolVersion"]
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
    elif method == "tools/list":
        answer = {"result": {"tools": [{"name": "relay", "inputSchema": {"type": "object"}}]}}
    elif method == "tools/call":
        os._exit(3)
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
    sys.stdout.flush()
