"""Answer `skills/list`, `skills/get` and `resources/directory/read`, and read the files of skills (SEP-2640).

The skills are those of the workflows, as they were generated. The files are listed at each request, so that a digest is
always that of the file on disk. URIs are looked up among the listed files; no path is made from a URI.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.calls.call import Context
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError
from toolmason_runtime.shared.selection import Selection, visible_tools
from toolmason_runtime.wire.paging import page_of
from toolmason_runtime.wire.requests import SKILL_SCHEME

DIRECTORY: Final = "inode/directory"
"""The type of a directory."""
MAX_FILES: Final = 512
"""Maximum files of a skill (SEP-2640)."""
MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of all files of a skill (SEP-2640)."""
_MAIN: Final = "SKILL.md"
_FRONT_MATTER: Final = re.compile(r"---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_LINE: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):[ \t]++(.+)")
_PLAIN: Final = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[^\W\d_][^:#]*", re.IGNORECASE)
"""A scalar without quotes that is a string in YAML."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Skill:
    uri: str
    front_matter: Mapping[str, Any]
    files: Mapping[str, Path]
    """The files by their URIs, `SKILL.md` first."""


def served_skills(catalogue: Catalogue, selection: Selection) -> list[str]:
    """Return the names of the skills whose tools are all served."""
    visible = visible_tools(catalogue, selection)
    return [name for name, tools in catalogue.get("skills", {}).items() if all(tool in visible for tool in tools)]


class Skills:
    """The skills of one server, by their names."""

    def __init__(self, catalogue: Catalogue, names: list[str]) -> None:
        self._server = catalogue["server"]
        self._names = names
        self._refused: set[str] = set()
        """The skills whose problem has already been logged."""

    async def list(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002  a method
        """Answer `skills/list`."""
        entries = await _in_thread(lambda: [_entry(skill) for skill in self._skills()])
        return page_of("skills", entries, params.get("cursor"), self._server["page_size"])

    async def get(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002
        """Answer `skills/get`.

        Raises:
            MethodError: the URI is not that of a skill.
        """
        uri = params.get("uri")
        entry = await _in_thread(lambda: next((_entry(skill) for skill in self._skills() if skill.uri == uri), None))
        if entry is None:
            raise MethodError(INVALID_PARAMS, "No skill has this URI; `skills/list` returns all", {"uri": uri})
        return {"skill": entry}

    async def read_directory(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002
        """Answer `resources/directory/read`.

        Raises:
            MethodError: the URI is not that of a directory of a skill.
        """
        uri = params.get("uri")
        children = await _in_thread(lambda: _children(uri, self._skills()))
        if not children:
            raise MethodError(INVALID_PARAMS, "Not a directory of a skill", {"uri": uri})
        return page_of("resources", children, params.get("cursor"), self._server["page_size"])

    async def read(self, uri: Any) -> tuple[str, bytes] | None:
        """Return the type and the content of a file; None if no skill contains it."""
        found: tuple[str, bytes] | None = await _in_thread(lambda: self._read(uri))
        return found

    def _read(self, uri: Any) -> tuple[str, bytes] | None:
        for skill in self._skills():
            if isinstance(uri, str) and (path := skill.files.get(uri)) is not None:
                return _mime_type(path), path.read_bytes()
        return None

    def _skills(self) -> Iterator[_Skill]:
        from toolmason_runtime.server.package_files import server_files

        directory = server_files(self._server["package"]) / "skills"
        for name in self._names:
            skill = _load(directory / name)
            if isinstance(skill, _Skill):
                yield skill
            elif name not in self._refused:
                self._refused.add(name)
                _log.warning("skill %s is not served: %s", name, skill)


async def _in_thread(work: Any) -> Any:
    import anyio.to_thread

    return await anyio.to_thread.run_sync(work)


def _load(directory: Path) -> _Skill | str:
    """Return the skill in a directory, or the reason why it is omitted."""
    from urllib.parse import quote

    root = f"{SKILL_SCHEME}{quote(directory.name)}"
    paths = sorted(_files(directory), key=lambda path: (path != directory / _MAIN, path))
    if not paths or paths[0] != directory / _MAIN:
        return f"{directory / _MAIN} is missing"
    if len(paths) > MAX_FILES or sum(path.stat().st_size for path in paths) > MAX_BYTES:
        return f"it has more than {MAX_FILES} files or {MAX_BYTES:,} bytes"
    front_matter = parse_front_matter(paths[0].read_bytes())
    if front_matter is None or front_matter.get("name") != directory.name or not front_matter.get("description"):
        return f"the front matter of {paths[0]} needs lines `name: {directory.name}` and `description: ...`"
    files = {f"{root}/{quote(path.relative_to(directory).as_posix())}": path for path in paths}
    return _Skill(f"{root}/{_MAIN}", front_matter, files)


def _files(directory: Path) -> Iterator[Path]:
    """Yield the regular files of a directory and its subdirectories, without symbolic links."""
    for parent, _, names in os.walk(directory):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def parse_front_matter(data: bytes) -> dict[str, str] | None:
    """Return the lines `key: value` at the beginning of a skill; None for all other forms of YAML."""
    try:
        found = _FRONT_MATTER.match(data.decode())
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    values: dict[str, str] = {}
    for line in found[1].splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pair = _LINE.fullmatch(line.rstrip())
        value = None if pair is None else _scalar(pair[2])
        if pair is None or value is None or pair[1] in values:
            return None
        values[pair[1]] = value
    return values


def _scalar(text: str) -> str | None:
    """Return the string that a scalar of YAML denotes; None for other values."""
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except ValueError:
            return None
        return value if isinstance(value, str) else None
    if text.startswith("'"):
        inner = text[1:-1]
        return inner.replace("''", "'") if re.fullmatch(r"'(?:[^']|'')*'", text) else None
    return text if _PLAIN.fullmatch(text) else None


def _entry(skill: _Skill) -> dict[str, Any]:
    import hashlib

    return {
        "uri": skill.uri,
        "frontmatter": dict(skill.front_matter),
        "resources": [
            {"uri": uri, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}
            for uri, path in skill.files.items()
            for data in [path.read_bytes()]
        ],
    }


def _children(uri: Any, skills: Iterator[_Skill]) -> list[dict[str, Any]]:
    """Return the files and directories in a directory, as resources; empty if it does not exist."""
    if not isinstance(uri, str) or not uri.startswith(SKILL_SCHEME) or uri.endswith("/"):
        return []
    children: dict[str, dict[str, Any]] = {}
    for skill in skills:
        for file, path in skill.files.items():
            if not file.startswith(f"{uri}/"):
                continue
            first, _, rest = file[len(uri) + 1 :].partition("/")
            child = f"{uri}/{first}"
            name = path.name if not rest else path.parents[rest.count("/")].name
            about = {"mimeType": DIRECTORY} if rest else {"mimeType": _mime_type(path), "size": path.stat().st_size}
            children[child] = {"uri": child, "name": name, **about}
            if file == skill.uri:
                children[child] |= {key: skill.front_matter[key] for key in ("name", "description")}
    return [*children.values()]


def _mime_type(path: Path) -> str:
    """Return the type of a file by its name."""
    if path.suffix == ".md":
        return "text/markdown"
    import mimetypes

    return mimetypes.guess_type(path.name)[0] or "text/plain"
