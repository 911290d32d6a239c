r"""The Gemini CLI as a backend: the prompt as stdin, no tools, the answer as JSON events.

The program runs in an empty directory with a home of its own. The files of a question are in its prompt, where each `@`
is sent as `\@`: the CLI would replace `@path` by the content of a file.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command, Limits, Process, follow, run_to_cleanup

from workbench_research.backends.error_text import object_statuses, retry_after, without_stack
from workbench_research.backends.failure_kinds import NO_OUTPUT, AttemptError, FailureClass, Kind
from workbench_research.backends.failures import BROKEN, SPENT, TOO_LONG, class_of_http, key_hint
from workbench_research.backends.gemini_cli_home import EMPTY, POLICY, find_program, prepare
from workbench_research.backends.keys import Endpoint, Environ
from workbench_research.backends.models import Provider
from workbench_research.backends.prompt import SYSTEM, estimate_tokens, part_text, question_text
from workbench_research.backends.protocol import End, Event, Options, Part, Progress, Text, Usage
from workbench_research.backends.run_directory import run_directory
from workbench_research.redaction import excerpt

MAX_PROMPT_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of a prompt; the CLI silently truncates longer ones."""
MAX_OUTPUT_BYTES: Final = 256 * 1024 * 1024
"""A program that writes more is ended. Its output contains the prompt."""
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
EXIT_GRACE_S: Final = 3.0
"""Seconds to exit after the complete answer."""
PREPARE_TIMEOUT_S: Final = 30.0

_WEB_SEARCH: Final = "google_web_search"
_MEMORY_MB: Final = 8192  # Node's own limit is half of the machine's memory
_UMASK: Final = 0o077
_MAX_STDERR_BYTES: Final = 64 * 1024
_MAX_ERROR_CHARS: Final = 8_000
_AT_NOTE: Final = r"In the files and in the question, `\@` stands for an at sign."

_WROTE: Final = FailureClass(kind=Kind.OTHER, hint="it was stopped because it used a tool; see the details")
_TOO_MUCH: Final = FailureClass(kind=Kind.OTHER, hint=f"it was ended: it wrote more than {MAX_OUTPUT_BYTES:,} bytes")
_ACCOUNT: Final = FailureClass(
    kind=Kind.AUTH,
    hint="it no longer serves accounts of this plan: set GEMINI_API_KEY to a key of a paid plan",
)
_PROJECT: Final = FailureClass(kind=Kind.AUTH, hint="it requires a project: set GOOGLE_CLOUD_PROJECT to a project id")
_EXIT_CODES: Final[Mapping[int, FailureClass]] = {
    41: FailureClass(kind=Kind.AUTH),
    42: FailureClass(kind=Kind.INPUT),
    44: FailureClass(kind=Kind.OTHER, hint="its sandbox failed: run it once in a terminal"),
    52: FailureClass(
        kind=Kind.OTHER, hint="its settings are invalid: run it once in a terminal and correct what it reports"
    ),
    53: FailureClass(kind=Kind.OTHER, hint="it needed more turns than its settings allow: ask a narrower question"),
}
"""The exit codes that its documentation lists. 1 stands for any other failure."""
_SIGNS: Final[tuple[tuple[str, FailureClass | int], ...]] = (
    ("IneligibleTierError", _ACCOUNT),
    ("no longer supported for Gemini Code Assist", _ACCOUNT),
    ("ProjectIdRequiredError", _PROJECT),
    ("API_KEY_INVALID", 401),
    ("API key not valid", 401),
    ("API key expired", 401),
    ("UNAUTHENTICATED", 401),
    ("PERMISSION_DENIED", 403),
    ("TerminalQuotaError", SPENT),
    ("PerDay", SPENT),
    ("per day", SPENT),
    ("overloaded", 503),
    ("high demand", 503),
    ("UNAVAILABLE", 503),
    ("RetryableQuotaError", 429),
    ("RESOURCE_EXHAUSTED", 429),
    ("ModelNotFoundError", 404),
    ("exceeds the maximum number of tokens", TOO_LONG),
)
"""Names of its errors and of Google's, the most exact first. They decide before a status: an invalid key has 400."""
_LOST: Final = re.compile(
    r"fetch failed|socket hang up|other side closed|premature close|\bterminated\b"
    r"|\b(?:ETIMEDOUT|ECONN[A-Z]+|EPIPE|EAI_AGAIN|ENOTFOUND|ENETUNREACH|EHOSTUNREACH)\b"
)
"""Messages of Node about a lost connection."""
_STATUS: Final = re.compile(r"\bstatus (?:code )?([45]\d\d)\b")
_RETRYING: Final = re.compile(rb"^Attempt \d+ failed\b", re.MULTILINE)
"""A message about its own retries, which waits up to minutes although the settings allow one attempt."""
_NOISE: Final = re.compile(r"^(?:Warning: |\(node:\d+\)|\(Use `node |Loaded cached credentials).*$", re.IGNORECASE)


