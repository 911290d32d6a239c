"""Lint rules on parameters at every level of a schema: descriptions, names and patterns."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.values.patterns import TIMEOUT_S, is_linear
from toolmason_runtime.shared.values.wording import GEMINI_EXTRA_ARGUMENT

from toolmason.clients import VSCODE, clients
from toolmason.diagnostics import Severity
from toolmason.lint.finding import Finding
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.model.types import JsonSchema
from toolmason.schema.providers import providers
from toolmason.schema.walk import subschemas


def check_parameter_descriptions(server: Server) -> Iterator[Finding]:
    """TM504: without a description, models guess units, formats and limits."""
    for tool in server.tools:
        for at, name in _undescribed(tool):
            yield _missing_description(tool.name, f"parameter `{name}` of `{tool.name}`", at)
    for named in server.types:
        for field in named.fields:
            if not field.description.strip():
                yield _missing_description("", f"field `{field.name}` of type `{named.name}`", field.at)


def _undescribed(tool: Tool) -> Iterator[tuple[KeyPath, str]]:
    if tool.params_class:
        yield from ((param.at, param.name) for param in tool.params if not param.description.strip())
        return
    for name, schema in tool.input_schema.get("properties", {}).items():
        if not (isinstance(schema, dict) and str(schema.get("description", "")).strip()):
            yield (*tool.at, "input_schema", "properties", name), name


def _missing_description(tool: str, label: str, at: KeyPath) -> Finding:
    hint = "add `description` with its meaning, its unit and allowed values"
    return Finding(code="TM504", tool=tool, message=f"{label} has no description", hint=hint, at=at)


def check_parameter_description_length(server: Server) -> Iterator[Finding]:
    """TM516: VS Code cuts long descriptions of parameters at the end, where their limits are."""
    vscode = clients()[VSCODE]
    max_length = vscode.max_parameter_description or sys.maxsize
    for tool in server.tools:
        for node in _nodes(tool):
            text = node.schema.get("description") if isinstance(node.schema, dict) else None
            if isinstance(text, str) and len(text) > max_length:
                yield Finding(
                    code="TM516",
                    tool=tool.name,
                    message=f"the description of {node.label(tool)}, with its limits, has {len(text):,} characters; "
                    f"{vscode.title} cuts at {max_length:,} for GPT-4",
                    hint="move details into the tool's description or documentation",
                    at=node.at(tool),
                )


def check_parameter_names(server: Server) -> Iterator[Finding]:
    """TM517: Anthropic rejects every request with a name outside its pattern, also for the tools of other servers.

    Such names are replaced in schemas, except those with `verbatim_schema`.
    """
    for tool in server.tools:
        for node in _properties(tool):
            if not providers().anthropic_name.fullmatch(node.sent_name):
                is_outermost = len(node.names) == 1
                reason = "Anthropic rejects every request with it" if is_outermost else "Vertex AI rejects it"
                yield Finding(
                    code="TM517",
                    tool=tool.name,
                    message=f"{node.label(tool)} has a name that providers reject: {reason}",
                    hint=f"{_better_name(node.sent_name)}, or remove `verbatim_schema`",
                    at=node.at(tool),
                    severity=None if is_outermost else Severity.WARNING,
                )


def check_portable_parameter_names(server: Server) -> Iterator[Finding]:
    """TM518: only some providers accept dashes, dots and leading digits, so such names are replaced for clients.

    In a raw schema this is a note: it often comes from elsewhere, with fixed names.
    """
    for tool in server.tools:
        for node in _properties(tool):
            own, sent = node.names[-1], node.sent_name
            if providers().portable_name.fullmatch(own) or not providers().anthropic_name.fullmatch(sent):
                continue
            is_replaced = own != sent
            problem = f"is sent as `{sent}`: some providers reject its name" if is_replaced else _NOT_PORTABLE
            yield Finding(
                code="TM518",
                tool=tool.name,
                message=f"{node.label(tool)} {problem}",
                hint=f"rename it to `{sent}`" if is_replaced else _better_name(own),
                at=node.at(tool),
                severity=Severity.NOTE if is_replaced and not tool.params_class else None,
            )


_NOT_PORTABLE: Final = "has a name that some providers reject"


def check_injected_parameter(server: Server) -> Iterator[Finding]:
    """TM519: Gemini CLI adds a parameter to each tool, replaces one of that name, and sends it to the server."""
    for tool in server.tools:
        declared = tool.input_schema.get("properties", {}).get(GEMINI_EXTRA_ARGUMENT)
        if declared is None:
            continue
        is_boolean = isinstance(declared, dict) and declared.get("type") == "boolean"
        node = _Node({}, ("properties", GEMINI_EXTRA_ARGUMENT), (GEMINI_EXTRA_ARGUMENT,))
        yield Finding(
            code="TM519",
            tool=tool.name,
            message=f"Gemini CLI overwrites {node.label(tool)} with a boolean of its own",
            hint="choose another name",
            at=node.at(tool),
            severity=Severity.WARNING if is_boolean else None,
        )


def check_patterns(server: Server) -> Iterator[Finding]:
    """TM520: a pattern that needs a backtracking engine may exceed the time limit."""
    for tool in server.tools:
        if tool.params_class:
            yield from (
                _slow_pattern(tool.name, f"parameter `{param.name}` of `{tool.name}`", (*param.at, "pattern"))
                for param in tool.params
                if not is_linear(param.constraints.get("pattern", ""))
            )
        else:
            for node in _walk(tool.schema):
                yield from _slow_patterns(tool, node)
    for named in server.types:
        for field in named.fields:
            if not is_linear(field.constraints.get("pattern", "")):
                yield _slow_pattern("", f"field `{field.name}` of type `{named.name}`", (*field.at, "pattern"))


def _slow_patterns(tool: Tool, node: _Node) -> Iterator[Finding]:
    """Yield findings for the slow patterns of one node of a raw schema."""
    schema = node.schema if isinstance(node.schema, dict) else {}
    if not is_linear(schema.get("pattern", "")):
        yield _slow_pattern(tool.name, node.label(tool), (*node.at(tool), "pattern"))
    for pattern in schema.get("patternProperties", {}):
        if not is_linear(pattern):
            yield _slow_pattern(tool.name, node.label(tool), (*node.at(tool), "patternProperties", pattern))


def _slow_pattern(tool: str, label: str, at: KeyPath) -> Finding:
    return Finding(
        code="TM520",
        tool=tool,
        message=f"{label} has a pattern that cannot be matched in linear time; "
        f"the server rejects values that take longer than {TIMEOUT_S} s",
        hint="avoid look-around, backreferences, inline flags and possessive repeats, put `$` last, or use `enum`",
        at=at,
    )


def _better_name(name: str) -> str:
    portable = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    if providers().portable_name.fullmatch(portable):
        return f"rename it to `{portable}`"
    return "use up to 64 letters, digits and underscores, not starting with a digit"


class _Node(NamedTuple):
    """A subschema of a tool's schema.

    `path` has the keys that lead to it, `names` the properties among them, both with the names of the manifest.
    `sent_name` is the last of `names` as clients see it. `is_property`: the node is the schema of that property itself.
    """

    schema: Any
    path: KeyPath = ()
    names: tuple[str, ...] = ()
    sent_name: str = ""
    is_property: bool = False

    def label(self, tool: Tool) -> str:
        """Return its name for messages."""
        return f"parameter `{'.'.join(self.names)}` of `{tool.name}`" if self.names else f"the schema of `{tool.name}`"

    def at(self, tool: Tool) -> KeyPath:
        """Return its key path in the manifest: in the raw schema, else the parameter that contains it."""
        if not tool.params_class:
            return (*tool.at, "input_schema", *self.path)
        return (*tool.at, "params", self.names[0]) if self.names else tool.at


def _properties(tool: Tool) -> Iterator[_Node]:
    """Yield each property of the schema for clients once, at any level."""
    seen: set[tuple[str, ...]] = set()
    for node in _nodes(tool):
        if node.is_property and node.names not in seen:
            seen.add(node.names)
            yield node


def _nodes(tool: Tool) -> Iterator[_Node]:
    """Yield the schema for clients and its subschemas."""
    yield from _walk(tool.input_schema, tool.renamed)


def _walk(schema: JsonSchema, renamed: Mapping[str, str] = MappingProxyType({})) -> Iterator[_Node]:
    """Yield `schema` and its subschemas in order. Other keywords contain data."""
    stack = [_Node(schema)]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node.schema, dict):
            keywords = [keyword for keyword, value in node.schema.items() if type(value) not in _NO_SCHEMAS]
            stack += reversed([child for keyword in keywords for child in _subschemas(node, keyword, renamed)])


_NO_SCHEMAS: Final = frozenset({float, int, str})
"""Types of values that contain no schema. A boolean is a schema."""


def _subschemas(node: _Node, keyword: str, renamed: Mapping[str, str]) -> Iterator[_Node]:
    value, path = node.schema[keyword], (*node.path, keyword)
    if keyword == "properties" and isinstance(value, dict):
        for sent, inner in value.items():
            own = renamed.get(sent, sent)
            yield _Node(inner, (*path, own), (*node.names, own), sent, is_property=True)
    else:
        yield from (_Node(inner, node.path + parts, node.names) for parts, inner in subschemas(keyword, value))
