"""The `files` tools: looking at folders, reading files, finding names and lines. They change nothing."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Final

from toolmason_runtime import BLOCK_OVERHEAD, Content, Reply, ToolCall, ToolError, fitting_length, size_of, text_budget

from workbench_handlers.files.find import find
from workbench_handlers.files.grep import Search, grep
from workbench_handlers.files.list import info, listing, tree
from workbench_handlers.files.media import media
from workbench_handlers.files.read import Part, read_part, span
from workbench_handlers.state import Workspace, roots_for
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.roots import Located, Root
from workbench_handlers.workspace.scan import in_thread
from workbench_server.files.models import (
    AllowedDirectories,
    DirectoryListing,
    DirectoryTreeParams,
    FileInfo,
    FileReadRequest,
    FoundPaths,
    GetFileInfoParams,
    GrepContentParams,
    ListAllowedDirectoriesParams,
    ListDirectoryWithSizesParams,
    ReadFilesParams,
    ReadMediaFileParams,
    SearchFilesParams,
)

BLOCK_SIZE: Final = 450
"""Size kept free for each file that is still to be read: its first line, or the reason why it cannot be read."""
MAX_SHOWN_PATH: Final = 160
MAX_UNFINISHED: Final = 5
"""Files named in the first line of an answer that has no room for all of them."""
MAX_SUGGESTIONS: Final = 5
"""Missing paths of one call for which similar names are looked for."""


async def list_allowed_directories(params: ListAllowedDirectoriesParams, call: ToolCall) -> AllowedDirectories:  # noqa: ARG001  the tool takes no arguments
    """List the folders that may be read, and who allowed them: all come from one source."""
    roots = await roots_for(call)
    return AllowedDirectories(directories=[str(root.path) for root in roots], source=roots[0].source)


async def read_files(params: ReadFilesParams, call: ToolCall) -> Reply:
    """Read files, one block each. One that cannot be read says why in its block; if none can, the call failed."""
    roots = await roots_for(call)
    left, failed, missing = text_budget(), 0, 0
    blocks: list[str] = []
    unfinished: list[str] = []
    for done, request in enumerate(params.files, 1):
        budget = left - BLOCK_SIZE * (len(params.files) - done)
        shown = _shortened(request.path)
        try:
            located = await _there(request.path, roots, suggest=missing < MAX_SUGGESTIONS)
            part = await _read(request, located, budget - BLOCK_SIZE, passthrough=bool(params.large_file_passthrough))
            block = _block(shown, part)
            if part.resume:
                unfinished.append(f"{shown} from start_line={part.resume}")
        except (OSError, ToolError) as error:
            failed += 1
            missing += isinstance(error, ToolError) and error.code == "NOT_FOUND"
            block = f"==> {shown} <==\nerror: {_reason(error)}"
            block = block[: fitting_length(block, max(budget, BLOCK_SIZE) - BLOCK_OVERHEAD)]
        blocks.append(block)
        left -= size_of(block) + BLOCK_OVERHEAD
        if len(params.files) > 1:
            await call.progress(done, len(params.files), request.path)
    if unfinished and len(blocks) > 1:
        more = "" if len(unfinished) <= MAX_UNFINISHED else f" and {len(unfinished) - MAX_UNFINISHED} more"
        blocks[0] = f"[to read in another call: {', '.join(unfinished[:MAX_UNFINISHED])}{more}]\n{blocks[0]}"
    return Reply(blocks, is_error=failed == len(blocks))


def _shortened(path: str) -> str:
    return path if size_of(path) <= MAX_SHOWN_PATH else f"...{path[-MAX_SHOWN_PATH // 4 :]}"


def _reason(error: OSError | ToolError) -> str:
    return error.message if isinstance(error, ToolError) else f"cannot read: {error.strerror}"


async def _there(path: str, roots: tuple[Root, ...], *, suggest: bool = True) -> Located:
    """Give the place of what exists, looked for in a thread, since a disk may be slow and a folder large."""
    return await asyncio.to_thread(existing, path, roots, suggest=suggest)


async def _read(request: FileReadRequest, located: Located, budget: int, *, passthrough: bool) -> Part:
    wanted = span(
        head=request.head,
        tail=request.tail,
        start_line=request.start_line,
        end_line=request.end_line,
        read_to_next_pattern=request.read_to_next_pattern,
    )
    return await read_part(located, wanted, budget=budget, passthrough=passthrough)


def _block(path: str, part: Part) -> str:
    """Return a part below a line with its range and, if something was left out, the way to continue.

    Both are in the first line, since that is the one that a client which cuts an answer leaves.
    """
    if part.total == 0:
        where = "empty"
    elif part.last is None:
        where = f"last lines of {part.total or 'very many'}" if part.text else f"{part.total or 'very many'} lines"
    elif part.total is None:
        where = f"lines {part.first}-{part.last}"
    else:
        where = f"lines {part.first}-{part.last} of {part.total}"
    return f"==> {path} ({'; '.join([where, *filter(None, [part.encoding]), *part.notes])}) <==\n{part.text}"


async def read_media_file(params: ReadMediaFileParams, call: ToolCall) -> Content:
    """Give a picture, a sound or another binary file as content."""
    return await asyncio.to_thread(media, await _there(params.path, await roots_for(call)))


async def list_directory_with_sizes(params: ListDirectoryWithSizesParams, call: ToolCall) -> DirectoryListing:
    """List one folder with the sizes of its files."""
    found = await asyncio.to_thread(listing, await _top(params.path, await roots_for(call)))
    return DirectoryListing.model_validate(asdict(found))


async def directory_tree(params: DirectoryTreeParams, call: ToolCall) -> str:
    """Print the folders and files below a folder as an indented tree."""
    top = await _top(params.path, await roots_for(call))
    return await in_thread(lambda scan: tree(top, params.max_depth, params.exclude_dirs or [], scan), call)


async def search_files(params: SearchFilesParams, call: ToolCall) -> FoundPaths:
    """Find files and folders by name."""
    top = await _top(params.path, await roots_for(call))
    found = await in_thread(lambda scan: find(top, params.pattern, scan), call)
    return FoundPaths(paths=found.paths, note=found.note or None)


async def get_file_info(params: GetFileInfoParams, call: ToolCall) -> FileInfo:
    """Say what is known of one file or folder."""
    found = await asyncio.to_thread(info, await _there(params.path, await roots_for(call)))
    return FileInfo.model_validate(asdict(found))


async def grep_content(params: GrepContentParams, call: ToolCall) -> str:
    """Find lines by a regular expression, with context and the sections they stand in."""
    roots = await roots_for(call)
    search = Search(
        pattern=params.pattern,
        ignore_case=bool(params.case_insensitive),
        context=params.context_lines,
        section_patterns=tuple(params.section_patterns or ()),
    )
    return await grep(await _top(params.search_path, roots), search, call.state(Workspace).ripgrep(roots), call)


async def _top(path: str, roots: tuple[Root, ...]) -> Located:
    """Give the place to start from; `.` is a clear one only where there is a single root."""
    if path.rstrip("/") == "." and len(roots) > 1:
        paths = ", ".join(f"`{root.path}`" for root in roots)
        raise ToolError(f"there are several allowed directories: give one of {paths} as the path to start from")
    return await _there(path, roots)
