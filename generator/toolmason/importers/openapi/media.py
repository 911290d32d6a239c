"""Media types of bodies and answers: which body a tool sends, and which answers are files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolmason.importers.openapi.document import OpenApi, Operation, UnresolvedError, table, text
from toolmason.importers.openapi.losses import LeftOutError
from toolmason.importers.openapi.shapes import Shape

_FORMS: Final = {
    "application/x-www-form-urlencoded": "form",
    "multipart/form-data": "multipart",
    "multipart/*": "multipart",
}
_TEXTS: Final = frozenset(
    f"application/{name}"
    for name in ("xml", "yaml", "x-yaml", "toml", "graphql", "sql", "csv", "x-ndjson", "ndjson", "jsonl", "javascript")
)
_NOTES: Final = frozenset({"description", "title", "example", "examples", "deprecated", "readOnly", "writeOnly"})
"""Keywords of a schema that restrict no value."""
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

    Raises:
        LeftOutError: all have parts that tools do not send, such as `multipart/related`.
    """
    names = [name for name in content if name in _FORMS or not name.startswith("multipart/")]
    if not names:
        raise LeftOutError(f"the body is {' or '.join(content)}, whose parts tools do not send")
    order = ("application/json", "*/*", "application/*", *_FORMS, "application/merge-patch+json")
    preferred = [name for name in order if name in content and not _is_file(content[name])]
    for name in (*preferred, *filter(is_json, names)):
        return ("*/*" if name == "application/*" else name), _FORMS.get(name, "json")
    for name in filter(is_text, names):
        return name, "text"
    return names[0], "file"


def is_file_part(shape: Shape, encoding: Mapping[str, Any], *, is_unknown_file: bool) -> bool:
    """Return whether a part of a multipart body is a file.

    Args:
        shape: its schema, or that of one of several parts.
        encoding: its encoding in the document.
        is_unknown_file: whether a part without a schema is a file, as since OpenAPI 3.1.
    """
    data = shape.data
    if shape.type not in ("string", ""):
        return False
    if data.get("format") == "binary":
        return True
    if data.get("contentEncoding") or data.get("format"):
        return False
    declared = data.get("contentMediaType") or encoding.get("contentType")
    if names := [plain(name) for name in text(declared).split(",") if name.strip()]:
        return any(not (is_text(name) or is_json(name)) for name in names)
    return is_unknown_file and shape.type == "" and not shape.properties and not data.keys() - _NOTES


def _is_file(media: Mapping[str, Any]) -> bool:
    schema = table(media.get("schema"))
    return schema.get("type") == "string" and schema.get("format") == "binary"


def answers_of(operation: Operation, document: OpenApi) -> tuple[list[str], list[str]]:
    """Return the media types of successes that are files, and the others: JSON and text.

    A file with the schema of a JSON answer is none: a document can list the media types of all its answers.
    """
    kinds = {
        plain(kind): table(media) for response in _successes(operation, document) for kind, media in response.items()
    }
    shown = [kind for kind, media in kinds.items() if _is_shown(kind) and not _is_file(media)]
    schemas = [schema for kind in shown if (schema := kinds[kind].get("schema"))]
    return [kind for kind in kinds if kind not in shown and kinds[kind].get("schema") not in schemas], shown


def _is_shown(kind: str) -> bool:
    """Return whether an answer of a media type is JSON or text, or can be."""
    return is_json(kind) or is_text(kind) or kind in ("*/*", "application/*", *_FORMS)


def _successes(operation: Operation, document: OpenApi) -> Iterable[Mapping[str, Any]]:
    """Yield the contents of the responses 2xx, of `default` if there are none."""
    responses = {str(status): response for status, response in table(operation.data.get("responses")).items()}
    for status in [status for status in responses if status.startswith("2")] or ["default"]:
        try:
            yield table(document.resolved(responses.get(status)).get("content"))
        except UnresolvedError:
            continue


def choices_of(content: Mapping[str, Mapping[str, Any]], media: str, body: str) -> list[str]:
    """Return the media types that a body of the kind `body` can have; those of JSON and forms differ in their members.

    `media` is the first one.
    """
    if body not in ("text", "file"):
        return [media]
    alike = [name for name in content if name != media and (body == "text") == is_text(name) and not is_other(name)]
    return [media, *alike]


def is_other(name: str) -> bool:
    """Return whether a media type is neither text nor one file: JSON, a form, or several parts."""
    return is_json(name) or name in _FORMS or name.startswith("multipart/")


def others(names: Sequence[str], chosen: Sequence[str]) -> str:
    """Return the media types that are not sent, as a phrase."""
    return ", ".join(name for name in names if name not in chosen)
