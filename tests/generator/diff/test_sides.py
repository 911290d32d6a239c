"""Each kind of side is loaded, and a side that cannot be loaded is reported in one line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

GIT: Final = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
MANIFEST: Final = """\
edition = 1

[server]
name = "notes"
version = "1.2.0"
package = "notes_server"
handlers = "notes_tools"

[discovery]
style = "classic"

[categories.notes]
summary = "Find and change notes"

[tools.find_notes]
summary = "Find notes by words in their text"
category = "notes"
handler = "notes:find_notes"
hints = { read_only = true }
params.text = { type = "string", description = "Words to look for" }
"""
NARROWED: Final = MANIFEST.replace('for" }', 'for", max_length = 10 }')
SERVER: Final = """\
import json, sys
tools = json.load(open(sys.argv[1], encoding="utf-8"))
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    match message["method"]:
        case "initialize":
            about = {"name": "notes", "version": "1.2.0"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            result = {"tools": tools}
        case _:
            error = {"code": -32601, "message": "no"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def tools(**limits: Any) -> list[dict[str, Any]]:
    text = {"type": "string", **limits}
    schema = {"type": "object", "properties": {"text": text}, "required": ["text"]}
    return [{"name": "find_notes", "description": "Find notes", "inputSchema": schema}]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the manifest in its second commit, and a narrower one in the working tree."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    manifest = tmp_path / "manifest" / "notes.toml"
    manifest.parent.mkdir()
    (tmp_path / "README.md").write_text("Notes\n", encoding="utf-8")
    git("init", "-q")
    git("add", "README.md")
    git("commit", "-qm", "readme")
    manifest.write_text(MANIFEST, encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "manifest")
    git("tag", "v1.2.0")
    manifest.write_text(NARROWED, encoding="utf-8")
    (tmp_path / "old.json").write_text(json.dumps({"tools": tools()}), encoding="utf-8")
    (tmp_path / "new.json").write_text(json.dumps(tools(maxLength=10), indent=1), encoding="utf-8")
    (tmp_path / "list.json").write_text(json.dumps(tools(maxLength=10)), encoding="utf-8")
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run([*GIT, *arguments], check=True)


def diff(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(toolmason, ["diff", *arguments], input=text)


NARROWER: Final = "argument `text` has `maxLength` `10`"
RUN: Final = shlex.join([sys.executable, "server.py", "list.json"])


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "sides",
    [
        ("HEAD",),
        ("v1.2.0", "."),
        ("HEAD:manifest/notes.toml", "manifest/notes.toml"),
        ("old.json", "new.json"),
        ("old.json", RUN),
        ("old.json", "manifest/notes.toml"),
    ],
    ids=str,
)
def test_a_narrower_argument_is_reported_for_each_kind_of_side(sides: tuple[str, ...]) -> None:
    result = diff(*sides)
    assert NARROWER in result.stdout, result.output
    assert "Fails: find_notes" in result.stdout
    assert result.exit_code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script with a shebang")
def test_a_program_without_arguments_is_a_server_with_a_prefix(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = project / "bin" / "notes-server"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {RUN}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    result = diff("old.json", "stdio:notes-server")
    assert NARROWER in result.stdout, result.output


@pytest.mark.usefixtures("project")
def test_the_first_side_may_be_stdin() -> None:
    result = diff("-", "new.json", text=json.dumps(tools()))
    assert NARROWER in result.stdout, result.output


def test_a_project_in_a_directory_of_the_repository_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = project / "servers" / "notes"
    inner.mkdir(parents=True)
    (project / "manifest").rename(inner / "manifest")
    manifest = inner / "manifest" / "notes.toml"
    manifest.write_text(MANIFEST, encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "move")
    manifest.write_text(NARROWED, encoding="utf-8")
    monkeypatch.chdir(inner)
    result = diff("HEAD")
    assert NARROWER in result.stdout, result.output
    assert "manifest/notes.toml:20:" in result.stdout


def test_a_wheel_and_its_directory_are_a_published_server(project: Path) -> None:
    (project / "manifest" / "notes.toml").write_text(MANIFEST, encoding="utf-8")
    (project / "handlers" / "notes_tools").mkdir(parents=True)
    handlers = project / "handlers" / "notes_tools"
    (handlers / "__init__.py").write_text("", encoding="utf-8")
    (handlers / "notes.py").write_text(
        "def find_notes(params: object, call: object) -> str:\n    return ''\n", encoding="utf-8"
    )
    generated = CliRunner().invoke(toolmason, ["generate"])
    assert generated.exit_code == 0, generated.output
    with zipfile.ZipFile(project / "notes-1.2.0-py3-none-any.whl", "w") as wheel:
        wheel.write(project / "generated" / "notes_server" / "catalogue.json", "notes_server/catalogue.json")
    (project / "manifest" / "notes.toml").write_text(NARROWED, encoding="utf-8")
    for side in ("notes-1.2.0-py3-none-any.whl", "generated/notes_server"):
        result = diff(side)
        assert NARROWER in result.stdout, result.output
        assert "after 1.2.0" in result.stdout


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (
            ("no-such-revision",),
            "`no-such-revision` is neither a revision of git, a file, a directory nor a URL",
        ),
        (("HEAD~1",), "HEAD~1: there is no manifest manifest/notes.toml in this revision"),
        (("--", "-HEAD"), "`-HEAD` is neither"),
        (("HEAD:other/none.toml",), "HEAD:other/none.toml: there is no directory other in this revision"),
        (("pypi:a b",), "`a b` is no package of PyPI"),
        (("npm:-x y",), "`-x y` is no package of npm"),
        (("http://127.0.0.1:9/mcp",), "server `http://127.0.0.1:9/mcp`: "),
        (("'",), "`'` is neither"),
        (("README.md",), "README.md:1:1: "),
        (("no-such-program --stdio",), "server `no-such-program --stdio`: "),
        (("twice.json",), "twice.json: two tools are called `a`"),
        (("broken.whl",), "broken.whl: this is no wheel"),
        (("empty",), "empty: it has neither a manifest nor a generated package"),
        (("HEAD", "--queries", "twice.json"), "twice.json:1:2: error[TM103]"),
    ],
    ids=str,
)
def test_a_side_that_cannot_be_loaded_is_reported(sides: tuple[str, ...], message: str) -> None:
    tool = {"name": "a", "inputSchema": {"type": "object"}}
    Path("twice.json").write_text(json.dumps([tool, tool]), encoding="utf-8")
    Path("broken.whl").write_bytes(b"PK")
    Path("empty").mkdir()
    result = diff(*sides)
    assert message in result.stderr
    assert result.exit_code == 2
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_an_invalid_manifest_of_a_side_is_reported_with_its_place(project: Path) -> None:
    (project / "manifest" / "notes.toml").write_text(MANIFEST.replace("summary", "sumary", 1), encoding="utf-8")
    result = diff("HEAD")
    assert "manifest/notes.toml:13:1: error[TM203]" in result.stderr
    assert "Nothing was compared." in result.stderr
    assert result.exit_code == 2


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("level", "code"), [("never", 0), ("breaking", 1), ("dangerous", 1), ("safe", 1)])
def test_the_exit_code_follows_the_level(level: str, code: int) -> None:
    assert diff("HEAD", "--fail-on", level).exit_code == code
    assert diff("HEAD", "HEAD", "--fail-on", level).exit_code == 0


