"""`toolmason publish --dry-run`: the files of each place, judged by the programs that read them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.manifest.tables import OptionTable
from toolmason.model.server import Option
from toolmason.model.types import Identifier
from toolmason.pipeline import read as load_manifest
from toolmason.pipeline import render_plugins
from toolmason.project import Project
from toolmason.publishing.artefacts import BUILDERS, Release
from toolmason.publishing.names import PLACES
from toolmason.publishing.places import places, prepare
from toolmason.publishing.project_files import ProjectFiles
from toolmason.publishing.validation import schema_errors, schema_source
from toolmason.publishing.versions import is_semantic, semantic_version

TESTS = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
NODE_PROGRAMS = TESTS / "node_modules" / ".bin"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
OPTIONS = """
[server.options.api-key]
description = "Key of the API: \\"secret\\""
env = "NOTES_API_KEY"
secret = true

[server.options.root]
description = "Directory with # notes"
required = true
"""


def publish(project: Project, *arguments: str) -> Result:
    return CliRunner().invoke(
        toolmason, ["publish", *arguments, "--manifest", str(project.manifest)], catch_exceptions=False
    )


def states(result: Result) -> dict[str, dict[str, Any]]:
    rows = (json.loads(line) for line in result.stdout.splitlines())
    return {row["place"]: row for row in rows if "place" in row}


def change(project: Project, old: str, new: str) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    assert old in text
    project.manifest.write_text(text.replace(old, new), encoding="utf-8")


def execute(*command: str | Path, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", check=False, timeout=60, **options)


@pytest.fixture
def written(published: Project, tmp_path: Path) -> Path:
    """The files of all places for a server with a secret and a required option."""
    change(published, "[categories.text]", f"{OPTIONS}\n[categories.text]")
    directory = tmp_path / "places"
    result = publish(published, "--dry-run", "-o", str(directory))
    assert result.exit_code == 1, result.output  # extensions and plugins cannot ask for the option
    return directory


def read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)


# The command


def test_a_complete_project_is_ready_for_every_place(published: Project) -> None:
    result = publish(published, "--dry-run", "--format", "json")

    assert result.exit_code == 0
    assert {name: state["ready"] for name, state in states(result).items()} == dict.fromkeys(PLACES, True)
    assert [name for name, state in states(result).items() if not state["files"]] == sorted(set(PLACES) - set(BUILDERS))


def test_a_new_project_is_told_which_keys_are_missing(project: Project) -> None:
    result = publish(project, "--dry-run", "--format", "json")

    assert result.exit_code == 1
    missing = {name: state["missing"] for name, state in states(result).items()}
    assert missing == {name: list(place.needs) for name, place in places().items()}
    text = publish(project, "--dry-run", "--to", "npm")
    assert "npm: not ready: add `distribution` to [server]; 1 rule fails\n" in text.stdout
    assert 'write `distribution = "notes"` in [server]' in text.stderr


def test_without_dry_run_nothing_is_uploaded_and_the_steps_are_named(published: Project, tmp_path: Path) -> None:
    result = publish(published, "--to", "mcp-registry", "--to", "npm", "-o", str(tmp_path / "places"))

    assert result.exit_code == 2
    assert "this command uploads nothing: add --dry-run" in result.stderr
    assert "mcp-publisher publish DIR/mcp-registry/server.json" in result.stderr
    assert "npm publish" in result.stderr
    assert not (tmp_path / "places").exists()


def test_without_a_directory_the_files_are_printed(published: Project) -> None:
    before = sorted(published.root.rglob("*"))
    result = publish(published, "--dry-run", "--to", "npm", "--to", "claude-directory")

    assert "==> npm/package.json\n{\n" in result.stdout
    assert re.search(r"==> claude-directory/notes\.mcpb\n +[\d,]+  LICENSE\n", result.stdout)
    assert sorted(published.root.rglob("*")) == before


def test_the_same_project_gives_the_same_bytes_and_other_files_are_kept(published: Project, tmp_path: Path) -> None:
    first = publish(published, "--dry-run", "-o", str(tmp_path))
    bundle = (tmp_path / "smithery" / "notes.mcpb").read_bytes()
    again = publish(published, "--dry-run", "-o", str(tmp_path))

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert (tmp_path / "smithery" / "notes.mcpb").read_bytes() == bundle
    (tmp_path / "npm" / "README.md").write_text("mine", encoding="utf-8")
    refused = publish(published, "--dry-run", "-o", str(tmp_path))
    assert refused.exit_code == 4
    assert (tmp_path / "npm" / "README.md").read_text(encoding="utf-8") == "mine"
    assert publish(published, "--dry-run", "--force", "-o", str(tmp_path)).exit_code == 0
    assert (tmp_path / "npm" / "README.md").read_text(encoding="utf-8") != "mine"


def test_an_invalid_manifest_is_reported_without_a_traceback(published: Project) -> None:
    change(published, "summary = ", "sumary = ")

    result = publish(published, "--dry-run")

    assert result.exit_code == 1
    assert "TM203" in result.stderr


# The places


def test_the_entry_of_the_registry_lists_the_chosen_packages(published: Project, tmp_path: Path) -> None:
    kinds = ("pypi", "npm", "oci", "mcpb")
    options = [part for kind in kinds for part in ("--package", kind)]
    places_of_bundle = ("--to", "mcp-registry", "--to", "claude-directory")
    change(published, 'version = "0.1.0"', 'version = "1.0.0rc1"')
    publish(published, "--dry-run", *places_of_bundle, *options, "--npm-name", "@ada/notes", "-o", str(tmp_path))

    entry = read(tmp_path / "mcp-registry" / "server.json")
    packages = {package["registryType"]: package for package in entry["packages"]}
    assert tuple(packages) == kinds
    assert (packages["pypi"]["identifier"], packages["pypi"]["version"]) == ("notes", "1.0.0rc1")
    assert (packages["npm"]["identifier"], packages["npm"]["version"]) == ("@ada/notes", "1.0.0-rc.1")
    assert packages["oci"]["identifier"] == "ghcr.io/ada/notes:1.0.0rc1"
    assert "version" not in packages["oci"]
    assert packages["mcpb"]["identifier"].endswith("/ada/notes/releases/download/v1.0.0rc1/notes.mcpb")
    bundle = (tmp_path / "claude-directory" / "notes.mcpb").read_bytes()
    assert packages["mcpb"]["fileSha256"] == sha256(bundle).hexdigest()


def test_a_bundle_contains_the_wheel_of_its_version_only(published: Project, tmp_path: Path) -> None:
    (published.root / "dist").mkdir()
    for name in ("notes-0.1.0-py3-none-any.whl", "notes-0.0.9-py3-none-any.whl", "other-0.1.0-py3-none-any.whl"):
        (published.root / "dist" / name).write_bytes(b"wheel")
    publish(published, "--dry-run", "--to", "claude-directory", "-o", str(tmp_path))

    with zipfile.ZipFile(tmp_path / "claude-directory" / "notes.mcpb") as bundle:
        names = set(bundle.namelist())
        manifest = json.loads(bundle.read("manifest.json"))
    assert {name for name in names if name.endswith(".whl")} == {"notes-0.1.0-py3-none-any.whl"}
    assert {"LICENSE", "README.md", "manifest.json", "pyproject.toml", "server.py"} < names
    assert manifest["privacy_policies"] == ["https://notes.example/privacy"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
def test_a_link_to_a_private_file_is_not_in_a_bundle(published: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    (published.root / "dist").mkdir()
    (published.root / "README.md").unlink()
    (published.root / "LICENSE").unlink()
    for name in ("README.md", "LICENSE", "dist/notes-0.1.0-py3-none-any.whl"):
        (published.root / name).symlink_to(secret)
    publish(published, "--dry-run", "-o", str(tmp_path / "places"))

    files = [path for path in (tmp_path / "places").rglob("*") if path.is_file()]
    assert len(files) > len(BUILDERS)
    for path in files:
        contents = [path.read_bytes()]
        if path.suffix == ".mcpb":
            with zipfile.ZipFile(path) as bundle:
                contents = [bundle.read(name) for name in bundle.namelist()]
        assert not any(b"secret" in content for content in contents), path


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
def test_a_licence_that_is_a_link_out_of_the_project_is_missing_everywhere(published: Project, tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("MIT\n", encoding="utf-8")
    (published.root / "LICENSE").unlink()
    (published.root / "LICENSE").symlink_to(tmp_path / "LICENSE")
    result = publish(published, "--dry-run", "-o", str(tmp_path / "places"))

    assert list((tmp_path / "places").rglob("LICENSE")) == []
    assert "claude-directory/license-file" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@pytest.mark.parametrize("link", ["npm", "npm/bin", "gemini-extension/skills"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_no_link_in_the_output_is_followed(
    link: str, force: tuple[str, ...], published: Project, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / "places" / link).parent.mkdir(parents=True)
    (tmp_path / "places" / link).symlink_to(mine)
    result = publish(published, "--dry-run", *force, "-o", str(tmp_path / "places"))

    assert result.exit_code == 4
    assert f"{tmp_path / 'places' / link} is a link; nothing was written" in result.stderr
    assert list(mine.iterdir()) == []
    assert [path.name for path in (tmp_path / "places").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Ada's notes", "Ada's notes"),
        ("Ada: notes", '"Ada: notes"'),
        ("it's: x", '"it\'s: x"'),
        ('say "hi": x', "'say \"hi\": x'"),
        ("\"a\" 'b'", "'\"a\" ''b'''"),
        ("yes", '"yes"'),
        ("back\\slash: x", '"back\\\\slash: x"'),
    ],
)
def test_the_entry_of_the_catalogue_has_the_quotes_of_prettier(
    text: str, written: str, published: Project, tmp_path: Path
) -> None:
    change(published, 'summary = "Measure texts"\nauthor', f"summary = {json.dumps(text)}\nauthor")
    publish(published, "--dry-run", "--to", "docker-catalog", "-o", str(tmp_path))

    entry = (tmp_path / "docker-catalog" / "server.yaml").read_text(encoding="utf-8")
    assert f"  description: {written}\n" in entry


TEXTS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=60).filter(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(title=TEXTS, summary=TEXTS, secret=TEXTS)
def test_any_text_of_the_manifest_is_in_valid_files(title: str, summary: str, secret: str, published: Project) -> None:
    reading = load_manifest(published, diagnostics=Diagnostics())
    assert reading is not None
    table = replace(reading.server.table, title=title, summary=summary)
    option = OptionTable(description=secret, env="NOTES_KEY", secret=True)
    server = replace(reading.server, table=table, summary=summary)
    key = Option(name="key", flag="--key", table=option, default=None, metavar="KEY", field=Identifier("key"))
    server = replace(server, options=(key,))
    plugins = render_plugins(published, replace(reading, server=server))
    files = ProjectFiles(published.root)
    release = Release(server=server, files=files, plugins=plugins, npm_name="notes")

    for name in ("gemini-extension", "npm", "smithery", "claude-directory", "docker-catalog"):
        prepared = prepare(places()[name], release)
        assert [error for error in prepared.invalid if "about.title" not in error] == []
        for artefact in prepared.artefacts:
            if artefact.path.endswith(".yaml"):
                assert yaml.safe_load(artefact.content) == artefact.document


def test_extensions_and_plugins_start_this_version_with_uvx(written: Path) -> None:
    extension = read(written / "gemini-extension" / "gemini-extension.json")
    plugin = read(written / "claude-code" / ".mcp.json")

    for document in (extension, plugin):
        (entry,) = document["mcpServers"].values()
        assert (entry["command"], entry["args"][0]) == ("uvx", "notes==0.1.0")
    assert [(row["envVar"], row["sensitive"]) for row in extension["settings"]] == [("NOTES_API_KEY", True)]


def test_a_place_without_the_arguments_that_the_server_needs_is_not_ready(published: Project) -> None:
    change(published, "[categories.text]", f"{OPTIONS}\n[categories.text]")
    found = states(publish(published, "--dry-run", "--format", "json"))

    assert sorted(name for name, state in found.items() if not state["ready"]) == ["claude-code", "gemini-extension"]
    assert found["claude-code"]["invalid"] == [".mcp.json: the server does not start without `--root`"]
    change(published, 'description = "Directory with # notes"', 'description = "Directory"\nenv = "NOTES_ROOT"')
    assert publish(published, "--dry-run").exit_code == 0


def test_an_extension_asks_for_required_options_with_a_variable(published: Project, tmp_path: Path) -> None:
    options = OPTIONS.replace("required = true", 'required = true\nenv = "NOTES_ROOT"')
    change(published, "[categories.text]", f"{options}\n[categories.text]")
    publish(published, "--dry-run", "--to", "gemini-extension", "-o", str(tmp_path))

    extension = read(tmp_path / "gemini-extension" / "gemini-extension.json")
    (entry,) = extension["mcpServers"].values()
    assert [(row["envVar"], row["sensitive"]) for row in extension["settings"]] == [
        ("NOTES_API_KEY", True),
        ("NOTES_ROOT", False),
    ]
    assert set(entry["env"]) == {"NOTES_API_KEY", "NOTES_ROOT"}


def test_a_command_of_another_name_is_started_from_its_distribution(published: Project, tmp_path: Path) -> None:
    change(
        published, 'distribution = "notes"\nregistry_name = "io.github.ada/notes"', 'distribution = "notes-kit[all]"'
    )
    publish(published, "--dry-run", "--to", "npm", "-o", str(tmp_path))

    package = read(tmp_path / "npm" / "package.json")
    assert package["uvx"] == ["--from", "notes-kit[all]==0.1.0", "notes"]
    assert package["bin"] == {"notes-kit": "bin/start.js"}
    assert "mcpName" not in package


def test_the_entry_of_the_catalogue_has_the_commit_and_the_settings(written: Path) -> None:
    entry = read(written / "docker-catalog" / "server.yaml")

    assert entry["source"] == {"project": "https://github.com/ada/notes", "commit": "0123456789" * 4}
    assert entry["config"]["secrets"][0]["env"] == "NOTES_API_KEY"
    assert entry["run"]["command"] == ["--root", "{{notes.root}}"]
    assert entry["config"]["parameters"]["required"] == ["root"]
    tools = read(written / "docker-catalog" / "tools.json")
    assert tools[0]["arguments"] == [{"name": "text", "type": "string", "desc": "The text"}]
    image = (written / "docker-catalog" / "Dockerfile").read_text(encoding="utf-8")
    assert 'LABEL io.modelcontextprotocol.server.name="io.github.ada/notes"\n' in image
    assert re.search(r"^ARG PYTHON_IMAGE=\S+@sha256:[0-9a-f]{64}$", image, re.MULTILINE)


def test_the_commit_of_a_packed_reference_and_of_a_worktree_is_found(published: Project, tmp_path: Path) -> None:
    git = published.root / ".git"
    (git / "refs" / "heads" / "main").unlink()
    (git / "packed-refs").write_text(f"# pack-refs\n{'ab' * 20} refs/heads/main\n", encoding="utf-8")
    publish(published, "--dry-run", "--to", "docker-catalog", "-o", str(tmp_path / "packed"))
    assert read(tmp_path / "packed" / "docker-catalog" / "server.yaml")["source"]["commit"] == "ab" * 20

    worktree = git / "worktrees" / "one"
    worktree.mkdir(parents=True)
    (worktree / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (worktree / "commondir").write_text("../..\n", encoding="utf-8")
    git.rename(published.root / "repository")
    git.write_text("gitdir: repository/worktrees/one\n", encoding="utf-8")
    publish(published, "--dry-run", "--to", "docker-catalog", "-o", str(tmp_path / "worktree"))
    assert read(tmp_path / "worktree" / "docker-catalog" / "server.yaml")["source"]["commit"] == "ab" * 20


@needs_node
def test_the_function_of_smithery_makes_the_command_line(written: Path, tmp_path: Path) -> None:
    start = read(written / "smithery" / "smithery.yaml")["startCommand"]
    values = {"root": '/a "b"', "api-key": "x'y"}
    script = f"const f = {start['commandFunction']}; console.log(JSON.stringify(f({json.dumps(values)})))"
    made = json.loads(execute("node", "--eval", script, cwd=tmp_path).stdout)

    assert set(values) == set(start["configSchema"]["properties"])
    assert start["configSchema"]["required"] == ["root"]
    assert made == {
        "command": "uvx",
        "args": ["notes==0.1.0", "--root", '/a "b"'],
        "env": {"NOTES_API_KEY": "x'y"},
    }


def test_the_bundle_of_smithery_has_no_type_that_it_rejects(written: Path) -> None:
    with zipfile.ZipFile(io.BytesIO((written / "smithery" / "notes.mcpb").read_bytes())) as bundle:
        manifest = json.loads(bundle.read("manifest.json"))

    assert manifest["server"]["type"] == "python"
    assert manifest["server"]["mcp_config"]["command"] == "uvx"
    assert manifest["server"]["mcp_config"]["args"] == ["notes==0.1.0", "--root", "${user_config.root}"]
    assert [tool["name"] for tool in manifest["tools"]] == ["count_words"]


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ("mcp-registry-server", {"name": "notes", "description": "", "version": "1"}),
        ("mcpb-manifest", {"manifest_version": "0.4", "name": "notes"}),
        ("gemini-extension", {"name": "my notes", "version": "1.0.0"}),
        ("gemini-extension", {"name": "notes", "version": "1.0.0", "mcpServers": {"notes": {"command": "uvx notes"}}}),
        ("gemini-extension", {"name": "n", "version": "1", "mcpServers": {"n": {"command": "uvx", "trust": True}}}),
        ("docker-server", {"name": "Notes", "image": "mcp/notes", "type": "server", "meta": {}}),
        (
            "docker-tools",
            [{"name": "a", "description": "b", "arguments": [{"name": "c", "type": "string", "desc": ""}]}],
        ),
        ("npm-package", {"name": "Notes", "version": "1.0.0", "bin": {"notes": "a.js"}, "files": ["bin"]}),
        ("npm-package", {"name": "notes", "version": "1.0", "bin": {"notes": "a.js"}, "files": ["bin"]}),
        ("smithery", {"name": "n", "target": "local", "startCommand": {}}),
    ],
)
def test_a_schema_rejects_what_its_place_rejects(schema: str, document: Any) -> None:
    assert schema_errors(schema, document)
    assert re.search(r"MIT|read \d{4}-\d\d-\d\d", schema_source(schema))


@pytest.mark.parametrize("place", ["claude-directory", "smithery"])
@pytest.mark.skipif(not (NODE_PROGRAMS / "mcpb").exists(), reason="the npm packages of the tests are not installed")
def test_mcpb_accepts_the_bundles(place: str, written: Path, tmp_path: Path) -> None:
    validated = execute(NODE_PROGRAMS / "mcpb", "validate", written / place / "manifest.json", cwd=tmp_path)
    unpacked = execute(NODE_PROGRAMS / "mcpb", "unpack", written / place / "notes.mcpb", "unpacked", cwd=tmp_path)

    assert (validated.returncode, unpacked.returncode) == (0, 0), validated.stdout + unpacked.stdout
    assert read(tmp_path / "unpacked" / "manifest.json") == read(written / place / "manifest.json")


@pytest.mark.skipif(not (NODE_PROGRAMS / "gemini").exists(), reason="the npm packages of the tests are not installed")
def test_gemini_cli_accepts_the_extension(written: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path)}
    gemini, extension = NODE_PROGRAMS / "gemini", written / "gemini-extension"
    validated = execute(gemini, "extensions", "validate", extension, cwd=tmp_path, env=environ)

    assert "has been successfully validated" in validated.stdout + validated.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="hadolint has no wheel for Windows")
def test_hadolint_has_no_findings_in_the_dockerfile(written: Path) -> None:
    checked = execute(PROGRAMS / "hadolint", written / "docker-catalog" / "Dockerfile", cwd=written)

    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_packs_the_package(written: Path) -> None:
    packed = execute("npm", "pack", "--dry-run", "--json", cwd=written / "npm")

    (package,) = json.loads(packed.stdout)
    assert package["id"] == "notes@0.1.0"
    assert {file["path"] for file in package["files"]} == {"LICENSE", "README.md", "bin/start.js", "package.json"}


# The package for npm


@pytest.fixture
def start(written: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the program of the package with `uvx` replaced by a script."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "node").symlink_to(shutil.which("node") or "node")
    started: list[subprocess.Popen[str]] = []

    def begin(script: str = "", *arguments: str, where: Path = directory) -> subprocess.Popen[str]:
        if script:
            where.mkdir(parents=True, exist_ok=True)
            (where / "uvx").write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
            (where / "uvx").chmod(0o755)
        process = subprocess.Popen(
            [directory / "node", written / "npm" / "bin" / "start.js", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=where,
            env={"PATH": os.pathsep.join([".", "", str(directory)]), "HOME": str(tmp_path / "home")},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="the stub of uvx is a script with a shebang line")


@needs_node
@needs_posix
def test_the_package_passes_arguments_streams_and_the_exit_code(start: Callable[..., subprocess.Popen[str]]) -> None:
    script = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('log', file=sys.stderr)\nsys.exit(7)\n"
    out, err = (process := start(script, "--root", "a b")).communicate("hello", timeout=30)

    assert (out, err, process.returncode) == ("['notes==0.1.0', '--root', 'a b'] hello\n", "log\n", 7)


@needs_node
@needs_posix
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_the_package_passes_signals_and_ends_as_the_server(
    sent: signal.Signals, start: Callable[..., subprocess.Popen[str]]
) -> None:
    script = (
        "import os, signal\n"
        "def stop(number, frame):\n    os.write(1, b'got %d\\n' % number)\n    os._exit(3)\n"
        f"signal.signal({int(sent)}, stop)\nos.write(1, b'ready\\n')\nsignal.pause()\n"
    )
    process = start(script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(sent)

    assert process.communicate(timeout=30)[0] == f"got {int(sent)}\n"
    assert process.returncode == 3


@needs_node
@needs_posix
def test_a_server_that_a_signal_ends_ends_the_package_by_it(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    process.communicate(timeout=30)

    assert process.returncode == -signal.SIGTERM


@needs_node
@needs_posix
def test_uvx_is_found_in_the_directory_of_its_installer(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start("print('installed')\n", where=tmp_path / "home" / ".local" / "bin")

    assert process.communicate(timeout=30)[0] == "installed\n"


@needs_node
@needs_posix
def test_a_program_of_the_current_directory_is_not_started(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Windows looks there first; so does a PATH with a relative directory."""
    installed = start("print('installed')\n", where=tmp_path / "home" / ".local" / "bin")
    foreign = start("print('foreign')\n", where=tmp_path / "clone")

    assert [process.communicate(timeout=30)[0] for process in (installed, foreign)] == ["installed\n"] * 2


