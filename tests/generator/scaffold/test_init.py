"""A new project: complete, working, and never at the cost of what was there."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters

from toolmason.commands import toolmason
from toolmason.project import Project
from toolmason.scaffold import OWN_PACKAGES, InitError, lay_out, project_names, reserved_names

REPOSITORY = Path(__file__).parents[3]
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = [path for path in sys.path if path]


def init(*arguments: str) -> Result:
    return CliRunner().invoke(toolmason, ["init", *arguments])


def environment(project: Project) -> dict[str, str]:
    """Where the project's packages and ours are found, without an installation."""
    places = [str(project.root / "handlers"), str(project.generated), *SOURCES]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


def test_server_answers_over_stdio(project: Project) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "notes_server"], env=environment(project))

    async def ask() -> tuple[list[str], object]:
        async with Client(server) as client:
            listed = await client.list_tools()
            result = await client.call_tool("count_words", {"text": "to be or not to be"})
            return [tool.name for tool in listed.tools], result.structured_content

    names, counted = asyncio.run(ask())
    assert names == ["notes_search", "notes_call", "notes_count_words"]
    assert counted == {"words": 6, "lines": 1, "characters": 18}


def test_its_own_tests_pass(project: Project) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        command, cwd=project.root, env=environment(project), capture_output=True, encoding="utf-8", check=False
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 passed" in ended.stdout


def test_its_handlers_fit_and_its_code_is_typed(project: Project) -> None:
    command = [sys.executable, "-m", "mypy", "handlers", "generated"]
    ended = subprocess.run(
        command, cwd=project.root, env=environment(project), capture_output=True, encoding="utf-8", check=False
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_it_is_up_to_date_and_has_nothing_to_complain_of(project: Project) -> None:
    for command in ("check", "lint"):
        assert CliRunner().invoke(toolmason, [command, "--manifest", str(project.manifest)]).exit_code == 0


def test_its_sessions_are_those_of_the_readme(project: Project) -> None:
    command = [sys.executable, "-m", "nox", "-l", "-f", str(project.root / "noxfile.py")]
    listed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout

    for session in ("generate", "check", "lint", "tests", "types"):
        assert re.search(rf"^[-*] {session} .*->", listed, re.MULTILINE)


def test_every_file_is_text_that_ends_with_one_newline(project: Project) -> None:
    for path in project.root.rglob("*"):
        if path.is_file() and path.name != "py.typed":
            text = path.read_bytes().decode("utf-8")
            assert text.endswith("\n"), path
            assert not text.endswith("\n\n"), path
            assert "\r" not in text, path


def test_nothing_of_the_machine_is_left_in_it(project: Project, laid_out_once: Path) -> None:
    for path in project.root.rglob("*"):
        assert ".toolmason" not in path.parts
        if path.is_file():
            assert str(laid_out_once.parent) not in path.read_text(encoding="utf-8"), path
            assert "toolmason-init-" not in path.read_text(encoding="utf-8"), path


def test_folder_with_something_in_it_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    result = init(str(tmp_path))

    assert result.exit_code == 4
    assert "it contains README.md; nothing was written" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"


def test_fresh_repository_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / "house" / ".git").mkdir(parents=True)

    assert init(str(tmp_path / "house")).exit_code == 0
    assert (tmp_path / "house" / "manifest" / "house.toml").is_file()


def test_here_is_a_place_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "house"
    home.mkdir()
    monkeypatch.chdir(home)

    assert init(".").exit_code == 0
    assert (home / "manifest" / "house.toml").is_file()


@pytest.mark.parametrize("name", ["My Server!", "a'b", "$HOME notes", "plain"])
def test_the_way_into_the_project_can_be_pasted_into_a_shell(name: str, tmp_path: Path) -> None:
    said = init(str(tmp_path / name)).stdout
    entering = next(line.strip() for line in said.splitlines() if line.strip().startswith("cd "))

    assert shlex.split(entering) == ["cd", str(tmp_path / name)]


def test_file_in_the_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "house").write_text("a file", encoding="utf-8")

    assert init(str(tmp_path / "house")).exit_code == 2
    assert (tmp_path / "house").read_text(encoding="utf-8") == "a file"


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    result = init(str(tmp_path / "file" / "house"))

    assert result.exit_code == 2
    assert result.stderr == f"Error: {tmp_path}/file/house cannot be written: Not a directory\n"


def test_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "house").symlink_to(tmp_path / "nowhere")

    assert init(str(tmp_path / "house")).exit_code == 2
    assert not (tmp_path / "nowhere").exists()


