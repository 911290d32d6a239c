"""After a run that found nothing to do, `check` and `generate` compare the times of files instead of their contents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import toolmason_runtime
from click.testing import CliRunner, Result

import toolmason as toolmason_package
import toolmason_templates
from toolmason.commands import toolmason
from toolmason.project import Project
from toolmason.shortcuts import print_without_click
from toolmason.shortcuts.clean_run import END, clean_run_path, file_state, is_supported, load_clean_run, run_key
from toolmason.write import record_clean_run
from toolmason.write.cache import record_path as record_of_run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no time that only the system sets")
REPOSITORY = Path(__file__).parents[3]
SECOND_NS = 1_000_000_000

Run = Callable[..., Result]


@pytest.fixture
def run(project: Project, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `toolmason` in the project, in a process that has begun long after the last change of all files."""
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(record_clean_run, "STARTED_NS", time.time_ns() + 3600 * SECOND_NS)
    # Other tests create files next to their modules.
    own = [entry for entry in sys.path if not Path(entry).is_relative_to(REPOSITORY / "tests")]
    monkeypatch.setattr(sys, "path", [entry for entry in own if entry and Path(entry) != REPOSITORY])

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(toolmason, arguments)

    assert invoke("generate").exit_code == 0
    record().unlink(missing_ok=True)
    return invoke


@pytest.fixture
def clean(project: Project, run: Run) -> Project:
    """The project after a clean run."""
    result = run("check")
    assert result.exit_code == 0, result.output
    assert load_clean_run() == result.output
    return project


def record() -> Path:
    return Path(clean_run_path(run_key()))


def replace(path: Path, old: str, new: str) -> None:
    """Change a file in its place; keep its size and the times that a program can set."""
    assert len(old) == len(new)
    status = path.stat()
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns


