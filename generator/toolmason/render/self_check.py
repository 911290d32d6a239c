"""The last look before anything is written: what we rendered parses. If not, the fault is ours, not the author's.

Only what differs from the tree on disk is looked at: the rest has been through here before.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason.manifest.input_files import read_input
from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Category, Server


class SelfCheckError(Exception):
    """Output that does not parse. `faults` says where and why, a line each."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


def unchanged(files: Iterable[RenderedFile], folder: Path) -> dict[PurePosixPath, str]:
    """Return the texts of those `files` that are in `folder` already. At most their own size is read."""
    found = {}
    for file in files:
        wanted = file.text.encode()
        with suppress(OSError):
            # Twice, for CRLF line ends.
            data = read_input(folder / file.path, folder, max_bytes=2 * len(wanted))
            if data.replace(b"\r\n", b"\n") == wanted:
                found[file.path] = file.text
    return found


def self_check(
    server: Server, files: Iterable[RenderedFile], *, previous: Mapping[PurePosixPath, str] | None = None
) -> None:
    """Parse each file that is not the same in `previous`, and check the schemas of each category whose code is new.

    Raises:
        SelfCheckError: something does not parse, or a schema is none. Nothing may be written then.
    """
    before = previous or {}
    changed = tuple(file for file in files if before.get(file.path) != file.text)
    folders = {file.path.parent for file in changed}
    new = [each for each in server.categories if PurePosixPath(server.package, each.module) in folders]
    if faults := (*_syntax_faults(changed), *_schema_faults(new)):
        raise SelfCheckError(faults)


def _syntax_faults(files: Iterable[RenderedFile]) -> Iterator[str]:
    for file in files:
        if not (parse := _PARSERS.get(file.path.suffix)):
            continue
        try:
            parse(file.text)
        except (SyntaxError, ValueError) as error:
            yield f"{file.path}: {error}"
        except (RecursionError, MemoryError):
            yield f"{file.path}: it is nested too deep or too large to be parsed"


def _compile(text: str) -> None:
    # A warning at compile time (an invalid escape, `is` with a literal) is a slip of a template too.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(text, "<generated>", "exec", dont_inherit=True)


def _parse_json(text: str) -> None:
    value = json.loads(text, parse_constant=_refuse_constant)
    if isinstance(value, dict) and "$schema" in value and "properties" in value:
        _check_schema(value)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number")


def _schema_faults(categories: Iterable[Category]) -> Iterator[str]:
    seen: set[str] = set()
    for category in categories:
        for tool in category.tools:
            for side, schema in (("arguments", tool.input_schema), ("result", tool.output_schema)):
                try:
                    if schema is not None:
                        _check_nodes(schema, seen)
                except ValueError as error:
                    yield f"schema of the {side} of `{tool.name}`: {error}"


def _check_nodes(schema: dict[str, Any], seen: set[str]) -> None:
    """Check a schema node by node, each kind of node once.

    Checking against the metaschema takes milliseconds, and a thousand tools are made of few kinds of nodes.
    """
    inner = [
        *schema.get("properties", {}).values(),
        *(schema[key] for key in _INNER if isinstance(schema.get(key), dict)),
    ]
    node = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    if isinstance(node.get("description"), str):
        node["description"] = ""
    kind = json.dumps(node)
    if kind not in seen:
        _check_schema(node)
        seen.add(kind)
    for each in inner:
        # `true` and `false` are schemas too, and right.
        if not isinstance(each, bool):
            _check_nodes(each, seen)


_INNER: Final = ("items", "additionalProperties")
_LEFT_OUT: Final = frozenset({"properties", "default", *_INNER})


def _check_schema(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{error.json_path}: {error.message}") from error


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".json": _parse_json,
    ".py": _compile,
    ".toml": tomllib.loads,
}
