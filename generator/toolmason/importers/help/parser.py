"""Reads what programs print for `--help`, in the styles of argparse, click, cobra, clap, git, docopt and GNU.

Nobody promises what such a text looks like, so all of it is guesswork that a person looks through.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolmason.importers.help.usage import Positional, Usage, parse_usage

MAX_LINES: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option. `metavar` is empty for a switch; `joined` says that its value follows `=`.

    `several` says that it may be given again, and `takes_more` that more values may follow its first one.
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

    @property
    def flag(self) -> str:
        """The flag to write: a long one, if there is one."""
        return next((each for each in self.flags if each.startswith("--")), self.flags[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """What a help text tells."""

    summary: str = ""
    usage: Usage = field(default_factory=Usage)
    options: tuple[Option, ...] = ()
    positionals: tuple[Positional, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()

    @property
    def weight(self) -> int:
        """How much that is."""
        return len(self.options) + len(self.positionals) + len(self.commands)


def parse_help(text: str, command: Sequence[str]) -> Help:
    """Read a help text. `command` is the program with the words of its sub-command."""
    lines = _lines(text)
    usage = parse_usage(lines, command)
    described = dict(_described_arguments(lines))
    values = dict(_values(lines))
    options = tuple(_valued(option, values) for option in _options(lines))
    if not options:  # some programs print their usage and nothing else
        options = tuple(Option(flags=(flag,), metavar=metavar) for flag, metavar in usage.options)
    found = dict(_commands(lines, usage))
    commands = tuple((found | {name: found.get(name, "") for name in usage.commands}).items())
    return Help(
        summary=_summary(lines, usage),
        usage=usage,
        options=_once(each for option in options for each in _both_ways(option)),
        positionals=tuple(replace(each, description=described.get(each.name, "")) for each in usage.positionals),
        commands=commands,
    )


_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERSTRIKE: Final = re.compile(r".\x08")


def _lines(text: str) -> list[str]:
    plain = _OVERSTRIKE.sub("", _ANSI.sub("", text)).replace("\r\n", "\n").expandtabs(8)
    kept = "".join(each for each in plain if each == "\n" or each.isprintable())
    return [line.rstrip() for line in kept.split("\n")[:MAX_LINES]]


# Options

_OPTION_LINE: Final = re.compile(r"(?P<indent> *)(?=--?(?:\[no-\])?[A-Za-z0-9?@#.])")
_FLAG: Final = re.compile(r"--?(?:\[no-\])?[A-Za-z0-9?@#.][\w.+-]*")
_METAVAR: Final = re.compile(
    r"""(?P<joint>\[=|=|\[|[ ])?
        (?P<metavar> <[^<>]+> | \{[^{}]+\} | \[[^\[\]]+\] | \([^()]+\) | '[^']+' | "[^"]+" | \.\.\.
                   | [A-Z][A-Z0-9_|.:/+?*-]* (?![a-z]) | (?P<word>[a-z][\w|:/-]*) )
        (?P<close>\])?""",
    re.VERBOSE,
)
_MORE_VALUES: Final = re.compile(r" \[[^\[\]]*\.\.\.\]")
_PFLAG_VALUE: Final = re.compile(r"=(?P<value>[^\s:]*):$")
"""How older cobra programs, kubectl among them, write a default: `--output='':`, `--all=false:`."""


def _options(lines: Sequence[str]) -> Iterator[Option]:
    """Find the options with their descriptions, which go on while lines stand further right."""
    number = 0
    while number < len(lines):
        start = _option_start(lines[number])
        if start is None:
            number += 1
            continue
        spec, text, column = _split(lines[number], start)
        parts = [text] if text else []
        number += 1
        while number < len(lines) and _goes_on(lines[number], start, column):
            line = lines[number]
            column = column or len(line) - len(line.lstrip())
            parts.append(line.strip())
            number += 1
        yield _option(spec, " ".join(parts))


def _option_start(line: str) -> int | None:
    match = _OPTION_LINE.match(line)
    return None if match is None else len(match["indent"])


def _split(line: str, start: int) -> tuple[str, str, int]:
    """Split the line of an option into what it looks like, what is said of it, and the column of that (0: none)."""
    # Python writes `-c cmd : what it is`.
    gap = re.compile(r"(?:\s{2,}|\s(?=: ))(?!-)(?::\s+)?").search(line, start)
    if gap is None:
        return line[start:], "", 0
    return line[start : gap.start()], line[gap.end() :], gap.end()


def _goes_on(line: str, start: int, column: int) -> bool:
    """Whether a line belongs to the description of the option before it."""
    indent = len(line) - len(line.lstrip())
    if not line.strip() or indent <= start + 1:
        return False
    # Before the column of descriptions is known, a further option would be taken for one.
    return indent >= column - 1 if column else _option_start(line) is None


def _option(spec: str, text: str) -> Option:
    value = _PFLAG_VALUE.search(spec)
    option = _spelled(spec[: value.start()] if value else spec)
    if value and value["value"] not in ("true", "false"):
        option = replace(option, metavar="VALUE", joined=True)
    # What of the first part was no flag and no value is the beginning of a sentence.
    return _with_words(option, f"{option.description} {text}".strip())


def _spelled(spec: str) -> Option:
    """Read `-o, --output[=FILE]`, `--color {auto,never}`, `-v...` and the like, which begin with a flag."""
    flags: list[str] = []
    metavar, joined, may_lack, several, takes_more = "", False, False, False, False
    place = 0
    while flag := _FLAG.match(spec, place):
        flags.append(flag[0].removesuffix("..."))
        place = flag.start() + len(flags[-1])
        value = _METAVAR.match(spec, place)
        if value and _is_value(value, spec):
            metavar = metavar or value["metavar"]
            joined = joined or value["joint"] in ("=", "[=")
            may_lack = may_lack or value["joint"] in ("[=", "[") or _is_optional(value["metavar"])
            place = value.end()
        if more := _MORE_VALUES.match(spec, place):
            takes_more, place = True, more.end()
        if dots := re.compile(r" ?\.\.\.").match(spec, place):
            several, place = True, dots.end()
        if (gap := re.compile(r"\s*[,|/]\s*| +(?=-)").match(spec, place)) is None:
            break
        place = gap.end()
    is_switch = not metavar
    choices = _choices(metavar)
    return Option(
        flags=tuple(flags),
        metavar=metavar if metavar != "..." else "VALUE",
        description=spec[place:].strip(),
        joined=joined,
        value_may_lack=may_lack,
        several=several and not is_switch,
        takes_more=takes_more,
        choices=choices,
    )


def _is_value(value: re.Match[str], spec: str) -> bool:
    """Whether what follows a flag is the name of its value, and not the first word of a sentence."""
    if value["joint"] is None:
        return value["metavar"].startswith(("<", "[", "{", "("))
    if value["word"] is None or value["joint"] != " ":
        return True
    return re.match(r"\s*(?:$|,|\|)", spec[value.end() :]) is not None


def _is_optional(metavar: str) -> bool:
    return metavar.startswith("[") and "|" not in metavar


_VALUE: Final = re.compile(r"\[(?:-\w\|)?(?P<flag>--[\w-]+)[ =](?P<metavar><[^<>]+>)(?P<dots> ?\.\.\.)?")
"""An option in brackets with its value: npm says nothing of that where it describes the option."""


def _values(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Give for each option that stands so in the usage its value, and whether it may be given again."""
    for match in _VALUE.finditer("\n".join(lines)):
        yield match["flag"], (match["metavar"], match["dots"] is not None)


