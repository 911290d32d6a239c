"""One call of a tool for the person or the script that runs a command, through the dispatcher of the server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolmason_runtime.calls import outcome
from toolmason_runtime.calls.call import Context, Level
from toolmason_runtime.shared.answer_size import MAX_SIZE, VARIABLE
from toolmason_runtime.shared.client_profiles import TOOLMASON
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, MethodError
from toolmason_runtime.tool_commands.app import ExitCode, Invocation
from toolmason_runtime.tool_commands.interrupts import handled_interrupt
from toolmason_runtime.tool_commands.output import show_result
from toolmason_runtime.tool_commands.terminal import Person, Progress, note

if TYPE_CHECKING:
    from toolmason_runtime.calls.principal import Principal
    from toolmason_runtime.code_mode.suspended import SuspendedPrograms

MAX_WAIT_S: Final = 86_400.0
"""Seconds that a tool may wait for the person at the terminal."""
_UNAVAILABLE: Final = "APPROVAL_UNAVAILABLE"
_NOT_APPROVED: Final = frozenset({_UNAVAILABLE, "NOT_APPROVED"})
_SHOWN_LEVELS: Final = frozenset({"warning", "error", "critical", "alert", "emergency"})


class Dispatches(Protocol):
    """What a call needs of `server.dispatch.Dispatcher`."""

    async def dispatch(self, method: str, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Return the result of one request."""
        ...

    @property
    def suspended(self) -> SuspendedPrograms:
        """The programs that wait for a person."""
        ...

    async def aclose(self) -> None:
        """Close everything that calls have opened."""
        ...


class Server(Protocol):
    """The server whose tools are commands; see `server.command.Command`."""

    def open_tools(self) -> Dispatches:
        """Return a dispatcher of all tools.

        Raises:
            ValueError: an option of the server or its environment is wrong.
        """
        ...

    def close(self) -> None:
        """Close what `open_tools` has opened."""
        ...


def call_tool(make_server: Callable[[], Server], invocation: Invocation) -> int:
    """Call a tool, show the result and return the exit code."""
    with _whole_results():
        return _call_and_show(make_server(), invocation)


def _call_and_show(server: Server, invocation: Invocation) -> int:
    try:
        dispatcher = server.open_tools()
    except ValueError as error:
        note(str(error))
        return ExitCode.COMMAND_LINE
    progress = Progress()
    context = TerminalContext(Person(says_yes=invocation.says_yes), progress)
    params = {"name": invocation.tool, "arguments": invocation.arguments}
    try:
        with handled_interrupt(signal.default_int_handler), _output_of_tools_to_stderr():
            result, code = asyncio.run(_call(dispatcher, params, context))
    finally:
        progress.close()
        server.close()
    if code == _UNAVAILABLE:
        message = f"Not run: {invocation.tool} needs approval, and there is no terminal to ask on."
        note(f"{message} Run it in a terminal, or add --yes to approve it.")
        return ExitCode.NOT_APPROVED
    show_result(result, as_json=invocation.as_json, output=invocation.output)
    if not result.get("isError"):
        return ExitCode.NOT_APPROVED if context.waits_for_person else ExitCode.FINE
    if code in _NOT_APPROVED:
        return ExitCode.NOT_APPROVED
    return ExitCode.COMMAND_LINE if code == INVALID_ARGUMENT else ExitCode.FAILED


async def _call(
    dispatcher: Dispatches, params: Mapping[str, Any], context: TerminalContext
) -> tuple[dict[str, Any], str]:
    """Return the result of a call, and the code of its error."""
    watched = outcome.watch()
    try:
        result = await dispatcher.dispatch("tools/call", params, context)
    except MethodError as error:
        return {"content": [{"type": "text", "text": error.message}], "isError": True}, ""
    finally:
        await dispatcher.aclose()
    return result, watched.code


@contextmanager
def _whole_results() -> Iterator[None]:
    """Let results be as long as a person can read, unless the environment sets another size."""
    is_set = VARIABLE in os.environ
    os.environ.setdefault(VARIABLE, str(MAX_SIZE))
    try:
        yield
    finally:
        if not is_set:
            del os.environ[VARIABLE]


@contextmanager
def _output_of_tools_to_stderr() -> Iterator[None]:
    """Let what a handler prints go to standard error: standard output is the result's."""
    try:
        kept = os.dup(1)
    except OSError:  # closed
        yield
        return
    sys.stdout.flush()
    try:
        with suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


class TerminalContext:
    """The context of a call from a terminal; see `Context`."""

    operation_id = "command"
    client_name = TOOLMASON
    is_modern = False
    has_progress_token = True
    is_local = True
    may_be_task = True
    """Tools that need a task run as well: a terminal has no timeout."""
    principal: Principal | None = None
    answered: Collection[str] = ()

    def __init__(self, person: Person, progress: Progress) -> None:
        self._person = person
        self._progress = progress
        self.waits_for_person = False
        """Whether the result is preliminary until a person decides elsewhere."""

    def person_needed(self, reason: str) -> None:  # noqa: ARG002  the result says it
        """See `ToolCall.person_needed`."""
        self.waits_for_person = True

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the person can do, and the working directory as root."""
        return {**self._person.capabilities, "roots": {}}

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Show progress."""
        self._progress.update(progress, total, message)

    async def log(self, level: Level, data: Any, logger: str | None) -> None:  # noqa: ARG002  see `Context`
        """Show warnings and errors."""
        if level in _SHOWN_LEVELS:
            note(f"{level}: {data}")

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002  as above
        """Ask the person, or return the working directory.

        Raises:
            MethodError: the server asks for something else.
        """
        if method == "roots/list":
            return {"roots": [{"uri": Path.cwd().as_uri()}]}
        if method != "elicitation/create":
            raise MethodError(-32601, f"a command cannot answer {method}", method)
        self._progress.close()
        return await self._person.answer_in_thread(params)
