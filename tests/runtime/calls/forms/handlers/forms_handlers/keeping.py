"""A handler that returns its arguments."""

from __future__ import annotations

import json
from typing import Any


async def keep(params: Any, call: Any) -> str:  # noqa: ARG001  the signature of a handler
    """Return the arguments as JSON."""
    arguments = (
        params if isinstance(params, dict) else params.model_dump(mode="json", by_alias=True, exclude_unset=True)
    )
    return json.dumps(arguments)
