"""Wheels built from the checkout, and fresh virtual environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in {"PYTHONPATH", "VIRTUAL_ENV"} and not name.startswith(("WORKBENCH_", "TOOLMASON_POLICY"))
}
UV = shutil.which("uv")
"""Installs an environment in seconds; venv and pip replace it where it is missing."""


def execute(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def build_wheel(project: Path, directory: Path) -> Path:
    """Build the wheel of a project into a directory that contains no other wheel of it."""
    before = set(directory.glob("*.whl"))
    command = [UV, "build", "--quiet", "--wheel"] if UV else [sys.executable, "-m", "build", "--wheel"]
    run = execute(*command, "--out-dir" if UV else "--outdir", directory, project)
    assert run.returncode == 0, run.stderr
    (wheel,) = set(directory.glob("*.whl")) - before
    return wheel


def build_published(repository: Path, directory: Path) -> tuple[Path, Path]:
    """Build what a release uploads into an empty directory: return the wheels of `toolmason` and `toolmason-toolkit`.

    That of `toolmason` is built from the sdist: a checkout gives one wheel with everything.
    """
    command = [UV, "build", "--quiet"] if UV else [sys.executable, "-m", "build"]
    run = execute(*command, "--out-dir" if UV else "--outdir", directory, repository)
    assert run.returncode == 0, run.stderr
    (wheel,) = directory.glob("*.whl")
    return wheel, build_wheel(repository / "packages" / "toolkit", directory)


def create_environment(directory: Path, *, with_pip: bool = False) -> None:
    """Create an empty virtual environment."""
    if UV:
        options = ("--quiet", "--clear", *(["--seed"] if with_pip else []))
        run = execute(UV, "venv", *options, "--python", sys.executable, directory)
        assert run.returncode == 0, run.stderr
    else:
        venv.create(directory, with_pip=True)


class Environment:
    """A fresh virtual environment. Its programs run in its own directory, not in the checkout."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        create_environment(directory)

    def program(self, name: str) -> Path:
        return self.directory / ("Scripts" if sys.platform == "win32" else "bin") / name

    def run(self, name: str, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return execute(self.program(name), *arguments, cwd=cwd or self.directory)

    def install(self, *arguments: str | Path) -> None:
        python = self.program("python")
        pip: list[str | Path] = [UV, "pip", "install", "--python", python] if UV else [python, "-m", "pip", "install"]
        run = execute(*pip, "--quiet", *arguments)
        assert run.returncode == 0, run.stderr

    def distributions(self) -> set[str]:
        """Return the normalized names of everything that is installed, apart from the installer."""
        code = "import importlib.metadata as m; print(*(each.name for each in m.distributions()))"
        names = self.run("python", "-c", code).stdout.split()
        return {name.lower().replace("_", "-") for name in names} - {"pip", "setuptools"}

    def has(self, module: str) -> bool:
        return self.run("python", "-c", f"import {module}").returncode == 0
