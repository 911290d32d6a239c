"""No program does what the style `search-call` would have asked about, whatever its form and the policy."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from program_desk import Asker, Desk, Modern
from toolmason_runtime import ToolError
from toolmason_runtime.audit import events
from toolmason_runtime.calls.call import Context, InputRequired, ToolCall
from toolmason_runtime.calls.outcome import note_error
from toolmason_runtime.calls.text_store import KeptText
from toolmason_runtime.code_mode.engine import Programs, Request
from toolmason_runtime.code_mode.suspended import SuspendedPrograms
from toolmason_runtime.discovery.functions import Functions
from toolmason_runtime.programs.approval import approve_handler
from toolmason_runtime.programs.policy import Approval, HeadlessMode, Policy, ToolRule
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.wire.results import WireResult

METHODS = {"GET": Risk.READ, "PUT": Risk.WRITE, "DELETE": Risk.DESTRUCTIVE}
Step = tuple[tuple[str, ...], bool]
"""Requests that run together, and whether the program catches every exception of them."""

policies = st.builds(
    Policy,
    approval=st.sampled_from(Approval),
    headless=st.sampled_from(HeadlessMode),
    tools=st.dictionaries(
        st.sampled_from(["get", "put", "delete"]),
        st.builds(ToolRule, require_approval=st.sampled_from([None, True, False])),
    ),
)
steps = st.lists(
    st.tuples(st.lists(st.sampled_from(list(METHODS)), min_size=1, max_size=3).map(tuple), st.booleans()), max_size=4
)
clients = st.sampled_from(["none", "accept", "decline", "cancel", "modern"])


class Counter:
    """A server with a tool for each method, whose approvals are those of handlers."""

    def __init__(self, policy: Policy) -> None:
        self.settings = ProgramSettings(policy)
        self.done: list[str] = []
        self.functions = Functions({method.lower(): self._entry(method) for method in METHODS}, {})

    def _entry(self, method: str) -> ToolEntry:
        hints = {"readOnlyHint": method == "GET"}
        tool = {"name": method.lower(), "inputSchema": {"type": "object", "properties": {}}, "annotations": hints}
        entry: Any = {"tool": tool, "summary": method, "category": "desk"}
        return cast("ToolEntry", entry)

    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> WireResult:
        assert arguments == {}
        call = ToolCall(name, context, (self.settings,))
        try:
            risk = METHODS[name.upper()]
            await approve_handler(call, tool=name, risk=risk, question=f"{name}?", key=f"run-{name}")
        except ToolError as error:
            note_error(error)
            return {"content": [{"type": "text", "text": error.message}], "isError": True}
        self.done.append(name.upper())
        return {"content": [{"type": "text", "text": name}]}

    def problem(self, name: str, arguments: Mapping[str, Any]) -> str:
        assert name.upper() in METHODS
        assert arguments == {}
        return ""

    async def keep(self, text: str, *, max_part_bytes: int | None = None) -> KeptText:  # noqa: ARG002  of `Tools`
        raise AssertionError("the answers are short")


def source(program: Sequence[Step]) -> str:
    lines = ["import asyncio"]
    for methods, catches in program:
        calls = [f"{'desk.' if index else ''}{method.lower()}()" for index, method in enumerate(methods)]
        line = f"await asyncio.gather({', '.join(calls)})" if len(methods) > 1 else f"await {calls[0]}"
        lines += ["try:", f"    {line}", "except BaseException:", "    pass"] if catches else [line]
    return "\n".join(lines)


def client(kind: str) -> Asker:
    return Modern() if kind == "modern" else Asker(None if kind == "none" else kind)


async def may(policy: Policy, method: str, kind: str) -> bool:
    """Return whether a single call is executed."""
    counter = Counter(policy)
    with suppress(InputRequired):
        await counter.call(method.lower(), {}, client(kind))
    return bool(counter.done)


async def executed(policy: Policy, program: Sequence[Step], kind: str, folder: Path, *, only_reads: bool) -> list[str]:
    counter = Counter(policy)
    programs = Programs(counter, SuspendedPrograms(folder))
    request = Request(
        code=source(program),
        resume="",
        timeout_s=60,
        meta="run",
        only_reads=only_reads,
        writer="run",
        context=client(kind),
        wait_s=1,
    )
    try:
        with suppress(InputRequired, ToolError):
            await programs.run(request)
    finally:
        await programs.aclose()
    return counter.done


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=policies, program=steps, kind=clients, only_reads=st.booleans())
@example(policy=Policy(), program=[(("GET", "PUT"), True), (("PUT",), True)], kind="decline", only_reads=False)
@example(
    policy=Policy(approval=Approval.NONE),
    program=[(("GET",), False), (("DELETE",), False)],
    kind="none",
    only_reads=False,
)
@example(policy=Policy(approval=Approval.NONE), program=[(("PUT",), True)], kind="none", only_reads=True)
def test_a_program_does_nothing_that_a_single_call_may_not_do(
    tmp_path: Path, *, policy: Policy, program: list[Step], kind: str, only_reads: bool
) -> None:
    async def compare() -> None:
        allowed = {method for method in METHODS if await may(policy, method, kind)}
        done = await executed(policy, program, kind, tmp_path, only_reads=only_reads)
        wanted = [method for methods, _ in program for method in methods]

        assert set(done) <= (allowed & {"GET"} if only_reads else allowed)
        if set(wanted) <= allowed and not (only_reads and set(wanted) - {"GET"}):
            assert sorted(done) == sorted(wanted)

    asyncio.run(compare())


@pytest.mark.anyio
async def test_each_call_of_a_program_has_a_line_in_the_audit_log(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, dict[str, object]]] = []

    class Log:
        path = ""
        running = 0

        def check(self) -> None: ...

        def digest(self, data: bytes) -> str:
            return str(len(data))

        def write(self, event: str, fields: dict[str, object]) -> None:
            written.append((event, fields))

    monkeypatch.setattr(events, "_log", Log())
    await desk.answer('import asyncio\nawait asyncio.gather(send(FILE, "GET"), send(FILE, "PUT"))', Asker("decline"))

    lines = [(event, fields) for event, fields in written if "tool" in fields and "outcome" in fields]
    calls = [(event, fields["tool"], fields.get("via"), fields["outcome"]) for event, fields in lines]
    assert ("call", "send", "program", "ok") in calls
    assert ("refusal", "send", "program", "refused") in calls
    assert [fields["decision"] for event, fields in written if event == "approval"] == ["declined"]
