"""The files of a project beside its manifest that rules and artefacts depend on. Nothing of the project is executed."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from toolmason.manifest.input_files import read_input

READMES: Final = ("README.md", "README.rst", "README.txt", "README")
LICENCES: Final = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
MAX_WHEEL_BYTES: Final = 256 * 1024 * 1024
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class ProjectFiles:
    """The files of the project at `root`. Unreadable ones count as missing."""

    root: Path

    def text(self, name: str) -> str | None:
        """Return the text of a file; None if it is missing or unreadable."""
        try:
            return read_input(self.root / name, self.root).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def find(self, names: tuple[str, ...]) -> str:
        """Return the first of `names` that is a readable file of the project; empty for none."""
        return next((name for name in names if self.text(name) is not None), "")

    @cached_property
    def readme(self) -> str:
        """The name of the README; empty for none."""
        return self.find(READMES)

    @cached_property
    def readme_text(self) -> str:
        """The text of the README; empty for none."""
        return (self.text(self.readme) or "") if self.readme else ""

    @cached_property
    def declared_version(self) -> str:
        """The version that pyproject.toml contains; empty if it has none or a dynamic one."""
        try:
            data: dict[str, Any] = tomllib.loads(self.text("pyproject.toml") or "")
        except (ValueError, RecursionError):
            return ""
        project = data.get("project")
        version = project.get("version") if isinstance(project, dict) else None
        return version if isinstance(version, str) else ""

    @cached_property
    def repository(self) -> Path:
        """The root of the git repository, by default that of the project."""
        parents = (self.root, *self.root.parents)
        return next((directory for directory in parents if (directory / ".git").exists()), self.root)

    @cached_property
    def commit(self) -> str:
        """The commit of the working tree with 40 digits; empty outside git."""
        directory = self.repository / ".git"
        if pointer := _line(directory).removeprefix("gitdir: "):
            directory = self.repository / pointer  # a worktree
        common = directory / (_line(directory / "commondir") or ".")
        head = _line(directory / "HEAD")
        if head.startswith("ref: "):
            reference = head.removeprefix("ref: ")
            packed = (line.partition(" ") for line in _lines(common / "packed-refs"))
            head = _line(common / reference) or next((commit for commit, _, name in packed if name == reference), "")
        return head if _COMMIT.fullmatch(head) else ""

    def wheel(self, prefix: str, version: str) -> dict[str, bytes]:
        """Return the name and the content of the wheel of `version` in dist/; none if there is not exactly one."""
        try:
            paths = list((self.root / "dist").iterdir())
            found = [path for path in paths if path.name.startswith(f"{prefix}-{version}-") and path.suffix == ".whl"]
            if len(found) != 1:
                return {}
            return {found[0].name: read_input(found[0], self.root, max_bytes=MAX_WHEEL_BYTES)}
        except OSError:
            return {}


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of git; none if it is missing."""
    try:
        return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    except (OSError, ValueError):
        return []


def _line(path: Path) -> str:
    return next(iter(_lines(path)), "").strip()
