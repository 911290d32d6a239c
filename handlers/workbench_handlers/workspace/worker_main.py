"""Child process that runs untrusted regular expressions and jq programs.

Run by `worker` with the arguments `SECONDS [DIRECTORY...]`. It has no environment, cannot open files after its start,
and is killed at its deadline: an expression can waste time, but cannot read anything.

Each call starts a child. To start quickly, it never imports `typing`, and `datetime` only for YAML and TOML.

Standard input and output are frames: a decimal length, a line feed, and that many bytes of JSON. The file of a query
follows its request in frames of its own, the last one empty.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO, ClassVar

    Reply = dict[str, Any]

MAX_MEMORY = 1 << 30
"""Bytes of address space."""
BATCH_BYTES = 1_000_000
"""Bytes after which a batch of values goes to jq."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_YAML_NODES = 1_000_000
"""Maximum values in a YAML document, with aliases expanded."""
MAX_SAFE_INTEGER = 2**53
"""Integers below this are exact as floats."""
MAX_DEPTH = 300
"""Maximum nesting."""

# A string or comment without an end is text up to the end: otherwise each quotation mark begins a new search.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_OPEN_COMMENT = r"/\*(?:[^*]|\*(?!/))*+"
_COMMENT = re.compile(rf"(?P<text>{_STRING}|{_OPEN_COMMENT}\Z)|//[^\n\r]*+|{_OPEN_COMMENT}\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"(?P<text>{_STRING}|[\[{{:,]\s*+,)|,(?P<space>\s*+)(?=[\]}}])", re.DOTALL)
_NOT_BREAK = re.compile(r"[^\n\r]")
_STRINGS = re.compile(_STRING, re.DOTALL)
_MARK = re.compile(r"(?<!\d)(\d{16,}+)\.0(?!\d)")
_LONG_INTEGER = re.compile(rf"{_STRING}|(?<![\d.eE+])-?(?P<digits>\d{{16,}}+)(?![\d.eE])", re.DOTALL)


class RefusedError(Exception):
    """A request cannot be served; the message is for the caller."""


def main() -> None:
    """Answer frames until input ends."""
    sys.path += sys.argv[2:]
    work: dict[str, Callable[[Reply], Reply]] = {"match": match, "query": query}
    setup = json.loads(_frame(sys.stdin.buffer) or b"{}")
    if setup.get("work") == "query":
        _load_query(setup)
    apply_sandbox(int(sys.argv[1]))
    _send({})
    while (frame := _frame(sys.stdin.buffer)) is not None:
        _send(_answer(work, json.loads(frame)))


def _load_query(setup: Reply) -> None:
    """Import the packages and the codec of a query while files can still be opened."""
    import jq

    codecs.lookup(setup["codec"])
    jq.compile(".").input_value(None).first()
    if setup["format"] == "yaml":
        import yaml

        yaml.safe_load("a")
    elif setup["format"] == "toml":
        import tomllib

        tomllib.loads("a = 2001-01-01T00:00:00Z")
    elif setup["is_large"]:
        import json_path  # type: ignore[import-not-found,unused-ignore]  # noqa: F401  found by the path above


def _answer(work: dict[str, Callable[[Reply], Reply]], request: Reply) -> Reply:
    try:
        return work[request["work"]](request)
    except RefusedError as error:
        return {"error": str(error)}
    except (MemoryError, RecursionError):
        return {"error": "it exceeds the limit of memory or nesting"}


def apply_sandbox(seconds: int) -> None:
    """Drop the environment and limit files, CPU time and memory."""
    os.environ.clear()  # the parent gave none, but Python itself sets LC_CTYPE (PEP 538)
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"RLIMIT_NOFILE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_CPU": seconds, "RLIMIT_AS": MAX_MEMORY}
    for name, limit in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (limit, limit))
        except (AttributeError, ValueError, OSError):  # not every system supports or grants each limit
            continue


def match(request: Reply) -> Reply:
    """For each of `texts`, return the 0-based lines that match one of `patterns`, with the first 0-based column.

    At most `most` lines are returned for each text.
    """
    flags = re.IGNORECASE if request.get("ignore_case") else 0
    patterns = [_compile(pattern, flags) for pattern in request["patterns"]]
    return {"places": [_match_lines(text, patterns, request["most"]) for text in request["texts"]]}


def _compile(pattern: str, flags: int) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError) as error:
        raise RefusedError(f"`{pattern}` is not a regular expression: {error}") from None


def _match_lines(text: str, patterns: list[re.Pattern[str]], limit: int) -> list[tuple[int, int]]:
    matches: list[tuple[int, int]] = []
    for number, line in enumerate(text.split("\n")):
        if len(matches) == limit:
            break
        searched = line.removesuffix("\r")
        starts = [match.start() for pattern in patterns if (match := pattern.search(searched))]
        if starts:
            matches.append((number, min(starts)))
    return matches


