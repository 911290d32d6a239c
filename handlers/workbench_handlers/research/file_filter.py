"""What the Gemini CLI does not hand over of what a prompt refers to, and why: it tells nobody.

The rules are those of version 0.61 (`ReadManyFilesTool`, `processSingleFileContent` and `FileDiscoveryService`).
"""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.decode import sniff_encoding
from workbench_handlers.workspace.ignore import IgnoreCheck
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.roots import Located, Root

MAX_BYTES: Final = 20 * 1024 * 1024
"""Bytes of one file."""
MAX_SVG_BYTES: Final = 1024 * 1024
"""Bytes of a picture that is text."""
MAX_SCANNED: Final = 1_000
"""Files of one folder that are looked at to find one that is handed over; with more there will be one."""

_SAMPLE_BYTES: Final = 512
_LEFT_OUT: Final = ".git .hg .idea .svn .vscode __pycache__ bower_components build coverage dist node_modules"
_FOLDERS: Final = frozenset(_LEFT_OUT.split())
_NAMES: Final = frozenset({".ds_store", ".env"})
_ENDINGS: Final = (
    "7z bin bz2 class dll doc docx dylib exe gz jar odp ods odt pak ppt pptx pyc pyo rar rpa so tar war xls xlsx zip"
)
_PACKED: Final = frozenset(f".{ending}" for ending in _ENDINGS.split())
_BINARY: Final = frozenset({".dat", ".obj", ".o", ".a", ".lib", ".wasm"})
_TEXT: Final = frozenset({".ts", ".mts", ".cts"})
_MEDIA: Final = ("image/", "audio/", "video/", "application/pdf")

NEVER: Final = "it is installed, built, packed or of an editor, or named `.env`"
IGNORED: Final = "it is ignored by .gitignore"
LARGE: Final = "it is larger than 20 MB, or 1 MB as SVG"
BINARY: Final = "it is binary"
UNREADABLE: Final = "it cannot be read"
EMPTY: Final = "it has no file that would be"


@dataclass(slots=True)
class Handing:
    """What the CLI hands over of one project. It looks at the disk, so it blocks.

    `obeys_git` says that its settings let `.gitignore` count, as it does in a repository.
    """

    root: Root
    obeys_git: bool = True
    _ignoring: IgnoreCheck = field(init=False)

    def __post_init__(self) -> None:
        self._ignoring = IgnoreCheck(Located(self.root, (), "."))
        self.obeys_git &= any((each / ".git").exists() for each in (self.root.path, *self.root.path.parents))

    def why_not(self, located: Located, *, is_folder: bool) -> str:
        """Say why a file is not handed over, or no file of a folder; nothing if it is."""
        if not is_folder:
            return self._kept_back(located.parts) or _unfit(located)
        # What is in a folder is left out wherever the folder is.
        return self._kept_back((*located.parts, "any name")) or ("" if self._has_some(located) else EMPTY)

    def _kept_back(self, parts: tuple[str, ...]) -> str:
        *folders, name = (each.lower() for each in parts)
        if not _FOLDERS.isdisjoint(folders) or name in _NAMES or PurePosixPath(name).suffix in _PACKED:
            return NEVER
        try:
            return IGNORED if self.obeys_git and self._ignoring.leaves_out(parts) else ""
        except NotInstalledError:
            return ""

    def _has_some(self, folder: Located) -> bool:
        for number, parts in enumerate(_files(folder)):
            if number == MAX_SCANNED:
                return True
            is_media = (mimetypes.guess_type(parts[-1])[0] or "").startswith(_MEDIA)
            if not is_media and not self._kept_back(parts) and not _unfit(Located(self.root, parts, "")):
                return True
        return False


def _files(folder: Located) -> Iterator[tuple[str, ...]]:
    for place, folders, names in os.walk(folder.path):
        folders[:] = [each for each in folders if each.lower() not in _FOLDERS]
        below = Path(place).relative_to(folder.root.path).parts
        yield from ((*below, name) for name in names)


def _unfit(located: Located) -> str:
    """Say what about a file itself keeps it from being handed over."""
    suffix = PurePosixPath(located.parts[-1]).suffix.lower()
    try:
        status = located.path.stat()
        if not stat.S_ISREG(status.st_mode):
            return UNREADABLE
        if status.st_size > (MAX_SVG_BYTES if suffix == ".svg" else MAX_BYTES):
            return LARGE
        if suffix in _TEXT or (mimetypes.guess_type(located.parts[-1])[0] or "").startswith(_MEDIA):
            return ""
        with open_file(located) as stream:
            return BINARY if suffix in _BINARY or sniff_encoding(stream.read(_SAMPLE_BYTES)) is None else ""
    except (OSError, ToolError):
        return UNREADABLE
