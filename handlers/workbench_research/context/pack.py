"""Pack the files of a question into the window of a model: all of them, or the best ones for the question.

What fits is sent whole. Otherwise the files are ranked, see `rank`: first excerpts of many files, then whole files as
far as the window has room, the best first. An excerpt has the first lines of the file, the lines that fit the question,
and the first lines of definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from toolmason_runtime import estimate_tokens

from workbench_handlers.workspace.scan import Scan
from workbench_research.backends.protocol import Part
from workbench_research.context.bm25 import CHUNK_LINES
from workbench_research.context.choose import LeftOut
from workbench_research.context.number import TextFile, number_lines
from workbench_research.context.rank import Ranking, rank_files
from workbench_research.context.secrets import Allow, SecretLine, find_secrets, mask
from workbench_research.context.tags import TagCache

BLOCK_TOKENS: Final = 20
"""Tokens of the delimiters of a file."""
MIN_CHARS_OF_TOKEN: Final = 2.0
MAX_CHARS_OF_TOKEN: Final = 6.0
"""Characters of a token, at least and at most: files that certainly fit or do not fit are not counted."""
EXCERPT_SHARE: Final = 0.6
"""Share of the window for excerpts of many files."""
MIN_EXCERPT_TOKENS: Final = 500
MAX_EXCERPT_TOKENS: Final = 4_000
EXCERPT_OF_WINDOW: Final = 0.03
"""Tokens of an excerpt, as a share of the window, between both limits."""
MAX_SHARE_OF_FILE: Final = 0.35
"""Maximum share of the window for one file; larger ones are cut."""
HEAD_LINES: Final = 6
OUTLINE_SHARE: Final = 0.25
"""Share of an excerpt for the first lines of definitions."""
NOT_RELEVANT: Final = "did not fit into the window; other files fit the question better"

Count = Callable[[str], int]
"""Returns the tokens of a text."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The parts to send, in the order to send them, and everything that was left out, with reasons.

    `cut` are the paths of files of which only lines are sent. `tokens` are those of the parts. `secrets` are the lines
    that were left out for their content.
    """

    parts: tuple[Part, ...] = field(repr=False)
    tokens: int
    left_out: tuple[LeftOut, ...] = ()
    cut: tuple[str, ...] = ()
    secrets: tuple[SecretLine, ...] = ()
    ranking: Ranking | None = field(default=None, repr=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files of which something is sent, in the order of their parts."""
        return tuple(dict.fromkeys(part.path for part in self.parts))


def pack(
    files: Sequence[TextFile],
    question: str,
    window: int,
    *,
    allow: Allow | None = None,
    count: Count = estimate_tokens,
    sent_before: Sequence[str] = (),
    scan: Scan | None = None,
    cache: TagCache | None = None,
    ranking: Ranking | None = None,
) -> Packed:
    """Pack files into `window` tokens. It blocks.

    `count` returns the tokens of a text; `sent_before` are the digests of the parts of an earlier question in their
    order: see `stable_order`. `ranking` is that of the question, if it is known.

    Raises:
        NotInstalledError: the package of the secrets is missing, or that of the map if not all files fit.
        ScanStoppedError: the call was cancelled.
    """
    packer = _Packer(window, allow, count, {file.path: file for file in files})
    if packer.add_all(files):
        ranking = None
    else:
        ranking = ranking or rank_files(files, question, scan=scan, cache=cache)
        packer.add_best(ranking, scan)
    changed = {file.path: file.changed_ns for file in files}
    parts = stable_order(packer.parts.values(), changed, sent_before)
    left_out = [*packer.left_out, *(LeftOut(path, NOT_RELEVANT) for path in packer.rest())]
    return Packed(
        parts,
        sum(packer.tokens.values()),
        tuple(sorted(left_out, key=lambda entry: entry.path)),
        tuple(sorted(part.path for part in parts if part.is_cut)),
        tuple(secret for path in sorted(packer.secrets) for secret in packer.secrets[path] if path in packer.parts),
        ranking,
    )


def stable_order(
    parts: Iterable[Part], changed_ns: dict[str, int] | None = None, sent_before: Sequence[str] = ()
) -> tuple[Part, ...]:
    """Return the parts in an order that keeps the longest possible beginning equal to an earlier question.

    Parts that were sent before come first, in that order: a provider has them in its cache up to the first one that is
    missing. Others follow by the time of their last change, the oldest first, since what was edited last is likely to
    be edited next; at equal times by path.
    """
    position = {digest: index for index, digest in enumerate(sent_before)}
    changed_ns = changed_ns or {}
    return tuple(
        sorted(
            parts,
            key=lambda part: (
                position.get(part.digest, len(position)),
                changed_ns.get(part.path, 0),
                part.path,
                part.first_line,
            ),
        )
    )


