"""`workbench init`: look whether research tools can work here, say what to do if not, and how to add the server."""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench_handlers.model_backends.choice import COMMANDS, without_projects
from workbench_handlers.setup.auth import KEY_PAGE, TITLES, Auth
from workbench_handlers.setup.checks import AGY_PAGE, GEMINI_PAGE, INSTALL_GEMINI
from workbench_handlers.setup.clients import CLIENTS, here
from workbench_handlers.setup.configuration import Environ
from workbench_handlers.setup.survey import (
    Installation,
    Setup,
    Trial,
    find_auth_of,
    find_installation,
    refused,
    try_out,
    warnings_of,
)
from workbench_handlers.setup.terminal import Page

if TYPE_CHECKING:
    from workbench_handlers.model_backends.adapter import Program

PROG: Final = "workbench init"
READY: Final = 0
TO_FIX: Final = 1
INTERRUPTED: Final = 130

_SHOWN: Final = CLIENTS[:3]
"""The clients whose configuration is shown unasked."""
_NOBODY: Final = "nobody is there to agree to it; --yes asks the model all the same"
_AUTH_PAGE: Final = "https://geminicli.com/docs/get-started/authentication/"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 if all is well, 1 if there is something to fix, 2 for wrong usage."""
    chosen = _parser().parse_args(argv)
    environ, folder = os.environ, Path.cwd()
    # What goes wrong is told here, and once.
    logging.getLogger("workbench").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path may hold what the terminal cannot show.
            stream.reconfigure(errors="backslashreplace")
    try:
        return _machine(chosen, environ, folder) if chosen.json else _person(chosen, environ, folder)
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read it has seen enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Check whether research tools can work here, and say what to do if not. Nothing is changed.",
        epilog="Exit status: 0 all is well, 1 there is something to fix, 2 wrong usage.",
        allow_abbrev=False,
    )
    parser.add_argument("-y", "--yes", action="store_true", help="ask the model the test question without asking you")
    parser.add_argument("--no-test", action="store_true", help="do not ask the model anything")
    parser.add_argument("--json", action="store_true", help="print a report for programs, and nothing else")
    parser.add_argument(
        "--client",
        action="append",
        choices=CLIENTS,
        default=[],
        metavar="NAME",
        help=f"show the configuration of this client, repeatable: {', '.join(CLIENTS)}",
    )
    return parser


# For a program


def _machine(chosen: argparse.Namespace, environ: Environ, folder: Path) -> int:
    installation = find_installation(without_projects(environ, (folder,)))
    auth = find_auth_of(environ, folder, installation)
    trial = _left_out(installation, auth, chosen, environ)
    if trial is None:
        program = installation.program if chosen.yes else None
        trial = try_out(program, environ, folder) if program else Trial(outcome="skipped", reason=_NOBODY)
    names = chosen.client or CLIENTS
    known = here(environ, folder)
    setup = Setup(
        installation=installation,
        auth=auth,
        trial=trial,
        warnings=warnings_of(installation, environ),
        clients={name: known[name] for name in CLIENTS if name in names},
    )
    sys.stdout.write(json.dumps(setup.as_data(), indent=2) + "\n")
    sys.stdout.flush()
    return READY if setup.is_ready else TO_FIX


def _left_out(installation: Installation, auth: Auth, chosen: argparse.Namespace, environ: Environ) -> Trial | None:
    """Say why the model is not asked in any case; None if it may be."""
    if trial := refused(environ):
        return trial
    if installation.problem:
        return Trial(outcome="skipped", reason="there is no program to ask")
    if auth.configured is False:
        return Trial(outcome="skipped", reason="it is not authenticated")
    return Trial(outcome="skipped", reason="--no-test was given") if chosen.no_test else None


# For a person


def _person(chosen: argparse.Namespace, environ: Environ, folder: Path) -> int:
    page = Page.of(sys.stdout, environ)
    page.line()
    page.heading("Workbench setup")
    page.line()
    _step(page, 1, "The program that reads for you")
    installation = find_installation(without_projects(environ, (folder,)))
    _say_installation(page, installation)
    _step(page, 2, "Authentication")
    auth = find_auth_of(environ, folder, installation)
    _say_auth(page, auth, installation)
    _step(page, 3, "Test question")
    trial = _left_out(installation, auth, chosen, environ) or _tried(
        page, installation.program, chosen, environ, folder
    )
    _say_trial(page, trial)
    if trial.code == "AUTH_MISSING":
        _say_ways(page, installation)
    warnings = warnings_of(installation, environ)
    setup = Setup(installation=installation, auth=auth, trial=trial, warnings=warnings)
    if not setup.is_ready:
        _say_unfinished(page)
        if chosen.client:
            _say_clients(page, chosen.client, environ, folder)
        return TO_FIX
    for warning in warnings:
        _say_warning(page, warning)
    page.heading("Setup complete" if trial.outcome == "passed" else "Nothing to fix", "green")
    page.line()
    _say_clients(page, chosen.client, environ, folder)
    return READY


def _step(page: Page, number: int, title: str) -> None:
    page.line(f"{page.paint(f'[{number}/3]', 'cyan')} {page.paint(title, 'bold')}")


def _say_installation(page: Page, found: Installation) -> None:
    if not found.problem:
        title = "Gemini CLI" if found.name == "gemini" else found.name
        page.say("good", f"{title} {found.version} at {found.path}")
        page.line()
        return
    page.say("bad", found.problem)
    page.line()
    page.text("Gemini CLI, with an API key or an enterprise account:")
    page.code(INSTALL_GEMINI)
    page.text(GEMINI_PAGE, 6)
    page.line()
    _say_agy(page, "Or agy 1.1.13 or later, with a personal Google account:")
    page.line()
    page.text(f"If it is not on PATH: {' or '.join(COMMANDS.values())} names the executable.")
    page.line()


def _install_agy() -> str:
    if sys.platform == "win32":
        return "irm https://antigravity.google/cli/install.ps1 | iex"
    return "curl -fsSL https://antigravity.google/cli/install.sh | bash"


def _say_auth(page: Page, auth: Auth, installation: Installation) -> None:
    title = TITLES[auth.method]
    if auth.configured:
        page.say("good", f"{title}: {auth.found}")
    elif auth.configured is None:
        page.say("mind", f"{title}: {auth.found}; whether it works is seen when it is used")
    else:
        page.say("bad", f"not authenticated: {auth.hint}")
        page.line()
        _say_ways(page, installation)
        return
    if auth.hint:
        page.text(f"{auth.hint[0].upper()}{auth.hint[1:]}.")
    page.line()


def _say_ways(page: Page, installation: Installation) -> None:
    page.text("Option 1: an API key (recommended; it is paid by what is used)")
    page.text(f"- Get one: {KEY_PAGE}", 6)
    page.code(f'{_export().format("GEMINI_API_KEY")}="your-key-here"', 8)
    page.text("- To keep it: add that line to ~/.bashrc or ~/.zshrc", 6)
    page.line()
    page.text("Option 2: sign in with Google (Gemini Code Assist Standard or Enterprise)")
    page.text("- Run `gemini` in a terminal and choose it; the sign-in is kept", 6)
    page.text("- Since 2026-06-18 personal accounts, free or paid, are no longer served", 6)
    page.line()
    page.text("Option 3: Vertex AI")
    page.text(f"- See {_AUTH_PAGE}", 6)
    if installation.name != "agy":
        page.line()
        _say_agy(page, "Option 4: agy instead of Gemini CLI, with a personal Google account")
    page.line()


def _say_agy(page: Page, title: str) -> None:
    page.text(title)
    page.code(_install_agy())
    page.code(f"{_export().format('WORKBENCH_BACKEND')}={_in_quotes('agy')}")
    page.text("- Run `agy` once and sign in with Google", 6)
    page.text("- It has no list of allowed tools, so less holds it to reading: that is why it must be named", 6)
    page.text(f"- {AGY_PAGE}", 6)


def _export() -> str:
    return "$env:{}" if sys.platform == "win32" else "export {}"


def _in_quotes(value: str) -> str:
    return f'"{value}"' if sys.platform == "win32" else value


def _tried(page: Page, program: Program | None, chosen: argparse.Namespace, environ: Environ, folder: Path) -> Trial:
    is_here = page.stream.isatty() and sys.stdin is not None and sys.stdin.isatty()
    if program is None or not (chosen.yes or is_here):
        return Trial(outcome="skipped", reason=_NOBODY)
    if not (chosen.yes or _agreed(page)):
        return Trial(outcome="skipped", reason="you said no")
    return try_out(program, environ, folder, page)


def _agreed(page: Page) -> bool:
    """Ask the person, since the question is paid for."""
    page.text("One short question is sent to the model. It counts as any other towards what you pay for.", 2)
    while True:
        page.stream.write(f"  {page.paint('Ask it now?', 'bold')} [Y/n] ")
        page.stream.flush()
        said = sys.stdin.readline()
        if not said:
            page.line()
            return False
        if (word := said.strip().lower()) in {"", "y", "yes"}:
            return True
        if word in {"n", "no"}:
            return False


def _say_trial(page: Page, trial: Trial) -> None:
    if trial.outcome == "passed":
        tokens = f", {trial.tokens:,} tokens" if trial.tokens else ""
        model = f"{trial.model} " if trial.model else ""
        page.say("good", f"{model}answered in {trial.seconds:.1f} s{tokens}")
    elif trial.outcome == "failed":
        page.say("bad", trial.reason)
    else:
        page.say("skipped", f"not asked: {trial.reason}")
    page.line()


def _say_unfinished(page: Page) -> None:
    page.heading("Not ready yet", "yellow")
    page.line()
    page.text(f"Fix what is marked above and run `{PROG}` again.", 0)
    page.text("Until then the server starts, and all tools work but those that ask the model.", 0)
    page.line()


def _say_warning(page: Page, warning: str) -> None:
    first, *rest = warning.splitlines()
    page.say("mind", first)
    for each in rest:
        page.text(each, 6 if each[0] in "-123" else 4)
    page.line()


def _say_clients(page: Page, wanted: Sequence[str], environ: Environ, folder: Path) -> None:
    known = here(environ, folder)
    page.line("Add the server to your client:", "bold")
    page.line()
    for name in wanted or _SHOWN:
        each = known[name]
        page.line(f"  {page.paint(each.title, 'bold')}  {page.paint(each.file, 'dim')}")
        if each.command:
            page.code(each.command, 4)
            page.text("or", 4)
        page.code(each.content, 4)
        if each.note:
            page.text(f"({each.note})")
        page.line()
    if not wanted:
        others = ", ".join(name for name in CLIENTS if name not in _SHOWN)
        page.text(f"For {others}: {PROG} --client NAME", 2)
        page.line()
    page.text('Then restart the client and ask it: "Which tools does Workbench have?"', 0)
    page.line()


if __name__ == "__main__":
    sys.exit(main())
