"""Edit YAML in place: an entry is inserted, replaced or removed by its lines, so every other character remains.

PyYAML only finds positions. It is imported when a file is read: few clients have YAML, and it belongs to an extra.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from toolmason_runtime.install.errors import CannotEditError, FileSyntaxError

if TYPE_CHECKING:
    import yaml

NAME: Final = "name"
"""Key of the name in an entry of a list."""
_BY_HAND: Final = "edit the file by hand"
_MAX_NODES: Final = 100_000
"""Maximum number of values, with aliases expanded."""
_INDENT: Final = "  "
_PLAIN: Final = re.compile(r"[A-Za-z_][\w-]*")
_TAG: Final = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class _Tagged:
    """A value of another type, such as a date."""

    tag: str
    text: str


class _Span(NamedTuple):
    """An entry: the offset of its first line, and that after its last line."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class YamlEditor:
    """An editor of files whose servers are a mapping, or a list of entries with a `name`."""

    is_list: bool = False

    def load(self, text: str) -> dict[str, Any]:
        """Return the data of a file.

        Raises:
            FileSyntaxError: it is not YAML, or its root is not a mapping.
            CannotEditError: PyYAML is not installed.
        """
        return _Document(text).data()

    def comments(self, text: str) -> list[str]:
        """Return the comments of a valid file."""
        return list(_comments(text))

    def merge(self, text: str, values: Mapping[str, Any]) -> str:
        """Return the text with `values` set; each value is a table of servers, or the value of a key in a new file.

        Raises:
            CannotEditError: the file has another layout, such as servers in flow style.
        """
        is_new = not text.strip()
        for key, value in values.items():
            if not isinstance(value, Mapping):
                text = _appended(text, f"{_scalar(key)}: {_scalar(value)}\n")
                continue
            if is_new:  # without PyYAML, too
                text = _appended(text, f"{_scalar(key)}:\n")
            for name, entry in value.items():
                if is_new:
                    text += self._block(name, entry, _INDENT)
                else:
                    text = self._set(text, key, name, entry, merges=True)
        return text

    def replace(self, text: str, path: tuple[str, ...], value: Any) -> str:
        """Return the text with the entry at `path`, which exists, replaced by `value`."""
        key, name = path
        return self._set(text, key, name, value, merges=False)

    def remove(self, text: str, path: tuple[str, ...]) -> str:
        """Return the text without the entry at `path`, which exists; comments before and after it remain.

        Raises:
            CannotEditError: it is written in flow style.
        """
        key, name = path
        document = _Document(text)
        servers = document.servers(key)
        span = document.span(servers, name)
        rest = text[: span.start] + text[span.end :]
        if len(servers.node.value) > 1:
            return rest
        end = servers.key.end_mark.index
        colon = text.index(":", end) + 1
        return f"{text[:colon]} {'[]' if servers.is_list else '{}'}{rest[colon:]}"

    def _set(self, text: str, key: str, name: str, entry: Mapping[str, Any], *, merges: bool) -> str:
        document = _Document(text)
        servers = document.find(key)
        if servers is None:
            return _appended(text, f"{_scalar(key)}:\n{self._block(name, entry, _INDENT)}")
        if servers.is_empty:
            # The block follows the line of the key, whose comment remains.
            start, end = servers.node.start_mark.index, servers.node.end_mark.index
            before = text[:start].rstrip(" ") if end > start else text[:start]
            line, newline, _ = text[end:].partition("\n")
            text = before + text[end:]
            at = len(before) + len(line) + len(newline)
            indent = " " * servers.key.start_mark.column + _INDENT
            return _inserted(text, at, self._block(name, entry, indent))
        if servers.is_list != self.is_list:
            raise CannotEditError(f"`{key}` must be a {'list' if self.is_list else 'mapping'} of servers; {_BY_HAND}")
        servers = document.servers(key)
        indent = " " * servers.column
        present = document.entries(servers).get(name)
        if present is None:
            at = document.content_end(servers.node)
            return _inserted(text, at, self._block(name, entry, indent))
        if merges and {**present, **entry} == present:
            return text
        span = document.span(servers, name)
        block = self._block(name, {**present, **entry} if merges else entry, indent)
        return text[: span.start] + block + text[span.end :]

    def _block(self, name: str, entry: Mapping[str, Any], indent: str) -> str:
        """Return the lines of an entry."""
        if not self.is_list:
            return f"{indent}{_scalar(name)}:\n" + "".join(_lines(entry, indent + _INDENT))
        lines = list(_lines({NAME: name, **entry}, indent + _INDENT))
        return f"{indent}- {lines[0].lstrip()}" + "".join(lines[1:])


