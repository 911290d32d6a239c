r"""Resolve the `@path` references of a prompt, and escape every other `@`.

The Gemini CLI takes any unescaped `@` for a path and searches for files with a similar name: `@property` would send the
first file with `property` in its name. So the prompt that is sent has `\@` everywhere, except before the references
that were resolved here to an existing file or directory of the project.
"""

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

from workbench_handlers.workspace.ignore import ALWAYS_IGNORED, IgnoreCheck
from workbench_handlers.workspace.open import similar
from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.probe import is_directory
from workbench_handlers.workspace.roots import Located, RefusedPathError, Root, locate

MAX_REFERENCES: Final = 5_000
"""Maximum different references in one prompt."""
MAX_REFERENCE_CHARS: Final = 4_096
MAX_TRAILING: Final = 8
"""Maximum characters after a path that may be punctuation or part of its name: `app/(auth)).`."""
MAX_NAMED: Final = 20
"""Maximum paths in one message."""
MAX_SUGGESTIONS: Final = 5
"""Missing paths of one prompt for which similar names are suggested."""

_AT: Final = re.compile(r"(?<!\\)\\*@")
r"""An `@` with all backslashes before it: `@`, `\@`, `\\@`."""
_QUOTED: Final = "|".join(rf"(?<!{quote}@){quote}[^{quote}\n]{{1,4096}}{quote}" for quote in "'\"`")
"""A path in quotes: `"a b.txt"`. `split('@')` contains none, since the same quotation mark precedes the `@`."""
_BARE: Final = r"(?:\\.|(?!\]\()[^\s\\@'\"`]|(?<=[\w/])@)+"
r"""A path without quotes, up to white space, a quotation mark or `](` of a link: `src/@scope/x.ts`, `a\ b.txt`."""
_REFERENCE: Final = re.compile(rf"(?<![0-9A-Za-z_/@\\\u00c0-\u052f])@(?:(?P<quoted>{_QUOTED})|(?P<bare>{_BARE}))")
"""The `@` must not follow a letter (`bob@example.com`), unless its script is text without spaces."""
_UNESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL: Final = re.compile(r"(?![\w/.\-])[\0-\x7f]|\.\Z")
"""Characters that the CLI reads as part of a path only if a backslash precedes them."""

_END: Final = " \t\n\r"
"""Characters that end a path for the CLI; other white space, such as U+001F, is part of it."""

