"""The implementation of a tool by an HTTP request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolmason_runtime.shared.extras import APIS
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.request import Api, HttpTool

from toolmason.kinds.http.tables import ApiTable
from toolmason.model.implementation import Group, Implementation
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.model.types import Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpImplementation(Implementation):
    """The request of a tool. `api_constant` is its API in generated code; `usage` is for docs."""

    kind: ClassVar[str] = "http"
    plural: ClassVar[str] = "APIs"
    takes_dict: ClassVar[bool] = True
    tool: HttpTool
    api_constant: Identifier
    usage: str

    @property
    def group(self) -> tuple[Identifier, Api]:
        """The API."""
        return self.api_constant, self.tool.api

    @property
    def extras(self) -> tuple[str, ...]:
        """The HTTP client, and jq for `select`."""
        return (APIS, "jq") if self.tool.select else (APIS,)

    @property
    def risks(self) -> frozenset[Risk]:
        """The risk of its calls."""
        return frozenset({self.tool.risk})

    @property
    def timeout_s(self) -> float:
        """Seconds until a call is cancelled."""
        return self.tool.timeout_s or self.tool.api.timeout_s

    @property
    def imports(self) -> Mapping[str, tuple[str, ...]]:
        """The classes of its specification."""
        names = ["Api", "HttpTool", "Risk", "http_tool"]
        names += ["Auth"] if self.tool.api.auth else []
        names += ["Pagination"] if self.tool.pagination else []
        names += ["Place", "Placement"] if self.tool.placements else []
        return {"toolmason_runtime.serving": tuple(names)}

    @property
    def entry(self) -> Mapping[str, Any]:
        """The name of the API."""
        return {"api": self.tool.api.name}


def request_of(tool: Tool) -> HttpImplementation | None:
    """Return the request of a tool; None for a tool of another kind."""
    implementation = tool.implementation
    return implementation if isinstance(implementation, HttpImplementation) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApi(Group):
    """An API of `[apis]`, for search, docs and operators. `variables` are those that its requests use."""

    kind: ClassVar[str] = "http"
    catalogue_section: ClassVar[str] = "apis"
    table: ApiTable
    has_credential: bool = False


def apis_of(server: Server) -> tuple[HttpApi, ...]:
    """Return the APIs of a server."""
    return tuple(group for group in server.groups.get("http", ()) if isinstance(group, HttpApi))
