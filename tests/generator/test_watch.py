"""`generate --watch`, as a real process: it works, survives mistakes and ends quietly."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolmason.project import Project, find_project
from toolmason.watch import is_input, run_on_changes

PATIENCE_S = 60
"""Bounds a test that has gone wrong; a right one waits for lines, not for time."""


class Watch:
    """A running `toolmason generate --watch` and the lines it says, stdout and stderr together."""

    def __init__(self, project: Project) -> None:
        command = [sys.executable, "-u", "-m", "toolmason", "generate", "--watch", "--manifest", str(project.manifest)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def wait_for(self, text: str) -> list[str]:
        """Give the lines up to the one that holds `text`."""
        seen = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            seen.append(line)
            if text in line:
                return seen
        raise AssertionError(f"ended without `{text}`: {seen}")

    def end(self, number: int) -> tuple[int, list[str]]:
        """Send a signal; give the exit code and what was said after it."""
        self.process.send_signal(number)
        rest = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            rest.append(line)
        return self.process.wait(PATIENCE_S), rest

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def watch(project: Project) -> Iterator[Watch]:
    watching = Watch(project)
    watching.wait_for("watching manifest/notes.toml, templates/, handlers/; press Ctrl-C to stop")
    yield watching
    watching.close()


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")


def test_work_is_done_at_once_and_after_each_change_until_it_is_interrupted(project: Project) -> None:
    said: list[str] = []

    def work() -> None:
        said.append("work")
        if said == ["work"]:
            replace(project.manifest, "Measure texts", "Measure long texts")
        else:
            raise KeyboardInterrupt

    run_on_changes(project, work, ready=lambda: said.append("ready"))

    assert said == ["work", "ready", "work"]


class InterruptWhenCollected:
    def __init__(self) -> None:
        self.itself = self  # Only the collection of garbage finds it.

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_while_garbage_is_collected_ends_the_watch(project: Project) -> None:
    garbage: list[str] = []

    def work() -> None:
        if garbage:
            InterruptWhenCollected()
        else:
            garbage.append("is made by the second run")

    def ready() -> None:
        replace(project.manifest, "Measure texts", "Measure long texts")

    run_on_changes(project, work, ready=ready)

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "name", ["manifest/notes.toml", "templates/docs/index.md.jinja", "handlers/notes/text.py", "handlers/notes/a.json"]
)
def test_files_that_generate_reads_are_watched(name: str, project: Project) -> None:
    assert is_input(project.root / name, project)


@pytest.mark.parametrize(
    "name",
    [
        "generated/docs/index.md",
        ".toolmason.lock",
        ".git/index",
        ".nox/tests/lib/x.py",
        ".venv/lib/x.py",
        "node_modules/x/schema.json",
        "handlers/notes/__pycache__/text.cpython-311.pyc",
        "handlers/notes/.text.py.swp",
        "handlers/notes/text.py~",
        "handlers/notes/#text.py#",
        "handlers/notes/text.py___jb_tmp___",
        "handlers/notes/text.py___jb_old___",
        "templates/node_modules/x.jinja",
        "said.log",
        "../elsewhere/handlers/x.py",
    ],
)
def test_files_that_generate_does_not_read_are_ignored(name: str, project: Project) -> None:
    assert not is_input(Path(os.path.normpath(project.root / name)), project)


def test_project_may_lie_in_a_hidden_folder(tmp_path: Path) -> None:
    manifest = tmp_path / ".venv" / "notes" / "manifest" / "notes.toml"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    project = find_project(tmp_path, manifest)

    assert is_input(project.root / "handlers" / "notes.py", project)


def test_schema_is_heeded_as_long_as_the_manifest_names_it(project: Project) -> None:
    schema = project.root / "schemas" / "count.json"
    assert not is_input(schema, project)

    text = project.manifest.read_text(encoding="utf-8")
    named = f"{text}\n[tools.other]\ninput_schema = 'schemas/../schemas/count.json'\n"
    project.manifest.write_text(named, encoding="utf-8")
    assert is_input(schema, project)

    project.manifest.write_text(f"{named}[", encoding="utf-8")
    assert not is_input(schema, project)


def write_in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def write_in_parts(path: Path, text: str) -> None:
    """Empty the file and write it a little later, as VS Code may on a slow disk; then set its mode."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        threading.Event().wait(0.06)
        file.write(text)
    threading.Event().wait(0.06)
    path.chmod(0o640)


def write_as_vim(path: Path, text: str) -> None:
    """Probe the directory, rename the file to a backup, write, and remove the backup."""
    path.with_name("4913").touch()
    path.with_name("4913").unlink()
    path.rename(f"{path}~")
    write_in_place(path, text)
    Path(f"{path}~").unlink()


def write_as_jetbrains(path: Path, text: str) -> None:
    write_in_place(Path(f"{path}___jb_tmp___"), text)
    path.rename(f"{path}___jb_old___")
    Path(f"{path}___jb_tmp___").rename(path)
    Path(f"{path}___jb_old___").unlink()


