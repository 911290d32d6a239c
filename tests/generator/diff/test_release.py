"""`toolmason release` records the contract of a published version, and `check` guards it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.diff.compare import compare
from toolmason.diff.contract import Contract
from toolmason.diff.lock import dump, parse
from toolmason.diff.manifest_side import manifest_contract
from toolmason.pipeline import read
from toolmason.project import Project, find_project

REPOSITORY: Final = Path(__file__).parents[3]
GOLDEN: Final = sorted(path for path in (REPOSITORY / "tests" / "golden").iterdir() if (path / "expected").is_dir())
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
SHORTER: Final = MANIFEST.replace("Find notes by words in their text", "Find notes by words")


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The manifest of a generated project whose contract was recorded."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "manifest" / "notes.toml"
    path.parent.mkdir()
    path.write_text(MANIFEST, encoding="utf-8")
    handlers = tmp_path / "handlers" / "notes_tools"
    handlers.mkdir(parents=True)
    (handlers / "__init__.py").write_text("", encoding="utf-8")
    (handlers / "notes.py").write_text(
        "def find_notes(params: object, call: object) -> str:\n    return ''\n", encoding="utf-8"
    )
    assert run("generate").exit_code == 0
    assert run("release").stdout == "manifest/contract.lock: version 1.2.0\n"
    assert run("check").exit_code == 0
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(toolmason, arguments)


@pytest.mark.parametrize(
    ("text", "counted", "required"), [(NARROWED, "1 breaking", "2.0.0"), (SHORTER, "1 safe", "1.2.1")]
)
def test_a_published_version_cannot_get_another_contract(
    manifest: Path, text: str, counted: str, required: str
) -> None:
    manifest.write_text(text, encoding="utf-8")
    generated, checked, released = run("generate"), run("check"), run("release")
    message = f"[TM618]: version 1.2.0 is published, and its contract has changed ({counted})"
    assert generated.exit_code == 0
    assert f"manifest/notes.toml:5:1: warning{message}" in generated.stderr
    assert checked.exit_code == 1
    assert f"manifest/notes.toml:5:1: error{message}" in checked.stderr
    assert f'set `version = "{required}"`, or undo the changes' in checked.stderr
    assert released.exit_code == 4
    assert "nothing was written" in released.stderr
    assert run("diff", "manifest/contract.lock", "--fail-on", "safe").exit_code == 1

    manifest.write_text(text.replace("1.2.0", required), encoding="utf-8")
    assert run("generate").exit_code == 0
    checked = run("check")
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert run("release").stdout == f"manifest/contract.lock: version {required}; changes since 1.2.0: {counted}\n"
    assert run("diff", "manifest/contract.lock", "--fail-on", "safe").exit_code == 0


def test_a_version_that_is_too_low_is_a_warning(manifest: Path) -> None:
    manifest.write_text(NARROWED.replace("1.2.0", "1.3.0"), encoding="utf-8")
    run("generate")
    checked = run("check")
    assert checked.exit_code == 0
    assert "warning[TM618]: version 1.3.0 is too low for the changes since 1.2.0 (1 breaking)" in checked.stderr
    assert run("release").exit_code == 4
    assert run("release", "--force").exit_code == 0
    assert run("check").stderr == ""


def test_a_version_without_numbers_must_change_too(manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("1.2.0", "beta"), encoding="utf-8")
    run("generate")
    assert run("release").exit_code == 0
    manifest.write_text(NARROWED.replace("1.2.0", "beta"), encoding="utf-8")
    checked = run("check")
    assert checked.exit_code == 1
    assert "set another version" in checked.stderr


def test_a_new_lock_is_noticed_although_nothing_else_has_changed(manifest: Path) -> None:
    lock = manifest.with_name("contract.lock")
    lock.write_text(lock.read_text(encoding="utf-8").replace("Words to look for", "Words"), encoding="utf-8")
    assert run("check").exit_code == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is no JSON"),
        (b"[]", "it is no contract of Toolmason"),
        (b"{}", "the key 'format' is missing"),
        (b"\xfe\x00", "it is no JSON"),
        (b'{"format": "toolmason-contract-9"}', "its format is 'toolmason-contract-9'"),
        (b"[" * 100_000, "it is no contract of Toolmason"),
        (
            b'{"format": "toolmason-contract-1", "name": "a", "version": "1", "tools": []}',
            "is missing",
        ),
    ],
    ids=range(7),
)
def test_a_damaged_lock_is_reported_and_kept(manifest: Path, content: bytes, reason: str) -> None:
    lock = manifest.with_name("contract.lock")
    lock.write_bytes(content)
    checked, released, compared = run("check"), run("release"), run("diff", "manifest/contract.lock")
    assert checked.exit_code == 1
    assert "manifest/contract.lock:1:1: error[TM619]: cannot read the published contract: " in checked.stderr
    assert reason in checked.stderr
    assert (released.exit_code, compared.exit_code) == (4, 2)
    assert lock.read_bytes() == content
    assert run("release", "--force").exit_code == 0
    assert run("check").exit_code == 0


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("tools.find_notes.arguments", 5, "tools.find_notes.arguments"),
        ("tools.find_notes.arguments", {"type": 5}, "is no JSON Schema"),
        ("tools.find_notes.aliases", 5, "tools.find_notes.aliases"),
        ("tools.find_notes", None, "tools.find_notes"),
        ("prompts", 5, "prompts"),
        ("resources", ["x"], "resources"),
        ("pinned", [5], "pinned"),
        ("access", {"rights": {}, "hosts": {"a": 5}}, "access.hosts.a"),
        ("version", None, "version"),
    ],
)
def test_a_lock_with_a_value_of_another_type_is_reported(manifest: Path, path: str, value: object, reason: str) -> None:
    lock = manifest.with_name("contract.lock")
    table = json.loads(lock.read_text(encoding="utf-8"))
    *parents, last = path.split(".")
    found = table
    for key in parents:
        found = found[key]
    found[last] = value
    lock.write_text(json.dumps(table), encoding="utf-8")
    checked = run("check")
    assert (checked.exit_code, run("release").exit_code) == (1, 4)
    assert "error[TM619]" in checked.stderr
    assert reason in checked.stderr


def test_a_lock_that_is_no_file_is_reported(manifest: Path) -> None:
    lock = manifest.with_name("contract.lock")
    os.unlink(lock)  # noqa: PTH108
    lock.symlink_to("nowhere")
    assert "[TM619]" in run("check").stderr
    os.unlink(lock)  # noqa: PTH108
    lock.mkdir()
    generated, checked = run("generate"), run("check")
    assert (generated.exit_code, checked.exit_code) == (0, 1)
    assert "warning[TM619]" in generated.stderr
    assert "error[TM619]" in checked.stderr
    released = run("release")
    assert released.exit_code == 4
    assert "Is a directory" in released.stderr


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_lock_has_the_whole_contract(path: Path) -> None:
    """Each comparison in both directions is empty, and so is that of the text."""
    contract = _contract(Project(path, path / "manifest.toml"))
    text = dump(contract)
    again = parse(text.encode(), "contract.lock")
    assert dump(again) == text
    assert compare(contract, again) == compare(again, contract) == ()


def test_the_lock_of_workbench_has_one_line_for_each_tool() -> None:
    contract = _contract(find_project(REPOSITORY))
    lines = dump(contract).splitlines()
    assert compare(contract, parse(dump(contract).encode(), "")) == ()
    for name in contract.tools:
        assert sum(line.startswith(f'    "{name}": {{') for line in lines) == 1
    assert set(json.loads(dump(contract))["tools"]) == set(contract.tools)


def _contract(project: Project) -> Contract:
    diagnostics = Diagnostics()
    reading = read(project, diagnostics=diagnostics, missing=[])
    assert reading is not None, list(diagnostics)
    return manifest_contract(reading, project.root, source="manifest")
