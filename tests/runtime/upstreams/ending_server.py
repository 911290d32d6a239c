"""An upstream of 2026-07-28 that ends: `ending_server.py DIRECTORY`. It records its events in files of the directory.

Only the standard library: tests start it again and again, and the import of an SDK would take most of their time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DIRECTORY = Path(sys.argv[1])
COMPLETE = {
    "resultType": "complete",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "ending", "version": ""}},
}
CACHED = {**COMPLETE, "cacheScope": "private", "ttlMs": 0}
NAMES = ("wait", "crash", "fail", "refuse")

waiting: set[Any] = set()
"""The ids of the calls of `wait` that are not cancelled."""


def respond(message: dict[str, Any]) -> dict[str, Any]:
    """Return what the response has; nothing for a call that is never answered."""
    params = message["params"]
    match message["method"], params.get("name"):
        case "server/discover", _:
            return {"result": {**CACHED, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}
        case "tools/list", _:
            return {
                "result": {**CACHED, "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
            }
        case "tools/call", "wait":
            with (DIRECTORY / "waiting").open("a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")
            waiting.add(message["id"])
            return {}
        case "tools/call", "crash":
            crash((params.get("arguments") or {}).get("times", 1))
            return {"result": text("survived")}
        case "tools/call", "fail":
            return {"result": {**text("no paper"), "isError": True}}
        case "tools/call", "refuse":
            return {"error": {"code": -32000, "message": "no\x1b[31m ink"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def crash(times: int) -> None:
    """End the process without a response in the first `times` calls."""
    counter = DIRECTORY / "crashes"
    crashes = len(counter.read_text(encoding="utf-8")) if counter.exists() else 0
    if crashes < times:
        counter.write_text("x" * (crashes + 1), encoding="utf-8")
        os._exit(3)


def text(value: str) -> dict[str, Any]:
    return {**COMPLETE, "content": [{"type": "text", "text": value}], "isError": False}


def main() -> None:
    # A child of its own, which must end with it.
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    with (DIRECTORY / "pids").open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {child.pid}\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            if response := respond(message):
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **response}) + "\n")
                sys.stdout.flush()
        elif message["method"] == "notifications/cancelled" and message["params"]["requestId"] in waiting:
            waiting.remove(message["params"]["requestId"])
            (DIRECTORY / "cancelled").touch()


main()
