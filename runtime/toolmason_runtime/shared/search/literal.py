"""Find the tools whose text contains a phrase literally."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate

from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.search.text import fold


class ToolTexts:
    """The texts of all tools, joined: one search in a long text is faster than many in short ones."""

    def __init__(self, tools: Mapping[str, ToolEntry]) -> None:
        parts = [fold("\n".join(_texts(entry))) for entry in tools.values()]
        self._names = list(tools)
        self._starts = list(accumulate((len(part) + 1 for part in parts), initial=0))[:-1]
        self._text = "\n".join(parts)
        self._words = frozenset(self._text.split())

    def containing(self, phrase: str, limit: int) -> list[str]:
        """Return the first `limit` tools whose text contains `phrase`, a folded text."""
        # The phrase may begin and end inside a word; the words between must be whole words of some tool.
        if not self._words.issuperset(phrase.split(" ")[1:-1]):
            return []
        tools: list[str] = []
        position = self._text.find(phrase)
        while position >= 0 and len(tools) < limit:
            next_tool = bisect_right(self._starts, position)
            tools.append(self._names[next_tool - 1])
            position = self._text.find(phrase, self._starts[next_tool]) if next_tool < len(self._starts) else -1
        return tools


def _texts(entry: ToolEntry) -> Iterator[str]:
    tool = entry["tool"]
    yield from (str(tool["name"]), str(tool.get("title", "")), entry["summary"], str(tool.get("description", "")))
    yield from (*entry["keywords"], *entry["use_cases"], *(example["description"] for example in entry["examples"]))
    for name, part in tool["inputSchema"].get("properties", {}).items():
        yield name
        if isinstance(part, dict):
            yield from (str(schema.get("description", "")) for schema in (part, *part.get("anyOf", ())))
