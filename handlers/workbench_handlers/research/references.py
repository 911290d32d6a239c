"""The `@path` references of a prompt: where they lead is settled before a program reads them.

The Gemini CLI takes every `@` for a reference that no backslash stands before, also those of e-mail addresses and
decorators, and what is not there it searches for: `@property` puts the first file with `property` in its name into the
question. So a prompt is not only checked but rewritten: in `References.prompt` each reference that was checked stands
as the program reads it, and every other `@` behind a backslash, which makes it text.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.research.file_filter import Handing
from workbench_handlers.workspace.open import similar
from workbench_handlers.workspace.roots import Located, RefusedPathError, Root, locate

MAX_REFERENCES: Final = 5_000
"""Different references of one prompt that are looked up."""
MAX_REFERENCE_LENGTH: Final = 4_096
"""Characters of one; no system has longer paths."""
MAX_MESSAGES: Final = 20
"""Paths that one message names."""
MAX_REST_LENGTH: Final = 40
"""Characters that a message shows of what follows a reference."""
MAX_SUGGESTIONS: Final = 5
"""Missing paths of one prompt for which similar names are looked for."""

_BARE: Final = r"(?:\\[^\n\r\u2028\u2029]|[^ \t\n\r,;!?()\[\]{}.]|\.(?![ \t\n\r]|\Z))"
"""One step of a reference as the CLI reads it (`AT_COMMAND_PATH_REGEX_SOURCE` of 0.61)."""
_QUOTED: Final = "|".join(rf"{quote}(?=\S)[^{quote}\n]{{1,4096}}(?<=\S){quote}" for quote in "'\"`")
_AT: Final = re.compile(rf"(?<!\\)@(?:(?P<quoted>(?:{_QUOTED}))|(?P<bare>\.\.(?=\s|\Z)|{_BARE}+|(?=[(\[{{])))")
_BEYOND: Final = re.compile(r"(?:\\[^\n\r\u2028\u2029]|[^ \t\n\r@\\]|(?<=[A-Za-z0-9_/])@){0,512}")
"""What may go on with a path where a reference ends for the CLI: brackets and the like, up to the next space or `@`."""
_STEP: Final = re.compile(r"\\.|.", re.DOTALL)
_GOES_ON: Final = re.compile(_BARE)
_UNESCAPE: Final = re.compile(r"\\([^\n\r\u2028\u2029])")
_SPECIAL: Final = re.compile(r"(?![\w/.\-])[\0-\x7f]|\.$")
_BACKSLASHED: Final = r"\\\g<0>"
_TAKEN: Final = re.compile(rf"(?<!\\)@(?=\.|{_BARE})")  # of a dot it is known only with what follows

_TRAILING: Final = "'\"`*_>|:~<=&…»“”’‘。，、；：！？）】」』》"  # noqa: RUF001  as they are typed
"""What may stand behind a path without being a part of it, and does not end a reference for the CLI."""
_AFTER: Final = f"{_TRAILING}.,;!?)]}}"
_WITHIN_NAMES: Final = frozenset("-._/\\+~@$%^")
"""What is no letter or digit, and still no sign that a name has ended."""
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
_LONGER_NAME: Final = re.compile(r"[(\[{].*[)\]}][\w./-]")
_CALL: Final = re.compile(r"\(['\"`)]")
_PACKAGE: Final = re.compile(r"@[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*")
_PACKAGES: Final = re.compile(r"\b(?:npm|npx|pnpm|yarn|bun|package\.json)\b")
"""What a prompt says that has to do with packages, whose names look like folders."""
_LINES: Final = re.compile(r"(?::\d+(?:[-:,]\d+)*|#L\d+(?:-L?\d+)?)$")
_PATTERN: Final = re.compile(r"[*?\[\\]|[!+@]\(|\{.*(?:,|\.\.)")
"""What the CLI 0.61 searches by though the name is there: for `app/[id]/x` it reads `app/i/x` and `app/d/x`."""
_WILD: Final = re.compile(r"[*?]")

_ENDINGS: Final = (
    "bash bat c cc cfg clj cmake conf cpp cs css csv dart diff dockerfile env erl ex exs fs gif go gradle graphql "
    "groovy h hpp hs htm html ini ipynb java jpeg jpg js json jsonl jsx kt kts less lock log lua md mdx mjs mts nix "
    "pdf php pl png proto ps1 py pyi r rb rs rst sass scala scss sh sln sql svelte svg swift tf toml ts tsx txt vue "
    "xml yaml yml zig zsh"
)
_SUFFIXES: Final = frozenset(f".{ending}" for ending in _ENDINGS.split())
"""Endings of names that are files, not decorators: `@app.route` is none, `@app.py` is."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference that leads to a file or folder within the root. `written` is how the prompt has it, `@` and all.

    `kept_back` says why the program does not hand over what is there, though it may be named; empty if it does.
    """

    written: str
    located: Located
    is_folder: bool = False
    kept_back: str = ""

    @property
    def path(self) -> str:
        """Where it leads, from the root, with forward slashes."""
        return "/".join(self.located.parts) or "."


@dataclass(frozen=True, slots=True)
class References:
    """What a prompt refers to: each file or folder once, in order. `prompt` is the text to send; see the module."""

    found: tuple[Reference, ...]
    prompt: str
    warnings: tuple[str, ...] = ()


def check_references(prompt: str, root: Root, *, obeys_git: bool = True) -> References:
    """Check all references of `prompt`, which the program will read from `root`. Looks at the disk, so it may block.

    `obeys_git` says that the program does not hand over what `.gitignore` names.

    A reference is what follows an `@` that no letter, digit, slash or backslash stands before, and that is there, or
    that can only be meant as a path: it is quoted, absolute, begins with a `~` or a dot and a slash, has a `..`, ends
    in a slash or as source files do, or begins with a folder of the project. All others (`@property`, `@google/genai`,
    `bob@example.com`) are text.

    Without quotes the path is the longest that is there and ends where a name may end, also beyond a bracket or comma,
    where it ends for the CLI. A folder is not taken where a longer path goes on from it: that path is missing.

    Raises:
        ToolError: PATH_NOT_ALLOWED if some lead outside, else INVALID_ARGUMENT if some are missing; it names them all.
    """
    check = _Check(root, Handing(root, obeys_git))
    pieces: list[str] = []
    end = 0
    while match := _AT.search(prompt, end):
        pieces.append(plain(prompt[end : match.start()]))
        written, end = check.rewritten(prompt, match)
        pieces.append(written)
    pieces.append(plain(prompt[end:]))
    check.raise_problems()
    return References(tuple(check.found.values()), "".join(pieces), tuple(check.warnings(prompt)))


def plain(text: str) -> str:
    """Make every `@` of `text` one that the program takes for text, not for a reference."""
    return _TAKEN.sub(r"\\@", text)


def spellings(written: str) -> Iterator[str]:
    """Give the paths that `written` may stand for, the likeliest first: as it is, or as a prompt would refer to it."""
    yield written
    path = written.strip().removeprefix("@")
    if match := re.fullmatch(_QUOTED, path):
        yield match[0][1:-1]
        return
    yield path
    if "\\" in path:
        yield _UNESCAPE.sub(r"\1", path)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What became of one reference. `length` is how many characters of it are the path; `shown` replaces those."""

    length: int = 0
    shown: str = ""


