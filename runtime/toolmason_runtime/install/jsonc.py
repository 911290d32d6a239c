"""Edit JSON with comments and trailing commas in place: every other character of the text remains.

Values are parsed by the standard library, at its speed: the user's file of Claude Code can have megabytes. Comments
and trailing commas are replaced by spaces before, so all positions are those of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from toolmason_runtime.install.errors import FileSyntaxError

_STRING: Final = r'(?<!\\)"(?:[^"\\\n]++|\\.)*+"'
_COMMENT: Final = re.compile(rf"{_STRING}|(//[^\n]*+|/\*.*?(?:\*/|\Z))", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(rf"{_STRING}|[\[{{,]\s*,|(,)(?=\s*[}}\]])", re.DOTALL)
"""A comma before a closing bracket, unless another comma or the opening bracket is before it."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NOT_SPACE: Final = re.compile(r"[^ \t\r\n]")
_LINE_INDENT: Final = re.compile(r"\n([ \t]*)\Z")
DEFAULT_INDENT: Final = "  "


class Member(NamedTuple):
    """One member of an object: the offsets of its key and value, and the value."""

    key_start: int
    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class JsonText:
    """A text, the same without comments, and the same without trailing commas as well."""

    text: str
    code: str
    strict: str

    def members(self, start: int) -> dict[str, Member]:
        """Return the members of the object at the offset `start`.

        Raises:
            FileSyntaxError: a key is there twice, so a client may use either value.
        """
        members: dict[str, Member] = {}
        at = _skip(self.strict, start + 1)
        while self.strict[at] != "}":
            key, end = _DECODER.raw_decode(self.strict, at)
            value_start = _skip(self.strict, _skip(self.strict, end) + 1)
            value, value_end = _DECODER.raw_decode(self.strict, value_start)
            if key in members:
                _refuse(self.text, at, f"the key {json.dumps(key)} is there twice")
            members[key] = Member(at, value_start, value_end, value)
            at = _skip(self.strict, value_end)
            if self.strict[at] == ",":
                at = _skip(self.strict, at + 1)
        return members

    def object_end(self, start: int) -> int:
        """Return the offset of the brace that closes the object at `start`."""
        return _DECODER.raw_decode(self.strict, start)[1] - 1


_DECODER: Final = json.JSONDecoder()


def parse(text: str) -> JsonText:
    """Parse a file whose root is an object.

    Raises:
        FileSyntaxError: it is invalid.
    """
    code = _COMMENT.sub(_blank, text)
    strict = _TRAILING_COMMA.sub(_blank, code)
    try:
        data = json.loads(strict, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}")
    except RecursionError:
        _refuse(text, 0, "objects or arrays nest too deeply")
    except ValueError as error:
        _refuse(text, 0, f"not JSON: {error}")
    if not isinstance(data, dict):
        _refuse(text, _skip(strict, 0), "the file must contain a JSON object")
    return JsonText(text, code, strict)


def load(text: str) -> dict[str, Any]:
    """Return the data of a file; an empty one, or one with comments only, has no data.

    Raises:
        FileSyntaxError: it is invalid.
    """
    document = _parse_or_empty(text)
    return {} if document is None else json.loads(document.strict)


def comments(text: str) -> list[str]:
    """Return the comments of a valid file."""
    return [match[1].strip() for match in _COMMENT.finditer(text) if match[1]]


def check_accepted(text: str, rejects: Sequence[str]) -> None:
    """Check a valid text for extensions of JSON that a client rejects: `comments`, `trailing commas`.

    Raises:
        FileSyntaxError: the text contains one, so the client rejects the file.
    """
    code = _COMMENT.sub(_blank, text)
    for extension, pattern, where in (("comments", _COMMENT, text), ("trailing commas", _TRAILING_COMMA, code)):
        first = next((match.start() for match in pattern.finditer(where) if match[1]), None)
        if extension in rejects and first is not None:
            _refuse(text, first, f"the client does not accept {extension}, so it rejects this file")


