"""Files that an edit of a tool does not change, such as those of other categories, are taken from `generated/`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from toolmason_runtime.shared.checksum import with_lf

from toolmason.incremental.server import KeptServer
from toolmason.manifest.input_files import read_input
from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Category, Server
from toolmason.render.plan import plan
from toolmason.write.snapshot import MAX_FILE_BYTES, disk_state

CATEGORY_TEMPLATES: Final = frozenset(
    {
        *("docs/category.md.jinja", "python/bindings.py.jinja", "python/category.py.jinja"),
        *("python/contract.py.jinja", "python/models.py.jinja", "tool_commands/category.py.jinja"),
    }
)
"""Templates whose output depends only on one category with its tools, and on the server without tools."""

SERVER_TEMPLATES: Final = frozenset(
    {
        *("python/asgi.py.jinja", "python/catalogue.py.jinja", "python/init.py.jinja", "python/main.py.jinja"),
        *("python/options.py.jinja", "python/server.py.jinja", "schemas/manifest.schema.json.jinja"),
    }
)
"""Templates whose output depends on no value that affects only one tool."""


def kept_files(server: Server, kept: KeptServer, generated: Path) -> dict[PurePosixPath, RenderedFile]:
    """Return the files that the edits do not change and that `generated` has as an earlier run wrote them."""
    found = {}
    kept.file_keys = tuple(_keys(server, kept))
    for path, key in kept.file_keys:
        if (digest := kept.store.get(key)) is None:
            continue
        with suppress(OSError, ValueError):
            state = disk_state(generated / path)
            data = with_lf(read_input(generated / path, generated, max_bytes=MAX_FILE_BYTES))
            if sha256(data).hexdigest() == digest:
                found[path] = RenderedFile(path, data.decode(), state)
    return found


def keep_files(server: Server, kept: KeptServer, files: Iterable[RenderedFile]) -> None:
    """Store the hashes of the files that `kept_files` may return."""
    texts: Mapping[PurePosixPath, str] = {file.path: file.text for file in files}
    for path, key in kept.file_keys or _keys(server, kept):
        if path in texts and not kept.store.use(key):
            kept.store[key] = sha256(texts[path].encode()).hexdigest()


def _keys(server: Server, kept: KeptServer) -> Iterator[tuple[PurePosixPath, str]]:
    keys: dict[str, str] = {}
    for planned in plan(server):
        category = planned.subject.get("category")
        if planned.template in CATEGORY_TEMPLATES and isinstance(category, Category):
            if category.name not in keys:
                keys[category.name] = kept.category_key(category)
            yield planned.path, f"file {planned.path} {keys[category.name]}"
        elif planned.template in SERVER_TEMPLATES and not planned.subject:
            yield planned.path, f"file {planned.path} {kept.key}"
