"""The first commands of the README run in a clone on a fresh machine: a new home, no caches, few programs on PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
SETUP, TESTS = re.split(r"(?<!\\)\n", re.findall(r"^```bash\n(.*?)\n```$", README, re.MULTILINE | re.DOTALL)[0])
ONE_FILE: Final = re.findall(rf"`({re.escape(TESTS)} -- (tests/\S+))`", README)
PROGRAMS: Final = ("sh", "uname", "git")
"""Programs of a fresh machine, beside Python."""
TEST_PROGRAMS: Final = ("node", "npm", "rg", "jq")
"""Programs that CONTRIBUTING.md demands for tests, except Chromium."""
SETTINGS: Final = (".npmrc", ".pip", ".config/pip")
"""Files of a home directory with the addresses of package registries."""
REGISTRIES: Final = re.compile(r"(?i)(PIP|UV|NPM_CONFIG)_(?!CACHE)|\w*_PROXY$|SSL_CERT_|\w*_CA_(BUNDLE|CERTS)$")
"""Variables with the addresses of package registries, proxies and certificates."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository with the files of this one, committed or not."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.split("\0")
    directory = tmp_path / "toolmason"
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=directory, check=True)
    return directory


@pytest.fixture
def fresh_machine(tmp_path: Path) -> Mapping[str, str]:
    """Return the variables of a user with a new home, the programs of the README and the registries of this machine."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    for directory in (home, programs):
        directory.mkdir()
    for name in SETTINGS:
        source = Path.home() / name
        if source.is_dir():
            shutil.copytree(source, home / name)
        elif source.exists():
            shutil.copy(source, home / name)
    for name in (*PROGRAMS, *TEST_PROGRAMS):
        path = shutil.which(name)
        assert path, f"{name} is missing: see CONTRIBUTING.md"
        (programs / name).symlink_to(path)
    # A script, because Python looks for its library beside a link.
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec "{Path(sys.base_prefix, "bin", "python3")}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    registries = {name: value for name, value in os.environ.items() if REGISTRIES.match(name)}
    # pip reads 0 as "no": it compiles no module, which would take more time than the commands of the test.
    return registries | {"HOME": str(home), "PATH": str(programs), "PIP_NO_COMPILE": "0"}


@pytest.mark.timeout(1200)
def test_the_first_commands_of_the_readme_run_on_a_fresh_machine(clone: Path, fresh_machine: Mapping[str, str]) -> None:
    def run(command: str) -> str:
        result = subprocess.run(
            ["sh", "-c", command], cwd=clone, env=fresh_machine, capture_output=True, encoding="utf-8", check=False
        )
        assert result.returncode == 0, f"$ {command}\n{result.stdout}{result.stderr}"
        return result.stdout

    assert run(SETUP).endswith(f"==> README.md (lines 1-1 of {len(README.splitlines())}) <==\n# Toolmason\n\n")
    assert run("git diff && git ls-files --others --exclude-standard") == ""  # `generate` changed no file

    [(command, file)] = ONE_FILE
    assert re.search(r"\d+ passed", run(f". .venv/bin/activate && {command}"))
    assert (ROOT / file).is_file()
