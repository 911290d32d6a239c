"""The command line: what it says, what it writes, and the code it ends with."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner, Result

import toolmason as toolmason_package
from toolmason.__main__ import EXTRA, main
from toolmason.commands import toolmason
from toolmason.commands.pipeline_run import CODES, INTERRUPTED, PATH_HINTS, TIME_LIMIT
from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.rules import RULES
from toolmason.diagnostics.terminal import paint, progress, supports_colour
from toolmason.diff.lock import CHANGED, UNREADABLE
from toolmason.importers.server import drift
from toolmason.model.parts import PARTS, part_of
from toolmason.pipeline import read
from toolmason.project import Project
from toolmason.render.override_errors import describe_override_error
from toolmason.render.plan import UNSELECTED, plan
from toolmason.render.renderer import render
from toolmason.write import write
from toolmason.write.journal import Disk

Toolmason = Callable[..., Result]

SOURCES = Path(toolmason_package.__file__).parent


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")


# Starting


def test_help_names_each_command_and_imports_nothing_that_costs() -> None:
    program = (
        "import sys\n"
        "from toolmason.commands import toolmason\n"
        "toolmason(['--help'], standalone_mode=False)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True).stdout

    for command in ("generate", "check", "lint", "stats", "search", "explain", "init", "templates", "completion"):
        assert f"  {command} " in shown
    modules = shown.splitlines()[-1]
    for heavy in ("jinja2", "jsonschema", "pydantic", "mcp", "datamodel_code_generator", "watchfiles", "tomllib"):
        assert f"'{heavy}'" not in modules


@pytest.mark.parametrize("module", sorted(EXTRA))
def test_missing_toolkit_names_the_extra_instead_of_a_traceback(module: str) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; from toolmason.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)

    assert ended.returncode == 2
    assert 'python3 -m pip install "toolmason[toolkit]"' in ended.stderr
    assert f"`{module}`" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_missing_workbench_names_the_extra_instead_of_a_traceback(tmp_path: Path) -> None:
    site, directory = tmp_path / "site", tmp_path / "project"
    shutil.copytree(SOURCES, site / "toolmason")
    directory.mkdir()
    for name in ("typing", "workbench_server"):  # a stranger's, which must not be imported
        directory.joinpath(f"{name}.py").write_text("raise SystemExit('stranger')", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "toolmason.workbench"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (
        2,
        'toolmason-workbench: Workbench is not installed: python3 -m pip install "toolmason[workbench]"\n',
    )


@pytest.mark.parametrize("module", ["toolmason", "toolmason.workbench"])
@pytest.mark.parametrize(
    ("toolkit", "code"),
    [("0.1.0", 2), ("0.2.0rc1", 2), ("0.2.0", 0), (None, 0)],
    ids=["older", "newer", "equal", "none"],
)
def test_a_toolkit_of_another_version_is_refused_with_the_command_that_installs_the_right_one(
    tmp_path: Path, module: str, toolkit: str | None, code: int
) -> None:
    shutil.copytree(SOURCES, tmp_path / "toolmason")
    (tmp_path / "toolmason-0.2.0.dist-info").mkdir()
    (tmp_path / "toolmason_sql-0.7.0.dist-info").mkdir()
    if toolkit:
        (tmp_path / f"toolmason_toolkit-{toolkit}.dist-info").mkdir()
    program = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); sys.argv[1:] = ['--help']\n"
    program += f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)

    assert ended.returncode == code, ended.stderr
    if code:
        assert ended.stderr == (
            f"{module.replace('.', '-')}: toolmason 0.2.0 is installed with toolmason-toolkit {toolkit}; both need the "
            'same version: python3 -m pip install "toolmason-toolkit==0.2.0"\n'
        )


def test_a_misspelt_command_names_the_right_one() -> None:
    result = CliRunner().invoke(toolmason, ["generat"])

    assert result.exit_code == 2
    assert "No such command 'generat'" in result.stderr
    assert "'generate'" in result.stderr
    assert "'generate'" not in CliRunner().invoke(toolmason, ["xyzzy"]).stderr


def test_main_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["toolmason", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("toolmason ")


def test_broken_toml_ends_with_1(run: Toolmason, project: Project) -> None:
    project.manifest.write_text("edition = \n", encoding="utf-8")
    result = run("check")

    assert result.exit_code == 1
    assert "error[TM103]" in result.stderr


def test_binary_file_at_a_generated_path_exits_with_4(run: Toolmason, project: Project) -> None:
    (project.generated / "docs" / "index.md").write_bytes(b"\xff\xfe")

    assert run("generate").exit_code == 4


def test_missing_module_of_the_toolkit_raises_a_traceback() -> None:
    program = "import sys; sys.modules['toolmason.commands.cli'] = None; from toolmason.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)

    assert "Traceback" in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["generate", "--only", "everything"],
        ["generate", "--check", "--watch"],
        ["generate", "--check", "--discard-edits"],
        ["lint", "--format", "xml"],
        ["explain"],
        ["explain", "TM999"],
        ["check", "--manifest", "nothing.toml"],
        ["templates", "eject", "nothing.jinja"],
    ],
    ids=" ".join,
)
def test_wrong_command_line_ends_with_2(arguments: list[str], project: Project) -> None:
    if arguments[0] == "templates":
        arguments = [*arguments, "--manifest", str(project.manifest)]
    result = CliRunner().invoke(toolmason, arguments)

    assert result.exit_code == 2
    assert result.stderr.strip()


def test_project_is_that_of_the_working_directory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root / "handlers")

    assert CliRunner().invoke(toolmason, ["check"]).exit_code == 0


def test_generate_outside_a_project_suggests_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(toolmason, ["generate"])

    assert result.exit_code == 2
    assert "toolmason init DIR" in result.stderr


# Generating


def test_current_tree_is_reported_as_up_to_date_and_not_written(run: Toolmason, project: Project) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.generated.rglob("*")}
    result = run("generate")

    assert result.exit_code == 0
    assert result.stdout == f"generated/ is up to date ({len(tree(project.generated))} files)\n"
    assert {path: path.stat().st_mtime_ns for path in project.generated.rglob("*")} == before


def test_generate_counts_written_and_removed_files(run: Toolmason, project: Project) -> None:
    replace(project.manifest, "[categories.text]", "[categories.texts]")
    replace(project.manifest, 'category = "text"', 'category = "texts"')
    result = run("generate")

    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("generated/: ")
    assert " written, " in result.stdout
    assert " removed, " in result.stdout
    assert " unchanged\n" in result.stdout
    assert not (project.generated / "notes_server" / "text").exists()


def test_whole_tree_comes_back_byte_for_byte(run: Toolmason, project: Project) -> None:
    before = tree(project.generated)
    for path in sorted(project.generated.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()

    assert run("generate").stdout == f"generated/: {len(before)} written\n"
    assert tree(project.generated) == before


def test_diff_of_written_files_goes_to_stdout(run: Toolmason, project: Project) -> None:
    replace(project.manifest, "Measure texts", "Measure long texts")
    result = run("generate", "--diff")

    assert result.exit_code == 0
    assert run("generate", "--format", "json").stdout == ""
    assert any(line.startswith("+") and "Measure long texts" in line for line in result.stdout.splitlines())
    assert result.stdout.splitlines()[-1].startswith("generated/: ")


def test_mistake_in_the_manifest_ends_with_1_and_writes_nothing(run: Toolmason, project: Project) -> None:
    before = tree(project.generated)
    replace(project.manifest, "[tools.count_words]\n", "[tools.count_words]\nsumary = 1\n")
    result = run("generate")

    assert result.exit_code == 1
    assert "did you mean `summary`?" in result.stderr
    assert result.stderr.endswith("Nothing was written.\n")
    assert tree(project.generated) == before


def test_edited_file_stops_the_run_with_its_diff_and_the_ways_out(run: Toolmason, project: Project) -> None:
    edited = project.generated / "notes_server" / "server.py"
    replace(edited, "def load_index", "def load_the_index")
    replace(project.manifest, "Measure texts", "Measure long texts")
    before = tree(project.generated)
    result = run("generate")

    assert result.exit_code == 4
    assert "TM604 edited      notes_server/server.py" in result.stderr
    assert "+def load_the_index" in result.stdout
    for way in ("manifest/notes.toml", "templates eject", "handler", "--discard-edits"):
        assert way in result.stderr
    assert tree(project.generated) == before


def test_list_of_hashes_that_is_missing_is_named(run: Toolmason, project: Project) -> None:
    (project.generated / "SHA256SUMS").unlink()
    replace(project.manifest, "characters of a text", "signs a text")
    refused = run("generate")
    findings = [json.loads(line) for line in run("generate", "--format", "json").stdout.splitlines()]

    assert refused.exit_code == 4
    assert "cannot be identified as generated, because SHA256SUMS is missing" in refused.stderr
    assert "restore SHA256SUMS, the list of hashes, from version control" in refused.stderr
    assert "was not generated" not in refused.stderr
    assert all("restore SHA256SUMS" in each["hint"] for each in findings)
    assert run("generate", "--discard-edits").exit_code == 0
    assert run("check").exit_code == 0


def test_file_that_the_list_of_hashes_does_not_have_is_not_ours(run: Toolmason, project: Project) -> None:
    spoil(project)
    (project.generated / "notes_server" / "search_index.json").write_text("{}", encoding="utf-8")
    replace(project.generated / "SHA256SUMS", "search_index.json", "other_index.json")
    refused = run("generate")

    assert "search_index.json (a file that was not generated)" in refused.stderr
    assert "restore SHA256SUMS" not in refused.stderr


def test_diff_goes_to_stderr_with_json_format(run: Toolmason, project: Project) -> None:
    replace(project.manifest, "Measure texts", "Measure long texts")
    result = run("generate", "--diff", "--format", "json")

    assert result.exit_code == 0
    assert result.stdout == ""
    assert "Measure long texts" in result.stderr


def test_discarding_edits_overwrites_them(run: Toolmason, project: Project) -> None:
    before = tree(project.generated)
    replace(project.generated / "notes_server" / "server.py", "def load_index", "def load_the_index")

    assert run("generate", "--discard-edits").exit_code == 0
    assert tree(project.generated) == before


def test_file_in_place_of_the_generated_directory_is_reported(run: Toolmason, project: Project) -> None:
    for path in sorted(project.generated.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    project.generated.rmdir()
    project.generated.write_text("a file where the folder should be", encoding="utf-8")
    result = run("generate")

    assert result.exit_code != 0
    assert "generated" in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("part", PARTS)
def test_only_one_part_is_written_and_pruned(part: str, run: Toolmason, project: Project) -> None:
    replace(project.manifest, "[categories.text]", "[categories.texts]")
    replace(project.manifest, 'category = "text"', 'category = "texts"')
    before = tree(project.generated)
    result = run("generate", "--only", part)
    after = tree(project.generated)

    assert result.exit_code == 0, result.stderr
    touched = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {part_of(PurePosixPath(name)) for name in touched - {"SHA256SUMS"}} <= {part}
    assert run("check", "--only", part).exit_code == 0


def test_each_part_has_files(project: Project) -> None:
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None

    everything = dataclasses.replace(reading.server.outputs, include=("clients", "skills"))
    assert {planned.part for planned in plan(dataclasses.replace(reading.server, outputs=everything))} == set(PARTS)


# Templates of the project


def override(project: Project, name: str, text: str) -> None:
    path = project.template_directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def test_template_with_a_syntax_error_is_reported_with_its_line(run: Toolmason, project: Project) -> None:
    override(project, "docs/index.md.jinja", "one\n{% for %}\n")
    before = tree(project.generated)
    result = run("generate")

    assert result.exit_code == 1
    assert "templates/docs/index.md.jinja:2: " in result.stderr
    assert tree(project.generated) == before


def test_template_with_an_unknown_name_is_reported_with_its_line(run: Toolmason, project: Project) -> None:
    override(project, "docs/index.md.jinja", "Fine.\n{{ server.nam }}\n")
    result = run("generate")

    assert result.exit_code == 1
    assert "templates/docs/index.md.jinja:2: unknown name `nam`; nothing was written" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Fine.\n{{ 1 / 0 }}\n", "2: ZeroDivisionError: division by zero"),
        ("{{ server.categories + 1 }}", "1: TypeError: can only concatenate tuple"),
        (
            '{% extends "docs/index.md.jinja" %}',
            '1: it extends itself; to extend the packaged template: {% extends "toolmason/docs/index.md.jinja" %}',
        ),
        ('{% include "docs/index.md.jinja" %}', "1: it includes itself"),
        ('Fine.\n{% include "nothing.jinja" %}', "2: unknown template `nothing.jinja`"),
        ("{% include [] %}", "1: "),
        ("Fine.\n{{ 1 | nothing }}", "2: No filter named 'nothing'."),
        ("Fine.\nGro\N{LATIN SMALL LETTER SHARP S}", "2: not UTF-8: the byte 0xdf"),
    ],
)
def test_rendering_error_of_a_template_is_reported_in_one_line(
    text: str, told: str, run: Toolmason, project: Project
) -> None:
    path = project.template_directory / "docs" / "index.md.jinja"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="latin-1")
    before = tree(project.generated)
    result = run("check")

    assert result.exit_code == 1
    assert f"templates/docs/index.md.jinja:{told}" in result.stderr
    assert result.stderr.endswith("; nothing was written\n")
    assert result.stderr.count("\n") == 1
    assert tree(project.generated) == before


def test_mistake_in_an_included_template_is_that_templates(run: Toolmason, project: Project) -> None:
    override(project, "docs/index.md.jinja", '{% include "own/part.jinja" %}\n')
    override(project, "own/part.jinja", "\n\n{{ 1 / 0 }}\n")

    assert "templates/own/part.jinja:3: " in run("generate").stderr


def test_mistake_where_a_template_of_ours_is_extended_is_the_extending_ones(run: Toolmason, project: Project) -> None:
    override(project, "docs/index.md.jinja", '{% set server = 1 %}\n{% extends "toolmason/docs/index.md.jinja" %}\n')

    assert "toolmason: templates/docs/index.md.jinja:2: unknown name `" in run("generate").stderr


def test_exception_outside_of_any_template_is_a_bug_and_a_traceback(project: Project) -> None:
    override(project, "own.jinja", "{{ 1 / 0 }}\n")
    error = ValueError("ours")

    assert describe_override_error(error, project) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ dict(a=1, a=2) }}", "SyntaxError: keyword argument repeated: a; nothing was written\n"),
        (f"{{{{ {'(' * 3000}1{')' * 3000} }}}}", "RecursionError: maximum recursion depth exceeded"),
    ],
    ids=["no Python", "too deep"],
)
def test_template_that_cannot_be_compiled_is_named(text: str, told: str, run: Toolmason, project: Project) -> None:
    override(project, "docs/index.md.jinja", text)
    result = run("generate")

    assert result.exit_code == 1
    assert result.stderr.startswith(f"toolmason: templates/docs/index.md.jinja: {told}")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is full")
@pytest.mark.parametrize(
    "arguments", [["check"], ["--help"], ["explain", "TM604"], ["templates", "list"]], ids=" ".join
)
def test_write_error_on_stdout_is_reported_in_one_line(arguments: list[str], project: Project) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "toolmason", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=project.root,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr.startswith("toolmason: the output cannot be written: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="closed by a shell")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0)])
def test_closed_streams_do_not_change_the_exit_code(closed: str, code: int, project: Project) -> None:
    command = f'"{sys.executable}" -m toolmason check {closed}'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, cwd=project.root, check=False)

    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a working directory cannot be deleted there")
@pytest.mark.parametrize("arguments", [["check"], ["init", "notes"]], ids=" ".join)
def test_deleted_working_directory_is_reported(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = CliRunner().invoke(toolmason, arguments)

    assert result.exit_code == 2
    assert "the working directory has been deleted" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("python/server.py.jinja", "def broken(:\n", "_server/server.py:1:"),
        ("schemas/manifest.schema.json.jinja", "[1, 2\n", "schemas/manifest.schema.json:2:1:"),
        ("python/catalogue.json.jinja", "[1, 2\n", "_server/catalogue.json:"),
        ("clients/codex.toml.jinja", "a = = 1\n", "config.toml:"),
        ("docs/index.md.jinja", '{{ "\\udc80" }}\n', "docs/index.md: a template prints an unpaired surrogate"),
    ],
    ids=["python", "json", "json of a line a tool", "toml", "half a character"],
)
def test_output_that_does_not_parse_is_never_written_and_its_place_is_named(
    name: str, text: str, place: str, run: Toolmason, project: Project
) -> None:
    override(project, name, text)
    if name.startswith("clients/"):
        replace(project.manifest, "include = []", 'include = ["clients"]')
    before = tree(project.generated)
    result = run("generate")

    assert result.exit_code == 1
    assert "the output of the project's templates does not parse; nothing was written\n  generated/" in result.stderr
    assert place in result.stderr
    assert tree(project.generated) == before


# Checking


class Dying(Disk):
    """A disk whose process ends in the middle of putting files in their places."""

    def __init__(self) -> None:
        self.replaced = 0

    def replace(self, path: Path, target: Path) -> None:
        self.replaced += 1
        if self.replaced > 3:
            raise SystemExit
        super().replace(path, target)


def test_interrupted_run_is_reported_until_generate_repairs_it(run: Toolmason, project: Project) -> None:
    replace(project.manifest, "Measure texts", "Measure long texts")
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None
    files = render(reading.server)
    with pytest.raises(SystemExit):
        write(files, project.generated, disk=Dying())

    told = run("check")
    assert told.exit_code == 3
    assert "  TM606 an earlier run was interrupted while writing" in told.stderr
    assert '"TM606"' in run("check", "--format", "json").stdout
    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0


def test_foreign_file_beside_generated_files_is_not_drift(run: Toolmason, project: Project) -> None:
    (project.generated / "notes.txt").write_text("mine\n", encoding="utf-8")
    (project.generated / "docs" / "discovery.md").unlink()

    assert run("check", "--format", "json").stdout.count("\n") == 1
    told = run("check")
    assert "notes.txt" not in told.stderr
    assert run("generate").exit_code == 0
    assert (project.generated / "notes.txt").is_file()


def test_drift_exits_with_3_and_lists_files_and_the_command_to_run(run: Toolmason, project: Project) -> None:
    (project.generated / "docs" / "discovery.md").unlink()
    replace(project.manifest, "Measure texts", "Measure long texts")
    before = tree(project.generated)
    result = run("check")

    assert result.exit_code == 3
    assert "  TM601 missing     docs/discovery.md\n" in result.stderr
    assert "  TM602 stale       notes_server/catalogue.json\n" in result.stderr
    assert "Measure long texts" in result.stdout
    assert "run: nox -s generate\n" in result.stderr
    assert tree(project.generated) == before


def test_long_difference_is_cut_unless_all_of_it_is_wanted(run: Toolmason, project: Project) -> None:
    (project.generated / "schemas" / "manifest.schema.json").unlink()
    short, long = run("check"), run("check", "--diff")

    assert "more lines; use --diff to show them" in short.stderr
    assert len(short.stdout.splitlines()) == 60
    assert len(long.stdout.splitlines()) > 60
    assert "lines more" not in long.stderr


def test_check_and_generate_check_are_the_same(run: Toolmason, project: Project) -> None:
    (project.generated / "docs" / "discovery.md").unlink()
    one, other = run("check"), run("generate", "--check")

    assert (one.exit_code, one.stdout, one.stderr) == (other.exit_code, other.stdout, other.stderr)


def spoil(project: Project) -> None:
    """Bring about each way in which a tree can differ."""
    replace(project.manifest, "[categories.text]", "[categories.texts]")
    replace(project.manifest, 'category = "text"', 'category = "texts"')
    replace(project.generated / "notes_server" / "server.py", "def load_index", "def load_the_index")
    (project.generated / "notes_server" / "texts").mkdir()
    (project.generated / "notes_server" / "texts" / "models.py").write_text("mine = 1\n", encoding="utf-8")


def test_every_code_of_drift_is_registered_and_shown(run: Toolmason, project: Project) -> None:
    spoil(project)
    result = run("check")

    registered = {code for code in RULES if code.startswith("TM6")}
    shown = {code for code, _word in CODES.values()}
    assert shown | {INTERRUPTED, TIME_LIMIT, *PATH_HINTS, *drift.CODES, UNSELECTED, CHANGED, UNREADABLE} == registered
    assert {code for code in registered if f"  {code} " in result.stderr} == shown


def test_drift_for_programs_is_on_stdout_and_nothing_else_is(run: Toolmason, project: Project) -> None:
    spoil(project)
    lines = run("check", "--format", "json").stdout.splitlines()
    sarif = json.loads(run("check", "--format", "sarif").stdout)
    github = run("check", "--format", "github").stdout.splitlines()

    found = {(each["code"], each["path"]) for each in map(json.loads, lines)}
    assert ("TM604", "generated/notes_server/server.py") in found
    assert {each["ruleId"] for each in sarif["runs"][0]["results"]} == {code for code, _path in found}
    assert len(github) == len(lines)
    assert all(line.startswith("::error file=generated/") for line in github)


@pytest.mark.parametrize(("layout", "shown"), [("json", ""), ("github", "")])
def test_right_tree_has_nothing_to_say_to_programs(layout: str, shown: str, run: Toolmason) -> None:
    assert run("check", "--format", layout).stdout == shown


def test_code_scanners_get_a_document_even_when_all_is_well(run: Toolmason) -> None:
    assert json.loads(run("check", "--format", "sarif").stdout)["runs"][0]["results"] == []


def test_refusal_for_programs_has_the_files_that_stopped_the_run(run: Toolmason, project: Project) -> None:
    spoil(project)
    result = run("generate", "--format", "json")

    assert result.exit_code == 4
    assert {json.loads(line)["code"] for line in result.stdout.splitlines()} == {"TM604", "TM605"}


# Knowing


def test_lint_of_a_clean_manifest_reports_no_problems(run: Toolmason) -> None:
    result = run("lint")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "manifest/notes.toml: no problems in 1 tool\n"


def test_lint_warning_ends_with_1_and_a_note_does_not(run: Toolmason, project: Project) -> None:
    replace(project.manifest, "characters of a text", "characters of a text.")
    warned = run("lint")
    assert warned.exit_code == 1
    assert "warning[TM511]" in warned.stderr

    replace(project.manifest, "characters of a text.", "characters of a text")
    text = project.manifest.read_text(encoding="utf-8")
    second = (
        text[text.index("[tools.count_words]") :]
        .replace("count_words]", "measure]")
        .replace("count_words.", "measure.")
    )
    second = second.replace("[tools.measure]\n", '[tools.measure]\nrelated = ["count_words"]\n')
    project.manifest.write_text(f"{text}\n{second}", encoding="utf-8")
    noted = run("lint")
    assert noted.exit_code == 0, noted.stderr
    assert "note[TM513]" in noted.stderr


def test_lint_of_a_wrong_manifest_shows_its_mistakes(run: Toolmason, project: Project) -> None:
    project.manifest.write_text("edition = 1\n", encoding="utf-8")
    result = run("lint")

    assert result.exit_code == 1
    assert "error[TM2" in result.stderr


def test_lint_findings_for_programs_are_on_stdout(run: Toolmason, project: Project) -> None:
    replace(project.manifest, "characters of a text", "characters of a text.")
    result = run("lint", "--format", "json")

    assert result.stderr == ""
    assert [json.loads(line)["code"] for line in result.stdout.splitlines()] == ["TM511"]


def test_search_shows_matched_terms_and_their_fields(run: Toolmason) -> None:
    result = run("search", "words", "in", "a", "text")

    assert result.exit_code == 0
    assert " 1. count_words  Count the words, lines and characters of a text\n" in result.stdout
    assert "word  in name, summary" in result.stdout


def test_search_by_name_is_shown_as_a_name_match(run: Toolmason) -> None:
    assert "its name, as typed" in run("search", "count words").stdout


def test_search_shows_as_many_hits_as_wanted_and_counts_the_rest(run: Toolmason, project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    second = text[text.index("[tools.count_words]") :].replace("tools.count_words", "tools.measure")
    project.manifest.write_text(f"{text}\n{second}", encoding="utf-8")

    assert run("search", "words", "--limit", "1").stdout.endswith("1 more; --limit shows them\n")


def test_search_without_hits_counts_the_searched_tools(run: Toolmason) -> None:
    assert run("search", "???").stdout == "nothing found for `???` in 1 tools\n"


def test_search_lists_prompts_and_resources_after_the_tools(run: Toolmason, project: Project) -> None:
    more = """
