"""Results of earlier runs save time and change no byte of the output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolmason_templates
from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.pipeline import compare, generate, read
from toolmason.project import Project
from toolmason.render.model_process import MIN_TOOLS
from toolmason.render.renderer import render
from toolmason.write import check
from toolmason.write.content_cache import CI_VARIABLE, ContentCache, content_cache, content_cache_path

HEAD = """\
edition = 1

[server]
name = "catalog"
package = "catalog_server"
handlers = "catalog"

[categories.books]
summary = "Find books"

[categories.loans]
summary = "Lend books"

[types.Shelf]
description = "A place for books"
fields.name = { type = "string", description = "Its name" }
"""

TOOL = """
[tools.{name}]
summary = {summary}
category = "{category}"
use_cases = [{use_case}]
hints = {{ read_only = {reads}, destructive = false, idempotent = true, open_world = false }}
handler = "{category}:{name}"
params.{param} = {{ type = "{type}", description = {description}, required = {required} }}
"""

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20)
TOOLS = st.fixed_dictionaries(
    {
        "summary": TEXTS.map(lambda text: f"Find {text}"),
        "category": st.sampled_from(["books", "loans"]),
        "param": st.sampled_from(["title", "limit", "class", "from_"]),
        "type": st.sampled_from(["string", "integer", "number[]", "Shelf", "Shelf[]", "map<string>", "object"]),
        "description": TEXTS.map(lambda text: f"About {text}")
        | st.sampled_from(["As {tool:find}", "A {{tool:find}} b"]),
        "use_case": TEXTS.map(lambda text: f"Look for {text}"),
        "required": st.booleans(),
        "reads": st.booleans(),
    }
)
NAMES = ("find", "find_all", "lend")
EDITS = st.lists(st.tuples(st.sampled_from(NAMES), TOOLS), min_size=1, max_size=3)


SHARED = ContentCache(Path("never saved"))
"""The results of all examples of a test, as those of many earlier runs."""


def manifest(tools: dict[str, dict[str, Any]]) -> str:
    quoted, flags = ("summary", "description", "use_case"), ("required", "reads")
    return HEAD + "".join(
        TOOL.format(
            **tools[name]
            | {"name": name}
            | {key: str(tools[name][key]).lower() for key in flags}
            | {key: json.dumps(tools[name][key], ensure_ascii=False) for key in quoted}
        )
        for name in sorted(tools)
    )


@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=TOOLS, edits=EDITS)
def test_the_output_after_edits_equals_that_of_a_run_without_the_cache(
    first: dict[str, Any], edits: list[tuple[str, dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("catalog")
    project = Project(root, root / "manifest.toml")
    tools = dict.fromkeys(NAMES[:2], first)
    for name, tool in [(NAMES[0], first), *edits]:
        tools[name] = tool
        project.manifest.write_text(manifest(tools), encoding="utf-8")
        diagnostics = Diagnostics()
        assert generate(project, diagnostics=diagnostics) is not None, list(diagnostics)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CI", "1")
            outcome = compare(project, diagnostics=Diagnostics())
        assert outcome is not None
        assert outcome.changes.is_clean, [change.diff() for change in outcome.changes.all]
    assert entries(project)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), tool=TOOLS)
def test_an_edit_anywhere_gives_the_findings_and_the_server_of_a_run_without_the_cache(
    data: st.DataObject, tool: dict[str, Any], tmp_path: Path
) -> None:
    project = Project(tmp_path, tmp_path / "manifest.toml")
    text = manifest(dict.fromkeys(NAMES, tool))
    start = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.sampled_from([0, 0, 1, 5, 30]))
    inserted = data.draw(
        st.sampled_from(["", "x", "1", '"', "[tools.find]\n", '\n[tools."find"]\n', "\ntools.x = 1\n"])
    )
    project.manifest.write_text(text[:start] + inserted + text[start + removed :], encoding="utf-8")
    findings, servers = [], []
    for store in (None, SHARED, SHARED):
        diagnostics = Diagnostics()
        reading = read(project, diagnostics=diagnostics, store=store)
        findings.append(list(diagnostics))
        servers.append(repr(reading and reading.server))
    assert findings[0] == findings[1] == findings[2]
    assert servers[0] == servers[1] == servers[2]


@pytest.mark.uncovered
def test_models_of_another_process_change_no_file_of_a_server_with_many_tools(tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "manifest.toml")
    tool = {
        "summary": "Find",
        "param": "shelf",
        "type": "Shelf[]",
        "description": "Where",
        "use_case": "Look",
        "required": False,
        "reads": True,
    }
    tools = {f"find_{number}": {**tool, "category": ("books", "loans")[number % 2]} for number in range(MIN_TOOLS)}
    project.manifest.write_text(manifest(tools), encoding="utf-8")
    assert generate(project, diagnostics=Diagnostics()) is not None
    reading = read(project, diagnostics=Diagnostics())
    assert reading
    assert check(render(reading.server), project.generated).is_clean


@pytest.fixture
def known(project: Project, run: Callable[..., Result]) -> Project:
    """A project with results of an earlier run, whose manifest was edited since."""
    assert run("generate").exit_code == 0
    text = project.manifest.read_text(encoding="utf-8")
    assert "Measure texts" in text
    project.manifest.write_text(text.replace("Measure texts", "Measure all texts"), encoding="utf-8")
    return project


def test_unchanged_schemas_and_models_are_not_converted_again(known: Project) -> None:
    reading = read(known, diagnostics=Diagnostics(), store=content_cache(known))
    assert reading
    store = content_cache(known)
    files = render(reading.server, projections=reading.projections, store=store)
    assert not reading.projections._normalizers
    assert files == render(reading.server)


def test_compiled_templates_are_reused_but_not_in_ci(
    known: Project, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    templates = {key for key in entries(known) if key.startswith("template ")}
    assert len(templates) > 10
    path_of(known).unlink()
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv(CI_VARIABLE, "1")
    assert run("generate").exit_code == 0
    assert entries(known)
    assert not {key for key in entries(known) if key.startswith("template ")}
    cache = content_cache(known)
    assert cache
    # A job of somebody else may have stored it.
    for key in templates:
        cache[key] = b64encode(b"not a template").decode()
    cache.save()
    assert run("check").exit_code == 0


@pytest.mark.uncovered
@pytest.mark.parametrize("damage", ["empty", "one bit", "cut", "no header", "another version", "no text"])
def test_a_damaged_file_is_ignored(damage: str, known: Project, run: Callable[..., Result]) -> None:
    data = path_of(known).read_bytes()
    header, _, body = data.partition(b"\n")
    damaged = {
        "empty": b"",
        "one bit": data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
        "cut": data[:-1],
        "no header": body,
        "another version": header.replace(header[:4], b"0000", 1) + b"\n" + body,
        "no text": b"\xff\n" + body,
    }[damage]
    path_of(known).write_bytes(damaged)
    assert entries(known) == {}
    assert run("generate").exit_code == 0
    assert entries(known)


@pytest.mark.uncovered
@pytest.mark.parametrize(("variable", "is_used"), [("", False), ("1", True)])
def test_ci_uses_the_cache_only_if_it_is_permitted(
    variable: str, is_used: bool, known: Project, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [key for key in entries(known) if not key.startswith("template ")]
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv(CI_VARIABLE, variable)
    assert bool(entries(known)) == is_used
    path_of(known).unlink()
    assert run("generate").exit_code == 0
    assert path_of(known).exists() == is_used
    assert not is_used or len(entries(known)) > len(before) // 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
@pytest.mark.parametrize(("archived", "is_used"), [("toolmason", True), ("toolmason/*", False)])
def test_ci_restores_a_directory_but_not_its_files_alone(
    archived: str, is_used: bool, known: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = path_of(known).parent.parent
    with tarfile.open(tmp_path / "cache.tar", "w") as archive:
        for path in saved.glob(archived):
            archive.add(path, path.relative_to(saved))
    restored = tmp_path / "restored"
    subprocess.run(["tar", "-xf", tmp_path / "cache.tar", f"--one-top-level={restored}"], check=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(restored))
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv(CI_VARIABLE, "1")
    assert bool(entries(known)) == is_used


def test_a_run_of_one_part_or_with_errors_stores_nothing(known: Project, run: Callable[..., Result]) -> None:
    before = path_of(known).read_bytes()
    text = known.manifest.read_text(encoding="utf-8").replace(', description = "', ', description = "New: ')
    known.manifest.write_text(text, encoding="utf-8")
    assert run("generate", "--only", "docs").exit_code == 0
    known.manifest.write_text(text + "\nunknown = 1\n", encoding="utf-8")
    assert run("generate").exit_code == 1
    assert path_of(known).read_bytes() == before


def test_a_run_during_an_update_of_the_toolkit_stores_nothing(
    known: Project, run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its old code may have rendered new templates: `generate --watch` runs for long."""
    stored = path_of(known).parent
    before = {path: path.read_bytes() for path in stored.iterdir()}
    updated = tmp_path / "updated"
    shutil.copytree(toolmason_templates.__path__[0], updated)
    updated.joinpath("new.jinja").touch()
    monkeypatch.setattr(toolmason_templates, "__path__", [str(updated)])
    assert run("generate").exit_code == 0
    assert {path: path.read_bytes() for path in stored.iterdir()} == before


