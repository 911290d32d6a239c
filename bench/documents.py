"""Import of an OpenAPI document of 1,200 operations, compared with FastMCP, which creates its tools at each start."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from bench.rounds import Cost, Ratio, alternate, ratio, typical
from bench.session import Workspace, run

OPERATIONS: Final = 1200
SHORT_OPERATIONS: Final = 24
_OURS: Final = "ours"
_THEIRS: Final = "theirs"
_FASTMCP: Final = """\
import json

import httpx2
from fastmcp import FastMCP

with open("api.json", encoding="utf-8") as stream:
    document = json.load(stream)
FastMCP.from_openapi(document, client=httpx2.AsyncClient(base_url="https://api.example.com"))
"""


@dataclass(frozen=True, slots=True)
class DocumentImport:
    """The costs of an import of one document, ours and by FastMCP."""

    operations: int
    megabytes: float
    ours: Cost
    theirs: Cost
    ratio: Ratio


def measure_import(workspace: Workspace, rounds: int, *, is_short: bool = False) -> DocumentImport:
    """Import the document to a new manifest, and make a FastMCP server of it."""
    directory = workspace.directory / "document"
    directory.mkdir()
    operations = SHORT_OPERATIONS if is_short else OPERATIONS
    path = directory / "api.json"
    path.write_text(json.dumps(_document(operations)), encoding="utf-8")
    directory.joinpath("from_openapi.py").write_text(_FASTMCP, encoding="utf-8")
    work: dict[str, Callable[[], Cost]] = {
        _OURS: partial(_import, workspace, directory, count()),
        _THEIRS: lambda: run(workspace, ["from_openapi"], cwd=directory)[0],
    }
    costs = alternate(rounds, work)
    return DocumentImport(
        operations,
        path.stat().st_size / 1e6,
        typical(costs[_OURS]),
        typical(costs[_THEIRS]),
        ratio(costs[_OURS], costs[_THEIRS]),
    )


def _import(workspace: Workspace, directory: Path, numbers: count[int]) -> Cost:
    manifest = f"manifest/api-{next(numbers)}.toml"
    return run(workspace, ["toolmason", "import", "openapi", "api.json", "-o", manifest], cwd=directory)[0]


def _document(operations: int) -> dict[str, Any]:
    """Return a document with a resource for every four operations, whose bodies refer to nested schemas."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {"Page": {"type": "object", "properties": {"next": {"type": "string"}}}}
    for number in range(operations // 4):
        name = f"Item{number}"
        schemas[name] = {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "description": f"Name of the item {number}", "maxLength": 80},
                "state": {"type": "string", "enum": ["open", "closed"]},
                "parts": {"type": "array", "items": {"$ref": f"#/components/schemas/{name}Part"}},
            },
        }
        schemas[f"{name}Part"] = {"type": "object", "properties": {"weight": {"type": "number", "minimum": 0}}}
        reference = {"$ref": f"#/components/schemas/{name}"}
        body = {"required": True, "content": {"application/json": {"schema": reference}}}
        identifier = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        page = {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}}
        paths[f"/item{number}"] = {
            "get": _operation(f"list{name}", "List the items", reference, parameters=[page]),
            "post": _operation(f"create{name}", "Create an item", reference, requestBody=body),
        }
        paths[f"/item{number}/{{id}}"] = {
            "get": _operation(f"get{name}", "Get an item", reference, parameters=[identifier]),
            "put": _operation(f"update{name}", "Update an item", reference, parameters=[identifier], requestBody=body),
        }
    about = {"title": "Items", "version": "1.0.0"}
    servers = [{"url": "https://api.example.com"}]
    return {"openapi": "3.1.0", "info": about, "servers": servers, "paths": paths, "components": {"schemas": schemas}}


def _operation(name: str, summary: str, result: Mapping[str, Any], **parts: object) -> dict[str, Any]:
    answer = {"description": "The result", "content": {"application/json": {"schema": result}}}
    return {"operationId": name, "summary": f"{summary} of {name}", "responses": {"200": answer}, **parts}
