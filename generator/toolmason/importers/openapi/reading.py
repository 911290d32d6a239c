"""Read an API document with its files: references resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi import postman
from toolmason.importers.openapi.document import table
from toolmason.importers.openapi.files import Access, File, Files
from toolmason.importers.openapi.positions import Path_
from toolmason.importers.openapi.postman import is_collection
from toolmason.importers.openapi.references import Bundle
from toolmason.importers.openapi.swagger import converted


@dataclass(slots=True)
class ApiDocument:
    """An OpenAPI document in one piece."""

    data: dict[str, Any]
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of its remote files by their URL."""
    notes: list[str] = field(default_factory=list)
    """Notes about parts that were not read."""
    places: Callable[[], dict[str, str]] = dict
    """Gives `file:line:column` of each operation, such as `GET /items`; slow for large documents."""


def read_document(
    source: str, headers: Mapping[str, str], access: Access | None = None, *, skips_unresolved: bool = False
) -> ApiDocument:
    """Return the OpenAPI document for one at a path or a URL. `headers` are sent to the host of the URL only.

    Raises:
        ImporterError: it cannot be read, is neither JSON nor YAML, is of another version, or has a reference without
            a target. With `skips_unresolved`, such a reference is a note.
    """
    files = Files(source, headers, access or Access())
    bundle = Bundle(files)
    if is_collection(bundle.root.data):
        return _collection(bundle)
    _check_version(bundle.root)
    bundle.resolve()
    if "webhooks" not in bundle.data and not isinstance(bundle.data.get("paths"), dict):
        raise ImporterError(f"{bundle.root.name}: the document has no `paths`")
    messages = bundle.messages()
    if messages and not skips_unresolved:
        raise ImporterError(*messages, "--skip-unresolved imports the rest of the document")
    data = converted(bundle.data) if bundle.is_swagger else bundle.data
    return ApiDocument(data, files.hashes, messages, partial(_places, bundle, _operations(bundle)))


def _collection(bundle: Bundle) -> ApiDocument:
    collection = postman.converted(bundle.root.data)
    found = {key: (bundle.root, path) for key, path in collection.places.items()}
    return ApiDocument(collection.data, notes=collection.notes, places=partial(_places, bundle, found))


def _check_version(root: File) -> None:
    version, swagger = root.data.get("openapi"), root.data.get("swagger")
    if swagger is not None and version is None:
        if str(swagger) != "2.0":
            raise ImporterError(f"{root.name}: `swagger` must be 2.0, not {quoted(str(swagger))}")
    elif not isinstance(version, str) or not version.startswith(("3.0", "3.1", "3.2")):
        raise ImporterError(f"{root.name}: `openapi` must be 3.0, 3.1 or 3.2, not {quoted(str(version))}")
    if "paths" not in root.data and "webhooks" not in root.data:
        raise ImporterError(f"{root.name}: the document has no `paths`")


def _operations(bundle: Bundle) -> dict[str, tuple[File, Path_]]:
    """Return the file and path of each operation."""
    found: dict[str, tuple[File, Path_]] = {}
    for path, item in table(bundle.data.get("paths")).items():
        members = {**table(table(item).get("additionalOperations")), **table(item)}
        for method, operation in members.items():
            if place := bundle.places.get(id(operation)):
                found[f"{method.upper()} {path}"] = place
    return found


def _places(bundle: Bundle, found: Mapping[str, tuple[File, Path_]]) -> dict[str, str]:
    where = bundle.positions(found.values())
    return {key: where[place] for key, place in found.items()}
