"""The files of one document: which of them references may name, and their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

from toolmason_runtime.shared.addresses import is_loopback_host, is_metadata_host

from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi import source as sources
from toolmason.importers.openapi.source import MAX_BYTES, is_url, without_user

MAX_FILES: Final = 5_000
"""Maximum number of files of one document."""


class RefusedError(ValueError):
    """A reference leads to a file that does not exist, cannot be read, or is not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The files beside a document that its references may name."""

    directories: tuple[Path, ...] = ()
    """Further directories, besides that of the document."""
    hosts: tuple[str, ...] = ()
    """Hosts that are asked over HTTPS, with their port if it is not 443."""
    lock: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the content of remote files by their URL; another content is refused."""


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One file of a document. `name` is its path or URL for messages."""

    uri: str
    name: str
    text: str
    data: Any


@dataclass(slots=True)
class Files:
    """The files of one document, read when a reference first names them."""

    source: str
    headers: Mapping[str, str]
    access: Access
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the remote files by their URL, without the document itself."""
    _known: dict[str, File | RefusedError] = field(default_factory=dict)
    _bytes: int = 0
    _directory: Path = field(init=False)

    def __post_init__(self) -> None:
        self._directory = Path(self.source).absolute().parent.resolve()

    def root(self) -> File:
        """Return the document itself.

        Raises:
            ImporterError: it cannot be read.
        """
        if is_url(self.source):
            name = uri = self.source
            data = sources.fetch(uri, self.headers)
        else:
            name, uri = self.source, (self._directory / Path(self.source).name).as_uri()
            data = sources.read(Path(self.source), name)
        text = sources.decode(data, name)
        self._bytes = len(data)
        file = File(uri, without_user(name), text, sources.values(text, name))
        self._known[uri] = file
        return file

    def file(self, uri: str) -> File:
        """Return the file with an absolute URI.

        Raises:
            RefusedError: it may not be read, or has no values.
        """
        if uri not in self._known:
            try:
                self._known[uri] = self._read(uri)
            except RefusedError as error:
                self._known[uri] = error
            except ImporterError as error:
                self._known[uri] = RefusedError(str(error))
        known = self._known[uri]
        if isinstance(known, RefusedError):
            raise known
        return known

    def _read(self, uri: str) -> File:
        if len(self._known) >= MAX_FILES:
            raise RefusedError(f"the document has more than {MAX_FILES:,} files")
        scheme = uri.partition(":")[0].lower()
        if scheme == "file" and not is_url(self.source):
            name, data = self._local(uri)
        elif scheme in ("http", "https"):
            name, data = uri, self._remote(uri)
        else:
            raise RefusedError("it is neither a file beside the document nor a URL of a host that you allow")
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            raise RefusedError(f"the files of the document have more than {MAX_BYTES:,} bytes")
        text = sources.decode(data, name)
        return File(uri, name, text, sources.values(text, name))

    def _local(self, uri: str) -> tuple[str, bytes]:
        parts = urlsplit(uri)
        if parts.netloc not in ("", "localhost") or "\0" in (path := url2pathname(parts.path)):
            raise RefusedError("it is not a path of this machine")
        try:
            place = Path(path).resolve()
            is_file = place.is_file()
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a link to itself
            raise RefusedError(f"its path cannot be read: {getattr(error, 'strerror', None) or error}") from error
        allowed = [self._directory, *(directory.resolve() for directory in self.access.directories)]
        if not any(place.is_relative_to(directory) for directory in allowed):
            raise RefusedError(f"{place} is outside the directory of the document; --allow-directory DIR allows it")
        name = _shown(place, self._directory, Path(self.source).parent)
        if not is_file:
            raise RefusedError(f"there is no file {name}")
        return name, sources.read(place, name)

    def _remote(self, uri: str) -> bytes:
        if problem := self._problem(uri):
            raise RefusedError(f"{without_user(uri)} {problem}")
        same = is_url(self.source) and urlsplit(uri)[:2] == urlsplit(self.source)[:2]
        data = sources.fetch(uri, self.headers if same else {}, lambda target: not self._problem(target))
        self.hashes[uri] = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if self.access.lock.get(uri, self.hashes[uri]) != self.hashes[uri]:
            raise RefusedError(f"{uri} has another content than at the last import; --update-lock accepts it")
        return data

    def _problem(self, uri: str) -> str:
        """Return why a remote file is not read, with the next step; empty if it may be."""
        try:
            parts = urlsplit(uri)
            host, has_user = parts.hostname or "", "@" in parts.netloc
        except ValueError:
            return "is not a valid URL: correct the reference"
        place = _place(uri)
        if has_user:
            return "contains a user or a password: remove it from the reference"
        if is_metadata_host(host):
            return "is a metadata service, which is never read"
        if parts.scheme != "https" and not is_loopback_host(host):
            return f"is not encrypted: change the reference to https, and pass --allow-remote {place or host}"
        if place not in {name.lower() for name in self.access.hosts}:
            return f"is on another host: --allow-remote {place or host} allows it"
        return ""


def _place(uri: str) -> str:
    """Return host and port of a URL as `--allow-remote` takes them, empty if it is invalid."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    return host if port in (None, 443) else f"{host}:{port}"


def _shown(place: Path, directory: Path, written: Path) -> str:
    """Return a path as the author would write it: relative to the document as it was named."""
    return (written / place.relative_to(directory)).as_posix() if place.is_relative_to(directory) else str(place)


def joined(base: str, reference: str) -> str:
    """Return the absolute URI of a reference. A base such as `urn:a` has no other files beside it.

    Raises:
        RefusedError: it is not a URI.
    """
    if reference.startswith("#") or not reference:
        return base.partition("#")[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise RefusedError(f"it is not a URI: {error}") from error
