"""Write the locks of this directory, the pins of the pre-commit hooks, and the tools of new projects.

Run it as `nox -s lock`. Options are those of `uv pip compile`: `nox -s lock -- --upgrade-package click`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
DIRECTORY: Final = ROOT / "requirements"
HOOKS: Final = ROOT / ".pre-commit-hooks.yaml"
NEW_PROJECT: Final = ROOT / "templates" / "toolmason_templates" / "init" / "tools.txt.jinja"
"""The copy of `tools.txt` for projects that `toolmason init` creates."""
PINS: Final = re.compile(r"(additional_dependencies: &locked\n)(?:    - .*\n)*")
END: Final = "Made by `nox -s lock`; do not edit.\n"

Project = Mapping[str, Any]
"""The content of pyproject.toml."""


def _server(project: Project) -> list[str]:
    return list(project["project"]["dependencies"])


def _extra(project: Project, name: str) -> list[str]:
    return list(project["project"]["optional-dependencies"][name])


LOCKS: Final[Mapping[str, tuple[str, Callable[[Project], list[str]]]]] = {
    "action.txt": (
        """\
# All that the GitHub action installs, for Python 3.11 to 3.13 on Linux, macOS and Windows: what the toolkit needs and
# what builds it. """,
        lambda project: [*_server(project), *_extra(project, "toolkit"), *project["build-system"]["requires"]],
    ),
    "server.txt": (
        "# What `toolmason[http,workbench]` needs: the image of Workbench, and its SBOM. ",
        lambda project: [*_server(project), *_extra(project, "http"), *_extra(project, "workbench")],
    ),
    "toolkit.txt": (
        "# What `toolmason[toolkit]` needs. ",
        lambda project: [*_server(project), *_extra(project, "toolkit")],
    ),
    "tools.txt": (
        "# The programs of CI and of a release: nox, the build, its checks and the SBOM. ",
        lambda project: list(project["dependency-groups"]["tools"]),
    ),
}
"""Lock -> the beginning of its comment, and its requirements."""
SAME_AS_ACTION: Final = {"server.txt", "toolkit.txt"}
"""Locks with the versions of `action.txt`, which is written first."""


def main(options: list[str]) -> None:
    """Resolve the requirements of pyproject.toml and write all files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name, (comment, requirements) in LOCKS.items():
        lock = DIRECTORY / name
        with tempfile.TemporaryDirectory() as folder:
            wanted = Path(folder, "wanted.in")
            wanted.write_text("\n".join(requirements(project)), encoding="utf-8")
            same = ["--constraint", str(DIRECTORY / "action.txt")] if name in SAME_AS_ACTION else []
            compile_lock(wanted, lock, [*same, *options])
        header = f"{comment}{END}"
        text = header + lock.read_text(encoding="utf-8").removeprefix(header)
        lock.write_text(text, encoding="utf-8", newline="\n")
    lines = "".join(f'    - "{pin}"\n' for pin in pins((DIRECTORY / "action.txt").read_text(encoding="utf-8")))
    hooks = PINS.sub(lambda found: found[1] + lines, HOOKS.read_text(encoding="utf-8"))
    HOOKS.write_text(hooks, encoding="utf-8", newline="\n")
    NEW_PROJECT.write_text(new_project_tools(), encoding="utf-8", newline="\n")


def new_project_tools() -> str:
    """Return `tools.txt` as a new project has it, where nobody runs `nox -s lock` of this repository."""
    text = (DIRECTORY / "tools.txt").read_text(encoding="utf-8")
    return text.replace(END, "Dependabot updates it.\n", 1)


def compile_lock(wanted: Path, lock: Path, options: list[str]) -> None:
    """Write `lock`. Versions that are in it and still fit are kept, unless `options` include `--upgrade`."""
    subprocess.run(  # noqa: S603  our own command
        [
            *("uv", "pip", "compile", str(wanted), "--output-file", str(lock)),
            *("--universal", "--python-version", "3.11", "--generate-hashes"),
            *("--no-header", "--no-annotate", "--quiet", *options),
        ],
        check=True,
    )


def pins(lock: str) -> list[str]:
    r"""Return the requirements of `lock` without their hashes, such as `colorama==0.4.6 ; sys_platform == 'win32'`."""
    return re.findall(r"^([a-z0-9][^#\s]*==.*?) \\$", lock, re.MULTILINE)


if __name__ == "__main__":
    main(sys.argv[1:])
