"""Compare `semantic.postings` with the manifest, without a model."""

from __future__ import annotations

from typing import Literal

from toolmason_runtime.shared.catalogue import Catalogue

from toolmason.semantic.postings_file import Header
from toolmason.semantic.texts import content_hash, tool_texts

State = Literal["new", "stale", "removed"]


def differences(catalogue: Catalogue, header: Header) -> dict[str, State]:
    """Return the tools without a vector, with that of an older text, and without a text (deleted or disabled)."""
    texts = tool_texts(catalogue)
    states: dict[str, State] = {name: "new" for name in texts if name not in header.tools}
    states |= {
        name: "stale" for name, tool in header.tools.items() if name in texts and tool.hash != content_hash(texts[name])
    }
    return states | {name: "removed" for name in header.tools if name not in texts}
