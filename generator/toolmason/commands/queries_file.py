"""The file of queries of `toolmason eval` and `toolmason report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolmason.commands.options import ExitCode, exit_with, print_findings, working_directory

if TYPE_CHECKING:
    from toolmason_runtime.shared.catalogue import Catalogue

    from toolmason.evaluation.queries import Query


def read_queries(path: Path, table: Catalogue | None, root: Path) -> tuple[Query, ...]:
    """Return the queries of a file, or print its errors and exit."""
    from toolmason.diagnostics import Diagnostics
    from toolmason.evaluation.queries import load_queries
    from toolmason.manifest.input_files import is_inside

    diagnostics = Diagnostics()
    file = working_directory() / path
    queries = load_queries(file, table, root=root if is_inside(file, root) else file.parent, diagnostics=diagnostics)
    if diagnostics.found:
        print_findings(diagnostics, "text")
        exit_with(ExitCode.FINDINGS)
    return queries