def test_a_new_project_leaves_nothing_of_its_temporary_directory(cache_home: Path, tmp_path: Path) -> None:
    before = set(cache_home.rglob("*"))
    result = CliRunner().invoke(toolmason, ["init", str(tmp_path / "notes")])
    assert result.exit_code == 0, result.output
    assert {path.name for path in set(cache_home.rglob("*")) - before} <= {"toolmason", "key"}


def test_unused_entries_are_kept_up_to_the_size_of_the_used_ones(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "content"
    for number in range(5):
        cache = ContentCache(path)
        for entry in range(10):
            cache[f"run {number} entry {entry}"] = "x" * 100
        cache.save()
    texts = ContentCache(path)._stored
    assert 15 <= len(texts) <= 20
    assert {f"run 4 entry {entry}" for entry in range(10)} < texts.keys()
    assert path.stat().st_mode & 0o077 == 0


def test_a_run_without_new_entries_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "content"
    cache = ContentCache(path)
    cache["key"] = '"text"'
    cache.save()
    before = path.stat().st_ino
    again = ContentCache(path)
    assert again.get("key") == '"text"'
    assert again.get("other") is None
    again.save()
    assert path.stat().st_ino == before


@given(texts=st.dictionaries(st.text("ab \x85\u2028", max_size=5), st.text(), max_size=4))
def test_texts_with_any_character_are_the_same_in_the_next_run(
    texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("texts") / "cache" / "content"
    cache = ContentCache(path)
    for key, text in texts.items():
        cache[key] = json.dumps(text, ensure_ascii=False)
    cache.save()
    again = ContentCache(path)
    assert {key: json.loads(again.get(key) or "") for key in texts} == texts


def path_of(project: Project) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        path = content_cache_path(project)
    assert path
    return path


def entries(project: Project) -> dict[str, str]:
    cache = content_cache(project)
    return {key: str(cache.get(key)) for key in cache._stored} if cache else {}


@pytest.mark.uncovered
@pytest.mark.parametrize("obstacle", ["a file", "open to others"])
def test_a_directory_that_cannot_be_used_costs_only_time(
    obstacle: str, project: Project, run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "cache"
    if obstacle == "a file":
        home.touch()
    else:
        home.joinpath("toolmason").mkdir(parents=True)
        home.joinpath("toolmason").chmod(0o755)
    monkeypatch.setenv("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", str(home))
    for _ in range(2):
        assert run("generate").exit_code == 0
    assert sys.platform == "win32" or not list(home.rglob("*-*"))
    assert sys.platform == "win32" or not entries(project)


@pytest.mark.parametrize("max_new_bytes", [1, 1_000, 1_000_000])
def test_new_entries_can_be_read_before_and_after_they_are_saved(
    max_new_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolmason.write.content_cache.MAX_NEW_BYTES", max_new_bytes)
    path = tmp_path / "cache" / "content"
    expected = {f"key {number}": f"{number}\u00e9" * number for number in range(100)}
    for _ in range(2):
        cache = ContentCache(path)
        for number, (key, text) in enumerate(expected.items()):
            if number % 3 or key not in cache._stored:
                cache[key] = text
            assert cache.get(key) == text
        cache["key 7"] = expected["key 7"] = "another text"
        assert {key: cache.get(key) for key in expected} == expected
        cache.save()
        again = ContentCache(path)
        assert {key: again.get(key) for key in again._stored} == expected


FULL_DISK = """
import resource, sys
from pathlib import Path
from toolmason.write.content_cache import ContentCache
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
cache = ContentCache(Path(sys.argv[1]))
cache["other"] = "x" * int(sys.argv[2])
assert cache.get("other") in (None, "x" * 5000)
cache["another"] = "y"
cache.save()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files")
@pytest.mark.parametrize("size", [5_000, 50_000_000], ids=["in memory", "in a temporary file"])
def test_a_full_disk_keeps_the_entries_of_earlier_runs(size: int, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "content"
    cache = ContentCache(path)
    cache["key"] = "text"
    cache.save()
    subprocess.run([sys.executable, "-c", FULL_DISK, str(path), str(size)], check=True)
    assert ContentCache(path).get("key") == "text"
    assert list(path.parent.iterdir()) == [path]


FULL_TEMPORARY_DISK = """
import resource, sys
from pathlib import Path
from toolmason.write import content_cache
content_cache.MAX_NEW_BYTES = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
cache = content_cache.ContentCache(Path(sys.argv[1]))
texts = {f"key {number}": f"{number:04d}" * int(sys.argv[3]) for number in range(1000)}
for key, text in texts.items():
    cache[key] = text
assert all(cache.get(key) in (None, text) for key, text in texts.items())
assert cache.get("key") == "text"
if sys.argv[4] == "saved":
    cache.save()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files")
@pytest.mark.parametrize("end", ["saved", "not saved"])
@pytest.mark.parametrize(
    ("max_new_bytes", "length"),
    [(50_000, 1_000), (1_000, 10), (1_000, 5_000)],
    ids=["while it is created", "in its buffer", "in a large text"],
)
def test_a_full_disk_of_the_temporary_file_changes_no_text(
    max_new_bytes: int, length: int, end: str, tmp_path: Path
) -> None:
    path = tmp_path / "cache" / "content"
    cache = ContentCache(path)
    cache["key"] = "text"
    cache.save()
    command = [sys.executable, "-c", FULL_TEMPORARY_DISK, str(path), str(max_new_bytes), str(length), end]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ContentCache(path).get("key") == "text"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("size", ["-1", "10", "99999999999", "9" * 20, "9" * 5000, "\u0663", ""])
def test_a_damaged_size_of_the_index_is_ignored(size: str, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "content"
    cache = ContentCache(path)
    cache["key"] = "text"
    cache.save()
    head, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(head.split()[0] + f" {size}\n".encode() + rest)
    assert ContentCache(path).get("key") is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files")
def test_a_full_disk_stops_a_run_with_a_message(project: Project) -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));from toolmason.__main__ import main; main()"
    )
    command = [sys.executable, "-c", script, "generate", "--discard-edits", "--manifest", str(project.manifest)]
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    assert ran.returncode == 1
    assert ran.stderr.startswith("toolmason: [Errno ")
    assert ran.stderr.endswith("; nothing was written\n")


def test_concurrent_runs_leave_the_entries_of_one_of_them(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "content"

    def store(name: str) -> None:
        for number in range(20):
            cache = ContentCache(path)
            cache[f"{name} {number}"] = name * 1000
            cache.save()
            stored = ContentCache(path)
            assert stored._stored
            assert all(stored.get(key) == key[0] * 1000 for key in stored._stored)

    with ThreadPoolExecutor() as pool:
        list(pool.map(store, "abcd"))


def test_old_files_of_other_projects_and_killed_runs_are_removed(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    cache = ContentCache(directory / "content-new")
    cache["key"] = "text"
    cache.save()
    names = {"content-old", "run-old.json", "draft-old", "key", "words-old.int8"}
    for name in names:
        directory.joinpath(name).touch()
        os.utime(directory / name, (0, 0))
    directory.joinpath("draft-new").touch()
    cache = ContentCache(directory / "content-new")
    cache["other"] = "text"
    cache.save()
    assert {path.name for path in directory.iterdir()} == {"content-new", "draft-new", "key", "words-old.int8"}