def write_as_emacs(path: Path, text: str) -> None:
    lock = path.with_name(f".#{path.name}")
    lock.symlink_to("someone@somewhere.1")
    write_in_place(path.with_name(f"#{path.name}#"), text)
    path.rename(f"{path}~")
    write_in_place(path, text)
    path.with_name(f"#{path.name}#").unlink()
    lock.unlink()


def write_and_rename(path: Path, text: str) -> None:
    """Write another file and rename it, as most tools that are no editors do."""
    write_in_place(Path(f"{path}.tmp.4711"), text)
    Path(f"{path}.tmp.4711").replace(path)


@pytest.mark.parametrize("name", ["manifest/notes.toml", "handlers/notes/text.py"])
@pytest.mark.parametrize(
    "save",
    [write_in_place, write_in_parts, write_as_vim, write_as_jetbrains, write_as_emacs, write_and_rename],
    ids=lambda save: save.__name__,
)
def test_one_save_of_an_editor_is_one_run_with_the_new_text(
    save: Callable[[Path, str], None], name: str, project: Project
) -> None:
    path = project.root / name
    text = path.read_text(encoding="utf-8") + "\n# saved\n"
    runs: list[bool] = []

    def work() -> None:
        runs.append(path.exists() and path.read_text(encoding="utf-8") == text)

    def idle() -> None:
        if True in runs:
            raise KeyboardInterrupt

    saving = threading.Thread(target=save, args=(path, text))
    run_on_changes(project, work, ready=saving.start, idle=idle)
    saving.join()

    assert runs == [False, True]


def test_text_that_is_saved_and_restored_during_a_run_is_read_again(project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    read: list[str] = []

    def work() -> None:
        if len(read) == 1:
            write_in_place(project.manifest, f"{text}# 2\n")
        read.append(project.manifest.read_text(encoding="utf-8"))
        if len(read) == 2:
            write_in_place(project.manifest, f"{text}# 1\n")

    def idle() -> None:
        if len(read) > 1:
            raise KeyboardInterrupt

    run_on_changes(project, work, ready=lambda: write_in_place(project.manifest, f"{text}# 1\n"), idle=idle)

    assert [line[-2] for line in read[1:]] == ["2", "1"]


@pytest.mark.parametrize("name", ["handlers/notes/text.py", "templates/docs/index.md.jinja"])
def test_a_removed_file_starts_a_run(name: str, project: Project) -> None:
    path = project.root / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    runs: list[bool] = []

    def work() -> None:
        runs.append(path.exists())
        if len(runs) > 1:
            raise KeyboardInterrupt

    run_on_changes(project, work, ready=path.unlink)

    assert runs == [True, False]


def test_edit_of_the_manifest_is_generated(watch: Watch, project: Project) -> None:
    replace(project.manifest, "Measure texts", "Measure long texts")
    watch.wait_for("written")

    assert "Measure long texts" in (project.generated / "notes_server" / "catalogue.json").read_text(encoding="utf-8")


def test_mistake_is_shown_and_the_watch_goes_on(watch: Watch, project: Project) -> None:
    replace(project.manifest, "[tools.count_words]\n", "[tools.count_words]\nsumary = 1\n")
    watch.wait_for("did you mean `summary`?")
    watch.wait_for("Nothing was written.")
    replace(project.manifest, "sumary = 1\n", "")

    watch.wait_for("generated/ is up to date")


def test_new_template_is_used_at_once(watch: Watch, project: Project) -> None:
    (project.template_directory / "docs").mkdir()
    (project.template_directory / "docs" / "index.md.jinja").write_text("# Ours\n", encoding="utf-8")
    watch.wait_for("1 written")

    assert (project.generated / "docs" / "index.md").read_text(encoding="utf-8").startswith("# Ours\n")


def test_folder_of_templates_that_comes_later_is_noticed(project: Project) -> None:
    shutil.rmtree(project.template_directory)
    watch = Watch(project)
    try:
        watch.wait_for("press Ctrl-C to stop")
        (project.template_directory / "docs").mkdir(parents=True)
        (project.template_directory / "docs" / "index.md.jinja").write_text("# Ours\n", encoding="utf-8")
        watch.wait_for("1 written")
    finally:
        watch.close()


@pytest.mark.uncovered
@pytest.mark.parametrize(
    "text", ["{{ 1 / 0 }}", '{% extends "docs/index.md.jinja" %}', "\N{LATIN SMALL LETTER SHARP S}"]
)
def test_mistake_in_a_template_is_shown_and_the_watch_goes_on(text: str, watch: Watch, project: Project) -> None:
    template = project.template_directory / "docs" / "index.md.jinja"
    template.parent.mkdir()
    template.write_text(text, encoding="latin-1")
    watch.wait_for("templates/docs/index.md.jinja:1: ")
    template.write_text("# Ours\n", encoding="utf-8")

    watch.wait_for("1 written")


def test_missing_handler_is_reported_when_its_file_changes(watch: Watch, project: Project) -> None:
    replace(project.root / "handlers" / "notes" / "text.py", "async def count_words", "async def count_word")

    watch.wait_for("no function `count_words`")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send to a child there")
def test_interrupt_ends_it_quietly(watch: Watch) -> None:
    assert watch.end(signal.SIGINT) == (0, [])
