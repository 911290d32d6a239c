"""Encode messages as lines of JSON."""

from __future__ import annotations

import json

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from typing import Any

    from toolmason_runtime.shared.errors import MethodError
    from toolmason_runtime.transports.messages import RequestId


_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as JSON on one line, with its line end."""
    try:
        return _to_json(message).encode() + b"\n"
    except (TypeError, ValueError):
        return _encode_anything(message)


def _encode_anything(message: dict[str, Any]) -> bytes:
    """Encode a log message whose data contains Python objects, such as models and paths."""
    from pydantic_core import to_json, to_jsonable_python
    from toolmason_runtime.wire.results import encodable

    return to_json(encodable(to_jsonable_python(message, inf_nan_mode="null")), inf_nan_mode="null") + b"\n"


def encode_result(identity: RequestId, result: dict[str, Any]) -> bytes:
    """Return the response to a request."""
    return encode({"jsonrpc": "2.0", "id": identity, "result": result})


async def encode_large_result(identity: RequestId, result: dict[str, Any]) -> list[bytes]:
    """Return the response to a request in parts, of which one is encoded in each turn of the event loop."""
    from asyncio import sleep

    from toolmason_runtime.wire.parts import json_parts

    parts = []
    for part in json_parts({"jsonrpc": "2.0", "id": identity, "result": result}):
        parts.append(part.encode())
        await sleep(0)
    return [*parts, b"\n"]


def encode_error(identity: RequestId, error: MethodError) -> bytes:
    """Return the error response to a request."""
    data = {} if error.data is None else {"data": error.data}
    body = {"code": error.code, "message": error.message, **data}
    return encode({"jsonrpc": "2.0", "id": identity, "error": body})
