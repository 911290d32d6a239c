"""Send requests: one pool of connections per API, redirects, retries and bounded answers.

Each API has a pool of its own, because an address that one API may use is not allowed for the others.
"""

from __future__ import annotations

import email.utils
import logging
import random
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import anyio
import anyio.lowlevel
import httpcore2
from toolmason_runtime.apis.connect import CheckedBackend, PrivateAddressError
from toolmason_runtime.apis.request import Request, join_url
from toolmason_runtime.apis.settings import ApiSettings, origin
from toolmason_runtime.shared.budget import ANSWER
from toolmason_runtime.shared.errors import ToolError

MAX_BODY_BYTES: Final = ANSWER.bytes
"""Maximum bytes of an answer, decompressed."""
MAX_HEADERS: Final = 200
"""Headers of an answer; the HTTP client accepts 100 kB of them together."""
MAX_REDIRECTS: Final = 5
MAX_CONNECTIONS: Final = 20
KEEPALIVE_S: Final = 30.0
CONNECT_TIMEOUT_S: Final = 10.0
BACKOFF_S: Final = 0.5
"""Seconds before the first retry; each further one waits twice as long."""
MAX_BACKOFF_S: Final = 8.0
_SMALL_CHUNK_BYTES: Final = 64
_MAX_SMALL_CHUNKS: Final = 50_000
"""Chunks of an answer besides one for each `_SMALL_CHUNK_BYTES`: each costs as much time as some kilobytes."""
_CHUNKS_AT_ONCE: Final = 64
_MAX_RETRY_AFTER: Final = 64
"""Characters of `Retry-After`; a date has 29."""
_LISTS: Final = frozenset({"link"})
"""Headers of which several are read."""
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_REFUSED: Final = (429, 503)
"""Statuses of a request that was not processed."""
_TRANSIENT: Final = (*_REFUSED, 502, 504)
_NOT_SENT: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)
_FAILURES: Final = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)

