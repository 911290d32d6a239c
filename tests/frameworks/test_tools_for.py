"""The tools of a server as native objects of each framework, in the same process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from toolmason.frameworks import FRAMEWORKS, ToolSet, tools_for

CASE = Path(__file__).parents[1] / "golden" / "clients-are-packages-in-two-languages"
PYTHON = os.environ.get("TOOLMASON_PYTHON", sys.executable)
Call = Callable[[ToolSet, str, dict[str, Any]], Awaitable[tuple[str, bool]]]
"""Calls a tool as the framework does; returns the text, and whether the framework knows that it is an error."""


@pytest.fixture(scope="module", autouse=True)
def diary(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The server of the golden case can be imported."""
    root = tmp_path_factory.mktemp("diary")
    shutil.copy(CASE / "manifest.toml", root)
    shutil.copytree(CASE / "handlers", root / "handlers")
    subprocess.run([PYTHON, "-m", "toolmason", "generate", "--manifest", "manifest.toml"], cwd=root, check=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("generated", "handlers"):
            patch.syspath_prepend(str(root / name))
        yield


async def openai_agents(tools: ToolSet, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    from agents.tool_context import ToolContext

    tool = next(each for each in tools if each.name == name)
    text = json.dumps(arguments)
    context: Any = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=text)
    result = await tool.on_invoke_tool(context, text)
    return str(result), False


async def pydantic_ai(tools: ToolSet, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: list[Any], _info: Any) -> ModelResponse:
        last = messages[-1].parts[-1]
        if last.part_kind == "user-prompt":
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart(f"{last.outcome} {last.content}")])

    agent: Any = Agent(FunctionModel(answer), tools=list(tools))
    kind, _, text = (await agent.run("go")).output.partition(" ")
    return text, kind == "retried"


async def langchain(tools: ToolSet, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    tool = next(each for each in tools if each.name == name)
    message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
    return message.content, message.status == "error"


async def anthropic(tools: ToolSet, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    from anthropic.lib.tools import ToolError

    tool = next(each for each in tools if each.to_dict()["name"] == name)
    try:
        return await tool.call(arguments), False
    except ToolError as error:
        return str(error), True


async def google_genai(tools: ToolSet, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    (tool,) = tools
    assert name in [each.name for each in tool.function_declarations]
    return await tools.call(name, arguments), False


CALLS = {
    "openai-agents": openai_agents,
    "pydantic-ai": pydantic_ai,
    "langchain": langchain,
    "anthropic": anthropic,
    "google-genai": google_genai,
}
SCHEMAS: dict[str, Callable[[ToolSet], dict[str, Any]]] = {
    "openai-agents": lambda tools: tools[0].params_json_schema,
    "pydantic-ai": lambda tools: tools[0].function_schema.json_schema,
    "langchain": lambda tools: tools[0].tool_call_schema,
    "anthropic": lambda tools: tools[0].to_dict()["input_schema"],
    "google-genai": lambda tools: tools[0].function_declarations[0].parameters_json_schema,
}


def test_every_framework_is_tried() -> None:
    assert set(CALLS) == set(SCHEMAS) == set(FRAMEWORKS)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_calls_the_tools(framework: Any) -> None:
    async def ask() -> tuple[Any, ...]:
        call = CALLS[framework]
        async with tools_for(framework, "diary_server", on_question=lambda *_: {"sure": True}) as tools:
            return (
                await call(tools, "find_notes", {"text": "Bake", "limit": None, "moods": None, "from": None}),
                await call(tools, "find_notes", {"text": "nothing"}),
                await call(tools, "clean_up", {}),
            )

    found, missing, cleaned = asyncio.run(ask())

    assert json.loads(found[0])["notes"][0]["id"] == 2
    assert missing[0].startswith("no note matches\nTry fewer words")
    assert missing[1] is (framework not in {"google-genai", "openai-agents"})
    assert cleaned == ("accept: {'sure': True}", False)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_schemas_are_those_of_the_provider(framework: Any) -> None:
    schema = SCHEMAS[framework](tools_for(framework, "diary_server", only=["find_notes"]))

    assert set(schema["properties"]) == {"text", "limit", "moods", "from"}
    is_strict = framework == "openai-agents"
    assert schema["required"] == (["text", "limit", "moods", "from"] if is_strict else ["text"])
    assert "$ref" not in json.dumps(schema)


def test_another_provider_has_other_schemas() -> None:
    tools = tools_for("openai-agents", "diary_server", provider="openai", only=["find_notes"])

    assert (tools[0].strict_json_schema, tools[0].params_json_schema["required"]) == (False, ["text"])


def test_arguments_that_langchain_takes_itself_reach_the_tool() -> None:
    from toolmason.frameworks.langchain_tools import native_tools
    from toolmason.frameworks.tools import Outcome, ServedTool

    class Echo:
        async def call(self, _name: str, arguments: Any) -> Outcome:
            return Outcome([{"type": "text", "text": json.dumps(arguments)}], is_error=False)

    names = ("config", "run_manager", "callbacks", "self", "from", "kwargs")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": ["config"]}
    caller: Any = Echo()
    served = ServedTool(name="x", description="x", schema=schema, is_strict=False, renamed={}, caller=caller)
    (tool,) = native_tools([served])
    given = {name: name for name in tool.args}

    assert json.loads(asyncio.run(tool.ainvoke(given))) == {name.removesuffix("_"): name for name in tool.args}
    assert set(tool.args) == {"config_", "run_manager_", "self_", "callbacks", "from", "kwargs"}


def test_without_somebody_to_ask_a_question_is_refused() -> None:
    async def ask() -> str:
        async with tools_for("google-genai", "diary_server") as tools:
            return await tools.call("clean_up")

    assert "elicitation" in asyncio.run(ask())


@pytest.mark.parametrize(
    ("arguments", "facts", "problem"),
    [
        (("langchian", "diary_server"), {}, "unknown framework `langchian`; did you mean `langchain`?"),
        (("crewai", "diary_server"), {}, "unknown framework `crewai`; use one of anthropic, google-genai"),
        (
            ("langchain", "diary_server"),
            {"only": ["find_note"]},
            "unknown tool `find_note`; did you mean `find_notes`?",
        ),
        (("langchain", "diary_server"), {"provider": "nobody"}, "nobody"),
    ],
)
def test_mistakes_are_errors(arguments: tuple[Any, Any], facts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        tools_for(*arguments, **facts)


def test_a_framework_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.setitem(sys.modules, "langchain_core.tools", None)
    monkeypatch.delitem(sys.modules, "toolmason.frameworks.langchain_tools", raising=False)

    with pytest.raises(ModuleNotFoundError, match="python3 -m pip install langchain"):
        tools_for("langchain", "diary_server")


def test_no_framework_is_imported_before_it_is_used() -> None:
    names = ["agents", "pydantic_ai", "langchain_core", "anthropic", "google.genai", "mcp", "jinja2"]
    code = f"import sys, toolmason.frameworks; print([name for name in {names!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8")

    assert ran.stdout == "[]\n"
