"""Parse the usage lines of a help text: the arguments of a program and their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

_USAGE: Final = re.compile(r"\s*usage:?\s*(?P<rest>.*)$", re.IGNORECASE)
_OR: Final = re.compile(r"\s*or:\s*(?P<rest>.*)$", re.IGNORECASE)
_TOKEN: Final = re.compile(r"--\[no-\][\w-]+|<[^<>]*>|\.\.\.|[\[\]()|]|[^\s\[\]()|<>]+")
"""A token of a usage line: `--[no-]color`, `<file>`, `...`, a bracket, `|`, or a word."""
_OPTIONS: Final = re.compile(r"(?:[\w -]*[_ -])?(?:options?|opts?|flags?|switches)", re.IGNORECASE)
_COMMAND: Final = re.compile(r"(?:sub-?|management )?commands?", re.IGNORECASE)
_ARGUMENTS: Final = re.compile(r"arg(?:ument)?s?", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z][\w .:/+-]*")
_LITERAL: Final = re.compile(r"[a-z][a-z0-9_:.-]*")
_FLAG: Final = re.compile(r"-[A-Za-z0-9]|--[A-Za-z0-9][\w-]*")
_SWITCHES: Final = re.compile(r"-[A-Za-z0-9]{2,}")
_EXPLANATION: Final = re.compile(r"(?<=\S)\s{3,}(?=[A-Za-z]).*")
"""Text after a usage form, separated by three blanks or more."""
_OPTION: Final = re.compile(r"\s{0,4}-\S|\s*-\S.*\S\s{2,}\S")
"""The line of an option. Continued usage lines have a larger indent and no description."""
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
    """The parsed usage. `lines` are the 0-based numbers of the usage lines in the text.

    `commands` are subcommands with lines of their own; `positionals` is then empty, since they belong to subcommands.
    `options` are flags in brackets with the placeholders of their values. `names_command` is whether the forms have all
    words of the command, not only the program.
    """

    positionals: tuple[Positional, ...] = ()
    commands: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    required_flags: frozenset[str] = frozenset()
    takes_command: bool = False
    ends_options: bool = False
    is_ambiguous: bool = False
    names_command: bool = False
    lines: frozenset[int] = frozenset()


def parse_usage(lines: Sequence[str], command: Sequence[str]) -> Usage:
    """Parse the usage lines. The first form with an argument gives the order."""
    numbers, all_forms = _forms(lines, command)
    own = [form for form in all_forms if _names_all(form, command)]
    forms = own or all_forms
    parsed = [_Form(form, command) for form in forms]
    best = next((form for form in parsed if form.positionals), parsed[0] if parsed else None)
    if best is None:
        return Usage(lines=frozenset(numbers))
    shapes = {tuple(form.positionals) for form in parsed}
    commands = tuple(dict.fromkeys(word for form in parsed for word in form.literals))
    if len(commands) > 1:
        return Usage(
            commands=commands,
            ends_options=any(form.ends_options for form in parsed),
            names_command=bool(own),
            lines=frozenset(numbers),
        )
    return Usage(
        positionals=tuple(_required_in_all(positional, parsed) for positional in best.positionals),
        options=tuple(dict(option for form in parsed for option in form.options).items()),
        required_flags=frozenset(best.required_flags),
        takes_command=any(form.takes_command for form in parsed),
        ends_options=any(form.ends_options for form in parsed),
        is_ambiguous=len(shapes) > 1 or best.is_ambiguous,
        names_command=bool(own),
        lines=frozenset(numbers),
    )


def _names_all(form: str, command: Sequence[str]) -> bool:
    """Return whether a form begins with a program and all words of the subcommand."""
    tokens = _TOKEN.findall(form)
    return set(command[1:]) <= set(tokens[: _count_program_tokens(tokens, command)])


def _required_in_all(positional: Positional, forms: Sequence[_Form]) -> Positional:
    """Mark an argument as optional if any form omits it."""
    in_all = all(any(other.name == positional.name for other in form.positionals) for form in forms)
    return replace(positional, required=positional.required and in_all)


def _forms(lines: Sequence[str], command: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the numbers of the usage lines and the forms, with continued lines joined."""
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
        alternative = _OR.match(line)
        if alternative or not forms or _names_program(line, command):
            forms.append(_strip_explanation(alternative["rest"] if alternative else line.strip()))
        else:
            forms[-1] += f" {line.strip()}"
    return numbers, forms


