"""The HTML of the review pages. Every text is escaped, and invisible characters are visible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from pathlib import PurePath
from typing import Any, Final

from workbench_handlers.editing.reviews.store import Review, ReviewStore
from workbench_handlers.editing.surfaces.pages.address import ReviewPages
from workbench_handlers.editing.surfaces.pages.form_text import form_text
from workbench_handlers.editing.surfaces.person_text import age_text, facts
from workbench_handlers.editing.text.diff import DiffRow, diff_rows, reveal
from workbench_handlers.editing.text.selection import count_parts

MAX_MARKED_CHARS: Final = 500
"""Maximum characters of a line in which words are compared."""
MAX_MARKED_ROWS: Final = 2_000
"""Maximum changed lines of a file in which words are compared."""
MAX_BLOCK_ROWS: Final = 200
"""Maximum lines of a block."""

_WORD: Final = re.compile(r"\w+|\s+|.")
_KEYS: Final = (
    ("j", "next change"),
    ("k", "previous change"),
    ("x", "leave the change out, or take it back in"),
    ("a", "approve: write the changes that are chosen"),
    ("e", "edit the proposed text; the model receives your text and can commit it"),
    ("c", "comment: send the proposal back"),
    ("r", "reject: nothing is changed"),
    ("n", "next review"),
    ("Ctrl+Enter", "send the edit or comment"),
    ("Esc", "close a form or this help"),
)


def list_page(reviews: Sequence[Review], pages: ReviewPages) -> str:
    """Return the page with all pending reviews, in order."""
    items = "\n".join(_list_item(review, pages) for review in reviews)
    body = f"""
<main data-base="{pages.path()}" data-pending="{" ".join(review.id for review in reviews)}">
<h1>Pending reviews</h1>
{f'<ol class="reviews">{items}</ol>' if reviews else "<p>No reviews are pending. New ones appear here.</p>"}
<p id="status" role="status" aria-live="polite"></p>
</main>"""
    return _document(f"Pending reviews ({len(reviews)})", body, pages)


@dataclass(frozen=True, slots=True)
class FileSides:
    """One file of a review: its bytes, None if it is missing, the proposed ones, and their text for a form.

    `text` is None if a form would change it. `codec` is that of both versions; empty to detect it.
    """

    original: bytes | None
    proposed: bytes
    text: str | None
    codec: str = ""


def file_sides(store: ReviewStore, review: Review, index: int) -> FileSides:
    """Return a file of a review.

    Raises:
        FileNotFoundError: the review was removed.
    """
    proposed, codec = store.proposed(review, index), review.files[index].encoding
    return FileSides(store.original(review, index), proposed, form_text(proposed, codec), codec)


def name_of(review: Review) -> str:
    """Return the name of a review in a list: its first file, and how many follow."""
    more = f" and {len(review.more)} more" if review.more else ""
    return f"{reveal(review.shown, keep='')}{more}"


def review_page(review: Review, files: Sequence[FileSides], state: dict[str, Any], pages: ReviewPages) -> str:
    """Return the page of one review.

    Args:
        review: the review.
        files: the texts of its files.
        state: `open`, `text` and `pending` at this moment.
        pages: the address of the pages.
    """
    title, body = review_body(review, files, state, base=pages.path())
    return _document(title, body, pages)


def review_body(
    review: Review, files: Sequence[FileSides], state: dict[str, Any], *, base: str = ""
) -> tuple[str, str]:
    """Return the title and the content of the page of one review. Without a `base`, it has no link to other reviews."""
    name = _shown(PurePath(review.path).name)
    title = f"{len(review.files)} files" if review.more else name
    rows = "".join(f"<dt>{label}</dt><dd>{escape(value)}</dd>" for label, value in facts(review))
    can_edit = any(file.text is not None for file in files)
    locked = "" if can_edit else ' disabled title="A form would change this text"'
    cancel = _button("Escape", "Cancel")
    is_hidden = any(reveal(file.text or "") != (file.text or "") for file in files)
    warning = "<p>The text contains invisible characters.</p>" if is_hidden else ""
    status = "" if state["open"] else escape(state["text"])
    counts = [count_parts(file.original, file.proposed, file.codec) for file in files]
    selects = sum(counts) > 1 and state["open"]
    sections = "\n".join(
        _file_section(review, index, file, counts[index] if selects else 0) for index, file in enumerate(files)
    )
    areas = "\n".join(
        _text_area(review, index, file.text) for index, file in enumerate(files) if file.text is not None or index == 0
    )
    body = f"""
<header>
<a{f' href="{base}"' if base else ""}>Pending reviews: <span id="pending">{len(state["pending"])}</span></a>
{_button("?", "Help", ' aria-haspopup="dialog"')}
</header>
<main data-base="{base}" data-id="{review.id}" data-open="{"yes" if state["open"] else "no"}">
<h1>{title}</h1>
<dl>{rows}</dl>
<div class="outcome"><p id="status" role="status" aria-live="polite" tabindex="-1">{status}</p>
<a id="next" hidden></a></div>
{sections}
<form id="edit" hidden>
{areas}
{warning}
<p><button type="submit">Send edited text</button> {cancel}</p>
</form>
<form id="comment" hidden>
<label for="note">Comment for the model</label>
<textarea id="note" rows="4"></textarea>
<p><button type="submit">Send comment</button> {cancel}</p>
</form>
</main>
<nav aria-label="Decision">
{_button("a", "Approve", ' class="approve"')}
{_button("e", "Edit", locked)}
{_button("c", "Comment")}
{_button("r", "Reject")}
</nav>
<dialog id="help" aria-label="Keys">
<dl>{_keys()}</dl>
<p>{_button("Escape", "Close")}</p>
</dialog>"""
    return title, body


def _file_section(review: Review, index: int, file: FileSides, count: int) -> str:
    """Return the changes of a file. `count` is the number of changes to choose from; 0 without a choice."""
    heading = ""
    shown = _shown(review.files[index].shown)
    if review.more:
        parts = count_parts(file.original, file.proposed, file.codec)
        action = "new file" if file.original is None else f"{parts} change{'s' if parts > 1 else ''}"
        heading = f"{shown} <small>{action}</small>"
        if count:
            heading = f'<label><input type="checkbox" class="file" data-file="{index}" checked> {heading}</label>'
        heading = f"<h2>{heading}</h2>"
    return f"""{heading}
