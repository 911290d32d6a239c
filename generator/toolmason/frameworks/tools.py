"""The tools of a server for any framework: their schemas, projected for a provider, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.toolkit import InProcessContext

from toolmason.schema import project

if TYPE_CHECKING:
    from toolmason_runtime.toolkit import Dispatcher, OnProgress, OnQuestion

Framework = Literal["anthropic", "google-genai", "langchain", "openai-agents", "pydantic-ai"]
FRAMEWORKS: Final[tuple[Framework, ...]] = get_args(Framework)
_PROVIDERS: Final[Mapping[Framework, str]] = {
    "anthropic": "anthropic",
    "google-genai": "gemini-json",
    "langchain": "mcp",
    "openai-agents": "openai-strict",
    "pydantic-ai": "mcp",
}
"""The target of schemas by default. Those for `mcp` are accepted by every provider."""
_STRICT: Final = "openai-strict"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call: its content blocks as on the wire."""

    content: Sequence[Mapping[str, Any]]
    is_error: bool

    @property
    def text(self) -> str:
        """All text."""
        return "\n".join(str(block["text"]) for block in self.content if block["type"] == "text")

    @property
    def is_text(self) -> bool:
        """Whether it has nothing but text."""
        return all(block["type"] == "text" for block in self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """One tool as a framework gets it. `schema` is that of its arguments; `is_strict` in OpenAI's strict dialect."""

    name: str
    description: str
    schema: dict[str, Any]
    is_strict: bool
    renamed: Mapping[str, str]
    caller: Caller

    async def call(self, arguments: Mapping[str, Any]) -> Outcome:
        """Call the tool."""
        return await self.caller.call(self.name, _exact(arguments, self.renamed))


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls tools of a server in this process, with all its checks and approvals."""

    dispatcher: Dispatcher
    on_question: OnQuestion | None
    on_progress: OnProgress | None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a tool by its name."""
        params = {"name": name, "arguments": dict(arguments)}
        context = InProcessContext(params, on_question=self.on_question, on_progress=self.on_progress)
        try:
            result = await self.dispatcher.dispatch("tools/call", params, context)
        except MethodError as error:
            return Outcome([{"type": "text", "text": error.message}], is_error=True)
        return Outcome(result["content"], bool(result.get("isError")))


class ToolSet(list[Any]):
    """The native tool objects of a framework: a list that also closes the server, with `async with` or `aclose`."""

    def __init__(self, native: Iterable[Any], tools: Iterable[ServedTool], dispatcher: Dispatcher) -> None:
        super().__init__(native)
        self._tools = {tool.name: tool for tool in tools}
        self._dispatcher = dispatcher

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> str:
        """Call a tool as a model does, and return its text: for frameworks that leave calls to you.

        Raises:
            ValueError: there is no such tool.
        """
        if name not in self._tools:
            hint = did_you_mean(name, list(self._tools)) or "the tools are those of the list"
            raise ValueError(f"unknown tool `{name}`; {hint}")
        return (await self._tools[name].call(arguments or {})).text

    async def aclose(self) -> None:
        """Free what the server has opened."""
        await self._dispatcher.aclose()

    async def __aenter__(self) -> Self:
        """Return the list."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free what the server has opened."""
        await self.aclose()


def tools_for(
    framework: Framework,
    server: str | Dispatcher,
    *,
    provider: str = "",
    only: Iterable[str] = (),
    all_tools: bool = False,
    on_question: OnQuestion | None = None,
    on_progress: OnProgress | None = None,
) -> ToolSet:
    """Return the tools of a server as objects of `framework`. Calls run in this process, with all checks of the server.

    Args:
        framework: `openai-agents`, `pydantic-ai`, `langchain`, `anthropic` or `google-genai`. Its package must be
            installed.
        server: The import name of a generated package, such as `workbench_server`, or the dispatcher that its
            `build_dispatcher` returns, of which the listed tools are taken.
        provider: The target of schemas, such as `openai`, `bedrock` or `gemini-parameters`. Default: that of the
            framework, otherwise one that every provider accepts.
        only: The names of the tools. Default: all of the tier `core`.
        all_tools: Also tools of the tier `all`.
        on_question: Answers questions to a person, such as approvals; it gets the text and the schema of the answers.
            Without it, what needs a person is refused.
        on_progress: Called with the progress of calls.

    Raises:
        ValueError: the framework, the provider or a name of `only` is unknown.
        ModuleNotFoundError: the framework or the server is not installed.
    """
    if framework not in FRAMEWORKS:
        hint = did_you_mean(framework, FRAMEWORKS) or f"use one of {', '.join(FRAMEWORKS)}"
        raise ValueError(f"unknown framework `{framework}`; {hint}")
    convert = _adapter(framework)
    dispatcher = _dispatcher(server, all_tools=all_tools) if isinstance(server, str) else server
    caller = Caller(dispatcher, on_question, on_progress)
    wanted = tuple(only)
    listed = {name: tool for name, tool in dispatcher.listed.items() if not wanted or name in wanted}
    if unknown := [name for name in wanted if name not in listed]:
        hint = did_you_mean(unknown[0], list(dispatcher.listed)) or "`all_tools=True` adds those of the tier `all`"
        raise ValueError(f"unknown tool `{unknown[0]}`; {hint}")
    target = provider or _PROVIDERS[framework]
    tools = [_served(tool, target, caller) for tool in listed.values()]
    return ToolSet(convert(tools), tools, dispatcher)


def _adapter(framework: Framework) -> Callable[[Sequence[ServedTool]], list[Any]]:
    """Import the adapter, and with it the framework."""
    try:
        module = import_module(f"toolmason.frameworks.{framework.replace('-', '_')}_tools")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("toolmason"):
            raise
        message = f"`{framework}` is not installed (no module `{error.name}`): python3 -m pip install {framework}"
        raise ModuleNotFoundError(message, name=error.name) from error
    convert: Callable[[Sequence[ServedTool]], list[Any]] = module.native_tools
    return convert


def _dispatcher(package: str, *, all_tools: bool) -> Dispatcher:
    module = import_module(f"{package}.server")
    dispatcher: Dispatcher = module.build_dispatcher(Selection("classic", all_tools=all_tools))
    return dispatcher


def _served(tool: Mapping[str, Any], target: str, caller: Caller) -> ServedTool:
    projection = project(tool["inputSchema"], target)
    is_strict = target == _STRICT
    if is_strict and projection.narrows:
        # Strict schemas cannot have every value, such as maps: the other dialect of the provider can.
        projection, is_strict = project(tool["inputSchema"], "openai"), False
    return ServedTool(
        name=tool["name"],
        description=tool["description"],
        schema=projection.schema,
        is_strict=is_strict,
        renamed=projection.renamed,
        caller=caller,
    )


def _exact(value: Any, renamed: Mapping[str, str]) -> Any:
    """Return arguments with the names that the provider rejects."""
    if not renamed:
        return value
    if isinstance(value, Mapping):
        return {renamed.get(key, key): _exact(part, renamed) for key, part in value.items()}
    return [_exact(part, renamed) for part in value] if isinstance(value, list) else value
