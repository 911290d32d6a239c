"""Summaries and descriptions from the texts of a document, which contain Markdown and HTML."""

from __future__ import annotations

import html
import re
from typing import Final

from toolmason_runtime.toolkit import visible_text

from toolmason.importers.design.english import ARTICLES, PREPOSITIONS
from toolmason.importers.names import MAX_SUMMARY_LENGTH, cut, one_line, strip_full_stop
from toolmason.model.identifiers import words

MAX_DESCRIPTION: Final = 1_000
"""Maximum characters of the description of a tool; models read it before each call."""
MAX_VALUE_DESCRIPTION: Final = 400
"""Maximum characters of the description of a parameter or a field."""

_TAG: Final = re.compile(
    r"</?(?:a|b|br|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|table|td|th|tr|ul)\b[^<>]*>", re.IGNORECASE
)
_BLOCK: Final = re.compile(r"<(?:br|/p|/li|/h[1-6]|/tr|/div|/ul|/ol)\b[^<>]*>", re.IGNORECASE)
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_MARKS: Final = re.compile(r"\*\*([^*]+)\*\*|(?<!\w)__([^_]+)__(?!\w)")
_HEADING: Final = re.compile(r"^[ \t]*#+[ \t]+", re.MULTILINE)
_NOTE: Final = re.compile(r"^[ \t]*>[ \t]*(?:\[!\w+\]\s*)?", re.MULTILINE)
_SENTENCE: Final = re.compile(r".+?(?:(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?](?=\s+[A-Z`\"'(])|[.!?]$|:(?=\s*$))")
_IDENTIFIER: Final = re.compile(r"[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)++|[a-z0-9]+(?:_[a-z0-9]+)++")
"""A text that is a name in code: `uploadPhotos`, `upload_photos`."""
_RELATIVE: Final = re.compile(r",? (?:that|which|where|whose|because|so that)\b|[;:(\u2013\u2014]| - ")
"""The beginning of a part that a summary can do without."""
_CLAUSE: Final = re.compile(
    r",? (?:when|if|by using|by|using|with|for use|and|or|based on|including|such as|as well as|unless|in order to"
    r"|to)\b"
    r"|,"
)
_BRACKETS: Final = re.compile(r"(?<!\s)\s*+\([^()]*+\)(?=\s)")
"""A remark inside of a sentence."""
_LOOSE_ENDS: Final = PREPOSITIONS | ARTICLES | {"both", "either", "its", "such", "that", "which", "your"}
_BEGINS_PART: Final = re.compile(r"\s*(?:[-*•>|]\s|#|\d{1,3}[.)]\s|[A-Z][\w /]{0,40}:\s*$)")
"""A line that begins a list, a table or a section: `Returns:`, `- one`, `1. one`."""
_MIN_CLAUSE: Final = 24
"""Minimum characters of a summary that ends before a clause."""


def clean_text(text: str) -> str:
    """Return a text of another server with escaped control and invisible characters, except line feeds.

    Spaces at the ends of lines are removed.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    return "\n".join(visible_text(line).rstrip() for line in lines).strip()


def plain(text: str) -> str:
    """Return a text without HTML tags, links and emphasis. Lists and code stay Markdown."""
    text = _BLOCK.sub("\n", text)
    text = html.unescape(_TAG.sub("", text))
    text = _LINK.sub(r"\1", text)
    text = _MARKS.sub(lambda match: match[1] or match[2], text)
    text = _NOTE.sub("", _HEADING.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", clean_text(text))


def description_of(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """Return a description of at most `limit` characters, cut after a sentence if possible."""
    return shortened_text(plain(text), limit)


def shortened_text(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, cut after a sentence if possible."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    end = max(head.rfind(mark) for mark in (". ", ".\n", "\n\n"))
    return head[: end + 1].strip() if end > limit // 2 else cut(text, limit)


def lead_of(text: str, *labels: str) -> str:
    """Return the first paragraph of a text, before headings and lists.

    `labels` are names of the server, which begin descriptions such as `Notion | Create a page` and say nothing.
    """
    paragraph = text.strip().partition("\n\n")[0].split("\n")
    end = next((number for number, line in enumerate(paragraph) if number and _BEGINS_PART.match(line)), len(paragraph))
    lead = "\n".join(paragraph[: 1 if paragraph[0].startswith("#") else end])
    for label in filter(None, labels):
        bare = lead.lstrip("[(")
        rest = bare[len(label) :].lstrip()
        if bare.casefold().startswith(label.casefold()) and rest[:1] in tuple("|:])\u2013\u2014") and len(rest) > 1:
            lead = rest[1:].strip()
    return lead


def value_description(text: str, *facts: str) -> str:
    """Return the description of a value on one line, followed by facts such as its default."""
    line = one_line(description_of(text, MAX_VALUE_DESCRIPTION))
    if line and facts and not line.endswith((".", "!", "?", ":")):
        line += "."
    return " ".join(part for part in (line, *facts) if part)


def summary_from(*texts: str) -> str:
    """Return a summary of at most 80 characters from the first text that is not blank, without a full stop."""
    line = next((line for text in texts if (line := one_line(plain(text)))), "")
    if _IDENTIFIER.fullmatch(line):
        line = title_of(line)
    sentence = _SENTENCE.match(line)
    line = strip_full_stop(sentence[0] if sentence else line).rstrip(":")
    if len(line) <= MAX_SUMMARY_LENGTH:
        return line[:1].upper() + line[1:]
    line = _BRACKETS.sub("", line)
    if len(line) <= MAX_SUMMARY_LENGTH:
        return line[:1].upper() + line[1:]
    whole = _ends(_RELATIVE, line)[:1] or _ends(_CLAUSE, line)[-1:]
    line = _without_loose_end(line[: whole[0]].rstrip(" ,;:-")) if whole else cut(line, MAX_SUMMARY_LENGTH)
    return line[:1].upper() + line[1:]


def _without_loose_end(line: str) -> str:
    """Return a line without words at its end that need another one: `an element, as`, `for both standard`."""
    head, _, last = line.rpartition(" ")
    while head and last.lower() in _LOOSE_ENDS:
        line = head.rstrip(" ,;:-")
        head, _, last = line.rpartition(" ")
    return line


def _ends(pattern: re.Pattern[str], line: str) -> list[int]:
    """Return where a summary can end: before a match, outside of brackets and code."""
    starts = [match.start() for match in pattern.finditer(line)]
    return [
        end
        for end in starts
        if _MIN_CLAUSE <= end <= MAX_SUMMARY_LENGTH
        and line[:end].count("(") == line[:end].count(")")
        and line[:end].count("`") % 2 == 0
    ]


def title_of(name: str) -> str:
    """Return a name as words: `listCoreV1Pod` becomes `List core v1 pod`."""
    line = re.sub(r"(?<=\bv) (?=\d)", "", " ".join(words(name)).lower())
    return line[:1].upper() + line[1:]
