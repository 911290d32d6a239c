"""The code of handler functions that a manifest names and nobody has written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolmason.model.identifiers import identifier
from toolmason.model.implementation import Handler
from toolmason.model.python_text import docstring
from toolmason.model.tool import Tool

MISSING_FUNCTION: Final = "TM312"
"""Code of the error that stubs solve."""
_RUNTIME: Final = "toolmason_runtime"
_PROGRAMS: Final = "toolmason_runtime.programs"
_COLLECTIONS: Final = "collections.abc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A missing function: its definition, and the names that it imports by their module."""

    handler: Handler
    imports: Mapping[str, frozenset[str]]
    parameters: str
    result: str
    about: str = ""
    """Text of the docstring."""
    is_async: bool = True
    decorator: str = ""
    body: tuple[str, ...] = field(default=("raise NotImplementedError",))

    @property
    def signature(self) -> str:
        """The first line of the definition, without the colon."""
        keyword = "async def" if self.is_async else "def"
        return f"{keyword} {self.handler.function}({self.parameters}) -> {self.result}"

    @property
    def definition(self) -> str:
        """The function without imports and without a final newline."""
        lines = [self.decorator] if self.decorator else []
        lines += [f"{self.signature}:", f"    {docstring(self.about or '...')}", *(f"    {line}" for line in self.body)]
        return "\n".join(lines)

    @property
    def text(self) -> str:
        """The function with its imports, ready to paste."""
        imports = [import_line(module, names) for module, names in sorted_imports(self.imports)]
        blocks = [line for index, line in enumerate(imports) for line in (([""] if index else []) + [line])]
        return "\n".join([*blocks, "", "", self.definition])


def sorted_imports(imports: Mapping[str, frozenset[str]]) -> list[tuple[str, list[str]]]:
    """Return modules with their names: the standard library, the runtime, generated modules."""
    ordered = sorted(imports.items(), key=lambda item: (import_group(item[0]), item[0]))
    return [(module, sorted(names, key=_name_order)) for module, names in ordered]


def import_group(module: str) -> int:
    """Return the position of a module's group of imports."""
    import sys

    top = module.partition(".")[0]
    if top == "__future__":
        return 0
    return 1 if top in sys.stdlib_module_names else 2 if top == _RUNTIME else 3


def import_line(module: str, names: list[str]) -> str:
    """Return the statement that imports `names`; in several lines if it is long."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= MAX_LINE:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


MAX_LINE: Final = 88
"""Maximum characters of a line of imports; the default of formatters."""


def _name_order(name: str) -> tuple[int, str]:
    """Sort as formatters do: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def tool_stub(tool: Tool, handler: Handler, package: str) -> Stub:
    """Return the function of a tool. A tool with a raw schema gets a dict, one without `returns` returns content."""
    models = {name for name in (tool.params_class, tool.result_class) if name}
    imports = {_RUNTIME: frozenset({"ToolCall"} if tool.result_class else {"Content", "ToolCall"})}
    if models:
        imports[f"{package}.{identifier(tool.category)}.models"] = frozenset(map(str, models))
    if not tool.params_class:
        imports["typing"] = frozenset({"Any"})
    return Stub(
        handler=handler,
        imports=imports,
        parameters=f"params: {tool.params_class or 'dict[str, Any]'}, call: ToolCall",
        result=tool.result_class or "Content",
        about=tool.table.summary,
    )


def surface_stub(handler: Handler, about: str, *, params: str, result: str, models: str) -> Stub:
    """Return the function of a prompt or a resource; `models` is the module of its parameters."""
    imports = {_RUNTIME: frozenset({result, "ToolCall"}), models: frozenset({params})}
    return Stub(
        handler=handler, imports=imports, parameters=f"params: {params}, call: ToolCall", result=result, about=about
    )


def completion_stub(handler: Handler, argument: str) -> Stub:
    """Return the function that completes an argument."""
    return Stub(
        handler=handler,
        imports={_RUNTIME: frozenset({"Completion", "ToolCall"}), _COLLECTIONS: frozenset({"Sequence"})},
        parameters="params: Completion, call: ToolCall",
        result="Sequence[str]",
        about=f"Return the values of `{argument}` that fit `params.value`, best first.",
    )


def lifespan_stub(handler: Handler, package: str) -> Stub:
    """Return a lifespan that yields nothing."""
    return Stub(
        handler=handler,
        imports={
            _COLLECTIONS: frozenset({"AsyncIterator"}),
            "contextlib": frozenset({"asynccontextmanager"}),
            f"{package}.options": frozenset({"Options"}),
        },
        decorator="@asynccontextmanager",
        parameters="options: Options",
        result="AsyncIterator[object]",
        about="Yield the state of the handlers: one object or a tuple of objects.",
        body=("yield ()",),
    )


def guard_stub(handler: Handler) -> Stub:
    """Return a guard that rejects every call until somebody writes it."""
    return Stub(
        handler=handler,
        imports={
            _COLLECTIONS: frozenset({"Mapping"}),
            "typing": frozenset({"Any"}),
            _RUNTIME: frozenset({"ToolCall"}),
            _PROGRAMS: frozenset({"CommandTool"}),
        },
        parameters="tool: CommandTool, values: Mapping[str, Any], call: ToolCall",
        result="Mapping[str, Any]",
        about="Return the arguments to replace; raise `ToolError` to reject the call.",
    )


def startup_check_stub(handler: Handler) -> Stub:
    """Return a startup check without warnings."""
    about = "Return the warnings to log once the server runs."
    body = ("return []",)
    return Stub(handler=handler, imports={}, parameters="", result="list[str]", about=about, is_async=False, body=body)


def routes_stub(handler: Handler) -> Stub:
    """Return a function that adds no routes."""
    return Stub(
        handler=handler,
        imports={_COLLECTIONS: frozenset({"Sequence"}), "starlette.routing": frozenset({"BaseRoute"})},
        parameters="",
        result="Sequence[BaseRoute]",
        about="Return the routes that the server has over HTTP beside `/mcp`.",
        is_async=False,
        body=("return []",),
    )


def middleware_stub(handler: Handler) -> Stub:
    """Return a function that wraps nothing."""
    return Stub(
        handler=handler,
        imports={"starlette.types": frozenset({"ASGIApp"})},
        parameters="app: ASGIApp",
        result="ASGIApp",
        about="Return an application that wraps `app`, MCP and the routes of the server.",
        is_async=False,
        body=("return app",),
    )


def page_stub(handler: Handler, tool: str) -> Stub:
    """Return a page that shows nothing."""
    about = f"Return the HTML that clients show beside the results of `{tool}`."
    body = ('return "<!doctype html><title>Page</title>"',)
    return Stub(handler=handler, imports={}, parameters="", result="str", about=about, is_async=False, body=body)


def action_stub(handler: Handler, tool: str) -> Stub:
    """Return the function for the requests of a page."""
    return Stub(
        handler=handler,
        imports={"typing": frozenset({"Any"}), _RUNTIME: frozenset({"ToolCall"})},
        parameters="arguments: dict[str, Any], call: ToolCall",
        result="dict[str, Any]",
        about=f"Answer a request of the page of `{tool}`.",
    )


def subcommand_stub(handler: Handler, summary: str) -> Stub:
    """Return the function of a subcommand."""
    return Stub(
        handler=handler,
        imports={},
        parameters="argv: list[str]",
        result="int",
        about=f"{summary}. Return the exit code.",
        is_async=False,
    )
