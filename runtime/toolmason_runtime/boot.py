"""The boot phase of the lean engine: answer the first requests of a session before the server is imported.

A client starts all its servers and requests their lists, but uses few of them. So the responses are prepared at
generation (`opening.json`), and this phase imports only `json`, `os` and other small modules. They do not import
`typing`, `dataclasses`, `logging` or `pathlib`: importing `typing` alone takes longer than all responses.

`toolmason_runtime.transports.stdio.lean` describes all phases.
"""

from __future__ import annotations

import binascii
import json
import os
import select
import signal
import sys

from toolmason_runtime.server.memory import try_to_protect_memory
from toolmason_runtime.server.opening_arguments import parse_arguments, variant_of
from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.shared.opening import CATALOGUE, FLAGS_MEMBER, FORMAT, INSTRUCTIONS, OPENING, POSTINGS, PREFIXED
from toolmason_runtime.shared.shown_names import is_prefixed
from toolmason_runtime.transports.stdio.descriptors import open_standard_streams, write_all
from toolmason_runtime.transports.stdio.encoding import encode_result
from toolmason_runtime.transports.stdio.idle_time import IdleTime
from toolmason_runtime.transports.stdio.session import Opened, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType
    from typing import Any, Final, NoReturn

__all__ = ["Opened", "open_session"]

_POLICY: Final = "TOOLMASON_POLICY"
"""Environment variable that can remove tools from the lists."""
_AUDIT: Final = "_AUDIT"
"""End of the environment variable that sets a server's audit log; it begins with the command, unknown here."""
_ANSWERED: Final = frozenset({"initialize", "server/discover", "ping", "logging/setLevel"})
"""The methods that `Session` answers."""
_CHECKSUM: Final = b'"checksum": '
_CHUNK_BYTES: Final = 65_536
_MAX_LINE_BYTES: Final = 65_536
_MAX_BRACKETS: Final = 200
"""Requests with more may be too deep; `messages.decode` decides."""
_MAX_DIGITS: Final = 18
_CHECK_S: Final = 30
"""Seconds that the startup check may take."""
_GRACE_S: Final = 2
"""Seconds that a client has to read a response after a signal."""
_LIST: Final = b'"":0'
"""The member of a result that the members of a prepared list replace."""


def open_session(main_file: str, *, startup_check: str = "", extra: str = "") -> Opened | None:
    """Answer requests until one needs the whole server; return the session. Exit the process at the end of the input.

    Return None before anything is read if the prepared answers do not apply to this command line or environment, if an
    option is missing or invalid, if the extra is not installed, or if their file is missing, damaged or older than the
    catalogue, or `semantic.postings` is another one.

    Args:
        main_file: `__main__.py` of the generated package.
        startup_check: `module:function`, as for `server.command.Command`.
        extra: extra of toolmason that tools need, as for `server.command.Command`, which reports a missing one.
    """
    if sys.platform == "win32":
        return None
    open_standard_streams()
    if os.isatty(0) or os.environ.get(_POLICY):
        return None
    if extra and _is_missing(extra):
        return None
    if any(name.endswith(_AUDIT) for name in os.environ):
        return None  # the server opens its audit log before it answers
    answers = _answers(os.path.dirname(main_file))  # noqa: PTH120  `pathlib` is large
    given = parse_arguments(sys.argv[1:], json.loads(answers[FLAGS_MEMBER]), os.environ) if answers else None
    if given is None or (variant := variant_of(given)) is None:
        return None
    prepared = _prepared(answers, variant)
    del (
        answers
    )  # The lists of all variants are megabytes of a large catalogue, and this frame lives as long as the phase.
    if _changes_lists(prepared["server"]) or "audit" in prepared["server"]:
        return None
    try_to_protect_memory()
    package = os.path.basename(os.path.dirname(main_file))  # noqa: PTH119, PTH120  `pathlib` is large
    log = (given.get("--log-level"), given.get("--log-format"))
    return _Opening(prepared, startup_check, package, log).serve()


