"""Real clients, headless, with a scripted model and without any network but loopback.

Each reads the generated files in its project; the files in its home are those of its user.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from scripted_model import ScriptedModel, Step, serving

TESTS = Path(__file__).parents[2]
NODE_PROGRAMS = (TESTS / "node_modules" / ".bin", TESTS / "clients" / "node_modules" / ".bin")
RECORD = Path(__file__).with_name("record.py")
TIMEOUT_S = 120
REPORT = "tools field"
"""Property of a test: the size of the field `tools` in the requests of a client."""


@dataclass(frozen=True)
class Place:
    """The directories of one run, which are empty at first."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def programs(self) -> Path:
        return self.root / "bin"

    @property
    def record(self) -> Path:
        return self.root / "record.txt"


@dataclass(frozen=True)
class Message:
    """A message between a client and a server."""

    sender: str
    content: Mapping[str, Any]


@dataclass
class Run:
    """One run of a client."""

    process: subprocess.CompletedProcess[str]
    model: ScriptedModel
    messages: list[Message] = field(default_factory=list)

    def sent(self, method: str) -> list[Mapping[str, Any]]:
        """Return the requests and notifications of the client."""
        contents = (message.content for message in self.messages if message.sender == "client")
        return [content for content in contents if content.get("method") == method]

    def answers(self, method: str) -> list[Mapping[str, Any]]:
        """Return the results of the server."""
        numbers = [request["id"] for request in self.sent(method)]
        contents = (message.content for message in self.messages if message.sender == "server")
        return [content["result"] for content in contents if content.get("id") in numbers and "result" in content]


class RealClient(ABC):
    """The driver of one client: its settings and its command line."""

    key: ClassVar[str]
    """Its key in `clients.toml`."""
    program: ClassVar[str]
    skills: ClassVar[str]
    """The directory of skills in a project."""
    approval: ClassVar[Sequence[str]]
    """The options with which its user approves calls of tools."""

    @abstractmethod
    def set_up(self, place: Place, model_url: str) -> Mapping[str, str]:
        """Write the files of its user; return its environment."""

    @abstractmethod
    def arguments(self, prompt: str) -> Sequence[str]:
        """Return the command line for one prompt, which can be a slash command."""

    def plugin_arguments(self, plugin: Path) -> Sequence[Sequence[str]]:
        """Return the command lines that install a plugin of Workbench."""
        raise NotImplementedError


class ClaudeCode(RealClient):
    key, program, skills = "claude-code", "claude", ".claude/skills"
    approval = ("--allowedTools", "mcp__workbench", "mcp__notes")

    def set_up(self, place: Place, model_url: str) -> Mapping[str, str]:
        off = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING")
        write(place.home / ".claude" / "settings.json", json.dumps({"enableAllProjectMcpServers": True}))
        return {
            "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model_url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "true",  # as with the models of Anthropic
            "MCP_CONNECTION_NONBLOCKING": "0",  # waits for the servers, instead of a second or two
            **dict.fromkeys(off, "1"),
        }

    def arguments(self, prompt: str) -> Sequence[str]:
        return ("-p", prompt, "--output-format", "stream-json", "--verbose")

    def plugin_arguments(self, plugin: Path) -> Sequence[Sequence[str]]:
        return (("plugin", "marketplace", "add", str(plugin)), ("plugin", "install", "workbench@workbench"))


class GeminiCli(RealClient):
    key, program, skills = "gemini-cli", "gemini", ".agents/skills"
    approval = ("--approval-mode", "yolo")

    def set_up(self, place: Place, model_url: str) -> Mapping[str, str]:
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        }
        write(place.home / ".gemini" / "settings.json", json.dumps(settings))
        return {
            "GEMINI_CLI_HOME": str(place.home),
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": model_url,
            "GEMINI_TELEMETRY_ENABLED": "false",
        }

    def arguments(self, prompt: str) -> Sequence[str]:
        return ("-m", "gemini-2.5-flash", "-p", prompt, "--output-format", "json")

    def plugin_arguments(self, plugin: Path) -> Sequence[Sequence[str]]:
        return (("extensions", "install", str(plugin), "--consent", "--skip-settings"),)


