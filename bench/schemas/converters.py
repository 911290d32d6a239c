"""Converters to Gemini's `parameters` behind a pipe: `python converters.py NAME` converts one schema per line.

Each line of output is a JSON object with the converted schema and the seconds, or with the error. The program imports
only Python and the converter, so it runs in any environment, and a converter cannot affect the comparison.
"""

# ruff: noqa: TID251, BLE001  it prints its answers, imports the toolkit, and reports every exception
# mypy: disable-error-code="import-not-found,import-untyped,unused-ignore"

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter
from types import SimpleNamespace
from typing import Any

Converter = Callable[[Any], Any]
REPEATS = 3
"""Conversions of each schema. The median time counts, since the first conversion may fill caches."""


def ours(target: str) -> Converter:
    """Return `toolmason.schema.project` for one target."""
    from toolmason.schema import project

    return lambda schema: project(schema, target).schema


def google_genai_mcp() -> Converter:
    """Return the conversion of google-genai for a tool of an MCP session."""
    from google.genai import _mcp_utils

    mcp_to_gemini_tool: Any = _mcp_utils.mcp_to_gemini_tool

    def convert(schema: Any) -> Any:
        tool = SimpleNamespace(name="tool", description="A tool", input_schema=schema)
        [declaration] = mcp_to_gemini_tool(tool).function_declarations
        return _dumped(declaration.parameters)

    return convert


def google_genai() -> Converter:
    """Return the public conversion of google-genai from JSON Schema."""
    from google.genai import types

    def convert(schema: Any) -> Any:
        return _dumped(types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(schema)))

    return convert


def pydantic_ai() -> Converter:
    """Return the conversion of pydantic-ai for the Live API, which accepts `parameters` only."""
    from pydantic_ai.realtime.google import _schema_from_json_schema

    return lambda schema: _dumped(_schema_from_json_schema(schema))


def litellm() -> Converter:
    """Return the conversion of litellm for function parameters."""
    from litellm.llms.vertex_ai.common_utils import build_vertex_schema

    return build_vertex_schema  # type: ignore[no-any-return, unused-ignore]


def fs_mcp() -> Converter:
    """Return the published conversion of fs-mcp (LOG-006 of its work log), reimplemented in its order of steps."""
    import jsonref

    return lambda schema: _without_keys(_rewritten(jsonref.replace_refs(schema, proxies=False, lazy_load=False)))


def nothing() -> Converter:
    """Return the identity: the client sends the advertised schema."""
    return lambda schema: schema


def _rewritten(node: Any) -> Any:
    """Rewrite unions with null, `oneOf`, `allOf`, `const` and exclusive bounds, even in data."""
    if isinstance(node, list):
        return [_rewritten(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {name: _rewritten(value) for name, value in node.items()}
    if isinstance(result.get("oneOf"), list):
        result.setdefault("anyOf", result.pop("oneOf"))
    if isinstance(result.get("allOf"), list):
        for part in result.pop("allOf"):
            for name, value in part.items() if isinstance(part, dict) else ():
                old = result.get(name)
                result[name] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    if isinstance(result.get("anyOf"), list):
        others = [branch for branch in result["anyOf"] if branch != {"type": "null"}]
        if len(others) < len(result["anyOf"]):
            result["nullable"] = True
            result["anyOf"] = others
            if len(others) == 1 and isinstance(others[0], dict):
                del result["anyOf"]
                result = {**others[0], **result}
    if "const" in result:
        result["enum"] = [result.pop("const")]
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in result:
            result[plain] = result.pop(exclusive)
    return result


_UNKNOWN_KEYWORDS = frozenset(
    {
        *("$ref", "$defs", "definitions", "$id", "$schema", "title", "default", "additionalProperties", "multipleOf"),
        *("propertyOrdering", "property_ordering", "not", "if", "then", "else", "prefixItems", "contains"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
        *("contentMediaType", "contentEncoding"),
    }
)


def _without_keys(node: Any) -> Any:
    """Remove unknown keywords by name, as the original does: properties with such names are removed too."""
    if isinstance(node, list):
        return [_without_keys(item) for item in node]
    if isinstance(node, dict):
        return {name: _without_keys(value) for name, value in node.items() if name not in _UNKNOWN_KEYWORDS}
    return node


def _dumped(schema: Any) -> Any:
    return schema.model_dump(mode="json", by_alias=True, exclude_none=True)


CONVERTERS: dict[str, Callable[[], Converter]] = {
    "ours": lambda: ours("gemini-parameters"),
    "advertise": lambda: ours("mcp"),
    "google-genai-mcp": google_genai_mcp,
    "google-genai": google_genai,
    "pydantic-ai": pydantic_ai,
    "litellm": litellm,
    "fs-mcp": fs_mcp,
    "nothing": nothing,
}


PACKAGES = {
    "google-genai-mcp": "google-genai",
    "google-genai": "google-genai",
    "pydantic-ai": "pydantic-ai-slim",
    "litellm": "litellm",
}
"""Converter to its distribution."""


def main() -> None:
    """Convert all lines of stdin. The first line of output reports whether the converter is installed."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        try:
            convert = CONVERTERS[sys.argv[1]]()
        except ImportError as error:
            print(json.dumps({"missing": str(error)}), file=answers, flush=True)
            return
        print(json.dumps({"ready": _version(sys.argv[1])}), file=answers, flush=True)
        for line in sys.stdin:
            print(_answer(convert, line), file=answers, flush=True)


def _version(name: str) -> str:
    package = PACKAGES.get(name)
    return f"{package} {version(package)}" if package else ""


def _answer(convert: Converter, line: str) -> str:
    try:
        times = []
        for _ in range(REPEATS):
            schema = json.loads(line)
            start = perf_counter()
            converted = convert(schema)
            times.append(perf_counter() - start)
        return json.dumps({"schema": converted, "seconds": sorted(times)[REPEATS // 2]})
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    main()