# Its debug records contain the headers of answers, and so perhaps secrets.
logging.getLogger("httpcore2").setLevel(logging.INFO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of an API, with the URL of the last request without credential. Names of headers are in lower case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    url: str


class ApiClient:
    """The connections to one API."""

    def __init__(self, settings: ApiSettings) -> None:
        self.settings = settings
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpcore2.default_ssl_context(),
            max_connections=MAX_CONNECTIONS,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=CheckedBackend(settings),
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def send(self, request: Request, *, is_repeatable: bool, retries: int, deadline: float) -> Answer:
        """Send a request and return the answer, whatever its status.

        A request that the server did not process, or that `is_repeatable`, is sent again after a transient failure,
        unless the server asks to wait beyond `deadline`, a time of `anyio.current_time`.

        Raises:
            ToolError: there is no answer, it is too large, or it leads to a host that is not allowed.
        """
        for attempt in count():
            last = attempt >= retries
            delay = min(BACKOFF_S * 2**attempt, MAX_BACKOFF_S) * random.uniform(0.5, 1)  # noqa: S311  no secret
            try:
                answer = await self._follow(request)
            except _FAILURES as error:
                if last or not (is_repeatable or isinstance(error, _NOT_SENT)):
                    raise self._failure(error, may_have_run=not isinstance(error, _NOT_SENT)) from None
            else:
                delay = max(delay, retry_after(answer.headers) or 0)
                is_retryable = answer.status in _TRANSIENT if is_repeatable else self._was_refused(answer)
                if last or not is_retryable or anyio.current_time() + delay >= deadline:
                    return answer
            await anyio.sleep(delay)
        raise AssertionError  # mypy: `count` does not end

    @staticmethod
    def _was_refused(answer: Answer) -> bool:
        return answer.status in _REFUSED and (answer.status == 429 or "retry-after" in answer.headers)

    def _failure(self, error: Exception, *, may_have_run: bool) -> ToolError:
        """Return the error of a request without an answer."""
        kind = "did not answer" if may_have_run else "cannot be reached"
        advice = "it may have processed the request: check before you repeat it" if may_have_run else "try again later"
        reason = self.settings.mask(str(error) or type(error).__name__)
        return ToolError(f"The API {self.settings.name} {kind} ({reason}): {advice}", code="API_UNAVAILABLE")

    async def _follow(self, request: Request) -> Answer:
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send_once(request)
            location = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not location:
                return answer
            request = self._redirected(request, answer.status, join_url(request.url, location))
        raise ToolError(f"The API {self.settings.name} redirected more than {MAX_REDIRECTS} times", code="API_REDIRECT")

    def _redirected(self, request: Request, status: int, url: str) -> Request:
        """Return the request that follows a redirect. Only a read leaves the API; a write is repeated there.

        Raises:
            ToolError: the redirect is not allowed.
        """
        is_read = request.method in ("GET", "HEAD")
        if not self.settings.allows(url):
            raise self.not_allowed("redirected", url)
        if is_read or (status in (307, 308) and self.settings.is_own(url)):
            return replace(request, url=url)
        if status == 303:  # See Other: the result of the write
            return Request(method="GET", url=url)
        raise self.not_allowed("redirected a write", url)

    def not_allowed(self, action: str, url: str) -> ToolError:
        """Return the error of a URL that the API may not lead to."""
        scheme, host, port = origin(url)
        where = f"{scheme}://{host}:{port}" if host else "an invalid URL"
        message = f"The API {self.settings.name} {action} to {where}, which is not allowed. Do not retry: the operator"
        return ToolError(f"{message} can change `base_url` or `allow_hosts`", code="API_REDIRECT")

    async def _send_once(self, request: Request) -> Answer:
        signed = self.settings.signed(request)
        content = signed.content
        timeouts = {"connect": CONNECT_TIMEOUT_S, "read": None, "write": None, "pool": None}
        try:
            async with self._pool.stream(
                signed.method,
                signed.url,
                headers=[*signed.headers.items(), ("accept-encoding", "gzip")],
                content=b"" if content is None and signed.method in ("POST", "PUT", "PATCH") else content,
                extensions={"timeout": timeouts},
            ) as response:
                headers = self._headers(response)
                body = await self._body(response, headers)
                reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
                return Answer(status=response.status, reason=reason, headers=headers, body=body, url=request.url)
        except PrivateAddressError:
            message = f"The API {self.settings.name} has a private address, which its settings do not allow. "
            message += "Do not retry: the operator can add the address or its network to `allow_hosts`"
            raise ToolError(message, code="API_ADDRESS") from None

    def _headers(self, response: httpcore2.Response) -> dict[str, str]:
        """Return the headers of an answer. Several of one name are a list (RFC 9110, 5.3), except `Set-Cookie`."""
        if len(response.headers) > MAX_HEADERS:
            message = f"The answer of the API {self.settings.name} has more than {MAX_HEADERS} headers"
            raise ToolError(message, code="API_ANSWER")
        headers: dict[str, str] = {}
        for name, value in response.headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers and key in _LISTS else text
        return headers

    async def _body(self, response: httpcore2.Response, headers: Mapping[str, str]) -> bytes:
        encoding = headers.get("content-encoding", "").lower()
        decoder = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding == "gzip" else None
        invalid = ToolError(f"The API {self.settings.name} sent an invalid answer", code="API_ANSWER")
        body = bytearray()
        is_cut = False
        chunks = 0
        async for chunk in response.aiter_stream():
            chunks += 1
            if chunks % _CHUNKS_AT_ONCE == 0:  # chunks of one byte arrive by thousands without a wait between them
                await anyio.lowlevel.checkpoint()
            if chunks > _MAX_SMALL_CHUNKS + len(body) // _SMALL_CHUNK_BYTES:
                message = f"The API {self.settings.name} sent its answer in too many small chunks"
                raise ToolError(message, code="API_ANSWER")
            left = MAX_BODY_BYTES - len(body) + 1
            try:
                body += decoder.decompress(chunk, left) if decoder else chunk
            except zlib.error:
                raise invalid from None
            if decoder and decoder.unused_data:  # would grow without a limit
                raise invalid
            is_cut = decoder is not None and not decoder.eof
            if len(body) > MAX_BODY_BYTES:
                message = f"The answer of the API {self.settings.name} exceeds {MAX_BODY_BYTES:,} bytes: ask for less"
                raise ToolError(message, code="API_ANSWER")
        if is_cut:
            raise invalid
        return bytes(body)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`, which are a number or a date; None without a valid one."""
    text = headers.get("retry-after", "")[:_MAX_RETRY_AFTER].strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
