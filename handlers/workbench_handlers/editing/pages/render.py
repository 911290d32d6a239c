"""The HTML of the review pages. Every text is escaped, and invisible characters are visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from pathlib import PurePath
from typing import Any

from workbench_handlers.editing.diff import DiffRow, diff_rows, reveal
from workbench_handlers.editing.pages import ReviewPages
from workbench_handlers.editing.person_text import age_text, facts
from workbench_handlers.editing.reviews import Review

_KEYS = (
    ("j", "next change"),
    ("k", "previous change"),
    ("a", "approve: write the proposed text"),
    ("e", "edit the proposed text; the model receives your text and can commit it"),
    ("c", "comment: send the proposal back"),
    ("r", "reject: the file stays unchanged"),
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
    return _document(f"{len(reviews)} pending reviews", body, pages)


def review_page(
    review: Review, sides: tuple[bytes | None, bytes], text: str | None, state: dict[str, Any], pages: ReviewPages
) -> str:
    """Return the page of one review.

    Args:
        review: the review.
        sides: the bytes of the file, None if it is missing, and the proposed bytes.
        text: the text for the form; None if a form would change it.
        state: `open`, `text` and `pending` at this moment.
        pages: the address of the pages.
    """
    name = _shown(PurePath(review.path).name)
    rows = "".join(f"<dt>{label}</dt><dd>{escape(value)}</dd>" for label, value in facts(review))
    locked = ' disabled title="A form would change this text"' if text is None else ""
    status = "" if state["open"] else escape(state["text"])
    body = f"""
<header>
<a href="{pages.path()}">Pending reviews: <span id="pending">{len(state["pending"])}</span></a>
<button type="button" data-key="?" aria-haspopup="dialog">Help <kbd>?</kbd></button>
</header>
<main data-base="{pages.path()}" data-id="{review.id}" data-open="{"yes" if state["open"] else "no"}">
<h1>{name}</h1>
<dl>{rows}</dl>
<div class="outcome"><p id="status" role="status" aria-live="polite" tabindex="-1">{status}</p>
<a id="next" hidden></a></div>
<section aria-label="Changes" class="diff">
<div class="columns" aria-hidden="true"><span>Current</span><span>Proposed</span></div>
{diff_html(diff_rows(*sides))}
</section>
<form id="edit" hidden>
<label for="text">Proposed text</label>
<textarea id="text" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="soft">
{escape(text or "")}</textarea>
<p><button type="submit">Send edited text</button> <button type="button" data-key="Escape">Cancel</button></p>
</form>
<form id="comment" hidden>
<label for="note">Comment for the model</label>
<textarea id="note" rows="4"></textarea>
<p><button type="submit">Send comment</button> <button type="button" data-key="Escape">Cancel</button></p>
</form>
</main>
<nav aria-label="Decision">
<button type="button" data-key="a" class="approve">Approve <kbd>a</kbd></button>
<button type="button" data-key="e"{locked}>Edit <kbd>e</kbd></button>
<button type="button" data-key="c">Comment <kbd>c</kbd></button>
<button type="button" data-key="r" class="reject">Reject <kbd>r</kbd></button>
</nav>
<dialog id="help" aria-label="Keys">
<dl>{_keys()}</dl>
<p><button type="button" data-key="Escape">Close</button></p>
</dialog>"""
    return _document(name, body, pages)


def diff_html(rows: Iterable[DiffRow]) -> str:
    """Return the two sides of a change; neighbouring changed lines are one block, to which `j` and `k` move."""
    blocks = []
    for is_change, group in groupby(rows, lambda row: row.kind not in {"same", "gap"}):
        lines = "\n".join(map(_row, group))
        blocks.append(f'<div class="change" tabindex="-1">{lines}</div>' if is_change else lines)
    return "\n".join(blocks)


def _row(row: DiffRow) -> str:
    if row.kind == "gap":
        return f'<div class="gap">{escape(row.new)}</div>'
    old = _side("old", row.old_number, row.old, "del" if row.kind in {"changed", "removed"} else "")
    new = _side("new", row.new_number, row.new, "ins" if row.kind in {"changed", "added"} else "")
    return f'<div class="row {row.kind}">{old}{new}</div>'


def _side(side: str, number: int | None, text: str, tag: str) -> str:
    if number is None and not text:
        return f'<div class="side {side} empty"></div>'
    mark = {"del": "&minus;", "ins": "+"}.get(tag, "")
    code = f"<{tag}>{escape(text)}</{tag}>" if tag else escape(text)
    numbered = f'<span class="number">{number or ""}</span><span class="mark">{mark}</span>'
    return f'<div class="side {side}">{numbered}<code>{code}</code></div>'


def _list_item(review: Review, pages: ReviewPages) -> str:
    described = f"{review.mode}, {age_text(review)}, by {review.client or 'an unknown client'}"
    notes = "".join(f"<p>{_shown(note)}</p>" for note in review.notes)
    return f'<li><a href="{pages.path(review.id)}">{_shown(review.path)}</a><p>{_shown(described)}</p>{notes}</li>'


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