@needs_node
@needs_posix
def test_a_file_that_cannot_be_started_is_passed_over(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "bin" / "uvx").write_text("no program", encoding="utf-8")
    process = start("print('installed')\n", where=tmp_path / "home" / ".local" / "bin")

    assert process.communicate(timeout=30)[0] == "installed\n"


@needs_node
@needs_posix
def test_without_uvx_the_package_names_its_page(start: Callable[..., subprocess.Popen[str]]) -> None:
    if Path("/usr/local/bin/uvx").exists() or Path("/opt/homebrew/bin/uvx").exists():
        pytest.skip("uvx is installed for all users")
    out, err = (process := start()).communicate(timeout=30)

    assert process.returncode == 127
    assert out == ""
    assert err == (
        "notes: uvx, which starts this server, is not installed. "
        "Install uv: https://docs.astral.sh/uv/getting-started/installation/\n"
    )


@needs_node
@needs_posix
def test_a_client_lists_the_tools_of_the_server_through_the_package(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    # The stub starts the server that this environment has installed, in place of the package `notes`.
    server = "import os, sys\nfrom pathlib import Path\n"
    server += f"program = {str(PROGRAMS / 'toolmason-workbench')!r}\n"
    server += "os.execv(program, [program, *sys.argv[2:]])\n"
    process = start(server, "--root", str(TESTS / "docs"))
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]

    assert answers[0]["result"]["serverInfo"]["name"] == "workbench"
    assert len(answers[1]["result"]["tools"]) > 1
    process.stdin.close()
    assert process.wait(timeout=30) == 0


