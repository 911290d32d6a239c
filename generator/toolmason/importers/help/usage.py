"""Reads the usage lines of a help text: which arguments a program takes, in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

_USAGE: Final = re.compile(r"\s*usage:?\s*(?P<rest>.*)$", re.IGNORECASE)
_OR: Final = re.compile(r"\s*or:\s*(?P<rest>.*)$", re.IGNORECASE)
_TOKEN: Final = re.compile(r"--\[no-\][\w-]+|<[^<>]*>|\.\.\.|[\[\]()|]|[^\s\[\]()|<>]+")
_OPTIONS: Final = re.compile(r"(?:[\w-]*[_-])?(?:options?|opts?|flags?|switches)", re.IGNORECASE)
_COMMAND: Final = re.compile(r"(?:sub-?|management )?commands?", re.IGNORECASE)
_ARGUMENTS: Final = re.compile(r"arg(?:ument)?s?", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z][\w .:/+-]*")
_LITERAL: Final = re.compile(r"[a-z][a-z0-9_:.-]*")
_FLAG: Final = re.compile(r"-[A-Za-z0-9]|--[A-Za-z0-9][\w-]*")
_SWITCHES: Final = re.compile(r"-[A-Za-z0-9]{2,}")
_EXPLAINED: Final = re.compile(r"(?<=\S)\s{3,}(?=[A-Za-z]).*")
_OPTION: Final = re.compile(r"\s{0,4}-\S|\s*-\S.*\S\s{2,}\S")
"""The line of an option, and not of a usage that goes on, which stands further right and says nothing of it."""
_MAX_DEPTH: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Positional:
    """An argument without a flag."""

    name: str
    required: bool = True
    several: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the usage lines say. `lines` are the numbers of those lines in the text.

    `commands` are sub-commands that have lines of their own; then there are no `positionals`, which would be theirs.
    `options` are flags in brackets, each with what its value is called.
    """

    positionals: tuple[Positional, ...] = ()
    commands: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    required_flags: frozenset[str] = frozenset()
    takes_command: bool = False
    ends_options: bool = False
    is_ambiguous: bool = False
    lines: frozenset[int] = frozenset()


def parse_usage(lines: Sequence[str], command: Sequence[str]) -> Usage:
    """Read the usage lines. Of several forms, the first with an argument counts."""
    numbers, forms = _forms(lines, command)
    found = [_Form(form, command) for form in forms]
    best = next((each for each in found if each.positionals), found[0] if found else None)
    if best is None:
        return Usage(lines=frozenset(numbers))
    shapes = {tuple(each.positionals) for each in found}
    commands = tuple(dict.fromkeys(word for form in found for word in form.literals))
    if len(commands) > 1:
        return Usage(commands=commands, ends_options=any(each.ends_options for each in found), lines=frozenset(numbers))
    return Usage(
        positionals=tuple(_required_in_all(each, found) for each in best.positionals),
        options=tuple(dict(each for form in found for each in form.options).items()),
        required_flags=frozenset(best.required_flags),
        takes_command=any(each.takes_command for each in found),
        ends_options=any(each.ends_options for each in found),
        is_ambiguous=len(shapes) > 1 or best.is_ambiguous,
        lines=frozenset(numbers),
    )


def _required_in_all(positional: Positional, forms: Sequence[_Form]) -> Positional:
    """Let an argument that one of the forms does without be optional."""
    in_all = all(any(each.name == positional.name for each in form.positionals) for form in forms)
    return replace(positional, required=positional.required and in_all)


def _forms(lines: Sequence[str], command: Sequence[str]) -> tuple[list[int], list[str]]:
    """Find the usage lines, and put what is broken over several lines together."""
    start = next((number for number, line in enumerate(lines) if _USAGE.match(line)), None)
    if start is None:
        return [], []
    match = _USAGE.match(lines[start])
    rest = match["rest"] if match else ""
    numbers, forms = [start], [rest] if rest else []
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            if forms:
                break
            continue
        if _OPTION.match(line) or not (line.startswith(" ") or _names_program(line, command)):
            break
        numbers.append(number)
        other = _OR.match(line)
        if other or not forms or _names_program(line, command):
            forms.append(_unexplained(other["rest"] if other else line.strip()))
        else:
            forms[-1] += f" {line.strip()}"
    return numbers, forms


def _unexplained(form: str) -> str:
    """Leave out what is said of a form behind it, as npm does, but not what follows the program itself."""
    short = _EXPLAINED.sub("", form)
    return short if " " in short else form


def _names_program(line: str, command: Sequence[str]) -> bool:
    return line.split(maxsplit=1)[0] in {command[0], PurePath(command[0]).name}


