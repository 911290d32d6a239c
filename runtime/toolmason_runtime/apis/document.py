"""Work on the body of an answer: decode, parse, mask, join pages, leave out undeclared members. Pure.

Small bodies are worked on in the server, large ones in a child process (`worker`): the results are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from toolmason_runtime.apis.pagination import joined, outline
from toolmason_runtime.remote.charset import decode
from toolmason_runtime.remote.parse import RemoteDataError, check_count, count_values, mask_text, parse
from toolmason_runtime.shared.budget import ANSWER, Budget
from toolmason_runtime.shared.specs.request import Pagination
from toolmason_runtime.shared.visible_text import visible_json, visible_pieces
from toolmason_runtime.wire.results import compact_json

MAX_RESULT_VALUES: Final = 20_000
"""Values of a structured result. A client shows at most 36,000 characters of one."""
MAX_RESULT_CHARS: Final = 4 * 1024 * 1024
"""Characters of the JSON text of a structured result."""

GRAPHQL: Final = "GraphQL"
"""Beginning of an error about a GraphQL answer."""
MAX_MESSAGES: Final = 250
"""Characters of the errors of a GraphQL answer."""
_MAX_PATHS: Final = 5
"""Parts of a path that an error of GraphQL shows."""

Fields = Mapping[str, Any] | None
"""Declared members of an object and their own; None means all. An array has those of its items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What to do with a body.

    `value` is one JSON value, `lines` are values on a line each, and `pages` are such values that become one.
    """

    kind: Literal["text", "value", "lines", "pages"]
    content_type: str = ""
    secrets: tuple[str, ...] = ()
    is_graphql: bool = False
    """Whether the value is that of the only field of a GraphQL answer."""
    pagination: Pagination | None = None
    items_only: bool = False
    """Whether the joined pages are their items alone."""
    is_structured: bool = False
    """Whether the result becomes a structured one: undeclared members are left out, and there are fewer values."""
    fields: Fields = None
    is_shown: bool = False
    """Whether the result is the text for the model."""

    def to_json(self) -> dict[str, Any]:
        """Return the work as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Work:
        """Return the work of `to_json`."""
        pagination = data.pop("pagination")
        return cls(pagination=Pagination(**pagination) if pagination else None, **data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The result of some work: its values, or their JSON text with a value on each line.

    `page` has the members of a page that lead to the next one; see `pagination.outline`.
    """

    values: Sequence[Any] | None = None
    pieces: Sequence[str] = ()
    """Of the JSON text. They are not joined: one character beyond U+FFFF makes a text four times as large."""
    page: Any = None
    note: str = ""
    """The errors of a GraphQL answer that has a value, too."""

    def as_values(self) -> Sequence[Any]:
        """Return the values."""
        return [json.loads(line) for line in self.as_text().split("\n")] if self.values is None else self.values

    def as_text(self) -> str:
        """Return the JSON text."""
        return "".join(self.pieces) if self.values is None else "\n".join(map(compact_json, self.values))

    def as_bytes(self) -> bytes:
        """Return the JSON text in UTF-8."""
        return b"".join(piece.encode() for piece in self.pieces or [self.as_text()])


def perform(work: Work, body: bytes, budget: Budget = ANSWER) -> Document:
    """Return the values of a body.

    Raises:
        RemoteDataError: the body is not JSON, or exceeds the budget.
    """
    # A line break is never inside of a JSON string. Not `str.splitlines`, which also splits at U+2028.
    lines = [body] if work.kind == "value" else body.split(b"\n")
    texts = [text for line in lines if (text := decode(line, work.content_type)) and not text.isspace()]
    check_count(texts, budget)
    values = [parse(text, budget, work.secrets) for text in texts]
    if work.kind == "value" and not values:
        values = [None]
    note = ""
    if work.is_graphql:
        values, note = [_graphql_value(values[0])], _graphql_errors(values[0])
    page = outline(work.pagination, values[0]) if work.kind == "value" and work.pagination else None
    if work.kind == "pages" and work.pagination:
        values = [joined(work.pagination, values, items_only=work.items_only)]
    if work.is_structured and _excess(texts):
        values = [declared(value, work.fields) for value in values]
        if excess := _excess(list(map(compact_json, values))):
            raise RemoteDataError(f"it has more than {excess}, too many for a structured result")
    return Document(values=values, page=page, note=note)


def _graphql_value(answer: Any) -> Any:
    """Return the value of the only field of a GraphQL answer.

    Raises:
        RemoteDataError: it has errors and no value, or is no answer of a GraphQL server.
    """
    data = answer.get("data") if isinstance(answer, dict) else None
    value = next(iter(data.values()), None) if isinstance(data, dict) else None
    if value is not None:
        return value
    if errors := _graphql_errors(answer):
        raise RemoteDataError(f"{GRAPHQL}: {errors}")
    if not isinstance(data, dict):
        raise RemoteDataError(f"{GRAPHQL}: the answer has neither `data` nor `errors`")
    return None


def _graphql_errors(answer: Any) -> str:
    """Return the messages of the errors of a GraphQL answer with their paths below the field; empty without errors."""
    errors = answer.get("errors") if isinstance(answer, dict) else None
    messages = []
    for error in errors if isinstance(errors, list) else ():
        message = str(error.get("message") if isinstance(error, dict) else error)
        path = error.get("path") if isinstance(error, dict) else None
        inner = path[1 : _MAX_PATHS + 1] if isinstance(path, list) else []
        messages.append(f"{'.'.join(map(str, inner))}: {message}" if inner else message)
        if sum(map(len, messages)) > MAX_MESSAGES:
            break
    return "; ".join(messages)[:MAX_MESSAGES]


def _excess(texts: Sequence[str]) -> str:
    """Return what JSON texts have too much of for a structured result; empty if they fit."""
    if sum(map(len, texts)) > MAX_RESULT_CHARS:
        return f"{MAX_RESULT_CHARS:,} characters"
    is_long = sum(count_values(text, MAX_RESULT_VALUES) for text in texts) > MAX_RESULT_VALUES
    return f"{MAX_RESULT_VALUES:,} values" if is_long else ""


def shown_text(work: Work, body: bytes) -> Iterator[str]:
    """Return the pieces of a body that is text, without secrets and with what it hides made visible."""
    return visible_pieces([mask_text(decode(body, work.content_type), work.secrets)])


def serialized(work: Work, document: Document) -> Iterator[str]:
    """Return the pieces of the JSON text of a document."""
    text = document.as_text()
    return visible_json([text]) if work.is_shown else iter([text])


def declared(value: Any, fields: Fields) -> Any:
    """Return a value without the members that its type does not declare."""
    if fields is None:
        return value
    if isinstance(value, list):
        return [declared(item, fields) for item in value]
    if isinstance(value, dict):
        return {name: declared(member, fields[name]) for name, member in value.items() if name in fields}
    return value
