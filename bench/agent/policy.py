"""The scripted agent. It is the same for all contestants, and reads nothing but the request and the answers.

1. It searches with the request as it is.
2. If a tool of the task is missing in the answer, it searches once more, with the keywords of the request.
3. It looks up each tool whose arguments it has not seen, and calls each tool.

Like a good model, the agent recognizes the tools of its task when an answer shows them. Its queries do not depend on
them: the keywords are the longest words of the request, without stop words, numbers and quoted values. Where a search
takes a regular expression, a model must choose words: the first pattern is the longest keyword, the second one has the
next two as alternatives. Of ten such rules, this one finds the most tools in the development sets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol

from toolmason_runtime.shared.search.text import STOP_WORDS

from bench.agent.tasks import Task

MAX_KEYWORDS: Final = 6
MAX_PATTERN_WORD: Final = 60
"""Characters of a word in a pattern: Anthropic's tool search accepts patterns of 200 characters."""
_QUOTED: Final = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)|\u201c[^\u201d]*\u201d")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_ANY_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a search: its tokens with the query, and the names of the tools, best first.

    `described` are those with their arguments.
    """

    tokens: int
    shown: tuple[str, ...]
    described: frozenset[str]


class Contestant(Protocol):
    """A way to find tools."""

    name: str
    takes_pattern: bool
    """Whether queries are regular expressions."""
    surface: int
    """Tokens that every conversation begins with."""

    async def search(self, query: str) -> Answer:
        """Search once."""
        ...

    async def look_up(self, tool: str) -> int:
        """Return the tokens of the query and the answer that describe a tool."""
        ...

    async def call(self, tool: str) -> bool:
        """Call a tool; return whether this tool ran."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """One task: whether its tools were found after one and two searches, and whether the first result was one of them.

    Attributes:
        tokens: those of the surface, queries and answers until the tools could be called.
        turns: searches and look-ups.
    """

    in_one: bool
    in_two: bool
    is_first: bool
    tokens: int
    turns: int


async def perform(task: Task, contestant: Contestant) -> Outcome:
    """Perform a task."""
    first = await contestant.search(query(task.request, 1, is_pattern=contestant.takes_pattern))
    answers = [first]
    if not task.tools <= set(first.shown):
        answers.append(await contestant.search(query(task.request, 2, is_pattern=contestant.takes_pattern)))
    shown = {tool for answer in answers for tool in answer.shown}
    described = {tool for answer in answers for tool in answer.described}
    found = task.tools <= shown
    looked_up = [await contestant.look_up(tool) for tool in sorted(task.tools - described)] if found else []
    if found:
        found = all([await contestant.call(tool) for tool in sorted(task.tools)])
    return Outcome(
        in_one=found and len(answers) == 1,
        in_two=found,
        is_first=first.shown[:1] != () and first.shown[0] in task.tools,
        tokens=contestant.surface + sum(answer.tokens for answer in answers) + sum(looked_up),
        turns=len(answers) + len(looked_up),
    )


def query(request: str, search: int, *, is_pattern: bool) -> str:
    """Return the query of the first or the second search."""
    if is_pattern:
        one, *others = _longest(keywords(request)) or _ANY_WORD.findall(request) or [""]
        chosen = others[:2] if search == 2 and others else [one]
        return f"(?i){'|'.join(word[:MAX_PATTERN_WORD] for word in chosen)}"
    return request if search == 1 else " ".join(keywords(request)) or request


def keywords(request: str) -> list[str]:
    """Return the longest different words of a request without stop words and values, in its order."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(_QUOTED.sub(" ", request)))
    content = [word for word in words if word not in STOP_WORDS]
    kept = set(_longest(content)[:MAX_KEYWORDS])
    return [word for word in content if word in kept]


def _longest(words: list[str]) -> list[str]:
    """Return words by length, longest first; equal ones in their order."""
    return sorted(words, key=len, reverse=True)