<section aria-label="Changes of {shown}" class="diff">
<div class="columns" aria-hidden="true"><span>Current</span><span>Proposed</span></div>
{diff_html(diff_rows(file.original, file.proposed, codec=file.codec), file=index, count=count)}
</section>"""


def _text_area(review: Review, index: int, text: str | None) -> str:
    suffix = f"-{index}" if index else ""
    label = f"Proposed text of {_shown(review.files[index].shown)}" if review.more else "Proposed text"
    hidden = " hidden" if text is None and review.more else ""
    return f"""<label for="text{suffix}"{hidden}>{label}</label>
<textarea id="text{suffix}" data-file="{index}"{hidden}
spellcheck="false" autocomplete="off" autocapitalize="off" wrap="soft">
{escape(text or "")}</textarea>"""


def _button(key: str, label: str, attributes: str = "") -> str:
    """Return a button that does the same as a key."""
    hint = f' <kbd aria-hidden="true">{key}</kbd>' if len(key) == 1 else ""
    return f'<button type="button" data-key="{key}" aria-keyshortcuts="{key}"{attributes}>{label}{hint}</button>'


def diff_html(rows: Sequence[DiffRow], *, file: int = 0, count: int = 0) -> str:
    """Return the two sides of a change; neighbouring changed lines are one block, to which `j` and `k` move.

    Long blocks are divided: a browser lays out only those in view. With a `count` of changes, each has a checkbox.
    """
    number = 0
    blocks = []
    marks_words = sum(row.kind == "changed" for row in rows) <= MAX_MARKED_ROWS
    for is_change, group in groupby(rows, lambda row: row.kind not in {"same", "gap"}):
        lines = [_row(row, marks_words=marks_words) for row in group]
        choice = _choice(file, number, count) if is_change and number < count else ""
        number += is_change
        for start in range(0, len(lines), MAX_BLOCK_ROWS):
            block = "\n".join(lines[start : start + MAX_BLOCK_ROWS])
            first = "" if start else choice
            blocks.append(f'<div class="change" tabindex="-1">{first}{block}</div>' if is_change else block)
    return "\n".join(blocks)


def _choice(file: int, number: int, count: int) -> str:
    box = f'<input type="checkbox" data-file="{file}" data-change="{number}" checked>'
    only = "" if count > 1 else " only"  # the checkbox of the file is enough
    return f'<label class="choice{only}">{box} Change {number + 1} of {count}</label>'


def _row(row: DiffRow, *, marks_words: bool) -> str:
    if row.kind == "gap":
        return f'<div class="gap">{escape(row.new)}</div>'
    old, new = escape(row.old), escape(row.new)
    if row.kind == "changed" and marks_words:
        old, new = _marked_words(row.old, row.new)
    left = _side("old", row.old_number, f"<del>{old}</del>" if row.kind in {"changed", "removed"} else old)
    right = _side("new", row.new_number, f"<ins>{new}</ins>" if row.kind in {"changed", "added"} else new)
    return f'<div class="row {row.kind}">{left}{right}</div>'


def _side(side: str, number: int | None, html: str) -> str:
    if number is None:
        return f'<div class="side {side} empty"></div>'
    mark = {"<del>": "&minus;", "<ins>": "+"}.get(html[:5], "")
    numbered = f'<span class="number">{number}</span><span class="mark">{mark}</span>'
    return f'<div class="side {side}">{numbered}<code>{html}</code></div>'


def _marked_words(old: str, new: str) -> tuple[str, str]:
    """Return two versions of a line in which the words that differ are marked; long lines without marks."""
    if max(len(old), len(new)) > MAX_MARKED_CHARS:
        return escape(old), escape(new)
    before, after = _WORD.findall(old), _WORD.findall(new)
    left, right = "", ""
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        removed, added = escape("".join(before[i1:i2])), escape("".join(after[j1:j2]))
        left += removed if kind == "equal" or not removed else f"<mark>{removed}</mark>"
        right += added if kind == "equal" or not added else f"<mark>{added}</mark>"
    return left, right


def _list_item(review: Review, pages: ReviewPages) -> str:
    described = f"{review.mode}, {age_text(review)}, by {review.client or 'an unknown client'}"
    more = f" and {len(review.more)} more" if review.more else ""
    notes = "".join(f"<p>{_shown(note)}</p>" for note in review.notes)
    return (
        f'<li><a href="{pages.path(review.id)}">{_shown(review.path)}{more}</a><p>{_shown(described)}</p>{notes}</li>'
    )


def _keys() -> str:
    return "".join(f"<dt><kbd>{key}</kbd></dt><dd>{meaning}</dd>" for key, meaning in _KEYS)


def _shown(text: str) -> str:
    return escape(reveal(text, keep=""))


def _document(title: str, body: str, pages: ReviewPages) -> str:
    """Return a document. Its script and style are files, because the policy of the pages forbids inline ones."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{pages.path()}static/review.css">
<script src="{pages.path()}static/review.js" defer></script>
</head>
<body>
<noscript>These pages need JavaScript. Without it, run `toolmason-workbench review` in a terminal.</noscript>
{body.strip()}
</body>
</html>
"""
