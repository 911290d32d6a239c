"""Names of tools that another server or a module has named: most stay, others become verb and object.

`getSum` is `get_sum`, `search_search` is `search`, `API-post-search` of a server `notes` is `search_notes`,
`read_item_items__item_id__get` is `read_item`. Names have at most `MAX_LENGTH` characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Final

from toolmason.importers.design.english import ABBREVIATIONS, ALSO_NOUNS, ARTICLES, PREPOSITIONS, VERBS, singular
from toolmason.importers.design.texts import summary_from
from toolmason.importers.design.words import (
    MAX_LENGTH,
    Words,
    fitting,
    numbered,
    with_object,
    without_repetitions,
    words_of,
)
from toolmason.importers.names import ToolNames, is_reserved
from toolmason.resolve.tool_names import tool_name_problem

_PLAIN: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_METHODS: Final = {"get": "get", "post": "create", "put": "replace", "patch": "update", "delete": "delete"}
"""Methods of HTTP with their verbs."""
_FRAMEWORK: Final = re.compile(r".+_(?:get|post|put|patch|delete)")
"""The form of names that FastAPI makes of a function, its path and its method."""
_PATH_WORD: Final = re.compile(r"api|rest|v\d+")
_GENERIC: Final = frozenset({"api", "rest", "mcp"})
"""First words that are removed if all tools of a server have them."""
_TITLE_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool with its texts, of which a name is made if its own has no Latin letters."""

    name: str
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class DesignedName:
    """The name of a tool. `is_respelled`: it has the words of the original. `aliases` are former names."""

    name: str
    is_respelled: bool
    aliases: tuple[str, ...] = ()


def designed_names(tools: Sequence[NamedTool], server: str, prefix: str = "") -> list[DesignedName]:
    """Return the names for the tools of a server. Names that stay as they are have priority."""
    names = ToolNames(server)
    length = max_length(server) - len(prefix)
    has_generic_words = _have_generic_words([tool.name for tool in tools])
    wanted = [
        [f"{prefix}{name}" for name in _names_of(tool, server, length, prefix, has_generic_words=has_generic_words)]
        for tool in tools
    ]
    chosen: dict[int, str] = {}
    order = range(len(tools))
    for index in sorted(order, key=lambda index: wanted[index][0] != f"{prefix}{tools[index].name}"):
        chosen[index] = choose(names, wanted[index], length + len(prefix))
    taken = set(chosen.values())
    result = []
    for index in order:
        original, name = f"{prefix}{tools[index].name}", chosen[index]
        aliases = (original,) if original not in taken and _is_callable(original, server) else ()
        taken.add(original)
        respelled = f"{prefix}{'_'.join(words_of(tools[index].name))}"
        result.append(DesignedName(name, name in (original, respelled), aliases))
    return result


def max_length(server: str) -> int:
    """Return the maximum characters of a name: clients put the name of the server before it."""
    return next(length for length in range(MAX_LENGTH, 0, -1) if not tool_name_problem("a" * length, server))


def choose(names: ToolNames, wanted: Sequence[str], length: int) -> str:
    """Return the first free name, or the first one with a number, and reserve it."""
    candidates = [*wanted]
    name = next(filter(names.is_free, candidates), "")
    if not name:
        name = next(filter(names.is_free, (numbered(wanted[0], number, length) for number in count(2))))
    names.add(name, group="")
    return name


def _is_callable(name: str, server: str) -> bool:
    """Return whether a former name can be an alias."""
    return bool(name) and not tool_name_problem(name, server) and not is_reserved(name)


def _have_generic_words(names: Sequence[str]) -> bool:
    """Return whether all names begin with a word such as `API`, which distinguishes none."""
    first = {word for name in names for word in words_of(name)[:1]}
    return len(names) > 1 and len(first) == 1 and first <= _GENERIC and all(len(words_of(name)) > 1 for name in names)


def _names_of(tool: NamedTool, server: str, length: int, prefix: str, *, has_generic_words: bool) -> Iterator[str]:
    """Yield names for a tool, the best one first."""
    is_kept = _PLAIN.fullmatch(tool.name) and len(tool.name) <= length
    words = tool.name.split("_") if is_kept else words_of(tool.name)
    plain = _without_method(words[1:]) if has_generic_words else _without_path(tool.name, words)
    plain = plain or _words_of_texts(tool)
    if any(first == second for first, second in pairwise(plain)) or plain[:2] == plain[2:4]:
        plain = without_repetitions(plain)
    name = _shortened(plain, length)
    if not is_reserved(f"{prefix}{name}"):
        yield name
        return
    nouns = [word for word in words_of(tool.title) if word not in ARTICLES | PREPOSITIONS]
    for noun in (*nouns, "_".join(words_of(server)), "tool"):
        longer = with_object(plain, [noun], length)
        if longer and not is_reserved(f"{prefix}{longer}"):
            yield longer


def _without_method(words: Words) -> Words:
    """Return words with a verb in place of the method of HTTP: `post search` is `search`, `post page` `create page`."""
    first, rest = words[0], words[1:]
    if first not in _METHODS or not rest:
        return words
    is_verb = rest[0] in (VERBS if len(rest) == 1 else VERBS - ALSO_NOUNS)
    return rest if is_verb else [_METHODS[first], *rest]


def _without_path(name: str, words: Words) -> Words:
    """Return words without a path and its method, which begin where a word repeats: `read item`."""
    if not _FRAMEWORK.fullmatch(name):
        return words
    known: set[str] = set()
    for index, word in enumerate(words[:-1]):
        if index and (singular(word) in known or _PATH_WORD.fullmatch(word)):
            while index > 1 and words[index - 1] in PREPOSITIONS:
                index -= 1  # noqa: PLW2901
            return words[:index]
        known.add(singular(word))
    return words


def _words_of_texts(tool: NamedTool) -> Words:
    """Return a name from the title or the first words of the description; `tool` without Latin letters."""
    for text in (tool.title, summary_from(tool.text)):
        words = [word for word in words_of(text) if word not in ARTICLES or word == "of"]
        end = next((index for index, word in enumerate(words) if index > 1 and word in PREPOSITIONS), len(words))
        if words and words[0][0].isalpha():
            return words[: min(end, _TITLE_WORDS)]
    return ["tool", *(word for word in re.findall(r"[a-z0-9]+", tool.name.lower()))]


def _shortened(words: Words, length: int) -> str:
    """Return a name of whole words; of a long one, the part before its last prepositions."""
    if not words[0][:1].isalpha():
        words = ["tool", *words]
    if len("_".join(words)) <= length:
        return "_".join(words)
    words = [ABBREVIATIONS.get(word, word) for word in words if word not in ARTICLES or word == "of"]
    while len("_".join(words)) > length:
        end = next((index for index in range(len(words) - 1, 1, -1) if words[index] in PREPOSITIONS), 0)
        if not end:
            break
        words = words[:end]
    return fitting(words, length) or "tool"
