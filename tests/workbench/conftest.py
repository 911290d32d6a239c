"""A project folder and a client for all tests of Workbench, and the processes that a test starts."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from toolmason_runtime import ToolCall

sys.path.insert(0, str(Path(__file__).parent / "support"))

from git_repository import calm, canary, held, mode, project, repository
from workbench_room import Client, client, room

__all__ = ["calm", "canary", "client", "held", "mode", "project", "repository", "room"]

PATIENCE_S = 30.0
"""How long a test waits for what must happen; the machine may be slow."""


@pytest.fixture
def person() -> Client:
    """A client with a person behind it, who approves of what they are asked."""
    return Client(capabilities={"elicitation": {}}, action="accept")


@pytest.fixture
def tool_call(client: Client) -> ToolCall:
    return ToolCall("a test", client, ())


class Children:
    """The running programs that this process started after this object was created, itself or through the launcher."""

    def __init__(self) -> None:
        # A server that several tests share may run already.
        self._earlier = frozenset[str]()
        self._earlier = frozenset(self.now())

    def now(self) -> list[str]:
        """Return their process ids."""
        parents = {process.name: _parent(process) for process in Path("/proc").iterdir()}
        found = [str(os.getpid())]
        for pid in found:
            found += [name for name, parent in parents.items() if parent == int(pid)]
        return [pid for pid in found[1:] if pid not in self._earlier and _is_program(pid)]

    async def some(self) -> None:
        """Let other tasks go on until there is one."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.now():  # noqa: ASYNC110  nobody tells of a new process
                await asyncio.sleep(0)


def _parent(process: Path) -> int | None:
    """Give the id of the parent of what is in `/proc`; None if that is no process, or it has just ended."""
    if process.name.isdecimal():
        with suppress(FileNotFoundError, ProcessLookupError):
            # The name stands in brackets before it and may hold any character, see proc_pid_stat(5).
            return int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
    return None


def _is_program(pid: str) -> bool:
    """Whether a process runs, and is none of the launcher's own."""
    with suppress(FileNotFoundError, ProcessLookupError):
        command_line = Path("/proc", pid, "cmdline").read_bytes()  # that of one that has ended is empty
        return bool(command_line) and b"programs/launcher.py" not in command_line
    return False


@pytest.fixture
def children() -> Children:
    if not sys.platform.startswith("linux"):
        pytest.skip("children are listed by /proc")
    return Children()
