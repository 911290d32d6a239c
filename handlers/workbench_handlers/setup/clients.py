"""What is to be written into the configuration of each client so that it starts the server."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.programs.search_path import SearchPath, working_directory

from workbench_handlers.model_backends.choice import BACKEND, COMMANDS
from workbench_handlers.setup import auth

NAME: Final = "workbench"
VARIABLES: Final = (
    *auth.VARIABLES,
    BACKEND,
    *COMMANDS.values(),
    *("WORKBENCH_FLASH_MODELS", "WORKBENCH_PRO_MODELS", "WORKBENCH_STORE", "WORKBENCH_LINGER_SECONDS"),
    "WORKBENCH_WAIT_SECONDS",
    *("WORKBENCH_MAX_PROGRAMS", "RESPONSE_CHUNK_SIZE_KB", "RESPONSE_MAX_SIZE_KB"),
    *("GEMINI_RETRY_ENABLED", "GEMINI_RETRY_MAX_ATTEMPTS", "GEMINI_RETRY_INITIAL_DELAY"),
    *("GEMINI_RETRY_MAX_DELAY", "GEMINI_RETRY_BASE"),
)
"""What research tools read of the environment: `pass_env` of the server in the manifest, whose file is not at hand."""
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|CREDENTIAL|\AGOOGLE_CLOUD_PROJECT\Z")
"""Variables that Gemini CLI withholds from servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """What one client is told. `command` does it without an editor, where the client has one."""

    title: str
    file: str
    content: str
    command: str = ""
    note: str = ""


def snippets(command: str, *, path: str, folder: str, variables: Sequence[str] = ()) -> dict[str, Snippet]:
    """Give the configuration of each client.

    `command` starts the server, `path` is the same for a client that does not have our PATH, and `folder` what such a
    client lets it read. `variables` are those of the environment that research tools stand on here.
    """
    stdio = {"type": "stdio", "command": command, "args": []}
    secret = [name for name in variables if _SECRET.search(name)]
    passed: dict[str, Any] = {"env": {name: f"${{{name}:-}}" for name in secret}} if secret else {}
    shell = ", ".join(variables)
    unseen = f"started from the desktop it does not see {shell}: add `env` with it" if variables else ""
    return {
        "claude-code": Snippet(
            title="Claude Code",
            file=".mcp.json",
            content=_json({"mcpServers": {NAME: stdio}}),
            command=f"claude mcp add {NAME} -- {_quoted(command)}",
        ),
        "vscode": Snippet(
            title="VS Code",
            file=".vscode/mcp.json",
            content=_json({"servers": {NAME: stdio}}),
            note=unseen,
        ),
        "gemini-cli": Snippet(
            title="Gemini CLI",
            file=".gemini/settings.json",
            content=_json({"mcpServers": {NAME: {"command": command, "args": [], **passed}}}),
            note="it hides variables that look secret from servers: `env` passes them on" if secret else "",
        ),
        "claude-desktop": Snippet(
            title="Claude Desktop",
            file="claude_desktop_config.json",
            content=_json({"mcpServers": {NAME: {"command": path, "args": ["--root", folder]}}}),
            note=unseen,
        ),
        "codex": Snippet(
            title="Codex",
            file=".codex/config.toml",
            content=_codex(command),
            note="it waits for the server only if it is `required`, and passes on only the variables that are named",
        ),
        "cursor": Snippet(
            title="Cursor",
            file=".cursor/mcp.json",
            content=_json({"mcpServers": {NAME: stdio}}),
            note=unseen,
        ),
        "opencode": Snippet(
            title="opencode",
            file="opencode.json",
            content=_json(
                {
                    "$schema": "https://opencode.ai/config.json",
                    "mcp": {NAME: {"type": "local", "command": [command], "enabled": True}},
                }
            ),
        ),
    }


CLIENTS: Final = ("claude-code", "vscode", "gemini-cli", "claude-desktop", "codex", "cursor", "opencode")
"""The names of the clients, those first that most people have."""


def here(environ: Mapping[str, str], folder: Path) -> dict[str, Snippet]:
    """Give the configuration of each client for the server as it is installed here."""
    found = SearchPath.of(environ, (folder, *working_directory())).find(NAME)
    path = found or str(Path(sys.executable).with_name(NAME))
    set_here = [name for name in VARIABLES if environ.get(name)]
    return snippets(NAME if found else path, path=path, folder=str(folder), variables=set_here)


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _codex(command: str) -> str:
    names = "".join(f"    {json.dumps(name)},\n" for name in ("WORKBENCH_ROOTS", *VARIABLES))
    quoted = json.dumps(command, ensure_ascii=False)
    started = f"[mcp_servers.{NAME}]\ncommand = {quoted}\nargs = []\nenv_vars = [\n{names}]\nrequired = true\n"
    return f"{started}tool_timeout_sec = 300\n"


def _quoted(command: str) -> str:
    return f'"{command}"' if re.search(r"\s", command) else command
