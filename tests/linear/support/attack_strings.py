"""Texts on which a pattern may be slow, derived from the pattern itself.

A backtracking engine is slow where it can divide the same text among parts of a pattern in many ways, or where a search
scans on from each position and fails. Both need three parts: a `prefix` that leads into a repeat, a `pump` that is
repeated, and a `suffix` that lets the match fail. `attacks` tries:

- as pumps, each character that the pattern tells from others, each pair of such characters, and a text for each body
  of a repeat and for each alternative, alone and with what leads there (`<` of `<[^>]*>`, where each search begins);
- as suffixes, nothing, a character that the pattern tells from others, and a character that no part matches.

No maintained library does this for Python 3.11: recheck parses the patterns of JavaScript, regexploit has had no
release since 2021 and knows no possessive quantifiers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

# What `re` itself uses to parse; there is no public parser of patterns. In 3.11 the module got this name.
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # isort: skip

Node: TypeAlias = tuple[Any, Any]

CANDIDATES = (
    "".join(map(chr, range(32, 127))) + "\n\t\r\0\x1b\x80\xa0\xe9\u0301\u2028\u202e\u4e2d\ufeff\ud800\U0001f600"
)
"""Characters of every kind that a pattern may treat alone. Those of the pattern itself are added."""
REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
CHARACTERS = {_constants.ANY, _constants.IN, _constants.LITERAL, _constants.NOT_LITERAL}
LONG = 50
"""Repeats of at least this many times count as unlimited."""
MAX_CLASSES = 14
"""Characters of which pairs are tried; 14 give 196 pairs."""
MAX_TEXTS = 24


@dataclass(frozen=True)
class Attack:
    """`prefix`, `pump` repeated, `suffix`."""

    prefix: str
    pump: str
    suffix: str

    def text(self, size: int) -> str:
        """Return about `size` characters."""
        return self.prefix + self.pump * (size // len(self.pump)) + self.suffix

    def __str__(self) -> str:
        return " + ".join(
            filter(None, (self.prefix and ascii(self.prefix), f"{self.pump!a} * n", self.suffix and ascii(self.suffix)))
        )


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Return the texts for `pattern`, each once. Those of a bytes pattern are Latin-1."""
    parts = _Parts(pattern)
    alone = parts.classes
    pairs = [one + other for one, other in itertools.product(alone[:MAX_CLASSES], repeat=2) if one != other]
    ends = ("", parts.foreign, "\n" + parts.foreign)
    found: dict[Attack, None] = {}
    for prefix, pumps in parts.repeats():
        for lead in dict.fromkeys(("", prefix)):
            found |= {Attack(lead, pump, end): None for pump in pumps for end in (*ends, *alone)}
    for pump in (*alone, *pairs, *parts.texts(), *(p + q for p, ps in parts.repeats() for q in ps)):
        found |= {Attack("", pump, end): None for end in ends if pump}
    # What leads to each repeat, then any character: a repeat of a lookahead or a group that is named once.
    found |= {Attack(p, pump, end): None for p, _ in parts.repeats() if p for pump in alone for end in ends[:2]}
    return iter(found)


