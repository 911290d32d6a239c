"""Joins the `odd` tools to the functions that carry them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolmason_runtime.serving import Binding

from sample_server import odd_handlers as handlers
from sample_server.odd.models import NoParams, RefuseParams

BINDINGS: Final[Mapping[str, Binding]] = {
    "rare": Binding(NoParams, handlers.rare),
    "raw": Binding(None, handlers.raw),
    "mixed": Binding(NoParams, handlers.mixed),
    "refuse": Binding(RefuseParams, handlers.refuse),
    "crash": Binding(NoParams, handlers.crash),
    "crash_together": Binding(NoParams, handlers.crash_together),
    "lie": Binding(NoParams, handlers.lie),
    "odd_text": Binding(NoParams, handlers.odd_text),
    "wait": Binding(NoParams, handlers.wait),
    "stubborn": Binding(NoParams, handlers.stubborn),
    "hold": Binding(NoParams, handlers.hold),
    "release": Binding(NoParams, handlers.release),
    "hold_until_cancelled": Binding(NoParams, handlers.hold_until_cancelled),
    "ask_in_a_thread": Binding(NoParams, handlers.ask_in_a_thread),
    "flood": Binding(NoParams, handlers.flood),
    "chatter": Binding(NoParams, handlers.chatter),
    "report": Binding(NoParams, handlers.report),
    "ask": Binding(NoParams, handlers.ask),
    "open_page": Binding(NoParams, handlers.open_page),
    "show_client": Binding(NoParams, handlers.show_client),
    "sample": Binding(NoParams, handlers.sample),
    "roots": Binding(NoParams, handlers.roots),
    "show_state": Binding(NoParams, handlers.show_state),
}
