"""The wheel `toolmason` alone: what a server over stdio needs, and nothing of the toolkit and Workbench."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest
from fresh_environment import Environment, build_wheel
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALLED = {
    "annotated-types",
    "anyio",
    "idna",
    "pydantic",
    "pydantic-core",
    "regex",
    "tomlkit",
    "toolmason",
    "typing-extensions",
    "typing-inspection",
}
"""All packages that a server over stdio installs besides its own. docs/dependencies.md has the reason for each."""
MAX_BYTES = 2_200_000
"""Maximum size of the files in the wheel, a seventh of an installation."""


def metadata(wheel: Path) -> Distribution:
    (directory,) = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" in name}
    return PathDistribution(zipfile.Path(wheel, f"{directory}/"))


def requirements(wheel: Path) -> list[Requirement]:
    return [Requirement(text) for text in metadata(wheel).requires or ()]


def files(wheel: Path) -> dict[str, int]:
    members = zipfile.ZipFile(wheel).infolist()
    return {member.filename: member.file_size for member in members if ".dist-info/" not in member.filename}


@pytest.fixture(scope="module")
def base(published: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("base"))
    environment.install(published[0])
    return environment


@pytest.mark.skipif(sys.platform == "win32", reason="the engine `sdk` is the default there and needs `mcp`")
def test_a_server_installs_exactly_these_distributions(base: Environment) -> None:
    assert base.distributions() == INSTALLED


def test_the_wheel_requires_only_what_pyproject_lists(published: tuple[Path, Path]) -> None:
    found = {str(each) for each in requirements(published[0]) if "extra" not in str(each.marker or "")}

    assert found == {str(Requirement(text)) for text in PROJECT["dependencies"]}


def test_the_extras_for_authors_and_workbench_require_the_other_wheel_in_the_same_version(
    published: tuple[Path, Path],
) -> None:
    wheel, toolkit = published
    pins = {str(each.marker): str(each.specifier) for each in requirements(wheel) if each.name == "toolmason-toolkit"}
    version = f"=={PROJECT['version']}"

    assert pins == {f'extra == "{extra}"': version for extra in ("research-files", "toolkit", "workbench")}
    assert [str(each) for each in requirements(toolkit)] == [f"toolmason{version}"]
    assert metadata(wheel).version == metadata(toolkit).version == PROJECT["version"]


def test_the_two_wheels_have_the_files_of_a_checkout_and_share_none(
    published: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel, toolkit = map(files, published)
    checkout = build_wheel(REPOSITORY, tmp_path)

    assert not wheel.keys() & toolkit.keys()
    assert wheel | toolkit == files(checkout)
    assert not [each for each in requirements(checkout) if each.name == "toolmason-toolkit"]


def test_the_wheel_is_small(published: tuple[Path, Path]) -> None:
    assert sum(files(published[0]).values()) < MAX_BYTES


@pytest.mark.parametrize(
    ("command", "extra"), [("toolmason", "toolkit"), ("toolmason-workbench", "workbench")], ids=str
)
def test_a_command_without_its_files_names_the_extra(base: Environment, command: str, extra: str) -> None:
    run = base.run(command, "--help")

    assert run.returncode == 2
    assert run.stderr.endswith(f'python3 -m pip install "toolmason[{extra}]"\n')
    assert run.stderr.count("\n") == 1
