"""Which files a server consists of, and the template of each. Renders nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from toolmason.model.server import Server

HOSTS: Mapping[str, tuple[str, str]] = {
    "claude-code": (".claude/commands/{}.md", "commands/claude_code.md.jinja"),
    "cursor": (".cursor/commands/{}.md", "commands/cursor.md.jinja"),
    "gemini-cli": (".gemini/commands/{}.toml", "commands/gemini_cli.toml.jinja"),
    "opencode": (".opencode/command/{}.md", "commands/opencode.md.jinja"),
    "vscode": (".github/prompts/{}.prompt.md", "commands/vscode.md.jinja"),
}
"""Where each host looks for commands, below `commands/<host>/`, and what writes one."""

CLIENTS: Mapping[str, str] = {
    "claude-code/.mcp.json": "clients/claude_code.json.jinja",
    "claude-desktop/claude_desktop_config.json": "clients/claude_desktop.json.jinja",
    "codex/.codex/config.toml": "clients/codex.toml.jinja",
    "cursor/.cursor/mcp.json": "clients/cursor.json.jinja",
    "gemini-cli/.gemini/settings.json": "clients/gemini_cli.json.jinja",
    "opencode/opencode.json": "clients/opencode.json.jinja",
    "vscode/.vscode/mcp.json": "clients/vscode.json.jinja",
}
"""Configuration of each client, ready to copy into a project, and what writes it."""

PROVIDERS = ("anthropic", "gemini", "gemini_json", "gemini_vertex", "mcp", "openai", "openai_strict")
PARTS = ("python", "schemas", "commands", "clients", "docs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file to make: its path under `generated/`, the template, and what the template sees beside `server`.

    `readable` JSON is laid out over many lines; the rest is as its template has it.
    """

    path: PurePosixPath
    template: str
    part: str
    subject: Mapping[str, Any] = field(default_factory=dict)
    readable: bool = True


def plan(server: Server) -> tuple[PlannedFile, ...]:
    """List the files of one server, in path order."""
    found = [*_python(server), *_schemas(), *_commands(server), *_workflows(server), *_clients(), *_docs(server)]
    return tuple(sorted(found, key=lambda each: each.path.as_posix()))


def _file(part: str, path: str, template: str, *, readable: bool = True, **subject: Any) -> PlannedFile:
    return PlannedFile(path=PurePosixPath(path), template=template, part=part, subject=subject, readable=readable)


def _python(server: Server) -> Iterator[PlannedFile]:
    package = server.package
    yield _file("python", f"{package}/__init__.py", "python/init.py.jinja")
    yield _file("python", f"{package}/__main__.py", "python/main.py.jinja")
    yield _file("python", f"{package}/catalogue.json", "python/catalogue.json.jinja", readable=False)
    yield _file("python", f"{package}/catalogue.py", "python/catalogue.py.jinja")
    yield _file("python", f"{package}/search_index.json", "python/search_index.json.jinja", readable=False)
    yield _file("python", f"{package}/server.py", "python/server.py.jinja")
    if server.shared_types:
        yield _file("python", f"{package}/types.py", "python/types.py.jinja")
    for category in server.categories:
        folder = f"{package}/{category.module}"
        yield _file("python", f"{folder}/__init__.py", "python/category.py.jinja", category=category)
        yield _file("python", f"{folder}/bindings.py", "python/bindings.py.jinja", category=category)
        if category.handled:
            yield _file("python", f"{folder}/contract.py", "python/contract.py.jinja", category=category)
        yield _file("python", f"{folder}/models.py", "python/models.py.jinja", category=category)


def _schemas() -> Iterator[PlannedFile]:
    yield _file("schemas", "schemas/manifest.schema.json", "schemas/manifest.schema.json.jinja")
    for provider in PROVIDERS:
        yield _file("schemas", f"schemas/{provider}.json", f"schemas/{provider}.json.jinja", readable=False)


def _commands(server: Server) -> Iterator[PlannedFile]:
    for command in server.commands:
        for host, (place, template) in HOSTS.items():
            path = f"commands/{host}/{place.format(command.name)}"
            yield _file("commands", path, template, command=command)


def _workflows(server: Server) -> Iterator[PlannedFile]:
    for workflow in server.workflows:
        yield _file("commands", f"skills/{workflow.name}/SKILL.md", "skills/workflow.md.jinja", workflow=workflow)
    yield _file("commands", f"skills/{server.name.lower()}/SKILL.md", "skills/server.md.jinja")


def _clients() -> Iterator[PlannedFile]:
    for path, template in CLIENTS.items():
        yield _file("clients", f"clients/{path}", template)


def _docs(server: Server) -> Iterator[PlannedFile]:
    yield _file("docs", "docs/index.md", "docs/index.md.jinja")
    yield _file("docs", "docs/discovery.md", "docs/discovery.md.jinja")
    for category in server.categories:
        yield _file("docs", f"docs/tools/{category.module}.md", "docs/category.md.jinja", category=category)
