"""`toolmason-workbench doctor`: check the setup of research tools, and print the configuration of clients."""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, TextIO

from workbench_handlers.doctor.checks import run_checks
from workbench_handlers.doctor.client_files import ClientFile, client_files, client_names
from workbench_research.doctor.check import Check, Status
from workbench_research.doctor.checks import COMMAND

READY: Final = 0
TO_FIX: Final = 1
INTERRUPTED: Final = 130

_MARKS: Final[dict[Status, tuple[str, str, str]]] = {
    "ok": ("✓", "[ok]", "32"),
    "warning": ("!", "[!]", "33"),
    "error": ("✗", "[x]", "31"),
    "skipped": ("-", "[-]", "2"),
}
"""Each status: its mark, the mark in ASCII, and its colour (the code of SGR)."""
_DEFAULT_CLIENTS: Final = ("claude-code", "vscode", "gemini-cli")
"""The clients whose configuration is printed by default."""
_NOT_INTERACTIVE: Final = "there is no terminal to confirm it; --yes asks without confirmation"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 0 if nothing is to be fixed, 1 if something is, 2 for wrong usage."""
    options = _parser().parse_args(argv)
    # Failures are printed as checks.
    for package in ("workbench_handlers", "workbench_research"):
        logging.getLogger(package).addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path may contain characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(options, os.environ, Path.cwd())
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Python would report the closed pipe again when it flushes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Check whether research tools work here, and print how to fix them. Changes nothing.",
        epilog="Exit codes: 0 nothing to fix, 1 something to fix, 2 wrong usage.",
        allow_abbrev=False,
    )
    parser.add_argument("-y", "--yes", action="store_true", help="ask the model a test question without confirmation")
    parser.add_argument("--no-test", action="store_true", help="do not ask the model")
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    names = client_names()
    parser.add_argument(
        "--client",
        action="append",
        choices=names,
        default=[],
        metavar="NAME",
        help=f"show the configuration of this client; repeatable: {', '.join(names)}",
    )
    return parser


def _run(options: argparse.Namespace, environ: Mapping[str, str], directory: Path) -> int:
    page = _Page(sys.stdout, environ)

    def reason_not_to_ask() -> str:
        if options.no_test:
            return "--no-test"
        is_terminal = not options.json and sys.stdout.isatty()
        if not options.yes:
            if not (is_terminal and sys.stdin and sys.stdin.isatty()):
                return _NOT_INTERACTIVE
            if not _confirm():
                return "you declined"
        if is_terminal:
            page.line("Asking the model ...")
        return ""

    checks = []
    for check in run_checks(environ, directory, reason_not_to_ask):
        checks.append(check)
        if not options.json:
            page.check(check)
    is_ready = all(check.status != "error" for check in checks)
    files = client_files(environ, directory)
    if options.json:
        clients = {name: file._asdict() for name, file in files.items() if name in (options.client or files)}
        report = {"ready": is_ready, "checks": [asdict(check) for check in checks], "clients": clients}
        page.line(json.dumps(report, indent=2))
    else:
        page.line()
        page.line("Setup complete." if is_ready else f"Fix the errors above and run `{COMMAND}` again.")
        names = options.client or (_DEFAULT_CLIENTS if is_ready else ())
        page.clients({name: files[name] for name in names}, [name for name in files if name not in names])
    return READY if is_ready else TO_FIX


def _confirm() -> bool:
    """Ask before the question to the model, which is billed."""
    sys.stdout.write("One short question is sent to the model. It is billed like any other.\n")
    while True:
        sys.stdout.write("Ask it now? [Y/n] ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stdout.write("\n")
            return False
        if (answer := line.strip().lower()) in {"", "y", "yes", "n", "no"}:
            return not answer.startswith("n")


class _Page:
    """Prints checks and configurations, in colour on a terminal unless `NO_COLOR` is set (https://no-color.org)."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        self._stream = stream
        is_terminal = stream.isatty() and environ.get("TERM") != "dumb"
        self._has_colour = is_terminal and not environ.get("NO_COLOR")
        self._has_marks = _can_encode("✓✗", stream)
        self._width = min(max(shutil.get_terminal_size().columns, 40), 100) if is_terminal else 80

    def line(self, text: str = "") -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def check(self, check: Check) -> None:
        mark, plain, colour = _MARKS[check.status]
        visible_mark = mark if self._has_marks else plain
        first, *rest = self._wrap(check.message, len(visible_mark) + 1)
        painted = f"\x1b[{colour}m{visible_mark}\x1b[0m" if self._has_colour else visible_mark
        self.line(f"{painted} {first}")
        for line in (*rest, *(line for text in check.fix.splitlines() for line in self._wrap(text, 4))):
            self.line(f"    {line}")

    def clients(self, files: dict[str, ClientFile], others: Sequence[str]) -> None:
        if not files:
            return
        self.line("\nAdd the server to your client with `toolmason-workbench install NAME`, or by hand:\n")
        for name, file in files.items():
            self.line(f"{name}: {file.path}")
            self.line(textwrap.indent(file.content, "    "))
        self.line("A client that is started from the desktop does not have the variables of your shell, such as")
        self.line("GEMINI_API_KEY: set them under `env` in its configuration. Then restart the client and ask it:")
        self.line('"Which tools does Workbench have?"')
        if others:
            self.line(f"\nOther clients: {COMMAND} --client NAME, with one of {', '.join(others)}")

    def _wrap(self, text: str, indent: int) -> list[str]:
        if text.startswith("  "):
            return [text]
        return textwrap.wrap(text, self._width - indent, break_long_words=False, break_on_hyphens=False) or [""]


def _can_encode(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
