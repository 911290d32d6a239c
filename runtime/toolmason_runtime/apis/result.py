"""Convert the answer of an API to the result of a tool, without the secrets of the API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.apis.client import Answer
from toolmason_runtime.apis.request import Request
from toolmason_runtime.apis.settings import ApiSettings
from toolmason_runtime.apis.spec import HttpTool
from toolmason_runtime.chunks.bounded import bounded_text
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.json_output import fit_model
from toolmason_runtime.programs.result_text import VISIBLE
from toolmason_runtime.protocol.content import Audio, Image, Reply
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.results import compact_json, encodable
from toolmason_runtime.remote.charset import decode

if TYPE_CHECKING:
    from pydantic import BaseModel

MAX_ERROR_CHARS: Final = 2_000
MAX_HEADER_CHARS: Final = 100
"""Maximum characters of a header in an error."""
MAX_MEDIA_BYTES: Final = 6 * 1024 * 1024
"""Maximum bytes of an image or a sound."""
_ADVICE: Final = {
    401: "The API rejects the credential of this server: do not retry, tell the user.",
    403: "The credential of this server does not allow this request: do not retry, tell the user.",
    429: "Send fewer requests.",
}


def check_status(answer: Answer, request: Request, settings: ApiSettings) -> None:
    """Check that an answer is a success.

    Raises:
        ToolError: it is not; the message has the beginning of its body.
    """
    if 200 <= answer.status < 300:
        return
    reason = answer.reason[:MAX_HEADER_CHARS]
    head = f"{request.method} {request.target} of the API {settings.name} returned {answer.status} {reason}"
    wait = answer.headers.get("retry-after", "")[:MAX_HEADER_CHARS]
    advice = [_ADVICE.get(answer.status, ""), f"Retry after: {wait}." if wait else ""]
    body = settings.mask(_text(answer)).strip()  # before the cut, which could leave the beginning of a secret
    if len(body) > MAX_ERROR_CHARS:
        body = f"{body[:MAX_ERROR_CHARS]} [... {len(body) - MAX_ERROR_CHARS:,} characters more]"
    lines = [head, " ".join(filter(None, advice)), body]
    text = settings.mask("\n".join(filter(None, lines))).translate(VISIBLE)
    raise ToolError(text, code=f"HTTP_{answer.status}", details={"status": answer.status})


def is_json(answer: Answer) -> bool:
    """Return whether an answer is JSON by its media type."""
    kind = _media_type(answer)
    return kind == "application/json" or kind.endswith("+json")


def parse_json(answer: Answer, settings: ApiSettings) -> Any:
    """Return the JSON value of an answer without secrets; None for an empty one.

    Raises:
        ToolError: the answer is not JSON.
    """
    text = _text(answer).strip()
    try:
        # Python accepts and writes `NaN` and `Infinity`, which JSON lacks.
        return encodable(settings.masked(json.loads(text, parse_constant=lambda _: None))) if text else None
    except (ValueError, RecursionError) as error:
        shown = settings.mask(text)[:200].translate(VISIBLE)
        message = f"The API {settings.name} did not answer with JSON ({error}): {shown}"
        raise ToolError(message, code="API_ANSWER") from None


def structured(
    tool: HttpTool, values: Sequence[Any], model: type[BaseModel], settings: ApiSettings, *, has_more: bool
) -> BaseModel:
    """Return an answer as the model of the result. Several values, or none, are the results of `select`.

    Raises:
        ToolError: the answer does not fit the model.
    """
    value = values[0] if len(values) == 1 else list(values)
    if tool.returns_list:
        value = {"items": value if isinstance(value, list) else [value], "has_more": has_more}
    try:
        return fit_model(value, model, source=f"The answer of the API {settings.name}")
    except ToolError as error:
        raise ToolError(settings.mask(error.message), code=error.code) from None


async def json_reply(values: Sequence[Any], store: ChunkStore, *, has_more: bool) -> Reply:
    """Return JSON values as text, one per line."""
    lines = [compact_json(value) for value in values] or ["[no results]"]
    return Reply(await bounded_text("\n".join([*(["[more pages exist]"] if has_more else []), *lines]), store))


async def reply(answer: Answer, settings: ApiSettings, store: ChunkStore, *, method: str) -> Reply:
    """Return an answer that is not JSON: text, an image or a sound, or a description of other bytes.

    An answer without a body is its status line, and for HEAD its headers.
    """
    kind = _media_type(answer)
    if not answer.body:
        shown = {name for name in answer.headers if name != "set-cookie"} if method == "HEAD" else {"location"}
        lines = [f"{name}: {value}" for name, value in answer.headers.items() if name in shown]
        head = f"{answer.status} {answer.reason}".strip()
        return Reply(settings.mask("\n".join([head, *lines])).translate(VISIBLE))
    if kind.startswith(("image/", "audio/")) and kind != "image/svg+xml" and len(answer.body) <= MAX_MEDIA_BYTES:
        return Reply(Image(answer.body, kind) if kind.startswith("image/") else Audio(answer.body, kind))
    if b"\0" in answer.body and "charset" not in answer.headers.get("content-type", ""):
        return Reply(f"[{kind or 'binary'} of {len(answer.body):,} bytes, which is not text]")
    return Reply(await bounded_text(settings.mask(_text(answer)).translate(VISIBLE), store))


def _media_type(answer: Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _text(answer: Answer) -> str:
    return decode(answer.body, answer.headers.get("content-type", ""))
