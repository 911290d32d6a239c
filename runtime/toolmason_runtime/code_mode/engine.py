"""Run programs: the interpreter asks for the value of each call, and the dispatcher answers.

The interpreter runs in a process of its own without files, network and environment. It stops at each call; its state
can be stored there and loaded by another process.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolmason_runtime.audit.calls import DENIALS
from toolmason_runtime.calls import outcome
from toolmason_runtime.calls.call import Context, InputRequired
from toolmason_runtime.calls.principal import identity_of
from toolmason_runtime.code_mode import limits
from toolmason_runtime.code_mode.check import PROGRAM_ERROR, Program, parse, refusal, typing_mistakes, unknown_name
from toolmason_runtime.code_mode.person import CallContext, ask, call_text, is_approval
from toolmason_runtime.code_mode.source import Source
from toolmason_runtime.code_mode.suspended import Suspended, SuspendedPrograms, Waiting, id_of, new_id
from toolmason_runtime.code_mode.values import error_text, text_of, value_of
from toolmason_runtime.discovery.annotations import is_read_only
from toolmason_runtime.discovery.functions import Functions
from toolmason_runtime.discovery.python_types import parameters_of
from toolmason_runtime.shared.answer_size import size_of, text_budget
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import MethodError, ToolError
from toolmason_runtime.shared.extras import CODE, missing_extra
from toolmason_runtime.wire.foreign import neutral_result
from toolmason_runtime.wire.results import WireResult

if TYPE_CHECKING:
    from pydantic_monty import AsyncFunctionSnapshot, AsyncMonty, AsyncMontySession, AsyncSnapshot
    from toolmason_runtime.calls.text_store import KeptText

NOT_APPROVED: Final = "NOT_APPROVED"
UNAVAILABLE: Final = "APPROVAL_UNAVAILABLE"
_SLEEP: Final = "system.sleep"
_ASYNC_SLEEP: Final = "system.async_sleep"
_NOTE_SIZE: Final = 600
"""Size reserved for the line after a part of a long answer."""
_MAX_CODE: Final = 60
"""Characters of an error code."""


class Tools(Protocol):
    """The tools of a server, as programs call them."""

    @property
    def functions(self) -> Functions:
        """The functions of programs."""
        ...

    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        """Call a tool, as a client does."""
        ...

    def problem(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with arguments; empty if they are valid."""
        ...

    async def keep(self, text: str, *, max_part_bytes: int | None = None) -> KeptText:
        """See `ToolCall.keep`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call of a meta-tool that runs programs. `wait_s` is how long it may wait for a person; see `ToolCall`."""

    code: str
    resume: str
    timeout_s: int
    meta: str
    only_reads: bool
    writer: str
    """Name of the meta-tool for programs that write."""
    context: Context
    wait_s: float


