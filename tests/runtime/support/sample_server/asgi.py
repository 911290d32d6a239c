"""The `sample` server as an ASGI application."""

from __future__ import annotations

from toolmason_runtime.protocol.selection import Selection
from toolmason_runtime.server.asgi import AsgiApp

from sample_server import web
from sample_server.catalogue import CATALOGUE
from sample_server.server import build_dispatcher

app = AsgiApp(
    CATALOGUE,
    lambda: build_dispatcher(Selection("classic")),
    command="sample",
    routes=web.routes,
    middleware=web.middleware,
)
reserved = AsgiApp(CATALOGUE, build_dispatcher, command="sample", routes=web.reserved_routes)