def _valued(option: Option, values: Mapping[str, tuple[str, bool]]) -> Option:
    """Add a value that is not told where the option is described."""
    if option.metavar or option.flag not in values:
        return option
    metavar, several = values[option.flag]
    found = replace(option, metavar=metavar, several=several, choices=_choices(metavar))
    return _with_words(found, option.description)


def _once(options: Iterator[Option]) -> tuple[Option, ...]:
    """Leave out what stands in a help text again."""
    found: dict[str, Option] = {}
    for option in options:
        found.setdefault(option.flag, option)
    return tuple(found.values())


def _both_ways(option: Option) -> Iterator[Option]:
    """Give an option written `--[no-]color` as two switches."""
    if not any("[no-]" in each for each in option.flags):
        yield option
        return
    yield replace(option, flags=tuple(each.replace("[no-]", "") for each in option.flags))
    off = tuple(each.replace("[no-]", "no-") for each in option.flags if "[no-]" in each)
    yield replace(option, flags=off, metavar="", joined=False, choices=(), value_may_lack=False)


# What is said of an option

_DEFAULT: Final = re.compile(
    r"""[\[(;]\s*defaults?(?:\s+is|\s+to)?[:=]?\s+ (?P<value>"[^"]*"|'[^']*'|[^\];)]+?) \s*[\];)]""",
    re.VERBOSE | re.IGNORECASE,
)
_RANGE: Final = re.compile(r"\b(?P<low>\d{1,15})<=x(?:<=(?P<high>\d{1,15}))?|\bx<=(?P<top>\d{1,15})")
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


