"""Amazon Bedrock, with the Converse API of botocore: one interface for the models of all vendors.

The bedrock client of Anthropic's library would have the same streams as `anthropic`, but only its own models. botocore
blocks, so each step runs in a thread.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio.to_thread

from workbench_research.backends.breakpoints import Breakpoints
from workbench_research.backends.connection import CONNECT_TIMEOUT_S, Connection
from workbench_research.backends.failures import blocked, broken
from workbench_research.backends.keys import is_loopback
from workbench_research.backends.prompt import SYSTEM, part_text, question_text
from workbench_research.backends.protocol import End, Event, Options, Part, Text
from workbench_research.backends.question import Usage

REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
"""Variables of the region."""
DEFAULT_REGION: Final = "us-east-1"

_CUT: Final = {"max_tokens", "model_context_window_exceeded"}
_BLOCKED: Final = {"guardrail_intervened", "content_filtered"}
_CACHING_MODELS: Final = ("anthropic.", "amazon.nova")
"""Parts of the names of models that take marks of a cache; others refuse the request."""


@dataclass(kw_only=True)
class BedrockBackend(Connection):
    """Converse with streaming: each file is a block, followed by a mark where a cached prefix ends."""

    breakpoints: Breakpoints = field(default_factory=Breakpoints, repr=False)

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self.provider.name

    async def ask(self, question: str, parts: tuple[Part, ...], options: Options) -> AsyncGenerator[Event]:
        """Send the question once; see `Backend`."""
        texts = [part_text(part) for part in parts]
        can_cache = any(name in options.model for name in _CACHING_MODELS)
        marks = self.breakpoints.choose(texts) if can_cache else ()
        request = self._request(question, texts, marks, options)
        finish, stream = "", None
        counts: dict[str, int] = {}
        await self.library()
        client = await anyio.to_thread.run_sync(self._client, options.timeout_s)
        try:
            async with self.failures():
                response = await anyio.to_thread.run_sync(
                    lambda: client.converse_stream(**request), abandon_on_cancel=True
                )
                self.breakpoints.remember(texts, marks)
                stream = response["stream"]
                events = iter(stream)
                while (event := await anyio.to_thread.run_sync(_next, events, abandon_on_cancel=True)) is not None:
                    if text := event.get("contentBlockDelta", {}).get("delta", {}).get("text"):
                        yield Text(text)
                    finish = event.get("messageStop", {}).get("stopReason", finish)
                    counts = event.get("metadata", {}).get("usage", counts)
                if not finish:
                    raise broken(self.provider.title)
                if finish in _BLOCKED:
                    raise blocked(self.provider.title, finish)
        finally:
            if stream is not None:
                stream.close()
            client.close()
        usage = _usage(counts)
        cost = self.provider.model(options.model).cost(usage)
        yield End(model=options.model, usage=replace(usage, cost=cost), is_cut=finish in _CUT)

    async def count_tokens(self, question: str, parts: tuple[Part, ...], model: str) -> int:  # noqa: ARG002  one interface
        """Return an estimate: the API counts only for some models, and not for inference profiles."""
        return self.estimate(question, parts)

    def _client(self, timeout_s: float) -> Any:
        import botocore.session
        from botocore.config import Config
        from botocore.tokens import FrozenAuthToken

        _silence()
        # Without AWS_PROFILE, whose settings may name other credentials.
        session = botocore.session.Session(session_vars={"profile": (None, [], None, None)})
        region = next((value for name in REGIONS if (value := self.environ.get(name))), DEFAULT_REGION)
        key, url = self.endpoint.key, self.endpoint.url
        if key.variable == "AWS_SECRET_ACCESS_KEY":
            access, token = self.environ.get("AWS_ACCESS_KEY_ID", "none"), self.environ.get("AWS_SESSION_TOKEN") or None
            session.set_credentials(access, key.value, token)
            signature = "v4"  # otherwise AWS_BEARER_TOKEN_BEDROCK would have priority
        elif url.startswith("http:"):
            # A server on this machine without encryption gets a signature: botocore sends it no token.
            session.set_credentials("none", key.value)
            signature = "v4"
        else:
            session.set_credentials("none", "none")  # otherwise botocore looks for some in the network
            session.register_component("token_provider", _Token(FrozenAuthToken(key.value)))
            signature = "bearer"
        config = Config(
            retries={"total_max_attempts": 1},
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=max(timeout_s, 0.1),
            ignore_configured_endpoint_urls=True,
            proxies={} if is_loopback(url) else None,
            signature_version=signature,
        )
        return session.create_client("bedrock-runtime", region_name=region, endpoint_url=url or None, config=config)

    def _request(self, question: str, texts: list[str], marks: tuple[int, ...], options: Options) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = []
        for index, text in enumerate(texts):
            blocks.append({"text": text})
            if index in marks:
                blocks.append({"cachePoint": {"type": "default"}})
        blocks.append({"text": question_text(question)})
        inference: dict[str, Any] = {}
        if options.max_output:
            inference["maxTokens"] = options.max_output
        if (temperature := self.temperature(options)) is not None:
            inference["temperature"] = temperature
        return {
            "modelId": options.model,
            "system": [{"text": SYSTEM}],
            "messages": [{"role": "user", "content": blocks}],
            "inferenceConfig": inference,
        }


@dataclass
class _Token:
    """The token provider of botocore, with a fixed token."""

    token: Any = field(repr=False)

    def load_token(self, **_options: Any) -> Any:
        return self.token


def _silence() -> None:
    """Stop the debug records of botocore: they contain headers with the key, the files, and the server's answers."""
    for name in ("botocore", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "botocore":
            logger = logging.getLogger(name)
            if logger.getEffectiveLevel() < logging.INFO:
                logger.setLevel(logging.INFO)


def _next(events: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    return next(events, None)


def _usage(counts: dict[str, int]) -> Usage:
    """Return the usage. The API's `inputTokens` are those that neither were read from a cache nor written to one."""
    cached, cached_now = counts.get("cacheReadInputTokens", 0), counts.get("cacheWriteInputTokens", 0)
    return Usage(
        sent=counts.get("inputTokens", 0) + cached + cached_now,
        cached=cached,
        cached_now=cached_now,
        written=counts.get("outputTokens", 0),
    )
