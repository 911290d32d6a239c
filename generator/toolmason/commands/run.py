"""`toolmason run`."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Final

import click

from toolmason.commands.options import CommandLineError, find_current_project, split_manifest
from toolmason.project import Project

_YAML: Final = (".yaml", ".yml")
_RISKS: Final = ("read", "destructive")
_DEFAULT_RISK: Final = "destructive"
_INSTALL: Final = "install"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--unstated-risk",
    type=click.Choice(_RISKS),
    default=_DEFAULT_RISK,
    show_default=True,
    help="Risk of tools of a CLImax file that state none. CLImax itself uses `read`.",
)
@click.argument("arguments", metavar="[FILE] [SERVER ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...], unstated_risk: str) -> None:
    """Run a server without installing it.

    FILE is a manifest, or one or more YAML files of CLImax. If its project has no generated/, the server is generated
    in a temporary directory, and nothing is written to the project. Without FILE, the project is that of the working
    directory.

    This runs the project's code in generated/ and handlers/: use it only for projects you trust. With generated/, run
    `toolmason generate` after changes of the manifest.

    Other arguments are passed to the server: `toolmason run --classic`; `toolmason run -- --help` lists them. With a
    CLImax file, `--policy` can be a policy file of CLImax.
    """
    from toolmason.commands.serve import ServeError, is_generated, serve

    yaml_files, rest = _split_yaml(arguments)
    try:
        if yaml_files:
            code = _serve_climax(yaml_files, rest, unstated_risk)
        else:
            manifest, server_arguments = split_manifest(arguments)
            project = find_current_project(manifest)
            code = (
                serve(project, server_arguments)
                if manifest is None or is_generated(project)
                else _serve_manifest(project, server_arguments)
            )
    except ServeError as error:
        raise CommandLineError(str(error)) from error
    sys.exit(code)


def _split_yaml(arguments: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """Return the YAML files at the start of the arguments, and the other arguments."""
    count = next((at for at, text in enumerate(arguments) if not text.endswith(_YAML)), len(arguments))
    return [Path(text) for text in arguments[:count]], list(arguments[count:])


def _serve_manifest(project: Project, arguments: tuple[str, ...]) -> int:
    from toolmason.commands.serve import serve_package
    from toolmason.commands.temporary_server import temporary_directory, write_server

    with temporary_directory() as directory:
        generated = write_server(project, directory, manifest=project.manifest)
        return serve_package(project, generated, arguments)


def _serve_climax(files: list[Path], arguments: list[str], unstated_risk: str) -> int:
    from toolmason.commands.serve import serve_package
    from toolmason.commands.temporary_server import convert_climax, temporary_directory, write_server

    unstated_risk = _take(arguments, "--unstated-risk") or unstated_risk
    if unstated_risk not in _RISKS:
        raise click.UsageError(f"--unstated-risk is `read` or `destructive`, not `{unstated_risk}`")
    policy = next((text for name, text in _options(arguments) if name == "--policy" and text.endswith(_YAML)), "")
    with temporary_directory() as directory:
        project, rules = convert_climax(
            files, directory, policy=Path(policy) if policy else None, unstated_risk=unstated_risk
        )
        further = [str(file.absolute()) for file in files[1:]]
        if unstated_risk != _DEFAULT_RISK:
            further.append(f"--unstated-risk={unstated_risk}")
        if rules:
            _take(arguments, "--policy")
            further.append(f"--policy={Path(policy).absolute()}")
            if _INSTALL not in arguments[:1]:
                arguments = ["--policy", str(rules), *arguments]
        generated = write_server(project, directory, manifest=files[0].absolute(), run_arguments=further)
        return serve_package(project, generated, arguments)


def _options(arguments: list[str]) -> list[tuple[str, str]]:
    """Return the options with a value: `--name value` and `--name=value`."""
    pairs = [(name, value) for name, value in pairwise(arguments) if name.startswith("--")]
    joined = [tuple(text.split("=", 1)) for text in arguments if text.startswith("--") and "=" in text]
    return [*pairs, *((name, value) for name, value in joined)]


def _take(arguments: list[str], name: str) -> str:
    """Remove an option from the arguments and return its value; empty without it."""
    for at, text in enumerate(arguments):
        if text.startswith(f"{name}="):
            del arguments[at]
            return text.partition("=")[2]
        if text == name and at + 1 < len(arguments):
            value = arguments[at + 1]
            del arguments[at : at + 2]
            return value
    return ""
