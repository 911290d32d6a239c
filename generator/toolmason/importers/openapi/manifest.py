"""The tables of a manifest from an OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.importers.design.budget import Budget, fitted_schema, shared_names
from toolmason.importers.design.texts import description_of, summary_from, title_of
from toolmason.importers.design.tool_names import choose, max_length
from toolmason.importers.design.words import name_from
from toolmason.importers.manifest_writer import remove_invalid
from toolmason.importers.names import ToolNames, server_package, snake, unique
from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.answers import Answers
from toolmason.importers.openapi.document import OpenApi, Operation, items, table, text
from toolmason.importers.openapi.keywords import add_keywords
from toolmason.importers.openapi.known_names import known_parameter_names
from toolmason.importers.openapi.losses import LeftOutError, Losses
from toolmason.importers.openapi.missing_parts import missing_parts
from toolmason.importers.openapi.operations import ToolBuilder
from toolmason.importers.openapi.options import Options
from toolmason.importers.openapi.pages import pagination_of
from toolmason.importers.openapi.raw import MAX_CHARACTERS, MAX_UNLIMITED
from toolmason.importers.openapi.reading import ApiDocument
from toolmason.importers.openapi.references import MAX_SHOWN
from toolmason.importers.openapi.selection import Extension, extension, select
from toolmason.importers.openapi.servers import Apis, credentials, host_of
from toolmason.importers.openapi.source import is_url
from toolmason.importers.openapi.tool_names import common_beginning, group_name, names_of
from toolmason.importers.openapi.values import Types
from toolmason.model.identifiers import class_name, constant_name
from toolmason.resolve import RESERVED_MODULES
from toolmason.scaffold import MAX_NAME_LENGTH

_GENERIC_WORDS: Final = frozenset(
    {"api", "apis", "rest", "openapi", "open", "the", "service", "specification", "spec", "v1", "v2", "v3"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The tables of a manifest, the names of its tools by operation, and what they do not express."""

    data: dict[str, Any]
    tools: Mapping[str, str]
    """Name of the tool of each selected operation, empty for one that was left out."""
    document_operations: frozenset[str]
    """All operations of the document, such as `GET /items`."""
    losses: Losses
    info: Mapping[str, Any]
    """Title and version of the document."""
    warnings: tuple[str, ...]
    """Remarks about addresses that the document chose."""


def import_document(
    read: ApiDocument,
    source: str,
    options: Options,
    known_names: Mapping[str, str],
    known_tools: Mapping[str, Any] | None = None,
) -> Imported:
    """Return the tables for an OpenAPI document.

    Args:
        read: the document.
        source: its file or URL.
        options: of the command.
        known_names: names of the tools of an earlier import by operation; they are used again.
        known_tools: tables of these tools, whose names of parameters are used again.

    Raises:
        ImporterError: no operation can be imported, or the document's server is an address that it may not choose.
    """
    document = OpenApi(read.data)
    operations = list(document.operations())
    extensions = {operation.key: extension(read.data, operation) for operation in operations}
    enabled = [operation for operation in operations if extensions[operation.key].enabled]
    if not operations:
        has_webhooks = any(read.data.get(name) for name in ("webhooks", "x-webhooks"))
        only = "has only webhooks, which the API calls itself: a tool needs a path and a method in `paths`"
        raise ImporterError(f"the document {only if has_webhooks else 'has no operations'}")
    if not enabled:
        raise ImporterError("the document disables all its operations with `x-mcp`")
    selected = select(enabled, options)
    name = options.name or server_name(document)
    importer = _Importer(
        document, name, source if is_url(source) else "", options, dict(known_names), known_tools or {}
    )
    importer.losses.places = read.places
    importer.losses.notes.extend(read.notes)
    importer.extensions = extensions
    if len(enabled) < len(operations):
        importer.losses.notes.append(
            f"operations that the document disables with `x-mcp`: {len(operations) - len(enabled)}"
        )
    importer.add(operations, selected)
    tables = importer.finish()
    return Imported(
        data=tables,
        tools=importer.tools,
        document_operations=frozenset(operation.key for operation in enabled),
        losses=importer.losses,
        info=document.info,
        warnings=tuple(importer.warnings),
    )