@dataclass(slots=True)
class _Check:
    root: Root
    handing: Handing
    found: dict[tuple[str, ...], Reference] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    looked_up: dict[str, _Verdict | None] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    hints: dict[str, None] = field(default_factory=dict)

    def rewritten(self, prompt: str, match: re.Match[str]) -> tuple[str, int]:
        """Give what stands in the prompt for one match, or the beginning of it, and where the rest goes on."""
        start, written = match.start(), match[0]
        verdict = None
        if len(written) <= MAX_REFERENCE_LENGTH and not _is_within_word(
            prompt[max(0, start - 1) : start], prompt[start + 1]
        ):
            verdict = self._looked_up(match, _region(prompt, match))
        if verdict:
            end = start + verdict.length
            return verdict.shown + (" " if _GOES_ON.match(prompt, end) else ""), end
        if written == "@":  # with a bracket after it, which the program takes for no path
            return written, match.end()
        # What looks quoted may be code between two strings, and hold references.
        return ("\\@", start + 1) if match["quoted"] else (f"\\@{plain(match['bare'])}", match.end())

    def _looked_up(self, match: re.Match[str], region: str) -> _Verdict | None:
        key = match[0] if match["quoted"] else f"@{region}"
        if key not in self.looked_up:
            self.counted.add(match[0])
            if len(self.counted) > MAX_REFERENCES:
                message = f"the prompt has more than {MAX_REFERENCES:,} different `@` references"
                raise ToolError(f"{message}: name folders, or write `\\@` where none is meant", code="INVALID_ARGUMENT")
            self.looked_up[key] = self._verdict(match, region)
        return self.looked_up[key]

    def _verdict(self, match: re.Match[str], region: str) -> _Verdict | None:
        """Look a reference up; None if it is text. What is wrong with it is kept for `raise_problems`."""
        whole = match[0] if match["quoted"] else f"@{region}"
        missed = None
        for path, length in _readings(match, region, self.root):
            written = whole[:length]
            located = self._located(path, written, is_quoted=bool(match["quoted"]))
            if not located:
                return None
            problem = _problem(located)
            if not problem and not match["quoted"] and _goes_on(region, length - 1, is_folder=located.path.is_dir()):
                self._cut_short(written, region)
                return None
            if not problem:
                return self._accepted(written, located)
            missed = (path, written, located, problem)
            if length > len(match[0]):  # it is there and cannot be read: what stands before it is not meant
                break
        if missed and (missed[3] != _MISSING or _means_file(missed[0], self.root)):
            self._missed(*missed[1:])
        elif not missed and _is_below_folder(_name(region), self.root):
            self._cut_short("@", region)
        return None

    def _located(self, path: str, written: str, *, is_quoted: bool) -> Located | None:
        """Give the place of a path; None if it is not one of the project, which is kept."""
        try:
            return locate(path, (self.root,))
        except RefusedPathError as error:
            if _is_nowhere(path, error) and not is_quoted:
                self._hint(written, path)
            else:
                self.outside[written] = error.reason
        except ToolError as error:
            self.outside[written] = error.message
        return None

    def _cut_short(self, taken: str, region: str) -> None:
        """Note a path that is there in part only: what is there is not what was meant."""
        name = _name(region)
        path = _UNESCAPE.sub(r"\1", name)
        if not _means_file(path, self.root):
            rest = region[len(taken) - 1 :][:MAX_REST_LENGTH]
            self.hints[f"`{taken}` was left as text for the `{rest}` behind it: put a space there if it is meant"] = (
                None
            )
        elif located := self._located(path, f"@{name}", is_quoted=False):
            self._missed(f"@{name}", located, _problem(located) or _MISSING)

    def _accepted(self, written: str, located: Located) -> _Verdict | None:
        is_folder = located.path.is_dir()
        reference = Reference(written, located, is_folder)
        if _PATTERN.search(reference.path):
            why = "the Gemini CLI takes its name for a pattern, which means other files"
            self.hints[f"`{written}` was left as text, for the model to open by itself: {why}"] = None
            return None
        shown = _shown(reference)
        if shown is None:
            self.hints[f"`{written}` leads to a name that cannot stand in a prompt, so it was left as text"] = None
            return None
        if located.parts not in self.found:
            self.found[located.parts] = replace(reference, kept_back=self.handing.why_not(located, is_folder=is_folder))
        return _Verdict(len(written), shown)

    def _missed(self, written: str, located: Located, problem: str) -> None:
        wild = [number for number, part in enumerate(located.parts) if _WILD.search(part)]
        if wild and not _problem(Located(self.root, located.parts[: wild[0]], "")):
            return  # the model can search by it; the folder it begins in is what counts
        near = _nearest(located) if problem == _MISSING and len(self.missing) < MAX_SUGGESTIONS else ""
        self.missing[written] = f"{problem}{near}"

    def _hint(self, written: str, path: str) -> None:
        inside = path.lstrip("/")
        if inside and os.path.lexists(self.root.path / inside):
            self.hints[f"`{written}` is no path of this machine and was left as text: did you mean `@{inside}`?"] = None

    def raise_problems(self) -> None:
        if self.outside:
            message = f"the prompt refers to what is outside of the project `{self.root.path}` or not allowed"
            raise _refusal(message, "PATH_NOT_ALLOWED", self.outside)
        if self.missing:
            raise _refusal("the prompt refers to what is not there", "INVALID_ARGUMENT", self.missing)

    def warnings(self, prompt: str) -> Iterator[str]:
        """Say what is not handed over, and what was left as text though it may not have been meant so."""
        for why in dict.fromkeys(each.kept_back for each in self.found.values() if each.kept_back):
            kept_back = [each.written for each in self.found.values() if each.kept_back == why]
            yield f"not handed over, as {why}: {_listed(kept_back)}"
        folders = [each.written for each in self.found.values() if each.is_folder and not each.kept_back]
        packages = [written for written in folders if _PACKAGE.fullmatch(written)]
        if packages and _PACKAGES.search(prompt):
            why = "a folder of the project, whose files were handed over: write `\\@` where a package is meant"
            yield f"{_listed(packages)}: {why}"
        yield from list(self.hints)[:MAX_SUGGESTIONS]
        if (more := len(self.hints) - MAX_SUGGESTIONS) > 0:
            yield f"{more:,} more references were left as text"


