"""The files of one question: chosen, read, numbered and packed, with everything that was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolmason_runtime import estimate_tokens

from workbench_handlers.workspace.roots import Located, Root
from workbench_handlers.workspace.scan import Scan
from workbench_research.analysis.scope import Scope
from workbench_research.backends.protocol import Part
from workbench_research.context.choose import (
    IGNORED_REASON,
    SECRET_REASON,
    Chosen,
    LeftOut,
    choose,
    is_secret_name,
    shown,
)
from workbench_research.context.number import TextFile, read_files
from workbench_research.context.pack import NOT_RELEVANT, Packed, pack
from workbench_research.context.references import find_references
from workbench_research.context.secrets import SecretLine, load_allow
from workbench_research.context.tags import TagCache

MAX_HEAD_CHARS: Final = 4_000
"""Maximum characters of a file of which only the beginning is sent: its purpose is there."""
MIN_HEAD_CHARS: Final = 200
WHOLE: Final = Scope()
CUT: Final = "only some of its lines were sent"
_CHARS_PER_TOKEN: Final = 2.5
_LAST: Final = {CUT: 1, NOT_RELEVANT: 2, IGNORED_REASON: 3}
"""The order of common reasons, after all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files that belong to a question.

    They are those of `paths` and of the references in `about`, within `scope`; without any, the whole scope, except
    with `only_named`. `about` also ranks files that do not all fit. `listed` are files to send instead, only the
    beginning of each. With `is_prose` the citations in the text of the answer are checked.
    """

    root: Root
    paths: tuple[str, ...] = ()
    about: str = ""
    scope: Scope = WHOLE
    only_named: bool = False
    listed: tuple[Located, ...] | None = None
    is_prose: bool = False


@dataclass(frozen=True, slots=True)
class Material:
    """The parts to send, their tokens (estimated), and what was left out or cut, the most important first."""

    parts: tuple[Part, ...] = field(default=(), repr=False)
    tokens: int = 0
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()


def gather(files: Files, window: int, scan: Scan, *, cache: TagCache, sent_before: Sequence[str] = ()) -> Material:
    """Return the files of a question in at most `window` tokens. It blocks.

    Raises:
        ToolError: as `choose`, `load_allow` and `pack`.
        ScanStoppedError: the call was cancelled.
    """
    chosen = choose_files(files, scan)
    texts, unread = read_files(chosen.files, scan)
    heads = set()
    if files.listed is not None and texts:
        limit = int(min(MAX_HEAD_CHARS, max(MIN_HEAD_CHARS, window * _CHARS_PER_TOKEN / len(texts))))
        heads = {file.path for file in texts if len(file.text) > limit}
        texts = [_head(file, limit) for file in texts]
    allow = load_allow(files.root)
    packed = pack(
        texts, files.about, window, allow=allow, count=estimate_tokens, sent_before=sent_before, scan=scan, cache=cache
    )
    parts = tuple(replace(part, is_cut=True) if part.path in heads else part for part in packed.parts)
    left_out = sorted(
        [
            *chosen.left_out,
            *unread,
            *_left_out(packed),
            *(LeftOut(path, CUT) for path in sorted(heads - set(packed.cut))),
        ],
        key=lambda entry: _LAST.get(entry.reason, 0),
    )
    return Material(parts, packed.tokens, tuple(left_out), chosen.warnings)


def choose_files(files: Files, scan: Scan) -> Chosen:
    """Return the files of a question, and what is left out by name. It blocks."""
    if files.listed is not None:
        secret = [file for file in files.listed if is_secret_name(file.parts[-1])]
        left_out = tuple(LeftOut(shown(file), SECRET_REASON) for file in secret)
        return Chosen(tuple(file for file in files.listed if file not in secret), left_out)
    if files.only_named and not (files.paths or find_references(files.about, files.root)):
        return Chosen(())
    scope = files.scope
    paths = files.paths or scope.directories
    chosen = choose(files.root, scan, paths=paths, question=files.about, exclude=scope.exclude)
    if scope.include or (files.paths and scope.directories):
        chosen = replace(chosen, files=tuple(file for file in chosen.files if scope.covers("/".join(file.parts))))
    return chosen


def secret_line(secret: SecretLine) -> LeftOut:
    """Return the entry of a line that is not sent because of a secret."""
    return LeftOut(f"{secret.path}:{secret.line}", f"the line contains a secret ({secret.kind})")


def _head(file: TextFile, limit: int) -> TextFile:
    if len(file.text) <= limit:
        return file
    end = file.text.rfind("\n", 0, limit) + 1
    return replace(file, text=file.text[: end or limit])


def _left_out(packed: Packed) -> Iterator[LeftOut]:
    yield from map(secret_line, packed.secrets)
    yield from packed.left_out
    yield from (LeftOut(path, CUT) for path in packed.cut)
