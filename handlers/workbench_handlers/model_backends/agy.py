"""Asks the Antigravity CLI, `agy`: how it is started, and how what it writes is read.

None of this was tried with the real program, of which no package can be installed without an account. It rests on its
help text and on its published events as others have recorded them (1.1.12 to 1.2): an object a line, `event` naming
the part that follows, `init`, then `step_update` for each step of the work, then one `result`. Events of the Gemini
CLI's shape are understood as well.

It has no list of allowed tools. `--mode plan` keeps it from editing files and `--sandbox` restricts its terminal, but
neither is a wall, and the account's own settings may allow more. So the run is also watched: a permission mode that
asks nobody, and a tool that does more than read, end it at once. What such a tool did by then is done: whoever wants
this program has to name it, see `probing`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command

from workbench_handlers.model_backends.adapter import Program, launched, model_limits
from workbench_handlers.model_backends.environment import child_environment
from workbench_handlers.model_backends.events import (
    Ended,
    Event,
    EventReader,
    Said,
    Started,
    ToolEnded,
    ToolUsed,
    Warned,
    count_of,
    interpreted,
    part_of,
    text_of,
)
from workbench_handlers.model_backends.failure_kinds import NOT_READ_ONLY
from workbench_handlers.model_backends.question import Question

READING: Final = {
    "view_file": "read_file",
    "view_file_outline": "read_file",
    "view_code_item": "read_file",
    "view_content_chunk": "read_file",
    "list_dir": "list_directory",
    "grep_search": "grep_search",
    "codebase_search": "grep_search",
    "find_by_name": "glob",
}
"""Its tools that only read, and what the Gemini CLI calls them."""

HARMLESS: Final = {"finish", "task_boundary", "notify_user", "update_plan", "list_permissions"}
"""Its tools that touch nothing but the conversation."""

_ASKS: Final = {"", "request-review", "plan", "strict"}
"""Permission modes in which a tool that may do harm is refused, as nobody is there to be asked."""

_KEY: Final = "ANTIGRAVITY_API_KEY"

_PATHS: Final = ("AbsolutePath", "File", "FilePath", "TargetFile", "Path", "path", "file_path")
_FOLDERS: Final = ("DirectoryPath", "SearchDirectory", "SearchPath", "dir_path")
_WORDS: Final = ("Query", "Pattern")
_LONGER_S: Final = 60.0
"""What its own limit exceeds ours by: at its own it calls half an answer a success."""


class AgyAdapter:
    """The Antigravity CLI, held to reading as far as it can be."""

    @property
    def name(self) -> str:
        """`agy`."""
        return "agy"

    def command(self, program: Program, question: Question, model: str, *, environ: Mapping[str, str]) -> Command:
        """Give what to start. The prompt is standard input: as a turn of its events where it takes them.

        Raises:
            ToolError: it offers no mode in which it plans and does not edit.
        """
        missing = {"plan", "stream-json", "add-dir"} - program.features
        if missing:
            raise ToolError(
                f"{program.path} (version {program.version}) does not offer {', '.join(sorted(missing))}, so it cannot "
                "be held to reading: run `agy update`",
                code="GEMINI_CLI_ERROR",
            )
        takes_events = "input-format" in program.features
        flags = ["--output-format=stream-json", "--mode=plan", f"--add-dir={question.folder}"]
        flags += ["--input-format=stream-json"] if takes_events else []
        flags += ["--sandbox"] if "sandbox" in program.features else []
        flags += [f"--model={model}"] if model else []
        if "print-timeout" in program.features:
            flags.append(f"--print-timeout={math.ceil(question.timeout_s + _LONGER_S)}s")
        turn = json.dumps({"event": "user", "message": {"content": question.prompt}}, ensure_ascii=False) + "\n"
        return Command(
            argv=(*launched(program.path), *flags),
            env=child_environment(environ, program.path, question.folder)
            | ({_KEY: environ[_KEY]} if environ.get(_KEY) else {}),
            cwd=str(question.folder),
            stdin=turn if takes_events else question.prompt,
            timeout_s=question.timeout_s,
            limits=model_limits(question.timeout_s),
        )

    def reader(self) -> EventReader:
        """Give what understands one run's output."""
        return EventReader(_Reading())