def test_new_folder_may_be_entered_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert init(str(tmp_path / "house")).exit_code == 0

    assert (tmp_path / "house").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    ("wanted", "server", "package", "handlers"),
    [
        ("notes", "notes", "notes_server", "notes"),
        ("My Notes", "my-notes", "my_notes_server", "my_notes"),
        ("notes_server", "notes-server", "notes_server", "notes_tools"),
        ("json", "json", "json_server", "json_tools"),
        ("yaml", "yaml", "yaml_server", "yaml_tools"),
        ("class", "class", "class_server", "class_tools"),
        ("noxfile", "noxfile", "noxfile_server", "noxfile_tools"),
        ("--x--", "x", "x_server", "x"),
        ("Über Crème", "uber-creme", "uber_creme_server", "uber_creme"),
        ("\uff2e\uff4f\uff54\uff45\uff53", "notes", "notes_server", "notes"),
    ],
    ids=[
        "plain",
        "spaces and capitals",
        "a server",
        "a standard module",
        "a module of a dependency",
        "a keyword",
        "a file of the project",
        "dashes",
        "accents",
        "wide letters",
    ],
)
def test_package_names_are_derived_from_the_project_name(wanted: str, server: str, package: str, handlers: str) -> None:
    names = project_names(wanted)

    assert (names.server, names.package, names.handlers) == (server, package, handlers)


@pytest.mark.parametrize("wanted", ["", "123", "...", "日本", "-", "日本 notes", "straße", "notes ٣"])
def test_invalid_project_name_suggests_the_name_option(wanted: str, tmp_path: Path) -> None:
    with pytest.raises(InitError, match=r"choose (another name|a name of at most 32) with --name"):
        project_names(wanted)
    result = init(str(tmp_path / "house"), f"--name={wanted or '-'}")
    assert result.exit_code == 2
    assert not (tmp_path / "house").exists()


@pytest.mark.uncovered
@pytest.mark.parametrize(
    "wanted",
    [
        "workbench",
        "Workbench Server",
        "toolmason",
        "toolmason-extras",
        "mcp",
        "jinja2",
        "jq",
        "typing.extensions",
        "cryptography",
        "pytest",
        "hatchling",
        "datamodel-codegen",
        "pygmentize",
        "test",
    ],
)
def test_name_of_a_dependency_of_every_server_is_refused(wanted: str, tmp_path: Path) -> None:
    result = init(str(tmp_path / wanted))

    assert result.exit_code == 2
    assert "is reserved: toolmason, a dependency" in result.stderr
    assert "--name" in result.stderr
    assert list(tmp_path.iterdir()) == []
    assert init(str(tmp_path / wanted), "--name=notes").exit_code == 0


def test_modules_that_count_as_ours_are_those_of_the_wheels() -> None:
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    packages = {path.rpartition("/")[2] for path in included if (REPOSITORY / path / "__init__.py").is_file()}
    # Not imported, because it needs hatchling.
    toolkit = re.findall(r'": "(\w+)",$', (REPOSITORY / "hatch_build.py").read_text(encoding="utf-8"), re.MULTILINE)

    assert packages | set(toolkit) == OWN_PACKAGES


def test_everything_a_new_project_installs_is_taken() -> None:
    project = tomllib.loads(lay_out(project_names("notes"))["pyproject.toml"])
    ours = PYPROJECT["project"]
    required = [
        *project["build-system"]["requires"],
        *(each for group in project["dependency-groups"].values() for each in group),
        *ours["dependencies"],
        *(each for extra in ours["optional-dependencies"].values() for each in extra),
    ]

    assert {re.split(r"[^\w-]", each)[0] for each in required} <= reserved_names().distributions
    assert ours["scripts"].keys() <= reserved_names().commands


@pytest.mark.parametrize(("length", "code"), [(32, 0), (33, 2)], ids=["the longest", "one more"])
def test_name_leaves_room_for_those_of_tools(length: int, code: int, tmp_path: Path) -> None:
    result = init(str(tmp_path / ("n" * length)))

    assert result.exit_code == code
    assert ("at most 32" in result.stderr) is bool(code)


@given(st.text(max_size=40) | st.text("ab-_ 1üß", max_size=40) | st.sampled_from(sorted(reserved_names().modules)))
def test_names_are_always_legal_and_apart(wanted: str) -> None:
    try:
        names = project_names(wanted)
    except InitError:
        return
    assert names.package.isidentifier()
    assert names.handlers.isidentifier()
    assert names.package != names.handlers
    assert names.server.strip("-") == names.server
    assert names.handlers not in sys.stdlib_module_names
    assert {names.package, names.handlers}.isdisjoint(reserved_names().modules)
    assert names.server not in reserved_names().distributions | reserved_names().commands
    assert sum(map(str.isalnum, names.server)) >= sum(map(str.isalnum, wanted))


@pytest.mark.parametrize("wanted", ["json", "x-1", "Server", "my.notes server"])
def test_any_name_gives_a_project_that_is_right(wanted: str, tmp_path: Path) -> None:
    assert init(str(tmp_path / "house"), "--name", wanted).exit_code == 0
    manifest = str(next((tmp_path / "house" / "manifest").iterdir()))
    assert CliRunner().invoke(toolmason, ["lint", "--manifest", manifest]).exit_code == 0
