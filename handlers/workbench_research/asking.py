"""Ask the selected provider: its files are chosen here, its cost is limited, and its answer is checked and kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime import ToolError, estimate_tokens
from toolmason_runtime.programs import SearchPath

from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.scan import in_thread
from workbench_research import budget
from workbench_research.backends.attempt import ask_once
from workbench_research.backends.keys import is_loopback
from workbench_research.backends.models import Model
from workbench_research.backends.prompt_form import left_out_lines, left_out_text, notes_text
from workbench_research.backends.protocol import Backend, Options, Part
from workbench_research.backends.question import TIMEOUT_S, Answer, Question, Report, Usage
from workbench_research.backends.selection import GEMINI_CLI, Selected
from workbench_research.local_store import LocalStore, StoreError

if TYPE_CHECKING:
    from workbench_research.backends.ask import Slot
    from workbench_research.backends.retry import RetryConfig, RetryStatistics
    from workbench_research.context.choose import LeftOut
    from workbench_research.context.material import Files, Material
    from workbench_research.context.tags import TagCache

WINDOW: Final = "WORKBENCH_RESEARCH_WINDOW"
"""Tokens of files and question that are sent at most."""
DEFAULT_WINDOW: Final = 200_000
UNKNOWN_WINDOW: Final = 32_000
"""Tokens of a model that is not in the table, such as a local one."""
MIN_WINDOW: Final = 1_000
MAX_RESERVE: Final = 32_000
"""Maximum tokens of the window that stay free for the answer; a quarter of smaller windows."""
COUNT_SHARE: Final = 0.7
"""Share of the window above which the provider counts the tokens: estimates are not exact."""
EXPLORE_SHARE: Final = 0.25
"""Share of the window for the first files of a question that explores."""
_NAMES_IN_PROMPT: Final = 60
_NAMES_IN_ANSWER: Final = 50
"""Names in `meta.leftOut`. The caller pays for them; `dry_run` names all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Options of a call. `explores`: the model reads by itself, with our read-only tools."""

    fresh: bool = False
    dry_run: bool = False
    explores: bool = False
    temperature: float | None = None

    @classmethod
    def of(cls, params: Any) -> CallOptions:
        """Return those of a tool's parameters."""
        return cls(
            fresh=bool(getattr(params, "fresh", False)),
            dry_run=bool(getattr(params, "dry_run", False)),
            explores=getattr(params, "depth", "") == "explore",
            temperature=getattr(params, "temperature", None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to an API. `kind` is `flash` or `pro`; `directory` is the project, and `projects` all of them."""

    prompt: str = field(repr=False)
    kind: str
    directory: Path
    projects: tuple[Path, ...]
    files: Files | None = None
    options: CallOptions = CallOptions()
    searches_web: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a question is asked: retries, statistics, progress, and the cost of its call."""

    retry: RetryConfig
    statistics: RetryStatistics
    report: Report
    slot: Slot
    spending: budget.Spending
    once: Callable[[str, Callable[[], Awaitable[str]]], Awaitable[str]]
    """Does a piece of work once for equal keys in all processes of a server."""
    to_keep: list[Kept]
    """Answers to keep if the tool can use them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer for the local store."""

    store: LocalStore
    key: str
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Prepared:
    question: str = field(repr=False)
    parts: tuple[Part, ...]
    tokens: int
    models: tuple[str, ...]
    store: LocalStore | None
    key: str

    @property
    def size(self) -> int:
        """The tokens of the question with its files, estimated."""
        return self.tokens + estimate_tokens(self.question)


@dataclass(kw_only=True)
class Api:
    """The selected provider, with its backend and what was sent to it before. One for each server."""

    selected: Selected
    backend: Backend
    environ: Mapping[str, str] = field(repr=False)
    tags: TagCache | None = None
    sent: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, repr=False)

    async def ask(self, request: Request, asking: Asking) -> Answer:
        """Return the answer, or with `dry_run` what would be sent.

        Raises:
            ToolError: a file cannot be sent, a limit of the cost would be exceeded, or there is no answer.
        """
        models = self.selected.models(request.kind, self.environ)
        if request.searches_web and self.selected.provider.backend not in ("gemini", "anthropic", "gemini_cli"):
            step = "set WORKBENCH_RESEARCH to gemini, anthropic or gemini-cli"
            message = f"{self.selected.provider.title} cannot search the web: {step}"
            raise ToolError(message, code="AUTH_MISSING", details={"reason": "NO_WEB_SEARCH"})
        window = self._share(request, self._window(models) - estimate_tokens(request.prompt))
        material = await self._gather(request, models, window, asking.report)
        if request.options.dry_run:
            text = self._listing(material, models[0], explores=request.options.explores)
            return replace(_described(material), text=text, model=models[0])
        store = await asyncio.to_thread(LocalStore.of, self.environ, request.projects)
        key = self._key(models, _question(request, material.left_out), material.parts, request)
        # An exploring model reads files that are not in the key.
        answers = None if request.searches_web or request.options.explores else store
        if answers and not request.options.fresh and (kept := await _kept(answers, key)):
            described = _described(material)
            return replace(described, **kept, usage=Usage(cost=0.0), warnings=(*described.warnings, _kept_warning))
        material = await self._fit(request, models, material, window=window, store=store, asking=asking)
        question = _question(request, material.left_out)
        prepared = _Prepared(question, material.parts, material.tokens, models, store, key)
        left_out = material.left_out
        if request.options.explores and request.files:
            answer, left_out = await self._explore(request, request.files, prepared, left_out, asking)
        else:
            answer = await self._ask(request, prepared, asking)
        if request.files:
            self.sent[str(request.directory), models[0]] = tuple(part.digest for part in material.parts)
        if request.files and request.files.is_prose:
            answer = await asyncio.to_thread(_checked, answer, answer.parts or material.parts)
        if answers and not answer.is_cut:
            asking.to_keep.append(Kept(answers, key, answer))
        described = _described(replace(material, left_out=left_out))
        return replace(answer, left_out=described.left_out, warnings=(*described.warnings, *answer.warnings))

    def _share(self, request: Request, window: int) -> int:
        return max(MIN_WINDOW, round(window * (EXPLORE_SHARE if request.options.explores else 1.0)))

    async def _fit(
        self,
        request: Request,
        models: Sequence[str],
        material: Material,
        *,
        window: int,
        store: LocalStore | None,
        asking: Asking,
    ) -> Material:
        """Return the files of a question, fewer if the provider counts too many tokens.

        Its counter gets the files, so the limits of the cost are checked before.
        """
        if material.tokens < COUNT_SHARE * window:
            return material
        price = self._price(models, material.tokens + estimate_tokens(request.prompt))
        entry = await self._reserve(request, price, store, asking.spending)
        if entry and store:
            await asyncio.to_thread(_settle, store, entry, 0.0)
        limit = self._window(models)
        counted = await self.backend.count_tokens(request.prompt, material.parts, models[0])
        if counted <= limit:
            return material
        return await self._gather(request, models, round(window * 0.95 * limit / counted), asking.report)

    async def _reserve(
        self, request: Request, price: float | None, store: LocalStore | None, spending: budget.Spending
    ) -> int:
        limits, project = budget.Limits.of(self.environ), str(request.directory)
        return await asyncio.to_thread(budget.reserve, limits, store, project, price, spending, is_free=self._is_free)

    def _price(self, models: Sequence[str], size: int) -> float | None:
        """Return the price of the most expensive model that may be asked; None if that of the first is not known."""
        if self.selected.provider.local:
            return 0.0
        prices = [budget.estimate(self._model(model), size) for model in models]
        return None if prices[0] is None else max(price for price in prices if price is not None)

    @property
    def _is_free(self) -> bool:
        return self.selected.provider.local or is_loopback(self.selected.endpoint.url)

    async def _gather(self, request: Request, models: Sequence[str], window: int, report: Report) -> Material:
        from workbench_research.context.material import Material, gather
        from workbench_research.context.tags import TagCache

        files = request.files
        if files is None:
            return Material()
        self.tags = self.tags or TagCache()
        cache = self.tags
        if not files.about:
            files = replace(files, about=request.prompt)
        before = self.sent.get((str(request.directory), models[0]), ())
        material = await _in_thread(partial(gather, files, max(MIN_WINDOW, window), cache=cache, sent_before=before))
        if material.parts:
            await report(f"{len(material.parts):,} files chosen, about {material.tokens:,} tokens")
        return material

    def _window(self, models: Sequence[str]) -> int:
        """Return the tokens that can be sent to all of the models."""
        chosen = _number(self.environ, WINDOW)
        known = [model for name in models if (model := self.selected.provider.model(name)).window]
        window = min((model.window for model in known), default=chosen or UNKNOWN_WINDOW)
        reserve = min(MAX_RESERVE, window // 4)
        return min(window - reserve, chosen or DEFAULT_WINDOW)

    async def _ask(self, request: Request, prepared: _Prepared, asking: Asking) -> Answer:
        """Ask with retries, in one of the processes that are one server, within the limits of the cost."""
        from workbench_research.backends.ask import ask_with_retries

        limits = budget.Limits.of(self.environ)
        backend = self.backend
        if self.selected.provider.name == GEMINI_CLI:  # no directory of a project chooses the program
            backend = self.selected.backend(SearchPath.of(self.environ, request.projects).narrow(self.environ))
        question, parts, models, store = prepared.question, prepared.parts, prepared.models, prepared.store
        title = self.selected.provider.title

        async def attempt(model: str) -> Answer:
            known = self._model(model)
            budget.check_model(limits, known, asking.spending, is_free=self._is_free)
            options = Options(
                model=model,
                timeout_s=TIMEOUT_S,
                max_output=budget.max_output(known, prepared.size, limits, asking.spending),
                temperature=request.options.temperature,
                searches_web=request.searches_web,
            )
            async with asking.slot():
                return await ask_once(backend, question, parts, options, title=title, report=asking.report)

        asked: list[Answer] = []

        async def work() -> str:
            price = self._price(models, prepared.size)
            entry = await self._reserve(request, price, store, asking.spending)
            cost = 0.0
            try:
                asked.append(
                    await ask_with_retries(
                        Question(prompt=question, directory=request.directory, models=models),
                        attempt,
                        program=title,
                        retry=asking.retry,
                        statistics=asking.statistics,
                        report=asking.report,
                        environ=self.environ,
                    )
                )
                cost = price or 0.0 if asked[0].usage.cost is None else asked[0].usage.cost
            finally:
                if entry and store:
                    await asyncio.shield(asyncio.to_thread(_settle, store, entry, cost))
                asking.spending.dollars += cost
            model = self.selected.provider.model(asked[0].model)
            answer = replace(asked[0], has_temperature=model.temperature and self.backend.name != "anthropic")
            asked[0] = answer
            return json.dumps({**asdict(answer), "parts": ()})

        text = await asking.once(prepared.key, work)
        return asked[0] if asked else _parsed(text)

    async def _explore(
        self,
        request: Request,
        files: Files,
        prepared: _Prepared,
        left_out: tuple[LeftOut, ...],
        asking: Asking,
    ) -> tuple[Answer, tuple[LeftOut, ...]]:
        """Ask, and let the model search and read by itself, within the limits of calls, tokens and time.

        It reads the files that belong to the question, and no other. Return the answer, and what was left out of all.
        """
        from workbench_research.context.explore import (
            LAST,
            MAX_CALLS,
            MAX_ROUNDS,
            MAX_SECONDS,
            RULES,
            Explorer,
            find_calls,
        )

        whole, parts = replace(files, about=files.about or request.prompt), prepared.parts
        budget_tokens = self._window(prepared.models) - prepared.tokens - estimate_tokens(prepared.question)
        explorer = await in_thread(lambda scan: Explorer.over(whole, scan, parts=parts, budget=budget_tokens))
        started, usage, tokens, latency_ms, rounds = time.monotonic(), Usage(cost=0.0), 0, 0, 0
        while True:
            rounds += 1
            is_last = (
                rounds > MAX_ROUNDS
                or explorer.calls >= MAX_CALLS
                or explorer.budget <= 0
                or time.monotonic() - started > MAX_SECONDS
            )
            now = tuple(explorer.parts)
            read = {part.path for part in now[len(parts) :]}
            still = (*explorer.secrets.values(), *(entry for entry in left_out if entry.path not in read))
            question = _question(request, still, *explorer.notes, LAST if is_last else RULES)
            total = sum(estimate_tokens(part.text) for part in now)
            key = self._key(prepared.models, question, now, request)
            step = _Prepared(question, now, total, prepared.models, prepared.store, key)
            answer = await self._ask(request, step, asking)
            usage, tokens = usage + answer.usage, tokens + answer.tokens
            latency_ms += answer.latency_ms
            calls = [] if is_last else find_calls(answer.text)
            if not calls:
                counted: dict[str, Any] = {
                    "usage": usage,
                    "tokens": tokens,
                    "latency_ms": latency_ms,
                    "tool_calls": explorer.calls,
                }
                return replace(answer, parts=now, **counted), tuple(dict.fromkeys(still))
            for call in calls[: MAX_CALLS - explorer.calls]:
                done = await asyncio.to_thread(explorer.run, call)
                await asking.report(f"the model calls {done} ({explorer.calls} of {MAX_CALLS} calls)")

    def _key(self, models: Sequence[str], question: str, parts: Sequence[Part], request: Request) -> str:
        facts = [
            self.selected.provider.name,
            self.selected.endpoint.url,
            models,
            question,
            [(part.path, part.digest) for part in parts],
            request.options.temperature,
            request.options.explores,
            request.searches_web,
            str(request.directory),
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def _model(self, name: str) -> Model:
        return self.selected.provider.model(name)

    def _listing(self, material: Material, model: str, *, explores: bool) -> str:
        """Return what would be sent, as Markdown."""
        price = budget.estimate(self._model(model), material.tokens)
        answer = f"with an answer of {budget.EXPECTED_TOKENS:,} tokens"
        cost = "its price is not known" if price is None else f"about ${price:.4f} {answer}"
        to = f"{self.selected.provider.title} ({self.selected.endpoint.url or 'its own address'})"
        lines = [f"Nothing was sent. {len(material.parts):,} files, about {material.tokens:,} tokens, would go to {to}"]
        lines[0] += f", model {model}, {cost}."
        if material.parts:
            lines += ["", "Would be sent:", *(f"- {part.path}{' (lines)' * part.is_cut}" for part in material.parts)]
        if explores:
            lines += ["", "The model could also read files that did not fit, as often as its limits allow."]
        if material.left_out:
            lines += ["", "Would not be sent:", *(f"- {entry.path}: {entry.reason}" for entry in material.left_out)]
        return "\n".join(lines)

    async def aclose(self) -> None:
        """Delete what the provider keeps for later questions."""
        if delete := getattr(self.backend, "delete_caches", None):
            await delete()


async def _in_thread(work: Callable[[Any], Material]) -> Material:
    try:
        return await in_thread(work)
    except NotInstalledError as error:
        raise ToolError(error.message, code="INTERNAL", details={"reason": error.code}) from None


def _described(material: Material) -> Answer:
    """Return an answer without text, with what is known before it."""
    return Answer(
        text="",
        model="",
        left_out=tuple(left_out_lines(material.left_out, limit=_NAMES_IN_ANSWER)),
        warnings=material.warnings,
    )


def _checked(answer: Answer, parts: tuple[Part, ...]) -> Answer:
    """Correct the citations of an answer, or mark them."""
    from workbench_research.context.citations import check_citations

    checked = check_citations(answer.text, parts)
    corrected = sum(citation.status == "corrected" for citation in checked.citations)
    warnings = [
        *([f"{corrected} citations were corrected: their text is elsewhere"] if corrected else []),
        *([f"{len(checked.wrong)} citations are marked: they do not fit the sent lines"] if checked.wrong else []),
    ]
    return replace(answer, text=checked.text, warnings=(*answer.warnings, *warnings))


def _question(request: Request, left_out: Sequence[LeftOut], *notes: str) -> str:
    """Return the question with notes for the model, such as what was not sent."""
    notes_of_it = notes_text(left_out_text(left_out, limit=_NAMES_IN_PROMPT), *notes)
    return "\n\n".join(filter(None, (request.prompt, notes_of_it)))


_kept_warning: Final = "an equal question about equal files was answered before: `fresh` asks again"


async def _kept(store: LocalStore, key: str) -> dict[str, Any]:
    """Return the text, the model and the files of an earlier answer; empty if there is none."""
    try:
        kept = json.loads(await asyncio.to_thread(store.answer, key) or "{}")
        return {**kept, "files": tuple(kept["files"])} if kept else {}
    except (StoreError, ValueError, KeyError, TypeError):
        return {}


async def keep(kept: Kept) -> None:
    """Keep an answer for equal questions about equal files."""
    from workbench_research.redaction import redact_known

    (text,) = redact_known([kept.answer.text], os.environ)
    value = json.dumps({"text": text, "model": kept.answer.model, "files": kept.answer.files})
    try:
        await asyncio.to_thread(kept.store.keep, kept.key, value)
    except StoreError:  # the next equal question is asked again
        return


def _settle(store: LocalStore, entry: int, dollars: float) -> None:
    try:
        store.settle(entry, dollars)
    except StoreError:  # the estimate stays
        return


def _parsed(text: str) -> Answer:
    """Return the answer of another process.

    Raises:
        ToolError: another program has written it.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Answer).validate_json(text)
    except ValidationError:
        raise ToolError("the answer of another process cannot be read: send the call again", code="INTERNAL") from None


def _number(environ: Mapping[str, str], name: str) -> int:
    """Return a positive number of a setting; 0 if it is not set or invalid."""
    text = environ.get(name, "").strip().replace("_", "").replace(",", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
