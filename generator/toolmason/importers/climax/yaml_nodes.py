"""YAML with the place of everything in it, read by the safe loader and in bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from toolmason_runtime.toml.positions import Position

from toolmason.importers.notes import ImportFailed, Notes

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_NODES: Final = 100_000
"""Values of one file, those that aliases repeat counted each time: a few lines of aliases can stand for billions."""
DEEPEST: Final = 50
"""How many lists and mappings may stand inside each other."""

_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value of YAML: a scalar, a tuple of nodes, or a dict of them by key.

    `text` is a scalar as written; `place` is where it stands, and `key` where its key does, if it has one.
    """

    value: Any
    text: str = ""
    place: Position
    key: Position


def read_yaml(path: Path, notes: Notes) -> Node:
    """Read the one document of a file.

    Raises:
        ImportFailed: it cannot be read, is no YAML, or is too much of it.
    """
    shown = path.as_posix()
    loader: Any = None
    text = ""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ImportFailed(f"{shown}: more than {MAX_BYTES:,} bytes")
        text = raw.decode("utf-8-sig")
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise ImportFailed(f"{shown}:1:1: the file is empty")
        return _Reader(shown, loader, notes).node(root, _place(root), 0)
    except OSError as error:
        raise ImportFailed(f"{shown}: cannot read: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{shown}: not UTF-8 at byte {error.start}") from error
    except yaml.reader.ReaderError as error:
        raise ImportFailed(_not_a_character(shown, text, error.position)) from error
    except yaml.MarkedYAMLError as error:
        raise ImportFailed(_not_yaml(shown, error)) from error
    except RecursionError as error:
        raise ImportFailed(f"{shown}: nested too deeply") from error
    finally:
        if loader is not None:
            loader.dispose()


def _not_yaml(shown: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    words = [each for each in (error.context, error.problem) if each]
    return f"{shown}{where}: not YAML: {', '.join(words)}"


def _not_a_character(shown: str, text: str, position: int) -> str:
    before = text[:position]
    line, column = before.count("\n") + 1, position - before.rfind("\n")
    return f"{shown}:{line}:{column}: not YAML: it may not hold the character U+{ord(text[position]):04X}"


def _place(node: yaml.Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


@dataclass(slots=True)
class _Reader:
    """Turns the nodes of PyYAML into ours, and counts them."""

    shown: str
    loader: Any
    notes: Notes
    count: int = field(default=0)

    def node(self, node: yaml.Node, key: Position, depth: int) -> Node:
        place = _place(node)
        self.count += 1
        if self.count > MAX_NODES:
            raise self.refused(place, f"more than {MAX_NODES:,} values, those that aliases repeat included")
        if depth > DEEPEST:
            raise self.refused(place, f"more than {DEEPEST} lists and mappings stand inside each other")
        match node:
            case yaml.MappingNode():
                return Node(value=self.mapping(node, depth), place=place, key=key)
            case yaml.SequenceNode():
                items = tuple(self.node(each, _place(each), depth + 1) for each in node.value)
                return Node(value=items, place=place, key=key)
            case _:
                return Node(value=self.scalar(node), text=_whole(str(node.value)), place=place, key=key)

    def mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                for each in self.merged(value, depth):
                    merged = {**each, **merged}
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise self.refused(_place(key), "a list or a mapping cannot be a key")
            name = _whole(str(key.value))
            if name in found:
                self.notes.add(self.shown, _place(key), name, "this key stands twice: the last one counts")
            found[name] = self.node(value, _place(key), depth + 1)
        return {**merged, **found}

    def merged(self, node: yaml.Node, depth: int) -> Iterator[dict[str, Node]]:
        """Give the mappings that `<<` brings in, the ones that count more first."""
        for each in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(each, yaml.MappingNode):
                raise self.refused(_place(each), "`<<` takes a mapping, or a list of them")
            yield self.node(each, _place(each), depth + 1).value

    def scalar(self, node: yaml.Node) -> Any:
        try:
            value = self.loader.construct_object(node)
        except (ValueError, OverflowError) as error:  # a date that is none, an integer of too many digits
            raise self.refused(_place(node), f"not YAML: {error}") from error
        return _whole(value) if isinstance(value, str) else value

    def refused(self, place: Position, message: str) -> ImportFailed:
        return ImportFailed(f"{self.shown}:{place.line}:{place.column}: {message}")


def _whole(text: str) -> str:
    r"""Put halves of characters together, as `"\ud83d\ude00"` has them; one alone becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
