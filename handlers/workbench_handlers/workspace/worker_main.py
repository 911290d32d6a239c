"""The child process that runs what a caller wrote: regular expressions and jq programs.

Run as a script, alone: `python -I -S worker_main.py SECONDS [FOLDER...]`. It has no environment, cannot open a file
once it has started, and is killed when its time is up; so a program in it can burn time, but read nothing.

On standard input and output stand frames: a length in decimal, a newline, and so many bytes of JSON.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, ClassVar

Reply = dict[str, Any]

MAX_MEMORY = 1 << 30
"""Bytes of address space."""
MAX_NODES = 1_000_000
"""Values in a YAML document, its aliases written out."""
MAX_EXACT = 2**53
"""Whole numbers below this are the same as integers and as floats."""
MAX_DEPTH = 300
"""Values within each other."""


class RefusedError(Exception):
    """The work cannot be done; the text is for the caller."""


def main() -> None:
    """Answer frames until input ends."""
    sys.path += sys.argv[2:]
    work: dict[str, Callable[[Reply], Reply]] = {"match": match, "query": query}
    needed = json.loads(_frame(sys.stdin.buffer) or b"{}")
    if needed.get("work") == "query":
        _load_query(needed)
    confine(int(sys.argv[1]))
    _send({})
    while (frame := _frame(sys.stdin.buffer)) is not None:
        _send(_answer(work, json.loads(frame)))


def _load_query(needed: Reply) -> None:
    """Import what a query needs while files can still be opened."""
    import jq

    jq.compile(".").input_value(None).first()
    if needed.get("format") == "yaml":
        import yaml

        yaml.safe_load("a")


def _answer(work: dict[str, Callable[[Reply], Reply]], request: Reply) -> Reply:
    try:
        return work[request["work"]](request)
    except RefusedError as error:
        return {"error": str(error)}
    except (MemoryError, RecursionError):
        return {"error": "it needs more memory, or is nested deeper, than allowed"}


def confine(seconds: int) -> None:
    """Give up the environment, the right to open files or write them, and all but a share of the machine."""
    os.environ.clear()  # the parent gave none, but Python itself sets LC_CTYPE (PEP 538)
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"RLIMIT_NOFILE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_CPU": seconds, "RLIMIT_AS": MAX_MEMORY}
    for name, limit in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (limit, limit))
        except (AttributeError, ValueError, OSError):  # not every system has or grants each
            continue


def match(request: Reply) -> Reply:
    """For each of `texts`, say in which lines one of `patterns` is found, and where first: both 0-based.

    There are at most `most` lines for each text.
    """
    flags = re.IGNORECASE if request.get("ignore_case") else 0
    patterns = [_compiled(each, flags) for each in request["patterns"]]
    return {"places": [_matching(text, patterns, request["most"]) for text in request["texts"]]}


def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError) as error:
        raise RefusedError(f"`{pattern}` is no regular expression: {error}") from None


def _matching(text: str, patterns: list[re.Pattern[str]], most: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number, line in enumerate(text.split("\n")):
        if len(found) == most:
            break
        searched = line.removesuffix("\r")
        starts = [match.start() for each in patterns if (match := each.search(searched))]
        if starts:
            found.append((number, min(starts)))
    return found


def query(request: Reply) -> Reply:
    """Run a jq program over JSON or YAML text; give each result as JSON, up to `most` characters in all."""
    import jq

    text = request["text"]
    if request["format"] == "yaml":
        text = "\n".join(json.dumps(each) for each in yaml_documents(text))
    results: list[str] = []
    size = 0
    try:
        # `import` and `include` read files. jq takes them only where a program begins, so here it does not.
        program = jq.compile(f"(\n{request['program']}\n) | tojson")
        for result in program.input_text(text):
            size += len(result) + 1
            if size > request["most"]:
                return {"results": results or [result[: request["most"]]], "cut": True}
            results.append(result)
    except ValueError as error:
        raise RefusedError(str(error)) from None
    return {"results": results, "cut": False}


def yaml_documents(text: str) -> list[Any]:
    """Parse YAML 1.2 as JSON knows it: dates and keys are text, `on` and `yes` are words, tags are dropped."""
    import yaml

    try:
        documents = list(yaml.load_all(text, Loader=_yaml_loader()))
    except (yaml.YAMLError, ValueError) as error:
        raise RefusedError(f"no valid YAML: {error}") from None
    budget = [MAX_NODES]
    return [plain(each, 0, budget) for each in documents]


def plain(value: Any, depth: int, budget: list[int]) -> Any:
    """Give `value` as JSON has it, its aliases written out.

    Raises:
        RefusedError: that makes it too large: a few lines of aliases to aliases stand for billions of values.
    """
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise RefusedError("its aliases stand for too much data, or for themselves")
    match value:
        case dict():
            return {_key(key): plain(each, depth + 1, budget) for key, each in value.items()}
        case list() | tuple():
            return [plain(each, depth + 1, budget) for each in value]
        case float() if math.isnan(value):
            return None
        case float() if math.isinf(value):  # as jq prints it
            return math.copysign(sys.float_info.max, value)
        case float() if value.is_integer() and abs(value) < MAX_EXACT:
            return int(value)
        case str() | int() | float() | None:
            return value
        case bytes():
            return value.decode("latin-1")
        case _:
            return str(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if isinstance(key, bool | int | float) or key is None else str(key)


def _yaml_loader() -> Any:
    """Give a safe loader with the scalars of YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema)."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # which of two it is depends on how PyYAML was built
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
    # As Python's own set, its order would differ from run to run.
    Loader.add_constructor(f"{tag}set", lambda loader, node: list(loader.construct_mapping(node, deep=True)))
    Loader.add_multi_constructor("!", _untagged)
    return Loader


def _yaml_int(loader: Any, node: Any) -> int:
    text: str = loader.construct_scalar(node)
    return int(text, 0) if text[:2].lower() in {"0o", "0x"} else int(text)


def _untagged(loader: Any, _tag: str, node: Any) -> Any:
    """Construct a value with an application's own tag (`!Ref`) as if it had none."""
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
