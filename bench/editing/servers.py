"""The two servers with `propose_and_review`, each with a person who approves every change at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.tokens import estimate_tokens

from bench.session import Program, Session, SessionError, Workspace, compact, session

OURS: Final = "workbench"
THEIRS: Final = "fs-mcp"
FS_MCP: Final = "fs-mcp==1.23.2"
TOOL: Final = "propose_and_review"
TIMEOUT_S: Final = 600.0
INSTALL_TIMEOUT_S: Final = 900.0

_EDITOR: Final = """\
#!{python}
# The editor of a person who approves: it saves the proposed file unchanged, until the review ends.
import os, sys, time
for turn in range(1, 100):
    time.sleep(0.2)
    try:
        os.utime(sys.argv[-1], (time.time() + turn, time.time() + turn))
    except OSError:
        break
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one call, and the tokens of the request and the answer."""

    text: str
    is_error: bool
    tokens: int


class Editor:
    """A running server whose changes are approved."""

    def __init__(self, label: str, running: Session, project: Path) -> None:
        self.label, self._running, self.project = label, running, project

    def call(self, tool: str, **arguments: Any) -> Reply:
        """Call a tool and count its tokens."""
        result = self._running.request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(str(block["text"]) for block in result["content"] if block["type"] == "text")
        sent = compact({"name": tool, "arguments": arguments})
        return Reply(text, bool(result.get("isError")), estimate_tokens(sent) + estimate_tokens(text))

    def definition_tokens(self) -> int:
        """Return the tokens of the definition of `propose_and_review`."""
        tools = self._running.request("tools/list")["tools"]
        # For an unknown client, our names have a prefix.
        [tool] = [tool for tool in tools if tool["name"].removeprefix("workbench_") == TOOL]
        return estimate_tokens(compact({key: tool[key] for key in ("name", "description", "inputSchema")}))


@contextmanager
def our_editor(workspace: Workspace) -> Iterator[Editor]:
    """Start Workbench. Its question is answered by the client: approve."""
    project, state = _directory(workspace, "ours"), _directory(workspace, "state")
    arguments = ("--classic", "--root", str(project))
    program = Program(OURS, "workbench_server", arguments, variables={"WORKBENCH_STATE": str(state)})
    with session(
        workspace, program, capabilities={"elicitation": {"form": {}}}, answer=_approve, timeout_s=TIMEOUT_S
    ) as running:
        yield Editor(OURS, running, project)


@contextmanager
def their_editor(workspace: Workspace, python: str) -> Iterator[Editor]:
    """Start fs-mcp. It opens `code`, which saves the proposed file unchanged: this approves the change."""
    project, temporary, bin_ = (_directory(workspace, name) for name in ("theirs", "temporary", "bin"))
    editor = bin_ / "code"
    editor.write_text(_EDITOR.format(python=sys.executable), encoding="utf-8")
    editor.chmod(0o755)
    path = os.pathsep.join([str(bin_), os.environ.get("PATH", os.defpath)])
    program = Program(
        THEIRS,
        "fs_mcp",
        ("--no-ui", "--no-http", str(project)),
        python=python,
        variables={"PATH": path, "TMPDIR": str(temporary)},
    )
    with session(workspace, program, timeout_s=TIMEOUT_S) as running:
        yield Editor(THEIRS, running, project)


def install_fs_mcp(workspace: Workspace) -> str:
    """Install fs-mcp into an environment of its own, since it needs mcp 1.x; return its interpreter.

    Raises:
        SessionError: it could not be installed.
    """
    directory = workspace.directory / "fs-mcp"
    python = str(directory / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    for command in ([sys.executable, "-m", "venv", str(directory)], [python, "-m", "pip", "install", "-q", FS_MCP]):
        ran = subprocess.run(command, capture_output=True, check=False, timeout=INSTALL_TIMEOUT_S)  # noqa: S603
        if ran.returncode:
            output = (ran.stdout + ran.stderr).decode("utf-8", "replace")[-2000:]
            raise SessionError(f"{FS_MCP} could not be installed; pass --fs-mcp PYTHON\n{output}")
    return python


def _approve(request: dict[str, Any]) -> dict[str, Any]:
    if request["method"] != "elicitation/create":
        raise SessionError(f"unexpected request: {request['method']}")
    return {"action": "accept", "content": {"decision": "approve"}}


def _directory(workspace: Workspace, name: str) -> Path:
    path = workspace.directory / "editing" / name
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
