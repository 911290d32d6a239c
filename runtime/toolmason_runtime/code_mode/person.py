"""Questions to a person in the middle of a program: the context of each call, and what is asked.

A call that asks ends, and its program is suspended. It runs again with the answer, as in 2026-07-28: so the program
can be stored while the person decides, with every client.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.calls.call import Context, InputRequired, Level, can_elicit
from toolmason_runtime.code_mode.source import Source
from toolmason_runtime.code_mode.suspended import Waiting
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.visible_text import escape_invisible

if TYPE_CHECKING:
    from toolmason_runtime.calls.principal import Principal

MAX_QUESTION_CHARS: Final = 18_000
"""Characters of a question about several calls; more calls have questions of their own."""
MAX_CALL_CHARS: Final = 300
"""Characters of the call in a question."""

_ELICIT: Final = "elicitation/create"


class CallContext:
    """The context of one call of a program. `answers` are the client's answers to it so far, by key."""

    def __init__(
        self,
        outer: Context,
        answers: Mapping[str, dict[str, Any]],
        key_start: str,
        on_progress: Callable[[str | None], Awaitable[None]],
        decision: str = "",
    ) -> None:
        self._outer = outer
        self._decision = decision
        self._answers = answers
        self._key_start = key_start
        self._on_progress = on_progress
        self.waits_for_person = ""
        """What the call says while a person has not decided; empty if it waits for nobody."""

    @property
    def operation_id(self) -> str:
        """See `Context`."""
        return self._outer.operation_id

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """See `Context`. A person who has decided in a terminal counts as one that the client can ask."""
        if self._decision:
            return {**self._outer.capabilities, "elicitation": {"form": {}}}
        return self._outer.capabilities

    @property
    def client_name(self) -> str:
        """See `Context`."""
        return self._outer.client_name

    @property
    def is_modern(self) -> bool:
        """True: a call of a program runs again instead of waiting."""
        return True

    @property
    def has_progress_token(self) -> bool:
        """See `Context`."""
        return self._outer.has_progress_token

    @property
    def is_local(self) -> bool:
        """See `Context`."""
        return self._outer.is_local

    @property
    def principal(self) -> Principal | None:
        """See `Context`."""
        return self._outer.principal

    @property
    def is_task(self) -> bool:
        """See `ToolCall.is_task`."""
        return bool(getattr(self._outer, "is_task", False))

    @property
    def may_be_task(self) -> bool:
        """See `TaskContext`."""
        return bool(getattr(self._outer, "may_be_task", False))

    @property
    def origin(self) -> Mapping[str, Any]:
        """See `RequestContext`."""
        origin: Mapping[str, Any] = getattr(self._outer, "origin", {})
        return origin

    @property
    def answered(self) -> Collection[str]:
        """The keys of the client's answers."""
        return self._answers.keys()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002  Context
        """Send the message of a call; the numbers are those of the program."""
        await self._on_progress(message)

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        """See `Context`."""
        await self._outer.log(level, data, logger)

    def person_needed(self, reason: str) -> None:
        """See `ToolCall.person_needed`."""
        self.waits_for_person = reason

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the client's answer.

        Raises:
            InputRequired: a person must answer first.
            ToolError: the client cannot ask.
        """
        if key in self._answers:
            return self._answers[key]
        if self._decision and is_approval({"method": method, "params": params}):
            return {"action": self._decision}
        if method != _ELICIT and not self._outer.is_modern:
            return await self._outer.request(key, method, params)
        if method == _ELICIT and not can_elicit(self.capabilities, params.get("mode", "form")):
            raise ToolError("This tool needs a client with elicitation", code="CAPABILITY_MISSING")
        if method != _ELICIT:
            # It fails here if the client has not declared the capability.
            await self._outer.request(f"{self._key_start}{key}", method, params)
        raise InputRequired({key: {"method": method, "params": dict(params)}})


async def ask(
    outer: Context, identity: str, source: Source, waiting: Sequence[Waiting]
) -> dict[int, dict[str, dict[str, Any]]]:
    """Ask the client all that the calls wait for; return its answers by the number of the call and by key.

    Raises:
        InputRequired: the client must answer first (2026-07-28).
    """
    answers: dict[int, dict[str, dict[str, Any]]] = {}
    missing: dict[str, dict[str, Any]] = {}
    for group in _groups(waiting, source):
        key, method, params = _question(identity, source, group)
        try:
            answer = await outer.request(key, method, params)
        except InputRequired as pending:
            missing |= pending.requests
            continue
        for each, own_key in group:
            answers.setdefault(each.number, {})[own_key] = answer
    if missing:
        raise InputRequired(missing)
    return answers


_Group = list[tuple[Waiting, str]]
"""Requests of calls that one question covers: the call, and the key of its request."""


def _groups(waiting: Sequence[Waiting], source: Source) -> list[_Group]:
    """Return the questions: approvals of one function together, every other request alone."""
    groups: list[_Group] = []
    together: dict[str, tuple[_Group, int]] = {}
    for each in waiting:
        for key, request in each.requests.items():
            if not is_approval(request):
                groups.append([(each, key)])
                continue
            size = len(_listed(each, key, source)) + 2
            group, length = together.get(each.function, ([], 0))
            if not group or length + size > MAX_QUESTION_CHARS:
                group, length = [], 0
                groups.append(group)
            group.append((each, key))
            together[each.function] = group, length + size
    return groups


def _question(identity: str, source: Source, group: _Group) -> tuple[str, str, dict[str, Any]]:
    """Return key, method and parameters of the request for a group. They are equal in each round of a request."""
    each, key = group[0]
    request = each.requests[key]
    own = f"{identity}:{','.join(str(member.number) for member, _ in group)}:{key}"
    params = dict(request["params"])
    if request["method"] == _ELICIT:
        if len(group) == 1:
            params["message"] = f"{_place(each, source)}\n\n{params.get('message', '')}"
        else:
            heading = f"The program asks for {len(group)} calls of {each.function}. Accepting approves all of them."
            params["message"] = "\n\n".join([heading, *(_listed(member, name, source) for member, name in group)])
    return own, str(request["method"]), params


def _listed(each: Waiting, key: str, source: Source) -> str:
    return f"{each.number}. {_place(each, source)}\n{each.requests[key]['params'].get('message', '')}"


def _place(each: Waiting, source: Source) -> str:
    line, _ = source.place(each.start)
    return f"Line {line} of a program: {call_text(each, source)}"


def call_text(each: Waiting, source: Source) -> str:
    """Return a call as it is in the program."""
    text = " ".join(escape_invisible(source.text(each.start, each.end), keep="\n\t").split())
    return text if len(text) <= MAX_CALL_CHARS else f"{text[:MAX_CALL_CHARS]}..."


def is_approval(request: Mapping[str, Any]) -> bool:
    """Return whether accepting an empty form approves a call."""
    params = request["params"]
    schema = params.get("requestedSchema", {})
    return request["method"] == _ELICIT and params.get("mode", "form") == "form" and not schema.get("properties")
