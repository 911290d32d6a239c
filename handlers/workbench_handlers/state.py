"""State that handlers share: the allowed directories of the server and of each call."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.audit import log_path
from toolmason_runtime.programs import SearchPath, is_too_wide

from workbench_handlers.workspace.probe import is_directory
from workbench_handlers.workspace.roots import Root, root_of_uri

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workspace:
    """The directories that the server was started with."""

    roots: tuple[Root, ...]
    """Those of `--root`; empty if the client's roots or the working directory apply."""
    working_directory: Path

    def ripgrep(self, roots: Sequence[Root]) -> str:
        """Return the path of `rg` outside of the roots; empty if it is not installed."""
        projects = (*(root.path for root in roots), self.working_directory)
        return SearchPath.of(os.environ, projects).find("rg") or ""


def workspace(paths: Sequence[str]) -> Workspace:
    """Return the workspace for the roots in `given`, as the user wrote them.

    A path that is not a directory is logged and included: it may become one.
    """
    roots = _distinct(tuple(Root.of(path, "given when the server was started") for path in paths if path.strip()))
    for root in roots:
        if not is_directory(root.path):
            _log.warning("--root or WORKBENCH_ROOTS: %s is not a directory", root.path)
    return Workspace(roots, Path.cwd())


async def roots_for(call: ToolCall) -> tuple[Root, ...]:
    """Return the allowed directories of a call: `--root`, else the client's roots, else the working directory.

    The client's roots are ignored over HTTP: any client of the port could request the whole disk.

    Raises:
        ToolError: none is allowed: the roots are not directories, or the working directory is a disk or the home; or
            the audit log is in one of them.
    """
    roots = await _roots_for(call)
    _check_audit_log(roots)
    return roots


async def _roots_for(call: ToolCall) -> tuple[Root, ...]:
    shared = call.state(Workspace)
    if shared.roots:
        return _existing_roots(shared.roots)
    client = tuple(
        Root.of(path, "a directory of the client")
        for root in (await call.client_roots() if call.is_local else ())
        if (path := root_of_uri(str(root.get("uri", "")))) is not None
    )
    if directories := tuple(root for root in _distinct(client) if is_directory(root.path)):
        return directories
    root = Root.of(str(shared.working_directory), "the directory the server was started in")
    if is_too_wide(root.path):
        message = (
            f"no allowed directories: the working directory `{root.path}` is too broad; ask the user to set --root"
        )
        raise ToolError(f"{message} or WORKBENCH_ROOTS", code="NO_ROOTS")
    return (root,)


def _check_audit_log(roots: Sequence[Root]) -> None:
    """Raise ToolError if tools could read or change the audit log of this server."""
    if not (path := log_path()):
        return
    directory = Path(os.path.realpath(path)).parent
    for root in roots:
        if directory.is_relative_to(root.path):
            message = (
                f"the audit log `{path}` of this server is in the allowed directory `{root.path}`, where tools could "
                "change it: ask the user to move the log elsewhere"
            )
            raise ToolError(message, code="AUDIT_LOG_EXPOSED")


async def project_paths(call: ToolCall) -> tuple[Path, ...]:
    """Return the paths of the allowed directories of a call; empty if none is allowed."""
    try:
        return tuple(root.path for root in await roots_for(call))
    except ToolError:
        return ()


def _existing_roots(roots: tuple[Root, ...]) -> tuple[Root, ...]:
    """Return the roots that are directories. Without any the call fails: other directories must not be read instead."""
    if present := tuple(root for root in roots if is_directory(root.path)):
        return present
    names = ", ".join(f"`{root.path}`" for root in roots)
    raise ToolError(f"--root or WORKBENCH_ROOTS: not a directory: {names}", code="NO_ROOTS")


def _distinct(roots: tuple[Root, ...]) -> tuple[Root, ...]:
    return tuple({root.path: root for root in roots}.values())