@dataclass(slots=True)
class _Servers:
    """The value of the key of the servers, and its key."""

    key: yaml.Node
    node: Any

    @property
    def is_list(self) -> bool:
        return bool(self.node.id == "sequence")

    @property
    def is_empty(self) -> bool:
        """Whether there is no value, or an empty one."""
        return self.node.tag == f"{_TAG}null" if self.node.id == "scalar" else not self.node.value

    @property
    def column(self) -> int:
        """The column of entries: that of their keys, or of the hyphens."""
        return int(self.node.start_mark.column)


@dataclass(slots=True)
class _Document:
    """A file and the positions of its values."""

    text: str
    root: Any = field(init=False)
    _count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.root = _compose(self.text)
        if self.root is not None and self.root.id != "mapping":
            _refuse(self.root.start_mark, "the file must contain a mapping")

    def data(self) -> dict[str, Any]:
        try:
            return {} if self.root is None else dict(self._value(self.root))
        except RecursionError:
            raise FileSyntaxError(1, 1, "values nest too deeply") from None

    def find(self, key: str) -> _Servers | None:
        """Return the value of a key of the root."""
        for name, value in self.root.value if self.root is not None else ():
            if self._key(name) == key:
                return _Servers(name, value)
        return None

    def servers(self, key: str) -> _Servers:
        """Return the value of `key`, which is not empty.

        Raises:
            CannotEditError: it is written in flow style, or belongs to another key as well.
        """
        servers = self.find(key)
        if servers is None or servers.node.id == "scalar" or servers.node.flow_style:
            raise CannotEditError(f"`{key}` is not written as a block with a line for each server; {_BY_HAND}")
        if servers.node.start_mark.index < servers.key.end_mark.index:
            raise CannotEditError(f"`{key}` is an alias of another part of the file; {_BY_HAND}")
        return servers

    def entries(self, servers: _Servers) -> dict[str, Any]:
        """Return the entries by name.

        Raises:
            FileSyntaxError: a name is there twice.
        """
        value = self._value(servers.node)
        return dict(by_name(value)) if servers.is_list else value

    def span(self, servers: _Servers, name: str) -> _Span:
        """Return the lines of an entry."""
        if servers.is_list:
            names = [
                item.get(NAME) if isinstance(item := self._value(node), dict) else None for node in servers.node.value
            ]
            node = servers.node.value[names.index(name)]
            first = node
        else:
            first, node = next(pair for pair in servers.node.value if self._key(pair[0]) == name)
        if node.start_mark.index < first.start_mark.index:
            raise CannotEditError(f"`{name}` is an alias of another part of the file; {_BY_HAND}")
        return _Span(self.text.rfind("\n", 0, first.start_mark.index) + 1, self.content_end(node))

    def content_end(self, node: Any) -> int:
        """Return the offset after the last line of a value: blank lines and comments after it are not part of it."""
        while node.id != "scalar" and not node.flow_style and node.value:
            last = node.value[-1]
            before, last = last if isinstance(last, tuple) else (node, last)
            is_alias = last.start_mark.index < before.start_mark.index
            if is_alias and before is node:
                raise CannotEditError(f"an alias is at the end of a list; {_BY_HAND}")
            node = before if is_alias else last
        end = node.end_mark.index
        if self.text[end - 1 : end] == "\n":  # a literal, which ends with its last line
            return int(end)
        line_end = self.text.find("\n", end)
        return len(self.text) if line_end < 0 else line_end + 1

    def _key(self, node: Any) -> Any:
        if node.id != "scalar":
            _refuse(node.start_mark, "a key must be a text")
        return node.value

    def _value(self, node: Any) -> Any:
        self._count += 1
        if self._count > _MAX_NODES:
            _refuse(node.start_mark, f"the file has more than {_MAX_NODES} values")
        if node.id == "sequence":
            return [self._value(item) for item in node.value]
        if node.id == "mapping":
            values: dict[Any, Any] = {}
            for key, value in node.value:
                name = self._key(key)
                if name in values:
                    _refuse(key.start_mark, f"the key {json.dumps(name)} is there twice")
                values[name] = self._value(value)
            return values
        return _plain(node)


