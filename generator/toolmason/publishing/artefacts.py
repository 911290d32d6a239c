"""The files of each place, from the manifest and the rendered plugins."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from toolmason.catalogue.table import wire_tool
from toolmason.model.server import Option, Secret, Server
from toolmason.model.tool import Tool
from toolmason.publishing.checks import github_owner
from toolmason.publishing.project_files import LICENCES, ProjectFiles
from toolmason.publishing.versions import semantic_version

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The time of files in a bundle, so that the same files give the same bytes."""
_PYTHON_IMAGE: Final = re.compile(r"^ARG PYTHON_IMAGE=(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """A file of a place. `document` is its content for the schema, None if it has none."""

    path: str
    content: bytes
    schema: str = ""
    document: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The version of a server that is published.

    Args:
        plugins: The rendered files of plugins: path below `plugins/` -> text.
        npm_name: The name of the package on npm.
        packages: The kinds of packages that the entry of the MCP Registry lists.
    """

    server: Server
    files: ProjectFiles
    plugins: Mapping[str, str]
    npm_name: str
    packages: tuple[str, ...] = ("pypi",)

    @property
    def version(self) -> str:
        """The version of the manifest."""
        return self.server.table.version

    @property
    def distribution(self) -> str:
        """The name of the distribution without extras."""
        return self.server.table.distribution.partition("[")[0]

    @property
    def uvx_arguments(self) -> tuple[str, ...]:
        """The arguments of `uvx` that start this version of the server."""
        package = f"{self.server.table.distribution}=={self.version}"
        return (package,) if self.server.command == self.distribution else ("--from", package, self.server.command)

    def plugin(self, directory: str) -> dict[str, str]:
        """Return the files of a plugin, by their paths in it."""
        prefix = f"{directory}/"
        return {path[len(prefix) :]: text for path, text in self.plugins.items() if path.startswith(prefix)}


Builder = Callable[[Release], Iterator[Artefact]]


def _text(path: str, text: str) -> Artefact:
    return Artefact(path=path, content=text.encode())


def _json(path: str, document: Any, schema: str = "") -> Artefact:
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    return Artefact(path=path, content=text.encode(), schema=schema, document=document)


def _yaml(path: str, document: Any, schema: str) -> Artefact:
    """Return YAML in the form of prettier, which Docker's catalogue requires: texts with `"` have single quotes."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Indents the items of lists."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
            """Begin a list or a table."""
            super().increase_indent(flow, indentless=False)

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        if "\n" in text:
            return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
        quote = yaml.safe_dump(text, allow_unicode=True, width=10_000)[0]
        style = {"'": "'" if '"' in text else '"', '"': '"'}.get(quote)
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return Artefact(path=path, content=text.encode(), schema=schema, document=document)


# MCP Registry


def registry_entry(release: Release) -> Iterator[Artefact]:
    """Yield `server.json`."""
    entry = json.loads(release.plugin("mcp-registry")["server.json"])
    (pypi,) = entry["packages"]
    entry["packages"] = [_package(kind, pypi, release) for kind in release.packages]
    yield _json("server.json", entry, "mcp-registry-server")


def _package(kind: str, pypi: Mapping[str, Any], release: Release) -> dict[str, Any]:
    """Return a package of the entry; all kinds take the arguments and variables of the one on PyPI."""
    if kind == "npm":
        version = semantic_version(release.version)
        return {**pypi, "registryType": kind, "identifier": release.npm_name, "version": version, "runtimeHint": "npx"}
    if kind == "oci":  # the tag is the version
        image = {**pypi, "registryType": kind, "identifier": image_name(release), "runtimeHint": "docker"}
        return {key: value for key, value in image.items() if key != "version"}
    return _bundle_package(release) if kind == "mcpb" else dict(pypi)


def _bundle_package(release: Release) -> dict[str, Any]:
    bundle = bundle_bytes(release)
    name = f"{release.server.skill}.mcpb"
    return {
        "registryType": "mcpb",
        "identifier": f"{_repository(release)}/releases/download/v{release.version}/{name}",
        "fileSha256": sha256(bundle).hexdigest(),
        "transport": {"type": "stdio"},
    }


def _repository(release: Release) -> str:
    return release.server.table.repository.rstrip("/").removesuffix(".git")


def image_name(release: Release) -> str:
    """Return the name of the image in the registry of GitHub."""
    owner = github_owner(_repository(release)).lower()
    return f"ghcr.io/{owner or 'OWNER'}/{release.server.skill}:{release.version}"


# Claude


def bundle(release: Release) -> Iterator[Artefact]:
    """Yield the manifest of the bundle, for the schema, and the bundle."""
    yield _json("manifest.json", json.loads(release.plugin("claude-desktop")["manifest.json"]), "mcpb-manifest")
    yield Artefact(path=f"{release.server.skill}.mcpb", content=bundle_bytes(release))


def bundle_bytes(release: Release) -> bytes:
    """Return the bundle for Claude Desktop, with the wheel if the project has built it."""
    files: dict[str, bytes] = {path: text.encode() for path, text in release.plugin("claude-desktop").items()}
    return zip_files(files | _documents(release) | release.files.wheel(release.server.wheel, release.version))


def _documents(release: Release) -> dict[str, bytes]:
    """Return the README and the licence of the project."""
    names = (release.files.readme, release.files.find(LICENCES))
    return {name: text.encode() for name in names if name and (text := release.files.text(name)) is not None}


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive. The same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, files[path])
    return buffer.getvalue()


def claude_plugin(release: Release) -> Iterator[Artefact]:
    """Yield the plugin of Claude Code, which starts the server with `uvx`."""
    for path, text in release.plugin("claude-code").items():
        if path == ".mcp.json":
            yield _json(path, _with_uvx(json.loads(text), release))
        else:
            yield _text(path, text)
    yield from (Artefact(path=name, content=content) for name, content in _documents(release).items())


def _with_uvx(document: dict[str, Any], release: Release) -> dict[str, Any]:
    """Return a configuration whose servers are started with `uvx`, so that users need to install only uv."""
    for entry in document["mcpServers"].values():
        entry["command"], entry["args"] = "uvx", [*release.uvx_arguments, *entry.get("args", ())]
    return document


# Gemini CLI


def gemini_extension(release: Release) -> Iterator[Artefact]:
    """Yield the extension, which starts the server with `uvx` and asks for its secrets and its required options."""
    tables = {option.name: option.table for option in release.server.options}
    required = {name: table for name, table in tables.items() if table.required and table.env and not table.secret}
    settings = [
        _setting(secret.name, secret.description, secret.env, sensitive=True) for secret in release.server.secrets
    ]
    settings += [_setting(name, table.description, table.env, sensitive=False) for name, table in required.items()]
    for path, text in release.plugin("gemini-cli").items():
        if path != "gemini-extension.json":
            yield _text(path, text)
            continue
        extension = _with_uvx(json.loads(text), release)
        for entry in extension["mcpServers"].values() if required else ():
            entry["env"] = entry.get("env", {}) | {table.env: f"${{{table.env}:-}}" for table in required.values()}
        if settings:
            extension["settings"] = settings
        yield _json(path, extension, "gemini-extension")
    yield from (Artefact(path=name, content=content) for name, content in _documents(release).items())


def _setting(name: str, description: str, env: str, *, sensitive: bool) -> dict[str, Any]:
    title = name.replace("-", " ").replace("_", " ").capitalize()
    return {"name": title, "description": description, "envVar": env, "sensitive": sensitive}


# Docker


def docker_entry(release: Release) -> Iterator[Artefact]:
    """Yield the entry of Docker's catalogue, the list of tools, and a Dockerfile for the root of the repository."""
    server = release.server
    name = server.skill
    icon = next((icon.src for icon in server.table.icons if icon.src.startswith("https:")), "")
    entry: dict[str, Any] = {
        "name": name,
        "image": f"mcp/{name}",
        "type": "server",
        "meta": {"tags": [name]},
        "about": {"title": server.table.title or server.table.name, "description": server.table.summary}
        | ({"icon": icon} if icon else {}),
        "source": {"project": _repository(release), "commit": release.files.commit},
    }
    if release.files.repository != release.files.root:
        directory = release.files.root.relative_to(release.files.repository)
        entry["source"]["directory"] = directory.as_posix()
    options = server.required_options
    if options:
        command = [part for option in options for part in (option.flag, f"{{{{{name}.{option.field}}}}}")]
        entry["run"] = {"command": command}
    config: dict[str, Any] = {"description": f"Settings of {server.table.title or server.table.name}"}
    if server.secrets:
        config["secrets"] = [_docker_secret(name, secret) for secret in server.secrets]
    if options:
        config["parameters"] = {
            "type": "object",
            "properties": {option.field: _docker_parameter(option) for option in options},
            "required": [option.field for option in options],
        }
    if len(config) > 1:
        entry["config"] = config
    yield _yaml("server.yaml", entry, "docker-server")
    yield _json("tools.json", [_docker_tool(tool) for tool in server.tools], "docker-tools")
    yield _text("Dockerfile", dockerfile(release))


def _docker_secret(server: str, secret: Secret) -> dict[str, Any]:
    name = re.sub(r"[^a-z0-9_]", "_", secret.name.lower())
    return {
        "name": f"{server}.{name}",
        "env": secret.env,
        "example": f"<{secret.env}>",
        "description": secret.description,
    } | ({"required": True} if secret.required else {})


def _docker_parameter(option: Option) -> dict[str, Any]:
    return {"type": option.table.type, "description": option.table.description}


def _docker_tool(tool: Tool) -> dict[str, Any]:
    wire = wire_tool(tool)
    properties = wire["inputSchema"].get("properties", {})
    required = wire["inputSchema"].get("required", ())
    arguments = []
    for name, schema in properties.items():
        kind = schema.get("type", "object") if isinstance(schema, dict) else "object"
        about = schema.get("description", "") if isinstance(schema, dict) else ""
        argument = {"name": name, "type": kind[0] if isinstance(kind, list) else kind, "desc": about}
        arguments.append(argument if name in required else argument | {"optional": True})
    return {"name": wire["name"], "description": wire["description"]} | ({"arguments": arguments} if arguments else {})


def dockerfile(release: Release) -> str:
    """Return a Dockerfile that needs only committed files: the lock, and the package of the index."""
    generated = _PYTHON_IMAGE.search(release.plugin("docker")["Dockerfile"])
    image = generated[1] if generated else "python:3.13-slim"
    server = release.server
    package = shlex.quote(f"{release.distribution}=={release.version}")
    name = server.table.registry_name
    label = f'LABEL io.modelcontextprotocol.server.name="{name}"\n' if name else ""
    return (
        f"# Written by `toolmason publish` for Docker's catalogue, which builds it from the repository.\n"
        f"ARG PYTHON_IMAGE={image}\n"
        "FROM ${PYTHON_IMAGE}\n"
        f"{label}"
        "WORKDIR /app\n"
        "COPY requirements/server.txt ./\n"
        "RUN python -m pip install --no-cache-dir --require-hashes --only-binary=:all: -r server.txt \\\n"
        f"    && python -m pip install --no-cache-dir --no-deps {package} \\\n"
        "    && python -m pip check\n"
        "USER 65534:65534\n"
        f"ENTRYPOINT {json.dumps([server.command])}\n"
    )


# npm


def npm_package(release: Release) -> Iterator[Artefact]:
    """Yield a package that starts the server with `uvx`."""
    table = release.server.table
    package: dict[str, Any] = {
        "name": release.npm_name,
        "version": semantic_version(release.version),
        "description": table.summary,
        "keywords": ["mcp", "mcp-server"],
        "mcpName": table.registry_name,
        "homepage": table.website_url,
        "repository": {"type": "git", "url": f"git+{_repository(release)}.git"} if table.repository else None,
        "license": table.license,
        "author": table.author,
        "bin": {release.npm_name.rpartition("/")[2]: "bin/start.js"},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "uvx": list(release.uvx_arguments),
    }
    yield _json("package.json", {key: value for key, value in package.items() if value}, "npm-package")
    yield Artefact(path="bin/start.js", content=Path(__file__).with_name("npm_start.js").read_bytes())
    yield _text("README.md", npm_readme(release))
    if licence := release.files.find(LICENCES):
        yield _text(licence, release.files.text(licence) or "")


def npm_readme(release: Release) -> str:
    """Return the README of the package."""
    table = release.server.table
    entry = {"mcpServers": {table.name: {"command": "npx", "args": ["-y", release.npm_name]}}}
    about = f"{table.summary}.\n\n" if table.summary else ""
    return (
        f"# {table.title or table.name}\n\n{about}"
        "This package starts the MCP server with `uvx`. It needs "
        "[uv](https://docs.astral.sh/uv/getting-started/installation/), which downloads Python and the server "
        f"`{release.distribution}` from PyPI.\n\n```json\n{json.dumps(entry, indent=2)}\n```\n"
    )


# Smithery


def smithery_files(release: Release) -> Iterator[Artefact]:
    """Yield `smithery.yaml`, and a bundle of the type `python`, because Smithery rejects the type `uv`."""
    server = release.server
    manifest = json.loads(release.plugin("claude-desktop")["manifest.json"])
    configuration = manifest["server"]["mcp_config"]
    flags = configuration["args"][configuration["args"].index("server.py") + 1 :]
    manifest["server"]["type"] = "python"
    configuration["command"], configuration["args"] = "uvx", [*release.uvx_arguments, *flags]
    tools = (wire_tool(tool) for tool in server.tools)
    manifest["tools"] = [{"name": tool["name"], "description": tool["description"]} for tool in tools]
    yield _yaml("smithery.yaml", smithery_configuration(release), "smithery")
    shown = _json("manifest.json", manifest, "mcpb-manifest")
    yield shown
    files = {"manifest.json": shown.content, "server.py": release.plugin("claude-desktop")["server.py"].encode()}
    yield Artefact(path=f"{server.skill}.mcpb", content=zip_files(files | _documents(release)))


def smithery_configuration(release: Release) -> dict[str, Any]:
    """Return the content of `smithery.yaml`: the settings as a JSON Schema, and a function that makes the command."""
    server = release.server
    properties: dict[str, Any] = {}
    arguments = [json.dumps(argument) for argument in release.uvx_arguments]
    environment = []
    for option in server.required_options:
        properties[option.name] = {"type": option.table.type, "description": option.table.description}
        arguments += [json.dumps(option.flag), f"String(config[{json.dumps(option.name)}])"]
    for secret in server.secrets:
        properties[secret.name] = {"type": "string", "description": secret.description}
        environment.append(f"{json.dumps(secret.env)}: config[{json.dumps(secret.name)}]")
    required = [option.name for option in server.required_options]
    required += [secret.name for secret in server.secrets if secret.required]
    command = f'command: "uvx", args: [{", ".join(arguments)}], env: {{ {", ".join(environment)} }}'
    schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    return {
        "name": server.skill,
        "target": "local",
        "startCommand": {"type": "stdio", "configSchema": schema, "commandFunction": f"(config) => ({{ {command} }})"},
    }


BUILDERS: Final[Mapping[str, Builder]] = {
    "mcp-registry": registry_entry,
    "claude-directory": bundle,
    "claude-code": claude_plugin,
    "gemini-extension": gemini_extension,
    "docker-catalog": docker_entry,
    "npm": npm_package,
    "smithery": smithery_files,
}
"""Place -> its files. A place without a builder needs no files."""
