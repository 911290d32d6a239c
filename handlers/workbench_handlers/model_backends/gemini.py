"""How the Gemini CLI is asked: the question by standard input, the answer as events, nothing but reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command

from workbench_handlers.model_backends.adapter import Program, launched, model_limits
from workbench_handlers.model_backends.environment import child_environment, set_by_project, set_by_user
from workbench_handlers.model_backends.events import Ended, Event, EventReader, ToolEnded, ToolUsed, interpreted
from workbench_handlers.model_backends.failure_kinds import NOT_READ_ONLY
from workbench_handlers.model_backends.gemini_files import users_home
from workbench_handlers.model_backends.question import Question
from workbench_handlers.model_backends.readonly import TOOLS, Restriction, restrict

MAX_PROMPT_LENGTH: Final = 8 * 1024 * 1024
"""Bytes of a prompt: the CLI cuts off what is longer, and goes on without a word."""


HARMLESS: Final = {*TOOLS, "read_many_files", "search_file_content", "update_topic", "complete_task"}
"""Its tools, in old versions and new, that read or touch nothing but the conversation."""


class Gemini:
    """The Gemini CLI."""

    name: Final = "gemini"

    def command(self, program: Program, question: Question, model: str, *, environ: Mapping[str, str]) -> Command:
        """Return the command line, and write the files that restrict it to reading.

        Raises:
            ToolError: it is too old, the prompt is too long, or nothing would keep it from writing.
        """
        if "stream-json" not in program.features:
            message = f"{program.name} {program.version} has no `--output-format stream-json`"
            raise ToolError(
                f"{message}: install a newer one with npm install -g @google/gemini-cli", code="GEMINI_CLI_ERROR"
            )
        if len(question.prompt.encode("utf-8", "replace")) > MAX_PROMPT_LENGTH:
            raise ToolError(
                f"the prompt is longer than {MAX_PROMPT_LENGTH:,} bytes: name files by path instead of quoting them",
                code="INVALID_ARGUMENT",
            )
        home = users_home(environ)
        known = set_by_user(home) | {name: value for name, value in environ.items() if value}
        # Its own second process, for a larger heap, would only delay everything.
        env = child_environment(known, program.path, question.folder) | {"GEMINI_CLI_NO_RELAUNCH": "true"}
        restriction = restrict(program, known, Path(environ["TMPDIR"]), project=question.folder)
        env = dict.fromkeys(set_by_project(question.folder, home), "") | env
        if restriction.is_untrusted:
            env["GEMINI_CLI_TRUST_WORKSPACE"] = "false"
        if restriction.home is not None:
            env["GEMINI_CLI_HOME"] = str(restriction.home)
        elif "GEMINI_CLI_HOME" in environ:
            env["GEMINI_CLI_HOME"] = environ["GEMINI_CLI_HOME"]
        return Command(
            argv=(*launched(program.path), *_flags(program, model, restriction)),
            env=env,
            cwd=str(question.folder),
            stdin=question.prompt,
            timeout_s=question.timeout_s,
            limits=model_limits(question.timeout_s),
            access=restriction.access,
        )

    def reader(self) -> EventReader:
        """Give what understands its `stream-json`."""
        return EventReader(_Watching())


class _Watching:
    """One run: a tool that does more than read, and was carried out nevertheless, ends it."""

    def __init__(self) -> None:
        self._used: dict[str, str] = {}

    def __call__(self, data: Mapping[str, Any]) -> Iterable[Event] | None:
        events = interpreted(data)
        for event in events or ():
            if isinstance(event, ToolUsed) and event.name not in HARMLESS:
                self._used[event.id] = event.name
            elif isinstance(event, ToolEnded) and (name := self._used.pop(event.id, "")) and event.ok:
                return [Ended(False, f"it was stopped: it used {name}, which does more than read", NOT_READ_ONLY)]
        return events


def _flags(program: Program, model: str, restriction: Restriction) -> tuple[str, ...]:
    def known(feature: str, *flags: str) -> tuple[str, ...]:
        return flags if feature in program.features else ()

    return (
        *("-o", "stream-json"),
        *(("-m", model) if model else ()),
        *(() if restriction.is_untrusted else known("skip-trust", "--skip-trust")),
        *known("approval-mode", "--approval-mode", "default"),
        *(("--admin-policy", str(restriction.policy)) if restriction.policy else ()),
        *known("extensions", "-e", "none"),
        *known("allowed-mcp-server-names", "--allowed-mcp-server-names", "none"),
    )
