r"""The `@path` references of a question: `@src/app.py:12`, `@"a b.txt"`, `@a\ b.txt`; `\@` is a literal `@`."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.open import found, similar
from workbench_handlers.workspace.probe import is_directory
from workbench_handlers.workspace.roots import Located, RefusedPathError, Root, locate

MAX_REFERENCES: Final = 5_000
"""Maximum different references in one question."""
MAX_REFERENCE_CHARS: Final = 4_096
MAX_TRAILING: Final = 8
"""Maximum characters after a path that may be punctuation or part of its name: `app/(auth)).`."""
MAX_NAMED: Final = 20
"""Maximum paths in one message."""
MAX_SUGGESTIONS: Final = 5
"""Missing paths of one question for which similar names are suggested."""

_QUOTED: Final = "|".join(rf"(?<!{quote}@){quote}[^{quote}\n]{{1,4096}}{quote}" for quote in "'\"`")
"""A path in quotes: `"a b.txt"`. `split('@')` contains none, since the same quotation mark precedes the `@`."""
_BARE: Final = r"(?:\\.|(?!\]\()[^\s\\@'\"`]|(?<=[\w/])@)+"
r"""A path without quotes, up to white space, a quotation mark or `](` of a link: `src/@scope/x.ts`, `a\ b.txt`."""
_REFERENCE: Final = re.compile(rf"(?<![0-9A-Za-z_/@\\\u00c0-\u052f])@(?:(?P<quoted>{_QUOTED})|(?P<bare>{_BARE}))")
"""The `@` must not follow a letter (`bob@example.com`), unless its script is text without spaces."""
_UNESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)

_TRAILING: Final = "*_>|:~<=&…»“”’‘。，、；：！？）】」』》.,;!?)]}"  # noqa: RUF001  as they are typed
"""Characters that may follow a path without being part of it."""
_LAST_WORDS: Final = re.compile(r"(?<![\w:,-])[\w:,-]++\Z")
_COLON: Final = re.compile(r"::?\w")
_ANCHOR: Final = re.compile(r"#[\w-]++\Z")
_OTHER_SCRIPT: Final = re.compile(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""The beginning of a sentence that follows a path without a space: `src/app.py的代码`."""
_WILDCARD: Final = re.compile(r"[*?]")
_SOURCE_SUFFIXES: Final = re.compile(
    r"\.(?:bash|bat|c|cc|cfg|clj|cmake|conf|cpp|cs|css|csv|dart|diff|dockerfile|env|erl|ex|exs|fs|gif|go|gradle|graphql"
    r"|groovy|h|hpp|hs|htm|html|ini|ipynb|java|jpe?g|js|json|jsonl|jsx|kts?|less|lock|log|lua|md|mdx|mjs|mts|nix|pdf|php"
    r"|pl|png|proto|ps1|pyi?|r|rb|rs|rst|sass|scala|scss|sh|sln|sql|svelte|svg|swift|tf|toml|tsx?|txt|vue|xml|ya?ml|zig"
    r"|zsh)\Z",
    re.IGNORECASE,
)
"""Suffixes of files: `@app.py` must be a path, `@app.route` may be a decorator."""
_MISSING: Final = "no such file or directory"


@dataclass(frozen=True, slots=True)
class Reference:
    """An existing file or directory that a question names. `text` is the reference in the question, with `@`."""

    text: str
    located: Located
    is_directory: bool


def find_references(question: str, root: Root) -> tuple[Reference, ...]:
    """Return the references of `question` to files and directories of `root`, each once, in order. It blocks.

    A reference is in quotes or ends at white space, without the punctuation and the line number after it. It is text
    if nothing exists at its path, unless it can only be a path: see `_means_path`.

    Raises:
        ToolError: PATH_NOT_ALLOWED if references lead outside the root, else INVALID_ARGUMENT if paths are missing.
    """
    resolver = _Resolver(root)
    end = 0
    while match := _REFERENCE.search(question, end):
        reference = resolver.resolve(match)
        # Quotation marks may enclose code between two strings, which may contain references itself.
        end = match.end() if reference or match["bare"] else match.start() + 1
    resolver.raise_problems()
    return tuple(resolver.found.values())


