"""An OpenAPI document: its references and its operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from toolmason.importers.openapi.parts import METHODS


class UnresolvedError(ValueError):
    """A reference has no target, or refers to itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. `parameters` are resolved, those of the path included."""

    method: str
    path: str
    data: Mapping[str, Any]
    parameters: tuple[Mapping[str, Any], ...]
    servers: Sequence[Any]
    security: Sequence[Any] | None
    """Alternatives of security schemes; None if the document specifies none."""
    problem: str = ""
    """Why it cannot be imported."""

    @property
    def graphql(self) -> Mapping[str, Any]:
        """The GraphQL document of an operation from a GraphQL schema, its kind and path; empty for others."""
        return table(self.data.get("x-graphql"))

    @property
    def only_reads(self) -> bool:
        """Whether it changes nothing."""
        return self.graphql["kind"] == "query" if self.graphql else self.method in ("GET", "HEAD", "OPTIONS")

    @property
    def key(self) -> str:
        """Method and path: `GET /repos/{owner}`."""
        return f"{self.method} {self.path}"

    @property
    def id(self) -> str:
        """The document's name of the operation, empty without one."""
        return text(self.data.get("operationId"))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the operation."""
        return tuple(text(tag) for tag in items(self.data.get("tags")) if text(tag))


@dataclass(frozen=True, slots=True)
class OpenApi:
    """A document whose local references can be resolved."""

    data: Mapping[str, Any]
    _targets: dict[str, Any] = field(default_factory=dict)

    @property
    def info(self) -> Mapping[str, Any]:
        """Title, version and description of the API."""
        return table(self.data.get("info"))

    @property
    def components(self) -> Mapping[str, Any]:
        """The shared parts of the document."""
        return table(self.data.get("components"))

    def target(self, reference: Any) -> Any:
        """Return the part that a reference names.

        Raises:
            UnresolvedError: it has no target.
        """
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise UnresolvedError(f"the reference `{reference}` has no target")
        if reference not in self._targets:
            part: Any = self.data
            for name in reference[2:].split("/"):
                name = unquote(name).replace("~1", "/").replace("~0", "~")  # noqa: PLW2901  decoded
                if isinstance(part, list) and name.isdigit() and int(name) < len(part):
                    part = part[int(name)]
                elif isinstance(part, Mapping) and name in part:
                    part = part[name]
                else:
                    raise UnresolvedError(f"the reference `{reference}` has no target")
            self._targets[reference] = part
        return self._targets[reference]

    def resolved(self, part: Any) -> Mapping[str, Any]:
        """Return a part, or the one that its references lead to.

        Raises:
            UnresolvedError: a reference has no target, or refers to itself.
        """
        seen: set[str] = set()
        while isinstance(part, Mapping) and "$ref" in part:
            if str(part["$ref"]) in seen:
                raise UnresolvedError(f"the reference `{part['$ref']}` refers to itself")
            seen.add(str(part["$ref"]))
            part = self.target(part["$ref"])
        return table(part)

    def operations(self) -> Iterator[Operation]:
        """Yield the operations in the order of the document."""
        for path, reference in table(self.data.get("paths")).items():
            if path.startswith("x-"):
                continue
            problem = "" if path.startswith("/") else "the path does not begin with `/`"
            try:
                item = self.resolved(reference)
            except UnresolvedError as error:
                item = {method: {} for method in METHODS[:1]}
                yield self._operation("get", path, item, {}, str(error))
                continue
            for method in METHODS:
                if isinstance(item.get(method), Mapping):
                    yield self._operation(method, path, item, item[method], problem)
            for method, data in table(item.get("additionalOperations")).items():
                if isinstance(data, Mapping):
                    yield self._operation(method, path, item, data, problem)

    def _operation(
        self, method: str, path: str, item: Mapping[str, Any], data: Mapping[str, Any], problem: str = ""
    ) -> Operation:
        parameters: dict[tuple[str, str], Mapping[str, Any]] = {}
        problem = problem or text(table(data.get("x-graphql")).get("problem"))
        if "$ref" in data:
            problem = problem or f"the reference `{data['$ref']}` has no target"
        if any(not isinstance(part.get("parameters") or [], list) for part in (item, data)):
            problem = problem or "its parameters are not a list"
        body = data.get("requestBody")
        if not (body is None or (isinstance(body, Mapping) and isinstance(body.get("content", {}), Mapping))):
            problem = problem or "its body is not an object with `content`"
        for reference in (*items(item.get("parameters")), *items(data.get("parameters"))):
            try:
                parameter = self.resolved(reference)
            except UnresolvedError as error:
                problem = problem or f"a parameter: {error}"
                continue
            parameters[text(parameter.get("in")), text(parameter.get("name"))] = parameter
        servers = data.get("servers") or item.get("servers") or self.data.get("servers")
        security = data.get("security", self.data.get("security"))
        return Operation(
            method=method.upper(),
            path=path,
            data=data,
            parameters=tuple(parameters.values()),
            servers=items(servers),
            security=security if isinstance(security, list) else None,
            problem=problem,
        )


def table(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, empty for any other value."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> Sequence[Any]:
    """Return a JSON array, empty for any other value."""
    return value if isinstance(value, list) else ()


def text(value: Any) -> str:
    """Return a string, empty for any other value."""
    return value if isinstance(value, str) else ""
