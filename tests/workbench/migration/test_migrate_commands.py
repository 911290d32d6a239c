"""`migrate-commands` renames our command files without a prefix, and leaves all others as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import server_files
from toolmason_runtime.install import CommandDirectory, InstallError, command_directories, load_facts

from workbench_handlers.migration.plan import Step, plan_migration, prefixed_names
from workbench_handlers.workflows.command_file import setup_command
from workbench_handlers.workflows.data import SETUP_NAMES, hosts

PACKAGE = "workbench_server"
FACTS = load_facts(PACKAGE)
CLIENTS = sorted(name for name, client in FACTS.clients.items() if client.commands)
PREFIX = "team-"
HOSTS = {client.title: hosts()[key] for key, client in FACTS.clients.items() if key in hosts()}


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a server whose commands have a prefix: ours, under other names."""
    root = tmp_path_factory.mktemp("server")
    for path in (server_files(PACKAGE) / "commands").rglob("*"):
        if path.is_file():
            new = root / path.relative_to(server_files(PACKAGE)).with_name(f"{PREFIX}{path.name}")
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(path.read_bytes())
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for client in CLIENTS:
        (tmp_path / FACTS.clients[client].commands["file"]).parent.mkdir(parents=True)
    return tmp_path


def directories(files: Path, project: Path) -> list[CommandDirectory]:
    return list(command_directories(FACTS, files, "project", project, {}))


def plan(files: Path, project: Path, prefix: str = "gemini-") -> list[Step]:
    [first, *_] = found = directories(files, project)
    new_names = [name.removesuffix(first.suffix) for name in first.commands]
    return list(plan_migration(found, {name.removeprefix(PREFIX): name for name in new_names}, prefix))


def content(project: Path) -> dict[str, bytes]:
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in project.rglob("*") if path.is_file()}


def written(directory: CommandDirectory, base: str) -> Path:
    """Write a file as `setup_workflows` does without a prefix."""
    path = directory.path / f"{base}{directory.suffix}"
    path.write_text(setup_command(base, "", HOSTS[directory.client]), encoding="utf-8", newline="\n")
    return path


def test_files_without_edits_are_renamed_in_the_directories_of_all_clients(files: Path, project: Path) -> None:
    expected = {}
    for directory in directories(files, project):
        for name, data in directory.commands.items():
            (directory.path / name.removeprefix(PREFIX)).write_bytes(data.replace(b"\n", b"\r\n"))
            expected[(directory.path / name).relative_to(project).as_posix()] = data
        (directory.path / "mine.md").write_text("Mine.", encoding="utf-8")

    steps = plan(files, project)
    assert [step.reason for step in steps] == [""] * len(expected)
    for step in steps:
        step.apply()

    assert {name: data for name, data in content(project).items() if not name.endswith("mine.md")} == expected
    assert plan(files, project) == []


def test_files_of_setup_workflows_are_renamed_with_their_usage(files: Path, project: Path) -> None:
    found = directories(files, project)
    old = [written(directory, base) for directory in found for base in SETUP_NAMES]
    old[0].chmod(0o640)
    assert plan(files, project, prefix="") == []

    for step in plan(files, project):
        step.apply()

    assert [path for path in old if path.exists()] == []
    first = old[0].with_name(f"gemini-{old[0].name}")
    assert first.read_text(encoding="utf-8") == setup_command("spec-only", "gemini-", HOSTS[found[0].client])
    assert sys.platform == "win32" or first.stat().st_mode & 0o777 == 0o640
    assert len(content(project)) == len(found) * len(SETUP_NAMES)


Change = Callable[[CommandDirectory, str, str], None]


def edit(directory: CommandDirectory, name: str, new: str) -> None:  # noqa: ARG001  a change gets both
    (directory.path / name).write_bytes(directory.commands[f"{PREFIX}{name}"] + b"Mine, too.\n")


def replace(directory: CommandDirectory, name: str, new: str) -> None:  # noqa: ARG001
    (directory.path / name).write_text("Mine.\n", encoding="utf-8")


def link(directory: CommandDirectory, name: str, new: str) -> None:  # noqa: ARG001
    (directory.path / name).rename(directory.path / "other")
    (directory.path / name).symlink_to("other")


def take_name(directory: CommandDirectory, name: str, new: str) -> None:  # noqa: ARG001
    (directory.path / new).write_text("Mine.\n", encoding="utf-8")


def take_name_by_link(directory: CommandDirectory, name: str, new: str) -> None:  # noqa: ARG001
    (directory.path / new).symlink_to("nowhere")


STAYING: dict[str, tuple[Change, str]] = {
    "edited": (edit, "it was edited"),
    "of others": (replace, "it was not generated by this server"),
    "a name in use": (take_name, "exists and was not generated by this server"),
    **(
        {
            "a link": (link, "it was not generated by this server"),
            "a name that is a link": (take_name_by_link, "exists and was not generated by this server"),
        }
        if sys.platform != "win32"
        else {}
    ),
}


@pytest.mark.parametrize(("change", "reason"), STAYING.values(), ids=STAYING)
@pytest.mark.parametrize("client", range(len(CLIENTS)), ids=CLIENTS)
def test_other_files_stay_and_are_listed_with_the_reason(
    files: Path, project: Path, client: int, change: Change, reason: str
) -> None:
    directory = directories(files, project)[client]
    new, data = next(iter(directory.commands.items()))
    (directory.path / new.removeprefix(PREFIX)).write_bytes(data)
    change(directory, new.removeprefix(PREFIX), new)

    (step,) = plan(files, project)

    assert step.reason.endswith(reason)