@dataclass(slots=True)
class _Resolver:
    root: Root
    found: dict[tuple[str, ...], Reference] = field(default_factory=dict)
    _outside: dict[str, str] = field(default_factory=dict)
    _missing: dict[str, str] = field(default_factory=dict)
    _resolved: dict[str, Reference | None] = field(default_factory=dict)

    def resolve(self, match: re.Match[str]) -> Reference | None:
        """Return the reference; None if it is text. Problems are collected."""
        if match[0] not in self._resolved:
            if len(self._resolved) >= MAX_REFERENCES:
                message = f"the question has more than {MAX_REFERENCES:,} different `@` references"
                raise ToolError(
                    f"{message}: refer to directories, or write `\\@` for a literal @", code="INVALID_ARGUMENT"
                )
            self._resolved[match[0]] = self._find(match) if len(match[0]) <= MAX_REFERENCE_CHARS else None
        return self._resolved[match[0]]

    def _find(self, match: re.Match[str]) -> Reference | None:
        is_quoted = bool(match["quoted"])
        for raw in (match["quoted"],) if is_quoted else _readings(match["bare"]):
            text = f"@{raw}"
            path = raw[1:-1] if is_quoted else _UNESCAPE.sub(r"\1", raw)
            try:
                located = found(locate(path, (self.root,)), (self.root,))
            except RefusedPathError as error:
                if is_quoted or not _is_not_local(path, error):
                    self._outside[text if is_quoted else f"@{raw.rstrip(_TRAILING) or raw}"] = error.reason
                return None
            except ToolError as error:
                self._outside[text] = error.message
                return None
            if not (problem := _problem(located)):
                reference = Reference(text, located, is_directory(located.path))
                return self.found.setdefault(located.parts, reference)
            if problem != _MISSING:
                self._missing[text] = problem
                return None
        if not _WILDCARD.search(path) and _means_path(path, self.root):
            self._missing[text] = _MISSING + (_nearest(located) if len(self._missing) < MAX_SUGGESTIONS else "")
        return None

    def raise_problems(self) -> None:
        """Raise an error for all references that lead outside, else for all that are missing."""
        if self._outside:
            message = f"@ references outside the project `{self.root.path}`, or not allowed"
            raise _references_error(message, "PATH_NOT_ALLOWED", self._outside)
        if self._missing:
            raise _references_error("@ references not found", "INVALID_ARGUMENT", self._missing)


def _references_error(message: str, code: str, problems: dict[str, str]) -> ToolError:
    items = list(problems.items())
    named = ", ".join(f"`{text}` ({reason})" for text, reason in items[:MAX_NAMED])
    more = f", and {len(items) - MAX_NAMED} more" if len(items) > MAX_NAMED else ""
    details = [{"reference": text, "reason": reason} for text, reason in items[: MAX_NAMED * 5]]
    return ToolError(f"{message}: {named}{more}. Write `\\@` for a literal @.", code=code, details={"paths": details})


def _readings(bare: str) -> Iterator[str]:
    """Yield the possible paths in a text without quotes, the longest first; the last is the most likely."""
    trimmed = bare.rstrip(_TRAILING)
    shortest = max(len(trimmed), len(bare) - MAX_TRAILING, 1)
    sentence = _OTHER_SCRIPT.split(trimmed, maxsplit=1)[0].rstrip(_TRAILING)
    others = (trimmed, sentence, _without_position(sentence or trimmed))
    yield from dict.fromkeys(filter(None, (*(bare[:end] for end in range(len(bare), shortest - 1, -1)), *others)))


def _without_position(path: str) -> str:
    """Return a path without a position at its end: `:12-14`, `::test_x`, `#L3-L5`."""
    if (words := _LAST_WORDS.search(path)) and (colon := _COLON.search(path, words.start())):
        return path[: colon.start()]
    return _ANCHOR.sub("", path)


def _problem(located: Located) -> str:
    """Return why the file or directory cannot be read; empty if it can."""
    try:
        kind = located.path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a loop of symbolic links"
        return "no permission" if error.errno == errno.EACCES else _MISSING
    return "" if stat.S_ISREG(kind) or stat.S_ISDIR(kind) else "neither a file nor a directory"


def _is_not_local(path: str, error: RefusedPathError) -> bool:
    """Return whether the top directory of an absolute path is missing, as in the alias `@/components/Button`."""
    first = PurePosixPath(path).parts[:2]
    return bool(error.resolved) and path.startswith("/") and len(first) > 1 and not os.path.lexists("/" + first[1])


def _means_path(path: str, root: Root) -> bool:
    """Return whether a text can only be a path: `./x`, `x/`, `../x`, `x.py`, `.gitignore`, `src/x` if `src` exists."""
    parts = path.split("/")
    if path.startswith(("~", "/", "./", "../")) or path.endswith("/") or ".." in parts:
        return True
    if _SOURCE_SUFFIXES.search(parts[-1]):
        return True
    if len(parts) == 1:
        return path.startswith(".") and path[1:2].isalpha()
    return is_directory(root.path / parts[0])


def _nearest(located: Located) -> str:
    """Return the names that resemble the first missing part of a path."""
    steps = (Located(located.root, located.parts[:depth], "") for depth in range(1, len(located.parts)))
    return similar(next((step for step in steps if not os.path.lexists(step.path)), located))
