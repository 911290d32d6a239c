"""Build the wheel: from an sdist, only the files that a server needs; from a checkout, all files.

A release has two distributions. `toolmason` has the runtime, and the commands that name a missing extra.
`toolmason-toolkit` (`packages/toolkit/`) has the toolkit, its templates and Workbench; the extras for authors and users
of Workbench require it. A checkout, also one that pip clones, is installed as one distribution, because the other one
would come from an index, in another version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TOOLKIT: Final = "toolmason-toolkit"
EXTRAS: Final = ("research-files", "toolkit", "workbench")
"""Extras that need the toolkit or Workbench. All other extras for research include `research-files`."""
DIRECTORIES: Final[Mapping[str, str]] = {
    "generator/toolmason": "toolmason",
    "handlers/workbench_handlers": "workbench_handlers",
    "handlers/workbench_research": "workbench_research",
    "templates/toolmason_templates": "toolmason_templates",
    "generated/workbench_server": "workbench_server",
    # Files for clients are data of the server's package: `toolmason_runtime.server.package_files` finds them there.
    "generated/clients": "workbench_server/clients",
    "generated/commands": "workbench_server/commands",
    "generated/docs": "workbench_server/docs",
    "generated/plugins": "workbench_server/plugins",
    "generated/skills": "workbench_server/skills",
}
"""Directory of a checkout -> directory in the wheel with the toolkit."""


def toolkit_files(root: Path, base: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the path and the path in the wheel of each file of the toolkit and Workbench, without those of `base`."""
    for source, target in DIRECTORIES.items():
        for path in sorted((root / source).rglob("*")):
            is_base = path.relative_to(root).as_posix() in base
            if path.is_file() and path.suffix != ".pyc" and not is_base:
                yield str(path), f"{target}/{path.relative_to(root / source).as_posix()}"


class Hook(BuildHookInterface[Any]):
    """Adds the files of the toolkit and Workbench, or the requirement of their distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them to a build."""
        if self.target_name == "sdist" or Path(self.root, "PKG-INFO").is_file():  # an sdist has it
            pin = f"{TOOLKIT}=={self.metadata.version}"
            build_data["dependencies"] += [f"{pin}; extra == '{extra}'" for extra in EXTRAS]
        elif version == "standard":
            base = frozenset(self.build_config.target_config["only-include"])
            build_data["force_include"].update(toolkit_files(Path(self.root), base))