@dataclass(slots=True)
class _Packer:
    window: int
    allow: Allow | None
    count: Count
    files: dict[str, TextFile]
    parts: dict[str, Part] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    secrets: dict[str, list[SecretLine]] = field(default_factory=dict)
    _lines: dict[str, list[str] | None] = field(default_factory=dict)

    def add_all(self, files: Sequence[TextFile]) -> bool:
        """Add all files whole; return whether they fit. Nothing is added if they do not."""
        if sum(len(file.text) for file in files) / MAX_CHARS_OF_TOKEN > self.window:
            return False
        parts: dict[str, Part] = {}
        tokens: dict[str, int] = {}
        for file in files:
            if (part := self._part(file.path)) is not None:
                parts[file.path] = part
                tokens[file.path] = self._tokens(part)
                if sum(tokens.values()) > self.window:
                    return False
        self.parts, self.tokens = parts, tokens
        return True

    def add_best(self, ranking: Ranking, scan: Scan | None) -> None:
        """Add excerpts of the best files, then whole files."""
        excerpt = int(min(MAX_EXCERPT_TOKENS, max(MIN_EXCERPT_TOKENS, self.window * EXCERPT_OF_WINDOW)))
        considered: list[str] = []
        for path in ranking.paths:
            if scan:
                scan.step()
            if ranking.scores[path] <= 0 or self._remaining() < self.window * (1 - EXCERPT_SHARE):
                break
            considered.append(path)
            self._add(path, min(excerpt, self._remaining()), ranking)
        for path in considered:
            self._add(
                path, int(min(self.window * MAX_SHARE_OF_FILE, self._remaining() + self.tokens.get(path, 0))), ranking
            )
        for path in ranking.paths[len(considered) :]:
            if self._remaining() < MIN_EXCERPT_TOKENS or ranking.scores[path] <= 0:
                break
            self._add(path, min(excerpt, self._remaining()), ranking)

    def rest(self) -> list[str]:
        """Return the paths of files of which nothing is sent for want of room."""
        named = {entry.path for entry in self.left_out}
        return [path for path in self.files if path not in self.parts and path not in named]

    def _remaining(self) -> int:
        return self.window - sum(self.tokens.values())

    def _add(self, path: str, limit: int, ranking: Ranking) -> None:
        """Add a file whole if it has at most `limit` tokens, else an excerpt of at most as many."""
        known = self.parts.get(path)
        if known is not None and not known.is_cut:
            return
        text = self.files[path].text
        part = None
        if len(text) / MAX_CHARS_OF_TOKEN <= limit:
            part = self._part(path)
            if part is not None and self._tokens(part) > limit:
                part = None
        if part is None:
            part = self._excerpt(path, limit, ranking)
        if part is None or not part.text:
            return
        tokens = self._tokens(part)
        if tokens <= limit and tokens > self.tokens.get(path, 0):
            self.parts[path], self.tokens[path] = part, tokens

    def _excerpt(self, path: str, limit: int, ranking: Ranking) -> Part | None:
        lines = self._safe_lines(path)
        if lines is None:
            return None
        costs = [len(line) / 3.0 + 3 for line in lines]
        chosen = _Lines(costs, limit * 0.9 - BLOCK_TOKENS)
        chunks = ranking.chunks.get(path, {})
        definitions = ranking.tags[path].definitions if path in ranking.tags else ()
        chosen.add(range(min(HEAD_LINES, len(lines))))
        best = sorted(chunks, key=lambda chunk: (-chunks[chunk], chunk))
        outline = [definition.first - 1 for definition in definitions if definition.first <= len(lines)]
        named = {(path, definition.name): definition.first - 1 for definition in definitions}
        by_rank = sorted(named, key=lambda key: -ranking.map.definitions.get(key, 0.0))
        whole_outline = sum(costs[index] for index in outline) <= OUTLINE_SHARE * limit
        if whole_outline:
            chosen.add(outline)
        for position, chunk in enumerate(best):
            if not chosen.add(range(chunk * CHUNK_LINES, min(len(lines), (chunk + 1) * CHUNK_LINES))) and position > 2:
                break
            if position == 0 and not whole_outline:
                budget = OUTLINE_SHARE * limit
                for key in by_rank:
                    index = named[key]
                    if index < len(lines) and costs[index] <= budget and chosen.add([index]):
                        budget -= costs[index]
        return number_lines(path, lines, only={index + 1 for index in chosen.indexes}) if chosen.indexes else None

    def _part(self, path: str) -> Part | None:
        lines = self._safe_lines(path)
        return None if lines is None else number_lines(path, lines)

    def _safe_lines(self, path: str) -> list[str] | None:
        """Return the lines of a file without secrets; None if the file has to be left out, which is recorded."""
        if path not in self._lines:
            lines = self.files[path].lines
            self.secrets[path] = find_secrets(path, lines, self.allow)
            self._lines[path] = mask(lines, self.secrets[path])
            if self._lines[path] is None:
                self.left_out.append(LeftOut(path, "most of its lines contain secrets"))
        return self._lines[path]

    def _tokens(self, part: Part) -> int:
        return self.count(part.text) + BLOCK_TOKENS


@dataclass(slots=True)
class _Lines:
    """Indexes of lines that are chosen within a budget of tokens."""

    costs: Sequence[float]
    budget: float
    indexes: set[int] = field(default_factory=set)

    def add(self, indexes: Collection[int]) -> bool:
        """Add lines as far as the budget has room; return whether all were added."""
        for index in indexes:
            if index not in self.indexes:
                if self.costs[index] > self.budget:
                    return False
                self.budget -= self.costs[index]
                self.indexes.add(index)
        return True