def test_a_run_without_changes_prints_the_output_of_the_command(
    clean: Project, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clean.generated.is_dir()
    for arguments in (["check"], ["generate"], ["generate", "--check"]):
        assert print_without_click(arguments)
        assert capsys.readouterr().out == run(*arguments).output


def test_other_options_are_left_to_the_command(clean: Project) -> None:
    assert clean.generated.is_dir()
    for argument in ("--diff", "--only=docs", "--format=json", "--manifest=manifest/notes.toml", "x"):
        assert not print_without_click(["check", argument]), argument


def test_a_changed_manifest_of_the_same_size_and_time_is_noticed(clean: Project, run: Run) -> None:
    text = clean.manifest.read_text(encoding="utf-8")
    title = next(line for line in text.split("\n") if line.startswith("title = "))
    replace(clean.manifest, title, title.replace(title[9], "Q", 1))

    assert load_clean_run() == ""
    assert run("check").exit_code == 3


def test_an_edited_generated_file_of_the_same_size_and_time_is_noticed(clean: Project, run: Run) -> None:
    replace(next(clean.generated.rglob("server.py")), "import", "IMPORT")

    assert load_clean_run() == ""
    assert run("check").exit_code == 3


def paths(project: Project) -> Iterator[Path]:
    for path in sorted(project.root.rglob("*")):
        name = path.relative_to(project.root).as_posix()
        if name.startswith(("generated", "manifest", "handlers", "templates", "pyproject.toml")):
            yield path


def test_each_file_and_directory_counts(clean: Project) -> None:
    changed = list(paths(clean))
    assert len(changed) > 30
    for path in changed:
        status = path.stat()
        path.chmod(status.st_mode)  # a new time of the last change, and nothing else
        assert load_clean_run() == "", path
        data = record().read_bytes()
        name = os.fsencode(path)
        record().write_bytes(
            b"\0".join(
                file_state(name) + b" " + name if entry.endswith(b" " + name) else entry for entry in data.split(b"\0")
            )
        )
        assert load_clean_run(), path


ADDED = {
    "a file in generated/": "generated/notes.txt",
    "a directory of an interrupted run": "generated/.toolmason-staging/forward.json",
    "files of an interrupted edit": ".toolmason-staging/forward.json",
    "a second manifest": "manifest/other.toml",
    "a file for a glob of `include`": "manifest/tools/more/one.toml",
    "a contract": "manifest/contract.lock",
    "postings": "manifest/semantic.postings",
    "a handler": "handlers/more/new.py",
    "a template": "templates/server.py.jinja",
}


@pytest.mark.uncovered
@pytest.mark.parametrize("name", ADDED.values(), ids=ADDED)
def test_an_added_file_is_noticed(name: str, clean: Project) -> None:
    path = clean.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")

    assert load_clean_run() == ""


@pytest.mark.parametrize("name", ["generated/SHA256SUMS", "pyproject.toml", "manifest/notes.toml"])
def test_a_removed_file_is_noticed(name: str, clean: Project) -> None:
    (clean.root / name).unlink()

    assert load_clean_run() == ""


def test_a_nearer_project_is_another_project(clean: Project, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = clean.root / "handlers"
    monkeypatch.chdir(directory)
    assert load_clean_run() == ""
    assert run("check").exit_code == 0
    assert load_clean_run()
    (directory / "manifest").mkdir()
    (directory / "manifest" / "own.toml").write_text("edition = 1\n", encoding="utf-8")

    assert load_clean_run() == ""


def test_a_new_distribution_is_noticed(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    (packages / "a-1.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    for change in (
        (packages / "a-1.dist-info" / "entry_points.txt").touch,
        (packages / "ruff-9.dist-info").mkdir,
    ):
        assert run("check").exit_code == 0
        assert load_clean_run()
        change()
        assert load_clean_run() == ""


@pytest.mark.parametrize("package", [toolmason_package, toolmason_runtime, toolmason_templates])
def test_all_files_of_the_toolkit_count(package: ModuleType, clean: Project) -> None:
    assert clean.generated.is_dir()
    names = {entry.partition(b" ")[2] for entry in record().read_bytes().split(b"\0")}
    (top,) = map(Path, package.__path__)
    expected = {top, *top.rglob("*")}

    assert {os.fsencode(path) for path in expected if "__pycache__" not in path.parts} <= names


def test_a_linked_directory_of_handlers_gets_no_record(project: Project, run: Run, tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    (project.root / "handlers" / "linked").symlink_to(tmp_path / "linked")

    assert run("check").exit_code == 0
    assert load_clean_run() == ""


def test_a_file_that_changed_just_now_gets_no_record(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = max(path.stat().st_ctime_ns for path in paths(project))
    monkeypatch.setattr(record_clean_run, "STARTED_NS", newest + SECOND_NS)

    assert run("check").exit_code == 0
    assert load_clean_run() == ""


def test_a_run_whose_inputs_have_no_record_is_not_recorded(clean: Project) -> None:
    record().unlink()
    record_clean_run.store_clean_run(clean, "clean\n")
    assert load_clean_run() == "clean\n"
    record().unlink()
    run_record = record_of_run(clean)
    assert run_record is not None
    run_record.write_text(json.dumps(json.loads(run_record.read_text("utf-8")) | {"inputs": "other"}), encoding="utf-8")
    record_clean_run.store_clean_run(clean, "clean\n")

    assert load_clean_run() == ""


def test_a_run_of_one_part_is_not_recorded(project: Project, run: Run) -> None:
    assert run("check", "--only", "docs").exit_code == 0
    assert project.generated.is_dir()
    assert load_clean_run() == ""


def test_a_run_with_a_note_is_not_recorded(project: Project, run: Run) -> None:
    for path in (project.root / "handlers").rglob("*.py"):
        path.unlink()

    assert run("generate").exit_code == 1
    assert load_clean_run() == ""


def test_ci_compares_all_contents(clean: Project, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = record().read_bytes()
    monkeypatch.setenv("CI", "true")
    assert load_clean_run() == ""
    record().unlink(missing_ok=True)
    assert run("check").exit_code == 0
    assert not record().exists()
    # A restored cache may come from a stranger's job.
    record().write_bytes(b"\0".join([run_key(), text.split(b"\0")[1], END]))
    assert load_clean_run() == ""
    assert clean.generated.is_dir()


def test_with_a_variable_of_ours_nothing_is_read_or_recorded(
    clean: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMASON_PASSWORD", "hunter2")
    path = record()
    path.unlink()

    assert load_clean_run() == ""
    assert run("check").exit_code == 0
    assert not path.exists()
    assert not any(b"hunter2" in file.read_bytes() for file in path.parent.iterdir() if file.is_file())
    assert clean.generated.is_dir()


def test_a_damaged_record_is_ignored(clean: Project) -> None:
    assert clean.generated.is_dir()
    data = record().read_bytes()
    for end in (0, 1, len(run_key()), len(data) // 2, len(data) - 1):
        record().write_bytes(data[:end])
        assert load_clean_run() == ""
    record().write_bytes(b"\0".join([b"another project", *data.split(b"\0")[1:]]))
    assert load_clean_run() == ""
    record().write_bytes(b"\0".join([run_key(), b"clean\n", END]))  # a record without files
    assert load_clean_run() == ""
    record().write_bytes(data.replace(b"generated/", b"generated\xff", 1))
    assert load_clean_run() == ""
    record().write_bytes(data)
    assert load_clean_run()


@pytest.mark.parametrize(
    "make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "directory", "link"]
)
def test_a_record_that_is_no_regular_file_is_ignored(make: Callable[[Path], None], clean: Project) -> None:
    path = record()
    path.unlink()
    make(path)

    assert load_clean_run() == ""
    assert clean.generated.is_dir()


def test_a_file_system_without_change_times_gets_no_record(
    clean: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def state_on_sshfs(path: bytes) -> bytes:
        *others, modified, changed = file_state(path).split(b":") if b":" in file_state(path) else [b"", b""]
        return b":".join([*others, modified, modified]) if changed else file_state(path)

    record().unlink()
    monkeypatch.setattr(record_clean_run, "file_state", state_on_sshfs)

    assert run("check").exit_code == 0
    assert not record().exists()
    assert clean.generated.is_dir()


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o701])
def test_a_directory_that_others_can_open_is_not_used(mode: int, clean: Project) -> None:
    assert clean.generated.is_dir()
    directory = record().parent
    directory.chmod(mode)
    try:
        assert load_clean_run() == ""
    finally:
        directory.chmod(0o700)


@pytest.mark.parametrize("place", [".", "handlers"])
def test_a_directory_in_the_repository_is_not_used(
    place: str, project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root / place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root / "cache"))
    assert clean_run_path(run_key()) == ""
    assert run("check").exit_code == 0
    assert load_clean_run() == ""
    assert not (project.root / "cache").exists()


def test_a_deleted_working_directory_is_left_to_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    directory = tmp_path / "gone"
    directory.mkdir()
    monkeypatch.chdir(directory)
    directory.rmdir()

    assert load_clean_run() == ""


@pytest.mark.uncovered
@pytest.mark.real_start(reason="shows what a run imports")
def test_a_run_without_changes_imports_neither_click_nor_a_stage(project: Project) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "toolmason"]

    def imported(argument: str) -> tuple[str, set[str]]:
        done = subprocess.run(
            [*command, argument], cwd=project.root, capture_output=True, check=True, encoding="utf-8", timeout=60
        )
        return done.stdout, {line.rpartition("|")[2].strip() for line in done.stderr.split("\n")}

    heavy = {"click", "json", "hashlib", "pathlib", "toolmason.project", "toolmason.write"}
    assert heavy <= imported("generate")[1]
    # Other programs also use this installation. A file that one of them adds to it leads to a complete run.
    for _ in range(10):
        time.sleep(record_clean_run.CLOCK_NS / SECOND_NS + 0.1)
        output, _ = imported("check")
        same_output, modules = imported("check")
        assert same_output == output
        if modules.isdisjoint(heavy):
            break
    else:
        records = [path.read_bytes().split(b"\0") for path in record().parent.glob("clean-*")]
        states = [entry.partition(b" ") for _, _, *entries, _ in records for entry in entries]
        changed = {name for state, _, name in states if file_state(name) != state}
        pytest.fail(
            f"each of ten runs was complete and imported {modules & heavy}; supported here: {is_supported()}, "
            f"records: {len(records)}, changed: {changed}"
        )
