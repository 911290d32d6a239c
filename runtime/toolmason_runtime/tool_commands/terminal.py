"""The terminal of a person: safe text, questions and progress."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, TextIO

from toolmason_runtime.tool_commands.values import number_of

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\u061c\u180e\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that move the cursor, or hide or reorder the text around them."""

MAX_LINE_BYTES: Final = 65_536
MAX_TRIES: Final = 3
"""Answers to one field of a form before the question is cancelled."""


def safe(text: str) -> str:
    r"""Return a text for a terminal: control characters are visible as `\x1b`, which nothing interprets."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def safe_json(text: str) -> str:
    """Return JSON for a terminal: control characters in its texts are escaped, so that the value is the same."""
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def note(text: str) -> None:
    """Print a line for the person, apart from the output."""
    if sys.stderr is not None:  # otherwise it would go to the output
        print(safe(text), file=sys.stderr, flush=True)  # noqa: T201  for the user


class Person:
    """The user who runs the command. Questions go to standard error, answers come from the terminal.

    Args:
        says_yes: the command line approves all that the tool asks approval for.
    """

    def __init__(self, *, says_yes: bool = False) -> None:
        self._says_yes = says_yes
        self.has_declined = False
        """Whether a question was not answered with yes."""
        self._input = _terminal_input()

    @property
    def can_answer(self) -> bool:
        """Whether there is a terminal, or the command line approves."""
        return self._says_yes or self._input is not None

    @property
    def capabilities(self) -> dict[str, Any]:
        """What a client with this person declares to a server."""
        return {"elicitation": {"form": {}, "url": {}}} if self.can_answer else {}

    def answer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask a question of MCP (`elicitation/create`) and return the answer."""
        answer = self._answer(params)
        self.has_declined |= answer["action"] != "accept"
        return answer

    async def answer_in_thread(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask a question of MCP in a thread that an interrupt does not wait for, and return the answer."""
        import asyncio  # slow to import, and the help needs no answers
        import threading

        loop = asyncio.get_running_loop()
        future: asyncio.Future[dict[str, Any]] = loop.create_future()

        def finish(answer: dict[str, Any]) -> None:
            if not future.done():
                future.set_result(answer)

        def run() -> None:
            answer = self.answer(params)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(finish, answer)

        threading.Thread(target=run, daemon=True).start()
        return await future

    def _answer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        fields = params.get("requestedSchema", {}).get("properties", {})
        if self._says_yes and not fields and params.get("mode", "form") == "form":
            return {"action": "accept", "content": {}}
        note(str(params.get("message", "")))
        if self._input is None:
            note("No answer: there is no terminal to ask on.")
            return {"action": "cancel"}
        if params.get("mode") == "url":
            note(f"Open this page: {params.get('url', '')}")
        if not fields:
            return self._decision("Approve?" if params.get("mode", "form") == "form" else "Is it open?")
        required = params["requestedSchema"].get("required", ())
        return self._form(fields, required)

    def _decision(self, question: str) -> dict[str, Any]:
        for _ in range(MAX_TRIES):
            line = self._line(f"{question} [y/N] ")
            if line is None:
                return {"action": "cancel"}
            if line.lower() in {"y", "yes"}:
                return {"action": "accept", "content": {}}
            if line.lower() in {"", "n", "no"}:
                return {"action": "decline"}
            note("Answer y or n.")
        return {"action": "cancel"}

    def _form(self, fields: Mapping[str, Any], required: Any) -> dict[str, Any]:
        content = {}
        for name, field in fields.items():
            found, value = self._field(name, field, is_required=name in required)
            if not found:
                return {"action": "cancel"}
            if value is not None:
                content[name] = value
        return {"action": "accept", "content": content}

    def _field(self, name: str, field: Mapping[str, Any], *, is_required: bool) -> tuple[bool, Any]:
        items = field.get("items", {})  # of a list of choices
        titled = (*field.get("oneOf", ()), *items.get("anyOf", ()), *items.get("oneOf", ()))
        choices = [
            *field.get("enum", ()),
            *items.get("enum", ()),
            *(each["const"] for each in titled if "const" in each),
        ]
        default = field.get("default")
        hint = f" ({', '.join(map(str, choices))})" if choices else ""
        hint += f" [{default}]" if default is not None else ""
        for _ in range(MAX_TRIES):
            line = self._line(f"{field.get('title') or field.get('description') or name}{hint}: ")
            if line is None:
                break
            if not line and (default is not None or not is_required):
                return True, default
            try:
                return True, _field_value(line, field, choices)
            except ValueError as error:
                note(f"{error}.")
        return False, None

    def _line(self, prompt: str) -> str | None:
        """Return the answer to a prompt; None at the end of the input."""
        print(safe(prompt), end="", file=sys.stderr, flush=True)  # noqa: T201  for the user
        line = _read_line(self._input) if self._input is not None else ""
        return line.strip() if line else None


def _read_line(terminal: TextIO) -> str:
    """Return a line, past the buffer of the stream: a thread that waits in it would block the end of the process."""
    return os.read(terminal.fileno(), MAX_LINE_BYTES).decode("utf-8", "replace")


def _field_value(text: str, field: Mapping[str, Any], choices: list[Any]) -> Any:
    if not text:
        raise ValueError("An answer is needed")
    kind = str(field.get("type", ""))
    if kind == "array":
        return [_choice_of(part.strip(), choices) for part in text.split(",")]
    return _choice_of(text, choices) if choices else _scalar_value(text, kind)


def _choice_of(text: str, choices: list[Any]) -> Any:
    for choice in choices:
        if text == str(choice):
            return choice
    raise ValueError(f"Answer with {', '.join(map(str, choices))}")


def _scalar_value(text: str, kind: str) -> Any:
    if kind == "boolean":
        if text.lower() not in {"y", "yes", "true", "n", "no", "false"}:
            raise ValueError("Answer y or n")
        return text.lower() in {"y", "yes", "true"}
    if kind in {"integer", "number"}:
        try:
            return number_of(text, whole=kind == "integer")
        except ValueError:
            raise ValueError("Answer a number") from None
    return text


def _terminal_input() -> TextIO | None:
    """Return the terminal on which a person can answer; None if there is none, or the question would not be seen."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    if sys.stdin is not None and sys.stdin.isatty():
        return sys.stdin
    try:
        # Standard input is a value, as in `git diff | my-server notes add --text -`.
        return open("/dev/tty", encoding="utf-8", errors="replace")  # noqa: PTH123  open until the end
    except OSError:
        return None


class Progress:
    """A bar of progress on standard error; nothing without a terminal, or without `rich`."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def update(self, done: float, total: float | None, message: str | None) -> None:
        """Show the progress of the call."""
        if not math.isfinite(done) or (self._bar is None and not self._open()):
            return
        total = total if total is not None and math.isfinite(total) else None
        self._bar.update(self._task, completed=done, total=total, description=safe(message or ""))

    def _open(self) -> bool:
        if sys.stderr is None or not sys.stderr.isatty():
            return False
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar
        except ImportError:
            return False
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=None)
        return True

    def close(self) -> None:
        """Remove the bar, before a question or the output."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
