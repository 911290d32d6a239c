"""What the research tools share while the server lives: what is going on, what is kept, what went wrong so far."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.answers.store import VARIABLE as STORE
from workbench_handlers.answers.store import open_store
from workbench_handlers.model_backends.logs import record
from workbench_handlers.model_backends.question import Answer, Ask, Question, Report
from workbench_handlers.research.operations import LINGER_S, WAIT_S, Operation, Operations, StillRunningError
from workbench_handlers.research.progress import SIGN_OF_LIFE_S, telling
from workbench_handlers.research.slots import MAX_PROGRAMS
from workbench_handlers.workspace.packages import require_for_questions

if TYPE_CHECKING:
    from workbench_handlers.answers.store import AnswerStore
    from workbench_handlers.doctor.health import StoreHealth
    from workbench_handlers.model_backends.retrying import RetryConfig, RetryStatistics

LINGER: Final = "WORKBENCH_LINGER_SECONDS"
"""Environment variable with the seconds that work goes on when nobody waits for it any more."""
MAX_LINGER_S: Final = 3600.0
WAIT: Final = "WORKBENCH_WAIT_SECONDS"
"""Environment variable with the seconds after which one call is told to come back; 0: it waits as long as it takes."""
PROGRAMS: Final = "WORKBENCH_MAX_PROGRAMS"
"""Environment variable with how many programs may run at the same time."""
MAX_MOST_PROGRAMS: Final = 1000

FLASH: Final = ("gemini-3-flash-preview", "gemini-2.5-flash", "")
PRO: Final = ("gemini-3-pro-preview", "gemini-2.5-pro", "")
MODELS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "flash": ("WORKBENCH_FLASH_MODELS", FLASH),
    "pro": ("WORKBENCH_PRO_MODELS", PRO),
}
"""The environment variable of each kind of model, and what is tried in its absence; empty leaves it to the program.

Appendix A of the specification of the research proxy.
"""

_LOGGED: Final = frozenset(
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
"""Arguments whose text is no question: names, and places in the project. Of a `prompt` the log itself tells the length.
"""

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


def models(kind: str, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Give the models to try in order, for `flash` or `pro`: names between commas, `auto` for the program's choice."""
    variable, default = MODELS[kind]
    said = (os.environ if environ is None else environ).get(variable, "")
    names = tuple(dict.fromkeys("" if name == "auto" else name for each in said.split(",") if (name := each.strip())))
    return names or default


@dataclass
class Research:
    """One for each server."""

    operations: Operations = field(
        default_factory=lambda: Operations(linger_s=linger(), most_programs=most_programs(), wait_s=wait())
    )
    sign_of_life_s: float = SIGN_OF_LIFE_S
    """Seconds of silence after which a client is told that work goes on."""

    @cached_property
    def retry(self) -> RetryConfig:
        """How often what failed is tried again."""
        from workbench_handlers.model_backends.retrying import RetryConfig

        return RetryConfig.from_environ(os.environ)

    @cached_property
    def statistics(self) -> RetryStatistics:
        """What became of all questions since the server was started."""
        from workbench_handlers.model_backends.retrying import RetryStatistics

        return RetryStatistics()

    @cached_property
    def store(self) -> AnswerStore:
        """Where long answers wait to be fetched."""
        require_for_questions()
        return open_store(os.environ.get(STORE, ""))

    async def store_health(self) -> StoreHealth:
        """Say which store it is, and whether it answers."""
        from workbench_handlers.doctor.health import StoreHealth

        kind = "redis" if os.environ.get(STORE, "").strip() else "memory"
        try:
            problem = await self.store.check()
        except ToolError as error:
            problem = f"long answers cannot be kept, as {error.message}"
        return StoreHealth(kind=kind, is_reachable=not problem, problem=problem)

    async def ask(self, question: Question, operation: Operation, projects: Iterable[Path]) -> Answer:
        """Ask the program, which none of `projects` may choose, with its retries and models.

        Raises:
            ToolError: there is no program, or no answer.
        """
        from workbench_handlers.model_backends.adapters import adapter_for
        from workbench_handlers.model_backends.asking import ask
        from workbench_handlers.model_backends.choice import without_projects
        from workbench_handlers.model_backends.probing import find

        program = await find(without_projects(os.environ, projects))
        answer = await ask(
            question,
            adapter=adapter_for(program),
            program=program,
            retry=self.retry,
            statistics=self.statistics,
            report=operation.report,
            place=lambda: self.operations.place(operation),
        )
        return _without_secrets(answer)

    async def work(
        self,
        call: ToolCall,
        params: Any,
        folder: Path,
        do: Callable[[Ask, Report], Awaitable[Result]],
        *,
        kind: str,
        projects: Iterable[Path],
    ) -> tuple[Result, Operation]:
        """Do what a tool does once for all who ask the same while it goes on; give its result, and which work it was.

        `projects` are the folders that may be read, of which `folder` is one.

        Raises:
            ToolError: as `do`, or a package is missing without which no answer could be given, or the work goes on
                longer than one call may take.
        """
        require_for_questions()

        record(_log, logging.INFO, "called", tool=call.tool, folder=str(folder), arguments=_loggable(params))

        async def begin(operation: Operation) -> tuple[Result, Operation]:
            record(_log, logging.INFO, "began", tool=call.tool, operation=operation.id)

            async def asked(prompt: str) -> Answer:
                question = Question(prompt=prompt, folder=folder, models=models(kind))
                return await self.ask(question, operation, projects)

            return await do(asked, operation.report), operation

        async with telling(call, every_s=self.sign_of_life_s) as report:
            try:
                return await self.operations.share(_key(call.tool, params, folder), call.tool, begin, report)
            except StillRunningError as error:
                raise _still_running(error.operation) from None

    async def aclose(self) -> None:
        """End what goes on, and let go of what is kept."""
        await self.operations.aclose()
        if "store" in self.__dict__:
            await self.store.aclose()