def test_a_written_file_stays_if_its_new_name_is_in_use(files: Path, project: Path) -> None:
    directory = directories(files, project)[0]
    path = written(directory, "feature")
    path.with_name(f"gemini-{path.name}").write_text("Mine.\n", encoding="utf-8")
    (step,) = plan(files, project)
    assert step.reason == f"gemini-{path.name} exists"


def test_an_edited_file_of_setup_workflows_stays_and_is_listed_with_the_reason(files: Path, project: Path) -> None:
    path = written(directories(files, project)[0], "feature")
    path.write_text(path.read_text(encoding="utf-8") + "\nSee also /feature in the guide.\n", encoding="utf-8")
    (step,) = plan(files, project)
    assert step.reason.startswith("it was edited")


def test_a_setup_file_with_windows_line_ends_is_renamed(files: Path, project: Path) -> None:
    path = written(directories(files, project)[0], "feature")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (step,) = plan(files, project)
    assert step.reason == ""


@pytest.mark.parametrize("is_written", [False, True])
def test_an_interrupted_run_is_completed_by_the_next_one(files: Path, project: Path, is_written: bool) -> None:
    directory = directories(files, project)[0]
    new, data = next(iter(directory.commands.items()))
    old = directory.path / new.removeprefix(PREFIX)
    if is_written:
        old = written(directory, "feature")
    else:
        old.write_bytes(data)
    before = old.read_bytes()
    (step,) = plan(files, project)
    step.apply()
    done = content(project)
    old.write_bytes(before)  # It was killed before it removed the file.

    (step,) = plan(files, project)
    step.apply()

    assert content(project) == done


def test_a_file_that_changes_after_the_plan_stays(files: Path, project: Path) -> None:
    path = written(directories(files, project)[0], "review")
    (step,) = plan(files, project)
    path.write_text("Mine.\n", encoding="utf-8")
    with pytest.raises(InstallError, match="was changed by another program"):
        step.apply()
    assert content(project) == {path.relative_to(project).as_posix(): b"Mine.\n"}


@given(data=st.data())
def test_no_content_is_ever_lost(data: st.DataObject, files: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    project = tmp_path_factory.mktemp("project")
    (project / FACTS.clients["claude-code"].commands["file"]).parent.mkdir(parents=True)
    (directory,) = directories(files, project)
    packaged = [setup_command(base, "", hosts()["claude-code"]).encode() for base in ("feature", "review")]
    texts = [*directory.commands.values(), b"Mine.", *packaged]
    bases = sorted({*SETUP_NAMES, *(name.removesuffix(".md").removeprefix(PREFIX) for name in directory.commands)})
    names = [f"{prefix}{base}.md" for base in bases for prefix in ("", PREFIX, "gemini-")]
    for name, text in data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from(texts), max_size=6)).items():
        (directory.path / name).write_bytes(text)
    before = content(project)

    for step in plan(files, project):
        if not step.reason:
            step.apply()

    after = content(project)
    assert all(step.reason for step in plan(files, project))
    for name, text in before.items():
        if name not in after:  # It was generated, or its new name is in its usage.
            renamed = setup_command(Path(name).stem, "gemini-", hosts()["claude-code"]) if text in packaged else ""
            assert text in directory.commands.values() or renamed.encode() in after.values()


def run(project: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", PACKAGE, "migrate-commands", *arguments]
    return subprocess.run(
        command, cwd=project, env=os.environ | environ, capture_output=True, encoding="utf-8", check=False
    )


def test_the_command_shows_the_plan_and_applies_it(project: Path) -> None:
    path = written(directories(server_files(PACKAGE), project)[0], "feature")
    before = content(project)

    shown = run(project)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == f"{path} -> gemini-{path.name}\nNothing was renamed. Run it again with --apply.\n"
    assert content(project) == before

    applied = run(project, "--apply", GEMINI_COMMAND_PREFIX="our team")
    assert applied.stdout == f"{path} -> our team{path.name}\n"
    assert "contains a space" in applied.stderr
    assert run(project, "--apply").stdout == "There is no command file of Workbench without a prefix.\n"


REFUSALS = {
    "a prefix with a path": ((), {"GEMINI_COMMAND_PREFIX": "../x"}, 4, "GEMINI_COMMAND_PREFIX"),
    "a prefix that a client replaces": ((), {"GEMINI_COMMAND_PREFIX": "$1"}, 4, "replace `$1`"),
    "a missing project": (("--project", "nowhere"), {}, 4, "nowhere is not a directory"),
    "two places": (("--project", ".", "--scope", "user"), {}, 2, "not allowed with"),
}


@pytest.mark.parametrize(("arguments", "environ", "status", "text"), REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_call_is_refused(
    project: Path, arguments: tuple[str, ...], environ: dict[str, str], status: int, text: str
) -> None:
    written(directories(server_files(PACKAGE), project)[0], "feature")
    refused = run(project, "--apply", *arguments, **environ)
    assert refused.returncode == status
    assert text in refused.stderr


def test_commands_without_a_prefix_have_no_new_name() -> None:
    prompts = {"a-find": {"command": "find"}, "tidy": {"command": "tidy"}, "old": {"command": True}, "plan": {}}
    assert prefixed_names({"prompts": prompts}) == {"find": "a-find"}
