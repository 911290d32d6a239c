"""Libraries and programs read, fetch and execute nothing that a folder, a document or a schema of others chooses."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import httpx2
import pytest
from click.testing import CliRunner, Result
from mcp.client.session import ClientSession
from mcp.types import CallToolResult
from toolmason_runtime.server.jwks import KeySet
from toolmason_runtime.shared.values.schema_references import UnknownReferenceError
from toolmason_runtime.shared.values.validation import validator

from toolmason.audit.mcp_client import list_tools
from toolmason.audit.server_lists import ServerError
from toolmason.commands import toolmason
from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.reading import read_document
from toolmason.importers.openapi.source import check_redirect
from toolmason.project import Project
from toolmason.render.format_python import format_python

EMPTY = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}

# Programs that `import help` runs

RUNS = "from pathlib import Path; Path({!r}).touch()\n"
SETTINGS_READER = """\
#!{python}
import os, pathlib
for path in pathlib.Path().rglob("*"):
    if path.is_file():
        pathlib.Path({canary!r}).touch()
print("usage: reader [--one]\\n\\noptions:\\n  --one X  One thing to set")
"""


@pytest.fixture
def hostile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the settings that programs look for in it."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return folder


def import_help(*command: str) -> Result:
    return CliRunner().invoke(toolmason, ["import", "help", "--", *command])


@pytest.mark.parametrize("module", ["json", "argparse", "re", "sitecustomize"])
def test_a_module_of_the_working_directory_is_not_imported_for_a_help_text(module: str, hostile_folder: Path) -> None:
    canary = hostile_folder / "canary"
    (hostile_folder / f"{module}.py").write_text(RUNS.format(str(canary)), encoding="utf-8")
    result = import_help("python", "-m", "json.tool")

    assert not canary.exists()
    assert "params.sort_keys" in result.stdout, result.output


def test_a_module_found_only_in_the_working_directory_must_be_installed(hostile_folder: Path) -> None:
    (hostile_folder / "only_here.py").write_text("print('--one  One')", encoding="utf-8")
    result = import_help("python", "-m", "only_here")

    assert result.exit_code == 1
    assert "it runs in an empty directory: install the module first" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the settings name a shell command")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_browser_of_the_settings_of_a_repository_is_not_started(hostile_folder: Path) -> None:
    canary = hostile_folder / "canary"
    subprocess.run(["git", "init", "-q", "."], check=True)
    settings = {
        "help.format": "web",
        "help.htmlPath": "http://localhost",
        "web.browser": "planted",
        "browser.planted.cmd": f"touch '{canary}';:",
        "man.viewer": "planted",
        "man.planted.cmd": f"touch '{canary}';:",
        "core.fsmonitor": f"touch '{canary}'",
        "core.pager": f"touch '{canary}'",
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", name, value], check=True)
    subprocess.run(["git", "log", "--help"], check=False, capture_output=True)
    assert canary.exists()  # git follows the settings, so the import would be found out
    canary.unlink()
    import_help("git", "log")

    assert not canary.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
@pytest.mark.parametrize(
    "name", [".mvn/jvm.config", ".npmrc", ".cargo/config.toml", "go.mod", "package.json", ".env", "rust-toolchain.toml"]
)
@pytest.mark.parametrize("is_relative", [False, True], ids=["by name", "by path"])
def test_a_program_finds_no_settings_of_the_working_directory(
    name: str, is_relative: bool, hostile_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = tmp_path / "canary"
    path = hostile_folder / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    program = tmp_path / "bin" / "reader"
    program.parent.mkdir()
    program.write_text(SETTINGS_READER.format(python=sys.executable, canary=str(canary)), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    result = import_help("../bin/reader" if is_relative else "reader")

    assert "One thing to set" in result.stdout, result.output
    assert not canary.exists()


# The formatter


@pytest.mark.parametrize("pattern", ["*.py", "*", "0.py", "toolmason-*"])
@pytest.mark.parametrize("name", [".ignore", ".gitignore", "ruff.toml", ".ruff.toml"])
def test_files_around_the_temporary_directory_do_not_change_the_format(
    name: str, pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    text = f'exclude = ["{pattern}"]\nforce-exclude = true\n' if name.endswith(".toml") else f"{pattern}\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = PurePosixPath("a.py")

    assert format_python({path: "x  =  'a'\n"}) == {path: 'x = "a"\n'}


# References of schemas


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The files and hosts that this process opens or looks up while a test runs."""
    events: list[str] = []
    is_over = False

    def record(event: str, arguments: tuple[Any, ...]) -> None:
        if not is_over and event in {"open", "urllib.Request", "socket.getaddrinfo", "socket.connect"}:
            events.append(" ".join(map(str, arguments)))

    sys.addaudithook(record)
    yield events
    is_over = True


REFERENCES = [
    "http://127.0.0.1:9/secret.json",
    "https://secret.invalid/a.json#/$defs/a",
    "ftp://secret.invalid/a.json",
    "file:///secret.json",
    "file://secret.invalid/a.json",
    "//secret.invalid/a.json",
    "../../secret.json",
    "/secret.json",
    "%2e%2e/%2e%2e/secret.json",
    "data:application/json,%7B%22secret%22%3A1%7D",
    "secret.json#",
]
SPELLINGS = ["secret", "127.0.0.1"]


