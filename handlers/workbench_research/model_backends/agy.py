"""Adapter of the Antigravity CLI, `agy`: its command line and its events.

It is untested with the real program, which cannot be installed without an account. It follows the help text and
published recordings of its events (1.1.12 to 1.2): one JSON object a line, where `event` names the member with the
data: `init`, then `step_update` for each step, then one `result`. Events in Gemini CLI's form are parsed as well.

The program has no list of allowed tools. `--mode plan` prevents edits of files and `--sandbox` restricts its terminal,
but both are incomplete, and the account's settings may allow more. So the events are checked too: a permission mode
without approval, or a tool that can write, ends the run at once. The effects of that tool remain, so this program is
used only if it is selected by name, see `detect`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command

from workbench_research.model_backends.adapter import Program, launch_argv, model_limits
from workbench_research.model_backends.environment import child_environment
from workbench_research.model_backends.events import (
    Event,
    EventReader,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    WarningEvent,
    get_count,
    get_object,
    get_text,
    parse_event,
)
from workbench_research.model_backends.failure_kinds import NOT_READ_ONLY
from workbench_research.model_backends.question import Question

READ_TOOLS: Final = {
    "view_file": "read_file",
    "view_file_outline": "read_file",
    "view_code_item": "read_file",
    "view_content_chunk": "read_file",
    "list_dir": "list_directory",
    "grep_search": "grep_search",
    "codebase_search": "grep_search",
    "find_by_name": "glob",
}
"""Tools that only read, with their names in Gemini CLI."""

CONVERSATION_TOOLS: Final = {"finish", "task_boundary", "notify_user", "update_plan", "list_permissions"}
"""Tools that change only the conversation."""

_SAFE_PERMISSION_MODES: Final = {"", "request-review", "plan", "strict"}
"""Permission modes that refuse tools that need approval, since nobody is there to approve."""

_API_KEY: Final = "ANTIGRAVITY_API_KEY"

_PATHS: Final = ("AbsolutePath", "File", "FilePath", "TargetFile", "Path", "path", "file_path")
_DIRECTORIES: Final = ("DirectoryPath", "SearchDirectory", "SearchPath", "dir_path")
_PATTERNS: Final = ("Query", "Pattern")
_EXTRA_TIMEOUT_S: Final = 60.0
"""Seconds added to our limit for its own, at which it reports half an answer as a success."""


class AgyAdapter:
    """The Antigravity CLI in its most restricted mode."""

    @property
    def name(self) -> str:
        """`agy`."""
        return "agy"

    def command(self, program: Program, question: Question, model: str, *, environ: Mapping[str, str]) -> Command:
        """Return the command. The prompt is stdin: a JSON event where the program accepts events, else plain text.

        Raises:
            ToolError: the program has no planning mode, in which it does not edit files, or the question is for the
                web: without a list of allowed tools, the model could also read files and send them to a site.
        """
        if question.searches_web:
            raise ToolError(
                "web search needs the Gemini CLI: `agy` has no list of allowed tools, so it cannot be restricted to "
                "searching. Install it with `npm install -g @google/gemini-cli`, and set WORKBENCH_BACKEND=gemini",
                code="GEMINI_CLI_ERROR",
            )
        missing = {"plan", "stream-json", "add-dir"} - program.features
        if missing:
            raise ToolError(
                f"{program.path} (version {program.version}) lacks {', '.join(sorted(missing))}, so it cannot "
                "be restricted to reading: run `agy update`",
                code="GEMINI_CLI_ERROR",
            )
        takes_events = "input-format" in program.features
        flags = ["--output-format=stream-json", "--mode=plan", f"--add-dir={question.directory}"]
        flags += ["--input-format=stream-json"] if takes_events else []
        flags += ["--sandbox"] if "sandbox" in program.features else []
        flags += [f"--model={model}"] if model else []
        if "print-timeout" in program.features:
            flags.append(f"--print-timeout={math.ceil(question.timeout_s + _EXTRA_TIMEOUT_S)}s")
        turn = json.dumps({"event": "user", "message": {"content": question.prompt}}, ensure_ascii=False) + "\n"
        return Command(
            argv=(*launch_argv(program.path), *flags),
            env=child_environment(environ, program.path, question.directory)
            | ({_API_KEY: environ[_API_KEY]} if environ.get(_API_KEY) else {}),
            cwd=str(question.directory),
            stdin=turn if takes_events else question.prompt,
            timeout_s=question.timeout_s,
            limits=model_limits(question.timeout_s),
        )

    def reader(self, *, searches_web: bool = False) -> EventReader:
        """Return a parser for the output of one run, which never searches the web."""
        del searches_web
        return EventReader(_RunParser())


class _RunParser:
    """Parser of the events of one run.

    The answer is the text of `result`, or of the last step if that is empty. Texts of earlier steps are comments
    between tool calls.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._used: set[str] = set()
        self._violation = ""

    def __call__(self, data: Mapping[str, Any]) -> Iterable[Event] | None:
        kind = data.get("event")
        if not isinstance(kind, str):
            return parse_event(data)
        # Some builds write the fields beside `event` instead of below it.
        part = get_object(data, kind) or data
        match kind:
            case "init":
                return self._parse_init(part)
            case "step_update":
                return self._parse_step(part)
            case "result":
                return self._parse_result(part)
        return []

    def _parse_init(self, part: Mapping[str, Any]) -> Iterable[Event]:
        mode = get_text(part, "permission_mode")
        if mode not in _SAFE_PERMISSION_MODES:
            return self._stop(f"its permission mode {mode} runs tools without approval")
        return [RunStarted(get_text(part, "model"))]

    def _parse_step(self, part: Mapping[str, Any]) -> Iterable[Event]:
        index = str(part.get("step_index", ""))
        tool = get_text(part, "tool_name") or get_text(get_object(part, "tool_info"), "name")
        if tool or part.get("step_type") in ("tool", "subagent"):
            return self._parse_tool(index, tool or "a tool without a name", part)
        # The last update of a step may lack its type; steps of other types are not part of the answer.
        if part.get("step_type") == "agent_response" or ("step_type" not in part and index in self._texts):
            self._append_text(index, get_text(part, "text_delta"), is_done=part.get("state") == "DONE")
            error = get_text(get_object(part, "error"), "message") or get_text(part, "error")
            return [WarningEvent(error)] if part.get("state") == "ERROR" and error else []
        return []

    def _append_text(self, index: str, delta: str, *, is_done: bool) -> None:
        text = self._texts.setdefault(index, "")
        # The last update has the rest of the text or, in some builds, the whole text again.
        if not (is_done and text and delta == text):
            self._texts[index] = text + delta

    def _parse_tool(self, index: str, name: str, part: Mapping[str, Any]) -> Iterable[Event]:
        state, info = get_text(part, "state"), get_object(part, "tool_info")
        error = get_text(get_object(info, "error"), "message") or get_text(info, "error") or get_text(part, "error")
        if name not in READ_TOOLS and name not in CONVERSATION_TOOLS and state != "ERROR":
            return self._stop(f"it used {name}, which can write")
        events: list[Event] = []
        if index not in self._used:
            self._used.add(index)
            events.append(
                ToolStarted(index, READ_TOOLS.get(name, name), _gemini_parameters(get_object(info, "parameters")))
            )
        if state in ("DONE", "ERROR"):
            events.append(ToolFinished(index, state == "DONE" and not error, error))
        return events

    def _parse_result(self, part: Mapping[str, Any]) -> Iterable[Event]:
        if self._violation:
            return []
        error = get_text(part, "error") or get_text(get_object(part, "error"), "message")
        kind = get_text(get_object(part, "error"), "status") or get_text(get_object(part, "error"), "type")
        actions = part.get("denied_actions")
        actions = actions if isinstance(actions, list) else []
        denied = [_action_name(action) for action in actions if isinstance(action, dict | str)]
        answer = get_text(part, "response") or next(reversed(self._texts.values()), "")
        is_ok = get_text(part, "status").upper() in ("SUCCESS", "OK") and not error
        if is_ok and denied and not answer.strip():
            is_ok, error = False, f"it gave no answer because it was denied {', '.join(denied)}"
        events: list[Event] = [WarningEvent(f"agy was denied: {action}") for action in denied]
        if is_ok and answer:
            events.append(TextDelta(answer))
        tokens = get_count(get_object(part, "usage"), "total_tokens")
        events.append(RunFinished(is_ok, error, kind, tokens=tokens, tool_calls=len(self._used)))
        return events

    def _stop(self, reason: str) -> Iterable[Event]:
        if self._violation:
            return []
        self._violation = reason
        return [RunFinished(False, f"agy was stopped: {reason}", NOT_READ_ONLY, tool_calls=len(self._used))]


def _gemini_parameters(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool's parameters, with paths and patterns under their names in Gemini CLI."""
    result = dict(parameters)
    for names, name in ((_PATHS, "file_path"), (_DIRECTORIES, "dir_path"), (_PATTERNS, "pattern")):
        value = next((parameters[key] for key in names if isinstance(parameters.get(key), str)), None)
        if value is not None:
            result[name] = value
    return result


def _action_name(action: Mapping[str, Any] | str) -> str:
    if isinstance(action, str):
        return action
    return get_text(action, "display_name") or get_text(action, "action") or "an action"