class _Parts:
    """A parsed pattern: the characters that it distinguishes, its repeats, and texts for its parts."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self._flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
        self._is_bytes = isinstance(pattern.pattern, bytes)
        self._tree = _parser.parse(text, self._flags & ~re.DEBUG)
        self._groups: dict[int, Any] = {}
        self._classify()

    def _classify(self) -> None:
        tests: dict[str, re.Pattern[str]] = {}
        literals: dict[str, None] = {}
        for node in _walk(self._tree):
            if node[0] in CHARACTERS and repr(node) not in tests:
                tests[repr(node)] = self._compiled([node])
                literals |= dict.fromkeys(_literals(node))
            if node[0] is _constants.SUBPATTERN:
                self._groups[node[1][0]] = node[1][3]
        self._tests = tests
        by_kind: dict[tuple[bool, ...], str] = {}
        for character in dict.fromkeys((*literals, *CANDIDATES)):
            if self._is_bytes and ord(character) > 255:
                continue
            kind = tuple(test.fullmatch(character) is not None for test in tests.values())
            by_kind.setdefault(kind, character)
        self.foreign = by_kind.get((False,) * len(tests), "\0")
        lines = ["\n"] if self._flags & re.MULTILINE else []
        self.classes = list(dict.fromkeys([*by_kind.values(), *lines]))

    def _compiled(self, nodes: list[Node]) -> re.Pattern[str]:
        state = _parser.State()
        state.flags = self._flags
        tree = _parser.SubPattern(state, nodes)
        return _compiler.compile(tree, self._flags & ~re.DEBUG)  # type: ignore[no-any-return]

    def repeats(self) -> list[tuple[str, list[str]]]:
        """Return, for each unlimited repeat, a text that leads to it and texts that its body matches."""
        return list(self._repeats(self._tree, ""))[:MAX_TEXTS]

    def _repeats(self, nodes: Iterable[Node], lead: str) -> Iterator[tuple[str, list[str]]]:
        for node in nodes:
            kind, value = node
            if kind in REPEATS:
                _, most, body = value
                if most is _constants.MAXREPEAT or most >= LONG:
                    yield lead, [text for text in self._texts(body) if text][:MAX_TEXTS]
                yield from self._repeats(body, lead)
            else:
                for inner in _inner(node):
                    yield from self._repeats(inner, lead)
            lead += self._text([node])

    def texts(self) -> list[str]:
        """Return texts for the whole pattern: one for each alternative, with each repeat once."""
        return [text for text in dict.fromkeys(self._texts(self._tree)) if text][:MAX_TEXTS]

    def _texts(self, nodes: Iterable[Node]) -> list[str]:
        """Return texts for `nodes`, which differ in one alternative each."""
        parts = [self._alternatives(node) for node in nodes]
        first = "".join(part[0] for part in parts)
        texts = [first]
        for index, part in enumerate(parts):
            before, after = "".join(p[0] for p in parts[:index]), "".join(p[0] for p in parts[index + 1 :])
            texts += [before + text + after for text in part[1:]]
        return texts[: 4 * MAX_TEXTS]

    def _text(self, nodes: Iterable[Node]) -> str:
        return "".join(self._alternatives(node)[0] for node in nodes)

    def _alternatives(self, node: Node) -> list[str]:
        kind, value = node
        if kind in CHARACTERS:
            test = self._tests[repr(node)]
            return [c for c in self.classes if test.fullmatch(c)][:MAX_CLASSES] or [""]
        if kind in REPEATS:
            least, _, body = value
            texts = self._texts(body)
            return [text * max(least, 1) for text in texts] + ([""] if least == 0 else [])
        if kind is _constants.BRANCH:
            return [text for body in value[1] for text in self._texts(body)]
        if kind is _constants.SUBPATTERN:
            return self._texts(value[3])
        if kind is _constants.ATOMIC_GROUP:
            return self._texts(value)
        if kind is _constants.GROUPREF:
            return [self._text(self._groups.get(value, ()))]
        if kind is _constants.GROUPREF_EXISTS:
            return self._texts(value[1])
        return [""]  # a position: `\b`, `(?=...)`


def _inner(node: Node) -> list[Iterable[Node]]:
    """Return the sequences inside of `node`, except the body of a repeat."""
    kind, value = node
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    if kind is _constants.ATOMIC_GROUP:
        return [value]
    if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [value[1]]
    if kind is _constants.GROUPREF_EXISTS:
        return [body for body in value[1:] if body]
    return []


def _walk(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        bodies = [node[1][2]] if node[0] in REPEATS else _inner(node)
        for body in bodies:
            yield from _walk(body)


def _literals(node: Node) -> Iterator[str]:
    """Return the characters that `node` names."""
    kind, value = node
    if kind in (_constants.LITERAL, _constants.NOT_LITERAL):
        yield chr(value)
    elif kind is _constants.IN:
        for member, content in value:
            if member is _constants.LITERAL:
                yield chr(content)
            elif member is _constants.RANGE:
                yield from map(chr, content)