def _refusal(message: str, code: str, problems: dict[str, str]) -> ToolError:
    said = [f"`{written}` ({reason})" for written, reason in problems.items()][:MAX_MESSAGES]
    more = f", and {len(problems) - MAX_MESSAGES} more" if len(problems) > MAX_MESSAGES else ""
    way_out = "Write `\\@` where no file is meant."
    listed = [{"reference": written, "reason": reason} for written, reason in problems.items()][: MAX_MESSAGES * 5]
    return ToolError(f"{message}: {', '.join(said)}{more}. {way_out}", code=code, details={"paths": listed})


def _listed(written: list[str]) -> str:
    more = f" and {len(written) - MAX_MESSAGES} more" if len(written) > MAX_MESSAGES else ""
    return ", ".join(f"`{each}`" for each in written[:MAX_MESSAGES]) + more


def _is_within_word(before: str, after: str) -> bool:
    """Whether an `@` between these belongs to a word, an address or a URL, or ends a string such as `"@"`.

    Scripts without capitals, such as Chinese, are often written without spaces: there it begins something new.
    """
    if not before or before == after:
        return bool(before)
    return before in "_/@" or (before.isalnum() and unicodedata.category(before) != "Lo")


def _region(prompt: str, match: re.Match[str]) -> str:
    """Give all that may be a path behind an `@`: what the CLI takes, and what goes on with it."""
    beyond = _BEYOND.match(prompt, match.end())
    return f"{match['bare'] or ''}{beyond[0] if beyond else ''}"