@dataclass(kw_only=True)
class GeminiCliBackend:
    """The installed program. `environ` is the server's environment, without directories of projects on PATH."""

    provider: Provider
    endpoint: Endpoint
    environ: Environ = field(repr=False)

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self.provider.name

    async def ask(self, question: str, parts: tuple[Part, ...], options: Options) -> AsyncGenerator[Event]:
        """Run the program once; see `Backend`. It has no options for the temperature and the length of an answer.

        When the generator is closed, no process and no file of the program is left.

        Raises:
            ToolError: the program could not be started.
        """
        prompt = _prompt(question, parts)
        if len(prompt.encode("utf-8", "replace")) > MAX_PROMPT_BYTES:
            raise self._error("the prompt is too long", TOO_LONG)
        run = _Run(allowed=(_WEB_SEARCH,) if options.searches_web else ())
        task = asyncio.create_task(run_to_cleanup(lambda scope: self._run(run, prompt, options, scope)))
        task.add_done_callback(lambda _: run.events.put_nowait(None))
        try:
            while (event := await run.events.get()) is not None:
                yield event
            code = await task
        finally:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
        if run.end is None:
            raise self._failure(run, code)
        yield run.end

    async def count_tokens(self, question: str, parts: tuple[Part, ...], model: str) -> int:  # noqa: ARG002  one interface
        """Return an estimate: the program has no counter."""
        return estimate_tokens(question, parts)

    async def _run(self, run: _Run, prompt: str, options: Options, scope: anyio.CancelScope) -> int | None:
        """Return the exit code; None if the program was ended."""
        directory = run_directory()
        path = Path(await anyio.to_thread.run_sync(directory.__enter__))
        try:
            command = await self._command(path, prompt, options, run.allowed)
            run.environ = command.env
            process = Process(run.feed_stdout, run.feed_stderr, stdout_file=path / "output", max_bytes=MAX_OUTPUT_BYTES)
            run.stop_waiting = process.stop_waiting
            code = None
            with scope:
                code = await follow(process, command)
            run.close()
            run.has_written_too_much = process.has_written_too_much
            return code
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(directory.__exit__, None, None, None)

    async def _command(self, directory: Path, prompt: str, options: Options, tools: tuple[str, ...]) -> Command:
        program = await anyio.to_thread.run_sync(find_program, self.environ)
        if not program:
            raise ToolError("the Gemini CLI is no longer on PATH", code="NOT_INSTALLED")
        try:
            with anyio.fail_after(PREPARE_TIMEOUT_S):  # its account may be on a file system that does not respond
                env = await anyio.to_thread.run_sync(
                    lambda: prepare(self.environ, program, self.endpoint, directory, tools=tools),
                    abandon_on_cancel=True,
                )
        except TimeoutError:
            raise self._error("", _EXIT_CODES[52], f"no files within {PREPARE_TIMEOUT_S:.0f} s") from None
        system = directory / "system.md"
        system.write_text(SYSTEM, encoding="utf-8")
        return Command(
            argv=(
                *launch_argv(program),
                *("-o", "stream-json", "--approval-mode", "default", "--admin-policy", str(directory / POLICY)),
                *("-e", "none", "--allowed-mcp-server-names", "none"),
                *(("-m", options.model) if options.model else ()),
            ),
            env=env | {"GEMINI_SYSTEM_MD": str(system)},
            cwd=str(directory / EMPTY),
            stdin=prompt,
            timeout_s=options.timeout_s,
            limits=Limits.above(options.timeout_s, memory_mb=_MEMORY_MB),
            umask=_UMASK,
        )

    def _failure(self, run: _Run, code: int | None) -> AttemptError:
        if run.used_tool:
            return self._error(f"it used {run.used_tool}", _WROTE, "used a tool")
        if run.has_written_too_much:
            return self._error("", _TOO_MUCH, "too much output")
        if code is None and not (run.is_ended or run.is_retrying):
            return AttemptError("", timed_out=True, source=self.provider.title)
        text = "\n".join(filter(None, (run.reported, *run.warnings, _without_noise(run.stderr))))
        if run.is_ended and not text:
            return AttemptError("", error_type=NO_OUTPUT, source=self.provider.title)
        sign, decided = _decide(code, text)
        if run.is_retrying and decided.kind is Kind.OTHER:
            sign, decided = "an error that it retries", BROKEN
        # Exit code 41 says that there is no account; other signs that the key was refused.
        if decided.kind is Kind.AUTH and code != 41 and not decided.hint and self.endpoint.key.variable:
            decided = FailureClass(kind=Kind.AUTH, hint=key_hint(self.endpoint.key, self.provider.title))
        return self._error(text or run.invalid, decided, sign, code, run.environ)

    def _error(
        self,
        text: str,
        decided: FailureClass,
        sign: str = "",
        code: int | None = None,
        environ: Environ = MappingProxyType({}),
    ) -> AttemptError:
        known = {**self.environ, **environ}  # with the key of the user's `.env` file
        return AttemptError(
            excerpt(self.endpoint.key.redact(text, known), known, _MAX_ERROR_CHARS),
            exit_code=code,
            status=next(iter(object_statuses(text)), None),
            error_type=sign or "refused",
            retry_after_s=retry_after(text),
            decided=decided,
            source=self.provider.title,
        )