_TRAILING: Final = "*_>|:~<=&…»“”’‘。，、；：！？）】」』》.,;!?)]}"  # noqa: RUF001  as they are typed
"""Characters that may follow a path without being part of it."""
_LAST_WORDS: Final = re.compile(r"(?<![\w:,-])[\w:,-]++\Z")
_COLON: Final = re.compile(r"::?\w")
_ANCHOR: Final = re.compile(r"#[\w-]++\Z")
_OTHER_SCRIPT: Final = re.compile(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""The beginning of a sentence that follows a path without a space: `src/app.py的代码`."""
_WILDCARD: Final = re.compile(r"[*?]")
_GLOB: Final = re.compile(r"[*?\[\\]|[!+@]\(|\{[^{\n]*?(?:,|\.\.)")
"""Signs in a name that the CLI would expand: for `app/[id]/x` it sends `app/i/x` and `app/d/x`."""

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
    """A file or directory of the project that the CLI attaches. `text` is the reference in the prompt, with `@`."""

    text: str
    located: Located
    is_directory: bool

    @property
    def path(self) -> str:
        """The path from the root, with forward slashes."""
        return "/".join(self.located.parts) or "."


@dataclass(frozen=True, slots=True)
class References:
    """The references of a prompt, each file or directory once, in order. `prompt` is the prompt to send."""

    found: tuple[Reference, ...]
    prompt: str
    warnings: tuple[str, ...] = ()


def resolve_references(prompt: str, root: Root, *, obeys_git: bool = True) -> References:
    """Resolve the references of `prompt` to files and directories of `root`. It blocks.

    A reference is in quotes (`@"a b.txt"`) or ends at white space, without the punctuation and the line number after
    it: `(@src/app.py:12),`. It stays text if nothing exists at its path, unless it can only be a path: see
    `_means_path`. Ignored files (if `obeys_git`), `.env` files and names that the CLI would expand stay text as well,
    with a warning.

    Raises:
        ToolError: PATH_NOT_ALLOWED if references lead outside the root, else INVALID_ARGUMENT if paths are missing.
    """
    resolver = _Resolver(root, obeys_git)
    pieces: list[str] = []
    end = 0
    while match := _REFERENCE.search(prompt, end):
        reference = resolver.resolve(match)
        # Quotation marks may enclose code between two strings, which may contain references itself.
        next_end = match.end() if reference or match["bare"] else match.start() + 1
        pieces.append(escape_at_signs(prompt[end : match.start()]))
        pieces.append(
            _spelled(prompt, match, *reference) if reference else escape_at_signs(prompt[match.start() : next_end])
        )
        end = next_end
    pieces.append(escape_at_signs(prompt[end:]))
    resolver.raise_problems()
    return References(tuple(resolver.found.values()), "".join(pieces), tuple(resolver.warnings()))


def escape_at_signs(text: str) -> str:
    r"""Escape every `@`. The number of backslashes before it becomes odd, so it is escaped however they are read."""
    return _AT.sub(lambda match: match[0] if len(match[0]) % 2 == 0 else f"{match[0][:-1]}\\@", text)


def path_spellings(text: str) -> Iterator[str]:
    """Yield the possible paths in `text`, the most likely first: itself, or the spelling of a reference."""
    yield text
    path = text.strip().removeprefix("@")
    if re.fullmatch(_QUOTED, path):
        yield path[1:-1]
        return
    yield path
    if "\\" in path:
        yield _UNESCAPE.sub(r"\1", path)


def _spelled(prompt: str, match: re.Match[str], reference: Reference, length: int) -> str:
    """Return the spelling that the CLI reads as this path, with the text after it."""
    rest = escape_at_signs(match[0][length:])
    following = rest or prompt[match.end() : match.end() + 1]
    path = "./" if reference.path == "." else _SPECIAL.sub(r"\\\g<0>", reference.path)
    return f"@{path}{'' if not following or following[0] in _END else ' '}{rest}"


@dataclass(slots=True)
class _Resolver:
    root: Root
    obeys_git: bool
    found: dict[tuple[str, ...], Reference] = field(default_factory=dict)
    _ignore: IgnoreCheck = field(init=False)
    _outside: dict[str, str] = field(default_factory=dict)
    _missing: dict[str, str] = field(default_factory=dict)
    _text: dict[str, str] = field(default_factory=dict)
    _resolved: dict[str, tuple[Reference, int] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ignore = IgnoreCheck(Located(self.root, (), "."))

    def resolve(self, match: re.Match[str]) -> tuple[Reference, int] | None:
        """Return the reference and the length of its text; None if it stays text. Problems are collected."""
        if match[0] not in self._resolved:
            if len(self._resolved) >= MAX_REFERENCES:
                message = f"the prompt has more than {MAX_REFERENCES:,} different `@` references"
                raise ToolError(
                    f"{message}: refer to directories, or write `\\@` for a literal @", code="INVALID_ARGUMENT"
                )
            self._resolved[match[0]] = self._find(match) if len(match[0]) <= MAX_REFERENCE_CHARS else None
        return self._resolved[match[0]]

    def _find(self, match: re.Match[str]) -> tuple[Reference, int] | None:
        is_quoted = bool(match["quoted"])
        for raw in (match["quoted"],) if is_quoted else _readings(match["bare"]):
            text = f"@{raw}"
            path = raw[1:-1] if is_quoted else _UNESCAPE.sub(r"\1", raw)
            try:
                located = locate(path, (self.root,))
            except RefusedPathError as error:
                if is_quoted or not _is_not_local(path, error):
                    self._outside[text if is_quoted else f"@{raw.rstrip(_TRAILING) or raw}"] = error.reason
                return None
            except ToolError as error:
                self._outside[text] = error.message
                return None
            if not (problem := _problem(located)):
                return self._accept(text, located)
            if problem != _MISSING:
                self._missing[text] = problem
                return None
        if not _WILDCARD.search(path) and _means_path(path, self.root):
            self._missing[text] = _MISSING + (_nearest(located) if len(self._missing) < MAX_SUGGESTIONS else "")
        return None

    def _accept(self, text: str, located: Located) -> tuple[Reference, int] | None:
        reference = Reference(text, located, is_directory(located.path))
        if reason := self._reason_for_text(reference):
            self._text[text] = reason
            return None
        return self.found.setdefault(located.parts, reference), len(text)

    def _reason_for_text(self, reference: Reference) -> str:
        """Return the reason why an existing file is not attached; empty if it is."""
        parts = reference.located.parts
        if _GLOB.search(reference.path):
            return "the Gemini CLI reads its name as a pattern; the model can still open it"
        if not reference.path.isprintable():
            return "its name contains characters that a prompt cannot contain"
        if any(part.casefold().startswith(".env") for part in parts):
            return "it may contain secrets"
        if not ALWAYS_IGNORED.isdisjoint(parts) or (self.obeys_git and self._is_ignored(reference)):
            return "it is ignored by .gitignore, or is part of version control or of an installed package"
        return ""

    def _is_ignored(self, reference: Reference) -> bool:
        parts = reference.located.parts
        try:
            return self._ignore.ignores_file((*parts, "any name") if reference.is_directory else parts)
        except NotInstalledError:
            return False

    def raise_problems(self) -> None:
        """Raise an error for all references that lead outside, else for all that are missing."""
        if self._outside:
            message = f"@ references outside the project `{self.root.path}`, or not allowed"
            raise _references_error(message, "PATH_NOT_ALLOWED", self._outside)
        if self._missing:
            raise _references_error("@ references not found", "INVALID_ARGUMENT", self._missing)

    def warnings(self) -> Iterator[str]:
        """Yield the reasons why existing files are not attached."""
        for reason in dict.fromkeys(self._text.values()):
            texts = [text for text, value in self._text.items() if value == reason]
            yield f"not attached, since {reason}: {_listed(texts)}"


def _references_error(message: str, code: str, problems: dict[str, str]) -> ToolError:
    items = list(problems.items())
    named = ", ".join(f"`{text}` ({reason})" for text, reason in items[:MAX_NAMED])
    more = f", and {len(items) - MAX_NAMED} more" if len(items) > MAX_NAMED else ""
    details = [{"reference": text, "reason": reason} for text, reason in items[: MAX_NAMED * 5]]
    return ToolError(f"{message}: {named}{more}. Write `\\@` for a literal @.", code=code, details={"paths": details})


def _listed(text: list[str]) -> str:
    more = f" and {len(text) - MAX_NAMED} more" if len(text) > MAX_NAMED else ""
    return ", ".join(f"`{reference}`" for reference in text[:MAX_NAMED]) + more


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
    return os.path.isdir(root.path / parts[0])  # noqa: PTH112  `Path.is_dir` raises for a name that is too long


def _nearest(located: Located) -> str:
    """Return the names that resemble the first missing part of a path."""
    steps = (Located(located.root, located.parts[:depth], "") for depth in range(1, len(located.parts)))
    return similar(next((step for step in steps if not os.path.lexists(step.path)), located))
