"""Read an `input_schema` file. References to other JSON files of the project are dereferenced with jsonref."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from toolmason.manifest.input_files import read_input
from toolmason.resolve.raw_schema_error import RawSchemaError
from toolmason.schema.walk import walk

_ROOT: Final = "file:///"
"""URI of the project's root."""
_ANNOTATIONS: Final = frozenset({"$ref", "$comment", "title", "description", "default", "deprecated", "examples"})


def read_schema_file(name: str, root: Path) -> Any:
    """Return the content of the JSON file `name` under `root`, with the schemas of other files in their place.

    Raises:
        RawSchemaError: a file cannot be read, is outside the project or is invalid JSON, or a reference to a file leads
            nowhere or cannot be dereferenced.
    """
    document = _read_json(name, root)
    if not _refers_to_files(document):
        return document
    _check_for_jsonref(document)
    import jsonref  # Slow to import: it imports requests if that is installed.

    def load(uri: str, **_: Any) -> Any:
        url = urlsplit(uri)
        if url.scheme != "file" or url.netloc:
            raise RawSchemaError(f"`input_schema` refers to another document: `{uri}`", "copy it into the project")
        other = _read_json(unquote(url.path).lstrip("/"), root)
        _check_for_jsonref(other)
        return other

    try:
        return jsonref.replace_refs(
            document,
            base_uri=_ROOT + quote(Path(name).as_posix()),
            loader=load,
            proxies=False,
            lazy_load=False,
            merge_props=True,
        )
    except jsonref.JsonRefError as error:
        if isinstance(error.__cause__, RawSchemaError):
            raise error.__cause__ from None
        hint = "write the path to a schema, such as `common.json#/$defs/name`"
        raise RawSchemaError(f"a `$ref` of `{name}` has no target: `{error.reference['$ref']}`", hint) from None
    except RecursionError:
        raise RawSchemaError(f"`{name}` nests too deep") from None


def _refers_to_files(document: Any) -> bool:
    return any(not node["$ref"].startswith("#") for node in _references(document))


def _references(document: Any) -> list[dict[str, Any]]:
    return [node for node, _ in walk(document) if isinstance(node.get("$ref"), str)]


def _check_for_jsonref(document: Any) -> None:
    """Check that jsonref dereferences `document` correctly.

    Raises:
        RawSchemaError: a reference has siblings that limit values, which would replace those of its target, or data
            looks like a reference.
    """
    references = _references(document)
    for node in references:
        if siblings := sorted(node.keys() - _ANNOTATIONS):
            message = f"`input_schema` refers to other files and has `{siblings[0]}` beside `$ref`: `{node['$ref']}`"
            raise RawSchemaError(message, "write both into `allOf`")
    pending, known = [document], {id(node) for node in references}
    while pending:
        part = pending.pop()
        if isinstance(part, dict) and isinstance(part.get("$ref"), str) and id(part) not in known:
            message = f"`input_schema` refers to other files and has data with a `$ref`: `{part['$ref']}`"
            raise RawSchemaError(message, "copy the schemas of the other files under `$defs`")
        if isinstance(part, dict | list):
            pending += part.values() if isinstance(part, dict) else part


def _read_json(name: str, root: Path) -> Any:
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError, ValueError):
        # A NUL, a name that is too long, a cycle of links.
        raise RawSchemaError(f"`{name}` is not a valid file name") from None
    if not path.is_relative_to(root.resolve()):
        raise RawSchemaError(f"`{name}` is outside the project")
    try:
        return json.loads(read_input(path, root).decode())
    except OSError as error:
        raise RawSchemaError(f"cannot read `{name}`: {error.strerror}") from None
    except ValueError as error:
        raise RawSchemaError(f"`{name}` is invalid JSON: {error}") from None
    except RecursionError:
        raise RawSchemaError(f"`{name}` nests too deep") from None