class _Run:
    """The state of a running program. `end` is set by a complete answer; None in `events` follows the last one."""

    def __init__(self, *, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self.stop_waiting: Callable[[float], None] = lambda _: None
        self.end: End | None = None
        self.is_ended = False
        self.is_retrying = False
        self.has_written_too_much = False
        self.reported = ""
        self.warnings: list[str] = []
        self.invalid = ""
        self.used_tool = ""
        self.environ: Environ = {}
        self._model = ""
        self._held = ""
        self._has_text = False
        self._searches = 0
        self._calls: dict[str, str] = {}
        self._line = bytearray()
        self._stderr = bytearray()

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def feed_stderr(self, data: bytes) -> None:
        """Keep the end of stderr; end the program when it waits to try again."""
        line = self._stderr.rfind(b"\n") + 1
        self._stderr += data
        if not self.is_retrying and _RETRYING.search(self._stderr[line:]):
            self.is_retrying = True
            self.stop_waiting(EXIT_GRACE_S)
        if len(self._stderr) > 2 * _MAX_STDERR_BYTES:
            del self._stderr[:-_MAX_STDERR_BYTES]

    def feed_stdout(self, data: bytes) -> None:
        """Add the next bytes, and handle the events that are now complete."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._append(line)
            self._finish_line()
        self._append(rest)

    def close(self) -> None:
        """Handle the last line, which may lack its line feed."""
        self._finish_line()

    def _append(self, data: bytes) -> None:
        # A longer line is cut, and is no event any more.
        self._line += data[: MAX_LINE_BYTES - len(self._line)]

    def _finish_line(self) -> None:
        line, self._line = self._line, bytearray()
        event: Any = None
        with suppress(ValueError, RecursionError):
            event = json.loads(line.decode("utf-8", "replace")) if line.lstrip().startswith(b"{") else None
        if isinstance(event, dict):
            self._handle(event)
        elif line.strip() and not self.invalid:
            shown = line[:200].decode("utf-8", "replace")
            self.invalid = f"its output is not an answer: {''.join(c if c.isprintable() else '?' for c in shown)}"

    def _handle(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "init", "model": str(model)}:
                self._model = model
            case {"type": "message", "role": "assistant", "content": str(text)} if text:
                self._say(self._held + text)
            case {"type": "tool_use", "tool_id": str(call), "tool_name": str(tool)}:
                self._calls[call] = tool
                if tool in self.allowed:
                    self.events.put_nowait(Progress("searching the web"))
            case {"type": "tool_result", "tool_id": str(call), "status": "success"}:
                if (tool := self._calls.get(call, "a tool")) in self.allowed:
                    self._searches += 1
                else:
                    self.used_tool = tool
                    self.stop_waiting(0.0)
            case {"type": "error", "message": str(message)}:
                self.warnings = [*self.warnings[-19:], message]
            case {"type": "result"} if not self.is_ended:
                self._finish(event)

    def _say(self, text: str) -> None:
        r"""Send text; hold back what may be the beginning of `\@`, or half of a character."""
        end = len(text.rstrip("\\"))
        if end == len(text) and "\ud800" <= text[-1] <= "\udbff":
            end -= 1
        self._held, text = text[end:], text[:end].replace("\\@", "@")
        if text:
            self._has_text = self._has_text or bool(text.strip())
            # Unpaired halves of characters cannot be encoded.
            self.events.put_nowait(Text(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))

    def _finish(self, event: Mapping[str, Any]) -> None:
        self.is_ended = True
        if self._held:
            held, self._held = self._held, ""
            self.events.put_nowait(Text(held.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))
        error, stats = _object(event, "error"), _object(event, "stats")
        self.reported = str(error.get("message") or "")
        models = _object(stats, "models")
        if event.get("status") == "success" and self._has_text and not self.used_tool:
            ranked = sorted(models, key=lambda name: -_count(_object(models, name), "total_tokens"))
            written = _count(stats, "output_tokens")
            usage = Usage(
                sent=_count(stats, "input_tokens") or _count(stats, "total_tokens") - written,
                cached=_count(stats, "cached"),
                written=written,
            )
            self.end = End(model=next(iter(ranked), self._model), usage=usage, searches=self._searches)
        self.stop_waiting(EXIT_GRACE_S)


def _prompt(question: str, parts: tuple[Part, ...]) -> str:
    texts = "".join([*map(part_text, parts), question_text(question)])
    escaped = texts.replace("@", "\\@")
    return f"{SYSTEM}\n{_AT_NOTE}\n\n{escaped}"


def _decide(code: int | None, text: str) -> tuple[str, FailureClass]:
    """Return the sign that decides, and the failure class."""
    if code is not None and code in _EXIT_CODES:
        return f"exit code {code}", _EXIT_CODES[code]
    for sign, row in _SIGNS:
        if sign in text:
            return sign, class_of_http(row) if isinstance(row, int) else row
    for status in (*object_statuses(text), *(int(match[1]) for match in _STATUS.finditer(text))):
        return f"HTTP {status}", class_of_http(status)
    if match := _LOST.search(text):
        return match[0], BROKEN
    if code is not None and code < 0:
        return f"it was ended by signal {-code}", FailureClass(kind=Kind.OTHER)
    return "no answer" if code in (None, 0) else f"exit code {code}", FailureClass(kind=Kind.OTHER)


def launch_argv(path: str) -> tuple[str, ...]:
    """Return the beginning of the command line that starts the program.

    On Windows, npm installs a batch file for cmd.exe, which would split arguments again. The script is run directly
    instead, by the node beside it or on PATH.
    """
    if sys.platform == "win32" and path.lower().endswith((".cmd", ".bat")):
        parent = Path(path).parent
        scripts = sorted(parent.glob(f"node_modules/@google/*/bundle/{Path(path).stem}.js"))
        node = parent / "node.exe"
        if scripts:
            return (str(node) if node.is_file() else "node", str(scripts[0]))
    return (path,)


def _without_noise(errors: str) -> str:
    """Return error output without stack traces and unrelated lines."""
    lines = without_stack(errors).splitlines()
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))


def _object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