[commands.sum-up]
summary = "Sum up a text in few words"
prompt = "Sum up: {arguments}"

[resources.style]
uri = "style://{language}"
summary = "Rules for the words of a language"
mime_type = "text/plain"
handler = "text:count_words"
"""
    project.manifest.write_text(project.manifest.read_text(encoding="utf-8") + more, encoding="utf-8")

    assert run("search", "words", "of", "languages").stdout.endswith(
        " -  resource style://{language}  Rules for the words of a language\n"
        " -  prompt /sum-up  Sum up a text in few words\n"
    )


def test_only_an_option_of_the_command_line_imports_a_ranker(
    run: Toolmason, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = project.root / "own_ranking.py"
    module.write_text("raise ValueError('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(project.root))
    replace(project.manifest, "[discovery]\n", '[discovery]\nranker = "own_ranking:make"\n')
    for command in (("generate",), ("check",), ("lint",), ("stats",), ("search", "count")):
        result = run(*command)
        assert (result.exit_code, "imported" in result.output) == (0, False), (command, result.output)

    module.write_text("class Fixed:\n    rank = staticmethod(lambda query: {'count_words': 1.0})\n", encoding="utf-8")
    with module.open("a", encoding="utf-8") as source:
        source.write("def make(words, tools): return Fixed()\n")
    assert "count_words" in run("search", "qqq", "--ranker", "own_ranking:make").stdout
    refused = run("search", "qqq", "--ranker", "own_ranking:makes")
    assert (refused.exit_code, "ranker `own_ranking:makes` cannot be imported" in refused.output) == (2, True)


def test_search_in_a_wrong_manifest_shows_its_mistakes(run: Toolmason, project: Project) -> None:
    project.manifest.write_text("edition = 1\n", encoding="utf-8")
    result = run("search", "words")

    assert result.exit_code == 1
    assert "error[TM" in result.stderr


def test_explain_shows_a_rule_and_suggests_the_nearest_code() -> None:
    known = CliRunner().invoke(toolmason, ["explain", "tm604"])
    unknown = CliRunner().invoke(toolmason, ["explain", "TM5O1"])

    assert known.stdout.startswith("TM604: A generated file was edited\n")
    assert unknown.exit_code == 2
    assert "did you mean `TM5" in unknown.stderr


# The terminal


class Terminal(StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),  # https://no-color.org: present and not empty
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (StringIO(), {}, False),
    ],
    ids=["terminal", "empty NO_COLOR", "NO_COLOR", "dumb terminal", "pipe"],
)
def test_colour_is_for_terminals_whose_users_want_it(stream: StringIO, environ: dict[str, str], wanted: bool) -> None:
    assert supports_colour(stream, environ) is wanted


def test_paint_without_colour_is_the_text_itself() -> None:
    assert paint("text", "red", colour=False) == "text"
    assert paint("text", "red", colour=True) == "\x1b[31mtext\x1b[0m"


def test_progress_shows_on_a_terminal_and_leaves_no_trace() -> None:
    terminal = Terminal()
    with progress(terminal, {}) as show:
        show("rendering")

    assert "rendering ..." in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_progress_is_silent_in_a_pipe() -> None:
    pipe = StringIO()
    with progress(pipe, {}) as show:
        show("rendering")

    assert pipe.getvalue() == ""
