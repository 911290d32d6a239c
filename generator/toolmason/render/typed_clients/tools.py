"""The facts about a typed client that the templates of both languages print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason.render.typed_clients.convert import Converter, Module
from toolmason.render.typed_clients.names import (
    ascii_text,
    camel,
    class_name,
    free,
    method_name,
    snake,
    unique_names,
)
from toolmason.render.typed_clients.types import ANY, AliasType, Declared, Field, MapOf, Named, Type

PYTHON_METHODS: Final = frozenset(
    {"call_tool", "command", "factory", "http", "in_process", "stdio", "url", "with_options"}
    | {"Any", "Omit", "bool", "dict", "float", "int", "list", "params", "results", "str"}
)
"""Members of every Python client, and the names in its annotations. A tool of that name gets an underscore."""
TYPESCRIPT_METHODS: Final = frozenset(
    {"callTool", "close", "connect", "constructor", "http", "inProcess", "stdio", "then", "toString", "valueOf"}
)
"""Methods of every TypeScript client, and names with a meaning of their own."""
PYTHON_TYPES: Final = frozenset(
    {"Annotated", "Any", "BaseModel", "Field", "Literal", "Model", "NotRequired", "TypeAliasType", "TypedDict"}
)
TYPESCRIPT_TYPES: Final = frozenset(
    {
        *("Array", "CallOptions", "Client", "ClientError", "ConnectionError", "Date", "Error", "JsonSchemaType", "Map"),
        *(
            "Object",
            "Omit",
            "Options",
            "Partial",
            "Promise",
            "Question",
            "Record",
            "RequestError",
            "ResultError",
            "Set",
        ),
        *("String", "ToolError", "ToolOutput", "ToolTimeout", "Transport"),
    }
)
"""Types that the modules of a TypeScript client use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call of a tool, from the manifest."""

    description: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool as a server describes it, and what a manifest knows in addition."""

    name: str
    title: str = ""
    description: str = ""
    arguments: Any
    result: Any = None
    examples: tuple[Example, ...] = ()
    deprecated: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTool:
    """One tool of a client. `result` is None for a tool whose result is text or other content."""

    name: str
    python_name: str
    typescript_name: str
    type_name: str
    description: str
    parameters: tuple[Field, ...]
    is_open: bool
    result: Type | None
    result_schema: Any
    examples: tuple[Example, ...]
    deprecated: str

    @property
    def required(self) -> tuple[Field, ...]:
        """The parameters that every call needs."""
        return tuple(each for each in self.parameters if each.required)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedClient:
    """A client of one server."""

    name: str
    title: str
    version: str
    package: str
    distribution: str
    class_name: str
    source: str
    command: tuple[str, ...] = ()
    """The command line that starts the server; empty if it is unknown."""
    url: str = ""
    factory: str = ""
    """`module:function` that builds the server in process; empty for a server of another program."""
    tools: tuple[ClientTool, ...]
    params: tuple[Declared, ...]
    results: tuple[Declared, ...]


def typed_client(
    tools: Sequence[ListedTool],
    *,
    name: str,
    title: str = "",
    version: str = "",
    package: str = "",
    source: str,
    command: Sequence[str] = (),
    url: str = "",
    factory: str = "",
) -> TypedClient:
    """Return the facts about the client of a server with these tools."""
    package = package or f"{snake(ascii_text(method_name(name)), 'server')}_client"
    scope = _Scope()
    known: dict[str, ListedTool] = {}
    for tool in tools:
        known.setdefault(tool.name, tool)
    scope.name_tools(tuple(known))
    client_tools = tuple(_tool(tool, scope) for tool in known.values())
    return TypedClient(
        name=name,
        title=title or name,
        version=version,
        package=package,
        distribution=package.replace("_", "-"),
        class_name=client_class(name),
        source=source,
        command=tuple(command),
        url=url,
        factory=factory,
        tools=client_tools,
        params=scope.params.declared,
        results=scope.results.declared,
    )


def client_class(name: str) -> str:
    """Return the name of the class for the server `name`."""
    stem = class_name(name, "Server")
    return f"{stem.removesuffix('Client') or stem}Client"


def method_names(tools: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the method of each tool by language."""
    python = unique_names(tools, lambda name: free(method_name(name), PYTHON_METHODS), "_")
    typescript = unique_names(tools, lambda name: free(camel(name, "tool"), TYPESCRIPT_METHODS))
    return {tool: {"python": python[tool], "typescript": typescript[tool]} for tool in tools}


@dataclass(slots=True)
class _Scope:
    """The names and the declared types of one client."""

    params: Module = field(default_factory=lambda: Module(PYTHON_TYPES | TYPESCRIPT_TYPES))
    results: Module = field(default_factory=lambda: Module(PYTHON_TYPES | TYPESCRIPT_TYPES))
    methods: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    type_names: Mapping[str, str] = field(default_factory=dict)

    def name_tools(self, tools: Sequence[str]) -> None:
        """Choose the names of methods and types. A tool whose name needs no change has that name."""
        self.methods = method_names(tools)
        self.type_names = unique_names(tools, lambda name: class_name(name, "Tool"))


def _tool(tool: ListedTool, scope: _Scope) -> ClientTool:
    type_name = scope.type_names[tool.name]
    converter = Converter(scope.params, tool.arguments, type_name)
    merged = converter.merged_object(tool.arguments)
    others = merged.get("additionalProperties")
    return ClientTool(
        name=tool.name,
        python_name=scope.methods[tool.name]["python"],
        typescript_name=scope.methods[tool.name]["typescript"],
        type_name=type_name,
        description=tool.description.strip() or tool.title.strip(),
        parameters=tuple(converter.fields(merged, type_name)),
        is_open=others is True or (isinstance(others, Mapping) and bool(others)),
        result=_result(tool.result, scope.results, type_name),
        result_schema=tool.result,
        examples=tool.examples,
        deprecated=tool.deprecated,
    )


def _result(schema: Any, module: Module, type_name: str) -> Type | None:
    """Return the type of a structured result: an object that is declared, or a dict of any values."""
    if not isinstance(schema, Mapping):
        return None
    name = f"{type_name}Result"
    found = Converter(module, schema, type_name, name).convert(schema, name)
    if found == ANY:
        return MapOf(ANY)
    if isinstance(found, Named | MapOf):
        return found
    own, is_new = module.name_for(f"result {name}", name, type_name)
    if is_new:
        module.declare(AliasType(name=own, description=f"Result of `{type_name}`.", type=found))
    return Named(own)


def listed_tools(wire: Iterable[Mapping[str, Any]]) -> Iterator[ListedTool]:
    """Return the tools in the result of `tools/list`; others than tools are left out."""
    for tool in wire:
        name = tool.get("name")
        if isinstance(name, str) and name:
            title, description = tool.get("title"), tool.get("description")
            yield ListedTool(
                name=name,
                title=title if isinstance(title, str) else "",
                description=description if isinstance(description, str) else "",
                arguments=tool.get("inputSchema", {}),
                result=tool.get("outputSchema"),
            )
