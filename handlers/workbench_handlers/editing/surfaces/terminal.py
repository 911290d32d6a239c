"""Decide reviews in a terminal: the facts, a coloured diff, and a prompt for each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore
from workbench_handlers.editing.surfaces.editor import split_command
from workbench_handlers.editing.surfaces.person_text import decide, facts, status_text
from workbench_handlers.editing.text.diff import reveal, unified_diff
from workbench_handlers.editing.text.selection import count_parts, select_parts

PROMPT: Final = "[a]pprove, [p]arts, [e]dit, [c]omment, [r]eject, [s]kip, [q]uit, [?] "
HELP: Final = """\
a  approve: write the proposed change
p  parts: choose the files and the changes to write; the others stay as they are
e  edit the proposed text in $VISUAL or $EDITOR; the model receives your text and can commit it
c  comment: send the proposal back with a comment
r  reject: nothing is changed
s  skip: decide later
q  quit: the remaining reviews stay pending
"""

_WORDS: Final = ("approve", "parts", "edit", "comment", "reject", "skip", "quit")
_KEYS: Final = {text: word[0] for word in _WORDS for text in (word, word[0])}
"""The answers to the prompt. Another word, such as `abort`, decides nothing."""
_YES: Final = ("y", "yes")
_BOLD, _RED, _GREEN, _CYAN = "1", "31", "32", "36"
_DEFAULT_EDITOR: Final = "notepad" if os.name == "nt" else "vi"


class Terminal:
    """Prints lines, in colour on a terminal unless `NO_COLOR` is set (https://no-color.org), and reads answers."""

    def __init__(self, source: TextIO, target: TextIO, environ: Mapping[str, str]) -> None:
        self._source, self._target, self.environ = source, target, environ
        self.is_interactive = source.isatty() and target.isatty()
        self._has_colour = target.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")

    def line(self, text: str = "", colour: str = "") -> None:
        """Print a line."""
        painted = f"\x1b[{colour}m{text}\x1b[0m" if colour and text and self._has_colour else text
        self._target.write(f"{painted}\n")
        self._target.flush()

    def ask(self, question: str) -> str | None:
        """Print a question and return the answer without surrounding whitespace; None at the end of the input."""
        self._target.write(question)
        self._target.flush()
        answer = self._source.readline()
        if not answer:
            self.line()
            return None
        return answer.strip()

    def discard_typed(self) -> None:
        """Discard what was typed before a review is shown: the later lines of a pasted comment must not decide it."""
        if not self._source.isatty() or sys.platform == "win32":
            return
        import termios

        with suppress(termios.error):
            termios.tcflush(self._source.fileno(), termios.TCIFLUSH)


def show_review(terminal: Terminal, store: ReviewStore, review: Review) -> None:
    """Print the facts of a review and its diff."""
    terminal.line()
    terminal.line(f"Review {review.id}", _BOLD)
    for label, text in facts(review):
        terminal.line(f"  {label + ':':<10} {text}")
    terminal.line()
    for index, file in enumerate(review.files):
        if index:
            terminal.line()
        sides = store.original(review, index), store.proposed(review, index)
        show_diff(terminal, unified_diff(*sides, file.shown, codec=file.encoding))


def show_diff(terminal: Terminal, diff: str) -> None:
    """Print a unified diff, whose control characters are already visible."""
    is_header = True
    # `splitlines` would also split at the form feed and at the line separator of Unicode.
    for line in diff.removesuffix("\n").split("\n"):
        is_header = is_header and not line.startswith("@@")
        colours = {"@": _CYAN, "+": _GREEN, "-": _RED}
        terminal.line(line, _BOLD if is_header else colours.get(line[:1], ""))


def decide_all(terminal: Terminal, store: ReviewStore) -> None:
    """Ask about each pending review in order, until all are decided or skipped, or the person quits."""
    skipped: set[str] = set()
    while reviews := [review for review in store.pending() if review.id not in skipped]:
        if len(reviews) > 1:
            terminal.line()
            terminal.line(f"{len(reviews)} reviews are pending.")
        if not decide_review(terminal, store, reviews[0]):
            break
        skipped.add(reviews[0].id)
    terminal.line()
    remaining = len(store.pending())
    terminal.line(f"{remaining} pending." if remaining else "No reviews are pending.")


def decide_review(terminal: Terminal, store: ReviewStore, review: Review) -> bool:
    """Show a review and ask until it is decided or skipped. Return False if the person quits."""
    terminal.discard_typed()
    show_review(terminal, store, review)
    while True:
        answer = terminal.ask(PROMPT)
        key = "q" if answer is None else _KEYS.get(answer.lower(), "?")
        decision = None
        if key in {"q", "s"}:
            return key == "s"
        if key == "a":
            decision = Decision("approve", "terminal")
        elif key == "r":
            decision = Decision("reject", "terminal")
        elif key == "c":
            comment = terminal.ask("Comment (empty: none): ")
            decision = Decision("comment", "terminal", comment=comment) if comment else None
        elif key == "p":
            decision = _choose_parts(terminal, store, review)
        elif key == "e":
            decision = _edit(terminal, store, review)
        else:
            terminal.line(HELP.rstrip())
        if decision is not None:
            _carry_out(terminal, store, review, decision)
            return True


def _carry_out(terminal: Terminal, store: ReviewStore, review: Review, decision: Decision) -> None:
    try:
        terminal.line(decide(store, review, decision), _BOLD)
    except ToolError as error:
        terminal.line(f"{status_text(store, review)} {reveal(error.message)}", _RED)


def _edit(terminal: Terminal, store: ReviewStore, review: Review) -> Decision | None:
    """Open the proposed text in the person's editor; None if it was not changed or the editor failed."""
    environ = terminal.environ
    setting = environ.get("VISUAL") or environ.get("EDITOR") or _DEFAULT_EDITOR
    words = split_command(setting)
    if not words:  # otherwise the proposed text would be executed
        terminal.line(f"`{reveal(setting, keep='')}` is not a command. Set $EDITOR.", _RED)
        return None
    proposed = [store.proposed(review, index) for index in range(len(review.files))]
    with tempfile.TemporaryDirectory(prefix="review-", ignore_cleanup_errors=True) as directory:
        copies = [Path(directory, str(index), file.parts[-1]) for index, file in enumerate(review.files)]
        for copy, data in zip(copies, proposed, strict=True):
            copy.parent.mkdir()
            copy.write_bytes(data)
        try:
            code = subprocess.run([*words, *map(str, copies)], check=False).returncode  # noqa: S603  no shell
            saved = [copy.read_bytes() for copy in copies]
        except OSError as error:
            terminal.line(f"`{reveal(setting, keep='')}` does not work: {error.strerror}. Set $EDITOR.", _RED)
            return None
    if code:
        terminal.line(f"The editor ended with exit code {code}: nothing was decided.", _RED)
        return None
    if saved == proposed:
        terminal.line("The text was not changed.")
        return None
    return Decision("edit", "terminal", texts=dict(enumerate(saved)))


def _choose_parts(terminal: Terminal, store: ReviewStore, review: Review) -> Decision | None:
    """Ask about each file and each change of it; None if the person stops, or there is nothing to choose."""
    sides = [(store.original(review, index), store.proposed(review, index)) for index in range(len(review.files))]
    codecs = [file.encoding for file in review.files]
    counts = [count_parts(*side, codec) for side, codec in zip(sides, codecs, strict=True)]
    if sum(counts) == 1:
        terminal.line("There is one change: approve or reject it.")
        return None
    texts: dict[int, bytes | None] = {}
    written = 0
    for index, (old, new) in enumerate(sides):
        chosen = _choose_in_file(terminal, review, index, (old, new))
        if chosen is None:
            terminal.line("Nothing was decided.")
            return None
        texts[index] = select_parts(old, new, chosen, codecs[index])
        written += len(chosen)
    if not written:
        terminal.line("No change is chosen. Reject the proposal instead.")
        return None
    answer = terminal.ask(f"Write {written} of {sum(counts)} changes? [y/N] ")
    if (answer or "").lower() not in _YES:
        terminal.line("Nothing was decided.")
        return None
    return Decision("approve", "terminal", texts=texts)


def _choose_in_file(
    terminal: Terminal, review: Review, index: int, sides: tuple[bytes | None, bytes]
) -> set[int] | None:
    """Return the numbers of the chosen changes of a file; None if the person stops."""
    old, new = sides
    shown, codec = review.files[index].shown, review.files[index].encoding
    count = count_parts(old, new, codec)
    every = set(range(count))
    if review.more:
        terminal.line()
        terminal.line(f"File {index + 1} of {len(review.files)}: {reveal(shown, keep='')}", _BOLD)
        show_diff(terminal, _hunks(unified_diff(old, new, shown, codec=codec)))
        by_change = ", [c]hange by change" if count > 1 else ""
        answer = _ask_key(terminal, f"Write this file? [y]es, [n]o{by_change}, [q]uit ", "ync" if by_change else "yn")
        if answer != "c":
            return {"y": every, "n": set()}.get(answer)
    chosen = set()
    for number in range(count):
        terminal.line()
        part = select_parts(old, new, {number}, codec)
        show_diff(terminal, _hunks(unified_diff(old, part, shown, codec=codec)))
        answer = _ask_key(terminal, f"Change {number + 1} of {count}: write it? [y]es, [n]o, [q]uit ", "yn")
        if answer == "q":
            return None
        chosen |= {number} if answer == "y" else set()
    return chosen


def _ask_key(terminal: Terminal, question: str, keys: str) -> str:
    """Ask until the answer is one of the keys or its word, or `q`, which is the answer at the end of the input too."""
    words = {"yes": "y", "no": "n", "change": "c", "quit": "q"}
    while True:
        answer = terminal.ask(question)
        key = "q" if answer is None else words.get(answer.lower(), answer.lower())
        if key and key in {*keys, "q"}:
            return key


def _hunks(diff: str) -> str:
    """Return a unified diff without the names of the files."""
    return diff[diff.find("@@") :] if "@@" in diff else diff
