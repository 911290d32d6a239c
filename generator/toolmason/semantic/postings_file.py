"""Read and write `semantic.postings`, the committed result of `toolmason embed`.

The file is text: a line for the format, one for the model, one for each tool, an empty line, then those of the words,
compressed, in Base64. Tools and words are sorted. `toolmason_runtime.shared.search.postings` reads it at run time.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from toolmason_runtime.shared.search.postings import HEADER, unpack

from toolmason.semantic.texts import HASH_DIGITS

FILE_NAME: Final = "semantic.postings"
"""Name of the file, beside the manifest and in the generated package."""
MODEL_HASH: Final = re.compile(r"[0-9a-f]{64}")
LINE: Final = 120
"""Characters of a line of compressed data."""
_MODEL: Final = re.compile(rf"model ({MODEL_HASH.pattern})")
_TOOL: Final = re.compile(rf"tool ([A-Za-z0-9_.-]+) ([0-9a-f]{{{HASH_DIGITS}}}) ([A-Za-z0-9+/]+={{0,2}})")
_WORD: Final = re.compile(r"([a-z]{2,}) ([0-9]{1,6} [0-9]{1,3}(?: [0-9]{1,6} [0-9]{1,3})*)")
"""A score is below 400, in hundredths of a sum of four cosines."""


class PostingsError(ValueError):
    """The file is invalid at line `line`."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class EmbeddedTool:
    """The hash of the text of a tool, and its vector as int8."""

    hash: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class Header:
    """The part of the file before the words: the SHA-256 of the model, and the tools by name."""

    model: str
    tools: Mapping[str, EmbeddedTool]


def write_postings(header: Header, words: Iterable[tuple[str, Sequence[int]]]) -> str:
    """Return the content of the file.

    Args:
        header: the model and the tools.
        words: each word with pairs of numbers: the index of a tool in the header, and its score.
    """
    lines = [HEADER, f"model {header.model}"]
    lines += [f"tool {name} {tool.hash} {b64encode(tool.vector).decode()}" for name, tool in header.tools.items()]
    rows = [f"{word} {' '.join(map(str, pairs))}\n" for word, pairs in words if pairs]
    if not rows:
        return "\n".join(lines) + "\n"
    packed = b64encode(zlib.compress("".join((f"{len(header.tools)}\n", *rows)).encode(), 9)).decode()
    return "\n".join([*lines, "", *(packed[start : start + LINE] for start in range(0, len(packed), LINE))]) + "\n"


def read_words(text: str) -> dict[str, list[int]]:
    """Return the pairs of numbers of each word, of a file that was checked."""
    head, _, packed = text.partition("\n\n")
    lines = unpack(packed.encode(), head.count("\n") - 1).decode().splitlines() if packed else []
    rows = (line.split(" ") for line in lines)
    return {row[0]: [int(number) for number in row[1:]] for row in rows}


def read_header(text: str) -> Header:
    """Return the header of the file without checking the words.

    Raises:
        PostingsError: the header is invalid.
    """
    head, _, _ = text.partition("\n\n")
    lines = head.rstrip("\n").split("\n")
    if lines[0] != HEADER:
        raise PostingsError(1, f"not a file of this version: it does not start with `{HEADER}`")
    model = _MODEL.fullmatch(lines[1]) if len(lines) > 1 else None
    if model is None:
        raise PostingsError(2, "expected `model` and a SHA-256")
    tools = {}
    for number, line in enumerate(lines[2:], 3):
        if (tool := _TOOL.fullmatch(line)) is None:
            raise PostingsError(number, "expected `tool`, a name, a hash and a vector")
        tools[tool[1]] = EmbeddedTool(tool[2], _decode_vector(tool[3], number))
    _require_sorted((line.split(" ", 2)[1] for line in lines[2:]), 3)
    if len({len(tool.vector) for tool in tools.values()}) > 1:
        raise PostingsError(3, "the vectors of the tools differ in length")
    return Header(model[1], tools)


def check_postings(text: str) -> Header:
    """Check the whole file, without a model, and return its header.

    Raises:
        PostingsError: the file is invalid.
    """
    header = read_header(text)
    if not text.endswith("\n"):
        raise PostingsError(text.count("\n") + 1, "the last line is cut off")
    head, _, packed = text.partition("\n\n")
    if not packed:
        return header
    first = head.count("\n") + 3
    try:
        lines = unpack(packed.encode(), len(header.tools)).decode().split("\n")
    except ValueError as error:
        raise PostingsError(first, str(error)) from error
    for line in lines[:-1]:
        word = _WORD.fullmatch(line)
        if word is None:
            raise PostingsError(first, "expected words, each with pairs of numbers: a tool and its score")
        if max(map(int, word[2].split()[::2])) >= len(header.tools):
            raise PostingsError(first, f"`{word[1]}` has a tool that is not in the header")
    words = [line.partition(" ")[0] for line in lines[:-1]]
    if misplaced := next((pair for pair in pairwise(words) if pair[1] <= pair[0]), None):
        raise PostingsError(first, f"`{misplaced[1]}` follows `{misplaced[0]}`: words must be sorted, without repeats")
    return header


def _decode_vector(encoded: str, line: int) -> bytes:
    try:
        vector = b64decode(encoded)
    except ValueError as error:
        raise PostingsError(line, "the vector is not valid Base64") from error
    if not any(vector):
        raise PostingsError(line, "the vector is zero")
    return vector


def _require_sorted(keys: Iterable[str], first: int) -> None:
    """Raise PostingsError unless `keys`, those of the lines from number `first` on, are in ascending order."""
    for number, (previous, key) in enumerate(pairwise(keys), first + 1):
        if key <= previous:
            raise PostingsError(number, f"`{key}` follows `{previous}`: the lines must be sorted, without repeats")
