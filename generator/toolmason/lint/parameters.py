"""Lint rules on parameters: their descriptions and their names, at every level of the schema that clients are sent."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolmason_runtime.protocol.patterns import TIMEOUT_S, is_linear
from toolmason_runtime.protocol.wording import FORWARDED
from toolmason_runtime.toml.positions import KeyPath

from toolmason.clients import VSCODE, clients
from toolmason.diagnostics import Severity
from toolmason.lint.finding import Finding
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.model.types import JsonSchema, Value
from toolmason.schema.keywords import MANY_SCHEMAS, NAMED_SCHEMAS, ONE_SCHEMA
from toolmason.schema.providers import providers


def each_parameter_is_described(server: Server) -> Iterator[Finding]:
    """TM504: a name alone leaves a model guessing units, forms and limits."""
    for tool in server.tools:
        for place, name in _undescribed(tool):
            yield _no_description(tool.name, f"parameter `{name}` of `{tool.name}`", place)
    for named in server.types:
        for field in named.fields:
            if not field.description.strip():
                yield _no_description("", f"field `{field.name}` of type `{named.name}`", field.at)


def _undescribed(tool: Tool) -> Iterator[tuple[KeyPath, str]]:
    if tool.params_class:
        yield from ((value.at, value.name) for value in tool.params if not _says_something(value))
        return
    for name, schema in tool.input_schema.get("properties", {}).items():
        if not (isinstance(schema, dict) and str(schema.get("description", "")).strip()):
            yield (*tool.at, "input_schema", "properties", name), name


def _says_something(value: Value) -> bool:
    return bool(value.description.strip())


def _no_description(tool: str, what: str, at: KeyPath) -> Finding:
    hint = "add `description`: what it means, its unit, what is allowed"
    return Finding(code="TM504", tool=tool, message=f"{what} has no description", hint=hint, at=at)


def parameter_descriptions_arrive_whole(server: Server) -> Iterator[Finding]:
    """TM516: limits are said at the end of a parameter's description, so they are what a cut takes first."""
    vscode = clients()[VSCODE]
    longest = vscode.max_parameter_description or sys.maxsize
    for tool in server.tools:
        for place in _places(tool):
            text = place.schema.get("description") if isinstance(place.schema, dict) else None
            if isinstance(text, str) and len(text) > longest:
                yield Finding(
                    code="TM516",
                    tool=tool.name,
                    message=f"the description of {place.said(tool)}, with its limits, has {len(text):,} characters; "
                    f"{vscode.title} cuts at {longest:,} for GPT-4",
                    hint="put what matters first and move the rest into the tool's description or docs",
                    at=place.at(tool),
                )


def parameter_names_are_taken_everywhere(server: Server) -> Iterator[Finding]:
    """TM517: one name outside of what Anthropic takes fails every request, with the tools of every other server.

    Such names are replaced before a schema is sent, so this is about schemas that are sent as they are.
    """
    for tool in server.tools:
        for place in _properties(tool):
            if not providers().anthropic_name.fullmatch(place.shown):
                is_outermost = len(place.names) == 1
                refused = "Anthropic refuses every request with it" if is_outermost else "Vertex AI does not take it"
                yield Finding(
                    code="TM517",
                    tool=tool.name,
                    message=f"{place.said(tool)} has a name that providers refuse: {refused}",
                    hint=f"{_better_name(place.shown)}, or leave `verbatim_schema` out",
                    at=place.at(tool),
                    severity=None if is_outermost else Severity.WARNING,
                )


def parameter_names_are_plain(server: Server) -> Iterator[Finding]:
    """TM518: dashes, dots and digits in front are taken by some providers only, so the name is replaced on the way.

    A raw schema is often another's, whose names are what they are: there it is only a note.
    """
    for tool in server.tools:
        for place in _properties(tool):
            own, shown = place.names[-1], place.shown
            if providers().portable_name.fullmatch(own) or not providers().anthropic_name.fullmatch(shown):
                continue
            is_replaced = own != shown
            what = f"is sent as `{shown}`: not every provider takes its name" if is_replaced else _NOT_PLAIN
            yield Finding(
                code="TM518",
                tool=tool.name,
                message=f"{place.said(tool)} {what}",
                hint=f"call it `{shown}`" if is_replaced else _better_name(own),
                at=place.at(tool),
                severity=Severity.NOTE if is_replaced and not tool.params_class else None,
            )


_NOT_PLAIN: Final = "has a name that not every provider takes"


def no_parameter_is_taken_by_a_client(server: Server) -> Iterator[Finding]:
    """TM519: Gemini CLI puts a parameter of its own into each tool, over one of that name, and sends it on."""
    for tool in server.tools:
        declared = tool.input_schema.get("properties", {}).get(FORWARDED)
        if declared is None:
            continue
        fits = isinstance(declared, dict) and declared.get("type") == "boolean"
        place = _Place({}, ("properties", FORWARDED), (FORWARDED,))
        yield Finding(
            code="TM519",
            tool=tool.name,
            message=f"{place.said(tool)} is overwritten by Gemini CLI, which sends a boolean of its own by that name",
            hint="choose another name",
            at=place.at(tool),
            severity=Severity.WARNING if fits else None,
        )


