"""The locks of requirements/ and the pins of the pre-commit hooks are exact, hashed and complete, without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from itertools import product
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
WANTED = {
    "action.txt": [
        *PROJECT["project"]["dependencies"],
        *EXTRAS["toolkit"],
        *PROJECT["build-system"]["requires"],
    ],
    "server.txt": [*PROJECT["project"]["dependencies"], *EXTRAS["http"], *EXTRAS["workbench"]],
    "toolkit.txt": [*PROJECT["project"]["dependencies"], *EXTRAS["toolkit"]],
    "tools.txt": PROJECT["dependency-groups"]["tools"],
}
"""Lock -> the requirements that it fulfils."""
TEXTS = {name: (ROOT / "requirements" / name).read_text(encoding="utf-8") for name in WANTED}
ENTRIES = {
    name: re.findall(r"^(?![#\s])(.+?)((?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", text, re.MULTILINE)
    for name, text in TEXTS.items()
}
"""Each requirement of a lock with its hashes."""
PLATFORMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}


def environment(python: str, platform: str) -> dict[str, str]:
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        **PLATFORMS[platform],
    }


def pinned(lock: str, inside: dict[str, str]) -> dict[str, str]:
    """Return the versions that are installed in an environment, by name."""
    found: dict[str, str] = {}
    for text, _ in ENTRIES[lock]:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(inside):
            (only,) = requirement.specifier
            assert only.operator == "=="
            assert found.setdefault(canonicalize_name(requirement.name), only.version) == only.version
    return found


def wanted(lock: str) -> list[Requirement]:
    return [Requirement(text) for text in WANTED[lock]]


def needed(lock: str, inside: dict[str, str]) -> list[str]:
    """Return the names of what is needed directly and by others, as far as the metadata installed here says."""
    pending = wanted(lock)
    seen: set[tuple[str, str]] = set()
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        new = {(name, extra) for extra in ("", *requirement.extras)} - seen
        seen |= new
        with suppress(PackageNotFoundError):
            texts = distribution(name).requires or []
            for each, (_, extra) in product(map(Requirement, texts), new):
                if each.marker is None or each.marker.evaluate({**inside, "extra": extra}):
                    pending.append(each)
    return sorted({name for name, _ in seen})


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("lock", WANTED)
def test_lock_contains_all_requirements(lock: str, python: str, platform: str) -> None:
    inside = environment(python, platform)
    names = needed(lock, inside)

    assert len(names) > 10
    assert [name for name in names if name not in pinned(lock, inside)] == [], "run `nox -s lock`"


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("lock", WANTED)
def test_lock_satisfies_its_requirements(lock: str, python: str, platform: str) -> None:
    inside = environment(python, platform)
    versions = pinned(lock, inside)

    missing = [
        str(each)
        for each in wanted(lock)
        if (each.marker is None or each.marker.evaluate(inside))
        and not each.specifier.contains(versions.get(canonicalize_name(each.name), "0"), prereleases=True)
    ]
    assert missing == [], "run `nox -s lock`"


def test_servers_the_toolkit_and_the_action_have_the_same_versions() -> None:
    inside = environment("3.13", "linux")
    action = pinned("action.txt", inside)
    for lock in ("server.txt", "toolkit.txt"):
        versions = pinned(lock, inside)
        assert {name: action[name] for name in versions.keys() & action.keys()}.items() <= versions.items()
    assert pinned("toolkit.txt", inside).keys() < action.keys()


def test_lock_covers_the_pythons_of_the_project() -> None:
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains("3.11")
    assert [each[-4:] for each in PROJECT["project"]["classifiers"] if ":: 3." in each] == [
        "3.11",
        "3.12",
        "3.13",
        "3.14",
    ]


@pytest.mark.parametrize("lock", WANTED)
def test_each_entry_of_a_lock_has_hashes_and_no_entry_names_a_server(lock: str) -> None:
    text = TEXTS[lock]
    assert len(ENTRIES[lock]) > len(wanted(lock))
    assert [requirement for requirement, hashes in ENTRIES[lock] if not hashes] == []
    rest = [line for line in text.splitlines() if not re.match(r"#|    --hash=sha256:[0-9a-f]{64}|[a-z0-9-]+==", line)]
    assert rest == []
    assert "://" not in text


def test_new_projects_have_the_tools_of_this_repository() -> None:
    template = ROOT / "templates" / "toolmason_templates" / "init" / "tools.txt.jinja"
    ours, theirs = (text.partition("\n") for text in (TEXTS["tools.txt"], template.read_text(encoding="utf-8")))

    assert ours[2] == theirs[2], "run `nox -s lock`"
    assert "do not edit" not in theirs[0]


def test_only_the_expected_lock_files_exist() -> None:
    assert {path.name for path in (ROOT / "requirements").glob("*.txt")} == WANTED.keys()


def test_hooks_install_the_locked_packages() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    assert len(hooks) == 2
    for hook in hooks:
        assert hook["additional_dependencies"] == [text for text, _ in ENTRIES["action.txt"]], "run `nox -s lock`"


def test_action_installs_the_lock_and_nothing_else() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    script = action["runs"]["steps"][0]["run"].replace("\\\n", " ")

    installs = [line.strip() for line in script.splitlines() if line.strip().startswith('"${pip[@]}"')]
    assert len(re.findall(r"\binstall\b", script)) == 1
    assert [line.split()[1:-1] for line in installs] == [
        ["--require-hashes", "--only-binary=:all:", "-r"],
        ["--no-deps", "--no-index", "--no-build-isolation"],
    ]
    assert [line.split()[-1] for line in installs] == [
        '"$GITHUB_ACTION_PATH/requirements/action.txt"',
        '"$GITHUB_ACTION_PATH"',
    ]


BACKEND = """
import zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "stub-1.dist-info"
    with zipfile.ZipFile(f"{directory}/stub-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/METADATA", "Metadata-Version: 2.1\\nName: stub\\nVersion: 1\\n")
        wheel.writestr(f"{name}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{name}/RECORD", "")
    return "stub-1-py3-none-any.whl"
"""
"""Builds an empty package, so that the step of the action can run without a network."""


@pytest.mark.skipif(sys.platform == "win32", reason="the environment of the step has other directories there")
def test_action_runs_nothing_of_the_repository_that_it_checks(tmp_path: Path) -> None:
    clone, action, canary = tmp_path / "clone", tmp_path / "action", tmp_path / "canary"
    for folder in (clone / "pip", action / "requirements", tmp_path / "temp"):
        folder.mkdir(parents=True)
    code = f"open({str(canary)!r}, 'a').write(__file__ + chr(10))\n"
    for name in ("venv.py", "json.py", "ensurepip.py", "sitecustomize.py", "pip/__init__.py", "pip/__main__.py"):
        (clone / name).write_text(code, encoding="utf-8")
    (action / "requirements" / "action.txt").write_text("", encoding="utf-8")
    (action / "backend.py").write_text(BACKEND, encoding="utf-8")
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (action / "pyproject.toml").write_text(build, encoding="utf-8")

    step = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][0]
    ran = subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=clone,
        env={
            "PATH": os.environ["PATH"],
            "PYTHON": sys.executable,
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_ACTION_PATH": str(action),
        },
        capture_output=True,
        check=False,
        encoding="utf-8",
    )

    assert ran.returncode == 0, ran.stderr
    assert not canary.exists(), canary.read_text(encoding="utf-8")
    assert list((tmp_path / "temp").glob("toolmason-schema/lib/*/site-packages/stub-1.dist-info"))