def query(request: Reply) -> Reply:
    """Run a jq program on the file that follows; return each result as JSON, at most `most` characters.

    jq parses the whole file unless `is_large`; then it gets only the values at the first path of the program.
    """
    data, program = _data(), request["program"]
    if request["format"] != "json":
        parse = yaml_documents if request["format"] == "yaml" else toml_documents
        text = "\n".join(json.dumps(document) for document in parse(_text(data, request["codec"])))
        return _results([(program, text)], request["most"])
    if not request["is_large"]:
        text = _text(data, request["codec"])
        try:
            return _results([(program, text)], request["most"])
        except RefusedError as error:
            plain = without_comments(text)
            if "parse error" not in str(error) or plain == text:
                raise
            return _results([(program, plain)], request["most"])
    if request["codec"] not in {"utf-8", "utf-8-sig"}:
        data = bytearray(_text(data, request["codec"]), "utf-8", "replace")
    elif data.startswith(BYTE_ORDER_MARK):
        del data[: len(BYTE_ORDER_MARK)]
    _compile_query(program)  # an error shows the whole of it
    return _results(_batches(data, program), request["most"])


def _batches(data: bytearray, program: str) -> Iterator[tuple[str, str]]:
    """Yield the values of the path that a program begins with, and the program for them, in batches.

    jq takes longer to start than to read a small value.
    """
    import json_path

    path, rest = json_path.parse_path(program)
    is_shallow = json_path.is_shallow(rest)
    batch: list[Any] = []
    left: Any = path
    size = 0
    for document in json_path.documents(data):
        for value, steps in json_path.select(document, path):
            if batch and (size >= BATCH_BYTES or steps != left):
                yield json_path.program_of(left, rest), b"\n".join(batch).decode("utf-8", "replace")
                batch, size = [], 0
            batch.append(json_path.shallow(value) if is_shallow and not steps else value)
            left = steps
            size += len(value)
    yield json_path.program_of(left, rest), b"\n".join(batch).decode("utf-8", "replace")


def _results(batches: Iterable[tuple[str, str]], most: int) -> Reply:
    """Run each jq program on the documents of its text."""
    results: list[str] = []
    size = 0
    compiled: dict[str, Any] = {}
    try:
        for program, text in batches:
            if program not in compiled:
                compiled[program] = _compile_query(program)
            integers = _IntegerCheck(compiled[program], program, text)
            for position, result in enumerate(compiled[program].input_text(text)):
                integers.check(position, result)
                size += len(result) + 1
                if size > most:
                    return {"results": results or [result[:most]], "cut": True}
                results.append(result)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    return {"results": results, "cut": False}


def _compile_query(program: str) -> Any:
    """Compile a jq program whose results are JSON texts.

    Raises:
        RefusedError: it is invalid; the message shows the program as it was sent.
    """
    import jq

    try:
        # `import` and `include` read files. jq accepts them only at the start, which the bracket prevents.
        return jq.compile(f"(\n{program}\n) | tojson")
    except ValueError as error:
        message = str(error)
    if not re.search("import|include", program):
        try:
            jq.compile(program)
        except ValueError as error:
            raise RefusedError(str(error)) from None
    lines = program.split("\n")
    if match := re.search(r"(?m)^(.*) at <top-level>, line (\d+), column (\d+)", message):
        line = int(match[2]) - 1
        if line <= len(lines):
            pointer = " " * (int(match[3]) - 1) + "^"
            text = f"{match[1]}, line {line}, column {match[3]}:\n    {lines[line - 1]}\n    {pointer}"
            raise RefusedError(f"{text}\njq: 1 compile error")
    message = "a bracket is missing or superfluous, or the end of the expression is missing"
    raise RefusedError(f"jq: error: {message}:\n    {lines[-1]}\njq: 1 compile error")


class _IntegerCheck:
    """Refuses integers that jq has computed beyond 2**53.

    jq keeps integers of the file exact, but calculates with floats. It also keeps their spelling: so if each one is
    spelled with `.0`, the results that it computed are those without it.
    """

    def __init__(self, program: Any, source: str, text: str) -> None:
        self._program, self._source, self._text = program, source, text
        self._marked: Iterator[str] = iter(())
        self._position = -1

    def check(self, position: int, result: str) -> None:
        """Check the result at a position.

        Raises:
            RefusedError: it contains a computed integer.
        """
        if not any(_is_large(match) for match in _LONG_INTEGER.finditer(result)):
            return
        if self._position < 0:
            marked = _LONG_INTEGER.sub(lambda match: f"{match[0]}.0" if _is_large(match) else match[0], self._text)
            self._marked = iter(self._program.input_text(marked))
        try:
            while self._position < position:
                self._position += 1
                other = next(self._marked, "")
        except ValueError:
            other = ""
        is_same = _MARK.sub(r"\1", other) == result
        for match in _LONG_INTEGER.finditer(other if is_same else result):
            if _is_large(match) and not self._is_written(match["digits"], in_strings=is_same):
                raise RefusedError(
                    f"the expression computes {match['digits']}, but jq calculates with floats, which are exact up to "
                    f"2^53 ({MAX_SAFE_INTEGER:,}): select values without arithmetic; integers of the file stay exact"
                )

    def _is_written(self, digits: str, *, in_strings: bool) -> bool:
        """Return whether the program or the file has an integer, which `tonumber` reads exactly from a string."""
        if digits in self._source or not in_strings:
            return digits in self._source or digits in self._text
        return any(digits in match[0] for match in _STRINGS.finditer(self._text))


