"""Positions of the parts of a document in its text, for messages and reports."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import START, Position

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++')

Path_ = tuple[str | int, ...]


def positions(text: str, wanted: AbstractSet[Path_]) -> dict[Path_, Position]:
    """Return where the parts with the paths `wanted` begin: the key of a member, or an item.

    A part that is not in the text, such as one of a merge key of YAML, has the position of the part around it.
    """
    around = {path[:length] for path in wanted for length in range(len(path) + 1)}
    offsets = _json(text) if _is_json(text) else _yaml(text, around)
    found = {(): START} | {path: place for path, place in offsets if path in around}
    return {
        path: next(found[path[:length]] for length in range(len(path), -1, -1) if path[:length] in found)
        for path in wanted
    }


def _is_json(text: str) -> bool:
    try:
        return text.lstrip().startswith("{") and bool(json.loads(text) or True)
    except ValueError:
        return False


def _json(text: str) -> Iterator[tuple[Path_, Position]]:
    starts = [0, *(end.end() for end in re.finditer("\n", text))]
    path: list[str | int] = []
    is_key, is_open = False, False
    for token in _TOKEN.finditer(text):
        word = token[0]
        if is_open and isinstance(path[-1], int) and word not in "],":
            line = bisect_right(starts, token.start())
            yield tuple(path), Position(line, token.start() - starts[line - 1] + 1)
        is_open = False
        match word:
            case "{":
                path.append("")
                is_key = True
            case "[":
                path.append(0)
                is_open = True
            case "}" | "]":
                path = path[:-1]
                is_key = False
            case ",":
                if path and isinstance(path[-1], int):
                    path[-1] += 1
                    is_open = True
                else:
                    is_key = True
            case _ if is_key and path and word.startswith('"'):
                path[-1] = word[1:-1] if "\\" not in word else json.loads(word, strict=False)
                is_key = False
                line = bisect_right(starts, token.start())
                yield tuple(path), Position(line, token.start() - starts[line - 1] + 1)


def _yaml(text: str, around: AbstractSet[Path_]) -> Iterator[tuple[Path_, Position]]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    waiting: list[tuple[Path_, Any]] = [((), yaml.compose(text, Loader=loader))]
    while waiting:
        path, node = waiting.pop()
        if path not in around:
            continue
        if isinstance(node, yaml.MappingNode):
            members = [(key.value, key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        elif isinstance(node, yaml.SequenceNode):
            members = [(index, value, value) for index, value in enumerate(node.value)]
        else:
            continue
        for name, marked, value in members:
            yield (*path, name), Position(marked.start_mark.line + 1, marked.start_mark.column + 1)
            waiting.append(((*path, name), value))