class Codex(RealClient):
    key, program, skills = "codex", "codex", ".agents/skills"
    approval = ()  # these servers only read

    def set_up(self, place: Place, model_url: str) -> Mapping[str, str]:
        config = f"""
            model = "scripted"
            model_provider = "scripted"
            approval_policy = "never"
            sandbox_mode = "read-only"
            check_for_update_on_startup = false
            analytics.enabled = false
            features.plugins = false
            projects.{json.dumps(str(place.project))}.trust_level = "trusted"

            [model_providers.scripted]
            name = "scripted"
            base_url = "{model_url}/v1"
            wire_api = "responses"
            env_key = "SCRIPTED_KEY"
        """
        write(place.home / ".codex" / "config.toml", config)
        return {"CODEX_HOME": str(place.home / ".codex"), "SCRIPTED_KEY": "none"}

    def arguments(self, prompt: str) -> Sequence[str]:
        return ("exec", "--json", prompt)


class Opencode(RealClient):
    key, program, skills = "opencode", "opencode", ".agents/skills"
    approval = ()  # it does not ask

    def set_up(self, place: Place, model_url: str) -> Mapping[str, str]:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model_url}/v1", "apiKey": "none"},
            "models": {"model": {"name": "scripted"}},
        }
        models = {"model": "scripted/model", "small_model": "scripted/model", "provider": {"scripted": provider}}
        write(place.home / "opencode.json", json.dumps({"autoupdate": False, "share": "disabled", **models}))
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        return {
            "OPENCODE_CONFIG": str(place.home / "opencode.json"),
            "npm_config_registry": model_url,  # where it finds no package
            "PWD": str(place.project),
            **{f"XDG_{name}_HOME": str(place.home / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")},
            **{f"OPENCODE_DISABLE_{name}": "1" for name in off},
        }

    def arguments(self, prompt: str) -> Sequence[str]:
        if not prompt.startswith("/"):
            return ("run", "--format", "json", prompt)
        command, *words = prompt[1:].split(" ")
        return ("run", "--format", "json", "--command", command, *words)


REAL_CLIENTS: Mapping[str, RealClient] = {
    client.key: client for client in (ClaudeCode(), Codex(), GeminiCli(), Opencode())
}


def run(
    client: RealClient, place: Place, prompt: str, steps: Sequence[Step], *, approved: bool, plugin: Path | None = None
) -> Run:
    """Install the plugin, start the client in its project with a prompt, and wait for its end."""
    path = [str(place.programs), *map(str, NODE_PROGRAMS), os.environ["PATH"]]
    program = shutil.which(client.program, path=os.pathsep.join(path[1:-1]))
    assert program, f"{client.program} is missing: run `nox -s clients`, or `npm install` in tests/ and tests/clients/"
    subprocess.run(["git", "init", "--quiet"], cwd=place.project, check=True)
    model = ScriptedModel(steps)
    with serving(model) as url:
        environ = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
        environ |= {"HTTPS_PROXY": url, "HTTP_PROXY": url, "NO_PROXY": "127.0.0.1,localhost"}
        environ |= {"HOME": str(place.home), "PATH": os.pathsep.join(path), "NO_COLOR": "1", "TERM": "dumb"}
        environ |= client.set_up(place, url)
        for arguments in client.plugin_arguments(plugin) if plugin else ():
            done = _run([program, *arguments], place.project, environ)
            assert done.returncode == 0, done.stdout + done.stderr
            model.outside.clear()  # Gemini CLI reports an installation in spite of its settings
        command = [program, *client.arguments(prompt), *(client.approval if approved else ())]
        process = _run(command, place.project, environ)
    return Run(process, model, _messages(place.record))


def _run(command: Sequence[str], directory: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. After `TIMEOUT_S`, end it and the programs that it started."""
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            out, errors = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def provide(place: Place, command: str, module: str, *flags: str, delay_s: float = 0) -> Path:
    """Put the command `command` on the client's PATH; return its path.

    It runs `module` with `flags` after `delay_s` and records the messages, except for `install`, which it runs as the
    installed command does.
    """
    server = [str(RECORD), str(place.record), sys.executable, "-m", module, *flags]
    text = f"""#!{sys.executable}
import os, runpy, sys, time

time.sleep({delay_s})
if "install" in sys.argv:
    runpy.run_module({module!r}, run_name="__main__")
os.execv(sys.executable, [sys.executable, *{server!r}, *sys.argv[1:]])
"""
    program = write(place.programs / command, text)
    program.chmod(0o755)
    return program


def write(path: Path, text: str) -> Path:
    """Write a new file, and its directory; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _messages(record: Path) -> list[Message]:
    senders = {">": "client", "<": "server"}
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return [Message(senders[line[0]], json.loads(line[2:])) for line in lines if line[0] in senders]
