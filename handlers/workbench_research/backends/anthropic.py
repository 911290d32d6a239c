"""Anthropic's API, with marks up to which a request is cached."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workbench_research.backends.breakpoints import Breakpoints
from workbench_research.backends.connection import CONNECT_TIMEOUT_S, COUNT_TIMEOUT_S, Connection
from workbench_research.backends.failure_kinds import AttemptError
from workbench_research.backends.failures import blocked, broken
from workbench_research.backends.prompt import SYSTEM, part_text, question_text
from workbench_research.backends.protocol import End, Event, Options, Part, Text
from workbench_research.backends.question import Usage

_CUT: Final = {"max_tokens", "model_context_window_exceeded"}
_BLOCKED: Final = "refusal"
_MAX_OUTPUT: Final = 32_000
"""The API requires a limit of the answer."""
_UNKNOWN_OUTPUT: Final = 8_192
_MAX_SEARCHES: Final = 3
_HEADERS: Final = "ANTHROPIC_CUSTOM_HEADERS"
"""A variable of the library with further headers for Anthropic."""


@dataclass(kw_only=True)
class AnthropicBackend(Connection):
    """Messages with streaming: each file is a block, and up to four of them end a cached prefix.

    The library has no temperature, which current models refuse.
    """

    breakpoints: Breakpoints = field(default_factory=Breakpoints, repr=False)

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self.provider.name

    async def ask(self, question: str, parts: tuple[Part, ...], options: Options) -> AsyncGenerator[Event]:
        """Send the question once; see `Backend`."""
        texts = [part_text(part) for part in parts]
        marks = self.breakpoints.choose(texts)
        model = self.provider.model(options.model)
        request: dict[str, Any] = {
            **self._prompt(question, texts, marks),
            "model": options.model,
            "max_tokens": options.max_output or min(model.output or _UNKNOWN_OUTPUT, _MAX_OUTPUT),
            "stream": True,
        }
        if options.searches_web:
            request["tools"] = [{"type": "web_search_20250305", "name": "web_search", "max_uses": _MAX_SEARCHES}]
        searches = 0
        counts: dict[str, int] = {}
        answered, finish, is_complete = "", "", False
        async with self._client(await self.library(), options.timeout_s) as client, self.failures():
            async with await client.messages.create(**request) as events:
                async for event in events:
                    match event.type:
                        case "message_start":
                            answered = event.message.model
                            _add_counts(counts, event.message.usage)
                            self.breakpoints.remember(texts, marks)
                        case "content_block_delta" if event.delta.type == "text_delta":
                            yield Text(event.delta.text)
                        case "message_delta":
                            finish = event.delta.stop_reason or finish
                            _add_counts(counts, event.usage)
                            used = getattr(event.usage, "server_tool_use", None)
                            searches = getattr(used, "web_search_requests", 0) or searches
                        case "message_stop":
                            is_complete = True
            if not is_complete:
                raise broken(self.provider.title)
            if finish == _BLOCKED:
                raise blocked(self.provider.title, finish)
            usage = _usage(counts)
            cost = model.cost(usage)
            yield End(model=answered, usage=replace(usage, cost=cost), is_cut=finish in _CUT, searches=searches)

    async def count_tokens(self, question: str, parts: tuple[Part, ...], model: str) -> int:
        """Return the tokens by the API's counter; an estimate if it fails."""
        prompt = self._prompt(question, [part_text(part) for part in parts], ())
        try:
            async with self._client(await self.library(), COUNT_TIMEOUT_S) as client, self.failures():
                counted = await client.messages.count_tokens(model=model, **prompt)
        except AttemptError:
            return self.estimate(question, parts)
        return int(counted.input_tokens)

    def _client(self, library: Any, timeout_s: float) -> Any:
        return library.AsyncAnthropic(
            api_key=self.endpoint.key.value,
            base_url=self.endpoint.url,
            max_retries=0,
            timeout=library.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S),
            http_client=library.DefaultAsyncHttpxClient(**self.http_options),
            default_headers=self._headers(library),
        )

    def _headers(self, library: Any) -> dict[str, Any]:
        """Return headers that remove those of ANTHROPIC_CUSTOM_HEADERS, for other servers than Anthropic's."""
        if self.endpoint.url == self.provider.url:
            return {}
        names = (line.partition(":")[0].strip() for line in os.environ.get(_HEADERS, "").splitlines())
        return {name: library.Omit() for name in names if name}

    def _prompt(self, question: str, texts: list[str], marks: tuple[int, ...]) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
        for index in marks:
            blocks[index]["cache_control"] = {"type": "ephemeral"}
        blocks.append({"type": "text", "text": question_text(question)})
        return {"system": SYSTEM, "messages": [{"role": "user", "content": blocks}]}


def _add_counts(counts: dict[str, int], usage: Any) -> None:
    """Take the later counts, which are cumulative."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    counts.update({name: value for name in names if (value := getattr(usage, name, None)) is not None})


def _usage(counts: dict[str, int]) -> Usage:
    """Return the usage. The API's `input_tokens` are those that neither were read from a cache nor written to one."""
    cached = counts.get("cache_read_input_tokens", 0)
    cached_now = counts.get("cache_creation_input_tokens", 0)
    return Usage(
        sent=counts.get("input_tokens", 0) + cached + cached_now,
        cached=cached,
        cached_now=cached_now,
        written=counts.get("output_tokens", 0),
    )
