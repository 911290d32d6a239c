"""From a call that has been read and checked to the program that carries it out, and back to its answer."""

from __future__ import annotations

import importlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.access import Guarded, confined, resolve_access
from toolmason_runtime.programs.approval import approve
from toolmason_runtime.programs.argv import invocation, values_used
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.result_text import reply
from toolmason_runtime.programs.risk import risk_of
from toolmason_runtime.programs.search_path import project_directories
from toolmason_runtime.programs.settings import Commands
from toolmason_runtime.programs.spec import CommandTool, Place
from toolmason_runtime.programs.working_dir import base_of, with_folder
from toolmason_runtime.protocol.binding import Binding
from toolmason_runtime.protocol.call import ToolCall
from toolmason_runtime.protocol.catalogue import Catalogue
from toolmason_runtime.protocol.content import Reply
from toolmason_runtime.protocol.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.protocol.wording import named

if TYPE_CHECKING:
    from pydantic import BaseModel


Guard = Callable[[CommandTool, Mapping[str, Any], ToolCall], Awaitable[Mapping[str, Any] | Guarded]]
"""A server's own say in what its programs are run with: given the values of a call, defaults included.

It raises `ToolError` for what must not be run, and gives the values to use in place of those it was given; what it
leaves out stays. As `Guarded` it also returns what the program may use beyond its declaration. It may be asked twice
for one call, so it must change nothing.
"""


def command(params: type[BaseModel], tool: CommandTool, guard: Guard | None = None) -> Binding:
    """Bind a tool to the program that carries it out; `params` checks its arguments, and then `guard`."""
    return Binding(params, CommandRun(tool, guard))


@dataclass(frozen=True, slots=True)
class CommandRun:
    """Carries out the calls of one tool."""

    tool: CommandTool
    guard: Guard | None = None

    async def __call__(self, params: BaseModel, call: ToolCall) -> Reply:
        """Run the program once, after all that speaks against it has been looked at.

        Nothing before the program starts has an effect: asking a person may run this again from its start.

        Raises:
            ToolError: it must not run, cannot, or nobody approved.
        """
        commands, environ, values = call.state(Commands), dict(os.environ), given(params)
        guarded = await self._guarded(values_used(self.tool, values, environ=environ), call)
        values |= guarded.values
        docker = commands.policy.docker
        values = with_folder(self.tool, values, environ=environ, docker=docker)
        if problems := commands.policy.check(self.tool, values, environ=environ):
            raise ToolError("\n".join(["Not allowed by the policy of this server:", *problems]), code="POLICY")
        check_no_gap(self.tool, values_used(self.tool, values, environ=environ))
        prepared = invocation(self.tool, values, environ=environ, base=base_of(docker))
        prepared = replace(prepared, projects=await project_directories(call))
        risk, used = risk_of(self.tool, values, environ=environ), values_used(self.tool, values, environ=environ)
        await approve(self.tool, prepared, risk, call, commands, values=used)
        permissions = self.tool.program.permissions
        if permissions is None or docker is not None:
            outcome = await run(prepared, executor=commands.executor, environ=environ)
        else:
            access = resolve_access(permissions, guarded, prepared, risk=risk, environ=environ)
            async with confined(prepared, access) as prepared:
                outcome = await run(prepared, executor=commands.executor, environ=environ)
        return await reply(outcome, call.state(ChunkStore), ok_exit_codes=self.tool.ok_exit_codes)

    async def _guarded(self, values: Mapping[str, Any], call: ToolCall) -> Guarded:
        if self.guard is None:
            return Guarded(values={})
        returned = await self.guard(self.tool, values, call)
        return returned if isinstance(returned, Guarded) else Guarded(values=returned)


def given(params: BaseModel) -> dict[str, Any]:
    """Give the arguments that were sent, as JSON has them, by the names of the manifest: null is as not sent."""
    sent = params.model_dump(mode="json", by_alias=True, exclude_unset=True)
    held = {field.alias or name: getattr(params, name) for name, field in type(params).model_fields.items()}
    return {name: _as_held(value, held[name]) for name, value in sent.items() if value is not None}


def _as_held(value: Any, held: Any) -> Any:
    """Give a number as the model holds it: for a field of floats, even an integer is dumped as one."""
    if isinstance(value, list):
        return list(map(_as_held, value, held))
    return held if isinstance(value, float) and isinstance(held, int) else value


def check_no_gap(tool: CommandTool, values: Mapping[str, Any]) -> None:
    """Refuse a positional without the one before it: it would move there, past all that was checked of that one.

    Raises:
        ToolError: there is such a gap.
    """
    missing = ""
    for placement in tool.placements:
        if placement.place is not Place.POSITIONAL:
            continue
        if placement.name not in values:
            missing = missing or placement.name
        elif missing:
            raise ToolError(
                f"{named((placement.name,))} needs '{missing}' as well: without that, it would be taken for it",
                code=INVALID_ARGUMENT,
            )


def command_tools(catalogue: Catalogue) -> Iterator[CommandTool]:
    """Give every tool of a generated server that a program carries out. Imports the bindings of their categories."""
    entries = [entry for entry in catalogue["tools"].values() if "cli" in entry]
    modules = dict.fromkeys(catalogue["categories"][entry["category"]]["module"] for entry in entries)
    for module in modules:
        bindings = importlib.import_module(f"{catalogue['server']['package']}.{module}.bindings").BINDINGS
        yield from (each.run.tool for each in bindings.values() if isinstance(each.run, CommandRun))
