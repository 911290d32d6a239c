"""Parse all rendered files before any is written. A failure is a bug of the toolkit or of a project's template.

Files that equal those on disk are skipped, since an earlier run has checked them.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.shared.checksum import with_lf

from toolmason.manifest.input_files import read_input
from toolmason.model.rendered_file import RenderedFile
from toolmason.render.plain_schemas import is_plain_schema
from toolmason.store import Store

if TYPE_CHECKING:
    from toolmason.model.server import Category, Server


class SelfCheckError(Exception):
    """Output does not parse. `faults` has one line per file with the reason."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


def unchanged(files: Iterable[RenderedFile], directory: Path) -> dict[PurePosixPath, str]:
    """Return the texts of those `files` that are in `directory` already."""
    texts = {}
    for file in files:
        rendered = file.text.encode()
        with suppress(OSError):
            # With CRLF line ends, the file has up to twice the size.
            data = read_input(directory / file.path, directory, max_bytes=2 * len(rendered))
            if with_lf(data) == rendered:
                texts[file.path] = file.text
    return texts


def self_check(
    server: Server,
    files: Iterable[RenderedFile],
    *,
    previous: Mapping[PurePosixPath, str] | None = None,
    store: Store | None = None,
) -> None:
    """Parse each file that differs from `previous`, and check the schemas of each category with such a file.

    `store` has the schema nodes that earlier runs have checked.

    Raises:
        SelfCheckError: a file does not parse, or a schema is invalid. Nothing may be written then.
    """
    texts = previous or {}
    changed = tuple(file for file in files if texts.get(file.path) != file.text)
    directories = {file.path.parent for file in changed}
    categories = [item for item in server.categories if PurePosixPath(server.package, item.module) in directories]
    if faults := (*_syntax_faults(changed), *_schema_faults(categories, {} if store is None else store)):
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
    # A warning at compile time (an invalid escape, `is` with a literal) is a mistake in a template too.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(text, "<generated>", "exec", dont_inherit=True)


def _parse_json(text: str) -> None:
    value = json.loads(text, parse_constant=_reject_constant)
    if isinstance(value, dict) and "$schema" in value and "properties" in value:
        _check_schema(value)


def _parse_xml(text: str) -> None:
    # Imported here: few files are XML.
    from xml.parsers import expat

    try:
        expat.ParserCreate().Parse(text, True)
    except expat.ExpatError as error:
        raise SyntaxError(str(error)) from error


def _reject_constant(name: str) -> None:
    raise ValueError(f"it contains {name}, which JSON does not allow")


def _schema_faults(categories: Iterable[Category], valid: Store) -> Iterator[str]:
    for category in categories:
        for tool in category.tools:
            for kind, schema in (("arguments", tool.input_schema), ("result", tool.output_schema)):
                try:
                    if schema is not None and not is_plain_schema(schema):
                        _check_nodes(schema, valid)
                except ValueError as error:
                    yield f"schema of the {kind} of `{tool.name}`: {error}"


def _check_nodes(schema: dict[str, Any], valid: Store) -> None:
    """Check a schema node by node, each kind of node once.

    Checking a node against the metaschema takes milliseconds, and a thousand tools have few kinds of nodes. `valid` has
    those that have been checked.
    """
    inner = [
        *schema.get("properties", {}).values(),
        *(schema[key] for key in _SCHEMA_KEYWORDS if isinstance(schema.get(key), dict)),
    ]
    node = {key: value for key, value in schema.items() if key not in _OMITTED}
    if isinstance(node.get("description"), str):
        node["description"] = ""
    kind = f"valid {sha256(json.dumps(node).encode()).hexdigest()}"
    if valid.get(kind) is None:
        _check_schema(node)
        valid[kind] = "true"
    for subschema in inner:
        # `true` and `false` are valid schemas.
        if not isinstance(subschema, bool):
            _check_nodes(subschema, valid)


_SCHEMA_KEYWORDS: Final = ("items", "additionalProperties")
_OMITTED: Final = frozenset({"properties", "default", *_SCHEMA_KEYWORDS})


def _check_schema(schema: dict[str, Any]) -> None:
    if is_plain_schema(schema):
        return
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{error.json_path}: {error.message}") from error


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".json": _parse_json,
    ".py": _compile,
    ".svg": _parse_xml,
    ".toml": tomllib.loads,
}
