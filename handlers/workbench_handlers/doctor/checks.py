"""The checks of `toolmason-workbench doctor`, and those that the server runs when it starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from workbench_handlers.editing.reviews.state_files import STATE_VARIABLE, state_problem
from workbench_research.doctor import checks as research
from workbench_research.doctor.check import Check


def startup_report() -> list[Check]:
    """Return the problems that the server logs when it starts."""
    directory = Path.cwd()
    problems = research.setup_problem(os.environ, directory), reviews_check(os.environ, directory)
    return [problem for problem in problems if problem]


def run_checks(environ: Mapping[str, str], directory: Path, reason_not_to_ask: Callable[[], str]) -> Iterator[Check]:
    """Run all checks in order, each as the caller asks for it. See `research.run_checks` for `reason_not_to_ask`."""
    from toolmason_runtime.programs import isolation_warnings

    yield from research.run_checks(environ, directory, reason_not_to_ask)
    if warning := reviews_check(environ, directory):
        yield warning
    yield from (Check("isolation", "warning", message) for message in isolation_warnings(()))


def reviews_check(environ: Mapping[str, str], directory: Path) -> Check | None:
    """Return the error of a state directory that tools with reviews refuse; None if they accept it."""
    problem = state_problem(environ, (directory,))
    fix = f"remove {STATE_VARIABLE}, or set it to a directory outside of all projects"
    return Check("reviews", "error", problem, fix, "NO_STATE_DIRECTORY") if problem else None
