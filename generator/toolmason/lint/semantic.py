"""Rule that compares `semantic.postings` with the tools of the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolmason.lint.finding import Finding, catalogue_of
from toolmason.model.server import Server
from toolmason.semantic.freshness import differences
from toolmason.semantic.postings_file import FILE_NAME, read_header

_MESSAGES: Final = {
    "new": f"`{{}}` is not in {FILE_NAME}: searches find it by words only",
    "stale": f"the text of `{{}}` has changed since {FILE_NAME} was written",
    "removed": f"{FILE_NAME} has the tool `{{}}`, which is not in the manifest or is disabled",
}


def check_postings(server: Server) -> Iterator[Finding]:
    """TM527: tools that are new, changed or removed since the last `toolmason embed`."""
    if not server.postings:
        return
    tools = {tool.name: tool for tool in server.tools}
    for name, state in differences(catalogue_of(server), read_header(server.postings)).items():
        yield Finding(
            code="TM527",
            tool=name if name in tools else "",
            message=_MESSAGES[state].format(name),
            hint="run: toolmason embed",
            at=tools[name].at if name in tools else ("server",),
        )