# Versions


@pytest.mark.parametrize(
    ("version", "semantic"),
    [
        ("1.2.3", "1.2.3"),
        ("1.2", "1.2.0"),
        ("2026.11", "2026.11.0"),
        ("1", "1.0.0"),
        ("1.0.0rc1", "1.0.0-rc.1"),
        ("1.0a2", "1.0.0-alpha.2"),
        ("1.0.0b3", "1.0.0-beta.3"),
        ("1.0.0.dev4", "1.0.0-0.dev.4"),
        ("1.0.0-rc.1", "1.0.0-rc.1"),
        ("1.02.3", "1.2.3"),
        ("1.0.post1", ""),
        ("1!1.0", ""),
        ("1.2.3.4", ""),
        ("1.0rc1.dev2", ""),
        ("1.0+local", ""),
        ("latest", ""),
        ("", ""),
    ],
)
def test_versions_of_python_become_semantic_versions(version: str, semantic: str) -> None:
    assert semantic_version(version) == semantic
    assert not semantic or is_semantic(semantic)


def test_semantic_versions_have_the_order_of_the_versions_of_python() -> None:
    ordered = ["1.0.0.dev1", "1.0.0a1", "1.0.0b1", "1.0.0rc1", "1.0.0"]

    assert sorted(ordered, key=Version) == ordered
    pre_releases = [semantic_version(version).partition("-")[2] for version in ordered[:-1]]
    assert pre_releases == sorted(pre_releases)