def is_untouched(opened: Sequence[str]) -> bool:
    return not [event for event in opened if any(spelling in event for spelling in SPELLINGS)]


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_validator_fetches_no_schema(reference: str, opened: list[str]) -> None:
    schema = {"properties": {"a": {"$ref": reference}}}

    with pytest.raises(UnknownReferenceError):
        list(validator(schema).iter_errors({"a": 1}))
    assert is_untouched(opened)


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_sdk_fetches_no_output_schema_of_an_upstream(reference: str, opened: list[str]) -> None:
    session = ClientSession.__new__(ClientSession)
    session._tool_output_schemas = {"tool": {"properties": {"a": {"$ref": reference}}}}
    session._tool_output_validators = {}
    result = CallToolResult(content=[], structured_content={"a": 1})

    with pytest.raises(RuntimeError, match="Invalid schema for tool"):
        asyncio.run(session.validate_tool_result("tool", result))
    assert is_untouched(opened)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("place", ["table", "file"])
def test_a_reference_of_an_input_schema_leads_nowhere_else(
    place: str, reference: str, project: Project, run: Callable[..., Result], opened: list[str]
) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    if place == "table":
        value = f'{{ type = "object", properties = {{ a = {{ "$ref" = "{reference}" }} }} }}'
    else:
        value = '"schemas/a.json"'
        (project.root / "schemas").mkdir()
        schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
        (project.root / "schemas" / "a.json").write_text(json.dumps(schema), encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("params.", "examples", "example"))]
    header = next(index for index, line in enumerate(kept) if line.startswith("[tools."))
    kept.insert(header + 1, f"input_schema = {value}")
    project.manifest.write_text("\n".join(kept) + "\n", encoding="utf-8")
    opened.clear()
    result = run("check")

    assert result.exit_code == 1
    assert "input_schema" in result.stderr or "$ref" in result.stderr, result.output
    assert is_untouched([event for event in opened if str(project.root) not in event])


# Documents


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system [touch canary]",
        "!!python/object/new:os.system [touch canary]",
        "!!python/name:os.system",
        "!!python/module:antigravity",
        "!!python/object/apply:subprocess.Popen [[touch, canary]]",
        "!include /etc/hostname",
        "!ENV ${HOME}",
    ],
)
def test_a_tag_of_yaml_in_an_openapi_document_creates_no_object(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "api.yaml"
    path.write_text(f"openapi: 3.1.0\npaths: {{}}\nx-a: {value}\n", encoding="utf-8")

    with pytest.raises(ImporterError):
        read_document(str(path), {})
    assert not (tmp_path / "canary").exists()


# HTTP clients


class _Recorder(BaseHTTPRequestHandler):
    """Answers each request with a document, and records its credential."""

    credentials: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.credentials.append(self.headers.get("Authorization"))
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = json.dumps(EMPTY | {"keys": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server for which the user's `.netrc` has a password."""
    path = tmp_path / ".netrc"
    path.write_text("machine 127.0.0.1 login user password secret\ndefault login user password secret\n")
    path.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("NETRC", str(path))
    _Recorder.credentials.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Recorder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _list_tools(url: str) -> None:
    with pytest.raises(ServerError):  # its answers are not of MCP
        list_tools(url, headers={}, timeout_s=5)


@pytest.mark.parametrize(
    "request_to",
    [
        lambda url: read_document(f"{url}/api.json", {}),
        lambda url: asyncio.run(KeySet(f"{url}/keys").find(None, "RS256")),
        _list_tools,
    ],
    ids=["OpenAPI document", "keys", "MCP server"],
)
def test_a_password_of_netrc_is_not_sent_to_an_address_of_others(
    request_to: Callable[[str], object], address: str
) -> None:
    request_to(address)

    assert _Recorder.credentials
    assert not any(_Recorder.credentials)


def test_a_redirect_of_a_document_to_a_metadata_service_is_not_followed(address: str, opened: list[str]) -> None:
    with pytest.raises(ImporterError, match=r"redirects to http://169\.254\.169\.254/latest/"):
        read_document(f"{address}/redirect", {})
    assert not [event for event in opened if "169.254" in event]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "may be a metadata service"),
        ("http://[fd00:ec2::254]/latest/", "may be a metadata service"),
        ("http://metadata.google.internal/", "may be a metadata service"),
        ("http://0xa9fea9fe/", "may be a metadata service"),
        ("http://127.0.0.1:8080/admin", "is a loopback address"),
        ("http://localhost/", "is this machine"),
        ("http://[::1]/", "is a loopback address"),
        ("http://10.0.0.1/", "is a private address"),
        ("http://router.lan/", "is a name of a private network"),
    ],
)
def test_a_document_is_not_redirected_into_a_private_network(target: str, why: str) -> None:
    with pytest.raises(ImporterError, match=why):
        check_redirect("https://api.example.com/openapi.json", httpx2.Request("GET", target))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("https://api.example.com/a.json", "https://raw.example.org/a.json"),
        ("http://localhost:8000/a.json", "http://127.0.0.1:8000/b.json"),
        ("http://10.0.0.1/a.json", "http://10.0.0.2/a.json"),
        ("http://169.254.169.254/a.json", "http://169.254.169.254/b.json"),
    ],
)
def test_other_redirects_of_a_document_are_followed(source: str, target: str) -> None:
    check_redirect(source, httpx2.Request("GET", target))