def merge(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with `values` set: objects are merged, other values replaced.

    Raises:
        FileSyntaxError: the file is invalid, or an object of `values` is no object in the file.
    """
    document = _parse_or_empty(text)
    if document is None:
        separator = "\n" if text.strip() else ""
        return f"{text.rstrip()}{separator}{json.dumps(values, indent=DEFAULT_INDENT, ensure_ascii=False)}\n"
    for key in values:
        text = _set(text, (key,), values[key])
    return text


def replace(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with the value at `path`, which exists, replaced by `value`."""
    document = parse(text)
    *parents, key = path
    member = document.members(_find(document, tuple(parents)))[key]
    return _replaced(document, member, value)


def remove(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at `path`, which exists; comments around it remain."""
    document = parse(text)
    *parents, key = path
    members = document.members(_find(document, tuple(parents)))
    names = list(members)
    previous = names[names.index(key) - 1] if key != names[0] else None
    start, end = members[key].key_start, members[key].end
    comma = _skip(document.code, end)
    if document.code[comma] == "," and not text[end:comma].strip():
        end = comma + 1
    elif document.code[comma] == ",":
        text = f"{text[:comma]} {text[comma + 1 :]}"
    elif previous is not None:
        comma = _skip(document.code, members[previous].end)
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    return _cut(text, start, end)


def _cut(text: str, start: int, end: int) -> str:
    """Return the text without a member and its comma: without its lines if there is nothing else on them."""
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    if before.endswith("\n") and after.startswith("\n"):
        return before + after[1:]
    return text[:start] + after if text[end - 1] == "," else before + text[end:]


def _set(text: str, path: tuple[str, ...], value: Any) -> str:
    document = parse(text)
    *parents, key = path
    parent = _find(document, tuple(parents))
    member = document.members(parent).get(key)
    if member is None:
        return _insert(document, parent, key, value)
    if member.value == value and type(member.value) is type(value):
        return text
    if not isinstance(value, Mapping):
        return _replaced(document, member, value)
    if not isinstance(member.value, dict):
        _refuse(text, member.start, f"{json.dumps(key)} must be an object")
    for name in value:
        text = _set(text, (*path, name), value[name])
    return text


def _find(document: JsonText, path: tuple[str, ...]) -> int:
    """Return the offset of the object at `path`."""
    start = _skip(document.strict, 0)
    for key in path:
        start = document.members(start)[key].start
    return start


def _insert(document: JsonText, parent: int, key: str, value: Any) -> str:
    """Add a member at the end of the object at the offset `parent`, in the style of the members before it."""
    text, end = document.text, document.object_end(parent)
    members = list(document.members(parent).values())
    content_end = len(text[:end].rstrip())
    indent = _member_indent(document, parent, members)
    if indent is None:
        member = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        separator = ", " if members else ""
        at = members[-1].end if members else parent + 1
        if members and document.code[_skip(document.code, at)] == ",":
            separator, at = " ", _skip(document.code, at) + 1
        return f"{text[:at]}{separator}{member}{text[at:]}"
    member = f"{json.dumps(key, ensure_ascii=False)}: {_dump(value, indent, _unit(document))}"
    comma = ""
    if members:
        if document.code[_skip(document.code, members[-1].end)] == ",":
            comma = ","  # The file has trailing commas.
        else:
            text = f"{text[: members[-1].end]},{text[members[-1].end :]}"
            content_end, end = content_end + 1, end + 1
    closing = text[content_end:end]
    if "\n" not in closing:
        closing = f"\n{_line_indent(text, parent)}"
    return f"{text[:content_end]}\n{indent}{member}{comma}{closing}{text[end:]}"


def _member_indent(document: JsonText, parent: int, members: list[Member]) -> str | None:
    """Return the indentation of a new member; None if members are on one line."""
    if members:
        match = _LINE_INDENT.search(document.text, 0, members[-1].key_start)
        return match[1] if match else None
    if "\n" not in document.text.strip() and parent > _skip(document.strict, 0):
        return None
    return _line_indent(document.text, parent) + _unit(document)


def _line_indent(text: str, at: int) -> str:
    line_start = text.rfind("\n", 0, at) + 1
    return text[line_start : _NOT_SPACE.search(text, line_start).start()]  # type: ignore[union-attr]


def _unit(document: JsonText) -> str:
    """Return one level of indentation: that of the first member of the root."""
    for member in document.members(_skip(document.strict, 0)).values():
        if match := _LINE_INDENT.search(document.text, 0, member.key_start):
            return match[1] or DEFAULT_INDENT
    return DEFAULT_INDENT


def _replaced(document: JsonText, member: Member, value: Any) -> str:
    """Return the text with another value of a member: on one line if the old one is."""
    text = document.text
    match = _LINE_INDENT.search(text, 0, member.key_start)
    if match and "\n" in text[member.start : member.end]:
        shown = _dump(value, match[1], _unit(document))
    else:
        shown = json.dumps(value, ensure_ascii=False)
    return text[: member.start] + shown + text[member.end :]


def _dump(value: Any, indent: str, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")


def _parse_or_empty(text: str) -> JsonText | None:
    return parse(text) if _COMMENT.sub(_blank, text).strip() else None


def _blank(match: re.Match[str]) -> str:
    comment = match[1] or ""
    if comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/")):
        return match[0]  # not closed
    return re.sub(r"[^\n]", " ", comment) if comment else match[0]


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _refuse(text: str, offset: int, message: str) -> NoReturn:
    line = text.count("\n", 0, offset) + 1
    raise FileSyntaxError(line, offset - text.rfind("\n", 0, offset), message)
