"""The tool of one operation: its request, parameters and body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.specs.request import FORBIDDEN_HEADERS

from toolmason.importers.design.parameter_names import (
    chosen_name,
    compared_names,
    free_name,
    parameter_name,
    with_aliases,
    with_wire_name,
)
from toolmason.importers.design.texts import description_of, plain, summary_from, title_of
from toolmason.importers.design.words import has_latin_words, is_other_script
from toolmason.importers.names import unique
from toolmason.importers.openapi.document import Operation, UnresolvedError, table, text
from toolmason.importers.openapi.known_names import BODY_METHODS
from toolmason.importers.openapi.losses import LeftOutError, Losses
from toolmason.importers.openapi.media import answers_of, body_of, choices_of, is_file_part, is_json, others
from toolmason.importers.openapi.media import plain as plain_media
from toolmason.importers.openapi.missing_parts import IGNORED_HEADERS
from toolmason.importers.openapi.raw import MAX_CHARACTERS, RawSchema
from toolmason.importers.openapi.shapes import Shape
from toolmason.importers.openapi.values import Types, Value
from toolmason.resolve.types import PROPERTY_NAME

_COOKIE: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_QUERY_PLACEHOLDER: Final = re.compile(r"([^={}]+)=\{([^{}]+)\}")
"""A query parameter in a path: `before={date}`."""
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SENT_METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
_SCALARS: Final = ("string", "integer", "number", "boolean")
_LISTS: Final = ("string[]", "integer[]", "number[]", "boolean[]")
_STYLES: Final = {"spaceDelimited": "space", "pipeDelimited": "pipe", "deepObject": "deepObject"}

_PATH: Final = "Path of a file in the project"
_PATHS: Final = "Paths of files in the project"
_SAVE: Final = "Path of a new file in the project for the answer, which is not text"
_SAVE_ANY: Final = "Path of a new file in the project for the answer"
_ACCEPT: Final = "Media type of the answer"
_NEEDED: Final = "Required if another member of the body is set."

INEXACT: Final = ("any", "recursive")
"""Kinds of losses that an `input_schema` avoids."""


@dataclass(slots=True)
class ToolBuilder:
    """Builds the table of one operation."""

    operation: Operation
    types: Types
    losses: Losses
    name: str
    sent_headers: set[str]
    sent_query: set[str]
    known_params: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Names of parameters in an earlier import, by place and name in the document; they are used again."""
    max_characters: int = MAX_CHARACTERS
    """Maximum length of an `input_schema` as JSON."""
    params: dict[str, Value] = field(default_factory=dict)
    _optional: dict[str, Value] = field(default_factory=dict)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    """The name of each parameter by its place and its name in the document."""
    _compared: frozenset[str] = frozenset()
    _kept: dict[str, str] = field(default_factory=dict)
    """Names of the document that stay as they are, with their places: no other parameter gets one."""
    _body: str = ""
    _path: str = ""
    _schemas: dict[str, Any] = field(default_factory=dict)
    """Schemas of the parameters in the path and of the members of the body."""

    def table(self, api: str, category: str) -> dict[str, Any]:
        """Return the table of the tool.

        Raises:
            LeftOutError: a tool cannot send the documented request.
        """
        operation = self.operation
        if operation.problem:
            raise LeftOutError(operation.problem)
        if not operation.path.isprintable():
            raise LeftOutError("the path contains characters that cannot be printed")
        if operation.method not in _SENT_METHODS:
            raise LeftOutError(f"tools do not send {operation.method}")
        # Clients send no fragment: some documents distinguish operations by it that have one path.
        self._path, moved = _without_query_placeholders(operation.path.partition("#")[0])
        self._compared = compared_names(text(parameter.get("name")) for parameter in operation.parameters)
        wires = [(text(parameter.get("name")), text(parameter.get("in"))) for parameter in operation.parameters]
        self._kept = {wire: place for wire, place in wires if parameter_name(wire, place, {}) == wire}
        for parameter in sorted(operation.parameters, key=lambda item: item.get("in") != "path"):
            if parameter.get("in") == "path" and (query := moved.pop(text(parameter.get("name")), "")):
                self._add_parameter({**parameter, "in": "query", "name": query, "required": True})
            else:
                self._add_parameter(parameter)
        for query in moved.values():
            self._add("query", query, {"type": "string"}, is_required=True)
        self._check_path()
        self._add_body()
        self.params |= self._optional
        own_names = {name: wire for (_, wire), name in self._names.items() if wire != "."}
        entry: dict[str, Any] = {**self._texts(), "category": category, "api": api}
        entry["http"] = f"{operation.method} {self._path}"
        if operation.graphql:
            entry |= {"http": f"POST {operation.graphql['path']}", "graphql": operation.graphql["document"]}
        if self._body not in ("", "json"):
            entry["body"] = self._body
        if saved := self._add_save():
            entry["save"] = saved
        elif schema := self._raw_schema():
            entry["input_schema"] = schema
            self.losses.discard(operation.key, INEXACT, "body")
            return entry
        if self.params:
            entry["params"] = with_aliases(self.params, own_names)
        return entry

    def _add_save(self) -> str:
        """Add the parameter with the path for an answer that is a file, and return its name; empty without one."""
        files, shown = answers_of(self.operation, self.types.document)
        if not files:
            return ""
        if shown and "accept" not in self.sent_headers:
            choices = {"enum": [*shown, *files]} if "*" not in "".join([*shown, *files]) else {}
            accept: Value = {"type": "string", "description": _ACCEPT, "required": False, **choices, "header": "Accept"}
            self.params[unique("accept", self.params)] = accept
        name = unique("save_as", self.params)
        self.params[name] = {"type": "string", "description": _SAVE_ANY if shown else _SAVE, "required": False}
        return name

    def _raw_schema(self) -> dict[str, Any] | None:
        """Return an `input_schema` if `params` cannot express the body and default places suffice.

        The body is JSON or has parts, none of them a file.
        """
        own_names = {name: text(param.get("body")) or name for name, param in self.params.items()}
        is_placed = all(not {"query", "header", "cookie"} & param.keys() for param in self.params.values()) and (
            all(map(PROPERTY_NAME.fullmatch, own_names.values())) and len({*own_names.values()}) == len(own_names)
        )
        has_file = any(param.get("file") for param in self.params.values())
        is_exact = self._body == "json" or (self._body == "multipart" and not has_file)
        if not is_exact or self.operation.method not in BODY_METHODS or not is_placed:
            return None
        lost = [item for item in self.losses.of(self.operation.key) if item["detail"].startswith("body")]
        for name in self.types.reached([param["type"] for param in self.params.values()]):
            lost += self.losses.of(name)
        if not any(item["kind"] in INEXACT for item in lost):
            return None
        required = [own_names[name] for name, param in self.params.items() if param.get("required", True)]
        schemas = {own_names[name]: schema for name, schema in self._schemas.items()}
        return RawSchema(self.types.document, self.max_characters).convert(schemas, required)

    def _texts(self) -> dict[str, Any]:
        data = self.operation.data
        description = text(data.get("description"))
        own_name = self.operation.id if has_latin_words(self.operation.id) else ""
        summary = summary_from(text(data.get("summary")), description, title_of(own_name or self.name))
        texts: dict[str, Any] = {"summary": summary}
        if title := self._title():
            texts["title"] = title
        if description and " ".join(plain(description).split()).rstrip(".").casefold() != summary.casefold():
            texts["description"] = description_of(description)
        if data.get("deprecated") is True:
            texts["deprecated"] = {"since": "an earlier version"}
        return texts

    def _title(self) -> str:
        """Return the document's name of the operation in its own language, if the tool's name has other letters."""
        operation = self.operation
        choices = (operation.id, text(operation.data.get("summary")), *operation.tags[:1])
        return next((summary_from(name) for name in choices if is_other_script(name)), "")

    def _lose(self, kind: str, detail: str) -> None:
        self.losses.add(kind, self.operation.key, detail)

    def _add_parameter(self, parameter: Mapping[str, Any]) -> None:
        wire, place = text(parameter.get("name")), parameter.get("in")
        is_required = parameter.get("required") is True or place == "path"
        header = wire.lower()
        if place == "header" and header in IGNORED_HEADERS:
            return
        if place == "header" and header in FORBIDDEN_HEADERS | self.sent_headers:
            self._lose("header", wire)
            return
        if place == "query" and wire in self.sent_query:
            self._lose("header", wire)
            return
        if place == "cookie" and ("cookie" in self.sent_headers or not _COOKIE.fullmatch(wire)):
            self._lose("header", wire)
            return
        if place not in ("path", "query", "header", "cookie") or not wire.isprintable() or not wire:
            if is_required:
                raise LeftOutError(f"the parameter `{wire}` is required and in the {place}")
            self._lose("parameter", f"{wire}, in the {place}")
            return
        shape, value = self._parameter_value(parameter, wire)
        match place:
            case "path":
                self._add_path(parameter, shape, value, wire)
            case "query":
                self._add_query(parameter, shape, value, wire)
            case "cookie":
                self._add_cookie(parameter, shape, value, wire)
            case _:
                if shape.type not in ("array", "object"):
                    value = _as_text(shape, value)
                elif value["type"] not in _LISTS:
                    self._lose("any", f"{wire}: sent as text")
                    value = {"type": "string"}
                self._add("header", wire, self._entry(parameter, shape, value), is_required)

    def _add_cookie(self, parameter: Mapping[str, Any], shape: Shape, value: Value, wire: str) -> None:
        if not shape.is_scalar and value["type"] not in _LISTS:
            self._lose("any", f"{wire}: sent as text")
            value = {"type": "string"}
        entry = self._entry(parameter, shape, value)
        if entry["type"] in _LISTS and parameter.get("explode") is False:
            entry["style"] = "comma"
        self._add("cookie", wire, entry, parameter.get("required") is True)

    def _parameter_value(self, parameter: Mapping[str, Any], wire: str) -> tuple[Shape, Value]:
        content = table(parameter.get("content"))
        if content and not _is_json_value(parameter):
            self._lose("any", f"{wire}: {next(iter(content))}, sent as text")
            return Shape("string"), {"type": "string"}
        schema = table(next(iter(content.values()))).get("schema") if content else parameter.get("schema")
        shape = self.types.shapes.reduce({"type": "string"} if schema is None else schema, self._lose, wire)
        if shape.type in ("", "string*"):
            shape = Shape("string", data={key: item for key, item in shape.data.items() if key == "description"})
        value = self.types.value(shape, self._lose, wire, name=f"{self.name}_{wire}")
        value.pop("nullable", None)
        return shape, value

    def _entry(self, parameter: Mapping[str, Any], shape: Shape, value: Value) -> Value:
        described = {"description": text(parameter.get("description")) or text(shape.data.get("description"))}
        return self.types.field_value(described, Shape(data={**shape.data, **described}), value, required=True)

    def _add_path(self, parameter: Mapping[str, Any], shape: Shape, value: Value, wire: str) -> None:
        style = parameter.get("style", "simple")
        if style != "simple":
            raise LeftOutError(f"the parameter `{wire}` has the style {style}")
        if not shape.is_scalar:
            self._lose("any", f"{wire}: sent as text, with commas between its items")
            value = {"type": "string"}
        if f"{{{wire}}}" not in self._path:
            self._lose("parameter", f"{wire}, which is not in the path")
            return
        has_slashes = value["type"] == "string" and (
            parameter.get("x-multi-segment") is True
            or parameter.get("allowReserved") is True
            or (wire == "path" and self._path.endswith("/{path}"))
        )
        name = self._add("path", wire, self._entry(parameter, shape, value), is_required=True)
        self._schemas[name] = {"description": parameter.get("description"), **table(parameter.get("schema"))}
        self._path = self._path.replace(f"{{{wire}}}", f"{{+{name}}}" if has_slashes else f"{{{name}}}")

    def _check_path(self) -> None:
        for name in _PLACEHOLDER.findall(self._path):
            plain_name = name.removeprefix("+")
            if not plain_name or not _NAME.fullmatch(plain_name):
                raise LeftOutError(f"the path has a placeholder without a parameter: `{{{name}}}`")
            if plain_name not in self.params:
                chosen = self._add("path", plain_name, {"type": "string"}, is_required=True)
                self._path = self._path.replace(f"{{{name}}}", f"{{{chosen}}}")
        if re.search(r"\s", self._path):
            raise LeftOutError("the path contains a space")

    def _add_query(self, parameter: Mapping[str, Any], shape: Shape, value: Value, wire: str) -> None:
        is_required = parameter.get("required") is True
        style = text(parameter.get("style")) or "form"
        explode = parameter.get("explode", style == "form")
        kind = value["type"]
        entry = self._entry(parameter, shape, value)
        if _is_json_value(parameter):
            entry["style"] = "json"
            self._add("query", wire, entry, is_required)
            return
        if shape.type == "object" and style == "form" and explode and not shape.properties:
            self._add("query", wire, {**entry, "style": "members"}, is_required)
            return
        if shape.type == "object" and style == "form":
            self._flatten(shape, wire, is_required=is_required)
            return
        if shape.type in ("array", "object"):
            is_plain = kind in _LISTS
            if style == "deepObject" or not is_plain:
                entry["style"] = "deepObject"
                if style != "deepObject":
                    self._lose("encoding", wire)
            elif style in _STYLES:
                entry["style"] = _STYLES[style]
            elif not explode:
                entry["style"] = "comma"
        self._add("query", wire, entry, is_required)

    def _flatten(self, shape: Shape, wire: str, *, is_required: bool) -> None:
        """Add the members of an object as parameters: the style `form` sends them so."""
        if not shape.properties:
            self._lose("parameter", f"{wire}, an object without declared members")
            return
        for key, schema in shape.properties.items():
            member = self.types.shapes.reduce(schema, self._lose, key)
            if not member.is_scalar:
                self._lose("parameter", f"{wire}.{key}")
                continue
            value = self.types.value(member, self._lose, key, name=key)
            value.pop("nullable", None)
            entry = self.types.field_value(schema, member, value, required=True)
            self._add("query", key, entry, is_required and key in shape.required)

    def _add(self, place: str, wire: str, entry: Value, is_required: bool) -> str:
        """Add a parameter, and return its name."""
        if known := self._names.get((place, wire)):
            return known
        used = {name: place_ for name, place_ in self._kept.items() if name != wire}
        used |= dict.fromkeys((*self.params, *self._optional), "")
        used |= {name: place_ for (place_, _), name in self._names.items()}
        used |= {
            name: place_ for (place_, wire_), name in self.known_params.items() if (place_, wire_) != (place, wire)
        }
        name = self.known_params.get((place, wire)) or self._new_name(place, wire, entry, used)
        self._names[place, wire] = name
        default = "body" if self.operation.method in BODY_METHODS else "query"
        if place != "path" and (place != default or name != wire):
            entry = {**entry, place: wire}
        target = self.params if is_required else self._optional
        target[name] = entry if is_required else _optional(entry)
        return name

    def _new_name(self, place: str, wire: str, entry: Value, used: Mapping[str, str]) -> str:
        """Return a valid and free name; if it lacks letters of the API's name, the description begins with that."""
        if wire == ".":
            return free_name("file" if entry.get("file") else "body", wire, place, used)
        compared = self._compared if place == "query" else ()
        name, needs_wire_name = chosen_name(wire, place, entry, compared=compared, used=used)
        if needs_wire_name:
            entry["description"] = with_wire_name(entry.get("description", ""), wire)
        return name

    def _add_body(self) -> None:
        try:
            body = self.types.document.resolved(self.operation.data.get("requestBody"))
        except UnresolvedError as error:
            raise LeftOutError(f"the body: {error}") from error
        content = {plain_media(name): table(item) for name, item in table(body.get("content")).items()}
        if not content:
            return
        media, self._body = body_of(content)
        schema = table(content.get(media)).get("schema", {})
        shape = self.types.shapes.reduce(schema, self._lose, "body")
        is_required = body.get("required") is True
        if self.operation.method in ("GET", "HEAD"):
            if is_required:
                raise LeftOutError(f"{self.operation.method} with a body")
            self._lose("parameter", "the body, which a GET request does not have")
            return
        choices = choices_of(content, media, self._body)
        if not_sent := others(list(content), choices):
            self._lose("media", f"{not_sent}; the tool sends {media}")
        if self._body in ("text", "file"):
            self._add_content(choices, shape, is_required=is_required)
            return
        if self._body == "json" and media not in ("application/json", "*/*"):
            self._add_content_type([media])
        self._add_members(schema, shape, table(content[media].get("encoding")), is_required=is_required)

    def _add_content_type(self, choices: Sequence[str]) -> None:
        entry: Value = {"type": "string", "description": "Media type of the body"}
        # `application/octet-stream` says nothing about a file.
        if "application/octet-stream" not in choices and "*" not in "".join(choices):
            entry["enum"] = list(choices)
        if self._body == "file" and len(choices) > 1:
            entry["description"] = "Media type of the body, by default that of the name of the file"
            self._optional["content_type"] = {**_optional(entry), "header": "Content-Type"}
            return
        self.params["content_type"] = {**entry, "default": choices[0], "header": "Content-Type"}

    def _add_content(self, choices: Sequence[str], shape: Shape, *, is_required: bool) -> None:
        """Add the parameter of a body that is one text or one file; `choices` are its media types."""
        media = " or ".join(choices)
        described = text(shape.data.get("description"))
        says = f"The body as {media}" if self._body == "text" else f"{_PATH} ({media})"
        entry: Value = {"type": "string", "description": f"{described}\n{says}".lstrip()}
        if self._body == "file":
            entry["file"] = True
        name = self._add("body", ".", entry, is_required)
        (self.params if name in self.params else self._optional)[name]["body"] = "."
        if media != "text/plain" and ("*" not in media or len(choices) > 1):
            self._add_content_type(choices)

    def _add_members(self, schema: Any, shape: Shape, encoding: Mapping[str, Any], *, is_required: bool) -> None:
        extra = shape.data.get("additionalProperties")
        members = self._members(shape)
        if (shape.type != "object" or not shape.members) and self._body == "json":
            self._add_whole_body(schema, shape, is_required=is_required)
            return
        if shape.type != "object" and not (shape.type == "" and not shape.data):
            raise LeftOutError("the body is a form, but not an object")
        if extra and extra is not True:
            self._lose("open", "body")
        if not members:
            if is_required and self._body != "json":
                raise LeftOutError("the body is a form without declared members")
            reason = "which has only members that the API sets" if shape.members else "a form without members"
            self._lose("parameter", f"the body, {reason}")
        for key, (schema_, declared) in members.items():
            is_file = self._body == "multipart" and self._is_file(key, declared, table(encoding.get(key)))
            member = _of_paths(declared) if is_file else declared
            if self._body != "json" and not member.type:  # forms contain text
                member = Shape("string", data=member.data, nullable=member.nullable)
            value = self.types.value(member, self._lose, f"body.{key}", name=f"{self.name}_{key}")
            entry = self.types.field_value(schema_, member, value, required=True)
            if self._body != "json":
                entry.pop("nullable", None)
                self._encode(key, member, entry, table(encoding.get(key)), is_file=is_file)
            name = self._add("body", key, entry, is_required and key in shape.required)
            if key in shape.required and not is_required and len(members) > 1:
                self._lose("required", f"body.{key}")
                self._optional[name]["description"] = f"{entry.get('description', '').rstrip()}\n{_NEEDED}".lstrip()
            self._schemas[name] = schema_

    def _members(self, shape: Shape) -> dict[str, tuple[Any, Shape]]:
        reduced = {
            key: (schema, self.types.shapes.reduce(schema, self._lose, f"body.{key}"))
            for key, schema in shape.members.items()
            if key.isprintable() and key.strip()
        }
        return {
            key: (schema, member)
            for key, (schema, member) in reduced.items()
            if member.data.get("readOnly") is not True
        }

    def _is_file(self, key: str, member: Shape, encoding: Mapping[str, Any]) -> bool:
        """Return whether a member of a multipart body is a file, or a list of files."""
        is_new = not text(self.types.document.data.get("openapi")).startswith("3.0")
        part = self.types.shapes.reduce(member.data.get("items", {}), self._lose, key) if _is_array(member) else member
        return is_file_part(part, encoding, is_unknown_file=is_new)

    def _encode(self, key: str, member: Shape, entry: Value, encoding: Mapping[str, Any], *, is_file: bool) -> None:
        """Add the style of a member of a form, or mark a file."""
        if is_file:
            entry["file"] = True
            words = _PATHS if _is_array(member) else _PATH
            entry["description"] = f"{entry.get('description', '').rstrip()}\n{words}".lstrip()
            return
        is_scalar = member.is_scalar or entry["type"] in _SCALARS  # `any` is sent as a text
        if is_scalar or self._body not in ("form", "multipart"):
            return
        style = text(encoding.get("style")) or "form"
        if is_json(plain_media(text(encoding.get("contentType")))):
            entry["style"] = "json"
        elif self._body == "multipart":  # objects are parts with JSON, and lists are several parts
            return
        elif style == "deepObject" or entry["type"] not in _LISTS:
            entry["style"] = "deepObject"
            if style != "deepObject":
                self._lose("encoding", f"body.{key}")
        elif style in _STYLES:
            entry["style"] = _STYLES[style]
        elif encoding.get("explode") is False:
            entry["style"] = "comma"

    def _add_whole_body(self, schema: Any, shape: Shape, *, is_required: bool) -> None:
        value = self.types.value(shape, self._lose, "body", name=f"{self.name}_body")
        entry = self.types.field_value(schema, shape, value, required=True)
        name = self._add("body", ".", entry, is_required)
        (self.params if name in self.params else self._optional)[name]["body"] = "."


