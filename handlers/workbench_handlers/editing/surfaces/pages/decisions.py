"""The decisions that a review page sends, the page in a browser and the one in a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore
from workbench_handlers.editing.surfaces.pages.form_text import edited_bytes, form_text
from workbench_handlers.editing.text.selection import count_parts, select_parts

MAX_COMMENT_CHARS: Final = 20_000


class RequestError(ValueError):
    """A decision that these pages would not send, or that cannot be carried out. The text is for the person."""


def decision_of(store: ReviewStore, review: Review, sent: Mapping[str, Any], surface: str) -> Decision:
    """Return the decision that a page has sent.

    Raises:
        RequestError: it is not a decision that the page would send.
    """
    match sent:
        case {"action": "approve", "chosen": list(chosen)}:
            return Decision("approve", surface, texts=_selected(store, review, chosen))
        case {"action": "edit", "texts": dict(texts)}:
            return Decision("edit", surface, texts=_edited(store, review, texts))
        case {"action": "approve" | "reject" as action}:
            return Decision(action, surface)
        case {"action": "comment", "comment": str(comment)} if comment.strip():
            if len(comment) > MAX_COMMENT_CHARS:
                raise RequestError(f"The comment has over {MAX_COMMENT_CHARS:,} characters.")
            return Decision("comment", surface, comment=_encodable(comment))
        case {"action": "edit", "text": str(text)}:
            proposed = store.proposed(review)
            before = form_text(proposed, review.encoding)
            if before is None:
                raise RequestError("A form would change this text; edit it in the terminal.")
            if text == before:
                raise RequestError("The text was not changed. Approve it instead.")
            return Decision("edit", surface, edited=edited_bytes(proposed, _encodable(text), review.encoding))
    raise RequestError("This is not a decision: send an action with its text or comment.")


def _selected(store: ReviewStore, review: Review, chosen: list[Any]) -> dict[int, bytes | None]:
    """Return the texts of the files with the chosen changes: a list of numbers for each file."""
    if len(chosen) != len(review.files):
        raise RequestError("The chosen changes do not fit the files.")
    texts = {}
    for index, numbers in enumerate(chosen):
        old, new = store.original(review, index), store.proposed(review, index)
        codec = review.files[index].encoding
        every = range(count_parts(old, new, codec))
        if not isinstance(numbers, list) or not all(type(number) is int and number in every for number in numbers):
            raise RequestError("The chosen changes do not fit the files.")
        texts[index] = select_parts(old, new, set(numbers), codec)
    if not any(chosen):
        raise RequestError("No change is chosen. Reject the proposal instead.")
    return texts


def _edited(store: ReviewStore, review: Review, sent: dict[str, Any]) -> dict[int, bytes | None]:
    """Return the texts that were edited in the forms of several files."""
    texts: dict[int, bytes | None] = {}
    for index, file in enumerate(review.files):
        text, proposed = sent.get(str(index)), store.proposed(review, index)
        before = form_text(proposed, file.encoding)
        if isinstance(text, str) and before is not None and text != before:
            texts[index] = edited_bytes(proposed, _encodable(text), file.encoding)
    if not texts:
        raise RequestError("The text was not changed. Approve it instead.")
    return texts


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError("The text contains an unpaired surrogate, which no file can contain: remove it.") from None
    return text
