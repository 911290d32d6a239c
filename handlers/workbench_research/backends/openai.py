"""OpenAI's API, and every server that is compatible with it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any, Final

from workbench_research.backends.connection import CONNECT_TIMEOUT_S, Connection
from workbench_research.backends.failures import blocked, broken
from workbench_research.backends.keys import is_loopback
from workbench_research.backends.prompt import SYSTEM, part_text, question_text
from workbench_research.backends.protocol import End, Event, Options, Part, Progress, Text
from workbench_research.backends.question import Usage

_CUT: Final = "length"
_BLOCKED: Final = "content_filter"
_SUSPICIOUS: Final = 0.25
"""A local server that counts a smaller part of the estimate has probably cut the files."""


@dataclass(kw_only=True)
class OpenAIBackend(Connection):
    """Chat completions with streaming. Files come first, in a stable order, so that the provider finds the prefix."""

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self.provider.name

    async def ask(self, question: str, parts: tuple[Part, ...], options: Options) -> AsyncGenerator[Event]:
        """Send the question once; see `Backend`."""
        library = await self.library()
        client = library.AsyncOpenAI(
            api_key=self.endpoint.key.value,
            base_url=self.endpoint.url,
            max_retries=0,
            timeout=library.Timeout(options.timeout_s, connect=CONNECT_TIMEOUT_S),
            default_headers=self._headers(library),
            http_client=library.DefaultAsyncHttpxClient(**self.http_options),
        )
        async with client, self.failures():
            usage, model, finish = None, "", ""
            async with await client.chat.completions.create(**self._request(question, parts, options)) as chunks:
                async for chunk in chunks:
                    if error := getattr(chunk, "error", None):
                        raise InStreamError(error)
                    model = chunk.model or model
                    usage = chunk.usage or usage
                    for choice in chunk.choices or ():
                        finish = choice.finish_reason or finish
                        if choice.delta and choice.delta.content:
                            yield Text(choice.delta.content)
            if not finish:
                raise broken(self.provider.title)
            if finish == _BLOCKED:
                raise blocked(self.provider.title, finish)
            counted = self._usage(usage, options.model)
            if self._may_be_cut(counted, question, parts):
                setting = self.provider.context_setting or "the model's context length"
                yield Progress(
                    f"the server counted {counted.sent:,} tokens: it may have cut the files; raise {setting}"
                )
            yield End(model=model, usage=counted, is_cut=finish == _CUT)

    async def count_tokens(self, question: str, parts: tuple[Part, ...], model: str) -> int:  # noqa: ARG002  one interface
        """Return an estimate: the API has no counter."""
        return self.estimate(question, parts)

    def _request(self, question: str, parts: tuple[Part, ...], options: Options) -> dict[str, Any]:
        texts = [part_text(part) for part in parts]
        request: dict[str, Any] = {
            "model": options.model,
            "messages": [
                {"role": "system", "content": SYSTEM},
                # One text, as some servers take no list.
                {"role": "user", "content": "".join([*texts, question_text(question)])},
            ],
            "stream": True,
        }
        if self.provider.stream_options:
            request["stream_options"] = {"include_usage": True}
        if options.max_output:
            request[self.provider.output_name] = options.max_output
        if (temperature := self.temperature(options)) is not None:
            request["temperature"] = temperature
        if self.provider.cache_key and texts:
            # Requests with equal keys go to the same machine, which has the prefix in its cache.
            request["prompt_cache_key"] = hashlib.sha256(texts[0].encode("utf-8", "replace")).hexdigest()
        return request

    def _headers(self, library: Any) -> dict[str, Any]:
        """Return headers that remove what the library adds from variables for OpenAI, for other servers."""
        if self.name == "openai" and self.endpoint.url == self.provider.url:
            return {}
        return {"OpenAI-Organization": library.Omit(), "OpenAI-Project": library.Omit()}

    def _usage(self, usage: Any, model: str) -> Usage:
        if usage is None:
            return Usage()
        details = getattr(usage, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None) or getattr(usage, "prompt_cache_hit_tokens", None) or 0
        counted = Usage(
            sent=usage.prompt_tokens or 0,
            cached=cached,
            cached_now=getattr(details, "cache_write_tokens", None) or 0,
            written=usage.completion_tokens or 0,
        )
        paid = getattr(usage, "cost", None)  # OpenRouter
        return replace(counted, cost=float(paid) if isinstance(paid, int | float) else self._cost(counted, model))

    def _cost(self, usage: Usage, model: str) -> float | None:
        if self.provider.local and is_loopback(self.endpoint.url):
            return 0.0
        return self.provider.model(model).cost(usage)

    def _may_be_cut(self, usage: Usage, question: str, parts: tuple[Part, ...]) -> bool:
        return self.provider.local and 0 < usage.sent < _SUSPICIOUS * self.estimate(question, parts)


class InStreamError(Exception):
    """An error object in place of a chunk."""

    def __init__(self, error: Any) -> None:
        super().__init__("an error in the stream")
        self.body = error if isinstance(error, dict) else {"message": str(error)}
