"""The contract of a manifest, in the working tree or in a revision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.audit.sources import load_manifest
from toolmason.catalogue.table import catalogue, wire_hints
from toolmason.diagnostics import Location
from toolmason.diff.contract import AccessContract, Contract, ToolContract
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.pipeline import LoadedManifest
from toolmason.render.typed_clients.manifest_tools import client_methods

_RIGHTS: Mapping[str, tuple[str, ...]] = {
    "command": ("reads", "writes", "executes", "network"),
    "upstream": ("reads", "writes", "executes", "network", "allow"),
}
"""Kind of a tool -> keys of its table that permit effects."""


def manifest_contract(reading: LoadedManifest, root: Path, *, source: str, prefix: str = "") -> Contract:
    """Return the contract of a manifest. `prefix` precedes paths in locations: `HEAD~1:`, or its directory."""
    server, document = reading.server, reading.document
    declared = {tool.name: tool for tool in load_manifest(reading, root).tools}
    locate_in = load_manifest(reading, root).locate
    tools = {tool.name: tool for tool in server.tools if tool.table.enabled}

    common_scopes = server.table.auth.scopes if server.table.auth else ()

    def shown(location: Location | None) -> Location | None:
        return location and Location(PurePosixPath(f"{prefix}{location.path}"), location.line, location.column)

    def locate(at: KeyPath) -> Location | None:
        return shown(document.locate(at)) if _is_in(document.data, at[:2]) else None

    def contract(tool: Tool) -> ToolContract:
        def locate_tool(pointer: str) -> Location | None:
            if not pointer:
                return shown(document.locate(tool.at))
            return shown(locate_in(declared[tool.name], pointer))

        return ToolContract(
            name=tool.name,
            arguments=tool.schema,
            listed=tool.input_schema,
            result=tool.output_schema,
            title=tool.table.title,
            summary=tool.table.summary,
            description=tool.table.description,
            category=tool.category,
            tier=tool.table.tier,
            hints=wire_hints(tool.hints),
            aliases=tool.table.aliases,
            argument_aliases=tool.argument_aliases,
            deprecated=tool.table.deprecated is not None,
            scopes=tuple(dict.fromkeys((*common_scopes, *tool.table.scopes))),
            needs_tasks=tool.table.task == "required",
            locate=locate_tool,
        )

    return Contract(
        source=source,
        tools={name: contract(tool) for name, tool in tools.items()},
        name=server.table.name,
        prefix=server.prefix,
        version=server.table.version,
        instructions=server.table.instructions,
        style=server.discovery.style,
        pinned=server.discovery.pinned,
        prompts={prompt.name: _prompt(prompt) for prompt in server.prompts},
        resources={
            resource.name: {"uri": resource.table.uri, "mime_type": resource.table.mime_type}
            for resource in server.resources
        },
        workflows={workflow.name: workflow.description for workflow in server.workflows},
        access=_access(server),
        catalogue=catalogue(server),
        users=_users(server, root),
        locate=locate,
        is_exact=True,
        path=PurePosixPath(f"{prefix}{document.path}"),
    )


def _is_in(data: Any, at: KeyPath) -> bool:
    for part in at:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _prompt(prompt: Any) -> dict[str, Any]:
    return {
        "arguments": [{"name": param.name, "required": param.required} for param in prompt.params],
        "text": [prompt.title, prompt.description, [message.text for message in prompt.messages]],
    }


def _access(server: Server) -> AccessContract:
    rights: dict[str, dict[str, tuple[str, ...] | None]] = {}
    hosts: dict[str, str] = {}
    for kind, groups in server.groups.items():
        for group in groups:
            section = type(group).catalogue_section
            table = f"{section}.{group.name}"
            if kind in _RIGHTS:
                rights[table] = {key: _right(getattr(group.table, key, None)) for key in _RIGHTS[kind]}
            for url in (getattr(group.table, "base_url", ""), getattr(group.table, "url", "")):
                if host := _host(url):
                    hosts.setdefault(host, table)
            for host in getattr(group.table, "allow_hosts", ()):
                hosts.setdefault(host, table)
    return AccessContract(rights=rights, hosts=hosts)


def _right(value: Any) -> tuple[str, ...] | None:
    """Return the values that a key permits; None if it permits everything."""
    match value:
        case None | True:
            return None
        case False:
            return ()
        case _:
            return tuple(value)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


_MAX_FILES = 2_000
_MAX_BYTES = 1_000_000


def _users(server: Server, root: Path) -> dict[str, tuple[str, ...]]:
    """Return the typed clients, prompts, commands, workflows and files of clients that use each tool."""
    texts: dict[str, str] = {}
    for command in server.commands:
        texts[f"command `{command.name}`"] = f"{' '.join(command.table.tools)} {command.table.prompt}"
    for workflow in server.workflows:
        steps = " ".join(f"{step.table.tool} {step.table.text}" for step in workflow.steps)
        texts[f"workflow `{workflow.name}` and its skill"] = steps
    for prompt in server.prompts:
        if not prompt.command:
            texts[f"prompt `{prompt.name}`"] = " ".join(message.text for message in prompt.messages)
    texts["the server's instructions"] = server.table.instructions
    texts |= _client_files(root / "generated")
    users: dict[str, list[str]] = {name: list(methods) for name, methods in client_methods(server).items()}
    names = [name for tool in server.tools for name in (tool.name, *tool.table.aliases)]
    for user, text in texts.items():
        words = set(_NAME.findall(text))
        for name in names:
            if name in words:
                users.setdefault(name, []).append(user)
    for tool in server.tools:
        related = [f"`{other.name}`, which is related" for other in server.tools if tool.name in other.table.related]
        users.setdefault(tool.name, []).extend(related)
    return {name: tuple(found) for name, found in users.items()}


_NAME = re.compile(r"[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*+")


def _client_files(generated: Path) -> dict[str, str]:
    """Return the text of the generated files that clients load: configuration, plugins and skills."""
    paths = sorted(path for part in ("clients", "skills") for path in (generated / part).rglob("*") if path.is_file())
    texts = {}
    for path in paths[:_MAX_FILES]:
        try:
            if path.stat().st_size <= _MAX_BYTES:
                texts[f"generated/{path.relative_to(generated).as_posix()}"] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return texts
