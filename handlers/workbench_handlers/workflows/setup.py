"""`setup_workflows`: install packaged workflows and their slash commands in a project."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolmason_runtime import Prefix, ServerInfo, ToolCall

from workbench_handlers.state import roots_for
from workbench_handlers.workflows import settings
from workbench_handlers.workflows.command_file import SETUP, setup_command, workflow_file
from workbench_handlers.workflows.data import SETUP_NAMES, Host, hosts, workflows
from workbench_handlers.workflows.writing import (
    CREATED,
    EXISTS,
    PlannedFile,
    plan_file,
    project_directory,
    with_owner_directory,
    write_files,
)
from workbench_handlers.workspace.roots import Root
from workbench_server.workflows.models import SetupWorkflowsParams, SetupWorkflowsResult, WorkflowFiles


@dataclass(frozen=True, slots=True)
class _Names:
    """The prefixes and directories of one call."""

    host: Host
    command: Prefix
    workflow: Prefix
    include_commands: bool

    def workflow_path(self, name: str) -> str:
        return f"{settings.workflow_directory(self.host)}/{self.workflow.text}{name}.md"

    def command_path(self, name: str) -> str:
        return f"{settings.command_directory(self.host)}/{self.command.text}{name}{self.host.suffix}"


async def setup_workflows(params: SetupWorkflowsParams, call: ToolCall) -> SetupWorkflowsResult:
    """Write the selected workflows and their commands.

    Raises:
        ToolError: a prefix or the directory is not allowed, or the user did not approve.
    """
    names = _Names(
        hosts()[params.host],
        settings.command_prefix(params.command_prefix),
        settings.workflow_prefix(params.workflow_prefix),
        bool(params.include_commands),
    )
    selected = _selected(params.workflows)
    roots = await roots_for(call)
    base = await asyncio.to_thread(project_directory, params.output_dir, roots)

    def plan() -> dict[str, tuple[PlannedFile, ...]]:
        known = [name for name in selected if name in SETUP_NAMES]
        return {name: _plan(call, name, names, base, roots, overwrite=bool(params.overwrite)) for name in known}

    files = await asyncio.to_thread(plan)
    await write_files(call, [file for group in files.values() for file in group], show_text=False)
    entries = [_entry(name, names, files.get(name, ())) for name in selected]
    created = [entry for entry in entries if entry.reason is None]
    skipped = [entry for entry in entries if entry.reason is not None]
    warnings = [*names.command.warnings, *names.workflow.warnings]
    return SetupWorkflowsResult(
        success=bool(created),
        workflows_created=created,
        skipped=skipped,
        message=_message(list(files.values()), skipped=len(skipped), include_commands=names.include_commands),
        warnings=list(dict.fromkeys(warnings)) or None,
    )


def _selected(workflows: Sequence[str] | None) -> list[str]:
    """Return the names once each, with those that `all` stands for."""
    names = SETUP_NAMES[:1] if workflows is None else workflows
    return list(dict.fromkeys(known for name in names for known in (SETUP_NAMES if name == "all" else (name,))))


def _plan(
    call: ToolCall, name: str, names: _Names, base: Path, roots: Sequence[Root], *, overwrite: bool
) -> tuple[PlannedFile, ...]:
    """Return the workflow file and the command file of one workflow."""
    style = call.state(ServerInfo).style
    workflow = settings.with_directories(workflows(style)[name].complete.text)
    texts = {names.workflow_path(name): workflow_file(workflow, tool=SETUP)}
    if names.include_commands:
        texts[names.command_path(name)] = setup_command(name, names.command.text, names.host, style)
    return tuple(
        plan_file(
            call,
            base,
            path,
            text,
            with_owner_directory(roots, path.rpartition("/")[0]),
            overwrite=overwrite,
        )
        for path, text in texts.items()
    )


def _entry(name: str, names: _Names, files: tuple[PlannedFile, ...]) -> WorkflowFiles:
    status, reason = _status(name, files)
    paths = [names.workflow_path(name), names.command_path(name)]
    shown = [file.shown for file in files] or paths
    return WorkflowFiles(
        name=name,
        prefixed_name=f"{names.workflow.text}{name}",
        workflow_path=shown[0],
        command_path=shown[1] if names.include_commands else None,
        status=status,
        reason=reason,
    )


def _status(name: str, files: tuple[PlannedFile, ...]) -> tuple[str, str | None]:
    """Return the status of a workflow, and the reason if no file was created."""
    if not files:
        return "skipped", f"Unknown workflow type: {name}. Available: {', '.join(SETUP_NAMES)}, all"
    outcomes = [file.outcome for file in files]
    is_same = len(set(outcomes)) == 1
    status = outcomes[0] if is_same else f"workflow {outcomes[0]}, command {outcomes[1]}"
    if CREATED in outcomes:
        return status, None
    return status, "The files exist: set overwrite to replace them" if is_same and outcomes[0] == EXISTS else status


def _message(files: Sequence[tuple[PlannedFile, ...]], *, skipped: int, include_commands: bool) -> str:
    workflow_count, command_count = (
        sum(group[index].outcome == CREATED for group in files if index < len(group)) for index in (0, 1)
    )
    if not workflow_count and not command_count:
        message = "No workflows were created"
    else:
        commands = f" and {command_count} command(s)" if include_commands else ""
        message = f"Successfully set up {workflow_count} workflow(s){commands}"
    return f"{message}, skipped {skipped} item(s)" if skipped else message
