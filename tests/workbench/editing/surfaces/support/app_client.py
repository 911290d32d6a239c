"""A client with MCP Apps: Workbench over stdio, and a page with the bridge of `@modelcontextprotocol/ext-apps`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NODE_MODULES = Path(__file__).parents[4] / "node_modules"
EXTENSIONS = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
HOST_PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<style>body { margin: 0 } iframe { display: block; border: 0; width: 100vw; height: 100vh }</style>
<script type="importmap">IMPORTS</script></head>
<body><main></main>
<script type="module">
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
const post = async (path, body) => (await fetch(path, { method: "POST", body: JSON.stringify(body) })).json();
const { html, result } = await (await fetch("/proposal")).json();
const bridge = new AppBridge(null, { name: "host", version: "1" }, { serverTools: {}, updateModelContext: {} },
  { hostContext: { theme: "light" } });
window.context = [];
bridge.oncalltool = (params) => post("/call", params);
bridge.onupdatemodelcontext = async (params) => { window.context.push(params); return {}; };
bridge.oninitialized = () => { window.ready = true; bridge.sendToolResult(result); };
const view = document.createElement("iframe");
view.setAttribute("sandbox", "allow-scripts");
document.querySelector("main").append(view);
await bridge.connect(new PostMessageTransport(view.contentWindow, view.contentWindow));
view.srcdoc = html;
window.view = view;
</script></body></html>
"""


@dataclass
class Server:
    """Workbench over stdio."""

    process: asyncio.subprocess.Process
    calls: list[dict[str, Any]] = field(default_factory=list)
    """The calls of tools that the page made."""
    number: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result, or its error."""
        async with self.lock:
            assert self.process.stdin
            assert self.process.stdout
            self.number += 1
            message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            while True:
                answer = json.loads(await asyncio.wait_for(self.process.stdout.readline(), 60))
                if answer.get("id") == self.number:
                    result: dict[str, Any] = answer.get("result") or {"error": answer["error"]}
                    return result

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})


@asynccontextmanager
async def workbench(project: Path, state: Path, extensions: dict[str, Any] | None = None) -> AsyncIterator[Server]:
    """Start Workbench for a client with these extensions."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "workbench_server"),
        cwd=project,
        env={**os.environ, "WORKBENCH_STATE": str(state)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    server = Server(process)
    capabilities = {"extensions": EXTENSIONS if extensions is None else extensions}
    info = {"name": "host", "version": "1"}
    try:
        await server.request(
            "initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        )
        assert process.stdin
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        yield server
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 20)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@cache
def import_map() -> str:
    """Return the addresses of the modules that the bridge imports, in the form for browsers."""
    imports: dict[str, str] = {}
    for manifest in [*NODE_MODULES.glob("*/package.json"), *NODE_MODULES.glob("@*/*/package.json")]:
        package = json.loads(manifest.read_text(encoding="utf-8"))
        exports = package.get("exports") or package.get("module") or package.get("main")
        if isinstance(exports, str) or (isinstance(exports, dict) and "." not in "".join(map(str, exports))[:1]):
            exports = {".": exports}
        name = manifest.parent.relative_to(NODE_MODULES).as_posix()
        for key, target in (exports or {}).items():
            if key.startswith(".") and "*" not in key and (path := _browser_path(target)):
                imports[name + key[1:]] = f"/modules/{name}/{path.removeprefix('./')}"
    return json.dumps({"imports": imports})


def _browser_path(target: Any) -> str:
    while isinstance(target, dict):
        target = next((target[key] for key in ("browser", "import", "default") if key in target), None)
    return target if isinstance(target, str) else ""


@asynccontextmanager
async def host_page(server: Server, html: str, result: dict[str, Any]) -> AsyncIterator[str]:
    """Serve the page of a client that shows a view with the result of a tool; yield its address."""
    loop = asyncio.get_running_loop()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                self.answer(HOST_PAGE.replace("IMPORTS", import_map()).encode(), "text/html")
            elif self.path == "/proposal":
                self.answer(json.dumps({"html": html, "result": result}).encode(), "application/json")
            else:
                path = NODE_MODULES / self.path.removeprefix("/modules/").partition("?")[0]
                is_module = path.is_file() and NODE_MODULES in path.parents
                self.answer(path.read_bytes() if is_module else b"", "text/javascript", 200 if is_module else 404)

        def do_POST(self) -> None:
            params = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.calls.append(params)
            work = asyncio.run_coroutine_threadsafe(server.request("tools/call", params), loop)
            self.answer(json.dumps(work.result(60)).encode(), "application/json")

        def answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        threading.Thread(target=http_server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http_server.server_address[1]}/"
        finally:
            http_server.shutdown()
