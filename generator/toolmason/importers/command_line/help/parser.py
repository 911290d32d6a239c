"""Parse `--help` output in the styles of argparse, click, cobra, clap, git, docopt and GNU.

The formats are unspecified, so the result is a guess that a person must review.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolmason.importers.command_line.help.usage import Positional, Usage, parse_usage

MAX_LINES: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option. `metavar` is empty for a boolean flag; a `joined` value follows `=`.

    `several` means that the option is repeatable, `takes_more` that several values follow one flag, `inherited` that
    the help lists it as an option of all subcommands. `mentions` counts its flag elsewhere in the help.
    """

    flags: tuple[str, ...]
    metavar: str = ""
    joined: bool = False
    value_may_lack: bool = False
    several: bool = False
    takes_more: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""
    minimum: int | None = None
    maximum: int | None = None
    description: str = ""
    inherited: bool = False
    mentions: int = field(default=0, compare=False)

    @property
    def flag(self) -> str:
        """The first long flag, one that does not start with `--no-` if possible, or else the first flag."""
        long = [flag for flag in self.flags if flag.startswith("--")]
        return next((flag for flag in long if not flag.startswith("--no-")), [*long, *self.flags][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """A parsed help text."""

    summary: str = ""
    usage: Usage = field(default_factory=Usage)
    options: tuple[Option, ...] = ()
    positionals: tuple[Positional, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()

    @property
    def weight(self) -> int:
        """Number of options, arguments and subcommands."""
        return len(self.options) + len(self.positionals) + len(self.commands)


def parse_help(text: str, command: Sequence[str]) -> Help:
    """Parse a help text. `command` is the program and its subcommand."""
    lines = text_lines(text)
    usage = parse_usage(lines, command)
    described = dict(_argument_descriptions(lines))
    values = dict(_values(lines))
    options = tuple(_add_value(option, values) for option in _options(lines))
    if not options:  # some programs print only their usage
        options = tuple(Option(flags=(flag,), metavar=metavar) for flag, metavar in usage.options)
    summaries = dict(_commands(lines, usage))
    commands = tuple((summaries | {name: summaries.get(name, "") for name in usage.commands}).items())
    words = Counter(_FLAG.findall("\n".join(lines)))
    return Help(
        summary=_summary(lines, usage),
        usage=usage,
        options=_unique(
            replace(variant, mentions=max(0, sum(words[flag] for flag in variant.flags) - len(variant.flags)))
            for option in options
            for variant in _expand_negation(option)
        ),
        positionals=tuple(
            replace(positional, description=described.get(positional.name, "")) for positional in usage.positionals
        ),
        commands=commands,
    )


_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Terminal escape sequences, such as colors and links."""
_OVERSTRIKE: Final = re.compile(r".\x08")
"""Bold and underlined characters of manual pages: `N\\bN`, `_\\bN`."""


def text_lines(text: str) -> list[str]:
    """Return the lines of a text without colors, overstrikes and control characters."""
    plain = _OVERSTRIKE.sub("", _ANSI.sub("", text)).replace("\r\n", "\n").expandtabs(8)
    printable = "".join(char for char in plain if char == "\n" or char.isprintable())
    return [line.rstrip() for line in printable.split("\n")[:MAX_LINES]]


# Options

_OPTION_LINE: Final = re.compile(r"(?P<indent> *)(?=--?(?:\[no-\])?[A-Za-z0-9?@#.])")
_FLAG: Final = re.compile(r"--?(?:\[no-\])?[A-Za-z0-9?@#.][\w.+-]*")
"""A flag: `-n`, `--max-count`, `--[no-]color`."""
_METAVAR: Final = re.compile(
    r"""(?P<joint>\[=|=|\[|[ ])?
        (?P<metavar> <[^<>]+> | \{[^{}]+\} | \[[^\[\]]+\][A-Z/_]* | \([^()]+\) | '[^']+' | "[^"]+" | \.\.\.
                   | [A-Z][A-Z0-9_|.:/+?*-]* (?![a-z]) | (?P<word>[a-z][\w|:/=-]*) | (?<==)[0-9][\w.]* )
        (?P<close>\])?""",
    re.VERBOSE,
)
"""The placeholder of a value: `=FILE`, `[=WHEN]`, ` <file>`, ` {auto,never}`, ` path`."""
_MORE_VALUES: Final = re.compile(r" \[[^\[\]]*\.\.\.\]")
_INHERITED: Final = re.compile(r"(?:global|inherited|common) (?:options|flags)|options inherited", re.IGNORECASE)
"""The heading of options that all subcommands share."""
_PFLAG_VALUE: Final = re.compile(r"=(?P<value>[^\s:]{0,200}):$")
"""A default in older cobra programs such as kubectl: `--output='':`, `--all=false:`."""


def _options(lines: Sequence[str]) -> Iterator[Option]:
    """Yield the options with their descriptions, including continued lines with a larger indent."""
    number = 0
    inherited = False
    while number < len(lines):
        start = _option_start(lines[number])
        if start is None:
            if lines[number][:1].strip():
                inherited = _INHERITED.match(lines[number]) is not None
            number += 1
            continue
        spec, text, column = _split(lines[number], start)
        parts = [text] if text else []
        number += 1
        while number < len(lines) and _continues(lines[number], start, column):
            line = lines[number]
            column = column or len(line) - len(line.lstrip())
            parts.append(line.strip())
            number += 1
        yield replace(_option(spec, " ".join(parts)), inherited=inherited)


def _option_start(line: str) -> int | None:
    match = _OPTION_LINE.match(line)
    return None if match is None else len(match["indent"])


def _split(line: str, start: int) -> tuple[str, str, int]:
    """Split the line of an option into specification, description and the column of the description (0 if empty)."""
    # Python prints `-c cmd : description`.
    gap = re.compile(r"(?:\s{2,}|\s(?=: ))(?!-)(?::\s+)?").search(line, start)
    if gap is None:
        return line[start:], "", 0
    return line[start : gap.start()], line[gap.end() :], gap.end()


def _continues(line: str, start: int, column: int) -> bool:
    """Return whether a line continues the description of the previous option."""
    indent = len(line) - len(line.lstrip())
    if not line.strip() or indent <= start + 1:
        return False
    # Without a known column, the line may be another option.
    return indent >= column - 1 if column else _option_start(line) is None


def _option(spec: str, text: str) -> Option:
    value = _PFLAG_VALUE.search(spec)
    option = _parse_spec(spec[: value.start()] if value else spec)
    if value and value["value"] not in ("true", "false"):
        option = replace(option, metavar="VALUE", joined=True, several=value["value"] == "[]")
    # The rest of the specification is the start of the description.
    return _add_description(option, f"{option.description} {text}".strip())


def _parse_spec(spec: str) -> Option:
    """Parse the flags and the value of an option: `-o, --output[=FILE]`, `--color {auto,never}`, `-v...`."""
    flags: list[str] = []
    metavar, joined, may_lack, several, takes_more = "", False, False, False, False
    position = 0
    while flag := _FLAG.match(spec, position):
        flags.append(flag[0].removesuffix("..."))
        position = flag.start() + len(flags[-1])
        value = _METAVAR.match(spec, position)
        if value and _is_value(value, spec):
            metavar = metavar or value["metavar"]
            joined = joined or value["joint"] in ("=", "[=")
            may_lack = may_lack or value["joint"] in ("[=", "[") or _is_optional(value["metavar"])
            position = value.end()
        if more := _MORE_VALUES.match(spec, position):
            takes_more, position = True, more.end()
        if dots := re.compile(r" ?\.\.\.").match(spec, position):
            several, position = True, dots.end()
        if (gap := re.compile(r"\s*[,|/]\s*| +(?=-)").match(spec, position)) is None:
            break
        position = gap.end()
    choices = _choices(metavar)
    return Option(
        flags=tuple(flags),
        metavar=metavar if metavar != "..." else "VALUE",
        description=spec[position:].strip(),
        joined=joined,
        value_may_lack=may_lack,
        several=several and bool(metavar),
        takes_more=takes_more,
        choices=choices,
    )


def _is_value(value: re.Match[str], spec: str) -> bool:
    """Return whether the match after a flag is a placeholder and not the first word of a description."""
    if value["joint"] is None:
        return value["metavar"].startswith(("<", "[", "{", "("))
    if value["word"] is None or value["joint"] != " ":
        return True
    return re.match(r"\s*(?:$|,|\|)", spec[value.end() :]) is not None


def _is_optional(metavar: str) -> bool:
    return metavar.startswith("[") and metavar.endswith("]") and "|" not in metavar


_VALUE: Final = re.compile(r"\[(?:-\w\|)?(?P<flag>--[\w-]+)[ =](?P<metavar><[^<>]+>)(?P<dots> ?\.\.\.)?")
"""An option with its value in a usage line, such as `[--prefix <dir>]`; npm omits values in its option list."""


def _values(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield each option of the usage with its placeholder and whether it is repeatable."""
    for match in _VALUE.finditer("\n".join(lines)):
        yield match["flag"], (match["metavar"], match["dots"] is not None)


def _add_value(option: Option, values: Mapping[str, tuple[str, bool]]) -> Option:
    """Add the value of an option that only the usage shows."""
    if option.metavar or option.flag not in values:
        return option
    metavar, several = values[option.flag]
    with_value = replace(option, metavar=metavar, several=several, choices=_choices(metavar))
    return _add_description(with_value, option.description)


def _unique(options: Iterator[Option]) -> tuple[Option, ...]:
    """Drop options that the help text lists again."""
    by_flag: dict[str, Option] = {}
    for option in options:
        by_flag.setdefault(option.flag, option)
    return tuple(by_flag.values())


def _expand_negation(option: Option) -> Iterator[Option]:
    """Yield `--color` and `--no-color` for `--[no-]color`."""
    if not any("[no-]" in flag for flag in option.flags):
        yield option
        return
    yield replace(option, flags=tuple(flag.replace("[no-]", "") for flag in option.flags))
    off = tuple(flag.replace("[no-]", "no-") for flag in option.flags if "[no-]" in flag)
    yield replace(option, flags=off, metavar="", joined=False, choices=(), value_may_lack=False)


# Descriptions of options

_DEFAULT: Final = re.compile(
    r"""[\[(;]\s{0,20}defaults?(?:\s{1,20}is|\s{1,20}to)?[:=]?\s{1,20}+
    (?P<value>"[^"]{0,300}+"|'[^']{0,300}+'|[^\];)\s][^\];)]{0,300}+) \s{0,20}[\];)]""",
    re.VERBOSE | re.IGNORECASE,
)
"""A default in brackets: `[default: 5]`, `(default is "x")`."""
_RANGE: Final = re.compile(r"\b(?P<low>\d{1,15})<=x(?:<=(?P<high>\d{1,15}))?|\bx<=(?P<top>\d{1,15})")
"""Limits as click prints them: `1<=x<=9`, `x<=9`."""
_LISTED: Final = re.compile(
    r"(?:possible values|choices|one of|allowed values|valid values)(?:\s+are)?\s*:\s*[\[(]?(?P<list>[^\])]+)",
    re.IGNORECASE,
)
_QUOTED_CHOICES: Final = re.compile(r"""\((?P<list>["']?[\w.-]+["']?(?:\s*\|\s*["']?[\w.-]+["']?)+)\)""")
_REPEATED: Final = re.compile(
    r"repeatable|(?:multiple|several|many|more than one) times?|more than once|may be repeated|can be repeated",
    re.IGNORECASE,
)
_LISTS: Final = re.compile(r"list|strings?(?:Array|Slice)|strings|stringArray|map|stringToString", re.ASCII)
_CHOICE: Final = re.compile(r"[A-Za-z0-9_][\w.:+/-]*")


def _add_description(option: Option, text: str) -> Option:
    """Add the description of an option, and the default, limits and choices in it."""
    if not option.metavar:
        return replace(option, description=text)
    default = _DEFAULT.search(text)
    limits = _RANGE.search(text)
    listed = _LISTED.search(text) or _QUOTED_CHOICES.search(text)
    low, high = (limits["low"], limits["high"] or limits["top"]) if limits else (None, None)
    return replace(
        option,
        description=text,
        default=default["value"].strip().strip("\"'") if default and "[" not in default["value"] else "",
        minimum=int(low) if low else None,
        maximum=int(high) if high else None,
        choices=option.choices or (_split_choices(listed["list"], r"[,|]") if listed else ()),
        several=option.several or bool(_REPEATED.search(text)) or bool(_LISTS.fullmatch(option.metavar)),
    )


def _choices(metavar: str) -> tuple[str, ...]:
    inner = metavar.strip("<>{}[]()'\"")
    if inner in ("true", "false"):
        return ("true", "false")
    if metavar.startswith("{"):
        return _split_choices(inner, r"[,|]")
    # `<SPEC|PATH>` and `COMMAND|URL` are kinds of values; lower-case words are values.
    return _split_choices(inner, r"\|") if "|" in inner and inner == inner.lower() else ()


def _split_choices(text: str, separator: str) -> tuple[str, ...]:
    """Split a list of choices; empty if a part is not a plain word."""
    words = [word.strip().strip("\"'`").strip() for word in re.split(separator, text.rstrip(". "))]
    are_plain = len(words) > 1 and all(_CHOICE.fullmatch(word) for word in words)
    return tuple(dict.fromkeys(words)) if are_plain else ()


# Arguments, subcommands and the summary

_HEADING: Final = re.compile(r"(?P<title>\S[^:]*):?\s*$")
_ENTRY: Final = re.compile(
    r" {1,12}(?P<name>[<\[]{0,2}[A-Za-z][\w.:-]*[>\]]{0,2}(?:\.\.\.)?[\]]?)(?:, [a-z][\w-]*)*(?:[*]?:)?"
    r"(?: {2,}| - |\t)(?P<text>\S.*)$"
)
"""An entry of a list: a name, perhaps aliases, and a description, such as `  build, b  Compile the package`."""
_NAME_ALONE: Final = re.compile(r" {1,12}[<\[](?P<name>[A-Za-z][\w.:-]*)[>\]](?:\.\.\.)?")
"""An argument whose description is in the next lines."""
_NAMES: Final = re.compile(r" +(?:[a-z][a-z0-9_:.-]*, ?)*[a-z][a-z0-9_:.-]*,?")
"""A line of names separated by commas."""


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each unindented line of a help text with the indented lines below it."""
    title, body = "", list[str]()
    for line in lines:
        if line and not line.startswith(" ") and not line.startswith("-"):
            yield title, body
            title, body = line, []
        else:
            body.append(line)
    yield title, body


def _argument_descriptions(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for title, body in _sections(lines):
        if not re.match(r"(?:positional )?arg(?:ument)?s?\b", title, re.IGNORECASE):
            continue
        for number, line in enumerate(body):
            if entry := _ENTRY.match(line):
                rest = _continued(body[number + 1 :], entry.start("text"))
                yield entry["name"].strip("<>[].").lower(), " ".join([entry["text"], *rest])
            elif name := _NAME_ALONE.fullmatch(line):
                yield name["name"].lower(), " ".join(_continued(body[number + 1 :], name.start("name") + 1))


def _continued(lines: Sequence[str], column: int) -> Iterator[str]:
    inside = itertools.takewhile(lambda line: line.strip() and len(line) - len(line.lstrip()) >= column, lines)
    return (line.strip() for line in inside)


def _commands(lines: Sequence[str], usage: Usage) -> Iterator[tuple[str, str]]:
    """Yield subcommands below headings such as `Commands:`, or below any heading if the usage takes a command."""
    for title, body in _sections(lines):
        is_commands = re.search(r"\b(?:sub-?)?commands?\b", title, re.IGNORECASE) is not None
        is_other = (
            re.search(r"usage|option|flag|argument|environment|example|topic|alias|learn", title, re.IGNORECASE)
            is not None
        )
        if not (is_commands or (usage.takes_command and title)) or (is_other and not is_commands):
            continue
        for number, line in enumerate(body):
            entry = _ENTRY.match(line)
            if entry and re.fullmatch(r"[a-z][a-z0-9_:.-]*", entry["name"]):
                yield (
                    entry["name"].rstrip(":"),
                    " ".join([entry["text"], *_continued(body[number + 1 :], entry.start("text"))]),
                )
        listed = [line for line in body if line]
        if "," in "".join(listed[:1]) and all(_NAMES.fullmatch(line) for line in listed):
            yield from ((name, "") for line in listed for name in re.findall(r"[^\s,]+", line))


def _summary(lines: Sequence[str], usage: Usage) -> str:
    """Return the first paragraph that is a sentence; empty if an option precedes it."""
    paragraph: list[str] = []
    for line in [*(line for number, line in enumerate(lines) if number not in usage.lines), ""]:
        text = line.strip()
        if _option_start(line) is not None:
            return ""
        if text and not (not paragraph and (_HEADING.fullmatch(text) and text.endswith(":"))):
            paragraph.append(text)
            continue
        if paragraph and _is_sentence(paragraph):
            return " ".join(paragraph)
        paragraph = []
    return ""


def _is_sentence(paragraph: Sequence[str]) -> bool:
    first = paragraph[0]
    if _ENTRY.match(f"  {first}") or first.endswith(":"):
        return False
    text = " ".join(paragraph)
    return len(text.split()) >= 3 and (first[0].isupper() or text.endswith(".")) and "@" not in text
