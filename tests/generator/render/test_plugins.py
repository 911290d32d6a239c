"""Plugins, bundles and registry entries: they fit the schemas of those who read them, and `omit` leaves them out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolmason.diagnostics import Diagnostics
from toolmason.model.server import Server
from toolmason.pipeline import read
from toolmason.project import Project
from toolmason.publishing.validation import schema_errors
from toolmason.render.renderer import render

SCHEMAS = {
    "plugins/mcp-registry/server.json": "mcp-registry-server",
    "plugins/claude-desktop/manifest.json": "mcpb-manifest",
}
"""Generated file -> its schema."""

TESTS = Path(__file__).parents[2]
LINES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=100)


@pytest.fixture(scope="module")
def server(laid_out_once: Path) -> Server:
    """A published server."""
    reading = read(Project(laid_out_once, laid_out_once / "manifest" / "notes.toml"), diagnostics=Diagnostics())
    assert reading is not None
    server = replace(reading.server, outputs=replace(reading.server.outputs, include=("plugins",), omit=()))
    return with_keys(server, distribution="notes", registry_name="io.github.user/notes")


def with_keys(server: Server, **keys: Any) -> Server:
    """Return a server with other keys in `[server]`."""
    return replace(server, table=replace(server.table, **keys))


def plugins(server: Server) -> dict[str, Any]:
    """Return the JSON files of the plugins, parsed."""
    texts = {file.path.as_posix(): file.text for file in render(server, part="clients")}
    return {path: json.loads(text) for path, text in texts.items() if path.startswith("plugins/") and "json" in path}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(title=LINES, summary=LINES.filter(str.strip), author=LINES, license=LINES)
def test_any_text_about_a_server_fits_each_schema_and_arrives_unchanged(server: Server, **texts: Any) -> None:
    documents = plugins(replace(with_keys(server, **texts), summary=texts["summary"]))

    for path, schema in SCHEMAS.items():
        assert schema_errors(schema, documents[path]) == []
    bundle, plugin = documents["plugins/claude-desktop/manifest.json"], documents[f"{PLUGIN}/plugin.json"]
    entry, market = documents["plugins/mcp-registry/server.json"], documents[f"{PLUGIN}/marketplace.json"]
    assert {document["description"] for document in (bundle, plugin, entry, market)} == {texts["summary"]}
    assert plugin.get("license", "") == bundle.get("license", "") == texts["license"]
    assert plugin.get("author", {"name": ""}) == {"name": texts["author"]}
    assert bundle["author"]["name"] == market["owner"]["name"] == (texts["author"] or texts["title"] or "notes")
    assert entry["title"] == bundle["display_name"] == (texts["title"] or "notes")


CONFIGURED = """
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
const manifest = JSON.parse(process.argv[1]);
const userConfig = JSON.parse(process.argv[2]);
const options = { manifest, extensionPath: "/x", systemDirs: {}, userConfig, pathSeparator: "/" };
console.log(JSON.stringify(await getMcpConfigForManifest(options)));
"""
"""Prints the command line and the variables with which a client starts a bundle."""


def test_a_bundle_asks_for_variables_that_look_like_secrets_and_the_registry_names_them(server: Server) -> None:
    documents = plugins(replace(server, pass_env=("NOTES_TOKEN", "NOTES_KEYBOARD")))
    bundle, entry = documents["plugins/claude-desktop/manifest.json"], documents["plugins/mcp-registry/server.json"]
    for path, schema in SCHEMAS.items():
        assert schema_errors(schema, documents[path]) == []

    def started(**values: str) -> Any:
        command = ["node", "--input-type=module", "--eval", CONFIGURED, json.dumps(bundle), json.dumps(values)]
        output = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", check=True).stdout
        return json.loads(output)["env"]

    assert bundle["user_config"].keys() == {"NOTES_TOKEN"}
    assert bundle["user_config"]["NOTES_TOKEN"]["sensitive"]
    assert started(NOTES_TOKEN="abc") == {"NOTES_TOKEN": "abc"}
    assert started() == {"NOTES_TOKEN": ""}
    assert [
        (variable["name"], variable.get("isSecret")) for variable in entry["packages"][0]["environmentVariables"]
    ] == [
        ("NOTES_TOKEN", True),
        ("NOTES_KEYBOARD", None),
    ]


@pytest.mark.parametrize(("omit", "args"), [((), ["--no-command-prompts"]), (("plugins/claude-code/commands",), [])])
def test_a_plugin_without_its_commands_has_them_as_prompts(omit: tuple[str, ...], args: list[str]) -> None:
    manifest = Path(__file__).parents[2] / "clients" / "notes.toml"
    reading = read(Project(manifest.parent, manifest), diagnostics=Diagnostics())
    assert reading is not None

    documents = plugins(
        replace(reading.server, outputs=replace(reading.server.outputs, include=("plugins",), omit=omit))
    )

    assert documents["plugins/claude-code/.mcp.json"]["mcpServers"]["notes"]["args"] == args


PLUGIN = "plugins/claude-code/.claude-plugin"


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("plugins/mcp-registry/server.json", {"name": "notes"}),
        ("plugins/mcp-registry/server.json", {"description": "x" * 101}),
        ("plugins/mcp-registry/server.json", {"packages": [{"registryType": "pypi"}]}),
        ("plugins/claude-desktop/manifest.json", {"manifest_version": "0.5"}),
        ("plugins/claude-desktop/manifest.json", {"server": {"type": "uv"}}),
        ("plugins/claude-desktop/manifest.json", {"icon_url": "https://notes.example"}),
    ],
)
def test_the_schemas_reject_other_documents(path: str, change: dict[str, Any], server: Server) -> None:
    assert schema_errors(SCHEMAS[path], plugins(server)[path] | change)


def test_a_server_that_is_not_published_has_plugins_only(server: Server) -> None:
    directories = {path.split("/")[1] for path in plugins(with_keys(server, distribution="", registry_name=""))}

    assert directories == {"claude-code", "gemini-cli"}


def test_omitted_files_are_removed_and_come_back_without_the_entry(
    project: Project, run: Callable[..., Result]
) -> None:
    manifest = project.manifest.read_text(encoding="utf-8")
    assert not (project.generated / "plugins").exists()
    assert not (project.generated / "skills").exists()
    outputs = 'include = ["plugins"]\nomit = ["docs/tools/"]\n'
    more = manifest.replace("include = []\n", outputs)
    assert more != manifest
    project.manifest.write_text(more, encoding="utf-8")

    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0
    assert (project.generated / "plugins/gemini-cli/skills/notes/SKILL.md").is_file()
    assert (project.generated / "docs/index.md").is_file()
    assert not (project.generated / "skills").exists()
    assert not (project.generated / "docs/tools").exists()

    project.manifest.write_text(manifest, encoding="utf-8")
    assert run("generate").exit_code == 0
    assert (project.generated / "docs/tools/text.md").is_file()
    assert not (project.generated / "plugins").exists()
