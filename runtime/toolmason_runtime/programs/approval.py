"""Request the user's approval of a command, or of the effect of a handler, by MCP elicitation."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Any, Final

from toolmason_runtime.audit import events
from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.programs.argv import argument_text, items
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.programs.working_dir import base_directory
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import CONFIRM_PLACEHOLDER, CommandTool, Risk
from toolmason_runtime.shared.visible_text import escape_invisible, is_visible

MAX_COMMAND_LENGTH: Final = 20_000
"""Maximum characters of a command line, or of a handler's question, in the prompt; more is refused, not shortened."""
MAX_INPUT_LENGTH: Final = 4_000
"""Maximum characters of standard input in the prompt: its beginning and its end."""

MAX_VALUE_LENGTH: Final = 200
"""Maximum characters of one value in a question, before escaping."""
MAX_ITEMS: Final = 5
"""Maximum items of a list in a question."""

_EMPTY_FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""An empty form: accepting it approves."""


async def approve(
    tool: CommandTool,
    prepared: Invocation,
    risk: Risk,
    call: ToolCall,
    commands: ProgramSettings,
    *,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Request approval if the command needs it. `values` are the effective values, for the question.

    Raises:
        ToolError: the user refused, or the client cannot prompt the user.
    """
    await _request_approval(
        call,
        commands,
        tool.name,
        risk,
        # The key identifies this command, so an answer is never used for another one.
        key=f"run-{_digest(prepared)}",
        question=lambda: question(tool, prepared, risk, commands, values),
    )


async def approve_handler(
    call: ToolCall,
    *,
    tool: str,
    risk: Risk = Risk.WRITE,
    question: str,
    key: str,
    advice: str = "Send less text",
    always: bool = False,
) -> None:
    """Request approval of what a handler is about to do, if the policy requires it for `tool` and `risk`.

    Example:
        ```python
        await approve_handler(call, tool="remove_note", question=f"Remove {note.title}?", key=f"remove-{note.id}")
        ```

    Args:
        call: the call of the handler, which may run again from its start with the answer.
        tool: name of the tool.
        risk: the effect of the call.
        question: text for the user. Invisible characters are escaped, except line breaks and tabs.
        key: identity of this effect, such as a digest of the path and the content: an answer is valid for it alone.
        advice: what the model can do if the question is too long to show.
        always: whether to ask whatever the policy says.

    Raises:
        ToolError: the user refused, the question is too long, or the client cannot prompt the user.
    """
    commands = call.find_state(ProgramSettings) or ProgramSettings()

    def shown() -> str:
        text = escape_invisible(question, keep="\n\t")
        if len(text) > MAX_COMMAND_LENGTH:
            message = (
                f"Not run: {tool} needs user approval, and its question has {len(text):,} characters; the approval "
            )
            message += f"prompt shows at most {MAX_COMMAND_LENGTH:,}. {advice}"
            raise ToolError(message, code="NOT_APPROVED")
        return text

    await _request_approval(call, commands, tool, risk, key=key, question=shown, always=always)


async def _request_approval(
    call: ToolCall,
    commands: ProgramSettings,
    tool: str,
    risk: Risk,
    *,
    key: str,
    question: Callable[[], str],
    always: bool = False,
) -> None:
    if not always and not commands.policy.needs_approval(tool, risk):
        events.note(approval="not needed")
        return
    if not call.can_elicit("form"):
        if commands.approves_headless and not always:
            _record(call, risk, key, "approved", "headless")
            return
        _record(call, risk, key, "unavailable", "client")
        raise ToolError(_unavailable_message(tool, risk), code="APPROVAL_UNAVAILABLE")
    text = question()
    try:
        answer = await call.elicit(text, _EMPTY_FORM, key=key)
    except ToolError as error:
        _record(call, risk, key, "failed", "client")
        raise ToolError(f"Not run: {tool} needs approval. {error.message}", code="NOT_APPROVED") from error
    _record(call, risk, key, _DECISIONS.get(str(answer.get("action")), "cancelled"), "client")
    if answer.get("action") != "accept":
        raise ToolError(_rejected_message(tool, str(answer.get("action"))), code="NOT_APPROVED")


_DECISIONS: Final = {"accept": "approved", "decline": "declined"}


def _record(call: ToolCall, risk: Risk, key: str, decision: str, surface: str) -> None:
    """Write a decision to the audit log. `key` identifies the command or effect, so it is logged as a digest."""
    if events.active() is None:
        return
    from toolmason_runtime.audit.start import os_user

    user = os_user() if call.is_local else None
    events.note(approval=decision, subject=events.subject(key))
    events.record(
        "approval",
        **events.current_call(),
        decision=decision,
        surface=surface,
        os_user=user,
        risk=risk.value,
        subject=events.subject(key),
    )


