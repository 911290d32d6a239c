"""Adapter of the Gemini CLI: the question as stdin, the answer as events, read-only tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command

from workbench_research.backends.failure_kinds import NOT_READ_ONLY
from workbench_research.backends.question import Question
from workbench_research.gemini_files import users_home
from workbench_research.model_backends.adapter import Program, launch_argv, model_limits
from workbench_research.model_backends.environment import child_environment, project_variables, user_variables
from workbench_research.model_backends.events import (
    Event,
    EventReader,
    RunFinished,
    ToolFinished,
    ToolStarted,
    parse_event,
)
from workbench_research.model_backends.read_only import TOOLS, WEB_TOOLS, Restriction, restrict

MAX_PROMPT_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of a prompt; the CLI silently truncates longer ones."""


ALLOWED_TOOLS: Final = {*TOOLS, "read_many_files", "search_file_content", "update_topic", "complete_task"}
"""Tools of all versions that read, or that change only the conversation."""
ALLOWED_WEB_TOOLS: Final = {*WEB_TOOLS, "update_topic", "complete_task"}
"""Tools for a question that is answered by a search of the web."""


class GeminiAdapter:
    """The Gemini CLI."""

    name: Final = "gemini"

    def command(self, program: Program, question: Question, model: str, *, environ: Mapping[str, str]) -> Command:
        """Return the command, and write the files that restrict the program to reading.

        Raises:
            ToolError: the program is too old, the prompt is too long, or writing could not be prevented.
        """
        if "stream-json" not in program.features:
            message = f"{program.name} {program.version} has no `--output-format stream-json`"
            raise ToolError(
                f"{message}: install a newer one with npm install -g @google/gemini-cli", code="GEMINI_CLI_ERROR"
            )
        if len(question.prompt.encode("utf-8", "replace")) > MAX_PROMPT_BYTES:
            raise ToolError(
                f"the prompt is longer than {MAX_PROMPT_BYTES:,} bytes: name files by path instead of quoting them",
                code="INVALID_ARGUMENT",
            )
        directory = question.directory
        if question.searches_web:
            # No file of the project is within reach, not even by a reference in the prompt.
            directory = Path(environ["TMPDIR"], "empty")
            directory.mkdir()
        home = users_home(environ)
        variables = user_variables(home) | {name: value for name, value in environ.items() if value}
        # The CLI would start itself again for a larger heap, which takes a second.
        env = child_environment(variables, program.path, question.directory) | {"GEMINI_CLI_NO_RELAUNCH": "true"}
        tools = WEB_TOOLS if question.searches_web else None
        restriction = restrict(program, variables, Path(environ["TMPDIR"]), project=directory, allowed=tools)
        env = dict.fromkeys(project_variables(directory, home), "") | env
        if restriction.is_untrusted:
            env["GEMINI_CLI_TRUST_WORKSPACE"] = "false"
        if restriction.home is not None:
            env["GEMINI_CLI_HOME"] = str(restriction.home)
        elif "GEMINI_CLI_HOME" in environ:
            env["GEMINI_CLI_HOME"] = environ["GEMINI_CLI_HOME"]
        return Command(
            argv=(*launch_argv(program.path), *_flags(program, model, restriction)),
            env=env,
            cwd=str(directory),
            stdin=question.prompt,
            timeout_s=question.timeout_s,
            limits=model_limits(question.timeout_s),
            access=restriction.access,
        )

    def reader(self, *, searches_web: bool = False) -> EventReader:
        """Return a parser for one run's `stream-json`."""
        return EventReader(_RunParser(ALLOWED_WEB_TOOLS if searches_web else ALLOWED_TOOLS))


class _RunParser:
    """Parser of one run: it ends the run after a successful call of a tool that is not allowed."""

    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = allowed
        self._used: dict[str, str] = {}

    def __call__(self, data: Mapping[str, Any]) -> Iterable[Event] | None:
        events = parse_event(data)
        for event in events or ():
            if isinstance(event, ToolStarted) and event.name not in self._allowed:
                self._used[event.id] = event.name
            elif isinstance(event, ToolFinished) and (name := self._used.pop(event.id, "")) and event.ok:
                why = "which can write" if self._allowed is ALLOWED_TOOLS else "which is not a web search"
                return [RunFinished(False, f"it was stopped: it used {name}, {why}", NOT_READ_ONLY)]
        return events


def _flags(program: Program, model: str, restriction: Restriction) -> tuple[str, ...]:
    def optional(feature: str, *flags: str) -> tuple[str, ...]:
        return flags if feature in program.features else ()

    return (
        *("-o", "stream-json"),
        *(("-m", model) if model else ()),
        *(() if restriction.is_untrusted else optional("skip-trust", "--skip-trust")),
        *optional("approval-mode", "--approval-mode", "default"),
        *(("--admin-policy", str(restriction.policy)) if restriction.policy else ()),
        *optional("extensions", "-e", "none"),
        *optional("allowed-mcp-server-names", "--allowed-mcp-server-names", "none"),
    )
