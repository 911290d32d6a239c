"""Handlers of the `files` tools, which only read: directories, file contents, names and lines."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Final

from toolmason_runtime import BLOCK_OVERHEAD, Content, Reply, ToolCall, ToolError, fitting_length, size_of, text_budget

from workbench_handlers.files.find import find
from workbench_handlers.files.grep import GrepRequest, grep
from workbench_handlers.files.list import file_info, list_entries, render_names, render_tree
from workbench_handlers.files.media import read_media
from workbench_handlers.files.read import FileSlice, parse_line_range, read_slice
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
    ListDirectoryParams,
    ListDirectoryWithSizesParams,
    ReadFilesParams,
    ReadMediaFileParams,
    SearchFilesParams,
)

BLOCK_SIZE: Final = 450
"""Size reserved for each further file: its first line, or its error."""
MAX_PATH_LENGTH: Final = 160
MAX_UNFINISHED: Final = 5
"""Maximum unfinished files in the first line of a result."""
MAX_SUGGESTIONS: Final = 5
"""Maximum missing paths of one call for which similar names are suggested."""


async def list_allowed_directories(params: ListAllowedDirectoriesParams, call: ToolCall) -> AllowedDirectories:  # noqa: ARG001  the tool takes no arguments
    """List the allowed directories and their source, which is the same for all."""
    roots = await roots_for(call)
    return AllowedDirectories(directories=[str(root.path) for root in roots], source=roots[0].source)


async def read_files(params: ReadFilesParams, call: ToolCall) -> Reply:
    """Read files, one block each. A block can contain an error; if all do, the call failed."""
    roots = await roots_for(call)
    remaining, failed, missing = text_budget(), 0, 0
    blocks: list[str] = []
    unfinished: list[str] = []
    for done, request in enumerate(params.files, 1):
        budget = remaining - BLOCK_SIZE * (len(params.files) - done)
        shown = _shorten(request.path)
        try:
            located = await _locate(request.path, roots, suggest=missing < MAX_SUGGESTIONS)
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
        remaining -= size_of(block) + BLOCK_OVERHEAD
        if len(params.files) > 1:
            await call.progress(done, len(params.files), request.path)
    if unfinished and len(blocks) > 1:
        more = "" if len(unfinished) <= MAX_UNFINISHED else f" and {len(unfinished) - MAX_UNFINISHED} more"
        blocks[0] = f"[to read in another call: {', '.join(unfinished[:MAX_UNFINISHED])}{more}]\n{blocks[0]}"
    return Reply(blocks, is_error=failed == len(blocks))


def _shorten(path: str) -> str:
    return path if size_of(path) <= MAX_PATH_LENGTH else f"...{path[-MAX_PATH_LENGTH // 4 :]}"


def _reason(error: OSError | ToolError) -> str:
    return error.message if isinstance(error, ToolError) else f"cannot read: {error.strerror}"


async def _locate(path: str, roots: tuple[Root, ...], *, suggest: bool = True) -> Located:
    """Locate an existing path, in a thread: a disk may be slow and a directory large."""
    return await asyncio.to_thread(existing, path, roots, suggest=suggest)


async def _read(request: FileReadRequest, located: Located, budget: int, *, passthrough: bool) -> FileSlice:
    line_range = parse_line_range(
        head=request.head,
        tail=request.tail,
        start_line=request.start_line,
        end_line=request.end_line,
        read_to_next_pattern=request.read_to_next_pattern,
    )
    return await read_slice(located, line_range, budget=budget, passthrough=passthrough)


def _block(path: str, part: FileSlice) -> str:
    """Return a slice below a line with its range and, if it was cut, the way to continue.

    Both are in the first line: clients that truncate a result keep the beginning.
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
    """Return an image, audio or other binary file as content."""
    return await asyncio.to_thread(read_media, await _locate(params.path, await roots_for(call)))


async def list_directory_with_sizes(params: ListDirectoryWithSizesParams, call: ToolCall) -> DirectoryListing:
    """List the entries of one directory with sizes."""
    result = await asyncio.to_thread(list_entries, await _top(params.path, await roots_for(call)))
    return DirectoryListing.model_validate(asdict(result))


async def list_directory(params: ListDirectoryParams, call: ToolCall) -> str:
    """List the names in one directory."""
    return render_names(await asyncio.to_thread(list_entries, await _top(params.path, await roots_for(call))))


async def directory_tree(params: DirectoryTreeParams, call: ToolCall) -> str:
    """Return the entries below a directory as an indented tree."""
    top = await _top(params.path, await roots_for(call))
    return await in_thread(lambda scan: render_tree(top, params.max_depth, params.exclude_dirs or [], scan), call)


async def search_files(params: SearchFilesParams, call: ToolCall) -> FoundPaths:
    """Find files and directories by name."""
    top = await _top(params.path, await roots_for(call))
    result = await in_thread(lambda scan: find(top, params.pattern, scan), call)
    return FoundPaths(paths=result.paths, note=result.note or None)


async def get_file_info(params: GetFileInfoParams, call: ToolCall) -> FileInfo:
    """Return the metadata of one file or directory."""
    result = await asyncio.to_thread(file_info, await _locate(params.path, await roots_for(call)))
    return FileInfo.model_validate(asdict(result))


async def grep_content(params: GrepContentParams, call: ToolCall) -> str:
    """Find lines by a regular expression, with context and enclosing sections."""
    roots = await roots_for(call)
    search = GrepRequest(
        pattern=params.pattern,
        ignore_case=bool(params.case_insensitive),
        context=params.context_lines,
        section_patterns=tuple(params.section_patterns or ()),
    )
    return await grep(await _top(params.search_path, roots), search, call.state(Workspace).ripgrep(roots), call)


async def _top(path: str, roots: tuple[Root, ...]) -> Located:
    """Locate the start of a search; `.` is ambiguous with several roots."""
    if path.rstrip("/") == "." and len(roots) > 1:
        paths = ", ".join(f"`{root.path}`" for root in roots)
        raise ToolError(f"`.` is ambiguous with several allowed directories: use one of {paths}")
    return await _locate(path, roots)
