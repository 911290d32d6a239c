"""Import a Python module in a process of its own and describe its functions as JSON on stdout.

`python -m toolmason.importers.python_module.describe MODULE[:SERVER] DIRECTORY [FUNCTION...]`. Output of the module
itself goes to stderr.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import re
import sys
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Final, TextIO

from pydantic import ConfigDict, Field, TypeAdapter, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from toolmason.importers.python_module.docstrings import Docstring, parse_docstring

_SERVER_MODULES: Final = ("mcp.", "fastmcp.")
_SERVER_CLASSES: Final = frozenset({"FastMCP", "MCPServer"})

_CONTEXT: Final = re.compile(r"\b(?:fast)?mcp\.[\w.]{0,200}Context\b")
_FILLED: Final = "`{}` is filled by FastMCP, not by the caller; write this handler by hand"


class RefusedError(Exception):
    """A function or a module cannot be imported. The message is the reason."""


def describe(target: str, directory: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the description of a module's functions, or of the tools of its server.

    Raises:
        RefusedError: there is no such module, server or function, or no server can be chosen.
    """
    name, _, variable = target.partition(":")
    found_without = PathFinder.find_spec(name.partition(".")[0], sys.path) is not None
    sys.path[:0] = [directory, os.path.join(directory, "handlers")]  # noqa: PTH118  # an entry of sys.path is a string
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            message = f"no module `{error.name}` in {directory}, its directory `handlers` or the installed packages"
            raise RefusedError(message) from error
        raise
    server = _server(module, variable) if not names else None
    tools, refused = _server_tools(module, server) if server is not None else _functions(module, names)
    path = getattr(module, "__file__", None) or ""
    return {
        "file": path,
        "is_installed": found_without or _is_inside(path, os.path.join(directory, "handlers")),  # noqa: PTH118
        "summary": parse_docstring(module.__doc__ or "").text,
        "server": {"name": server.name, "instructions": server.instructions or ""} if server is not None else None,
        "tools": tools,
        "refused": refused,
        "losses": asyncio.run(_losses(server)) if server is not None else {},
    }


def _is_inside(path: str, directory: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(directory) + os.sep)


# Servers


def _is_server(value: Any) -> bool:
    return any(
        base.__name__ in _SERVER_CLASSES and base.__module__.startswith(_SERVER_MODULES) for base in type(value).__mro__
    )


def _server(module: ModuleType, variable: str) -> Any:
    """Return the FastMCP server of a module, None if it has none."""
    servers = {name: value for name, value in vars(module).items() if _is_server(value)}
    if variable:
        if variable not in servers:
            raise RefusedError(f"`{variable}` is not a FastMCP server; the module has {_listed(servers) or 'none'}")
        return servers[variable]
    distinct = {id(value): name for name, value in servers.items()}
    if len(distinct) > 1:
        name = next(iter(servers))
        raise RefusedError(f"the module has several servers, {_listed(servers)}: write `{module.__name__}:{name}`")
    return next(iter(servers.values()), None)


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _server_tools(module: ModuleType, server: Any) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the tools of a server, and the reasons for those that are refused."""
    # The SDK lists its tools with their functions in its manager, `fastmcp` in `list_tools`.
    manager = getattr(server, "_tool_manager", server)
    listed = asyncio.run(_resolved(manager.list_tools()))
    described, refused = [], {}
    for tool in listed:
        try:
            described.append(_server_tool(module, tool))
        except RefusedError as error:
            refused[tool.name] = str(error)
    return described, refused


async def _resolved(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _server_tool(module: ModuleType, tool: Any) -> dict[str, Any]:
    function = getattr(tool, "fn", None)
    if function is None:
        raise RefusedError("it is not a function of this server")
    properties = tool.parameters.get("properties", {})
    if hidden := [name for name in inspect.signature(function).parameters if name not in properties]:
        raise RefusedError(_FILLED.format(hidden[0]))
    described = _function(function, _path(module, function), tool.name)
    documented = parse_docstring(function.__doc__ or "")
    text = tool.description or ""
    if inspect.cleandoc(text) != inspect.cleandoc(function.__doc__ or ""):
        described["text"] = text
    if unknown := properties.keys() - described["schema"].get("properties", {}).keys():
        raise RefusedError(f"its function has no parameters {_listed(sorted(unknown))}")
    for name, schema in properties.items():
        own = described["schema"]["properties"][name]
        if schema.get("description") and not documented.params.get(name):
            own["description"] = schema["description"]
    annotations = tool.annotations.model_dump(exclude_none=True, by_alias=True) if tool.annotations else {}
    return described | {"title": tool.title or annotations.get("title") or "", "annotations": annotations}


def _path(module: ModuleType, function: Callable[..., Any]) -> str:
    """Return the expression that is the function: `search`, or `search.fn` where a decorator replaced it.

    Raises:
        RefusedError: no name of the module has the function.
    """
    for name, value in vars(module).items():
        if value is function:
            return name
        if getattr(value, "fn", None) is function:
            return f"{name}.fn"
    raise RefusedError("no name of the module has its function; a handler can call only functions with a name")


async def _losses(server: Any) -> dict[str, list[str]]:
    """Return the names of prompts and resources, which are not imported."""
    losses = {}
    for kind in ("prompts", "resources", "resource_templates"):
        try:
            losses[kind] = [str(item.name) for item in await getattr(server, f"list_{kind}")()]
        except Exception:  # noqa: BLE001  # only for a note; servers and versions differ
            losses[kind] = []
    return losses


# Functions


def _functions(module: ModuleType, names: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the functions of a module: `names`, or `__all__`, or the public ones that it defines."""
    public = names or getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    described, refused = [], {}
    for name in public:
        value = getattr(module, name, None)
        if not inspect.isroutine(value):
            if names:
                refused[name] = "the module has no function of this name"
            continue
        if not names and not hasattr(module, "__all__") and value.__module__ != module.__name__:
            continue
        try:
            described.append(_function(value, name, name))
        except RefusedError as error:
            refused[name] = str(error)
    return described, refused


