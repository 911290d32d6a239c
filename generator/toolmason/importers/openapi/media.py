"""Media types of bodies and answers: which body a tool sends, and which answers are files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolmason.importers.openapi.document import OpenApi, Operation, UnresolvedError, table

_FORMS: Final = {"application/x-www-form-urlencoded": "form", "multipart/form-data": "multipart"}
_TEXTS: Final = frozenset(
    f"application/{name}"
    for name in ("xml", "yaml", "x-yaml", "toml", "graphql", "sql", "csv", "x-ndjson", "ndjson", "jsonl", "javascript")
)
_TEXT_SUFFIXES: Final = ("+xml", "+yaml", "json-seq")


def is_json(media: str) -> bool:
    """Return whether a media type is JSON."""
    return media == "application/json" or (media.endswith("+json") and "*" not in media)


def is_text(media: str) -> bool:
    """Return whether a media type is text that is not JSON."""
    return media.startswith("text/") or media in _TEXTS or media.endswith(_TEXT_SUFFIXES)


def plain(media: str) -> str:
    """Return a media type without parameters, in lower case."""
    return media.partition(";")[0].strip().lower()


def body_of(content: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Return the media type that a tool sends, and its `body`: JSON, else a form, else text, else a file.

    `content` has at least one media type.
    """
    names = list(content)
    order = ("application/json", "*/*", "application/*", *_FORMS, "application/merge-patch+json")
    preferred = [name for name in order if name in content and not _is_file(content[name])]
    for name in (*preferred, *filter(is_json, names)):
        return ("*/*" if name == "application/*" else name), _FORMS.get(name, "json")
    for name in filter(is_text, names):
        return name, "text"
    return names[0], "file"


def _is_file(media: Mapping[str, Any]) -> bool:
    schema = table(media.get("schema"))
    return schema.get("type") == "string" and schema.get("format") == "binary"


def answers_with_file(operation: Operation, document: OpenApi) -> bool:
    """Return whether every success with content is a file: neither JSON nor text."""
    kinds = {plain(kind): media for response in _successes(operation, document) for kind, media in response.items()}
    return bool(kinds) and not any(
        (is_json(kind) or is_text(kind) or kind in ("*/*", "application/*", *_FORMS)) and not _is_file(table(media))
        for kind, media in kinds.items()
    )


def _successes(operation: Operation, document: OpenApi) -> Iterable[Mapping[str, Any]]:
    for status, response in table(operation.data.get("responses")).items():
        if str(status).startswith("2"):
            try:
                yield table(document.resolved(response).get("content"))
            except UnresolvedError:
                continue


def others(names: Sequence[str], chosen: str) -> str:
    """Return the media types that are not sent, as a phrase."""
    return ", ".join(name for name in names if name != chosen)
