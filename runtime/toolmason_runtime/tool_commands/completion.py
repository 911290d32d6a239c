"""Completion of the commands of tools in bash, zsh and fish: scripts that start no program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from toolmason_runtime.tool_commands.declarations import CommandCategory, CommandOption, ToolCommand
from toolmason_runtime.tool_commands.values import shown

SHELLS: Final = ("bash", "zsh", "fish")

_OWN: Final = (
    ("--arguments", "All parameters as a JSON object"),
    ("--json", "Print the result as JSON"),
    ("--output", "Write the content of the result to a file"),
    ("--yes", "Approve the call without a question"),
    ("--help", "Show the help"),
)


class _Place(NamedTuple):
    """A place in a command line: the words before it, in each form, what can follow, and the values of options."""

    forms: tuple[str, ...]
    choices: list[tuple[str, str]]
    values: dict[str, list[str]]
    is_command: bool = False
    """Whether options follow, of which some can be before the cursor."""


Keep = Callable[[int, Callable[[], str]], str]
"""Returns the part of a script for a category, by its index: the stored one, or that of the function."""


def _make(_index: int, make: Callable[[], str]) -> str:
    return make()


def completion_script(
    shell: str,
    program: str,
    categories: Sequence[CommandCategory],
    commands: Mapping[str, Mapping[str, ToolCommand]],
    *,
    others: Iterable[tuple[str, str]] = (),
    prefix: str = "",
    keep: Keep = _make,
) -> str:
    """Return the completion script of a shell.

    Args:
        shell: one of `SHELLS`.
        program: name of the program.
        categories: its categories.
        commands: the commands of each category.
        others: further words that can follow the program, with their summaries; a category does not replace them.
        prefix: a word after which every category can be written; empty for none.
        keep: returns the parts of unchanged categories.
    """
    function = "_" + re.sub(r"\W", "_", program, flags=re.ASCII)
    head, of_place, tail = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](program, function, prefix)

    def part(category: CommandCategory) -> str:
        places = _places(category, commands[category.name], has_others=len(categories) > 1)
        return "\n".join(line for place in places for line in of_place(place))

    first = [line for place in _first_places(categories, tuple(others), prefix) for line in of_place(place)]
    parts = [keep(index, partial(part, category)) for index, category in enumerate(categories)]
    return "\n".join([*head, *first, *filter(None, parts), *tail]) + "\n"


def _first_places(
    categories: Sequence[CommandCategory], others: tuple[tuple[str, str], ...], prefix: str
) -> Iterator[_Place]:
    names = [(category.name, category.summary) for category in categories]
    if len(categories) == 1:
        names = [(entry.full_name, entry.summary) for entry in categories[0].commands]
    taken = {name for name, _ in others}
    yield _Place(("",), [*(each for each in names if each[0] not in taken), *others], {})
    if prefix:
        yield _Place((prefix,), names, {})


def _places(category: CommandCategory, commands: Mapping[str, ToolCommand], *, has_others: bool) -> Iterator[_Place]:
    if has_others:
        yield _Place((category.name,), [(entry.name, entry.summary) for entry in category.commands], {})
    for entry in category.commands:
        command = commands[entry.name]
        values = {option.flag: _values(option) for option in command.options if _values(option)}
        forms = (f"{category.name} {entry.name}", entry.full_name)
        yield _Place(forms, [*_flags(command.options), *_OWN], values, is_command=True)


def _flags(options: Iterable[CommandOption]) -> Iterator[tuple[str, str]]:
    for option in options:
        yield option.flag, option.help
        if option.negation:
            yield option.negation, option.help


def _values(option: CommandOption) -> list[str]:
    if option.kind == "boolean" and not option.negation:
        return ["true", "false"]
    return [word for word in map(shown, option.choices) if word.isprintable()]


def _quoted(text: str) -> str:
    """Return a word in single quotes, on one line, for bash and zsh."""
    return "'" + " ".join(text.split()).replace("'", "'\\''") + "'"


@lru_cache(maxsize=4096)
def _short(text: str) -> str:
    """Return the first sentence of a description, without control characters."""
    # Cached because tools share texts, and two shells show each.
    printable = " ".join(text.split())
    if not printable.isprintable():
        printable = "".join(filter(str.isprintable, printable))
    return re.split(r"(?<=[.;])\s", printable)[0].rstrip(".;")[:100]


_Script = tuple[list[str], Callable[[_Place], list[str]], list[str]]
"""The first lines of a script, a function that returns the lines of a place, and the last lines."""


def _bash(program: str, function: str, prefix: str) -> _Script:
    head = [
        f"# Completion of {program} for bash.",
        f"{function}() {{",
        "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} choice",
        "    local choices=()",
        '    local place="${COMP_WORDS[*]:1:COMP_CWORD-1}"',
        *([f'    place="${{place#{prefix} }}"'] if prefix else []),
        "    case $place in",
    ]
    tail = [
        "    esac",
        "    COMPREPLY=()",
        '    for choice in "${choices[@]}"; do',
        '        if [[ $choice == "$word"* ]]; then COMPREPLY+=("$(printf %q "$choice")"); fi',
        "    done",
        "}",
        f"complete -o default -F {function} {program}",
    ]
    return head, _bash_place, tail


def _bash_place(place: _Place) -> list[str]:
    names = " ".join(_quoted(name) for name, _ in place.choices)
    if not place.values:
        return [f"        {_pattern(place)})", f"            choices=({names}) ;;"]
    return [
        f"        {_pattern(place)})",
        "            case $previous in",
        *(
            f"                {flag}) choices=({' '.join(map(_quoted, values))}) ;;"
            for flag, values in place.values.items()
        ),
        f"                *) choices=({names}) ;;",
        "            esac ;;",
    ]


def _pattern(place: _Place) -> str:
    """Return the pattern of `case` for a place."""
    words = [_quoted(form) for form in place.forms]
    return "|".join(each for word in words for each in ([word, f"{word[:-1]} '*"] if place.is_command else [word]))


def _zsh(program: str, function: str, prefix: str) -> _Script:
    head = [
        f"#compdef {program}",
        f"# Completion of {program} for zsh.",
        f"{function}() {{",
        "    local -a choices values",
        '    local place="${(j: :)words[2,CURRENT-1]}"',
        *([f'    place="${{place#{prefix} }}"'] if prefix else []),
        "    case $place in",
    ]
    tail = [
        "    esac",
        "    if (( $#values )); then",
        "        compadd -a values",
        "    elif (( $#choices )); then",
        "        _describe -t commands choice choices || _files",
        "    else",
        "        _files",
        "    fi",
        "}",
        f'if [ "${{funcstack[1]}}" = "{function}" ]; then',
        f'    {function} "$@"',
        "else",
        f"    compdef {function} {program}",
        "fi",
    ]
    return head, _zsh_place, tail


def _zsh_place(place: _Place) -> list[str]:
    lines = [f"        {_pattern(place)})"]
    if place.values:
        lines.append("            case ${words[CURRENT-1]} in")
        for flag, values in place.values.items():
            lines.append(f"                {flag}) values=({' '.join(map(_quoted, values))}) ;;")
        lines.append("            esac")
    lines.append("            choices=(")
    lines += [f"                {_quoted(_described(name, text))}" for name, text in place.choices]
    return [*lines, "            ) ;;"]


def _described(name: str, text: str) -> str:
    name = name.replace("\\", "\\\\").replace(":", "\\:")
    return f"{name}:{_short(text)}" if text else name


def _fish(program: str, function: str, prefix: str) -> _Script:
    head = [
        f"# Completion of {program} for fish.",
        f"function {function}_place",
        "    set -l given (commandline -opc)[2..-1]",
        *([f"    if set -q given[2]; and test $given[1] = {prefix}; set -e given[1]; end"] if prefix else []),
        "    echo -- $given",
        "end",
        f"function {function}_at",
        f'    test "$({function}_place)" = "$argv"',
        "end",
        f"function {function}_in",
        f"    set -l place ({function}_place)",
        "    for form in $argv",
        '        string match -q -- "$form *" "$place "; and return 0',
        "    end",
        "    return 1",
        "end",
    ]
    return head, partial(_fish_place, f"complete -c {program}", function), []


def _fish_place(begin: str, function: str, place: _Place) -> list[str]:
    forms = " ".join(f'"{form}"' for form in place.forms)
    if not place.is_command:
        at = _fish_quoted(f"{function}_at {forms}")
        return [
            f"{begin} -n {at} -f -a {_fish_quoted(name)} -d {_fish_quoted(_short(text))}"
            for name, text in place.choices
        ]
    at = _fish_quoted(f"{function}_in {forms}")
    lines = []
    for flag, text in place.choices:
        values = place.values.get(flag, [])
        takes = " -x -a " + _fish_quoted(" ".join(map(_fish_word, values))) if values else ""
        described = f" -d {_fish_quoted(_short(text))}" if text else ""
        lines.append(f"{begin} -n {at} -l {_fish_quoted(flag[2:])}{takes}{described}")
    return lines


def _fish_quoted(text: str) -> str:
    return "'" + " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_word(text: str) -> str:
    """Return a value as one word of the argument of `-a`, which fish expands again."""
    return _fish_quoted(text) if re.search(r"[^\w./:-]", text, re.ASCII) else text
