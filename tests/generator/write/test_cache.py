"""What is remembered of the last run saves the next one only where nothing that matters has changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest
from click.testing import Result

from toolmason.diagnostics import Diagnostics
from toolmason.kinds import GROUP
from toolmason.model.checksum import add_checksum
from toolmason.pipeline import read
from toolmason.project import Project
from toolmason.render.renderer import render
from toolmason.write import cache
from toolmason.write.cache import fingerprint, input_keys, load_run, named_files, record_path, store_run
from toolmason.write.content_cache import content_cache_path


@pytest.fixture
def known(project: Project, run: Callable[..., Result]) -> Project:
    """A project whose last run is remembered."""
    assert run("generate").exit_code == 0
    assert load_run(project) is not None
    return project


def test_the_cached_run_equals_a_new_one(known: Project) -> None:
    recalled = load_run(known)
    record(known).unlink()
    reading = read(known, diagnostics=Diagnostics())
    assert reading is not None
    assert recalled == render(reading.server)


def test_a_check_without_changes_imports_no_stage_that_it_does_not_need(known: Project) -> None:
    record(known).unlink()
    script = (
        "import sys; from click.testing import CliRunner; from toolmason.commands import toolmason;"
        "result = CliRunner().invoke(toolmason, ['check', '--manifest', sys.argv[1]]);"
        "assert result.exit_code == 0, result.output;"
        "print(*sys.modules)"
    )
    heavy = {"toolmason.schema", "toolmason.resolve", "toolmason.render.environment", "jinja2"}
    unused = {"jsonschema", "referencing", "mcp", "pydantic", "datamodel_code_generator", "filelock", "asyncio"}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script, str(known.manifest)], capture_output=True, check=True, encoding="utf-8"
        )
        for _ in range(2)
    )
    assert heavy <= set(first.stdout.split())
    assert unused.isdisjoint(first.stdout.split())
    assert (heavy | unused | {"packaging"}).isdisjoint(second.stdout.split())


CYCLE = """
fields.parts = { type = "Part[]", description = "Parts of the text", required = false }
[types.Part]
description = "A part of a text"
fields.size = { type = "TextSize", description = "Its length" }
"""
"""More of the type `TextSize`, so that types contain each other: the template has no form for these."""


@pytest.mark.uncovered
@pytest.mark.parametrize(("ci", "is_imported"), [("", False), ("1", True)])
def test_models_of_an_earlier_run_are_used_again_outside_ci(
    known: Project, run: Callable[..., Result], ci: str, is_imported: bool
) -> None:
    text = known.manifest.read_text(encoding="utf-8").replace("\n[tools.", f"{CYCLE}\n[tools.", 1)
    known.manifest.write_text(text, encoding="utf-8")
    assert run("generate").exit_code == 0
    assert "Measure texts" in text
    known.manifest.write_text(text.replace("Measure texts", "Measure all texts"), encoding="utf-8")
    script = (
        "import sys; from click.testing import CliRunner; from toolmason.commands import toolmason;"
        "result = CliRunner().invoke(toolmason, ['generate', '--manifest', sys.argv[1]]);"
        "assert result.exit_code == 0, result.output;"
        "print('datamodel_code_generator' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(known.manifest)],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={**os.environ, "CI": ci},
    )
    assert ran.stdout.split() == [str(is_imported)]


@pytest.mark.uncovered
@pytest.mark.parametrize("name", ["manifest", "handler", "new handler", "template"])
def test_a_changed_input_is_not_recalled(known: Project, name: str) -> None:
    assert known.handlers
    handler = next(path for path in sorted(known.handlers.rglob("*.py")) if path.stat().st_size)
    template = known.template_directory / "python" / "init.py.jinja"
    changed = {
        "manifest": known.manifest,
        "handler": handler,
        "new handler": handler.with_name("another.py"),
        "template": template,
    }[name]
    changed.parent.mkdir(parents=True, exist_ok=True)
    with changed.open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert load_run(known) is None


def test_a_changed_schema_that_the_manifest_names_is_not_recalled(known: Project, run: Callable[..., Result]) -> None:
    schema = known.root / "a.json"
    schema.write_text('{"type": "object", "properties": {"a": {"type": "string"}}}', encoding="utf-8")
    text = known.manifest.read_text(encoding="utf-8")
    start = text.index("params.")
    known.manifest.write_text(without_params(text, start, 'input_schema = "a.json"\n'), encoding="utf-8")
    assert run("generate").exit_code == 0
    assert load_run(known) is not None
    schema.write_text('{"type": "object", "properties": {"b": {"type": "string"}}}', encoding="utf-8")
    assert load_run(known) is None
    schema.unlink()
    assert load_run(known) is None


def without_params(text: str, start: int, instead: str) -> str:
    """Give a manifest with a schema instead of the parameters of its tool, and without the examples of that."""
    lines = [line for line in text[start:].splitlines(keepends=True) if not line.startswith("params.")]
    rest = "".join(lines)
    end = rest.find("[[tools.")
    return text[:start] + instead + (rest if end < 0 else rest[:end])


def test_an_input_changed_while_the_run_was_under_way_leaves_nothing_to_recall(known: Project) -> None:
    files = load_run(known)
    assert files
    record(known).unlink()
    before = fingerprint(known)
    newer = known.root / "newer.toml"
    newer.write_text(known.manifest.read_text(encoding="utf-8") + "# later\n", encoding="utf-8")
    os.utime(newer, ns=(0, 0))
    newer.rename(known.manifest)
    store_run(known, files, before)
    assert not record(known).exists()
    store_run(known, files, fingerprint(known))
    assert load_run(known) == files


@pytest.mark.parametrize("suffix", [".txt", ".jinja", ""])
def test_whatever_a_template_may_include_counts(known: Project, suffix: str) -> None:
    part = known.template_directory / f"part{suffix}"
    part.parent.mkdir(exist_ok=True)
    part.write_text("mine\n", encoding="utf-8")
    assert load_run(known) is None


@pytest.mark.uncovered
@pytest.mark.parametrize("folder", ["handlers", "templates"])
def test_a_change_behind_a_link_invalidates_the_cache(folder: str, known: Project, run: Callable[..., Result]) -> None:
    elsewhere = known.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "part.py").write_text("a = 1\n", encoding="utf-8")
    (known.root / folder).mkdir(exist_ok=True)
    (known.root / folder / "linked").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to(elsewhere)
    assert run("generate").exit_code == 0
    assert load_run(known) is not None
    (elsewhere / "part.py").write_text("a = 2\n", encoding="utf-8")
    assert load_run(known) is None


def test_a_file_that_a_resource_needs_is_missed_and_its_content_does_not_count(
    known: Project, run: Callable[..., Result]
) -> None:
    assert known.handlers
    package = next(known.handlers.glob("*/__init__.py")).parent
    page = package / "page.txt"
    page.write_text("One.", encoding="utf-8")
    table = '[resources.page]\nuri = "text://page"\nsummary = "A page"\nmime_type = "text/plain"\nfile = "page.txt"\n'
    with known.manifest.open("a", encoding="utf-8") as manifest:
        manifest.write(f"\n{table}")
    assert run("generate").exit_code == 0
    page.write_text("Two.", encoding="utf-8")
    assert load_run(known) is not None

    page.unlink()
    assert load_run(known) is None
    assert "TM344" in run("generate").stderr


def test_schemas_are_those_that_tools_give_by_file_name() -> None:
    manifest = b'[tools.a]\ninput_schema = "a.json"\n[tools.b]\ninput_schema = { type = "object" }\n[tools.c]\n'
    assert named_files(manifest, Path(), input_keys()) == ["a.json"]
    assert named_files(b"", Path(), input_keys()) == []


@pytest.mark.parametrize(
    ("manifest", "files"),
    [
        ('[databases.shop]\nschema = "shop.sql"\n[databases.books]\nurl = "sqlite:///b"\n', ["shop.sql"]),
        ('[databases.a]\nschema = ["a.sql", 1, "b.sql"]\n', ["a.sql", "b.sql"]),
        ('[databases.a]\nschema = 1\n[tools.a]\ninput_schema = ["a.json"]\n', ["a.json"]),
        ('[apis.shop]\nschema = "not-a-key-of-this-table.json"\n', []),
    ],
)
def test_files_of_kinds_are_one_path_or_a_list(manifest: str, files: list[str]) -> None:
    assert named_files(manifest.encode(), Path(), input_keys()) == files


@pytest.mark.parametrize(
    "reference",
    [
        r'{"$ref": "parts/common.json#/$defs/a"}',
        r'{"$ref":"parts\/common.json#\/$defs\/a"}',
        r'{"\u0024ref": "parts/common.json"}',
        r'{"$ref": "p\u0061rts/common.json#"}',
        r'[{"a": {"allOf": [{"$ref": "parts/c%6fmmon.json"}, {"$ref": "#/a"}, {"$ref": "https://example.com/b.json"}]}}]',
        '{"$ref":\n  "parts/common.json"}',
    ],
    ids=str,
)
def test_files_that_a_schema_refers_to_are_inputs(tmp_path: Path, reference: str) -> None:
    (tmp_path / "a.json").write_text(reference, encoding="utf-8")
    manifest = b'[tools.a]\ninput_schema = "a.json"\n'
    assert named_files(manifest, tmp_path, input_keys()) == ["a.json", "parts/common.json"]


@pytest.mark.parametrize("name", ["a\\u0000.json", "refers.json"])
def test_a_null_character_in_the_name_of_a_file_is_reported(
    known: Project, run: Callable[..., Result], name: str
) -> None:
    write_json(known.root / "refers.json", {"properties": {"a": {"$ref": "a%00.json#/x"}}})
    text = known.manifest.read_text(encoding="utf-8")
    start = text.index("params.")
    known.manifest.write_text(without_params(text, start, f'input_schema = "{name}"\n'), encoding="utf-8")

    result = run("check")

    assert result.exit_code == 1
    assert "is not a valid file name" in result.stderr


def test_schemas_that_a_schema_file_refers_to_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    write_json(tmp_path / "schemas" / "a.json", {"$ref": "../b%20c.json#/$defs/x", "not": {"$ref": "#/x"}})
    write_json(tmp_path / "b c.json", {"allOf": [{"$ref": "schemas/a.json"}, {"$ref": "https://example.org/d.json"}]})

    manifest = b'[tools.a]\ninput_schema = "schemas/a.json"\n'
    assert named_files(manifest, tmp_path, input_keys()) == ["schemas/a.json", "b c.json"]


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def test_a_record_that_vouches_for_an_edit_is_not_believed(known: Project) -> None:
    edited = next(known.generated.rglob("server.py"))
    edited.write_text(edited.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    said = json.loads(record(known).read_text(encoding="utf-8"))
    name = edited.relative_to(known.generated).as_posix()
    said["files"][name] = sha256(edited.read_bytes()).hexdigest()
    record(known).write_text(json.dumps(said), encoding="utf-8")
    assert load_run(known) is None


@pytest.mark.parametrize("name", ["../manifest/{}.toml", "{}/etc/hostname"])
def test_a_record_with_a_path_outside_the_directory_is_ignored(known: Project, name: str) -> None:
    said = json.loads(record(known).read_text(encoding="utf-8"))
    path = Path(name.format(known.manifest.stem if name.startswith("..") else ""))
    target = known.generated / path
    said["files"][str(path)] = sha256(target.read_bytes()).hexdigest() if target.is_file() else ""
    record(known).write_text(json.dumps(said), encoding="utf-8")
    assert load_run(known) is None


def test_a_pipe_in_the_place_of_a_file_is_not_opened(known: Project) -> None:
    page = next(known.generated.rglob("index.md"))
    page.unlink()
    os.mkfifo(page)
    assert load_run(known) is None


def test_a_hand_edit_is_still_refused_after_a_remembered_run(known: Project, run: Callable[..., Result]) -> None:
    edited = next(known.generated.rglob("catalogue.py"))
    edited.write_text(edited.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert load_run(known) is None
    assert run("generate").exit_code == 4
    assert edited.read_text(encoding="utf-8").endswith("# mine\n")


def test_a_missing_file_is_made_again_and_a_stale_one_is_pruned(known: Project, run: Callable[..., Result]) -> None:
    lost = next(known.generated.rglob("index.md"))
    lost.unlink()
    assert run("check").exit_code == 3
    assert run("generate").exit_code == 0
    assert lost.exists()


@pytest.mark.uncovered
@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"inputs": 1, "files": {}}', "\x00", "[" * 100_000])
def test_a_broken_record_is_worth_nothing(known: Project, text: str) -> None:
    record(known).write_text(text, encoding="utf-8")
    assert load_run(known) is None


def test_crlf_line_ends_are_recalled_as_they_were_made(known: Project) -> None:
    made = load_run(known)
    page = next(known.generated.rglob("index.md"))
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert load_run(known) == made


def test_one_part_alone_is_not_taken_for_the_whole(known: Project, run: Callable[..., Result]) -> None:
    record(known).unlink()
    assert run("generate", "--only", "docs").exit_code == 0
    assert not record(known).exists()


def test_the_record_is_in_the_users_cache_and_nothing_of_it_in_the_project(known: Project, cache_home: Path) -> None:
    assert record(known).is_relative_to(cache_home)
    assert json.loads(record(known).read_text(encoding="utf-8"))["files"]
    assert not list(known.root.rglob(".toolmason*/*"))
    assert record(known).parent.stat().st_mode & 0o077 == 0
    assert record(known).stat().st_mode & 0o077 == 0


def test_a_record_that_the_project_brings_along_turns_no_check_green(
    known: Project, run: Callable[..., Result]
) -> None:
    path = next(known.generated.rglob("server.py"))
    body = "\n".join(line for line in path.read_text(encoding="utf-8").split("\n") if "toolmason: sha256" not in line)
    tampered = body.rstrip("\n").replace("import annotations", "import annotations\nimport os", 1) + "\n"
    path.write_text(add_checksum(PurePosixPath("notes_server/server.py"), tampered), encoding="utf-8")
    files = {
        made.relative_to(known.generated).as_posix(): sha256(made.read_bytes()).hexdigest()
        for made in known.generated.rglob("*")
        if made.is_file() and made.name != "SHA256SUMS"
    }
    (known.root / ".toolmason").mkdir()
    planted = json.dumps({"inputs": fingerprint(known), "files": files})
    (known.root / ".toolmason" / "notes.json").write_text(planted, encoding="utf-8")
    (known.root / ".toolmason" / record(known).name).write_text(planted, encoding="utf-8")

    assert run("check").exit_code == 3


@pytest.mark.uncovered
@pytest.mark.parametrize("name", ["notes.json", ""])
def test_no_file_of_the_user_is_written_through_a_link(
    name: str, known: Project, run: Callable[..., Result], tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8") if name else victim.mkdir()
    link = known.root / ".toolmason" / name if name else known.root / ".toolmason"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(victim)
    record(known).unlink()
    before = tree(known.root)

    assert run("check").exit_code == 0

    assert tree(known.root) == before
    assert victim.read_text(encoding="utf-8") == "precious" if name else list(victim.iterdir()) == []


@pytest.mark.uncovered
@pytest.mark.parametrize("home", ["relative", "inside", "linked inside"])
def test_a_cache_directory_that_the_project_could_have_brought_is_not_used(
    home: str, known: Project, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(known.root)
    (tmp_path / "linked").symlink_to(known.root)
    where = {"relative": "cache", "inside": str(known.root / "cache"), "linked inside": str(tmp_path / "linked")}
    monkeypatch.setenv("XDG_CACHE_HOME", where[home])
    before = tree(known.root)

    assert record_path(known) is None
    assert load_run(known) is None
    assert run("check").exit_code == 0
    assert tree(known.root) == before


def test_a_relative_cache_directory_outside_the_project_is_not_used(
    known: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")

    assert record_path(known) is None


def test_a_cache_directory_in_the_repository_of_the_project_is_not_used(
    project: Project, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".cache").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    assert run("check").exit_code == 0
    assert load_run(project) is not None
    (tmp_path / ".git").mkdir()

    assert record_path(project) is None
    assert load_run(project) is None


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_cache_directory_that_others_can_open_is_not_used(known: Project, mode: int) -> None:
    directory = record(known).parent
    directory.chmod(mode)
    try:
        assert load_run(known) is None
    finally:
        directory.chmod(0o700)


def test_a_cache_directory_that_others_may_write_to_is_not_used(known: Project) -> None:
    assert load_run(known) is not None
    directory = record(known).parent
    directory.chmod(0o777)
    try:
        assert load_run(known) is None
    finally:
        directory.chmod(0o700)


def test_a_run_in_which_the_toolkit_is_updated_stores_nothing(
    known: Project, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toolkit at its start and the updated one may both have shaped the files."""
    content = content_cache_path(known)
    assert content
    content.unlink()
    record(known).unlink()
    started_with = cache._toolkit_at_start()
    monkeypatch.setattr(cache, "_toolkit", lambda: started_with._replace(files=started_with.files[1:]))
    assert run("generate").exit_code == 0
    assert not content.exists()
    assert not record(known).exists()


