"""Parse YAML with the position of each value, by the safe loader and within size limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from toolmason_runtime.toml.positions import Position

from toolmason.importers.notes import ImporterError, Notes

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_NODES: Final = 100_000
"""Maximum values of one file, counting each use of an alias: a few lines of aliases can expand to billions."""
MAX_DEPTH: Final = 50
"""Maximum nesting of lists and mappings."""

_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value of YAML: a scalar, a tuple of nodes, or a dict of them by key.

    `text` is the source of a scalar; `position` and `key` are the positions of the value and of its key, if any.
    """

    value: Any
    text: str = ""
    position: Position
    key: Position


def read_yaml(path: Path, notes: Notes) -> Node:
    """Parse the single document of a file.

    Raises:
        ImporterError: it cannot be read, is not YAML, or exceeds a limit.
    """
    display_path = path.as_posix()
    loader: Any = None
    text = ""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ImporterError(f"{display_path}: more than {MAX_BYTES:,} bytes")
        text = raw.decode("utf-8-sig")
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise ImporterError(f"{display_path}:1:1: the file is empty")
        return _Reader(display_path, loader, notes).node(root, _position(root), 0)
    except OSError as error:
        raise ImporterError(f"{display_path}: cannot read: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise ImporterError(f"{display_path}: not UTF-8 at byte {error.start}") from error
    except yaml.reader.ReaderError as error:
        raise ImporterError(_format_invalid_character(display_path, text, error.position)) from error
    except yaml.MarkedYAMLError as error:
        raise ImporterError(_format_syntax_error(display_path, error)) from error
    except RecursionError as error:
        raise ImporterError(f"{display_path}: nested too deeply") from error
    finally:
        if loader is not None:
            loader.dispose()


def _format_syntax_error(display_path: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    position = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    parts = [part for part in (error.context, error.problem) if part]
    return f"{display_path}{position}: not YAML: {', '.join(parts)}"


def _format_invalid_character(display_path: str, text: str, position: int) -> str:
    before = text[:position]
    line, column = before.count("\n") + 1, position - before.rfind("\n")
    return f"{display_path}:{line}:{column}: not YAML: it contains the invalid character U+{ord(text[position]):04X}"


def _position(node: yaml.Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


@dataclass(slots=True)
class _Reader:
    """Converts and counts the nodes of PyYAML."""

    display_path: str
    loader: Any
    notes: Notes
    count: int = field(default=0)

    def node(self, node: yaml.Node, key: Position, depth: int) -> Node:
        position = _position(node)
        self.count += 1
        if self.count > MAX_NODES:
            raise self.error(position, f"more than {MAX_NODES:,} values, including repeated aliases")
        if depth > MAX_DEPTH:
            raise self.error(position, f"lists and mappings nest more than {MAX_DEPTH} levels deep")
        match node:
            case yaml.MappingNode():
                return Node(value=self.mapping(node, depth), position=position, key=key)
            case yaml.SequenceNode():
                items = tuple(self.node(item, _position(item), depth + 1) for item in node.value)
                return Node(value=items, position=position, key=key)
            case _:
                return Node(value=self.scalar(node), text=_join_surrogates(str(node.value)), position=position, key=key)

    def mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                for mapping in self.merged(value, depth):
                    merged = {**mapping, **merged}
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise self.error(_position(key), "a list or a mapping cannot be a key")
            name = _join_surrogates(str(key.value))
            if name in entries:
                self.notes.add(self.display_path, _position(key), name, "duplicate key: the last one is used")
            entries[name] = self.node(value, _position(key), depth + 1)
        return {**merged, **entries}

    def merged(self, node: yaml.Node, depth: int) -> Iterator[dict[str, Node]]:
        """Yield the mappings merged by `<<`, highest priority first."""
        for mapping in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(mapping, yaml.MappingNode):
                raise self.error(_position(mapping), "`<<` takes a mapping or a list of mappings")
            yield self.node(mapping, _position(mapping), depth + 1).value

    def scalar(self, node: yaml.Node) -> Any:
        try:
            value = self.loader.construct_object(node)
        except (ValueError, OverflowError) as error:  # an invalid date, an integer with too many digits
            raise self.error(_position(node), f"not YAML: {error}") from error
        return _join_surrogates(value) if isinstance(value, str) else value

    def error(self, position: Position, message: str) -> ImporterError:
        return ImporterError(f"{self.display_path}:{position.line}:{position.column}: {message}")


def _join_surrogates(text: str) -> str:
    r"""Replace surrogate pairs such as `"\ud83d\ude00"` by their character; an unpaired one becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
