"""Plan the renames of our command files without a prefix. Nothing is overwritten, and no edit is lost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolmason_runtime import STYLES
from toolmason_runtime.install import OURS, CommandDirectory, InstallError, State, read_file

from workbench_handlers.workflows.command_file import is_ours, setup_command
from workbench_handlers.workflows.data import SETUP_NAMES, hosts


@dataclass(frozen=True, slots=True)
class Step:
    """A file and its new name. A file with a `reason` stays. `content` is None for a generated file."""

    directory: CommandDirectory
    name: str
    target: str
    reason: str = ""
    old: bytes = b""
    content: bytes | None = None

    def apply(self) -> None:
        """Write the file under its new name, then remove the old one.

        Raises:
            InstallError: it cannot be written or removed, or was changed in the meantime.
        """
        path = self.directory.path / self.name
        if read_file(path) != self.old:
            raise InstallError(f"{path} was changed by another program; run migrate-commands again")
        if self.content is None:
            self.directory.write(self.target)
        else:
            _create(path.with_name(self.target), self.content, path)
        self.directory.remove(self.name)


def prefixed_names(catalogue: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the server's commands by their names without the prefix."""
    prompts: Mapping[str, Mapping[str, Any]] = catalogue.get("prompts", {})
    names = {entry.get("command"): name for name, entry in prompts.items()}
    return {base: name for base, name in names.items() if isinstance(base, str) and base != name}


def plan_migration(
    directories: Iterable[CommandDirectory], generated: Mapping[str, str], prefix: str
) -> Iterator[Step]:
    """Yield a step for each file with the name of one of our commands without its prefix.

    Args:
        directories: the directories of the clients.
        generated: the names of generated commands by their names without the prefix.
        prefix: the prefix of commands that `setup_workflows` writes.
    """
    for directory in directories:
        for base in sorted({*generated, *(SETUP_NAMES if prefix else ())}):
            name = f"{base}{directory.suffix}"
            data = read_file(directory.path / name)
            if data is not None and is_ours(data.decode(errors="replace")):
                if base in SETUP_NAMES and prefix:
                    yield _written_step(directory, base, prefix, data)
            elif base in generated and directory.state(name) is not State.MISSING:
                yield _generated_step(directory, name, f"{generated[base]}{directory.suffix}", data)


def _generated_step(directory: CommandDirectory, name: str, target: str, data: bytes | None) -> Step:
    state, target_state = directory.state(name), directory.state(target)
    if data is None or state not in OURS:
        return Step(directory, name, target, f"it {state}")
    if target not in directory.commands:
        return Step(directory, name, target, "this version of the server has no such command for the client")
    if target_state not in {State.MISSING, *OURS}:
        return Step(directory, name, target, f"{target} exists and {target_state}")
    return Step(directory, name, target, old=data)


def _written_step(directory: CommandDirectory, base: str, prefix: str, data: bytes) -> Step:
    name, target = f"{base}{directory.suffix}", f"{prefix}{base}{directory.suffix}"
    text = data.replace(b"\r\n", b"\n").decode(errors="replace")
    variants = ((host, style) for host in hosts().values() for style in STYLES)
    written = next(((host, style) for host, style in variants if setup_command(base, "", host, style) == text), None)
    if written is None:
        return Step(directory, name, target, "it was edited, or written by another version or with other directories")
    host, style = written
    content = setup_command(base, prefix, host, style).encode()
    path = directory.path / target
    if os.path.lexists(path) and read_file(path) != content:
        return Step(directory, name, target, f"{target} exists")
    return Step(directory, name, target, old=data, content=content)


def _create(path: Path, content: bytes, model: Path) -> None:
    """Create a file with the mode of `model`; a file with this content may exist from an interrupted run.

    Raises:
        InstallError: there is another file.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except FileExistsError:
        if read_file(path) == content:
            return
        raise InstallError(f"{path} exists") from None
    except OSError as error:
        raise InstallError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        path.chmod(model.stat().st_mode & 0o777)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InstallError(f"cannot write {path}: {error.strerror}") from error
