"""Resolve the access of a program from its declaration, the call, and the files that it needs to run."""

from __future__ import annotations

import os
import re
import shutil
import struct
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

import anyio
import anyio.to_thread
from toolmason_runtime.programs import sandbox
from toolmason_runtime.programs.argv import expand_variables
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.sandbox import Access
from toolmason_runtime.programs.search_path import is_too_wide, working_directory
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import Permissions, Risk

SANDBOX: Final = "TOOLMASON_SANDBOX"
"""Environment variable of the server: `off`, `landlock` or `bwrap`; if the chosen one is unavailable, none is used.

Any other value counts as unset: a typing error must not switch the sandbox off.
"""
_CHOICES: Final = ("off", "landlock", "bwrap")
ROOTS: Final = "{roots}"
"""Placeholder of the project directories of the call."""
CWD: Final = "{cwd}"
"""Placeholder of the working directory of the program."""

STORES: Final = ("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew")
"""Package stores, in which a program uses libraries of other packages."""
MAX_INTERPRETERS: Final = 4
"""Maximum depth of scripts whose interpreter is a script, the same as the kernel's."""

_OPEN_NETWORK: Final = "TCP fast open, MPTCP, UDP and everything else are not covered, so a program may still send data"
_HEAD: Final = 4096
_PROGRAM_FOLDERS: Final = frozenset({"bin", "sbin", "libexec", "shims"})
"""Names of directories of programs; version managers such as pyenv and asdf have `shims`."""
_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII)

Locate = Callable[[str], str]
"""Returns the path of a program by its name, or raises `ToolError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """The result of a guard that allows a call more access.

    `reads`, `writes` and `executes` are paths that the program may use in this call beyond its declaration.
    """

    values: Mapping[str, Any]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    executes: tuple[str, ...] = ()


def isolation() -> str:
    """Return the sandbox for programs that declare their access: "landlock", "bwrap", or "" for none."""
    chosen = _choice()
    if chosen == "bwrap":
        return chosen if sandbox.can_use_bwrap() else ""
    supported = sandbox.supported()
    return supported if chosen in {"", supported} else ""


def _choice() -> str:
    """Return the owner's choice; empty if there is none."""
    value = os.environ.get(SANDBOX, "").strip().casefold()
    return value if value in _CHOICES else ""


def describe_isolation() -> str:
    """Describe the sandbox of this machine in one sentence."""
    how = isolation()
    if how == "landlock":
        refused = "" if sandbox.abi() < sandbox.TCP_ABI else "plain TCP `connect` and `bind` are refused; "
        return f"Landlock: files and programs as declared; where no network is declared, {refused}{_OPEN_NETWORK}"
    if how == "bwrap":
        return "bwrap: files and network as declared; programs that can be read can be started"
    why = f"{SANDBOX} is set" if _choice() else "this system has neither Landlock nor a working bwrap"
    return f"none, since {why}: programs are not isolated, and have limits only"


def isolation_warnings(unconfined: Sequence[str]) -> tuple[str, ...]:
    """Return warnings: no sandbox on this machine, or programs that declare no access."""
    warnings = [] if isolation() else [f"Isolation of programs: {describe_isolation()}."]
    if not _choice() and (value := os.environ.get(SANDBOX, "").strip()):
        warnings.append(f"{SANDBOX} is ignored: `{value[:40]}` is unknown; use one of {', '.join(_CHOICES)}.")
    if unconfined:
        names = ", ".join(f"`{name}`" for name in unconfined)
        warnings.append(f"Not isolated, since [clis] declares neither files nor network for them: {names}.")
    return tuple(warnings)


def resolve_access(
    permissions: Permissions, guarded: Guarded, invocation: Invocation, *, risk: Risk, environ: Mapping[str, str]
) -> Access:
    """Return the access of a call. `executes` may contain program names, which `with_program` looks up.

    Without projects, `{roots}` is the server's working directory, unless that is a disk or the home directory. An entry
    with an unset variable is omitted.
    """
    roots = invocation.projects or tuple(
        str(directory) for directory in working_directory() if not is_too_wide(directory)
    )

    def paths(entries: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for entry in entries for path in _paths(entry, roots, invocation.cwd, environ))

    writes = paths(permissions.writes)
    is_reading = risk is Risk.READ
    return Access(
        reads=(*paths(permissions.reads), *guarded.reads, *(writes if is_reading else ())),
        writes=(*guarded.writes, *(() if is_reading else writes)),
        executes=(*paths(permissions.executes), *guarded.executes),
        network=permissions.network,
    )


