"""Handler of tools with `sql`: from the arguments of a call to rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import anyio
import anyio.to_thread
from toolmason_runtime.calls.binding import Binding, load_model
from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.programs.approval import approve_handler, fill_question, shorten_middle
from toolmason_runtime.programs.json_output import fit_model
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import SqlTool
from toolmason_runtime.shared.specs.statement import Statement, split_statement
from toolmason_runtime.shared.values.wording import disabled
from toolmason_runtime.sql.registry import Databases
from toolmason_runtime.sql.settings import timed_out
from toolmason_runtime.sql.table_text import table_text
from toolmason_runtime.sql.values import bound_value
from toolmason_runtime.wire.content import Reply

if TYPE_CHECKING:
    from pydantic import BaseModel
    from toolmason_runtime.sql.connections import Execution, Rows


def sql_tool(params: type[BaseModel] | str | None, tool: SqlTool, *, result: str = "") -> Binding:
    """Bind a tool to its statement.

    `params` validates the arguments (see `Binding`). `result` is a reference to the model of the result, such as
    `books.models:FindResult`; empty for a table.
    """
    return Binding(params, SqlRun(tool, result))


@dataclass(frozen=True, slots=True)
class SqlRun:
    """The handler of one tool."""

    is_foreign: ClassVar[bool] = True
    """Its results are content of others."""

    tool: SqlTool
    result: str = ""

    async def __call__(self, params: BaseModel | dict[str, Any], call: ToolCall) -> Reply | BaseModel:
        """Check policy and approval, then run the statement.

        Raises:
            ToolError: the call is not allowed or not approved, or it failed; the message contains no secrets.
        """
        tool = self.tool
        policy = (call.find_state(ProgramSettings) or ProgramSettings()).policy
        if not policy.is_enabled(tool.name):
            raise ToolError(f"Not allowed by the policy of this server: {disabled(tool.name)}", code="POLICY")
        values = call_values(tool, params)
        await approve_handler(
            call,
            tool=tool.name,
            risk=tool.risk,
            question=self._question(values),
            key=f"statement-{_digest(tool, values)}",
            advice="Send shorter arguments",
        )
        return await self._run(call.state(Databases), values)

    async def _run(self, databases: Databases, values: Mapping[str, Any]) -> Reply | BaseModel:
        tool = self.tool
        bound = {param.name: bound_value(param.name, values[param.name], param.format) for param in tool.params}
        effect = ""
        # The first call imports SQLAlchemy and a driver, which is no time of the statement.
        execution = await anyio.to_thread.run_sync(self._execution, databases, abandon_on_cancel=True)
        with anyio.move_on_after(tool.time_limit_s):
            try:
                return await anyio.to_thread.run_sync(execution.run, bound, self._finish, abandon_on_cancel=True)
            except anyio.get_cancelled_exc_class():
                effect = execution.interrupt()
                raise
        raise timed_out(tool.database, tool.time_limit_s, effect)

    def _execution(self, databases: Databases) -> Execution:
        # Imported at the first call, because it imports SQLAlchemy.
        connections = databases.connections(self.tool.database, read_only=self.tool.is_read)
        from toolmason_runtime.sql.connections import Execution

        return Execution(connections, self.tool, self.statement)

    @property
    def statement(self) -> Statement:
        """The statement in parts."""
        return _split(self.tool.sql, self.tool.database.dialect)

    def _question(self, values: Mapping[str, Any]) -> str:
        tool = self.tool
        head = fill_question(tool.confirm, values) or f"Run this statement? Its risk is: {tool.risk.value}."
        lines = [head, "", tool.sql.strip(), "", f"in the database {tool.database.name}"]
        lines += [f"{name} = {shorten_middle(json.dumps(value, ensure_ascii=False))}" for name, value in values.items()]
        return "\n".join(lines)

    def _finish(self, rows: Rows) -> Reply | BaseModel:
        """Return the result of a call; in a worker thread, before a write is committed."""
        if self.result:
            return self._structured(rows, load_model(self.result))
        if rows.changed is not None:
            noun = "row" if rows.changed == 1 else "rows"
            return Reply(f"{rows.changed:,} {noun} changed", structure={"changed": rows.changed})
        note = self._note(rows)
        table = table_text(rows.columns, rows.rows) if rows.rows else "No rows"
        structure = {"rows": rows.as_objects(), "has_more": rows.has_more}
        return Reply(f"{note}{table}", structure=structure)

    def _structured(self, rows: Rows, model: type[BaseModel]) -> BaseModel:
        from toolmason_runtime.sql.results import fitting_rows

        source = f"The result of `{self.tool.name}`"
        items = fitting_rows(rows.as_objects(), model, is_list=self.tool.returns_list)
        if self.tool.returns_list:
            return fit_model({"items": items, "has_more": rows.has_more}, model, source=source)
        if rows.changed is not None:
            return fit_model({"changed": rows.changed}, model, source=source)
        if not items:
            raise ToolError("No row fits these arguments: check them", code="NOT_FOUND")
        return fit_model(items[0], model, source=source)

    def _note(self, rows: Rows) -> str:
        """Return a line about the rows that are not shown; empty if there are none."""
        if not rows.has_more:
            return ""
        shown = len(rows.rows)
        offset = self.statement.clause("offset")
        advice = f"call again with `{offset}` higher by {shown}" if offset else "send arguments that select fewer rows"
        return f"[{shown:,} rows shown{f', limit {rows.cut}' if rows.cut else ''}; for further ones {advice}]\n"


_split: Final = cache(split_statement)


def call_values(tool: SqlTool, params: BaseModel | dict[str, Any]) -> dict[str, Any]:
    """Return the value of each parameter; None for NULL. An identifier is one of its choices.

    Raises:
        ToolError: an identifier is missing or unknown.
    """
    sent = params if isinstance(params, dict) else params.model_dump(mode="json", by_alias=True, exclude_unset=True)
    values: dict[str, Any] = {}
    for param in tool.params:
        value = sent.get(param.name)
        values[param.name] = param.default if value is None else value
        # The model of the arguments checks this as well: a mistake there must not reach the statement.
        if param.choices and values[param.name] not in param.choices:
            message = f"`{param.name}` must be one of {', '.join(param.choices)}"
            raise ToolError(message, code="INVALID_ARGUMENT")
    return values


def _digest(tool: SqlTool, values: Mapping[str, Any]) -> str:
    parts = json.dumps([tool.database.name, tool.sql, values], sort_keys=True)
    return hashlib.sha256(parts.encode()).hexdigest()[:32]