def _readings(match: re.Match[str], region: str, root: Root) -> Iterator[tuple[str, int]]:
    """Give the paths a match may mean, and how much of it each takes up, `@` included; the longest first.

    Those that the CLI would not take as they are come only if they are there.
    """
    if match["quoted"]:
        yield match["quoted"][1:-1], len(match[0])
        return
    whole: str = match["bare"]
    trimmed = whole.rstrip(_TRAILING) or whole
    without_lines = _LINES.sub("", trimmed) or trimmed
    usual = {_UNESCAPE.sub(r"\1", raw): len(raw) for raw in (without_lines, trimmed, whole)}
    usual = {path: length for path, length in usual.items() if path.strip()}
    there = {path: length for path, length in _existing(region, root) if path not in usual}
    shortest = min(usual.values(), default=0)
    yield from ((path, length + 1) for path, length in reversed(there.items()) if length > len(whole))
    yield from ((path, length + 1) for path, length in reversed(usual.items()))
    yield from ((path, length + 1) for path, length in reversed(there.items()) if length < shortest)


def _existing(region: str, root: Root) -> Iterator[tuple[str, int]]:
    """Give what is there of the paths that a text begins with, and how much of it each takes up; the shortest first."""
    parents = {"": True}
    for length in _ends(region):
        path = _UNESCAPE.sub(r"\1", region[:length])
        try:
            place = os.path.join(root.path, os.path.expanduser(path))  # noqa: PTH111, PTH118  as `locate` reads it
        except ValueError:  # `~` and what is no name of a user
            return
        parent = os.path.dirname(place)  # noqa: PTH120  text, see above
        if parent not in parents:
            parents[parent] = os.path.isdir(parent)  # noqa: PTH112  `Path.is_dir` raises for what is too long
        if not parents[parent]:
            return
        if os.path.lexists(place):
            yield path, length