def _with_words(option: Option, text: str) -> Option:
    """Add what the description of an option says of its value."""
    if not option.metavar:
        return replace(option, description=text)
    default = _DEFAULT.search(text)
    limits = _RANGE.search(text)
    listed = _LISTED.search(text) or _QUOTED_CHOICES.search(text)
    low, high = (limits["low"], limits["high"] or limits["top"]) if limits else (None, None)
    return replace(
        option,
        description=text,
        default=default["value"].strip("\"'") if default and "[" not in default["value"] else "",
        minimum=int(low) if low else None,
        maximum=int(high) if high else None,
        choices=option.choices or (_split_choices(listed["list"], r"[,|]") if listed else ()),
        several=option.several or bool(_REPEATED.search(text)) or bool(_LISTS.fullmatch(option.metavar)),
    )


def _choices(metavar: str) -> tuple[str, ...]:
    inner = metavar.strip("<>{}[]()'\"")
    if metavar.startswith("{"):
        return _split_choices(inner, r"[,|]")
    # `<SPEC|PATH>` and `COMMAND|URL` name kinds of values; words of small letters are the values.
    return _split_choices(inner, r"\|") if "|" in inner and inner == inner.lower() else ()


def _split_choices(text: str, sign: str) -> tuple[str, ...]:
    """Split a list of choices; empty if it is none that can be relied on."""
    words = [each.strip().strip("\"'`").strip() for each in re.split(sign, text.rstrip(". "))]
    are_plain = len(words) > 1 and all(_CHOICE.fullmatch(each) for each in words)
    return tuple(dict.fromkeys(words)) if are_plain else ()


# Arguments, sub-commands and the summary

_HEADING: Final = re.compile(r"(?P<title>\S[^:]*):?\s*$")
_ENTRY: Final = re.compile(
    r" {1,12}(?P<name>[<\[]{0,2}[A-Za-z][\w.:-]*[>\]]{0,2}(?:\.\.\.)?[\]]?)(?:[*]?:)?(?: {2,}| - |\t)(?P<text>\S.*)$"
)
_NAMES: Final = re.compile(r" +(?:[a-z][a-z0-9_:.-]*, ?)*[a-z][a-z0-9_:.-]*,?")
"""A line of names between commas."""


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Give the parts of a help text: what stands at the margin, and the lines that are set in below it."""
    title, body = "", list[str]()
    for line in lines:
        if line and not line.startswith(" ") and not line.startswith("-"):
            yield title, body
            title, body = line, []
        else:
            body.append(line)
    yield title, body


def _described_arguments(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for title, body in _sections(lines):
        if not re.match(r"(?:positional )?arg(?:ument)?s?\b", title, re.IGNORECASE):
            continue
        for number, line in enumerate(body):
            if entry := _ENTRY.match(line):
                rest = _continued(body[number + 1 :], entry.start("text"))
                yield entry["name"].strip("<>[].").lower(), " ".join([entry["text"], *rest])


def _continued(lines: Sequence[str], column: int) -> Iterator[str]:
    inside = itertools.takewhile(lambda line: line.strip() and len(line) - len(line.lstrip()) >= column, lines)
    return (line.strip() for line in inside)


def _commands(lines: Sequence[str], usage: Usage) -> Iterator[tuple[str, str]]:
    """Find the sub-commands: below headings that call them so, or wherever a usage line asks for one."""
    for title, body in _sections(lines):
        is_told = re.search(r"\b(?:sub-?)?commands?\b", title, re.IGNORECASE) is not None
        is_other = re.search(r"usage|option|flag|argument|environment|example", title, re.IGNORECASE) is not None
        if not (is_told or (usage.takes_command and title)) or (is_other and not is_told):
            continue
        for number, line in enumerate(body):
            entry = _ENTRY.match(line)
            if entry and re.fullmatch(r"[a-z][a-z0-9_:.-]*", entry["name"]):
                yield entry["name"], " ".join([entry["text"], *_continued(body[number + 1 :], entry.start("text"))])
        listed = [line for line in body if line]
        if "," in "".join(listed[:1]) and all(_NAMES.fullmatch(line) for line in listed):
            yield from ((name, "") for line in listed for name in re.findall(r"[^\s,]+", line))


def _summary(lines: Sequence[str], usage: Usage) -> str:
    """Give the first paragraph that is a sentence about the program."""
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
