"""`toolmason-workbench review`: decide the edits that a model proposed, in the terminal or on a local web page."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Sequence
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.settle import recover, settle, undo
from workbench_handlers.editing.reviews.state_files import check_state, reviews_directory
from workbench_handlers.editing.reviews.store import Review, ReviewStore
from workbench_handlers.editing.surfaces.person_text import age_text, awaits_decision, status_text
from workbench_handlers.editing.surfaces.terminal import (
    Terminal,
    decide_all,
    decide_review,
    show_diff,
    show_review,
)
from workbench_handlers.editing.text.diff import reveal, unified_diff

COMMAND: Final = "toolmason-workbench review"
DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
NO_TERMINAL: Final = f"there is no terminal to decide in; run `{COMMAND}` in one, or use --web"

_WRITTEN: Final = frozenset({"COMMITTED", "AUTO_APPROVED"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 0 done, 1 failed or reviews are left, 2 wrong usage."""
    options = _parser().parse_args(argv)
    # The terminal's encoding may lack characters of a path, and typed text may be invalid in it.
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    try:
        return _run(options, Terminal(sys.stdin, sys.stdout, os.environ))
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted: undecided reviews stay pending\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Python would report the closed pipe again when it flushes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except ToolError as error:
        return _fail(reveal(error.message))
    except OSError as error:
        return _fail(f"{reveal(str(error.filename or 'the reviews'), keep='')}: {error.strerror}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Show the edits that models proposed, and approve, edit, comment or reject each.",
        epilog="Exit codes: 0 done; 1 failed, or no terminal to decide the pending reviews in; 2 wrong usage.",
        allow_abbrev=False,
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="one review; without it, all pending ones in order")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list the pending reviews")
    action.add_argument("--web", action="store_true", help="review on a web page of this machine; Ctrl-C ends it")
    action.add_argument(
        "--undo",
        nargs="?",
        const="",
        metavar="ID",
        help="restore the file of a committed review; without ID, list them",
    )
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port of --web; default: a free one")
    parser.add_argument("-y", "--yes", action="store_true", help="undo without confirmation")
    return parser


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("must be a number from 0 to 65535")
    return int(text)


def _run(options: argparse.Namespace, terminal: Terminal) -> int:
    if problem := _usage_problem(options):
        return _fail(problem, USAGE)
    check_state(terminal.environ)
    store = ReviewStore(reviews_directory(terminal.environ))
    recover(store)
    if options.undo is not None:
        return _undo(options, terminal, store) if options.undo else _list_written(terminal, store)
    if options.list:
        return _list(terminal, store.pending(), "No reviews are pending.")
    if options.id is not None and store.get(options.id) is None:
        return _fail(f"no review `{reveal(options.id, keep='')}`; `{COMMAND} --list` lists the pending ones")
    if options.web:
        return _serve(terminal, store, options)
    return _review_one(terminal, store, options.id) if options.id else _review_all(terminal, store)


def _usage_problem(options: argparse.Namespace) -> str:
    """Return the part of a command line that has no effect; empty if there is none."""
    if options.id and (options.list or options.undo is not None):
        return "ID cannot be combined with --list; to undo a review, write its ID after --undo"
    if options.port and not options.web:
        return "--port needs --web"
    return "--yes needs --undo ID" if options.yes and not options.undo else ""


def _review_all(terminal: Terminal, store: ReviewStore) -> int:
    reviews = store.pending()
    if not reviews or terminal.is_interactive:
        decide_all(terminal, store)
        return DONE
    _list(terminal, reviews, "")
    return _fail(NO_TERMINAL)


def _review_one(terminal: Terminal, store: ReviewStore, review_id: str) -> int:
    review = store.get(review_id)
    if review is None:
        return _fail("the review was removed")
    settle(store, review)  # an approval whose text could not be written
    is_pending = awaits_decision(store, review)
    if is_pending and terminal.is_interactive:
        decide_review(terminal, store, review)
        return DONE
    show_review(terminal, store, review)
    terminal.line(status_text(store, review))
    return _fail(NO_TERMINAL) if is_pending else DONE


def _list(terminal: Terminal, reviews: Sequence[Review], empty: str) -> int:
    """Print a table of reviews."""
    rows = [(review.id, age_text(review), review.mode, _files(review)) for review in reviews]
    if not rows:
        terminal.line(empty)
        return DONE
    table = [("ID", "PROPOSED", "MODE", "FILE"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for *cells, path in table:
        terminal.line("  ".join([*(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)), path]))
    return DONE


def _files(review: Review) -> str:
    """Return the path of the first file, and how many follow."""
    more = f" and {len(review.more)} more" if review.more else ""
    return f"{reveal(review.path, keep='')}{more}"


def _list_written(terminal: Terminal, store: ReviewStore) -> int:
    written = [review for review in store.recent() if store.status(review) in _WRITTEN]
    return _list(terminal, written, "No review was committed lately.")


def _undo(options: argparse.Namespace, terminal: Terminal, store: ReviewStore) -> int:
    review = store.get(options.undo)
    if review is None:
        return _fail(f"no review `{reveal(options.undo, keep='')}`; `{COMMAND} --undo` lists the committed ones")
    if not options.yes:
        if not terminal.is_interactive:
            return _fail("there is no terminal to confirm it; add --yes", USAGE)
        for index, file in enumerate(review.files):
            written, original = store.final(review, index), store.original(review, index)
            show_diff(terminal, unified_diff(written, original, file.shown, codec=file.encoding))
        answer = terminal.ask(f"Restore {_files(review)}? [y/N] ")
        if (answer or "").lower() not in {"y", "yes"}:
            terminal.line("Nothing was changed.")
            return FAILED
    terminal.line(reveal(undo(store, review.id)))
    return DONE


def _serve(terminal: Terminal, store: ReviewStore, options: argparse.Namespace) -> int:
    from workbench_handlers.editing.surfaces.pages import serve_pages

    async def serve() -> None:
        async with serve_pages(store, port=options.port) as pages:
            terminal.line(f"Review at {pages.url(options.id)}")
            terminal.line("The address is for you alone. Ctrl-C ends the page; undecided reviews stay pending.")
            await asyncio.Event().wait()

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        terminal.line()
    except OSError as error:
        return _fail(f"port {options.port} of this machine is not available: {error.strerror}")
    return DONE


def _fail(message: str, code: int = FAILED) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"{COMMAND}: {message}\n")
    return code
