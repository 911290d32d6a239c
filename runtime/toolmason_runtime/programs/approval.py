"""Asks a person before a command runs, or says why nobody could be asked."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from toolmason_runtime.programs.argv import items, text_of
from toolmason_runtime.programs.settings import Commands
from toolmason_runtime.programs.spec import CONFIRM_PLACEHOLDER, CommandTool, Invocation, Risk
from toolmason_runtime.programs.working_dir import base_of
from toolmason_runtime.protocol.call import ToolCall
from toolmason_runtime.protocol.errors import ToolError

MAX_COMMAND_LENGTH: Final = 20_000
"""Characters of a command line that a person is shown: all of it, or it is not run."""
MAX_INPUT_LENGTH: Final = 4_000
"""Characters of the standard input that a person is shown, of its beginning and its end together."""

MAX_VALUE: Final = 200
"""Characters of one value that are shown inside of a question, before it is escaped."""
MAX_ITEMS: Final = 5
"""Items of a list that are shown inside of a question."""

_BLANK: Final = frozenset(
    chr(each)
    for first, last in (
        *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164)),
        *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x16FE4, 0x16FE4), (0x1D159, 0x1D159), (0xE0100, 0xE01EF)),
    )
    for each in range(first, last + 1)
)
"""What counts as printable and shows as nothing: the rest of `Default_Ignorable_Code_Point`, and what is drawn empty.

https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt
"""

_NO_FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""A question without anything to fill in: to accept it is to approve."""


async def approve(
    tool: CommandTool,
    prepared: Invocation,
    risk: Risk,
    call: ToolCall,
    commands: Commands,
    *,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Let a command pass that needs no approval, or has it. `values` are all that are used, for the question.

    Raises:
        ToolError: it was not approved; the text says whether a person or nobody at all said so.
    """
    if not commands.policy.needs_approval(tool.name, risk):
        return
    if not can_be_asked(call):
        if commands.approves_headless:
            return
        raise ToolError(_nobody(tool, risk), code="APPROVAL_UNAVAILABLE")
    shown = question(tool, prepared, risk, commands, values)
    # The key is that of this very command, so that an answer cannot pass for one to another.
    key = f"run-{_digest(prepared)}"
    try:
        answer = await call.elicit(shown, _NO_FORM, key=key)
    except ToolError as error:
        raise ToolError(f"Not run: {tool.name} needs approval. {error.message}", code="NOT_APPROVED") from error
    if answer.get("action") != "accept":
        raise ToolError(_refused(tool, str(answer.get("action"))), code="NOT_APPROVED")


def can_be_asked(call: ToolCall) -> bool:
    """Whether the client can put a question to a person. `{}` is what clients declared before there were modes."""
    modes = call.client_capabilities.get("elicitation")
    return modes is not None and ("form" in modes or "url" not in modes)


def question(
    tool: CommandTool,
    prepared: Invocation,
    risk: Risk,
    commands: Commands,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Write what a person is asked: the author's words, then what will run, where, and what it will read.

    Raises:
        ToolError: there is more to run than a person would look through.
    """
    command = command_text(prepared.argv)
    if len(command) > MAX_COMMAND_LENGTH:
        message = (
            f"Not run: {tool.name} needs the approval of a person, and its command line would be {len(command):,} "
            f"characters long, of which a person is shown at most {MAX_COMMAND_LENGTH:,}. Send shorter arguments"
        )
        raise ToolError(message, code="NOT_APPROVED")
    asked = confirm_text(tool, values) or f"Run this command? Its risk is: {risk.value}."
    lines = [
        asked,
        "",
        f"$ {command}",
        f"in {_place(prepared, commands)}",
    ]
    if prepared.stdin is not None:
        lines.append(f"with {len(prepared.stdin):,} characters of standard input:")
        lines.append(_shortened(_printable(prepared.stdin, keep="\n"), MAX_INPUT_LENGTH))
    return "\n".join(lines)


def confirm_text(tool: CommandTool, values: Mapping[str, Any]) -> str:
    """Return `confirm` with the values of its parameters, each quoted, escaped and shortened."""
    switches = {each.name for each in tool.placements if each.switch}

    def replacement(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0][:1]
        return _value_text(values.get(name, False if name in switches else None))

    return CONFIRM_PLACEHOLDER.sub(replacement, tool.confirm)


def _value_text(value: Any) -> str:
    """Return a value as it is shown inside of a question: texts in quotes, a long list by its first items."""
    if value is None or value in ([], ()):
        return "(none)"
    every = items(value)
    text = ", ".join(
        f'"{_value_part(each)}"' if isinstance(each, str) else _value_part(text_of("", each))
        for each in every[:MAX_ITEMS]
    )
    return f"{text} and {len(every) - MAX_ITEMS:,} more" if len(every) > MAX_ITEMS else text


def _value_part(text: str) -> str:
    escaped = _printable(text[:MAX_VALUE].replace("\\", "\\\\").replace('"', '\\"'), keep="")
    return f"{escaped}[... {len(text) - MAX_VALUE:,} characters more]" if len(text) > MAX_VALUE else escaped


def command_text(argv: tuple[str, ...]) -> str:
    """Write a command line as it would be typed. What does not print is escaped: it could hide what comes after it."""
    return " ".join(shlex.quote(each) if all(map(_shows, each)) else f"$'{_escaped(each)}'" for each in argv)


def _shows(character: str) -> bool:
    """Whether a person sees that a character is there."""
    return character.isprintable() and character not in _BLANK


def _escaped(text: str) -> str:
    return _printable(text.replace("\\", "\\\\").replace("'", "\\'"), keep="")


def _printable(text: str, *, keep: str) -> str:
    return "".join(each if _shows(each) or each in keep else each.encode("unicode_escape").decode() for each in text)


def _shortened(text: str, most: int) -> str:
    """Leave out the middle of what is too long: what matters may stand at either end."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[... {len(text) - most:,} characters more ...]\n{text[-(most // 2) :]}"


def _place(prepared: Invocation, commands: Commands) -> str:
    docker = commands.policy.docker
    folder = prepared.cwd or base_of(docker)
    if docker is None:
        return command_text((folder,)) if folder else "the folder of the server, which is no longer there"
    return f"a container of {docker.image}{f', {command_text((folder,))}' if folder else ''}"


def _digest(prepared: Invocation) -> str:
    what = json.dumps([prepared.argv, prepared.cwd, prepared.stdin])
    return hashlib.sha256(what.encode()).hexdigest()[:32]


def _nobody(tool: CommandTool, risk: Risk) -> str:
    return (
        f"Not run: {tool.name} ({risk.value}) needs the approval of a person, and this client offers no way to ask one "
        "(MCP elicitation). Sending it again will not help. Tell the user, who can run it in a client that can ask, "
        "approve it in the policy of this server, or start the server with --headless-approve."
    )


def _refused(tool: CommandTool, action: str) -> str:
    said = "the user declined it" if action == "decline" else "the user dismissed the question without an answer"
    return f"Not run: {said} ({tool.name}). Ask the user what to do instead; do not send the same call again unasked."
