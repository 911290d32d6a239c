"""State that the research tools of one server share: running operations, retries and statistics.

The lifespan imports this module for every tool, so it imports the packages of a question when one is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import SearchPath

from workbench_research.logs import record
from workbench_research.operations import (
    HANDOVER_S,
    LINGER_S,
    WAIT_S,
    Operation,
    Operations,
    StillRunningError,
)
from workbench_research.packages import require_for_questions
from workbench_research.progress import HEARTBEAT_INTERVAL_S, progress_reporter
from workbench_research.slots import MAX_PROGRAMS

if TYPE_CHECKING:
    from workbench_research.asking import Api, Asking, Kept
    from workbench_research.backends.question import Answer, Report
    from workbench_research.backends.retry import RetryConfig, RetryStatistics
    from workbench_research.budget import Spending
    from workbench_research.context.material import Files

LINGER_VARIABLE: Final = "WORKBENCH_LINGER_SECONDS"
"""Seconds that an operation continues after its last caller left."""
WAIT_VARIABLE: Final = "WORKBENCH_WAIT_SECONDS"
"""Seconds after which a call returns STILL_RUNNING; 0: it waits for the answer."""
MAX_PROGRAMS_VARIABLE: Final = "WORKBENCH_MAX_PROGRAMS"
"""Number of programs that may run at the same time."""
MAX_SECONDS: Final = 3600.0
PROGRAM_LIMIT: Final = 1000
"""Maximum value of `WORKBENCH_MAX_PROGRAMS`."""

_LOGGED_ARGUMENTS: Final = frozenset(
    (
        "citationMode",
        "directory",
        "focus",
        "group_by",
        "path",
        "pattern_type",
        "responseStyle",
        "return_format",
        "scope",
    )
) | {"prompt"}
"""Arguments that are logged as they are: choices, and paths in the project. The log replaces a `prompt` by its length.
"""

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class AskAbout(Protocol):
    """Asks the model a prompt about the directory of the current call."""

    async def __call__(self, prompt: str, files: Files | None = None) -> Answer:
        """Ask with the files that are sent with the prompt."""


@dataclass
class Research:
    """The state of the research tools of one server."""

    operations: Operations = field(
        default_factory=lambda: Operations(
            linger_s=seconds_setting(LINGER_VARIABLE, LINGER_S),
            max_programs=max_programs(),
            wait_s=seconds_setting(WAIT_VARIABLE, WAIT_S),
        )
    )
    heartbeat_s: float = HEARTBEAT_INTERVAL_S
    """Seconds without progress after which a client receives a heartbeat."""
    _api: Api | None = field(default=None, init=False)

    async def api(self, projects: Iterable[Path]) -> Api:
        """Return the provider that is asked, with its one backend. No directory of `projects` chooses a program.

        Raises:
            ToolError: nothing can be asked.
        """
        if self._api is None:
            from workbench_research.asking import Api
            from workbench_research.backends.selection import select

            environ = SearchPath.of(os.environ, projects).narrow(os.environ)
            selected = await asyncio.to_thread(select, environ)
            self._api = self._api or Api(selected=selected, backend=selected.backend(environ), environ=environ)
        return self._api

    @cached_property
    def retry(self) -> RetryConfig:
        """The retry settings."""
        from workbench_research.backends.retry import RetryConfig

        return RetryConfig.from_environ(os.environ)

    @cached_property
    def statistics(self) -> RetryStatistics:
        """Results of all questions since the server started."""
        from workbench_research.backends.retry import RetryStatistics

        return RetryStatistics()

    async def run_shared(
        self,
        call: ToolCall,
        params: Any,
        directory: Path,
        do: Callable[[AskAbout, Report], Awaitable[Result]],
        *,
        kind: str,
        projects: Iterable[Path],
        searches_web: bool = False,
        is_usable: Callable[[Result], bool] = lambda _: True,
    ) -> tuple[Result, Operation]:
        """Run `do` once for all identical simultaneous calls; return its result and the operation.

        `projects` are the readable directories, including `directory`. With `searches_web` the model may search the web
        and reads no file. Answers are kept for equal questions if the result `is_usable`.

        Raises:
            ToolError: as `do`, a required package is missing, or the operation exceeds the time of one call.
        """
        require_for_questions()
        from workbench_research.asking import CallOptions, Request, keep
        from workbench_research.backends.keys import URL_KEY
        from workbench_research.budget import Spending

        record(_log, logging.INFO, "called", tool=call.tool, directory=str(directory), arguments=_loggable(params))

        async def begin(operation: Operation) -> tuple[Result, Operation]:
            record(_log, logging.INFO, "started", tool=call.tool, operation=operation.id)

            spending = Spending()
            to_keep: list[Kept] = []

            async def ask(prompt: str, files: Files | None = None) -> Answer:
                request = Request(
                    prompt=prompt,
                    kind=kind,
                    directory=directory,
                    projects=tuple(projects),
                    files=files,
                    options=CallOptions.of(params),
                    searches_web=searches_web,
                )
                api = await self.api(projects)
                answer = await api.ask(request, self._asking(call, operation, spending, to_keep))
                return _without_secrets(answer, {**os.environ, URL_KEY: api.selected.endpoint.key.value})

            result = await do(ask, operation.report)
            if is_usable(result):
                for kept in to_keep:
                    await keep(kept)
            return result, operation

        async with progress_reporter(call, interval_s=self.heartbeat_s) as report:
            try:
                key = _key(call.tool, params, directory)
                return await self.operations.join_or_start(key, call.tool, begin, report, is_task=lambda: call.is_task)
            except StillRunningError as error:
                raise _still_running_error(error.operation) from None

    def _asking(self, call: ToolCall, operation: Operation, spending: Spending, to_keep: list[Kept]) -> Asking:
        from workbench_research.asking import Asking

        async def once(key: str, work: Callable[[], Awaitable[str]]) -> str:
            return await call.once(key, work, keep_s=HANDOVER_S, on_wanted=operation.want)

        return Asking(
            retry=self.retry,
            statistics=self.statistics,
            report=operation.report,
            slot=lambda: self.operations.acquire_slot(operation),
            spending=spending,
            once=once,
            to_keep=to_keep,
        )

    async def aclose(self) -> None:
        """End all operations, and delete what a provider keeps for later questions."""
        await self.operations.aclose()
        if self._api is not None:
            await self._api.aclose()


def _without_secrets(answer: Answer, environ: Mapping[str, str]) -> Answer:
    """Redact the server's own keys: a model can quote a project's `.env` file that contains them."""
    from workbench_research.redaction import redact_known

    text, model, *files = redact_known((answer.text, answer.model, *answer.files), environ)
    return replace(answer, text=text, model=model, files=tuple(files))


def _loggable(params: Any) -> dict[str, Any]:
    """Return the arguments of a call for the log: choices as they are, texts as their length."""
    arguments: dict[str, Any] = {}
    for name, value in params.model_dump(mode="json", by_alias=True, exclude_none=True).items():
        if isinstance(value, str) and name not in _LOGGED_ARGUMENTS:
            arguments[name] = f"{len(value):,} characters"
        else:
            arguments[name] = f"{len(value):,} items" if isinstance(value, list) else value
    return arguments


def _key(tool: str, params: Any, directory: Path) -> str:
    arguments = params.model_dump(mode="json", by_alias=True)
    text = json.dumps([tool, str(directory), arguments], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _still_running_error(operation: Operation) -> ToolError:
    message = (
        f"No answer yet after {operation.age_s:.0f} s; the operation continues. Repeat the call with the same "
        "arguments now: it joins the running operation at no extra cost"
    )
    details = {"operationId": operation.id, "progress": operation.last_progress}
    return ToolError(message, code="STILL_RUNNING", details=details)


def seconds_setting(variable: str, default: float) -> float:
    """Return the seconds in an environment variable; an invalid value is logged, and replaced by `default`."""
    try:
        seconds = float(os.environ.get(variable, "").strip() or default)
    except ValueError:
        seconds = math.nan
    if 0 <= seconds <= MAX_SECONDS:
        return seconds
    _log.warning("%s must be a number of seconds from 0 to %.0f; using %.0f", variable, MAX_SECONDS, default)
    return default


def max_programs() -> int:
    """Return the value of `WORKBENCH_MAX_PROGRAMS`; an invalid value is logged, and replaced by the default."""
    text = os.environ.get(MAX_PROGRAMS_VARIABLE, "").strip() or str(MAX_PROGRAMS)
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(PROGRAM_LIMIT)) else 0
    if 1 <= number <= PROGRAM_LIMIT:
        return number
    _log.warning("%s must be a number from 1 to %d; using %d", MAX_PROGRAMS_VARIABLE, PROGRAM_LIMIT, MAX_PROGRAMS)
    return MAX_PROGRAMS
