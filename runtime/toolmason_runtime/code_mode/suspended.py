"""Suspended programs: each waits in a file, in memory or in a shared Redis until it is resumed or expires.

A stored program is authenticated with a key, because the interpreter does not check a snapshot: a changed one is never
loaded. It can be taken once, so no call of it runs twice.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.calls.sealing import Seal, replace_private
from toolmason_runtime.code_mode import limits
from toolmason_runtime.shared.errors import ToolError

if TYPE_CHECKING:
    from toolmason_runtime.chunks.store import Shared

EXPIRED: Final = "PROGRAM_EXPIRED"
"""Code of the error for a program that is not stored."""

_ID: Final = re.compile(r"program_[0-9a-f]{32}")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Waiting:
    """A call that waits for a person: `requests` are its questions to the client, by key."""

    call: int
    """Its identity in the interpreter."""
    number: int
    """Its number in the program, from 1."""
    function: str
    arguments: dict[str, Any]
    start: int
    """Where the call is in the program: offsets in UTF-8 bytes."""
    end: int
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    reason: str = ""
    """What the tool says about the wait."""
    needs_approval: bool = False
    """Whether all that it waits for is a yes or no."""


@dataclass(slots=True, kw_only=True)
class Suspended:
    """A program that waits for a person."""

    id: str
    owner: str
    """Identity of the owner of the access token; empty without one."""
    code: str
    only_reads: bool
    timeout_s: int
    snapshot: bytes
    waiting: list[Waiting]
    output: str
    notes: list[str]
    done: list[str]
    """The functions that were called."""
    interpreter: str
    """Version of the interpreter: another one may not read the snapshot."""
    expires: float
    decisions: dict[str, str] = field(default_factory=dict)
    """Decisions that a person has made in a terminal, by the number of the call: `accept` or `decline`."""


def new_id() -> str:
    """Return the identity of a program. Whoever has it can resume the program."""
    return f"program_{secrets.token_hex(16)}"


def id_of(text: str) -> str:
    """Return the identity at the start of a text; empty without one."""
    match = _ID.match(text)
    return match[0] if match else ""


class SuspendedPrograms:
    """The suspended programs of a server.

    Args:
        directory: their directory, which is created; it also has the key.
        shared: the store that replaces the directory; None keeps files.
        key: the key of all processes of the server; empty for that of the directory.
        clock: returns seconds since 1970.
    """

    def __init__(
        self,
        directory: Path,
        *,
        shared: Shared | None = None,
        key: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory = directory
        self._shared = shared
        self._seal = Seal(directory, "suspended programs", key=key)
        self._clock = clock
        self._memory: dict[str, bytes] = {}
        """Programs whose file could not be written."""

    async def save(self, program: Suspended) -> None:
        """Store a program until it expires.

        Raises:
            ToolError: it is too large (PROGRAM_TOO_LARGE).
        """
        data = self._sealed(program.id, _to_json(program))
        if len(data) > limits.SNAPSHOT_BYTES:
            message = f"the program keeps {len(data):,} bytes of data, more than {limits.SNAPSHOT_BYTES:,}: keep less"
            raise ToolError(message, code="PROGRAM_TOO_LARGE")
        if self._shared is not None:
            await self._shared.put(program.id, data, keep_s=program.expires - self._clock())
            return
        try:
            self._write(program.id, data)
        except OSError as error:
            _log.warning("a suspended program is only in memory: %s", error.strerror or type(error).__name__)
            self._memory[program.id] = data

    async def take(self, identity: str, owner: str) -> Suspended:
        """Return a stored program, which is not stored any more.

        Raises:
            ToolError: there is none for this owner, it has expired, or was changed (PROGRAM_EXPIRED).
        """
        data = await self._taken(identity) if _ID.fullmatch(identity) else None
        body = self._opened(identity, data) if data is not None else None
        if body is None:
            raise expired()
        try:
            program = _from_json(body)
        except (ValueError, KeyError, TypeError):
            raise expired() from None
        if program.expires <= self._clock() or program.id != identity:
            raise expired()
        if program.owner != owner:
            await self.save(program)  # another owner must not end it either
            raise expired()
        return program

    async def listed(self) -> list[Suspended]:
        """Return all stored programs in files, the oldest first; those in Redis are not listed."""
        read = (self._read(path) for path in self._directory.glob("program_*"))
        return sorted((program for program in read if program is not None), key=lambda program: program.expires)

    def _read(self, path: Path) -> Suspended | None:
        """Return a stored program and leave it there; None if it is unreadable, changed or expired."""
        if not _ID.fullmatch(path.name):
            return None
        try:
            body = self._opened(path.name, path.read_bytes()) if path.stat().st_size <= limits.SNAPSHOT_BYTES else None
            program = _from_json(body) if body is not None else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return program if program is not None and program.expires > self._clock() else None

    async def decide(self, program: Suspended, decision: str) -> None:
        """Store the decision of a person about the calls that need an approval; `decision` is `accept` or `decline`.

        Raises:
            ToolError: the program was resumed meanwhile (PROGRAM_EXPIRED).
        """
        stored = await self.take(program.id, program.owner)
        if stored.snapshot != program.snapshot or stored.decisions != program.decisions:
            await self.save(stored)
            raise ToolError("the program went on or was decided meanwhile; look at it again", code=EXPIRED)
        stored.decisions = {str(each.number): decision for each in stored.waiting if each.needs_approval}
        await self.save(stored)

    async def drop(self, identity: str) -> bool:
        """Forget a program; return whether it was stored."""
        return await self._taken(identity) is not None

    async def _taken(self, identity: str) -> bytes | None:
        if self._shared is not None:
            return await self._shared.take(identity)
        if (kept := self._memory.pop(identity, None)) is not None:
            return kept
        path = self._directory / identity
        taken = path.with_name(f"{identity}.{secrets.token_hex(8)}")
        try:
            path.rename(taken)  # of two processes, one succeeds
            if taken.stat().st_size > limits.SNAPSHOT_BYTES:
                return None
            return taken.read_bytes()
        except OSError:
            return None
        finally:
            taken.unlink(missing_ok=True)

    def _write(self, identity: str, data: bytes) -> None:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sweep()
        replace_private(self._directory / identity, data)

    def _sweep(self) -> None:
        """Delete files of expired programs, and the oldest ones above the limit."""
        found = []
        for path in self._directory.glob("program_*"):
            try:
                found.append((path.stat().st_mtime, path))
            except OSError:
                continue
        found.sort()
        kept = limits.SUSPENDED - 1
        for index, (changed, path) in enumerate(found):
            if changed + limits.SUSPENDED_S < self._clock() or index < len(found) - kept:
                path.unlink(missing_ok=True)

    def _sealed(self, identity: str, body: bytes) -> bytes:
        return self._seal.close(identity, body)

    def _opened(self, identity: str, data: bytes) -> bytes | None:
        if (body := self._seal.open(identity, data)) is None:
            _log.warning("a suspended program was changed, and is not resumed")
        return body


def expired() -> ToolError:
    """Return the error for a program that is not stored."""
    message = (
        "no program waits under this name: it was resumed or has expired, or it belongs to someone else. Run a new "
        "program; first read what the earlier one has changed"
    )
    return ToolError(message, code=EXPIRED)


def _to_json(program: Suspended) -> bytes:
    members: dict[str, Any] = {name: getattr(program, name) for name in Suspended.__dataclass_fields__}
    members["snapshot"] = b64encode(program.snapshot).decode()
    members["waiting"] = [
        {name: getattr(each, name) for name in Waiting.__dataclass_fields__} for each in program.waiting
    ]
    return json.dumps(members).encode()


def _from_json(body: bytes) -> Suspended:
    members: Mapping[str, Any] = json.loads(body)
    waiting = [Waiting(**each) for each in members["waiting"]]
    return Suspended(**{**members, "snapshot": b64decode(members["snapshot"]), "waiting": waiting})
