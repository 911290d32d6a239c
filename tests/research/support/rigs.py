"""A stub of each API, a backend that asks it, and a question with retries."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from provider_apis import AnthropicApi, BedrockApi, GeminiApi, ModelApi, OpenAIApi
from toolmason_runtime import ToolError

from workbench_research.backends.attempt import ask_once
from workbench_research.backends.keys import RESEARCH, URL, URL_KEY
from workbench_research.backends.protocol import Backend, Options, Part
from workbench_research.backends.selection import choose
from workbench_research.model_backends.ask import ask_with_retries
from workbench_research.model_backends.question import Answer, Question
from workbench_research.model_backends.retry import RetryConfig, RetryStatistics

KEY = "rig-key-0123456789abcdef"
APIS: dict[str, type[ModelApi]] = {
    "gemini": GeminiApi,
    "anthropic": AnthropicApi,
    "openai": OpenAIApi,
    "bedrock": BedrockApi,
}
MODELS = {
    "gemini": ("gemini-2.5-flash", "gemini-2.5-pro"),
    "anthropic": ("claude-haiku-4-5", "claude-sonnet-5-5"),
    "openai": ("gpt-6-luna", "gpt-5.6-luna"),
    "bedrock": ("global.anthropic.claude-sonnet-5-5", "global.anthropic.claude-opus-5-5"),
}


def part(path: str, text: str) -> Part:
    return Part(path=path, text=text, digest=hashlib.sha256(text.encode()).hexdigest())


@dataclass
class Rig:
    name: str
    api: ModelApi
    backend: Backend
    environ: dict[str, str]
    retry: RetryConfig = field(default_factory=lambda: RetryConfig(jitter=False))
    timeout_s: float = 240.0  # a first import is slow on a busy machine
    max_output: int = 0
    temperature: float | None = None
    waits: list[float] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)

    @property
    def models(self) -> tuple[str, ...]:
        return MODELS[self.name]

    def answer(self, question: str = "Why?", *parts: Part, models: tuple[str, ...] = ()) -> Answer:
        return asyncio.run(self.ask(question, *parts, models=models))

    def error(self, question: str = "Why?", *parts: Part, models: tuple[str, ...] = ()) -> ToolError:
        with pytest.raises(ToolError) as raised:
            self.answer(question, *parts, models=models)
        return raised.value

    async def ask(self, question: str = "Why?", *parts: Part, models: tuple[str, ...] = ()) -> Answer:
        async def attempt(model: str) -> Answer:
            self.tried.append(model)
            options = Options(
                model=model, timeout_s=self.timeout_s, max_output=self.max_output, temperature=self.temperature
            )
            return await ask_once(self.backend, question, parts, options, title=self.name, report=report)

        async def report(text: str) -> None:
            self.reports.append(text)

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        wanted = Question(prompt=question, directory=Path("/"), models=models or self.models[:1])
        how: dict[str, Any] = {"retry": self.retry, "statistics": RetryStatistics(), "report": report, "sleep": sleep}
        return await ask_with_retries(wanted, attempt, program=self.name, environ=self.environ, **how)


def start_rig(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):  # nothing may leave this machine
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with APIS[name]() as api:
        environ = {RESEARCH: name, URL: api.url, URL_KEY: KEY}
        backend = choose(environ).backend(environ)
        yield Rig(name, api, backend, environ)
        assert api.problems == []