class Programs:
    """Runs the programs of one server.

    Args:
        tools: the tools of the server.
        suspended: where programs wait for a person.
    """

    def __init__(self, tools: Tools, suspended: SuspendedPrograms) -> None:
        self._tools = tools
        self._suspended = suspended
        self._pool: AsyncMonty | None = None
        self._opening = asyncio.Lock()

    async def run(self, request: Request) -> WireResult:
        """Run a program, or resume one; return what it printed, and its value.

        Raises:
            InputRequired: the client must answer a question first (2026-07-28). The program is stored.
            ToolError: the program has mistakes, no such program waits, or the extra `code` is missing.
        """
        if problem := missing_extra("the discovery style `code`", CODE):
            raise ToolError(problem, code="MISSING_EXTRA")
        identity = request.resume or _answered_program(request.context)
        stored = await self._suspended.take(identity, owner_of(request.context)) if identity else None
        if stored is not None and request.only_reads and not stored.only_reads:
            await self._suspended.save(stored)
            raise ToolError(f"this program may write: resume it with `{request.writer}`", code="NOT_READ_ONLY")
        code, only_reads = (request.code, request.only_reads) if stored is None else (stored.code, stored.only_reads)
        program = parse(
            code,
            self._tools.functions,
            only_reads=request.writer if only_reads else "",
            check=(lambda entry, arguments: self._tools.problem(entry["tool"]["name"], arguments))
            if stored is None
            else (lambda _entry, _arguments: ""),
        )
        execution = _Execution(self._tools, self._suspended, program, request, only_reads=only_reads, stored=stored)
        return await self._answer(execution)

    async def aclose(self) -> None:
        """End the processes of the interpreter."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def _opened(self) -> AsyncMonty:
        async with self._opening:
            if self._pool is None:
                from pydantic_monty import AsyncMonty

                pool = AsyncMonty(min_processes=1, max_processes=limits.WORKERS, request_timeout=limits.TURN_S)
                self._pool = await pool.__aenter__()
            return self._pool

    async def _answer(self, execution: _Execution) -> WireResult:
        from pydantic_monty import MontyError

        try:
            value = await execution.run(await self._opened())
        except _PendingError as pending:
            return await self._result(execution, execution.pending_text(pending.reason), is_error=False)
        except _EndedError as ended:
            return await self._result(execution, ended.message, is_error=True)
        except MontyError as error:
            return await self._result(execution, execution.failure_text(error), is_error=True)
        except TimeoutError:
            text = f"The program took more than {execution.timeout_s} s, and was ended: set timeout_s, or do less."
            return await self._result(execution, text, is_error=True)
        return await self._result(execution, text_of(value), is_error=False)

    async def _result(self, execution: _Execution, text: str, *, is_error: bool) -> WireResult:
        """Return the output of a program, and the text after it, within the size of one answer."""
        output = "".join(execution.output)
        if is_error and (written := execution.written_text()):
            text = f"{text}\nCalls that wrote before: {written}. They are not undone."
        answer = "\n".join(filter(None, [output.rstrip("\n"), text])) or "(no output: end the program with a value)"
        notes = [{"type": "text", "text": note} for note in dict.fromkeys(execution.notes)]
        if size_of(answer) > text_budget():
            kept = await self._tools.keep(answer, max_part_bytes=text_budget() - _NOTE_SIZE)
            answer = kept.first
            if kept.total > 1:
                notes.append({"type": "text", "text": f"[part 1 of {kept.total}: {kept.next_call} returns the next]"})
        result: WireResult = {"content": [{"type": "text", "text": answer}, *notes]}
        # It may contain texts of other programs and machines.
        return neutral_result(result | {"isError": True} if is_error else result)


class _PendingError(Exception):
    """The program waits for a person; it is stored."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _EndedError(Exception):
    """The program may not go on. It cannot catch this."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(slots=True)
class _Settled:
    """The answer to one call for the interpreter; `waiting` instead if a person must decide first."""

    value: dict[str, Any]
    waiting: Waiting | None = None
    ended: str = ""
    has_run: bool = True
    """Whether the tool may have had an effect."""


class _Execution:
    """One program, from its start or from where it was suspended."""

    def __init__(
        self,
        tools: Tools,
        suspended: SuspendedPrograms,
        program: Program,
        request: Request,
        *,
        only_reads: bool,
        stored: Suspended | None,
    ) -> None:
        self._tools = tools
        self._suspended = suspended
        self._program = program
        self._request = request
        self._only_reads = only_reads
        self._stored = stored
        self._id = stored.id if stored else new_id()
        self.timeout_s = stored.timeout_s if stored else request.timeout_s
        self.output: list[str] = [stored.output] if stored else []
        self.notes: list[str] = list(stored.notes) if stored else []
        self.done: list[str] = list(stored.done) if stored else []
        self._printed = sum(map(len, self.output))
        self._waiting: dict[int, Waiting] = {each.call: each for each in stored.waiting} if stored else {}
        self._requested: dict[int, Waiting] = dict(self._waiting)
        self._number = max((each.number for each in self._waiting.values()), default=len(self.done))
        self._answers: dict[int, dict[str, dict[str, Any]]] = {}
        self._tasks: dict[int, asyncio.Task[_Settled]] = {}
        self._slots = asyncio.Semaphore(limits.PARALLEL)
        self._finished = len(self.done)
        self._progress = 0.0
        self._limit: asyncio.Timeout | None = None

    async def run(self, pool: AsyncMonty) -> Any:
        """Return the value of the program.

        Raises:
            MontyError: it failed.
            ToolError: it has mistakes.
            TimeoutError: it took too long.
        """
        try:
            async with asyncio.timeout(self.timeout_s) as self._limit:
                snapshot_limits: Any = {
                    "max_feed_duration_secs": limits.CPU_S,
                    "max_memory": limits.MEMORY_BYTES,
                    "max_recursion_depth": limits.RECURSION,
                    "max_suspensions": limits.SUSPENSIONS,
                    "max_total_sleep_secs": float(self.timeout_s),
                }
                async with pool.checkout(
                    script_name="program.py",
                    limits=snapshot_limits,
                    type_check=self._stored is None,
                    type_check_stubs=self._program.stubs if self._stored is None else None,
                    type_check_format="json",
                ) as session:
                    snapshot = await (self._load(session) if self._stored else self._start(session))
                    return await self._drive(snapshot)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _start(self, session: AsyncMontySession) -> AsyncSnapshot:
        from pydantic_monty import AsyncFunctionSnapshot, MontyTypingError

        start = partial(session.feed_start, self._program.code, print_callback=self._print)
        try:
            snapshot = await start()
            while isinstance(snapshot, AsyncFunctionSnapshot) and snapshot.function_name == "import_stubs":
                snapshot = await snapshot.resume_not_handled()
        except MontyTypingError as error:
            mistakes = typing_mistakes(error.display(), self._program, self._tools.functions)
            if mistakes:
                raise refusal(self._program.source, mistakes) from None
            return await start(skip_type_check=True)
        return snapshot

    async def _load(self, session: AsyncMontySession) -> AsyncSnapshot:
        import pydantic_monty

        stored = self._stored
        if stored is None or stored.interpreter != pydantic_monty.__version__:
            raise _EndedError("The program was suspended by another version of the server. Run a new one.")
        self._answers = await self._carried_answers()
        snapshot = await session.load_snapshot(stored.snapshot, print_callback=self._print)
        self._waiting = {}
        return snapshot

    async def _carried_answers(self) -> dict[int, dict[str, dict[str, Any]]]:
        """Return the answers that this request brings; empty if a call resumes the program without any."""
        context = self._request.context
        if not any(id_of(key) == self._id for key in context.answered):
            return {}
        waiting = list(self._waiting.values())
        try:
            return await ask(context, self._id, self._program.source, waiting)
        except InputRequired:
            if self._stored is not None:
                await self._suspended.save(self._stored)
            raise

    async def _drive(self, snapshot: AsyncSnapshot) -> Any:
        from pydantic_monty import AsyncFunctionSnapshot, AsyncNameLookupSnapshot, MontyComplete

        while not isinstance(snapshot, MontyComplete):
            if isinstance(snapshot, AsyncNameLookupSnapshot):
                name = snapshot.variable_name
                is_function = snapshot.object_id is None and name in self._known
                snapshot = await (snapshot.resume(value=_function(name)) if is_function else snapshot.resume())
            elif isinstance(snapshot, AsyncFunctionSnapshot):
                if snapshot.is_os_function:
                    snapshot = await self._system_call(snapshot)
                else:
                    answer = self._requested_call(snapshot)
                    snapshot = await snapshot.resume(answer)  # type: ignore[arg-type]  # one of its kinds
            else:
                settled = await self._settled(snapshot.pending_call_ids)
                # Without one, all calls wait for a person.
                if settled:
                    snapshot = await snapshot.resume(settled)  # type: ignore[arg-type]  # as above
                else:
                    await self._person(snapshot.dump())
        for each in self._requested.values():
            line, _ = self._program.source.place(each.start)
            self.notes.append(f"Note: line {line} does not await {each.function}, which did not run")
        return snapshot.output

    async def _system_call(self, snapshot: AsyncFunctionSnapshot) -> AsyncSnapshot:
        """Answer a call of the operating system: a program can only wait, at most as long as it may run."""
        seconds = _seconds(snapshot.args[0] if snapshot.args else 0, self.timeout_s)
        if snapshot.function_name == _SLEEP:
            await asyncio.sleep(seconds)
            return await snapshot.resume({"return_value": None})
        if snapshot.function_name == _ASYNC_SLEEP:
            value = snapshot.args[1] if len(snapshot.args) > 1 else snapshot.kwargs.get("result")
            self._tasks[snapshot.call_id] = asyncio.create_task(_slept(seconds, value))
            return await snapshot.resume({"future": ...})
        return await snapshot.resume_not_handled()

    @property
    def _known(self) -> Mapping[str, ToolEntry]:
        return {**self._tools.functions.by_name, **self._program.used}

    def _requested_call(self, snapshot: Any) -> dict[str, Any]:
        """Note a call, which runs when the program awaits it; return the answer for the interpreter."""
        name, position = str(snapshot.function_name), snapshot.position
        entry = self._known.get(name)
        if entry is None:
            return _exception("NameError", unknown_name(name, self._program, self._tools.functions))
        if self._only_reads and not is_read_only(entry):
            message = f"NOT_READ_ONLY: {name} is not read-only: run the program with `{self._request.writer}`"
            return _exception("PermissionError", message)
        if self._number >= limits.CALLS:
            raise _EndedError(f"The program was ended: it makes more than {limits.CALLS:,} calls.")
        names = [parameter for parameter, _, _ in parameters_of(entry)]
        if len(snapshot.args) > len(names):
            return _exception("TypeError", f"{name}() takes at most {len(names)} arguments")
        arguments = {**dict(zip(names, snapshot.args, strict=False)), **snapshot.kwargs}
        problem = _json_problem(arguments)
        if problem:
            return _exception("TypeError", f"{name}(): {problem}")
        self._number += 1
        self._requested[snapshot.call_id] = Waiting(
            snapshot.call_id, self._number, name, arguments, position.start, position.end
        )
        return {"future": ...}

    async def _settled(self, pending: list[int]) -> dict[int, dict[str, Any]]:
        """Run the calls that the program awaits; return the answers of those that have ended.

        Empty if all of them wait for a person.
        """
        for call in pending:
            if call not in self._tasks and call not in self._waiting:
                self._tasks[call] = asyncio.create_task(self._call(self._requested[call]))
        while running := {call: self._tasks[call] for call in pending if call in self._tasks}:
            await asyncio.wait(running.values(), return_when=asyncio.FIRST_COMPLETED)
            settled: dict[int, dict[str, Any]] = {}
            for call, task in running.items():
                if not task.done():
                    continue
                del self._tasks[call]
                result = task.result()
                if result.ended:
                    raise _EndedError(result.ended)
                if result.waiting is not None:
                    self._waiting[call] = result.waiting
                    continue
                settled[call] = result.value
                requested = self._requested.pop(call, None)  # None: the program only slept
                if requested is not None and result.has_run:
                    self.done.append(requested.function)
            if settled:
                return settled
        return {}

    async def _call(self, call: Waiting) -> _Settled:
        """Run one call through the dispatcher."""
        entry = self._known[call.function]
        name = entry["tool"]["name"]
        answers = self._answers.get(call.number, {})
        context = CallContext(
            self._request.context,
            answers,
            f"{self._id}:{call.number}:",
            partial(self._report, call.function),
            self._stored.decisions.get(str(call.number), "") if self._stored else "",
        )
        async with self._slots:
            watched = outcome.watch()
            try:
                result = await self._tools.call(name, dict(call.arguments), context)
            except InputRequired as pending:
                call.requests = pending.requests
                call.needs_approval = all(map(is_approval, pending.requests.values()))
                return _Settled({}, call)
            except MethodError as error:
                return _Settled(_exception("RuntimeError", f"{error.code}: {error.message}"))
        self._finished += 1
        await self._report(call.function, None)
        code = watched.code
        if result.get("isError"):
            text = error_text(result)
            if code == UNAVAILABLE:
                call.requests, call.reason, call.needs_approval = {}, text, True
                return _Settled({}, call)
            if code == NOT_APPROVED:
                line, _ = self._program.source.place(call.start)
                return _Settled({}, ended=f"{text}\nThe program ended at line {line}.")
            exception = _exception("RuntimeError", f"{(code or 'TOOL_ERROR')[:_MAX_CODE]}: {text}")
            return _Settled(exception, has_run=code not in DENIALS)
        if context.waits_for_person:
            call.requests, call.reason, call.needs_approval = {}, context.waits_for_person, False
            return _Settled({}, call)
        value, notes = value_of(entry, result)
        self.notes += notes
        return _Settled({"return_value": value})

    async def _person(self, snapshot: bytes) -> None:
        """Store the program, and ask a person about all calls that wait; return with the answers.

        Raises:
            InputRequired: the client must answer first (2026-07-28).
            _PendingError: nobody can be asked in this request.
        """
        waiting = sorted(self._waiting.values(), key=lambda each: each.number)
        program = await self._save(snapshot, waiting)
        asked = [each for each in waiting if each.requests]
        if not asked:
            raise _PendingError(waiting[0].reason)
        started, limit = time.monotonic(), self._limit
        deadline = limit.when() if limit is not None else None
        if limit is not None:
            limit.reschedule(None)
        try:
            async with asyncio.timeout(None if self._request.context.is_modern else self._request.wait_s):
                answers = await ask(self._request.context, self._id, self._program.source, asked)
        except TimeoutError:
            raise _PendingError("The user has not answered yet.") from None
        except ToolError as error:
            raise _PendingError(error.message) from None
        if limit is not None and deadline is not None:
            limit.reschedule(deadline + time.monotonic() - started)
        if not await self._suspended.drop(program.id):
            raise _EndedError("The program went on elsewhere, or expired while the user decided.")
        self._answers |= answers
        for each in asked:
            del self._waiting[each.call]

    async def _save(self, snapshot: bytes, waiting: list[Waiting]) -> Suspended:
        import pydantic_monty

        program = Suspended(
            id=self._id,
            owner=owner_of(self._request.context),
            code=self._program.source.code,
            only_reads=self._only_reads,
            timeout_s=self.timeout_s,
            snapshot=snapshot,
            waiting=waiting,
            output="".join(self.output),
            notes=list(dict.fromkeys(self.notes)),
            done=self.done,
            interpreter=pydantic_monty.__version__,
            expires=time.time() + limits.SUSPENDED_S,
        )
        await self._suspended.save(program)
        return program

    async def _report(self, function: str, message: str | None) -> None:
        """Send progress: `3 of 8 calls: git_log`."""
        count = self._finished
        self._progress = max(self._progress + 0.001, float(count))
        text = f"{count} of {self._number} calls: {function}{f': {message}' if message else ''}"
        await self._request.context.progress(self._progress, float(max(self._number, count)), text)

    def _print(self, _stream: str, text: str) -> None:
        room = limits.OUTPUT_CHARS - self._printed
        self._printed += len(text)
        if room > 0:
            self.output.append(text[:room])
        elif room + len(text) > 0:
            self.output.append("\n[the rest of the output was left out]\n")

    def written_text(self) -> str:
        """Return the functions that wrote, with the number of their calls."""
        counts: dict[str, int] = {}
        for name in self.done:
            if name in self._known and not is_read_only(self._known[name]):
                counts[name] = counts.get(name, 0) + 1
        return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())

    def pending_text(self, reason: str) -> str:
        """Return the answer for a program that waits for a person."""
        source = self._program.source
        calls = [
            f"line {source.place(each.start)[0]}: {call_text(each, source)}"
            for each in sorted(self._waiting.values(), key=lambda each: each.number)
        ]
        hours = round(limits.SUSPENDED_S / 3600)
        resume = f'{self._request.meta} {{"resume": "{self._id}"}}'
        advice = f"Tell the user. When they have decided, call {resume}: it goes on there, and repeats no call."
        heading = "PENDING: the program waits for a person at"
        terminal = ""
        if any(each.needs_approval for each in self._waiting.values()):
            terminal = f" In a terminal, `programs approve {self._id}` of the server's command decides."
        return "\n".join([heading, *calls, reason, f"{advice}{terminal} It expires in {hours} hours."])

    def failure_text(self, error: Any) -> str:
        """Return the text for an exception of the program, with its place."""
        frames = error.traceback() if hasattr(error, "traceback") else []
        message = error.display("type-msg") if frames else str(error)
        own = [frame for frame in frames if frame.filename.startswith("<python-input")]
        if not own:
            return message
        frame, source = own[-1], self._program.source
        length = frame.end_column - frame.column if frame.end_line == frame.line else 1
        texts = [source.shown(frame.line, frame.column, length, message)]
        texts += [f"called at line {outer.line}" for outer in own[-2:-3:-1] if outer.line != frame.line]
        return "\n".join(texts)


def owner_of(context: Context) -> str:
    """Return the identity of the owner of the request's access token; empty without one."""
    return identity_of(context.principal)


