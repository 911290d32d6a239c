"""Store tasks in memory, in files that all processes of a machine read, or in a shared Redis.

A stored value begins with its tag, the code of its seal, which differs between versions. A value is replaced only if
it still has the tag that was read, so of two processes that change a task one succeeds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import anyio.to_thread
from toolmason_runtime.calls.sealing import MAC_BYTES, create_private, replace_private
from toolmason_runtime.tasks.limits import ALIVE_S, BEAT_S, MEMORY_BYTES, RECORD_BYTES, RECORDS

if TYPE_CHECKING:
    from toolmason_runtime.chunks.store import Shared

_SWEEP_S: Final = 60.0
"""Seconds between two deletions of expired files."""
_LOCK_S: Final = 5.0
"""Seconds that a process waits for the lock of another one."""


class Store(Protocol):
    """Stores values by name until they expire."""

    async def put(self, name: str, data: bytes, expires: float) -> None:
        """Store a new value, or replace one.

        Raises:
            OSError: the directory is not writable.
            ToolError: Redis does not answer.
        """
        ...

    async def get(self, name: str) -> bytes | None:
        """Return a value; None if it does not exist.

        Raises:
            OSError: the file cannot be read.
            ToolError: Redis does not answer.
        """
        ...

    async def replace(self, name: str, seen: bytes, data: bytes, expires: float) -> bool:
        """Replace a value if it still has the tag of `seen`; return whether it was replaced.

        Raises:
            OSError: the directory is not writable.
            ToolError: Redis does not answer.
        """
        ...


class MemoryStore:
    """Values of this process."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._values: dict[str, tuple[bytes, float]] = {}

    async def put(self, name: str, data: bytes, expires: float) -> None:
        """See `Store.put`."""
        self._values.pop(name, None)
        self._values[name] = data, expires
        for other in [other for other, (_, end) in self._values.items() if end <= self._clock()]:
            del self._values[other]
        while len(self._values) > 1 and self._is_full():
            del self._values[next(iter(self._values))]

    def _is_full(self) -> bool:
        size = sum(len(data) for data, _ in self._values.values())
        return len(self._values) > RECORDS or size > MEMORY_BYTES

    async def get(self, name: str) -> bytes | None:
        """See `Store.get`."""
        data, expires = self._values.get(name, (b"", 0.0))
        return data if expires > self._clock() else None

    async def replace(self, name: str, seen: bytes, data: bytes, expires: float) -> bool:
        """See `Store.replace`."""
        current = await self.get(name)
        if current is None or current[:MAC_BYTES] != seen[:MAC_BYTES]:
            return False
        await self.put(name, data, expires)
        return True


class FileStore:
    """Values in files of `directory`, which only this user can read. The time of a file is that of its expiry."""

    def __init__(self, directory: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._directory = directory
        self._clock = clock
        self._swept = 0.0

    async def put(self, name: str, data: bytes, expires: float) -> None:
        """See `Store.put`."""
        await anyio.to_thread.run_sync(self._put, name, data, expires)

    async def get(self, name: str) -> bytes | None:
        """See `Store.get`."""
        return await anyio.to_thread.run_sync(self._get, name)

    async def replace(self, name: str, seen: bytes, data: bytes, expires: float) -> bool:
        """See `Store.replace`."""
        return await anyio.to_thread.run_sync(self._replace, name, seen, data, expires)

    def _put(self, name: str, data: bytes, expires: float) -> None:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sweep()
        replace_private(self._directory / name, data, time_s=expires)

    def _get(self, name: str) -> bytes | None:
        try:
            with (self._directory / name).open("rb") as file:
                about = os.fstat(file.fileno())
                if about.st_mtime <= self._clock() or about.st_size > RECORD_BYTES + MAC_BYTES:
                    return None
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _replace(self, name: str, seen: bytes, data: bytes, expires: float) -> bool:
        with self._locked(name):
            current = self._get(name)
            if current is None or current[:MAC_BYTES] != seen[:MAC_BYTES]:
                return False
            self._put(name, data, expires)
        return True

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Hold the lock of a value: a file that no other process can create meanwhile.

        One that is older than `_LOCK_S` belongs to a process that was killed.
        """
        lock = self._directory / f"{name}.lock"
        while True:
            try:
                create_private(lock, b"")
                break
            except FileExistsError:
                with suppress(FileNotFoundError):
                    if time.time() - lock.stat().st_mtime > _LOCK_S:
                        lock.unlink()
                time.sleep(0.01)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Delete expired files, and the oldest ones above the limit."""
        now = self._clock()
        if now - self._swept < _SWEEP_S:
            return
        self._swept = now
        found = []
        for path in self._directory.iterdir():
            try:
                found.append((path.stat().st_mtime, path))
            except OSError:
                continue
        old = [
            path
            for expires, path in found
            # A lock or a temporary file has the time of its creation.
            if path.name != "key" and expires + (_SWEEP_S if "." in path.name else 0.0) <= now
        ]
        tasks = sorted(entry for entry in found if entry[1].name.startswith("task_") and "." not in entry[1].name)
        for path in (*old, *(path for _, path in tasks[: max(0, len(tasks) - RECORDS)])):
            path.unlink(missing_ok=True)


class RedisStore:
    """Values in the Redis of `shared`."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    async def put(self, name: str, data: bytes, expires: float) -> None:
        """See `Store.put`."""
        await self._shared.put(name, data, keep_s=expires - time.time())

    async def get(self, name: str) -> bytes | None:
        """See `Store.get`."""
        return await self._shared.read(name, max_bytes=RECORD_BYTES + MAC_BYTES)

    async def replace(self, name: str, seen: bytes, data: bytes, expires: float) -> bool:
        """See `Store.replace`."""
        return await self._shared.replace(name, seen[:MAC_BYTES], data, keep_s=expires - time.time())


class Heartbeats:
    """The processes that run tasks of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._beaten = -ALIVE_S

    async def beat(self, process: str) -> None:
        """Mark a process as alive; all its tasks call this."""
        if time.monotonic() - self._beaten < BEAT_S / 2:
            return
        self._beaten = time.monotonic()
        await self._store.put(_heartbeat(process), b"alive", time.time() + ALIVE_S)

    async def is_alive(self, process: str) -> bool:
        """Return whether a process has a recent heartbeat."""
        return bool(process) and await self._store.get(_heartbeat(process)) is not None


def _heartbeat(process: str) -> str:
    return f"process_{process}"
