"""Compared programs at one size: the generated project, and the same tools in other frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers import Peers
from bench.project import PACKAGE, SyntheticProject, make_project
from bench.rivals import wire_table, write_bare, write_fastmcp, write_sdk_decorators, write_table
from bench.session import Program, Workspace, run
from bench.synthetic import synthetic_tools

OURS = "toolmason, classic"
OURS_DEFAULT = "toolmason, default"
BARE = "bare SDK server"
DECORATORS = "SDK decorators"
OURS_SDK = "toolmason, `--engine sdk`"
WORKBENCH = "Workbench"
FASTMCP = "FastMCP"
FASTMCP_SEARCH = "FastMCP, BM25 search"
MAX_VARIANTS = 1000


@dataclass(frozen=True, slots=True)
class Contestants:
    """The generated project of one size, and the servers to start."""

    size: int
    project: SyntheticProject
    programs: dict[str, Program]

    def ours(self, *arguments: str) -> Program:
        """Return the generated server with these flags."""
        return Program(" ".join(("toolmason", *arguments)), PACKAGE, arguments, self.project.import_path)


def make_contestants(workspace: Workspace, peers: Peers, size: int, *, split_calls: bool = False) -> Contestants:
    """Create and generate a project of `size` tools, and write the other programs.

    Above `MAX_VARIANTS` tools, only one program of each framework is written.
    """
    directory = workspace.directory / f"tools-{size}{'-split' if split_calls else ''}"
    project = make_project(directory / "project", synthetic_tools(size), split_calls=split_calls)
    run(workspace, ["toolmason", "generate"], cwd=project.directory)
    others = directory / "others"
    table = wire_table(project.generated)
    modules = {BARE: write_bare(others, table), FASTMCP: write_fastmcp(others, project.tools)}
    if size <= MAX_VARIANTS:
        modules[DECORATORS] = write_sdk_decorators(others, project.tools)
        modules[FASTMCP_SEARCH] = write_fastmcp(others, project.tools, search=True)
    programs = {label: Program(label, module, (), (others,)) for label, module in modules.items()}
    path = str(write_table(others, table))
    programs |= {label: Program(label, "", command=(*command, path)) for label, command in peers.commands.items()}
    programs[OURS] = Program(OURS, PACKAGE, ("--classic",), project.import_path)
    programs[OURS_DEFAULT] = Program(OURS_DEFAULT, PACKAGE, (), project.import_path)
    return Contestants(size, project, programs)


def all_programs(contestants: Sequence[Contestants]) -> dict[tuple[str, int], Program]:
    """Return the servers of all sizes, by label and number of tools."""
    return {(label, compared.size): program for compared in contestants for label, program in compared.programs.items()}


def workbench_programs(workspace: Workspace) -> dict[tuple[str, int], Program]:
    """Return Workbench and a bare server with the same tools."""
    table = wire_table(Path(__file__).parents[1] / "generated")
    directory = workspace.directory / "workbench"
    bare = Program(BARE, write_bare(directory, table), (), (directory,))
    workbench = Program(WORKBENCH, "workbench_server", ("--root", str(directory)))
    return {(BARE, len(table)): bare, (WORKBENCH, len(table)): workbench}


def package_directory(project: SyntheticProject) -> Path:
    """Return the directory of the generated package."""
    return project.generated / PACKAGE