def test_in_ci_no_record_is_read_or_written(known: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    files = load_run(known)
    assert files
    monkeypatch.setenv("CI", "true")
    assert load_run(known) is None
    monkeypatch.delenv("CI")
    record(known).unlink()
    monkeypatch.setenv("CI", "true")
    store_run(known, files, fingerprint(known))
    monkeypatch.delenv("CI")
    assert load_run(known) is None


def test_an_input_that_no_stage_reads_is_not_hashed_either(known: Project, run: Callable[..., Result]) -> None:
    assert known.handlers
    (known.handlers / "processes").symlink_to("/proc")
    (known.template_directory / "zero").symlink_to("/dev/zero")
    os.mkfifo(known.template_directory / "pipe")
    with (known.template_directory / "huge").open("wb") as file:
        file.truncate(6 * 1024**3)
    with (known.handlers / "huge.bin").open("wb") as file:
        file.truncate(6 * 1024**3)

    assert run("check").exit_code == 0
    assert load_run(known) is not None


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }


def record(project: Project) -> Path:
    path = record_path(project)
    assert path
    return path


@pytest.mark.parametrize("name", ["acme-1.dist-info", "acme.egg-info", "EGG-INFO"])
def test_a_kind_is_an_input_wherever_it_is_installed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    text = f"[console_scripts]\nacme = acme_cli:main\n\n[{GROUP}]\nshelf = acme_shelves:KIND\n"
    (tmp_path / name / "entry_points.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    assert "acme_shelves" in cache.kind_packages()
    assert "acme_cli" not in cache.kind_packages()
