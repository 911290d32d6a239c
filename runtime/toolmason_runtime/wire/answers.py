"""The answers of clients to the requests of a server, as MCP defines them, checked without the SDK."""

from __future__ import annotations

from toolmason_runtime.wire.shapes import (
    either,
    flag,
    integer,
    list_of,
    map_of,
    members,
    number,
    object_,
    one_of,
    text,
)

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from toolmason_runtime.wire.shapes import Shape

ROLE: Final = one_of("user", "assistant")
_META: Final[Mapping[str, Shape]] = {"_meta": object_}
ICON: Final = members({"src": text}, {"mimeType": text, "sizes": list_of(text), "theme": one_of("dark", "light")})


def _priority(value: Any) -> bool:
    return number(value) and 0 <= value <= 1


_ANNOTATED: Final[Mapping[str, Shape]] = {
    **_META,
    "annotations": members({}, {"audience": list_of(ROLE), "lastModified": text, "priority": _priority}),
}
_TEXT: Final = members({"type": one_of("text"), "text": text}, _ANNOTATED)
_MEDIA: Final = members({"type": one_of("image", "audio"), "data": text, "mimeType": text}, _ANNOTATED)
_LINK: Final = members(
    {"type": one_of("resource_link"), "name": text, "uri": text},
    {
        **_ANNOTATED,
        "description": text,
        "icons": list_of(ICON),
        "mimeType": text,
        "size": integer,
        "title": text,
    },
)
_CONTENTS: Final[Mapping[str, Shape]] = {**_META, "mimeType": text}
_TEXT_FILE: Final = members({"uri": text, "text": text}, _CONTENTS)
_BINARY_FILE: Final = members({"uri": text, "blob": text}, _CONTENTS)
_EMBEDDED: Final = members({"type": one_of("resource"), "resource": either(_TEXT_FILE, _BINARY_FILE)}, _ANNOTATED)
_TOOL_USE: Final = members({"type": one_of("tool_use"), "id": text, "name": text, "input": object_}, _META)
_TOOL_RESULT: Final = members(
    {
        "type": one_of("tool_result"),
        "toolUseId": text,
        "content": list_of(either(_TEXT, _MEDIA, _LINK, _EMBEDDED)),
    },
    {**_META, "isError": flag, "structuredContent": object_},
)
_SAMPLED: Final = either(_TEXT, _MEDIA, _TOOL_USE, _TOOL_RESULT)

ANSWERS: Final[Mapping[str, Shape]] = {
    "elicitation/create": members(
        {"action": one_of("accept", "cancel", "decline")},
        {**_META, "content": map_of(either(text, number, flag, list_of(text), lambda value: value is None))},
    ),
    "roots/list": members({"roots": list_of(members({"uri": text}, {**_META, "name": text}))}, _META),
    "sampling/createMessage": members(
        {"role": ROLE, "model": text, "content": either(_SAMPLED, list_of(_SAMPLED))}, {**_META, "stopReason": text}
    ),
}
"""The shape of the answer to each method; it is the same in both eras."""


def is_answer_to(method: str, answer: Any) -> bool:
    """Return whether `answer` is a valid result of a request to the client."""
    return ANSWERS[method](answer)
