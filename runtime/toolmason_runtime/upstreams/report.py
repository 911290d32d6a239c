"""The state of upstreams for a tool that reports the health of a server."""

from __future__ import annotations

import sys
from typing import Final

from toolmason_runtime.calls.call import ToolCall

_REGISTRY: Final = "toolmason_runtime.upstreams.registry"


def upstream_warnings(call: ToolCall) -> tuple[str, ...]:
    """Return the differences of the running upstreams from the manifest, as sentences; none if no upstream runs."""
    if _REGISTRY not in sys.modules:  # it imports the SDK's client
        return ()
    from toolmason_runtime.upstreams.registry import Upstreams

    upstreams = call.find_state(Upstreams)
    return upstreams.warnings if upstreams is not None else ()
