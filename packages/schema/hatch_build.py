"""Copy the modules of `toolmason.schema` into the wheel, with the name `toolmason_schema` in their imports."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parents[2] / "generator" / "toolmason"
TOOLKIT_ONLY = {"projections.py"}
"""Modules that need the toolkit."""


def package_files(source: Path) -> dict[str, str]:
    """Return the text of each file of the package by its path."""
    paths = {path.relative_to(source / "schema").as_posix(): path for path in (source / "schema").rglob("*")}
    paths["targets.py"] = source / "targets.py"
    kept = {name: path for name, path in paths.items() if path.suffix in {".py", ".toml"} and name not in TOOLKIT_ONLY}
    texts = {name: path.read_text(encoding="utf-8") for name, path in sorted(kept.items())}
    return {name: _renamed(text) if name.endswith(".py") else text for name, text in texts.items()} | {"py.typed": ""}


def _renamed(text: str) -> str:
    return re.sub(r"\btoolmason\.targets\b", "toolmason_schema.targets", text).replace(
        "toolmason.schema", "toolmason_schema"
    )


class Hook(BuildHookInterface[Any]):
    """Adds the files of the package to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  hatchling's interface
        """Write the files to a temporary directory, which lives until the build ends."""
        self._directory = TemporaryDirectory()
        for name, text in package_files(SOURCE).items():
            path = Path(self._directory.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            build_data["force_include"][str(path)] = f"toolmason_schema/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the directory."""
        self._directory.cleanup()