def _ends(region: str) -> Iterator[int]:
    """Give the places of a text where the name of a file may end, in order."""
    tail = len(region.rstrip(_AFTER))
    before = "/"
    for step in _STEP.finditer(region):
        after, place = step[0], step.start()
        is_sign = len(after) == 1 and not after.isalnum() and after not in _WITHIN_NAMES
        if place >= tail or (before != "/" and (is_sign or _is_other_script(before, after[0]))):
            yield place
        before = after[-1]
    if region:
        yield len(region)


def _is_other_script(before: str, after: str) -> bool:
    """Whether a script without capitals begins between two characters; see `_is_within_word`."""
    return before.isalnum() and unicodedata.category(before) != "Lo" and unicodedata.category(after) == "Lo"


def _name(region: str) -> str:
    """Give what of a text someone may have meant for a path: up to a quote, or a bracket that nothing opened."""
    closing: list[str] = []
    for step in _STEP.finditer(region):
        if step[0] in _BRACKETS:
            closing.append(_BRACKETS[step[0]])
        elif (step[0] in ")]}" and (not closing or closing.pop() != step[0])) or step[0] in "'\"`":
            region = region[: step.start()]
            break
    name = region.rstrip(_AFTER.translate({ord(each): None for each in ")]}"}))
    return _LINES.sub("", name) or name


def _goes_on(region: str, length: int, *, is_folder: bool) -> bool:
    """Whether a longer path than the one that is there is meant."""
    name = _name(region)
    rest = name[length:]
    if is_folder and _CALL.match(region, length):
        return True
    if not is_folder or not rest:
        return bool(_LONGER_NAME.match(rest))
    if region[length - 1] == "/" and rest[0] in _BRACKETS:
        return True
    return "/" in rest or PurePosixPath(rest).suffix.lower() in _SUFFIXES


def _is_below_folder(name: str, root: Root) -> bool:
    first, slash, rest = name.partition("/")
    return bool(first and slash and rest) and os.path.isdir(root.path / first)  # noqa: PTH112  see `_means_file`


_MISSING: Final = "no such file or directory"


def _problem(located: Located) -> str:
    """Say why what is at `located` cannot be read, or nothing."""
    try:
        kind = located.path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link in a circle"
        return "no permission" if error.errno == errno.EACCES else _MISSING
    return "" if stat.S_ISREG(kind) or stat.S_ISDIR(kind) else "neither a file nor a directory"


def _is_nowhere(path: str, error: RefusedPathError) -> bool:
    """Whether an absolute path leads nowhere on this machine, as `@/components/Button` of many web projects does."""
    first = PurePosixPath(path).parts[:2]
    return bool(error.resolved) and path.startswith("/") and len(first) > 1 and not os.path.lexists("/" + first[1])


def _means_file(path: str, root: Root) -> bool:
    """Whether what is not there can only be meant as a path."""
    if path.startswith(("~", "/", "./", "../")) or path.endswith("/"):
        return True
    parts = path.split("/")
    name = parts[-1]
    if ".." in parts or PurePosixPath(name).suffix.lower() in _SUFFIXES:
        return True
    if len(parts) == 1:
        return name.startswith(".") and name[1:2].isalpha()
    return os.path.isdir(root.path / parts[0])  # noqa: PTH112  `Path.is_dir` raises for a name that is too long


def _nearest(located: Located) -> str:
    """Say which names look like the first part of the way that is missing."""
    steps = (Located(located.root, located.parts[:depth], "") for depth in range(1, len(located.parts)))
    return similar(next((step for step in steps if not os.path.lexists(step.path)), located))


def _shown(reference: Reference) -> str | None:
    """Write a reference as the program reads it, whole; None if that cannot be."""
    if not reference.located.parts:
        return "@./"
    path = reference.path
    if any(character in path for character in "\n\r\u2028\u2029") or not _is_text(path):
        return None
    return f"@{_SPECIAL.sub(_BACKSLASHED, path)}"


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # a name that is no UTF-8, which a link leads to
        return False
    return True