def _without_secrets(answer: Answer) -> Answer:
    """Hide the server's own keys: a project's `.env` may hold them, and a model that reads it may quote it."""
    from workbench_handlers.model_backends.redaction import secrets_hidden

    text, model = secrets_hidden((answer.text, answer.model), os.environ)
    files, refused, ignored = (
        tuple(secrets_hidden(each, os.environ)) for each in (answer.files, answer.refused, answer.ignored)
    )
    return replace(answer, text=text, model=model, files=files, refused=refused, ignored=ignored)


def _loggable(params: Any) -> dict[str, Any]:
    """Give the arguments of a call as they may be logged: what was chosen, and of what was written only how much."""
    told: dict[str, Any] = {}
    for name, value in params.model_dump(mode="json", by_alias=True, exclude_none=True).items():
        if isinstance(value, str) and name not in _LOGGED:
            told[name] = f"{len(value):,} characters"
        else:
            told[name] = f"{len(value):,} items" if isinstance(value, list) else value
    return told


def _key(tool: str, params: Any, folder: Path) -> str:
    asked = params.model_dump(mode="json", by_alias=True)
    text = json.dumps([tool, str(folder), asked], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _still_running(operation: Operation) -> ToolError:
    message = (
        f"No answer yet after {operation.age_s:.0f} s, and the work goes on: call again with the same arguments at "
        "once. The call continues where it is; nothing is asked or paid for twice"
    )
    return ToolError(message, code="STILL_RUNNING", details={"operationId": operation.id, "progress": operation.said})


def linger() -> float:
    """Read how long work lingers; in place of what is no number of seconds the default, which is logged."""
    return _seconds(LINGER, LINGER_S)


def wait() -> float:
    """Read how long one call waits; in place of what is no number of seconds the default, which is logged."""
    return _seconds(WAIT, WAIT_S)


def _seconds(variable: str, default: float) -> float:
    said = os.environ.get(variable, "").strip()
    try:
        seconds = float(said or default)
    except ValueError:
        seconds = math.nan
    if 0 <= seconds <= MAX_LINGER_S:
        return seconds
    _log.warning("%s is no number of seconds from 0 to %.0f: %.0f is used", variable, MAX_LINGER_S, default)
    return default


def most_programs() -> int:
    """Read how many programs may run at once; in place of what is no such number the default, which is logged."""
    said = os.environ.get(PROGRAMS, "").strip() or str(MAX_PROGRAMS)
    if said.isascii() and said.isdecimal() and len(said) <= len(str(MAX_MOST_PROGRAMS)):
        number = int(said)
        if 1 <= number <= MAX_MOST_PROGRAMS:
            return number
    _log.warning("%s is no number from 1 to %d: %d is used", PROGRAMS, MAX_MOST_PROGRAMS, MAX_PROGRAMS)
    return MAX_PROGRAMS
