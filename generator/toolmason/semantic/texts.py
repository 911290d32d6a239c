"""The text of a tool that is embedded, and its hash, by which an outdated vector is detected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.placeholders import placeholders_of

from toolmason.model.identifiers import words

HASH_DIGITS: Final = 16
"""Hexadecimal digits of a hash. Few suffice: it detects edits, not forgery."""


def tool_texts(catalogue: Catalogue) -> dict[str, str]:
    """Return the text of each enabled tool by its name, sorted by name."""
    fill = placeholders_of(catalogue).fill_entry
    tools = sorted(catalogue["tools"].items())
    return {name: tool_text(fill(entry)) for name, entry in tools if entry.get("enabled", True)}


def tool_text(entry: ToolEntry) -> str:
    """Return the text that is embedded: name, summary, description, use cases and names of the parameters."""
    tool = entry["tool"]
    summary, description = entry["summary"].strip(), str(tool.get("description", "")).strip()
    sentences = [
        _name_words(str(tool["name"])),
        *([] if summary in description else [summary]),
        description,
        *entry["use_cases"],
        ", ".join(_name_words(name) for name in _parameters(tool["inputSchema"])),
    ]
    return ". ".join(sentence.rstrip(".") for sentence in sentences if sentence)


def content_hash(text: str) -> str:
    """Return the hash of a tool's text."""
    return sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def _name_words(name: str) -> str:
    """Return a name as words: `read files` for `readFiles` and `read_files`."""
    return " ".join(words(name)).lower() or name


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    properties = schema.get("properties", {})
    if isinstance(properties, dict):
        yield from properties
