"""`python -m bench.openapi.calls FILE`: call each tool of a generated server and check the request that arrives."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import os
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from mcp import Client
from mcp.types import Implementation
from toolmason_runtime.programs import ProgramSettings
from toolmason_runtime.shared.selection import Selection

from bench.openapi.samples import NoSampleError, Sample, Sampler, read_document
from bench.openapi.wire import Received, differences, text

SAMPLES: Final = ((False, 0), (True, 1), (True, 2), (True, 3))
"""Samples of each operation: required values only, then all values with several choices of alternatives."""
_CREDENTIAL: Final = "credential-of-the-bench"


class Api(ThreadingHTTPServer):
    """Records requests and answers `{}`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[Received] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(method=self.command, target=self.path, headers=headers, body=body))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"{}")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815  names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


async def call_all(work: Mapping[str, Any], sampler: Sampler, api: Api) -> dict[str, str]:
    """Return the first difference of each operation, empty for none."""
    manifest = work["manifest"]
    build_server = importlib.import_module(f"{manifest['server']['package']}.server").build_server
    server = build_server(Selection(style="classic"), commands=ProgramSettings(headless_approve=True))
    answers: dict[str, str] = {}
    # The server shows this client names without a prefix.
    async with Client(server, client_info=Implementation(name="toolmason", version="1")) as client:
        listed = await _listed(client)
        for method, path, operation, parameters in sampler.operations():
            key = f"{method} {path}"
            if key not in work["tools"]:
                continue
            name = work["tools"][key]
            if name not in listed:
                answers[key] = "not listed"
                continue
            checker = _Checker(client, api, manifest, name, key)
            answers[key] = await checker.check(sampler, operation, parameters)
    return answers


async def _listed(client: Client) -> set[str]:
    names: set[str] = set()
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        names |= {tool.name for tool in page.tools}
        cursor = page.next_cursor
        if not cursor:
            return names


def without_credential(received: Received, auth: Mapping[str, str]) -> Received:
    """Return a request without the query parameter that carries the credential."""
    if "query" not in auth:
        return received
    path, _, query = received.target.partition("?")
    own = f"{quote(auth['query'], safe='')}="
    rest = "&".join(pair for pair in query.split("&") if not pair.startswith(own))
    return replace(received, target=f"{path}?{rest}" if rest else path)


class _Checker:
    """Calls one tool."""

    def __init__(self, client: Client, api: Api, manifest: Mapping[str, Any], name: str, key: str) -> None:
        self.client, self.api, self.name = client, api, name
        self.method, _, self.path = key.partition(" ")
        self.table = manifest["tools"][name]
        self.types = manifest.get("types", {})
        self.entry = manifest["apis"][self.table["api"]]
        # A request has no fragment.
        self.target = self.entry["base_url"].removeprefix("$API_SERVER") + self.path.partition("#")[0]

    async def check(self, sampler: Sampler, operation: Mapping[str, Any], parameters: list[Mapping[str, Any]]) -> str:
        """Return the first difference of all samples."""
        # The credential is not an argument.
        auth = self.entry.get("auth", {})
        credentials = {("header", str(auth.get("header", "")).lower()), ("query", str(auth.get("query", "")).lower())}
        sendable = [item for item in parameters if (item["in"], item["name"].lower()) not in credentials]
        for full, seed in SAMPLES:
            try:
                sample = sampler.sample(operation, sendable, full=full, seed=seed)
            except NoSampleError as error:
                return f"no sample: {error}"
            arguments = self._arguments(sample)
            if isinstance(arguments, str):
                return arguments
            self.api.received.clear()
            answer = await self.client.call_tool(self.name, arguments)
            if not self.api.received:
                message = " ".join(getattr(block, "text", "") for block in answer.content)
                return f"not sent: {message[:300]}"
            received = without_credential(self.api.received[0], auth)
            difference = next(differences(sample, self.method, self.target, received), "")
            if difference:
                return difference
        return ""

    def _arguments(self, sample: Sample) -> dict[str, Any] | str:
        """Return the arguments of the tool for a sample, or the part that has no parameter."""
        params: Mapping[str, Any] = self.table.get("params", {})
        placeholders = re.findall(r"\{\+?([^{}]+)\}", self.table["http"])
        path_names = dict(zip(re.findall(r"\{([^{}]+)\}", self.path), placeholders, strict=True))
        places = {("path", wire): name for wire, name in path_names.items()}
        default = "body" if self.method in ("POST", "PUT", "PATCH") else "query"
        names = params or self.table.get("input_schema", {}).get("properties", {})
        for name in names:
            table = params.get(name, {})
            place = next((key for key in ("query", "header", "cookie", "body") if key in table), default)
            if name not in placeholders:
                places[place, table.get(place, name)] = name
        wanted = [(part.place, part.name, part.value) for part in sample.parts]
        if sample.media:
            is_whole = ("body", ".") in places
            wanted += [("body", ".", sample.body)] if is_whole else [("body", *item) for item in sample.body.items()]
        open_object = next((name for name, table in params.items() if table.get("style") == "members"), "")
        arguments: dict[str, Any] = {}
        for place, wire, value in wanted:
            if place == "query" and (place, wire) not in places and open_object:
                arguments.setdefault(open_object, {})[wire] = value
                continue
            if (place, wire) not in places:
                return f"no parameter for {wire} in the {place}"
            name = places[place, wire]
            is_text = place != "body" or self.table.get("body") in ("form", "multipart")
            expression = params.get(name, {}).get("type", "")
            table = params.get(name, {})
            if table.get("file"):
                arguments[name] = self._files(value)
            elif self.table.get("body") == "text" and place == "body":
                arguments[name] = text(value)
            else:
                arguments[name] = self._fitted(value, expression) if is_text else value
        return arguments

    def _files(self, value: Any) -> Any:
        """Write a value to a file in the project, or each value of a list; return the paths."""
        if isinstance(value, list):
            return [self._files(item) for item in value]
        content = text(value).encode()
        path = Path(f"sent-{hashlib.sha256(content).hexdigest()[:12]}.bin")
        path.write_bytes(content)
        return str(path)

    def _fitted(self, value: Any, expression: str) -> Any:
        """Return a value in the type of its parameter: URLs, headers and forms contain text, whatever the type is."""
        if expression == "string" and isinstance(value, bool | int | float):
            return text(value)
        if expression.endswith("[]"):
            items = value if isinstance(value, list) else [value]
            return [self._fitted(item, expression[:-2]) for item in items]
        if expression.startswith("map<") and isinstance(value, dict):
            return {key: self._fitted(item, expression[4:-1]) for key, item in value.items()}
        fields = self.types.get(expression, {}).get("fields", {})
        if fields and isinstance(value, dict):
            return {key: self._fitted(item, fields.get(key, {}).get("type", "")) for key, item in value.items()}
        return value


def main() -> None:
    """Call the tools of the server that a file describes, and write the answers beside it."""
    path = Path(sys.argv[1])
    work = json.loads(path.read_text(encoding="utf-8"))
    with Api() as api:
        thread = threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        entries = json.dumps(work["manifest"]["apis"])
        os.environ |= dict.fromkeys(re.findall(r"\$(\w+)", entries), _CREDENTIAL)
        os.environ["API_SERVER"] = f"http://127.0.0.1:{api.server_port}"
        sampler = Sampler(read_document(Path(work["document"])))
        answers = asyncio.run(call_all(work, sampler, api))
        api.shutdown()
    path.with_name("answers.json").write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
