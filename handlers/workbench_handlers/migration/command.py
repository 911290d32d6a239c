"""`toolmason-workbench migrate-commands`: show the plan, and rename files with `--apply`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

from toolmason_runtime import ToolError, prefix_from_environment, server_files
from toolmason_runtime.install import InstallError, command_directories, load_facts, printable, project_directory

from workbench_handlers.migration.plan import Step, plan_migration, prefixed_names
from workbench_handlers.workflows.settings import COMMAND_PREFIX_VARIABLE, DEFAULT_PREFIX

PACKAGE: Final = "workbench_server"
DONE: Final = 0
FAILED: Final = 1
REFUSED: Final = 4


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0, 1 if a file could not be renamed, 2 for wrong usage, 4 for a refusal."""
    options = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # The encoding may lack characters of a path.
    try:
        steps = _plan(options)
    except (InstallError, ToolError, ValueError) as error:
        sys.stderr.write(f"migrate-commands: {printable(str(error))}\n")
        return REFUSED
    if not steps:
        _print("There is no command file of Workbench without a prefix.")
        return DONE
    failures = [not _run(step, is_applied=options.apply) for step in steps]
    if not options.apply and not all(step.reason for step in steps):
        _print("Nothing was renamed. Run it again with --apply.")
    return FAILED if any(failures) else DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolmason-workbench migrate-commands",
        description="Rename the command files of Workbench that were written without a prefix, in the directories of"
        " all clients. Edited files and files from other sources stay, and no file is overwritten.",
        epilog=f"{COMMAND_PREFIX_VARIABLE} is the prefix of files that setup_workflows has written (default:"
        f" {DEFAULT_PREFIX}). Exit codes: 0 done, 1 a file could not be renamed, 2 wrong usage, 4 refused.",
        allow_abbrev=False,
    )
    parser.add_argument("--apply", action="store_true", help="rename the files instead of showing the plan")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--project", metavar="DIR", help="the project (default: the one of the current directory)")
    place.add_argument(
        "--scope", choices=("user", "project"), default="project", help="commands of the user or project"
    )
    return parser


def _plan(options: argparse.Namespace) -> list[Step]:
    """Return the steps.

    Raises:
        InstallError: the project does not exist, or its directory of commands is a link out of it.
        ValueError: the prefix is invalid.
        ToolError: a client would run, read or replace a part of a command with the prefix.
    """
    prefix = prefix_from_environment(COMMAND_PREFIX_VARIABLE, DEFAULT_PREFIX)
    for warning in prefix.warnings:
        sys.stderr.write(f"{printable(warning)}\n")
    project = project_directory(options.project)
    facts, data = load_facts(PACKAGE), server_files(PACKAGE)
    directories = command_directories(facts, data, options.scope, project, os.environ)
    catalogue: dict[str, Any] = json.loads(files(PACKAGE).joinpath("catalogue.json").read_text(encoding="utf-8"))
    return list(plan_migration(directories, prefixed_names(catalogue), prefix.text))


def _run(step: Step, *, is_applied: bool) -> bool:
    """Apply a step if `is_applied`, and print it. Return whether it succeeded."""
    path = step.directory.path / step.name
    if step.reason:
        _print(f"{path} stays: {step.reason}.")
        return True
    if is_applied:
        try:
            step.apply()
        except InstallError as error:
            _print(f"{path} stays: {error}.")
            return False
    _print(f"{path} -> {step.target}")
    return True


def _print(line: str) -> None:
    sys.stdout.write(f"{printable(line)}\n")


if __name__ == "__main__":
    sys.exit(main())