def _changes_lists(server: Mapping[str, str]) -> bool:
    """Return whether an environment variable changes the lists of the server."""
    exposes_all = os.environ.get(server.get("expose_all_env", ""), "")
    return exposes_all.strip().lower() == "true" or server.get("command_prefix_env", "") in os.environ


def _is_missing(extra: str) -> bool:
    from toolmason_runtime.shared.extras import missing_extra

    return bool(missing_extra("", extra))


def _answers(directory: str) -> dict[str, bytes]:
    """Return the members of `opening.json` as JSON, by name; empty if the file is not usable."""
    try:
        with open(os.path.join(directory, OPENING), "rb") as file:  # noqa: PTH118, PTH123  `pathlib` is large
            body, _, end = file.read().rpartition(_CHECKSUM)
        if int(end.rstrip(b"}\n")) != binascii.crc32(body):
            return {}
        lines = dict(line.removesuffix(b",").split(b": ", 1) for line in body.splitlines()[1:])
        if int(lines[b'"format"']) != FORMAT or int(lines[b'"catalogue"']) != _checksum(directory, CATALOGUE):
            return {}
        if b'"postings"' in lines and int(lines[b'"postings"']) != _checksum(directory, POSTINGS):
            return {}  # the server reports the damage
    except (OSError, ValueError, KeyError):
        return {}
    return {json.loads(name): value for name, value in lines.items()}


def _prepared(names: Mapping[str, bytes], variant: str) -> dict[str, Any]:
    """Return the prepared answers: `server` and `methods`, and JSON of the instructions and of each list's members."""
    prefix = f"{variant} " if variant else ""
    values = {name: names.get(prefix + name, value) for name, value in names.items() if not name.startswith("--")}
    texts = {name: value for name, value in values.items() if name.endswith(INSTRUCTIONS)}
    lists = {name: value[1:-1] for name, value in values.items() if name.endswith("/list")}
    return {"server": json.loads(values["server"]), "methods": json.loads(values["methods"]), **texts, **lists}


def _checksum(directory: str, name: str) -> int:
    """Return the checksum of a file."""
    checksum = 0
    with open(os.path.join(directory, name), "rb") as file:  # noqa: PTH118, PTH123  `pathlib` is large
        while chunk := file.read(_CHUNK_BYTES):
            checksum = binascii.crc32(chunk, checksum)
    return checksum


