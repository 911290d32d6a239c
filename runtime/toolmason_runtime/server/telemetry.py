"""Spans of calls over HTTP with OpenTelemetry, if its SDK is installed (`toolmason[telemetry]`).

The SDK of MCP makes one span per request. Here they get the name of the tool that runs and the parent of the HTTP
request, and an exporter if the environment names its address.
"""

from __future__ import annotations

import logging
import os
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from opentelemetry import context, propagate, trace
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.transports.shutdown import exit_hooks

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""The standard variables with the address of a collector."""
FLUSH_MS: Final = 1000
"""Milliseconds in which the last spans are sent before the process exits."""
_log = logging.getLogger(__name__)
_INACTIVE_PROVIDERS: Final = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)


def instrument(server: Server[Any], dispatcher: Dispatcher) -> None:
    """Complete the spans of `server`, and export them if the environment names a collector."""
    if find_spec("opentelemetry.sdk") is None:
        if any(map(os.environ.get, ENDPOINTS)):
            _log.warning("%s needs OpenTelemetry: `pip install 'toolmason[telemetry]'`", ENDPOINTS[0])
        return
    if any(map(os.environ.get, ENDPOINTS)):
        _export(dispatcher.server["name"], dispatcher.server["version"])
    dispatcher.on_tool = _name_span
    server.middleware.insert(0, _with_parent)


def is_tracing() -> bool:
    """Return whether a provider of spans is configured; a handler may do that at any time."""
    return not isinstance(trace.get_tracer_provider(), _INACTIVE_PROVIDERS)


def _export(name: str, version: str) -> None:
    """Send spans to the collector, unless a handler has configured another destination."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        _log.warning("%s needs an exporter: `pip install 'toolmason[telemetry]'`", ENDPOINTS[0])
        return
    own = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": name}
    provider = TracerProvider(resource=Resource.create({**own, "service.version": version}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    exit_hooks.append(partial(_flush, provider))


def _flush(provider: Any) -> None:
    provider.force_flush(FLUSH_MS)


def _name_span(tool: str) -> None:
    span = trace.get_current_span()
    if span.is_recording():
        span.update_name(f"tools/call {tool}")
        span.set_attribute("gen_ai.tool.name", tool)


async def _with_parent(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Use the header `traceparent` of the HTTP request; one in `_meta` takes precedence."""
    parent = propagate.extract(getattr(ctx.request, "headers", {}))
    token = context.attach(parent)
    try:
        return await call_next(ctx)
    finally:
        context.detach(token)