def state_of(directory: Path, server: str) -> Path:
    """Return the directory of the suspended programs of a server."""
    return directory / "toolmason" / "programs" / "".join(c if c.isalnum() or c in "-_" else "_" for c in server)


def _answered_program(context: Context) -> str:
    """Return the identity of the program whose question the client answers; empty for a new program."""
    return next((identity for key in context.answered if (identity := id_of(key))), "")


def _seconds(value: Any, most: float) -> float:
    """Return how long a program waits: from 0 to `most`, for any value."""
    if not isinstance(value, int | float) or (isinstance(value, float) and math.isnan(value)):
        return 0
    return float(max(0, min(value, most)))


async def _slept(seconds: float, value: Any) -> _Settled:
    await asyncio.sleep(seconds)
    return _Settled({"return_value": value})


def _function(name: str) -> Callable[..., Awaitable[None]]:
    async def function(*_arguments: Any, **_named: Any) -> None:
        """Stand for a function of the server in the interpreter, which returns each call of it to the server."""

    function.__name__ = name
    return function


def _exception(kind: str, message: str) -> dict[str, Any]:
    return {"exc_type": kind, "message": message}


def _json_problem(arguments: Mapping[str, Any]) -> str:
    """Return why arguments are no JSON; empty if they are."""
    import json

    try:
        json.dumps(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        return f"arguments must be text, numbers, lists and dicts ({error})"
    return ""


__all__ = ["PROGRAM_ERROR", "Programs", "Request", "Source", "Tools", "owner_of", "state_of"]
