"""Everything that is compared at one size: the generated project, and the same tools by other means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.project import PACKAGE, SyntheticProject, make_project
from bench.rivals import wire_table, write_bare, write_fastmcp, write_sdk_decorators
from bench.session import Program, Room, run
from bench.synthetic import synthetic_tools

OURS = "toolmason, classic"
OURS_DEFAULT = "toolmason, default"
BARE = "bare SDK server"
DECORATORS = "SDK decorators"
FASTMCP = "FastMCP"
FASTMCP_SEARCH = "FastMCP, BM25 search"


@dataclass(frozen=True, slots=True)
class Workshop:
    """One size: its project, generated, and the servers to start."""

    size: int
    project: SyntheticProject
    programs: dict[str, Program]

    def ours(self, *arguments: str) -> Program:
        """Give the generated server with flags of its own."""
        return Program(" ".join(("toolmason", *arguments)), PACKAGE, arguments, self.project.import_path)


def workshop(room: Room, size: int, *, split_calls: bool = False) -> Workshop:
    """Lay out and generate a project of `size` tools, and write the others' programs."""
    folder = room.folder / f"tools-{size}{'-split' if split_calls else ''}"
    project = make_project(folder / "project", synthetic_tools(size), split_calls=split_calls)
    run(room, ["toolmason", "generate"], cwd=project.folder)
    others = folder / "others"
    modules = {
        BARE: write_bare(others, wire_table(project.generated)),
        DECORATORS: write_sdk_decorators(others, project.tools),
        FASTMCP: write_fastmcp(others, project.tools),
        FASTMCP_SEARCH: write_fastmcp(others, project.tools, search=True),
    }
    programs = {label: Program(label, module, (), (others,)) for label, module in modules.items()}
    programs[OURS] = Program(OURS, PACKAGE, ("--classic",), project.import_path)
    programs[OURS_DEFAULT] = Program(OURS_DEFAULT, PACKAGE, (), project.import_path)
    return Workshop(size, project, programs)


def module_folder(project: SyntheticProject) -> Path:
    """Give the folder of the generated package."""
    return project.generated / PACKAGE