def patterns_are_linear(server: Server) -> Iterator[Finding]:
    """TM520: a pattern that only a backtracking engine can match may need longer than it gets."""
    for tool in server.tools:
        if tool.params_class:
            yield from (
                _slow_pattern(tool.name, f"parameter `{param.name}` of `{tool.name}`", (*param.at, "pattern"))
                for param in tool.params
                if not is_linear(param.constraints.get("pattern", ""))
            )
        else:
            for place in _places_in(tool.schema):
                yield from _slow_patterns(tool, place)
    for named in server.types:
        for field in named.fields:
            if not is_linear(field.constraints.get("pattern", "")):
                yield _slow_pattern("", f"field `{field.name}` of type `{named.name}`", (*field.at, "pattern"))


def _slow_patterns(tool: Tool, place: _Place) -> Iterator[Finding]:
    """Find the slow patterns at one place of a raw schema."""
    schema = place.schema if isinstance(place.schema, dict) else {}
    if not is_linear(schema.get("pattern", "")):
        yield _slow_pattern(tool.name, place.said(tool), (*place.at(tool), "pattern"))
    for pattern in schema.get("patternProperties", {}):
        if not is_linear(pattern):
            yield _slow_pattern(tool.name, place.said(tool), (*place.at(tool), "patternProperties", pattern))


def _slow_pattern(tool: str, what: str, at: KeyPath) -> Finding:
    return Finding(
        code="TM520",
        tool=tool,
        message=f"{what} has a pattern that cannot be matched in linear time; "
        f"the server refuses values that take longer than {TIMEOUT_S} s",
        hint="leave out look-around, backreferences, inline flags and possessive repeats, put `$` last, or use `enum`",
        at=at,
    )


def _better_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    if providers().portable_name.fullmatch(plain):
        return f"call it `{plain}`"
    return "use up to 64 letters, digits and underscores, not starting with a digit"


class _Place(NamedTuple):
    """A schema inside the one that clients are sent of a tool: the keys that lead to it, and the properties among them.

    Both are in the author's own names; `shown` is what clients see instead of the last one. `is_property` says that
    the schema describes that very property.
    """

    schema: Any
    path: KeyPath = ()
    names: tuple[str, ...] = ()
    shown: str = ""
    is_property: bool = False

    def said(self, tool: Tool) -> str:
        """Name it to the author."""
        return f"parameter `{'.'.join(self.names)}` of `{tool.name}`" if self.names else f"the schema of `{tool.name}`"

    def at(self, tool: Tool) -> KeyPath:
        """Find it in the manifest: a raw schema holds it, else the parameter that leads to it."""
        if not tool.params_class:
            return (*tool.at, "input_schema", *self.path)
        return (*tool.at, "params", self.names[0]) if self.names else tool.at


def _properties(tool: Tool) -> Iterator[_Place]:
    """Give each property once that clients are sent of `tool`, at any level."""
    seen: set[tuple[str, ...]] = set()
    for place in _places(tool):
        if place.is_property and place.names not in seen:
            seen.add(place.names)
            yield place


def _places(tool: Tool) -> Iterator[_Place]:
    """Give the schema that clients are sent of `tool` and those inside it."""
    yield from _places_in(tool.input_schema, tool.renamed)


def _places_in(schema: JsonSchema, renamed: Mapping[str, str] = MappingProxyType({})) -> Iterator[_Place]:
    """Give `schema` and those inside it. What other keywords hold is data."""
    waiting = [_Place(schema)]
    while waiting:
        place = waiting.pop()
        yield place
        if isinstance(place.schema, dict):
            waiting += reversed([each for keyword in place.schema for each in _inside(place, keyword, renamed)])


def _inside(place: _Place, keyword: str, renamed: Mapping[str, str]) -> Iterator[_Place]:
    value, path = place.schema[keyword], (*place.path, keyword)
    if keyword == "properties" and isinstance(value, dict):
        for shown, inner in value.items():
            own = renamed.get(shown, shown)
            yield _Place(inner, (*path, own), (*place.names, own), shown, is_property=True)
    elif keyword in NAMED_SCHEMAS and isinstance(value, dict):
        yield from (_Place(inner, (*path, name), place.names) for name, inner in value.items())
    elif keyword in MANY_SCHEMAS and isinstance(value, list):
        yield from (_Place(inner, (*path, number), place.names) for number, inner in enumerate(value))
    elif keyword in ONE_SCHEMA:
        yield _Place(value, path, place.names)