def by_name(entries: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the name and the entry of each server in a list; other items are left out.

    Raises:
        CannotEditError: two have the same name.
    """
    names: set[str] = set()
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(name := entry.get(NAME), str):
            if name in names:
                raise CannotEditError(f"two servers have the name `{name}`; {_BY_HAND}")
            names.add(name)
            yield name, {key: value for key, value in entry.items() if key != NAME}


def _plain(node: Any) -> Any:
    """Return the value of a scalar; its text with its tag if it is no text, number, boolean or null."""
    match node.tag.removeprefix(_TAG):
        case "str":
            return node.value
        case "null":
            return None
        case "bool" if node.value.lower() in {"true", "false"}:
            return node.value.lower() == "true"
        case "int" if re.fullmatch(r"[-+]?[0-9]{1,300}", node.value):
            return int(node.value)
    return _Tagged(node.tag, node.value)


def _compose(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise CannotEditError("PyYAML is not installed; without it YAML cannot be edited") from None
    loader: Any = None
    try:
        loader = yaml.SafeLoader(text)
        return loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line, column = text.count("\n", 0, error.position) + 1, error.position - text.rfind("\n", 0, error.position)
        raise FileSyntaxError(line, column, f"not YAML: the character {text[error.position]!a}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise FileSyntaxError(
            mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, f"not YAML: {problem}"
        ) from error
    except RecursionError:
        raise FileSyntaxError(1, 1, "values nest too deeply") from None
    finally:
        if loader is not None:
            loader.dispose()


def _comments(text: str) -> Iterator[str]:
    import yaml

    scalars = [token for token in yaml.scan(text, Loader=yaml.SafeLoader) if isinstance(token, yaml.ScalarToken)]
    starts = [token.start_mark.index for token in scalars]
    at = 0
    while (at := text.find("#", at)) >= 0:
        number = bisect.bisect_right(starts, at) - 1
        if number >= 0 and at < scalars[number].end_mark.index:
            # The header of a literal can have a comment; its text cannot.
            at = scalars[number].end_mark.index
        elif at == 0 or text[at - 1].isspace():
            end = text.find("\n", at)
            yield text[at : end if end >= 0 else len(text)].strip()
            at = end if end >= 0 else len(text)
        else:
            at += 1


def _lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{_scalar(key)}:\n"
            yield from _lines(value, indent + _INDENT)
        elif isinstance(value, list) and value:
            yield f"{indent}{_scalar(key)}:\n"
            for item in value:
                yield f"{indent}{_INDENT}- {_scalar(item)}\n"
        else:
            yield f"{indent}{_scalar(key)}: {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    """Return a value on one line. JSON is YAML; a text without quotes is one in YAML 1.1 and 1.2."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and _is_text(value):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        raise CannotEditError(f"a value of the entry has a tag; {_BY_HAND}") from None


def _is_text(value: str) -> bool:
    return value.lower() not in {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def _appended(text: str, block: str) -> str:
    separator = "\n" if text and not text.endswith("\n") else ""
    return f"{text}{separator}{block}"


def _inserted(text: str, at: int, block: str) -> str:
    separator = "\n" if at and text[at - 1] != "\n" else ""
    return f"{text[:at]}{separator}{block}{text[at:]}"


def _refuse(mark: Any, message: str) -> NoReturn:
    raise FileSyntaxError(mark.line + 1, mark.column + 1, message)
