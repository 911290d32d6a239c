"""Prepare calls while the model works: the first one after the handshake, and the tool that a search found first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Final

from toolmason_runtime.calls.binding import exclusive_import
from toolmason_runtime.shared.catalogue import ToolEntry, has_programs, is_handler
from toolmason_runtime.shared.selection import is_enabled

DELAY_S: Final = 0.05
"""Default seconds until the preparation begins; the answer has been sent by then."""


_OF_CALLS: Final = (
    "toolmason_runtime.server.command",
    "toolmason_runtime.server.dispatch",
    "toolmason_runtime.server.logging",
    "toolmason_runtime.calls.repair",
    "toolmason_runtime.discovery.signature",
    "toolmason_runtime.shared.search.ranking",
    "toolmason_runtime.shared.values.validation",
    "toolmason_runtime.transports.stdio.lean",
    "toolmason_runtime.transports.stdio.async_phase",
    "toolmason_runtime.chunks.store",
)
_OF_SURFACES: Final = {
    "prompts": ("toolmason_runtime.server.surfaces",),
    "resources": ("toolmason_runtime.server.surfaces",),
    "apps": ("toolmason_runtime.server.apps",),
    "skills": ("toolmason_runtime.server.skills",),
}
"""Modules by the member of the catalogue that needs them."""
_OF_MODELS: Final = ("toolmason_runtime.calls.model", "pydantic.json_schema")
_OF_PROGRAMS: Final = (
    "toolmason_runtime.kinds",
    "toolmason_runtime.programs.handler",
    *(("toolmason_runtime.programs.launcher",) if sys.platform == "linux" else ()),
    "toolmason_runtime.programs.process_group",
    "toolmason_runtime.wire.foreign",
    "concurrent.futures.thread",
)


def prepare_first_call(package: str) -> None:
    """Import the modules for the first call of a server, but no code of its project, which may have effects.

    Args:
        package: import name of the generated package.
    """
    with suppress(Exception):  # the call will report the error
        for module in _OF_CALLS:
            import_module(module)
        catalogue = import_module(f"{package}.catalogue").CATALOGUE
        needed = [module for part, modules in _OF_SURFACES.items() if part in catalogue for module in modules]
        if any(is_handler(entry) for entry in catalogue["tools"].values()):
            needed += _OF_MODELS
        if uses_programs := has_programs(catalogue):
            needed += _OF_PROGRAMS
        for module in needed:
            import_module(module)
        if uses_programs:
            _warm_up_event_loop()


class Preparation:
    """Prepares each tool once in a daemon thread, and with the first tool the modules that every call needs.

    No step runs during the import of a call, which waits for one step at most. A step that fails is the last one: the
    call of the tool will report the error.

    Args:
        prepare_tool: imports and compiles what a tool needs, from its name and entry.
        modules: modules that every call needs.
        delay_s: seconds until the preparation begins; None for never.
    """

    def __init__(
        self, prepare_tool: Callable[[str, ToolEntry], object], modules: Sequence[str], delay_s: float | None
    ) -> None:
        self._prepare_tool = prepare_tool
        self._shared: Sequence[Callable[[], object]] = [
            *(partial(import_module, module) for module in modules),
            _warm_up_event_loop,
        ]
        self._delay_s = delay_s
        self._expected: set[str] = set()

    def expect(self, entry: ToolEntry) -> None:
        """Prepare a tool soon, unless it is disabled or was expected before."""
        name = entry["tool"]["name"]
        if self._delay_s is None or name in self._expected or not is_enabled(entry):
            return
        self._expected.add(name)
        shared, self._shared = self._shared, ()
        from threading import Timer

        timer = Timer(self._delay_s, _run, ([partial(self._prepare_tool, name, entry), *shared],))
        timer.daemon = True  # the exit of the process does not wait for it
        timer.start()


def _run(steps: Sequence[Callable[[], object]]) -> None:
    with suppress(Exception):
        for step in steps:
            with exclusive_import():
                step()


def _warm_up_event_loop() -> None:
    """Run an event loop once in this thread, which imports the modules of the first event loop of a process."""
    import anyio

    anyio.run(anyio.sleep, 0)
