"""Convert the answer of an API to the result of a tool, without the secrets of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.apis.client import Answer
from toolmason_runtime.apis.document import GRAPHQL, Document, Work
from toolmason_runtime.apis.request import Request
from toolmason_runtime.apis.settings import ApiSettings
from toolmason_runtime.apis.worker import text_for_model, work_on
from toolmason_runtime.chunks.bounded import bounded_text
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.json_output import fit_model
from toolmason_runtime.remote.charset import decode
from toolmason_runtime.remote.parse import RemoteDataError
from toolmason_runtime.shared.budget import LARGE_BYTES
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.request import HttpTool
from toolmason_runtime.shared.visible_text import visible_json
from toolmason_runtime.wire.content import Audio, Image, Reply

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
    body = _beginning(answer, settings)  # masked before the cut, which could leave the beginning of a secret
    if len(body) > MAX_ERROR_CHARS:
        body = f"{body[:MAX_ERROR_CHARS]} [... {len(body) - MAX_ERROR_CHARS:,} characters more]"
    lines = [head, " ".join(filter(None, advice)), body]
    text = settings.mask("\n".join(filter(None, lines)))
    raise ToolError(text, code=f"HTTP_{answer.status}", details={"status": answer.status})


def is_json(answer: Answer) -> bool:
    """Return whether an answer is JSON by its media type."""
    kind = _media_type(answer)
    return kind == "application/json" or kind.endswith("+json")


async def read(answer: Answer, work: Work, settings: ApiSettings) -> Document:
    """Return the JSON value of an answer; null for an empty one.

    Raises:
        ToolError: the answer is not JSON, or has too many values.
    """
    work = replace(work, content_type=answer.headers.get("content-type", ""))
    try:
        return await work_on(answer.body, work)
    except RemoteDataError as error:
        problem = str(error)
        if problem.startswith(f"{GRAPHQL}: "):
            message = f"The API {settings.name} answered with errors: {problem.removeprefix(f'{GRAPHQL}: ')}"
            raise ToolError(settings.mask(message), code="API_ERROR") from None
        if not problem.startswith("not JSON"):
            raise too_much(settings, problem) from None
        shown = _beginning(answer, settings)[:200]
        message = f"The API {settings.name} did not answer with JSON ({problem.removeprefix('not JSON: ')}): {shown}"
        raise ToolError(message, code="API_ANSWER") from None


def too_much(settings: ApiSettings, problem: str) -> ToolError:
    """Return the error of an answer that exceeds the budget."""
    message = f"The answer of the API {settings.name} is too large: {problem}. Ask for less, such as fewer items or a "
    return ToolError(f"{message}narrower search", code="API_ANSWER")


def structured(
    tool: HttpTool, values: Sequence[Any], model: type[BaseModel], settings: ApiSettings, *, has_more: bool
) -> BaseModel:
    """Return an answer as the model of the result. Several values, or none, are the results of `select`.

    An empty answer, such as that of 204, is an object without fields, or an empty list.

    Raises:
        ToolError: the answer does not fit the model.
    """
    value = values[0] if len(values) == 1 else list(values)
    if value is None:
        value = [] if tool.returns_list else {}
    if tool.returns_list:
        value = {"items": value if isinstance(value, list) else [value], "has_more": has_more}
    try:
        return fit_model(value, model, source=f"The answer of the API {settings.name}")
    except ToolError as error:
        raise ToolError(settings.mask(error.message), code=error.code) from None


def partial_note(settings: ApiSettings, errors: str) -> str:
    """Return the note about the errors of an answer that has a value, too."""
    message = f"[the API {settings.name} also answered with errors, so null may stand for a part that failed: {errors}]"
    return settings.mask(message)


async def json_reply(document: Document, store: ChunkStore, *, has_more: bool) -> Reply:
    """Return JSON values as text, one per line."""
    pieces = document.pieces if document.values is None else [*visible_json([document.as_text()])]
    head = ["[more pages exist]\n"] if has_more else []
    return Reply(await bounded_text([*head, *(pieces if any(pieces) else ["[no results]"])], store))


async def reply(answer: Answer, settings: ApiSettings, store: ChunkStore, *, method: str, save: str = "") -> Reply:
    """Return an answer that is not JSON: text, an image or a sound, or a description of other bytes.

    An answer without a body is its status line, and for HEAD its headers. `save` is the parameter that saves one.
    """
    kind = _media_type(answer)
    if not answer.body:
        shown = {name for name in answer.headers if name != "set-cookie"} if method == "HEAD" else {"location"}
        lines = [f"{name}: {value}" for name, value in answer.headers.items() if name in shown]
        head = f"{answer.status} {answer.reason}".strip()
        return Reply(settings.mask("\n".join([head, *lines])))
    if kind.startswith(("image/", "audio/")) and kind != "image/svg+xml" and len(answer.body) <= MAX_MEDIA_BYTES:
        return Reply(Image(answer.body, kind) if kind.startswith("image/") else Audio(answer.body, kind))
    if b"\0" in answer.body and "charset" not in answer.headers.get("content-type", ""):
        advice = f": set `{save}` to save it as a file" if save else ""
        return Reply(f"[{kind or 'binary'} of {len(answer.body):,} bytes, which is not text{advice}]")
    work = Work(kind="text", content_type=answer.headers.get("content-type", ""), secrets=settings.secrets)
    try:
        pieces = await text_for_model(answer.body, work)
    except RemoteDataError as error:
        raise too_much(settings, str(error)) from None
    return Reply(await bounded_text(pieces, store))


def _media_type(answer: Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _beginning(answer: Answer, settings: ApiSettings) -> str:
    """Return the beginning of a body as text without secrets."""
    text = settings.mask(decode(answer.body[:LARGE_BYTES], answer.headers.get("content-type", "")))
    if len(answer.body) > LARGE_BYTES:  # it may end inside of a secret, whose characters can be escaped
        text = text[: -6 * max(map(len, settings.secrets), default=1)]
    return text.strip()
