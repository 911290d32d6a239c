"""Converters to Gemini's `parameters`, others' and ours, behind a pipe: `python converters.py NAME` converts lines.

A line in is a schema as JSON; a line out is what was made of it, the seconds it took, or the error. The program needs
nothing but Python and the converter itself, so it runs in any environment that has one, and what a converter does on
import or to its process stays there.
"""

# ruff: noqa: TID251, BLE001  it answers with print, measures the toolkit, and survives whatever is raised
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
"""Times one schema is converted; the first may fill caches, the median is what counts."""


def ours(target: str) -> Converter:
    """Give `toolmason.schema.project` for one target."""
    from toolmason.schema import project

    def convert(schema: Any) -> Any:
        made = project(schema, target)
        return made.schema, len(made.findings)

    return convert


def google_genai_mcp() -> Converter:
    """Give what google-genai does with a tool of an MCP session."""
    from google.genai import _mcp_utils

    mcp_to_gemini_tool: Any = _mcp_utils.mcp_to_gemini_tool

    def convert(schema: Any) -> Any:
        tool = SimpleNamespace(name="tool", description="A tool", input_schema=schema)
        [declaration] = mcp_to_gemini_tool(tool).function_declarations
        return _dumped(declaration.parameters)

    return convert


def google_genai() -> Converter:
    """Give the public way of google-genai from JSON Schema to its own."""
    from google.genai import types

    def convert(schema: Any) -> Any:
        return _dumped(types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(schema)))

    return convert


def pydantic_ai() -> Converter:
    """Give what pydantic-ai does where Gemini takes `parameters` only, in the Live API."""
    from pydantic_ai.realtime.google import _schema_from_json_schema

    return lambda schema: _dumped(_schema_from_json_schema(schema))


def litellm() -> Converter:
    """Give what litellm does with the parameters of a function for Gemini."""
    from litellm.llms.vertex_ai.common_utils import build_vertex_schema

    return build_vertex_schema  # type: ignore[no-any-return, unused-ignore]


def fs_mcp() -> Converter:
    """Give the published approach of fs-mcp (LOG-006 of its work log), written again in its order of steps."""
    import jsonref

    return lambda schema: _without_keys(_rewritten(jsonref.replace_refs(schema, proxies=False, lazy_load=False)))


def nothing() -> Converter:
    """Give a converter that sends what the server advertised."""
    return lambda schema: schema


def _rewritten(node: Any) -> Any:
    """Rewrite unions with null, `oneOf`, `allOf`, `const` and exclusive bounds, wherever the words occur."""
    if isinstance(node, list):
        return [_rewritten(each) for each in node]
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
        others = [each for each in result["anyOf"] if each != {"type": "null"}]
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


_FORBIDDEN = frozenset(
    {
        *("$ref", "$defs", "definitions", "$id", "$schema", "title", "default", "additionalProperties"),
        *(
            "propertyOrdering",
            "property_ordering",
            "multipleOf",
            "not",
            "if",
            "then",
            "else",
            "prefixItems",
            "contains",
        ),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
        *("contentMediaType", "contentEncoding"),
    }
)


def _without_keys(node: Any) -> Any:
    """Drop what Gemini does not know by name alone, as the original does: properties of such names go too."""
    if isinstance(node, list):
        return [_without_keys(each) for each in node]
    if isinstance(node, dict):
        return {name: _without_keys(value) for name, value in node.items() if name not in _FORBIDDEN}
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
"""Converter to the distribution that it comes from, where that is one of others."""


def main() -> None:
    """Convert until there is nothing more to read. The first line out says whether the converter is there."""
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
            begun = perf_counter()
            made = convert(schema)
            times.append(perf_counter() - begun)
        findings = None
        if isinstance(made, tuple):
            made, findings = made
        seconds = sorted(times)[REPEATS // 2]
        return json.dumps({"schema": made, "findings": findings, "seconds": seconds})
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    main()
