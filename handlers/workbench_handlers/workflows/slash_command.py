"""`generate_slash_command`: write a slash command with packaged or custom steps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from toolmason_runtime import ServerInfo, ToolCall, ToolError

from workbench_handlers.state import roots_for
from workbench_handlers.workflows import settings
from workbench_handlers.workflows.command_file import GENERATE_COMMAND, check_visible, command_file, command_text
from workbench_handlers.workflows.data import Host, custom_command, hosts, workflows
from workbench_handlers.workflows.writing import plan_file, with_owner_directory, write_file
from workbench_server.workflows.models import GenerateSlashCommandParams, SlashCommandResult

MAX_STEP_CHARS: Final = 2_000
"""Maximum characters of one step."""
CUSTOM: Final = "custom"


async def generate_slash_command(params: GenerateSlashCommandParams, call: ToolCall) -> SlashCommandResult:
    """Write the command after the user's approval.

    Raises:
        ToolError: the texts, the prefix or the path are not allowed, the file exists, or the user did not approve.
    """
    host = hosts()[params.host]
    prefix = settings.command_prefix(params.prefix, "prefix")
    name = f"{prefix.text}{params.command_name}"
    content, argument_hint = _content(params, name, host, call.state(ServerInfo).style)
    directory = settings.command_directory(host)
    path = params.save_to or f"{directory}/{name}{host.suffix}"
    if not path.endswith(host.suffix):
        message = f"`save_to` must end with `{host.suffix}`, the command files of this client"
        raise ToolError(message, code="INVALID_ARGUMENT")
    roots = await roots_for(call)
    file = await asyncio.to_thread(
        plan_file,
        *(call, roots[0].path, path, content, with_owner_directory(roots, directory)),
        overwrite=bool(params.overwrite),
    )
    await write_file(call, file, "choose another name, or set overwrite to replace it")
    return SlashCommandResult(
        command_path=params.save_to or file.shown,
        command_content=content,
        usage_example=f"/{name} {argument_hint}",
        prefixed_name=name,
        base_name=params.command_name,
        warnings=list(prefix.warnings) or None,
    )


def _content(params: GenerateSlashCommandParams, name: str, host: Host, style: str) -> tuple[str, str]:
    """Return the content of the command file and the argument hint."""
    check_visible("description", params.description)
    if params.workflow_type == CUSTOM:
        text, argument_hint = custom_command(), "<arguments>"
        steps = _numbered(params.steps or ())
    else:
        if params.steps:
            message = f"`steps` belongs to workflow_type `{CUSTOM}`: select it, or leave out `steps`"
            raise ToolError(message, code="INVALID_ARGUMENT")
        workflow, steps = workflows(style)[params.workflow_type], ""
        text, argument_hint = workflow.command, workflow.argument_hint
    text = command_text(text, name=name, description=params.description, steps=steps)
    content = command_file(
        host,
        settings.with_directories(text),
        tool=GENERATE_COMMAND,
        description=params.description,
        argument_hint=argument_hint,
    )
    return content, argument_hint


def _numbered(steps: Sequence[str]) -> str:
    if not steps:
        message = f"`steps` is required for workflow_type `{CUSTOM}`: send the steps in order, one text each"
        raise ToolError(message, code="INVALID_ARGUMENT")
    for number, step in enumerate(steps, 1):
        check_visible(f"steps[{number - 1}]", step, allowed="\n\t")
        if len(step) > MAX_STEP_CHARS:
            message = f"step {number} has {len(step):,} characters, at most {MAX_STEP_CHARS:,} are allowed: split it"
            raise ToolError(message, code="INVALID_ARGUMENT")
    texts = [step.strip().replace("\n", "\n   ") for step in steps]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))