def server_name(document: OpenApi) -> str:
    """Return a name for the server: a short title, or the domain of the API."""
    title = [word for word in snake(text(document.info.get("title")), "api").split("_") if word not in _GENERIC_WORDS]
    servers = items(document.data.get("servers"))
    host = host_of(text(table(servers[0]).get("url"))) if servers else ""
    labels = [label for label in host.split(".") if label not in ("api", "www")]
    if len(labels) > 1 and not host.replace(".", "").isdigit() and (len(title) > 2 or not title):
        title = [labels[-2]]
    name = "-".join(title)[:MAX_NAME_LENGTH].strip("-")
    return name if name[:1].isalpha() else "api"


@dataclass(slots=True)
class _Importer:
    document: OpenApi
    name: str
    source: str
    options: Options
    known_names: dict[str, str]
    known_tools: Mapping[str, Any]
    losses: Losses = field(default_factory=Losses)
    tools: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    _length: int = field(init=False)
    """Maximum characters of a name of a tool: clients put the name of the server before it."""
    _common: str = ""
    """The beginning that the names of all operations share."""
    _wanted: dict[str, list[str]] = field(default_factory=dict)
    """The names that the document gives each operation."""
    _operations: dict[str, Operation] = field(default_factory=dict)
    """The operation of each tool."""
    _categories: dict[str, str] = field(default_factory=dict)
    """Names of categories by tag."""
    _selected: list[Operation] = field(default_factory=list)
    extensions: Mapping[str, Extension] = field(default_factory=dict)
    """`x-mcp` of each operation."""
    _inexact: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The parameters of tools that have an `input_schema`, if that is too large."""
    types: Types = field(init=False)
    _apis: Apis = field(init=False)
    _names: ToolNames = field(init=False)

    def __post_init__(self) -> None:
        api = snake(self.name, "api")
        variables = dict(pair.split("=", 1) for pair in self.options.server_variables)
        self._apis = Apis(
            self.document, api, self.source, self.options.base_url, self.losses, variables, self.options.security
        )
        self._apis.check_preferred()
        self._names = ToolNames(self.name)
        self._length = max_length(self.name)
        for name in self.known_names.values():
            self._names.add(name, group=api)

    def add(self, operations: Sequence[Operation], selected: Sequence[Operation]) -> None:
        """Add the tool of each selected operation, or the reason why it has none.

        All operations get a name, so that names do not depend on the filters.
        """
        self._common = common_beginning([operation.id for operation in operations if operation.id])
        names = {operation.key: self._name(operation) for operation in operations}
        reserved = {f"{class_name(name)}{end}" for name in names.values() for end in ("", "Params", "Result")}
        self.types = Types(self.document, self.losses, reserved)
        self._apis.prefer(selected)
        for operation in selected:
            self._add(operation, names[operation.key])
        self._selected = list(selected)

    def _add(self, operation: Operation, name: str) -> None:
        group = _group(operation)
        self.tools[operation.key] = ""
        known_types = dict(self.types.tables)
        try:
            api = self._apis.api_of(operation)
            headers, query = credentials(self._apis.tables[api])
            known = known_parameter_names(operation.path, self.known_tools.get(name, {}))
            limit = MAX_CHARACTERS if self.options.max_tokens else MAX_UNLIMITED
            builder = ToolBuilder(operation, self.types, self.losses, name, headers, query, known, limit)
            entry = builder.table(api, self._category(group, operation))
        except LeftOutError as error:
            self.types.tables = known_types
            self.losses.add("left_out", operation.key, str(error))
            return
        if described := self.extensions[operation.key].description:
            entry["description"] = description_of(described)
        is_other = name.replace("_", "") != re.sub(r"[\W_]", "", operation.id).casefold()
        if operation.id and is_other and operation.key not in self.known_names:
            self.losses.add("renamed", operation.key, f"{operation.id} is `{name}`")
        self.tools[operation.key] = name
        self._tables[name] = entry
        if "input_schema" in entry:
            self._inexact[name] = builder.params
        self._operations[name] = operation

    def _name(self, operation: Operation) -> str:
        """Return the name of the tool of an operation."""
        if known := self.known_names.get(operation.key):
            return known
        return choose(self._names, self._wanted_names(operation), self._length)

    def _wanted_names(self, operation: Operation) -> list[str]:
        """Return the names that the document gives a tool, the best one first."""
        if operation.key not in self._wanted:
            wanted = list(names_of(operation, self.name, self._common, self._length))
            chosen = self.extensions[operation.key].name
            first = [name_from(chosen, wanted[0], self._length)] if chosen else []
            self._wanted[operation.key] = [*first, *wanted]
        return self._wanted[operation.key]

    def _category(self, tag: str, operation: Operation) -> str:
        if tag not in self._categories:
            name = group_name(tag, operation.path, "other")
            if name in RESERVED_MODULES or constant_name(name) in map(constant_name, self._categories.values()):
                name = unique(f"{name}_tools", self._categories.values())
            self._categories[tag] = name
        return self._categories[tag]

    def finish(self) -> dict[str, Any]:
        """Return the tables, without parts that are invalid in a manifest."""
        if not self._tables:
            reasons = "; ".join(
                f"{key}: {item['detail']}" for key in list(self.tools)[:3] for item in self.losses.of(key)
            )
            raise ImporterError(f"no operation can be imported: {reasons}")
        self._note_security()
        params = {key: self._tables[name].get("params", {}) for key, name in self.tools.items() if name}
        params |= {key: self._inexact[name] for key, name in self.tools.items() if name in self._inexact}
        self.types.shrink(params)
        if self.options.max_tokens:
            self._fit()
            params = {key: self._tables[name].get("params", {}) for key, name in self.tools.items() if name}
        self._add_answers()
        self._add_pages()
        used_apis = {entry["api"] for entry in self._tables.values()}
        self.warnings = [text for name, texts in self._apis.warnings.items() if name in used_apis for text in texts]
        self.warnings += self._apis.choices()
        self.losses.notes.extend(self.warnings)
        expressions = [value["type"] for entry in self._tables.values() for value in entry.get("params", {}).values()]
        expressions += [entry["returns"] for entry in self._tables.values() if "returns" in entry]
        reached = self.types.reached(expressions)
        for key, tool in self.tools.items():
            own = [value["type"] for value in params.get(key, {}).values()]
            for type_name in self.types.reached([*own, *filter(None, [self._tables.get(tool, {}).get("returns")])]):
                self.losses.merge(key, type_name)
        self.losses.keep_only({**self.tools, **reached})
        types = {name: entry for name, entry in self.types.tables.items() if name in reached}
        data = {
            "edition": 1,
            "server": self._server(),
            **self._discovery(),
            "categories": self._category_tables(),
            "apis": {name: entry for name, entry in self._apis.tables.items() if name in used_apis},
            **({"types": types} if types else {}),
            "tools": self._tables,
        }
        add_keywords(self._tables, {name: self._wanted_names(self._operations[name])[0] for name in self._tables})
        for part, message in remove_invalid(data):
            self._record_removal(part, message)
        if not data["tools"]:
            raise ImporterError("no operation can be imported: none is valid in a manifest")
        self._check_tools(data["tools"])
        return data

    def _check_tools(self, tools: Mapping[str, Any]) -> None:
        """Check that no tool lacks all parts of its operation.

        Raises:
            ImporterError: one does, which is a fault of the importer.
        """
        incomplete = [
            (operation.key, f"the tool `{name}` has no parameters, but {operation.key} declares {', '.join(parts)}")
            for operation in self._selected
            if (name := self.tools[operation.key])
            if (parts := missing_parts(operation, tools[name], self.document, self.losses))
        ]
        if incomplete:
            places = self.losses.places()
            lines = [
                f"{places.get(key, key)}: {message}; please report this" for key, message in incomplete[:MAX_SHOWN]
            ]
            raise ImporterError(*lines)

    def _fit(self) -> None:
        """Keep the parameters of each tool below the maximum of tokens."""
        limit = self.options.max_tokens
        tools = {name: entry.get("params") or self._inexact.get(name, {}) for name, entry in self._tables.items()}
        budget = Budget(limit, self.types.tables, self.losses, shared_names(tools.values()))
        budget.shorten_types(tools.values())
        for key, name in self.tools.items():
            entry = self._tables.get(name, {})
            known = self.known_tools.get(name, {})
            kept = {*known.get("params", ()), *known.get("input_schema", {}).get("properties", ())}
            if "input_schema" in entry:
                fitted = fitted_schema(entry["input_schema"], limit, kept)
                if fitted.tokens <= limit and fitted.has_properties:
                    entry["input_schema"] = fitted.without_dropped()
                    for wire in fitted.dropped:
                        self.losses.add("rare", key, wire)
                    continue
                del entry["input_schema"]
                entry["params"] = self._inexact[name]
                self.losses.add("any", key, f"body: its exact schema has more than {limit} tokens")
            if entry.get("params"):
                budget.fit(key, entry, kept)

    def _add_answers(self) -> None:
        """Add the types of results, except to tools of an earlier import, whose callers know the whole answer."""
        answers = Answers(self.document, self.losses, {**self.types.tables, **dict.fromkeys(self.types.reserved)})
        for name, entry in self._tables.items():
            if "save" in entry:  # an answer is saved or shown as it is
                continue
            if name in self.known_tools and "returns" not in self.known_tools[name]:
                continue
            if returns := answers.returns(self._operations[name], name):
                entry["returns"] = returns
        self.types.tables |= answers.tables

    def _add_pages(self) -> None:
        """Add `paginate`, or note that it is possible."""
        found = {
            name: pages
            for name, entry in self._tables.items()
            if "save" not in entry and (pages := pagination_of(self._operations[name], self.document))
        }
        if not self.options.pages:
            if found:
                example = (
                    f"tools that return only the first page of a list ({len(found)}), such as `{next(iter(found))}`"
                )
                self.losses.notes.append(f"{example}: --pages N reads up to N pages in one call")
            return
        for name, pages in found.items():
            self._tables[name]["paginate"] = {**pages, "max_pages": self.options.pages}

    def _record_removal(self, part: KeyPath, message: str) -> None:
        name = str(part[1])
        key = next((key for key, tool in self.tools.items() if tool == name), name)
        if len(part) == 2 and part[0] == "tools":
            self.tools[key] = ""
            self.losses.add("left_out", key, f"invalid in a manifest: {message}")
        else:
            self.losses.add("parameter", key, f"{part[-1]}: {message}")

    def _server(self) -> dict[str, Any]:
        title = summary_from(text(self.document.info.get("title")))
        server = {"name": self.name, "title": title, "package": server_package(self.name, "api")}
        return {key: value for key, value in server.items() if value}

    def _discovery(self) -> dict[str, Any]:
        """Return the settings with which clients call tools that only read without asking."""
        reading = {self._operations[name].only_reads for name in self.tools.values() if name}
        return {"discovery": {"split_calls": True}} if len(reading) == 2 else {}

    def _category_tables(self) -> dict[str, Any]:
        described = {
            text(table(tag).get("name")): text(table(tag).get("description"))
            for tag in items(self.document.data.get("tags"))
        }
        used = {entry["category"] for entry in self._tables.values()}
        tables: dict[str, Any] = {}
        for tag, name in self._categories.items():
            if name in used:
                tables[name] = {"summary": summary_from(described.get(tag, ""), title_of(tag), name)}
        return tables

    def _note_security(self) -> None:
        if not any("auth" in entry for entry in self._apis.tables.values()):
            name = next(iter(self._apis.tables))
            hint = f'if the API needs one, add `auth = {{ bearer = "$TOKEN" }}` to [apis.{name}]'
            self.losses.notes.append(f"the document specifies no usable credential; {hint}")


def _group(operation: Operation) -> str:
    """Return the tag of an operation, or the first part of its path."""
    return (operation.tags or (_first_segment(operation.path),))[0]


def _first_segment(path: str) -> str:
    """Return the first part of a path that names a resource: `accounts` in `/v1/accounts/{id}`."""
    parts = [part for part in path.split("/") if part and "{" not in part]
    named = [part for part in parts if not re.fullmatch(r"(?:api|rest|v?\d+(?:[.-]\w+)*)", part, re.IGNORECASE)]
    return (named or parts or ["other"])[0]