def _strip_explanation(form: str) -> str:
    """Remove the explanation after a form, as npm prints it, unless only the program would remain."""
    short = _EXPLANATION.sub("", form)
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
        rest = tokens[_count_program_tokens(tokens, command) :]
        self.literals = tuple(_literals(rest))
        self._read(rest, optional=False, depth=0)

    def _read(self, tokens: list[str], *, optional: bool, depth: int) -> None:
        """Parse the tokens of a group or of the whole line."""
        after_flag = False
        start = len(self.positionals)
        for kind, inner in _groups(tokens):
            if kind == "...":
                self._repeat()
            elif kind == "|":
                # Only the first alternative is used, as an optional argument.
                self.is_ambiguous = self.is_ambiguous or not after_flag
                self.positionals[start:] = [replace(argument, required=False) for argument in self.positionals[start:]]
                return
            elif kind in "[(":
                # `(-c | -C) <commit>`: the next token is the value of these flags.
                is_flags = kind == "(" and all(_is_flag_or_sign(token) for token in inner)
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
        if _NAME.fullmatch(words) and len(tokens) > 1 and not any(token.isupper() for token in tokens):
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
            # After a subcommand they belong to it.
            if not self.takes_command:
                self._add(name, optional=optional, several=several or name.lower().endswith("s"))
        else:
            self._add(name, optional=optional, several=several)

    def _add(self, name: str, *, optional: bool, several: bool) -> None:
        if name.lower() in {argument.name for argument in self.positionals}:
            self._repeat()
        else:
            self.positionals.append(Positional(name=name.lower(), required=not optional, several=several))

    def _repeat(self) -> None:
        if self.positionals:
            last = self.positionals[-1]
            self.positionals[-1] = replace(last, several=True)


def _options(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield flag and value of an option in brackets: `-p port`, `--name <name>`, `-abc` (three flags)."""
    flag, *value = tokens
    if _SWITCHES.fullmatch(flag) and not value and len(set(flag)) == len(flag):
        yield from ((f"-{letter}", "") for letter in flag[1:])
    elif _FLAG.fullmatch(flag) and "|" not in value:
        yield flag, "".join(value)


def _literals(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the literal words at the start of a form, such as `install|remove`, skipping options."""
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
    """Return whether a word is a placeholder, such as `OPTIONS` or `command`."""
    return bool(_OPTIONS.fullmatch(name) or _COMMAND.fullmatch(name) or _ARGUMENTS.fullmatch(name))


def _is_flag_or_sign(text: str) -> bool:
    return text.startswith("-") or text in ("|", "[", "]", "(", ")", "...")


def _count_program_tokens(tokens: Sequence[str], command: Sequence[str]) -> int:
    """Return the number of leading tokens that name the program and its subcommands."""
    known = {*command, PurePath(command[0]).name, "python", "python3"}
    index = 1
    while index < len(tokens):
        # `terraform [global options] plan`: options may precede a subcommand.
        after = _end(tokens, index) + 1 if tokens[index] == "[" else index
        if after >= len(tokens) or tokens[after] not in (command[1:] if after > index else known):
            return index
        index = after + 1
    return len(tokens)


def _groups(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each token, or a whole bracketed group, with its kind: `word`, `...`, `|`, `[` or `(`."""
    index = 0
    while index < len(tokens):
        text = tokens[index]
        end = _end(tokens, index) if text in ("[", "(") else index
        if end > index:
            yield text, list(tokens[index + 1 : end])
        else:
            yield text if text in ("...", "|") else "word", [text]
        index = end + 1


def _end(tokens: Sequence[str], start: int) -> int:
    """Return the index of the closing bracket for `start`, or the number of tokens if it is missing."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index] in ("[", "(")) - (tokens[index] in ("]", ")"))
        if not depth:
            return index
    return len(tokens)