class _Form:
    """One form of the usage."""

    def __init__(self, text: str, command: Sequence[str]) -> None:
        self.positionals: list[Positional] = []
        self.options: list[tuple[str, str]] = []
        self.required_flags: set[str] = set()
        self.takes_command = False
        self.ends_options = False
        self.is_ambiguous = False
        tokens = _TOKEN.findall(text)
        rest = tokens[_named(tokens, command) :]
        self.literals = tuple(_literals(rest))
        self._read(rest, optional=False, depth=0)

    def _read(self, tokens: list[str], *, optional: bool, depth: int) -> None:
        """Read the tokens of a group, or of the whole line."""
        after_flag = False
        start = len(self.positionals)
        for kind, inner in _groups(tokens):
            if kind == "...":
                self._repeat()
            elif kind == "|":
                # Of alternatives, only the first is taken, and it may be missing.
                self.is_ambiguous = self.is_ambiguous or not after_flag
                self.positionals[start:] = [replace(each, required=False) for each in self.positionals[start:]]
                return
            elif kind in "[(":
                # `(-c | -C) <commit>`: what follows is their value.
                is_flags = kind == "(" and all(_is_flag_or_sign(each) for each in inner)
                if depth < _MAX_DEPTH and not is_flags and not (after_flag and kind == "("):
                    self._group(inner, optional=optional or kind == "[", depth=depth + 1)
                after_flag = is_flags
            elif inner[0] == "--":
                self.ends_options = True
            elif inner[0].startswith("-"):
                flag, _, value = inner[0].partition("=")
                if not optional:
                    self.required_flags.add(flag)
                after_flag = not value
            elif after_flag:
                after_flag = False
            else:
                self._positional(inner[0], optional=optional)

    def _group(self, tokens: list[str], *, optional: bool, depth: int) -> None:
        if tokens and tokens[0].startswith("-") and tokens[0] != "--":
            self.options += _options(tokens)
            return
        words = " ".join(tokens)
        if _NAME.fullmatch(words) and len(tokens) > 1 and not any(each.isupper() for each in tokens):
            tokens = [words]
        self._read(tokens, optional=optional, depth=depth)

    def _positional(self, token: str, *, optional: bool) -> None:
        several = token.endswith("...")
        name = token.strip("<>").removesuffix("...").strip("<>").strip()
        if _OPTIONS.fullmatch(name) or not _NAME.fullmatch(name):
            return
        if _COMMAND.fullmatch(name) and not self.positionals:
            self.takes_command = True
        elif _ARGUMENTS.fullmatch(name):
            # Behind a sub-command they are its own.
            if not self.takes_command:
                self._add(name, optional=optional, several=several or name.lower().endswith("s"))
        else:
            self._add(name, optional=optional, several=several)

    def _add(self, name: str, *, optional: bool, several: bool) -> None:
        if name.lower() in {each.name for each in self.positionals}:
            self._repeat()
        else:
            self.positionals.append(Positional(name=name.lower(), required=not optional, several=several))

    def _repeat(self) -> None:
        if self.positionals:
            last = self.positionals[-1]
            self.positionals[-1] = replace(last, several=True)


def _options(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Read an option in brackets: `-p port`, `--name <name>`, or `-abc` for three switches. Alternatives are passed."""
    flag, *value = tokens
    if _SWITCHES.fullmatch(flag) and not value and len(set(flag)) == len(flag):
        yield from ((f"-{each}", "") for each in flag[1:])
    elif _FLAG.fullmatch(flag) and "|" not in value:
        yield flag, "".join(value)


def _literals(tokens: Sequence[str]) -> Iterator[str]:
    """Give the words that a form begins with as they are typed, options before them aside: `install|remove`."""
    follows = True
    for kind, inner in _groups(tokens):
        if kind == "|":
            follows = True
        elif kind == "word":
            (name,) = inner
            if not follows or not _LITERAL.fullmatch(name) or _is_placeholder(name):
                return
            yield name
            follows = False
        elif kind == "(":
            return


def _is_placeholder(name: str) -> bool:
    """Whether a word stands for others."""
    return any(each.fullmatch(name) for each in (_OPTIONS, _COMMAND, _ARGUMENTS))


def _is_flag_or_sign(text: str) -> bool:
    return text.startswith("-") or text in ("|", "[", "]", "(", ")", "...")


def _named(tokens: Sequence[str], command: Sequence[str]) -> int:
    """Count the tokens at the beginning that are the program and its sub-commands."""
    known = {*command, PurePath(command[0]).name, "python", "python3"}
    for place, token in enumerate(tokens):
        if place and token not in known:
            return place
    return len(tokens)


def _groups(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Give each token, and what stands in brackets as one."""
    place = 0
    while place < len(tokens):
        text = tokens[place]
        end = _end(tokens, place) if text in ("[", "(") else place
        if end > place:
            yield text, list(tokens[place + 1 : end])
        else:
            yield text if text in ("...", "|") else "word", [text]
        place = end + 1


def _end(tokens: Sequence[str], start: int) -> int:
    """Find the bracket that closes the one at `start`; the last token if none does."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place] in ("[", "(")) - (tokens[place] in ("]", ")"))
        if not depth:
            return place
    return len(tokens)