def _paths(entry: str, roots: Sequence[str], cwd: str, environ: Mapping[str, str]) -> Iterator[str]:
    if entry == ROOTS:
        yield from map(os.path.realpath, roots)
        return
    if entry == CWD:
        yield os.path.realpath(cwd or os.curdir)
        return
    if any(not environ.get(match["plain"] or match["braced"]) for match in _VARIABLE.finditer(entry)):
        return
    path = expand_variables(entry, environ, where="a path")
    if os.path.isabs(path):  # noqa: PTH117  a text
        yield os.path.realpath(path)
    elif os.sep not in path:
        yield path


@asynccontextmanager
async def confined(invocation: Invocation, access: Access) -> AsyncIterator[Invocation]:
    """Yield `invocation` with its access and a temporary directory, which is removed afterwards."""
    async with temporary_directory() as directory:
        yield replace(
            invocation,
            env={**invocation.env, "TMPDIR": directory},
            access=replace(access, writes=(*access.writes, directory)),
        )


@asynccontextmanager
async def temporary_directory() -> AsyncIterator[str]:
    """Yield the real path of a new temporary directory, which is removed afterwards."""
    directory = _make_temp_dir()
    try:
        yield directory
    finally:
        try:
            os.rmdir(directory)  # noqa: PTH106  nearly always empty
        except OSError:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(shutil.rmtree, directory, True)


def _make_temp_dir() -> str:
    return os.path.realpath(tempfile.mkdtemp(prefix="toolmason-"))


def with_program(access: Access, executable: str, locate: Locate) -> Access:
    """Return `access` with the files that `executable` and the programs in `executes` need.

    These are the program, its interpreters and loader, and its installation directory.
    """
    reads, executes = list(access.reads), list[str]()
    waiting = [executable, *access.executes]
    for _ in range(MAX_INTERPRETERS + 1):
        programs = list[str]()
        for path in filter(None, (_located(name, locate) for name in waiting)):
            real = os.path.realpath(path)
            if real not in executes:
                executes.append(real)
                if os.path.isdir(real):  # noqa: PTH112  a text
                    continue
                reads += [*_prefix(path), *_prefix(real)]
                programs += _interpreters(real, _modified(real))
        waiting = programs
    return replace(access, reads=tuple(dict.fromkeys(reads)), executes=tuple(executes))


def installation(executable: str) -> tuple[str, ...]:
    """Return the installation directories of a program; empty for a program of the system."""
    return tuple(dict.fromkeys([*_prefix(executable), *_prefix(os.path.realpath(executable))]))


def _located(name: str, locate: Locate) -> str:
    """Return the path of a program; empty if it is not installed."""
    try:
        return name if os.path.isabs(name) else locate(name)  # noqa: PTH117  a text
    except ToolError:
        return ""


def _modified(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _interpreters(path: str, _modified: int) -> tuple[str, ...]:
    """Return the files that the kernel starts to run a file: a script's interpreter, or a program's loader.

    For a script that uses `env`, the name of its interpreter is included.
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
            if head.startswith(b"\x7fELF"):
                return _loader(file, head)
    except (OSError, struct.error, IndexError):
        return ()
    if not head.startswith(b"#!"):
        return ()
    interpreter, *words = os.fsdecode(head[2:].split(b"\n", 1)[0]).split() or [""]
    if Path(interpreter).name != "env":
        return (interpreter,)
    return (interpreter, *(word for word in words if not word.startswith("-") and "=" not in word))[:2]


def _loader(file: BinaryIO, head: bytes) -> tuple[str, ...]:
    """Return the loader of an ELF file (`PT_INTERP`); none if the file is statically linked."""
    order = "<" if head[5] == 1 else ">"
    is_64 = head[4] == 2
    (table,) = struct.unpack_from(f"{order}{'Q' if is_64 else 'I'}", head, 32 if is_64 else 28)
    size, count = struct.unpack_from(f"{order}HH", head, 54 if is_64 else 42)
    for index in range(min(count, 64)):
        file.seek(table + index * size)
        entry = file.read(size)
        if struct.unpack_from(f"{order}I", entry)[0] == 3:
            offset = struct.unpack_from(f"{order}{'Q' if is_64 else 'I'}", entry, 8 if is_64 else 4)[0]
            file.seek(offset)
            return (os.fsdecode(file.read(_HEAD).split(b"\0", 1)[0]),)
    return ()


def _prefix(path: str) -> list[str]:
    """Return the installation directories of a program outside the system's directories."""
    if path.startswith(tuple(f"{library}/" for library in sandbox.LIBRARIES)):
        return []
    if store := next((directory for directory in STORES if path.startswith(f"{directory}/")), ""):
        return [store]
    parent = Path(path).parent
    top = parent.parent if parent.name in _PROGRAM_FOLDERS else parent
    if is_too_wide(top) or top == Path(os.path.realpath(Path.home()), ".local"):
        return [os.path.realpath(top / name) for name in ("bin", "lib", "lib64", "libexec")]
    return [os.path.realpath(top)]
