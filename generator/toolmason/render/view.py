"""The variable `server` of templates: the facts of a server, and the questions that only templates ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolmason_runtime.shared.extras import APIS, HTTP

from toolmason.model.server import Server


class ServerView:
    """A server, as templates see it: its facts and keys are attributes of the view."""

    __slots__ = ("_server",)

    def __init__(self, server: Server) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    @property
    def tool_extra(self) -> str:
        """Extra of toolmason that its tools need on every transport; empty for none."""
        extras = self._server.tool_extras
        return HTTP if HTTP in extras else APIS if APIS in extras else ""

    @property
    def http_modules(self) -> tuple[str, ...]:
        """The modules of `routes` and `middleware`."""
        return tuple(sorted({hook.module for hook in (self._server.routes, self._server.middleware) if hook}))

    @property
    def variable_facts(self) -> Mapping[str, Mapping[str, object]]:
        """Facts about each variable for the registry of servers."""
        secrets = {
            secret.env: {"description": secret.description, "isRequired": secret.required, "isSecret": True}
            for secret in self._server.secrets
        }
        return {name: secrets.get(name, {}) for name in self._server.variables}

    @property
    def hook_types(self) -> tuple[str, ...]:
        """Names that the bindings of the hooks import from `toolmason_runtime.serving`, sorted."""
        return tuple(sorted({kind.partition("[")[0] for _, kind, _ in self._server.hooks}))

    @property
    def hook_modules(self) -> tuple[str, ...]:
        """Modules of the hooks, sorted."""
        return tuple(sorted({handler.module for _, _, handler in self._server.hooks}))