@pytest.mark.usefixtures("project")
def test_formats_for_programs_have_the_same_change() -> None:
    data = json.loads(diff("HEAD", "--format", "json").stdout)
    (change,) = data["changes"]
    assert (change["rule"], change["severity"], change["place"]) == (
        "argument-limit-tightened",
        "breaking",
        "/arguments/properties/text/maxLength",
    )
    assert len(change["example"]["text"]) > 10
    assert data["required_version"] == "2.0.0"

    annotation = diff("HEAD", "--format", "github").stdout
    assert annotation.startswith(
        "::error file=manifest/notes.toml,line=20,col=69,title=diff/argument-limit-tightened::breaking"
    )

    (run,) = json.loads(diff("HEAD", "--format", "sarif").stdout)["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["diff/argument-limit-tightened"]
    assert run["tool"]["driver"]["rules"][0]["shortDescription"]["text"] == "A limit of an argument is stricter"

    assert diff("HEAD", "--format", "markdown", "--output", "diff.md").stdout == ""
    comment = Path("diff.md").read_text(encoding="utf-8")
    assert comment.startswith("## Contract of the server\n\n1 change: 1 breaking.")
    message = "- tool `find_notes`: argument `text` has `maxLength` `10`"
    assert f"{message} `argument-limit-tightened` (`manifest/notes.toml:20:69`)" in comment


@pytest.mark.usefixtures("project")
def test_texts_of_others_are_not_interpreted() -> None:
    name = "x\x1b[31m](http://a) <b>`"
    for file, found in (("a.json", [{"name": name, "inputSchema": {"type": "object"}}]), ("b.json", [])):
        Path(file).write_text(json.dumps({"tools": found}), encoding="utf-8")
    for layout in ("text", "markdown", "github", "json"):
        output = diff("a.json", "b.json", "--format", layout).stdout
        assert "\x1b" not in output
        if layout == "markdown":
            assert "<b>" not in output.replace("\\<b\\>", "")
            assert "](" not in output.replace("\\](", "")


@pytest.mark.usefixtures("project")
def test_no_reference_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a request")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    old, new = ({"properties": {"a": {"$ref": f"http://127.0.0.1:9/{name}"}}} for name in "ab")
    for file, schema in (("a.json", old), ("b.json", new)):
        Path(file).write_text(json.dumps([{"name": "a", "inputSchema": schema}]), encoding="utf-8")
    result = diff("a.json", "b.json")
    assert "argument-schema-undecided" in result.stdout, result.output


def test_a_project_without_git_says_what_to_write(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").rename(project / "no-git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(project.parent))
    assert "`HEAD` is neither a revision of git" in diff("HEAD").stderr
