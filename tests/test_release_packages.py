"""The steps of the release workflow for several packages: their scripts run with files and programs of the test."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parent.parent
JOBS: Final[dict[str, Any]] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))[
    "jobs"
]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the workflow runs on Linux")


def script(job: str, part: str) -> str:
    (found,) = [step["run"] for step in JOBS[job]["steps"] if part in step.get("run", "")]
    return str(found)


def run(text: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{directory}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=directory,
        env={**os.environ, "PATH": path, "RUNNER_TEMP": str(directory), **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def write_files(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(name, encoding="utf-8")


def files_of(python: str, toolkit: str, schema: str, npm: str) -> list[str]:
    wheel = f"build/schema/toolmason_schema-{schema}-py3-none-any.whl"
    names = [f"dist/toolmason-{python}-py3-none-any.whl", f"dist/toolmason-{python}.tar.gz"]
    names.append(f"dist/toolmason_toolkit-{toolkit}-py3-none-any.whl")
    return [*names, wheel, f"build/schema/toolmason-schema-{npm}.tgz"]


@pytest.mark.parametrize(
    ("tag", "versions", "is_accepted"),
    [
        ("v1.2.0", ("1.2.0", "1.2.0", "1.2.0", "1.2.0"), True),
        ("v1.2.0rc1", ("1.2.0rc1", "1.2.0rc1", "1.2.0rc1", "1.2.0-rc.1"), True),
        ("v1.2.0", ("1.2.1", "1.2.0", "1.2.0", "1.2.0"), False),
        ("v1.2.0", ("1.2.0", "1.2.1", "1.2.0", "1.2.0"), False),
        ("v1.2.0", ("1.2.0", "1.2.0", "1.2.1", "1.2.0"), False),
        ("v1.2.0", ("1.2.0", "1.2.0", "1.2.0", "1.2.1"), False),
        ("v1.2.0", ("1.2.0", "1.2.0", "1.2.0", "1.2.0-rc.1"), False),
        ("v1.2.0rc1", ("1.2.0rc1", "1.2.0rc1", "1.2.0rc1", "1.2.0rc1"), False),
        ("v1.2", ("1.2", "1.2", "1.2", "1.2"), False),
    ],
)
def test_every_package_has_the_version_of_the_tag(
    tag: str, versions: tuple[str, str, str, str], is_accepted: bool, tmp_path: Path
) -> None:
    (tmp_path / "packages").symlink_to(ROOT / "packages")
    write_files(tmp_path, *files_of(*versions))

    result = run(script("build", "build.py --version"), tmp_path, TAG=tag)

    assert (result.returncode == 0) == is_accepted, result.stderr


@pytest.mark.parametrize(
    "changed", [None, 0, 2, 3, 4], ids=["equal", "wheel", "toolkit wheel", "schema wheel", "npm package"]
)
def test_a_second_build_with_another_hash_is_an_error(changed: int | None, tmp_path: Path) -> None:
    names = files_of("1.2.0", "1.2.0", "1.2.0", "1.2.0")
    write_files(tmp_path, *names)
    output = tmp_path / "output"
    run(script("build", "GITHUB_OUTPUT"), tmp_path, GITHUB_OUTPUT=str(output))
    hashes = output.read_text(encoding="utf-8").removeprefix("hashes=").strip()
    listed = [line.split()[0] for line in b64decode(hashes).decode().splitlines()]
    if changed is not None:
        (tmp_path / names[changed]).write_text("other", encoding="utf-8")

    result = run(script("rebuild", "sha256sum"), tmp_path, HASHES=hashes)

    assert sorted(listed) == sorted(hashlib.sha256(name.encode()).hexdigest() for name in names)
    assert (result.returncode == 0) == (changed is None), result.stdout


@pytest.mark.parametrize(("version", "tag"), [("1.2.0", "latest"), ("1.2.0-rc.1", "next"), ("1.2.0-dev.3", "next")])
def test_the_npm_package_is_uploaded_as_a_file(version: str, tag: str, tmp_path: Path) -> None:
    """`npm publish dist/x.tgz` without `./` is a repository of GitHub; npm refuses a prerelease without a tag."""
    write_files(tmp_path, f"dist/toolmason-schema-{version}.tgz", "npm")
    (tmp_path / "npm").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    (tmp_path / "npm").chmod(0o755)

    result = run(script("publish-npm", "npm publish"), tmp_path)

    options = ["--ignore-scripts", "--provenance", "--access", "public", "--tag", tag]
    assert result.stdout.splitlines() == ["publish", f"./dist/toolmason-schema-{version}.tgz", *options], result.stderr


def test_a_missing_npm_package_is_an_error(tmp_path: Path) -> None:
    assert run(script("publish-npm", "npm publish"), tmp_path).returncode != 0


def test_each_file_reaches_one_index_and_the_release() -> None:
    artifacts = {
        name: {step["with"]["name"] for step in job["steps"] if f"actions/{verb}-artifact@" in step.get("uses", "")}
        for name, job in JOBS.items()
        for verb in (["upload"] if name == "build" else ["download"])
    }

    assert artifacts["publish"] == {"dist"}
    assert artifacts["publish-toolkit"] == {"toolkit-wheel"}
    assert artifacts["publish-schema"] == {"schema-wheel"}
    assert artifacts["publish-npm"] == {"schema-npm"}
    assert artifacts["build"] == artifacts["attest"] == artifacts["github"]
    assert {JOBS[name]["environment"] for name in JOBS if name.startswith("publish")} == {
        "pypi",
        "pypi-toolkit",
        "pypi-schema",
        "npm",
    }
    assert set(JOBS["github"]["needs"]) == {name for name in JOBS if name.startswith("publish")}


def test_the_hashes_of_a_release_include_every_package(tmp_path: Path) -> None:
    names = files_of("1.2.0", "1.2.0", "1.2.0", "1.2.0")
    write_files(tmp_path, *names, "release/sbom.cdx.json")
    command = [sys.executable, str(ROOT / "requirements" / "release_files.py"), "release", *names]
    subprocess.run(command, cwd=tmp_path, check=True)
    sums = (tmp_path / "release" / "SHA256SUMS").read_text(encoding="utf-8")

    lock = (tmp_path / "release" / "toolmason-toolkit.txt").read_text(encoding="utf-8")

    assert f"toolmason-toolkit==1.2.0 \\\n    --hash=sha256:{hashlib.sha256(names[2].encode()).hexdigest()}" in lock
    assert {line.split()[1] for line in sums.splitlines()} >= {Path(name).name for name in names} | {"sbom.cdx.json"}
