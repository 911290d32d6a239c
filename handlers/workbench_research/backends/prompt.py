"""The text of a request: instructions, files and question. Equal files have equal bytes, so that they can be cached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench_research.backends.prompt_form import DATA_RULE, file_block
from workbench_research.backends.protocol import Part

SYSTEM: Final = f"You answer questions about a software project. The question follows the last file. {DATA_RULE}"
BYTES_PER_TOKEN: Final = 2.5
"""Source text with line numbers has about 3; the estimate must not be too low."""


def part_text(part: Part) -> str:
    """Return a file as it is sent. Its lines begin with numbers, so none of them can be its end tag."""
    return file_block(part)


def question_text(question: str) -> str:
    """Return the question as it is sent, after the files."""
    return f"<question>\n{question}\n</question>"


def estimate_tokens(question: str, parts: Sequence[Part]) -> int:
    """Return the tokens of a question, or somewhat more."""
    texts = (SYSTEM, *map(part_text, parts), question_text(question))
    return round(sum(len(text.encode("utf-8", "replace")) for text in texts) / BYTES_PER_TOKEN) + 1