class _Reading:
    """One run: what its steps have been so far.

    The answer is what `result` repeats of it. Where that is empty, it is what the last step said; what was said in
    between, before further tools, is talk.
    """

    def __init__(self) -> None:
        self._said: dict[str, str] = {}
        self._used: set[str] = set()
        self._breach = ""

    def __call__(self, data: Mapping[str, Any]) -> Iterable[Event] | None:
        kind = data.get("event")
        if not isinstance(kind, str):
            return interpreted(data)
        # Some builds write the fields beside `event` and not below it.
        part = part_of(data, kind) or data
        match kind:
            case "init":
                return self._begun(part)
            case "step_update":
                return self._step(part)
            case "result":
                return self._ended(part)
        return []

    def _begun(self, part: Mapping[str, Any]) -> Iterable[Event]:
        mode = text_of(part, "permission_mode")
        if mode not in _ASKS:
            return self._broken(f"its permission mode is {mode}, in which tools run without asking")
        return [Started(text_of(part, "model"))]

    def _step(self, part: Mapping[str, Any]) -> Iterable[Event]:
        index = str(part.get("step_index", ""))
        name = text_of(part, "tool_name") or text_of(part_of(part, "tool_info"), "name")
        if name or part.get("step_type") in ("tool", "subagent"):
            return self._tool(index, name or "a tool without a name", part)
        # The last update of a step may leave its type out, and those of other types are not the answer.
        if part.get("step_type") == "agent_response" or ("step_type" not in part and index in self._said):
            self._say(index, text_of(part, "text_delta"), is_done=part.get("state") == "DONE")
            error = text_of(part_of(part, "error"), "message") or text_of(part, "error")
            return [Warned(error)] if part.get("state") == "ERROR" and error else []
        return []

    def _say(self, index: str, delta: str, *, is_done: bool) -> None:
        said = self._said.setdefault(index, "")
        # The end of a step is its last piece or, in some builds, all of it again.
        if not (is_done and said and delta == said):
            self._said[index] = said + delta

    def _tool(self, index: str, name: str, part: Mapping[str, Any]) -> Iterable[Event]:
        state, info = text_of(part, "state"), part_of(part, "tool_info")
        error = text_of(part_of(info, "error"), "message") or text_of(info, "error") or text_of(part, "error")
        if name not in READING and name not in HARMLESS and state != "ERROR":
            return self._broken(f"it used {name}, which does more than read")
        events: list[Event] = []
        if index not in self._used:
            self._used.add(index)
            events.append(ToolUsed(index, READING.get(name, name), _parameters(part_of(info, "parameters"))))
        if state in ("DONE", "ERROR"):
            events.append(ToolEnded(index, state == "DONE" and not error, error))
        return events

    def _ended(self, part: Mapping[str, Any]) -> Iterable[Event]:
        if self._breach:
            return []
        error = text_of(part, "error") or text_of(part_of(part, "error"), "message")
        kind = text_of(part_of(part, "error"), "status") or text_of(part_of(part, "error"), "type")
        given = part.get("denied_actions")
        denied = [_denied(each) for each in given if isinstance(each, dict | str)] if isinstance(given, list) else []
        answer = text_of(part, "response") or next(reversed(self._said.values()), "")
        is_ok = text_of(part, "status").upper() in ("SUCCESS", "OK") and not error
        if is_ok and denied and not answer.strip():
            is_ok, error = False, f"it was not allowed {', '.join(denied)}, and gave no answer without"
        events: list[Event] = [Warned(f"agy was not allowed: {each}") for each in denied]
        if is_ok and answer:
            events.append(Said(answer))
        tokens = count_of(part_of(part, "usage"), "total_tokens")
        events.append(Ended(is_ok, error, kind, tokens=tokens, tool_calls=len(self._used)))
        return events

    def _broken(self, why: str) -> Iterable[Event]:
        if self._breach:
            return []
        self._breach = why
        return [Ended(False, f"agy was stopped: {why}", NOT_READ_ONLY, tool_calls=len(self._used))]


def _parameters(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a tool's parameters with files and folders under the names that the Gemini CLI has for them."""
    named = dict(given)
    for names, name in ((_PATHS, "file_path"), (_FOLDERS, "dir_path"), (_WORDS, "pattern")):
        found = next((given[each] for each in names if isinstance(given.get(each), str)), None)
        if found is not None:
            named[name] = found
    return named


def _denied(action: Mapping[str, Any] | str) -> str:
    if isinstance(action, str):
        return action
    return text_of(action, "display_name") or text_of(action, "action") or "an action"
