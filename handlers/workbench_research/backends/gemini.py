"""Google's Gemini API, with caches that are created and deleted by name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio.to_thread

from workbench_research.backends.connection import COUNT_TIMEOUT_S, Connection
from workbench_research.backends.failure_kinds import AttemptError
from workbench_research.backends.failures import BROKEN, blocked, broken
from workbench_research.backends.gemini_caches import TTL_S, Cached, GeminiCaches
from workbench_research.backends.prompt import SYSTEM, part_text, question_text
from workbench_research.backends.protocol import End, Event, Options, Part, Progress, Text
from workbench_research.backends.question import Usage

_BLOCKED: Final = {"SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION"}
_DONE: Final = {"STOP", "MAX_TOKENS"}
_PROMPT_BLOCKED: Final = "PROHIBITED_CONTENT"
_CUT: Final = "MAX_TOKENS"
_LOST_CACHE: Final = {400, 403, 404}
"""Statuses of a request whose cache may have expired, or belong to another key."""
_NOT_FOUND: Final = 404


@dataclass(kw_only=True)
class GeminiBackend(Connection):
    """Contents with streaming: each file is a part."""

    caches: GeminiCaches = field(default_factory=GeminiCaches, repr=False)

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self.provider.name

    async def ask(self, question: str, parts: tuple[Part, ...], options: Options) -> AsyncGenerator[Event]:
        """Send the question once; see `Backend`."""
        texts = [part_text(part) for part in parts]
        model = self.provider.model(options.model)
        async with self._client(options.timeout_s) as client, self.failures():
            cached = await self.caches.prepare(
                client, options.model, texts, system=SYSTEM, minimum=self.provider.cache_from
            )
            if cached.tokens_now:
                yield Progress(f"{options.model} has stored {cached.tokens_now:,} tokens of files for later questions")
            answered, finish, counts = "", "", None
            sources: dict[str, None] = {}
            searches = 0
            try:
                chunks = await client.aio.models.generate_content_stream(
                    model=options.model,
                    contents=_contents([*cached.rest, question_text(question)]),
                    config=self._config(options, cached),
                )
                async for chunk in chunks:
                    answered = chunk.model_version or answered
                    counts = chunk.usage_metadata or counts
                    if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
                        finish = _PROMPT_BLOCKED
                    for candidate in (chunk.candidates or ())[:1]:
                        finish = _name(candidate.finish_reason) if candidate.finish_reason else finish
                        if grounding := candidate.grounding_metadata:
                            searches = max(searches, len(grounding.web_search_queries or ()))
                            pages = (chunk.web for chunk in grounding.grounding_chunks or ())
                            sources |= {page.uri: None for page in pages if page and page.uri}
                        for part in (candidate.content.parts or ()) if candidate.content else ():
                            if part.text and not part.thought:
                                yield Text(part.text)
            except Exception as error:
                status = getattr(error, "code", None)
                if cached.name and status in _LOST_CACHE:
                    self.caches.forget(options.model, cached.name, exists=status != _NOT_FOUND)
                    raise AttemptError(
                        "", error_type="the cache of the files was lost", decided=BROKEN, source=self.provider.title
                    ) from None
                raise
            finally:
                await self.caches.release(client, cached)
            if finish in _BLOCKED:
                raise blocked(self.provider.title, finish)
            if finish not in _DONE:
                raise broken(self.provider.title, finish or "the answer broke off")
            usage = _usage(counts, cached)
            cost = model.cost(usage, stored_s=TTL_S)
            yield End(
                model=answered,
                usage=replace(usage, cost=cost),
                is_cut=finish == _CUT,
                searches=searches,
                sources=tuple(sources),
            )

    async def count_tokens(self, question: str, parts: tuple[Part, ...], model: str) -> int:
        """Return the tokens by the API's counter; an estimate if it fails."""
        texts = [SYSTEM, *map(part_text, parts), question_text(question)]
        try:
            async with self._client(COUNT_TIMEOUT_S) as client, self.failures():
                counted = await client.aio.models.count_tokens(model=model, contents=_contents(texts))
        except AttemptError:
            return self.estimate(question, parts)
        return int(counted.total_tokens or 0) or self.estimate(question, parts)

    async def delete_caches(self) -> None:
        """Delete the caches of this process; those that are not deleted expire."""
        if self.caches:
            async with self._client(COUNT_TIMEOUT_S) as client:
                await self.caches.delete_all(client)

    @asynccontextmanager
    async def _client(self, timeout_s: float) -> AsyncIterator[Any]:
        genai = await self.library()
        httpx = await self.library("httpx")
        async with httpx.AsyncClient(**self.http_options) as http:
            options = {
                "base_url": self.endpoint.url,
                "httpx_async_client": http,
                "timeout": max(1, round(timeout_s * 1_000)),
                "retry_options": {"attempts": 1},
            }
            # In a thread, because it reads certificates for clients that are not used.
            yield await anyio.to_thread.run_sync(
                lambda: genai.Client(api_key=self.endpoint.key.value, vertexai=False, http_options=options)
            )

    def _config(self, options: Options, cached: Cached) -> dict[str, Any]:
        config: dict[str, Any] = {"automatic_function_calling": {"disable": True}}
        if cached.name:  # it contains the instruction
            config["cached_content"] = cached.name
        else:
            config["system_instruction"] = SYSTEM
        if options.searches_web:
            config["tools"] = [{"google_search": {}}]
        if options.max_output:
            config["max_output_tokens"] = options.max_output
        if (temperature := self.temperature(options)) is not None:
            config["temperature"] = temperature
        return config


def _contents(texts: list[str]) -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"text": text} for text in texts]}]


def _name(reason: Any) -> str:
    return str(getattr(reason, "value", reason))


def _usage(counts: Any, cached: Cached) -> Usage:
    """Return the usage, with the tokens that were sent to create a cache."""
    sent = getattr(counts, "prompt_token_count", None) or 0
    written = getattr(counts, "candidates_token_count", None) or 0
    thought = getattr(counts, "thoughts_token_count", None) or 0
    return Usage(
        sent=sent + cached.tokens_now,
        cached=getattr(counts, "cached_content_token_count", None) or 0,
        cached_now=cached.tokens_now,
        written=written + thought,
    )
