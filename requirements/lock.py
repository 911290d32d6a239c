"""Write action.txt, what the GitHub action installs, and the same pins for the pre-commit hooks.

Run it as `nox -s lock`. Options are those of `uv pip compile`: `nox -s lock -- --upgrade-package click`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "action.txt"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
HEADER = """\
# All that the GitHub action installs, for Python 3.11 to 3.13 on Linux, macOS and Windows: what the toolkit needs and
# what builds it. Made by `nox -s lock`; do not edit.
"""
PINS = re.compile(r"(additional_dependencies: &locked\n)(?:    - .*\n)*")


def main(options: list[str]) -> None:
    """Resolve the requirements of pyproject.toml and write both files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.in")
        wanted.write_text("\n".join(wanted_requirements(project)), encoding="utf-8")
        compile_lock(wanted, options)
    text = HEADER + LOCK.read_text(encoding="utf-8").removeprefix(HEADER)
    LOCK.write_text(text, encoding="utf-8", newline="\n")
    lines = "".join(f'    - "{pin}"\n' for pin in pins(text))
    hooks = PINS.sub(lambda found: found[1] + lines, HOOKS.read_text(encoding="utf-8"))
    HOOKS.write_text(hooks, encoding="utf-8", newline="\n")


def wanted_requirements(project: dict[str, dict[str, list[str]]]) -> list[str]:
    """Return what a running server, the toolkit and the build need."""
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]  # type: ignore[assignment]
    return [*project["project"]["dependencies"], *extras["toolkit"], *project["build-system"]["requires"]]


def compile_lock(wanted: Path, options: list[str]) -> None:
    """Write LOCK. Versions that are in it and still fit are kept, unless `options` include `--upgrade`."""
    subprocess.run(  # noqa: S603  our own command
        [
            *("uv", "pip", "compile", str(wanted), "--output-file", str(LOCK)),
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
