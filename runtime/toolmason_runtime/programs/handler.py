"""Handler of command tools: run the program of a validated call and return its result."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from anyio.to_thread import run_sync
from toolmason_runtime.audit import events
from toolmason_runtime.calls.binding import Binding, load_model
from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.access import Guarded, confined, resolve_access
from toolmason_runtime.programs.approval import approve
from toolmason_runtime.programs.argv import build_invocation, effective_values, with_joined_maps
from toolmason_runtime.programs.execute import Outcome, run
from toolmason_runtime.programs.json_output import read_json_output
from toolmason_runtime.programs.result_text import reply
from toolmason_runtime.programs.risk import risk_of
from toolmason_runtime.programs.search_path import project_directories
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.programs.working_dir import base_directory, with_working_dir
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.specs.program import CommandTool, PlacementKind
from toolmason_runtime.shared.values.wording import named
from toolmason_runtime.wire.content import Reply

if TYPE_CHECKING:
    from pydantic import BaseModel


PreRunHook = Callable[[CommandTool, Mapping[str, Any], ToolCall], Awaitable[Mapping[str, Any] | Guarded]]
"""Hook of a server that receives the values of each call, defaults included, before the program runs.

It raises `ToolError` to refuse the call, and returns the values to replace; with `Guarded` also further access for the
program. It may be called twice for one call, so it must have no side effects.
"""


def command(
    params: type[BaseModel] | str, tool: CommandTool, guard: PreRunHook | None = None, *, result: str = ""
) -> Binding:
    """Bind a tool to its program.

    `params` validates the arguments (see `Binding`), then `guard` checks them. `result` is a reference to the model of
    the program's JSON output, such as `books.models:FindResult`; empty for text.
    """
    return Binding(params, CommandRun(tool, guard, result))


@dataclass(frozen=True, slots=True)
class CommandRun:
    """The handler of one tool."""

    is_foreign: ClassVar[bool] = True
    """Its results are content of others."""

    tool: CommandTool
    guard: PreRunHook | None = None
    result: str = ""

    async def __call__(self, params: BaseModel | dict[str, Any], call: ToolCall) -> Reply | BaseModel:
        """Check guard, policy and approval, then run the program once.

        No step before the start has a side effect: after an approval prompt, the call may run again from the beginning.

        Raises:
            ToolError: the call is refused or not approved, the program cannot start, or its output is not valid JSON.
        """
        commands, environ = call.state(ProgramSettings), dict(os.environ)
        values = with_joined_maps(self.tool, sent_arguments(params))
        guarded = await self._guarded(effective_values(self.tool, values, environ=environ), call)
        values |= with_joined_maps(self.tool, guarded.values)
        docker = commands.policy.docker
        values = with_working_dir(self.tool, values, environ=environ, docker=docker)
        if problems := commands.policy.check(self.tool, values, environ=environ):
            raise ToolError("\n".join(["Not allowed by the policy of this server:", *problems]), code="POLICY")
        check_positionals_contiguous(self.tool, effective_values(self.tool, values, environ=environ))
        prepared = build_invocation(self.tool, values, environ=environ, base=base_directory(docker))
        prepared = replace(prepared, projects=await project_directories(call))
        risk, used = risk_of(self.tool, values, environ=environ), effective_values(self.tool, values, environ=environ)
        await approve(self.tool, prepared, risk, call, commands, values=used)
        permissions = self.tool.program.permissions
        if permissions is None or docker is not None:
            outcome = await run(prepared, executor=commands.executor, environ=environ)
        else:
            access = resolve_access(permissions, guarded, prepared, risk=risk, environ=environ)
            async with confined(prepared, access) as prepared:
                outcome = await run(prepared, executor=commands.executor, environ=environ)
        events.note(exit_code=outcome.exit_code)
        if outcome.timed_out:
            events.note_failure("TIMEOUT")
        if self.result and outcome.exit_code in self.tool.ok_exit_codes:
            return await run_sync(self._structured, outcome)
        return await reply(outcome, call.state(ChunkStore), ok_exit_codes=self.tool.ok_exit_codes)

    def _structured(self, outcome: Outcome) -> BaseModel:
        try:
            return read_json_output(outcome, self.tool.program.name, load_model(self.result))
        finally:
            outcome.close()

    async def _guarded(self, values: Mapping[str, Any], call: ToolCall) -> Guarded:
        if self.guard is None:
            return Guarded(values={})
        try:
            returned = await self.guard(self.tool, values, call)
        except ToolError:
            events.note(rule="guard")
            raise
        return returned if isinstance(returned, Guarded) else Guarded(values=returned)


def sent_arguments(params: BaseModel | dict[str, Any]) -> dict[str, Any]:
    """Return the sent arguments as JSON values by their manifest names, without those that are null.

    A dict has them already.
    """
    if isinstance(params, dict):
        return dict(params)
    dumped = params.model_dump(mode="json", by_alias=True, exclude_unset=True)
    field_values = {field.alias or name: getattr(params, name) for name, field in type(params).model_fields.items()}
    return {name: _match_model_number(value, field_values[name]) for name, value in dumped.items() if value is not None}


def _match_model_number(value: Any, field_value: Any) -> Any:
    """Return a number with the type of the model's value: pydantic dumps an integer in a float field as a float."""
    if isinstance(value, list):
        return list(map(_match_model_number, value, field_value))
    if isinstance(value, dict) and isinstance(field_value, dict):
        return {key: _match_model_number(item, field_value[key]) for key, item in value.items()}
    return field_value if isinstance(value, float) and isinstance(field_value, int) else value


def check_positionals_contiguous(tool: CommandTool, values: Mapping[str, Any]) -> None:
    """Check that no positional is missing before a present one, which would take its position and escape its checks.

    Raises:
        ToolError: a positional is missing.
    """
    missing = ""
    for placement in tool.placements:
        if placement.place is not PlacementKind.POSITIONAL:
            continue
        if placement.name not in values:
            missing = missing or placement.name
        elif missing:
            raise ToolError(
                f"{named((placement.name,))} requires '{missing}': {tool.program.name} would otherwise read the value "
                f"as '{missing}'",
                code=INVALID_ARGUMENT,
            )