def _function(function: Callable[..., Any], path: str, name: str) -> dict[str, Any]:
    """Return the description of a function."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RefusedError("it yields values; a tool returns one")
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (TypeError, ValueError, NameError, AttributeError) as error:
        raise RefusedError(f"its signature cannot be read: {error}") from error
    documented = parse_docstring(function.__doc__ or "")
    return {
        "name": name,
        "path": path,
        "text": documented.text,
        "schema": _arguments_schema(signature, hints, documented),
        "returns": _returns_schema(hints.get("return", inspect.Signature.empty)),
    }


def _arguments_schema(signature: inspect.Signature, hints: Mapping[str, Any], documented: Docstring) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        fields[name] = _field(parameter, hints, documented.params.get(name, ""))
    model = create_model("Arguments", __config__=ConfigDict(arbitrary_types_allowed=False), **fields)
    schema: dict[str, Any] = model.model_json_schema(by_alias=False)
    return schema


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any], description: str) -> tuple[Any, Any]:
    """Return type and field of a parameter for `create_model`.

    Raises:
        RefusedError: it has no type, a type without JSON Schema, or a kind that cannot be passed by name.
    """
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise RefusedError(f"`{stars}{name}` accepts any number of arguments; a tool has named ones")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise RefusedError(f"`{name}` is positional-only; a handler passes arguments by name")
    if name not in hints:
        raise RefusedError(f"`{name}` has no type annotation")
    hint = hints[name]
    if _CONTEXT.search(repr(hint)):
        raise RefusedError(_FILLED.format(name))
    if name.startswith("_"):
        raise RefusedError(f"`{name}` starts with an underscore; rename it")
    try:
        TypeAdapter(hint).json_schema()
    except Exception as error:  # many kinds, from pydantic and from the types themselves
        raise RefusedError(f"the type of `{name}` has no JSON Schema: {_first_line(error)}") from error
    default = parameter.default
    if isinstance(default, FieldInfo):
        return hint, default
    value = PydanticUndefined if default is parameter.empty else default
    return hint, Field(default=value, description=description) if description else Field(default=value)


def _returns_schema(hint: Any) -> dict[str, Any] | None:
    """Return the JSON Schema of a result, or None if it is text."""
    if hint in (inspect.Signature.empty, str, None, type(None), Any):
        return None
    try:
        adapter = TypeAdapter(hint)
        validated, serialized = adapter.json_schema(), adapter.json_schema(mode="serialization")
    except Exception:  # noqa: BLE001  # many kinds; the result is then JSON as text
        return None
    # Both differ in required fields, but computed fields are only in the second.
    return validated if _property_names(validated) == _property_names(serialized) else serialized


def _property_names(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return None
    inner = {name: _property_names(value) for name, value in schema.get("$defs", {}).items()}
    return sorted(schema.get("properties", {})), inner


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def main(arguments: Sequence[str], output: TextIO) -> int:
    """Print the description or `{"error": ...}`."""
    target, directory, *names = arguments
    warnings.simplefilter("ignore")
    try:
        result = describe(target, directory, names)
    except RefusedError as error:
        result = {"error": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001  # of the module, which can raise anything
        result = {"error": f"the module raised {type(error).__name__}: {_first_line(error)}"}  # type: ignore[arg-type]
    json.dump(result, output, default=str)
    output.flush()
    return 0


if __name__ == "__main__":
    result = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    code = main(sys.argv[1:], result)
    result.close()
    # Threads of the module must not keep the process alive.
    os._exit(code)
