"""Add the files of the toolkit and Workbench to the wheel, and the requirement of `toolmason`."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).parents[2]


class Hook(BuildHookInterface[Any]):
    """Adds them to a build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  hatchling's interface
        """Add them to the data of the build."""
        checkout = runpy.run_path(str(ROOT / "hatch_build.py"))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        base = frozenset(project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
        build_data["force_include"].update(checkout["toolkit_files"](ROOT, base))
        build_data["dependencies"].append(f"toolmason=={self.metadata.version}")