def _without_query_placeholders(path: str) -> tuple[str, dict[str, str]]:
    """Return a path without the query parameters that have placeholders, and the names of these by placeholder.

    Example: `/receipts?before={date}&all=1` is `/receipts?all=1` with `{"date": "before"}`.
    """
    base, _, query = path.partition("?")
    pairs = query.split("&") if query else []
    moved = {match[2]: match[1] for pair in pairs if (match := _QUERY_PLACEHOLDER.fullmatch(pair))}
    fixed = [pair for pair in pairs if not _QUERY_PLACEHOLDER.fullmatch(pair)]
    return "?".join(filter(None, (base, "&".join(fixed)))), moved


def _optional(entry: Value) -> Value:
    head: Value = {key: entry[key] for key in ("type", "description") if key in entry}
    return head | {"required": False} | {key: item for key, item in entry.items() if key not in head}


def _as_text(shape: Shape, value: Value) -> Value:
    return value if shape.is_scalar else {"type": "string"}


def _is_array(shape: Shape) -> bool:
    return shape.type == "array"


def _of_paths(shape: Shape) -> Shape:
    """Return the shape of the paths of files, without rules about their contents."""
    data = {key: value for key, value in shape.data.items() if key in ("description", "minItems", "maxItems")}
    if _is_array(shape):
        return Shape("array", data={**data, "items": {"type": "string"}}, nullable=shape.nullable)
    return Shape("string", data=data, nullable=shape.nullable)


def _is_json_value(parameter: Mapping[str, Any]) -> bool:
    """Return whether a parameter is JSON in the query, such as `filter={"state":"open"}`."""
    content = [plain_media(name) for name in table(parameter.get("content"))]
    return parameter.get("in") == "query" and len(content) == 1 and is_json(content[0])
