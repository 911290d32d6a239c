"""Run schemas through the converters of Python clients, as `convert.mjs` does for JavaScript.

{name: schema} on standard input, {converter: {name: {schema} or {error}}} on standard output. Nothing is sent: requests
are caught before they leave, and whatever wants a connection is stopped.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks for a list of prices

import httpx
from google import genai
from google.genai import types
from langchain_google_genai import ChatGoogleGenerativeAI
from litellm import GoogleAIStudioGeminiConfig, VertexGeminiConfig
from mcp.types import Tool
from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer, GoogleOpenAPISchemaTransformer

MODEL = "gemini-2.5-flash"
NAME = "tool"
ANSWER = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes"}]}, "finishReason": "STOP"}]}


class Catcher:
    """What stands in place of the network: keeps the last request, and answers it."""

    def __init__(self) -> None:
        self.transport = httpx.MockTransport(self._answer)
        self._body: Any = None

    @property
    def schema(self) -> Any:
        """The schema of the only tool of the last request, None if it is left out."""
        declaration = self._body["tools"][0]["functionDeclarations"][0]
        return declaration.get("parametersJsonSchema", declaration.get("parameters"))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self._body = json.loads(request.content)
        return httpx.Response(200, json=ANSWER)


CATCHER = Catcher()
ARGUMENTS = {"transport": CATCHER.transport}
GENAI = genai.Client(api_key="none", http_options=types.HttpOptions(client_args=ARGUMENTS))
LANGCHAIN = ChatGoogleGenerativeAI(model=MODEL, google_api_key="none", client_args=ARGUMENTS, max_retries=1)


def google_genai_mcp(schema: dict[str, Any]) -> Any:
    """A tool of an MCP server, handed to `generate_content`."""
    tools: list[Any] = [Tool(name=NAME, description="A tool", input_schema=schema)]
    calling = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(tools=tools, automatic_function_calling=calling)
    GENAI.models.generate_content(model=MODEL, contents="Go", config=config)
    return CATCHER.schema


def google_genai_schema(schema: dict[str, Any]) -> Any:
    read = types.JSONSchema.model_validate(schema)
    return types.Schema.from_json_schema(json_schema=read).model_dump(mode="json", by_alias=True, exclude_none=True)


def langchain(schema: dict[str, Any]) -> Any:
    LANGCHAIN.bind_tools([{"name": NAME, "description": "A tool", "parameters": schema}]).invoke("Go")
    return CATCHER.schema


def litellm(config: type[VertexGeminiConfig]) -> Callable[[dict[str, Any]], Any]:
    def convert(schema: dict[str, Any]) -> Any:
        function = {"name": NAME, "description": "A tool", "parameters": schema}
        sent = config().map_openai_params({"tools": [{"type": "function", "function": function}]}, {}, MODEL, False)
        return sent["tools"][0]["function_declarations"][0].get("parameters")

    return convert


def pydantic_ai(transformer: type[GoogleJsonSchemaTransformer]) -> Callable[[dict[str, Any]], Any]:
    return lambda schema: transformer(schema).walk()


def google_adk(schema: dict[str, Any]) -> Any:
    """A tool of `McpToolset`, which calls a private function."""
    converted = importlib.import_module("google.adk.tools._gemini_schema_util")._to_gemini_schema(schema)
    return converted.model_dump(mode="json", by_alias=True, exclude_none=True)


def agno(schema: dict[str, Any]) -> Any:
    converted = importlib.import_module("agno.utils.gemini").convert_schema(schema)
    return converted.model_dump(mode="json", by_alias=True, exclude_none=True)


CONVERTERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "google-genai MCP": google_genai_mcp,
    "google-genai Schema": google_genai_schema,
    "langchain-google-genai": langchain,
    "litellm gemini": litellm(GoogleAIStudioGeminiConfig),
    "litellm vertex_ai": litellm(VertexGeminiConfig),
    "pydantic-ai": pydantic_ai(GoogleJsonSchemaTransformer),
    "pydantic-ai Live": pydantic_ai(GoogleOpenAPISchemaTransformer),
}

if sys.argv[1:] == ["all"]:
    # Only for `python -m bench.schemas survival`: beside the packages of our tests, pip resolves the requirements of
    # google-adk for more than nine minutes.
    CONVERTERS |= {"agno": agno, "google-adk": google_adk}


def result(convert: Callable[[dict[str, Any]], Any], schema: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"schema": convert(copy.deepcopy(schema))}
    except Exception as error:  # noqa: BLE001  whatever it raises is told
        return {"error": f"{type(error).__name__}: {error}"}


def offline(event: str, _arguments: object) -> None:
    if event in {"socket.connect", "socket.getaddrinfo"}:
        raise ConnectionError("a converter wants the network")


def main() -> None:
    sys.addaudithook(offline)
    schemas = json.load(sys.stdin)
    results = {
        name: {key: result(convert, schema) for key, schema in schemas.items()} for name, convert in CONVERTERS.items()
    }
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
