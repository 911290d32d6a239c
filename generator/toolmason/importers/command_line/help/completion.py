"""Read completion scripts for fish, as clap generates them, without running them.

Such a script lists values, flags and subcommands that a help text may leave out. Scripts of Cobra ask the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from toolmason.importers.command_line.help.parser import Help, Option
from toolmason.importers.notes import ImporterError

MAX_BYTES: Final = 2 * 1024 * 1024
_SEEN: Final = re.compile(
    r"(?P<negated>not )?__fish_(?:\w+_)?(?:seen_subcommand_from|using_subcommand)(?P<words>(?: [\w:.-]+)+)"
)
"""A condition: `__fish_seen_subcommand_from build`, `__fish_uv_using_subcommand pip`."""
_WORD: Final = re.compile(r"""(?<!\\)'(?:[^'\\]++|\\.)*+'|(?<!\\)"(?:[^"\\]++|\\.)*+"|[^\s'"]++""", re.DOTALL)
_COMMAND: Final = re.compile(rf"(?:(?:{_WORD.pattern})[ \t]*)+", re.DOTALL)
"""A command: words up to the end of a line outside quotes."""
_VALUES: Final = re.compile(r"^(?P<value>[A-Za-z0-9_][\w.:+/-]*)(?:\\t.*|\t.*)?$")


@dataclass(slots=True)
class Completions:
    """The options and subcommands of each subcommand, by its words after the program."""

    options: dict[tuple[str, ...], list[Option]] = field(default_factory=dict)
    commands: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)

    def add_to(self, help_: Help, words: Sequence[str]) -> Help:
        """Return a help with the values that it does not list, and with options or subcommands if it has none.

        Others in the script are hidden from the help for a reason.
        """
        scripted = tuple(self.options.get(tuple(words), ()))
        choices = {flag: option.choices for option in scripted for flag in option.flags if option.choices}
        options = tuple(_with_choices(option, choices) for option in help_.options)
        commands = help_.commands or tuple(self.commands.get(tuple(words), {}).items())
        return replace(help_, options=options or scripted, commands=commands)


def _with_choices(option: Option, choices: Mapping[str, tuple[str, ...]]) -> Option:
    found = next((choices[flag] for flag in option.flags if flag in choices), ())
    return replace(option, choices=found) if found and option.metavar and not option.choices else option


def read_completions(path: Path, program: str) -> Completions:
    """Read a script for fish.

    Raises:
        ImporterError: it cannot be read, or completes no command of this name.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ImporterError(f"{path} cannot be read: {error}") from error
    completions = Completions()
    for words in _complete_lines(text):
        _add(completions, words, program)
    if not completions.options and not completions.commands:
        raise ImporterError(f"{path} is not a completion script for fish that completes `{program}`")
    return completions


def _complete_lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each command `complete`, whose texts may span lines."""
    for block in re.split(r"^(?=complete )", text, flags=re.MULTILINE)[1:]:
        command = _COMMAND.match(block)
        yield [_unquote(word) for word in _WORD.findall(command[0] if command else "")][1:]


def _unquote(word: str) -> str:
    """Return a word without its quotes, in which a backslash escapes quotes and backslashes."""
    if word[:1] not in ("'", '"'):
        return word
    return re.sub(rf"\\([\\{word[0]}])", r"\1", word[1:-1])


def _add(completions: Completions, words: Sequence[str], program: str) -> None:
    parts = _parse(words)
    if parts.get("-c") != [program]:
        return
    path = _path(parts.get("-n", [""])[0])
    description = parts.get("-d", [""])[0]
    values = tuple(_choices(parts.get("-a", [""])[0]))
    flags = [f"-{flag}" for flag in parts.get("-s", []) + parts.get("-o", [])]
    flags += [f"--{flag}" for flag in parts.get("-l", [])]
    if flags:
        takes_value = "-r" in parts or "-x" in parts
        option = Option(
            flags=tuple(flags), metavar="VALUE" if takes_value else "", choices=values, description=description
        )
        completions.options.setdefault(path, []).append(option)
    elif len(values) == 1 and "-f" in parts:
        completions.commands.setdefault(path, {})[values[0]] = description


_LONG: Final = {
    "--command": "-c", "--condition": "-n", "--short-option": "-s", "--long-option": "-l", "--old-option": "-o",
    "--description": "-d", "--arguments": "-a", "--require-parameter": "-r", "--exclusive": "-x", "--no-files": "-f",
}  # fmt: skip
_WITH_VALUE: Final = frozenset({"-c", "-n", "-s", "-l", "-o", "-d", "-a", "-p", "-w"})


def _parse(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each option of a command `complete`."""
    parts: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = _LONG.get(name, name)
        if name in _WITH_VALUE:
            parts.setdefault(name, []).append(value or next(rest, ""))
        elif re.fullmatch(r"-[frxkF]+", name):
            for letter in name[1:]:
                parts.setdefault(f"-{letter}", [])
    return parts


def _path(condition: str) -> tuple[str, ...]:
    """Return the subcommand that a condition requires."""
    path: list[str] = []
    for match in _SEEN.finditer(condition):
        if not match["negated"]:
            words = match["words"].split()
            path += words[:1] if "seen_subcommand" in match[0] else words
    return tuple(path)


def _choices(text: str) -> Iterator[str]:
    """Yield the values of `-a`, each perhaps with a description after a tab; none if the shell computes them."""
    if "(" in text or "$" in text:
        return
    lines = text.split("\n") if "\t" in text or "\\t" in text or "\n" in text else text.split()
    for line in lines:
        if match := _VALUES.match(line.strip().replace("''", "").replace("\\t", "\t")):
            yield match["value"]
