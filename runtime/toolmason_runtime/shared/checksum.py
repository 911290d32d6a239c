"""Verify the checksums of generated files: the toolkit overwrites, and `install` removes, only unedited ones.

One line at a fixed position contains the hash of all other lines, so a duplicate of that line, a conflict marker or a
moved line is detected too. Files that cannot contain a comment are listed in `SHA256SUMS`, which has a checksum itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePosixPath
from types import MappingProxyType

CHECKSUM_FILE = PurePosixPath("SHA256SUMS")
"""Checksums of files that cannot contain a comment, relative to `generated/`, in the format of `sha256sum -c`."""

_HASH_COMMENTS = frozenset({".bash", ".fish", ".py", ".toml", ".txt", ".yaml", ".yml", ".zsh"})
_MARKDOWN = frozenset({".markdown", ".md", ".mdc"})
_MARKDOWN_NAMES = frozenset({"llms.txt"})
_MARK = b"toolmason: sha256 "


class State(StrEnum):
    """Result of verifying a file on disk."""

    VALID = "valid"
    EDITED = "edited"
    UNSIGNED = "unsigned"


Checksums = Mapping[str, frozenset[str]]
"""Path relative to `generated/` -> its hashes; several after a bad merge."""


def is_signable(path: PurePosixPath) -> bool:
    """Return whether files of this kind contain their checksum."""
    return path == CHECKSUM_FILE or path.suffix in _HASH_COMMENTS | _MARKDOWN


def is_markdown(path: PurePosixPath) -> bool:
    """Return whether files of this kind are Markdown."""
    return path.suffix in _MARKDOWN or path.name in _MARKDOWN_NAMES


def verify(path: PurePosixPath, data: bytes, listed: Checksums = MappingProxyType({})) -> State:
    """Compare `data` of the file at `path` with its checksum line or with `listed`. CRLF line ends count as LF."""
    text = with_lf(data)
    if not is_signable(path):
        hashes = listed.get(path.as_posix())
        if hashes is None:
            return State.UNSIGNED
        return State.VALID if sha256(text).hexdigest() in hashes else State.EDITED
    before, line, after = _split_at_checksum(path, text)
    digest = sha256(before + after).hexdigest()[:32]
    if line == checksum_line(path, digest, fenced=bool(after)).encode("ascii"):
        return State.VALID
    return State.EDITED if _MARK in data else State.UNSIGNED


def with_lf(data: bytes) -> bytes:
    """Return `data` with LF line ends. Most files have only these, and the search for one byte takes no time."""
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def renewed(path: PurePosixPath, data: bytes) -> bytes:
    """Return the signed file `data`, which was changed, with its new checksum line. Line ends are LF."""
    before, _, after = _split_at_checksum(path, data)
    digest = sha256(before + after).hexdigest()[:32]
    return before + checksum_line(path, digest, fenced=bool(after)).encode("ascii") + after


def _split_at_checksum(path: PurePosixPath, text: bytes) -> tuple[bytes, bytes, bytes]:
    """Split `text` into the part before the checksum line, that line and the rest."""
    end = front_matter_end(path, text)
    if end is None:
        end = len(text)
    start = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
    return text[:start], text[start:end], text[end:]


def front_matter_end(path: PurePosixPath, text: bytes) -> int | None:
    """Return the offset of the closing `---` of Markdown front matter; None without front matter."""
    if not is_markdown(path) or not text.startswith(b"---\n"):
        return None
    # Start at the newline of the first fence: front matter may be empty.
    offset = text.find(b"\n---\n", 3)
    return None if offset < 0 else offset + 1


def checksum_line(path: PurePosixPath, digest: str, *, fenced: bool) -> str:
    """Return the line with a checksum. `fenced`: it is in the front matter of a Markdown file."""
    mark = _MARK.decode("ascii") + digest
    return f"<!-- {mark} -->\n" if is_markdown(path) and not fenced else f"# {mark}\n"