class _Opening:
    """Answers a client from `prepared`. No handler runs, so a signal ends the process between two responses."""

    def __init__(
        self,
        prepared: Mapping[str, Any],
        startup_check: str,
        package: str,
        log: tuple[str | None, str | None] = (None, None),
    ) -> None:
        self._prepared = prepared
        self._session = Session(prepared["server"], prepared["methods"], self._instructions)
        self._idle_time = IdleTime(
            self._session,
            check=(lambda: _check_apart(startup_check, *log)) if startup_check else None,
            prepare=lambda: _prepare(package),
        )
        self._is_writing = False
        self._must_leave = False

    def _instructions(self, client_name: str) -> str:
        """Return the prepared instructions with the names that the client sees."""
        text: str = json.loads(self._shown(INSTRUCTIONS, client_name))
        return text

    def serve(self) -> Opened:
        """Answer until a request needs the server."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        rest = b""
        while True:
            chunk = self._read()
            *lines, rest = (rest + (chunk or b"\n")).split(b"\n")
            for index, line in enumerate(lines):
                response = self._response(line) if line.strip() else b""
                if response is None:
                    return self._opened(b"\n".join([*lines[index:], rest]))
                self._write(response)
            if not chunk:
                _leave()
            if len(rest) > _MAX_LINE_BYTES:
                return self._opened(rest)

    def _opened(self, unread: bytes) -> Opened:
        idle_time = self._idle_time
        return Opened(self._session, unread, is_checked=not idle_time.check, is_prepared=not idle_time.prepare)

    def _read(self) -> bytes:
        """Return the next bytes of input; empty at its end."""
        self._idle_time.wait_for_input(0)
        try:
            return os.read(0, _CHUNK_BYTES)
        except OSError:
            return b""

    def _response(self, line: bytes) -> bytes | None:
        """Return the response to one line, empty if it needs none; None if it needs the whole server."""
        message = _decoded(line)
        if message is None:
            return None
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            self._session.is_ready = self._session.is_ready or method == "notifications/initialized"
            return b""
        try:
            self._session.check(method, params)
        except MethodError:
            return None
        if method in _ANSWERED:
            return encode_result(message["id"], self._session.answer(method, params) or {})
        if "apps" in self._prepared["server"] and self._session.client_capabilities(params).get("extensions"):
            return None  # the list depends on the extensions of the client
        if method not in self._prepared or not params.keys() <= {"_meta"}:
            return None
        response = encode_result(message["id"], self._session.complete(method, {"": 0}))
        return response.replace(_LIST, self._shown(method, self._session.client_name(params)), 1)

    def _shown(self, name: str, client_name: str) -> bytes:
        """Return a prepared answer with the names that the client sees."""
        answer: bytes = self._prepared[name]
        if (prefixed := PREFIXED + name) not in self._prepared:
            return answer
        return self._prepared[prefixed] if is_prefixed(client_name) else answer

    def _write(self, response: bytes) -> None:
        self._is_writing = True
        is_open = write_all(1, response)
        self._is_writing = False
        if self._must_leave or not is_open:
            _leave()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if not self._is_writing or self._must_leave:
            _leave()
        self._must_leave = True
        signal.signal(signal.SIGALRM, self._on_signal)
        signal.alarm(_GRACE_S)


def _leave() -> NoReturn:
    os._exit(0)


def _decoded(line: bytes) -> dict[str, Any] | None:
    """Return the request or notification in a line; None for any other, which `messages.decode` checks."""
    if len(line) > _MAX_LINE_BYTES or b"\\u" in line or line.count(b"{") + line.count(b"[") > _MAX_BRACKETS:
        return None
    try:
        message = json.loads(line.decode(), parse_int=_short, parse_float=_refuse, parse_constant=_refuse)
    except ValueError:
        return None
    is_usual = (
        type(message) is dict
        and message.get("jsonrpc") == "2.0"
        and type(message.get("method")) is str
        and type(message.get("params", {})) is dict
        and type(message.get("id", 0)) in {int, str}
    )
    return message if is_usual else None


def _short(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError
    return int(digits)


def _refuse(_text: str) -> NoReturn:
    raise ValueError


def _prepare(package: str) -> None:
    """Import the modules for the first call. The main thread continues, and imports missing modules itself."""
    from toolmason_runtime.server.preparation import prepare_first_call

    prepare_first_call(package)


def _check_apart(target: str, log_level: str | None, log_format: str | None) -> None:
    """Run the startup check in a process that is nobody's child, as its modules would stay in memory here.

    The write end of the pipe stays open as long as this process lives.
    """
    try:
        ended, lives = os.pipe()
        if child := os.fork():
            os.close(ended)
            os.waitpid(child, 0)
            return
    except OSError:
        return
    try:
        if not os.fork():
            os.close(lives)
            _begin_group(ended)
            from toolmason_runtime.server.startup_check import check_at_start

            check_at_start(target, log_level, log_format)
    finally:
        _leave()


def _begin_group(ended: int) -> None:
    """Start a process group. A thread kills it when the server ends, which closes the pipe of `ended`."""
    from threading import Thread

    os.setsid()
    # If a thread cannot run: a regular expression holds the interpreter's lock.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_CHECK_S + 1)
    Thread(target=_end_check, args=(ended,), daemon=True).start()
    null_device = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_device, 0)
    os.dup2(2, 1)


def _end_check(ended: int) -> None:
    """Kill the startup check and its programs at the end of the server, or if they take too long."""
    select.select([ended], [], [], _CHECK_S)
    os.killpg(0, signal.SIGKILL)
