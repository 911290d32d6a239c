"""The content of `semantic.postings` as text, for `toolmason stats`."""

from __future__ import annotations

from toolmason_runtime.shared.catalogue import Catalogue

from toolmason.semantic.freshness import differences
from toolmason.semantic.postings_file import FILE_NAME, read_header, read_words


def report_postings(text: str, catalogue: Catalogue) -> str:
    """Return the number of tools, words and bytes of a file that was checked, its model, and the outdated tools."""
    header = read_header(text)
    words = read_words(text)
    scores = sum(len(numbers) // 2 for numbers in words.values())
    outdated = differences(catalogue, header)
    rows = {
        "tools": f"{len(header.tools):,}",
        "words": f"{len(words):,}, with {scores:,} scores",
        "bytes": f"{len(text.encode()):,}",
        "model": f"SHA-256 {header.model}",
        "outdated": ", ".join(f"{name} ({state})" for name, state in outdated.items()) or "none",
    }
    return f"{FILE_NAME}\n" + "".join(f"  {name:8}  {value}\n" for name, value in rows.items())