def question(
    tool: CommandTool,
    prepared: Invocation,
    risk: Risk,
    commands: ProgramSettings,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the approval prompt: the question, the command line, its directory and its standard input.

    Raises:
        ToolError: the command line is too long to review.
    """
    command = command_text(prepared.argv)
    if len(command) > MAX_COMMAND_LENGTH:
        message = (
            f"Not run: {tool.name} needs user approval, and its command line has {len(command):,} characters; the "
            f"approval prompt shows at most {MAX_COMMAND_LENGTH:,}. Send shorter arguments"
        )
        raise ToolError(message, code="NOT_APPROVED")
    heading = confirm_text(tool, values) or f"Run this command? Its risk is: {risk.value}."
    lines = [
        heading,
        "",
        f"$ {command}",
        f"in {_location_text(prepared, commands)}",
    ]
    if prepared.stdin is not None:
        lines.append(f"with {len(prepared.stdin):,} characters of standard input:")
        lines.append(shorten_middle(escape_invisible(prepared.stdin, keep="\n")))
    return "\n".join(lines)


def confirm_text(tool: CommandTool, values: Mapping[str, Any]) -> str:
    """Return `confirm` with the values of its parameters, each quoted, escaped and shortened."""
    switches = {placement.name for placement in tool.placements if placement.switch}
    return fill_question(tool.confirm, values, switches)


def fill_question(template: str, values: Mapping[str, Any], switches: Container[str] = ()) -> str:
    """Return a question with the values of its placeholders. An absent value of `switches` is false."""

    def replacement(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return match[0][:1]
        return _value_text(values.get(name, False if name in switches else None))

    return CONFIRM_PLACEHOLDER.sub(replacement, template)


def _value_text(value: Any) -> str:
    """Return the text of a value in a question: strings in quotes, a long list by its first items."""
    if value is None or value in ([], ()):
        return "(none)"
    every = items(value)
    text = ", ".join(
        f'"{_value_part(item)}"' if isinstance(item, str) else _value_part(argument_text("", item))
        for item in every[:MAX_ITEMS]
    )
    return f"{text} and {len(every) - MAX_ITEMS:,} more" if len(every) > MAX_ITEMS else text


def _value_part(text: str) -> str:
    escaped = escape_invisible(text[:MAX_VALUE_LENGTH].replace("\\", "\\\\").replace('"', '\\"'), keep="")
    return (
        f"{escaped}[... {len(text) - MAX_VALUE_LENGTH:,} characters more]" if len(text) > MAX_VALUE_LENGTH else escaped
    )


def command_text(argv: tuple[str, ...]) -> str:
    """Return a command line as typed in a shell. Invisible characters are escaped: they could hide the rest."""
    return " ".join(
        shlex.quote(argument) if all(map(is_visible, argument)) else f"$'{_escaped(argument)}'" for argument in argv
    )


def _escaped(text: str) -> str:
    return escape_invisible(text.replace("\\", "\\\\").replace("'", "\\'"), keep="")


def shorten_middle(text: str, limit: int = MAX_INPUT_LENGTH) -> str:
    """Return a text without its middle if it is too long, with the number of missing characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n[... {len(text) - limit:,} characters more ...]\n{text[-(limit // 2) :]}"


def _location_text(prepared: Invocation, commands: ProgramSettings) -> str:
    docker = commands.policy.docker
    directory = prepared.cwd or base_directory(docker)
    if docker is None:
        return command_text((directory,)) if directory else "the server's directory, which was removed"
    return f"a container of {docker.image}{f', {command_text((directory,))}' if directory else ''}"


def _digest(prepared: Invocation) -> str:
    parts = json.dumps([prepared.argv, prepared.cwd, prepared.stdin])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _unavailable_message(tool: str, risk: Risk) -> str:
    return (
        f"Not run: {tool} ({risk.value}) needs user approval, and this client does not support MCP elicitation. "
        "Do not retry. Tell the user, who can use a client with elicitation, approve the tool in the server's policy, "
        "or start the server with --headless-approve."
    )


def _rejected_message(tool: str, action: str) -> str:
    reason = "the user declined" if action == "decline" else "the user dismissed the prompt"
    return f"Not run: {reason} ({tool}). Ask the user how to proceed; do not retry without being asked."
