"""What the handlers share: made once when the server starts, and the folders that one call may read."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import Projects, SearchPath, is_too_wide

from workbench_handlers.model_backends import logs
from workbench_handlers.research.state import Research
from workbench_handlers.workspace.roots import Root, root_of_uri

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders the server was started with, and what it found on the machine."""

    roots: tuple[Root, ...]
    """As given; empty if the client's folders, or the working directory, are to be used."""
    working_directory: Path

    def ripgrep(self, roots: Sequence[Root]) -> str:
        """Path of the `rg` program, which none of the roots may choose, or empty."""
        projects = (*(root.path for root in roots), self.working_directory)
        return SearchPath.of(os.environ, projects).find("rg") or ""


@asynccontextmanager
async def lifespan(
    options: Mapping[str, str | tuple[str, ...]],
) -> AsyncIterator[tuple[Workspace, Research, Projects]]:
    """Give the workspace for the server's options, and what research tools share; work that goes on ends with it."""
    logs.install()
    given = options.get("root", ())
    research = Research()
    try:
        yield workspace((given,) if isinstance(given, str) else given), research, Projects(project_paths)
    finally:
        await research.aclose()


def workspace(given: Sequence[str]) -> Workspace:
    """Give the workspace for the roots in `given`, as a person wrote them.

    One that is no directory is kept, since it may become one, and logged, since whoever wrote it does not see what
    the tools answer.
    """
    roots = _distinct(tuple(Root.of(each, "given when the server was started") for each in given if each.strip()))
    for root in roots:
        if not root.path.is_dir():
            _log.warning("%s is no directory, but --root or WORKBENCH_ROOTS names it", root.path)
    return Workspace(roots, Path.cwd())


async def roots_for(call: ToolCall) -> tuple[Root, ...]:
    """Give the folders this call may read: those given at start, else the client's, else the working directory.

    Over HTTP the client's do not count: whoever reaches the port could name the whole disk.

    Raises:
        ToolError: there are none. A working directory that is the whole disk or a whole home is nobody's project.
    """
    shared = call.state(Workspace)
    if shared.roots:
        return _present(shared.roots)
    client = tuple(
        Root.of(path, "a folder of the client")
        for each in (await call.client_roots() if call.is_local else ())
        if (path := root_of_uri(str(each.get("uri", "")))) is not None
    )
    if folders := tuple(root for root in _distinct(client) if root.path.is_dir()):
        return folders
    root = Root.of(str(shared.working_directory), "the directory the server was started in")
    if is_too_wide(root.path):
        message = f"no directory is allowed: the server was started in `{root.path}` without --root or WORKBENCH_ROOTS"
        raise ToolError(f"{message}; ask the user to set one of them", code="NO_ROOTS")
    return (root,)


async def project_paths(call: ToolCall) -> tuple[Path, ...]:
    """Give the paths of the folders a call may read; none where there are none."""
    try:
        return tuple(root.path for root in await roots_for(call))
    except ToolError:
        return ()


def _present(roots: tuple[Root, ...]) -> tuple[Root, ...]:
    """Give the roots that are folders. If none is, there is no other choice: reading elsewhere would be worse."""
    if found := tuple(root for root in roots if root.path.is_dir()):
        return found
    names = ", ".join(f"`{root.path}`" for root in roots)
    raise ToolError(f"what --root or WORKBENCH_ROOTS names is no directory: {names}", code="NO_ROOTS")


def _distinct(roots: tuple[Root, ...]) -> tuple[Root, ...]:
    return tuple({root.path: root for root in roots}.values())