def _is_large(match: re.Match[str]) -> bool:
    return match["digits"] is not None and (len(match["digits"]) > 16 or int(match["digits"]) > MAX_SAFE_INTEGER)


def without_comments(text: str) -> str:
    """Return JSON with comments and trailing commas (JSONC) as plain JSON; positions stay the same.

    >>> without_comments('{"a": 1, /* one */} // end')
    '{"a": 1             }       '
    """
    text = _COMMENT.sub(lambda match: match[0] if match["text"] else _NOT_BREAK.sub(" ", match[0]), text)
    return _TRAILING_COMMA.sub(lambda match: match[0] if match["text"] else f" {match['space']}", text)


def _data() -> bytearray:
    """Read the frames of a file."""
    data = bytearray()
    while block := _frame(sys.stdin.buffer):
        data += block
    return data


def _text(data: bytearray, codec: str) -> str:
    return data.decode(codec, "replace").removeprefix("\ufeff")


def yaml_documents(text: str) -> list[Any]:
    """Parse YAML 1.2 into JSON values: dates, keys, `on` and `yes` are strings, tags are dropped."""
    import yaml

    try:
        documents = list(yaml.load_all(text, Loader=_yaml_loader()))
    except (yaml.YAMLError, ValueError) as error:
        raise RefusedError(f"invalid YAML: {error}") from None
    budget = [MAX_YAML_NODES]
    return [to_json(document, 0, budget) for document in documents]


def toml_documents(text: str) -> list[Any]:
    """Parse TOML into one JSON value: dates and times are strings."""
    import tomllib

    try:
        document = tomllib.loads(text.replace("\r\n", "\n"))
    except ValueError as error:
        raise RefusedError(f"invalid TOML: {error}") from None
    return [to_json(document, 0, [MAX_YAML_NODES])]


def to_json(value: Any, depth: int, budget: list[int]) -> Any:
    """Return `value` as a JSON value, with aliases expanded.

    Raises:
        RefusedError: it is too large: a few lines of aliases to aliases can expand to billions of values.
    """
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise RefusedError("its aliases expand to too much data, or to themselves")
    match value:
        case dict():
            return {_key(key): to_json(item, depth + 1, budget) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item, depth + 1, budget) for item in value]
        case float() if math.isnan(value):
            return None
        case float() if math.isinf(value):  # as jq prints it
            return math.copysign(sys.float_info.max, value)
        case float() if value.is_integer() and abs(value) < MAX_SAFE_INTEGER:
            return int(value)
        case str() | int() | float() | None:
            return value
        case bytes():
            return value.decode("latin-1")
        case _:
            return _text_of(value)


def _text_of(value: Any) -> str:
    """Return the text of a value without a JSON type; dates and times are in ISO 8601."""
    from datetime import date, time

    return value.isoformat() if isinstance(value, date | time) else str(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if isinstance(key, bool | int | float) or key is None else str(key)


def _yaml_loader() -> Any:
    """Return a safe loader with the scalars of YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema)."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # one of two classes, depending on the build of PyYAML
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    tag = "tag:yaml.org,2002:"
    Loader.add_implicit_resolver(f"{tag}null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
    Loader.add_implicit_resolver(f"{tag}bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    numbers = list("-+0123456789.")
    Loader.add_implicit_resolver(f"{tag}int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), numbers)
    real = r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    Loader.add_implicit_resolver(f"{tag}float", re.compile(real), numbers)
    Loader.add_implicit_resolver(f"{tag}merge", re.compile(r"^<<$"), ["<"])
    Loader.add_constructor(f"{tag}int", _yaml_int)
    Loader.add_constructor(f"{tag}timestamp", lambda loader, node: loader.construct_scalar(node))
    # The order of a Python set would differ between runs.
    Loader.add_constructor(f"{tag}set", lambda loader, node: list(loader.construct_mapping(node, deep=True)))
    Loader.add_multi_constructor("!", _untagged)
    return Loader


def _yaml_int(loader: Any, node: Any) -> int:
    text: str = loader.construct_scalar(node)
    return int(text, 0) if text[:2].lower() in {"0o", "0x"} else int(text)


def _untagged(loader: Any, _tag: str, node: Any) -> Any:
    """Construct a value with a custom tag (`!Ref`) without it."""
    match node.id:
        case "mapping":
            return loader.construct_mapping(node, deep=True)
        case "sequence":
            return loader.construct_sequence(node, deep=True)
        case _:
            return node.value


def _frame(stream: BinaryIO) -> bytes | None:
    head = stream.readline()
    return stream.read(int(head)) if head else None


def _send(reply: Reply) -> None:
    body = json.dumps(reply).encode("ascii")
    sys.stdout.buffer.write(b"%d\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
