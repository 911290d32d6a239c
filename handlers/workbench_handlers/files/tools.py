"""Handlers of the `files` tools, which only read: directories, file contents, names and lines.

A module that only one of them needs is imported at its first call.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Final

from toolmason_runtime import Content, Reply, ToolCall, ToolError

from workbench_handlers.first_call import first_call
from workbench_handlers.state import Workspace, roots_for
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.roots import Located, Root
from workbench_handlers.workspace.scan import in_thread
from workbench_server.files.models import (
    AllowedDirectories,
    DirectoryListing,
    DirectoryTreeParams,
    FileInfo,
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

_PACKAGE: Final = "workbench_handlers.files"


async def list_allowed_directories(params: ListAllowedDirectoriesParams, call: ToolCall) -> AllowedDirectories:  # noqa: ARG001  the tool takes no arguments
    """List the allowed directories and their source, which is the same for all."""
    roots = await roots_for(call)
    return AllowedDirectories(directories=[str(root.path) for root in roots], source=roots[0].source)


@first_call(imports=f"{_PACKAGE}.blocks")
async def read_files(params: ReadFilesParams, call: ToolCall) -> Reply:
    """Read files, one block each. A block can contain an error; if all do, the call failed."""
    from workbench_handlers.files.blocks import FileBlocks

    reading = FileBlocks(params.files, await roots_for(call), passthrough=bool(params.large_file_passthrough))
    while not reading.is_complete:
        await reading.read_more()
        if len(params.files) > 1:
            done = len(reading.blocks)
            await call.progress(done, len(params.files), params.files[done - 1].path)
    return Reply(reading.texts(), is_error=reading.failed == len(reading.blocks))


async def _locate(path: str, roots: tuple[Root, ...]) -> Located:
    """Locate an existing path, in a thread: a disk may be slow and a directory large."""
    return await asyncio.to_thread(existing, path, roots)


@first_call(imports=f"{_PACKAGE}.media")
async def read_media_file(params: ReadMediaFileParams, call: ToolCall) -> Content:
    """Return an image, audio or other binary file as content."""
    from workbench_handlers.files.media import read_media

    return await asyncio.to_thread(read_media, await _locate(params.path, await roots_for(call)))


@first_call(imports=f"{_PACKAGE}.list")
async def list_directory_with_sizes(params: ListDirectoryWithSizesParams, call: ToolCall) -> DirectoryListing:
    """List the entries of one directory with sizes."""
    from workbench_handlers.files.list import list_entries

    result = await asyncio.to_thread(list_entries, await _top(params.path, await roots_for(call)))
    return DirectoryListing.model_validate(asdict(result))


@first_call(imports=f"{_PACKAGE}.list")
async def list_directory(params: ListDirectoryParams, call: ToolCall) -> str:
    """List the names in one directory."""
    from workbench_handlers.files.list import list_entries, render_names

    return render_names(await asyncio.to_thread(list_entries, await _top(params.path, await roots_for(call))))


@first_call(imports=f"{_PACKAGE}.list")
async def directory_tree(params: DirectoryTreeParams, call: ToolCall) -> str:
    """Return the entries below a directory as an indented tree."""
    from workbench_handlers.files.list import render_tree

    top = await _top(params.path, await roots_for(call))
    return await in_thread(lambda scan: render_tree(top, params.max_depth, params.exclude_dirs or [], scan), call)


@first_call(imports=f"{_PACKAGE}.find")
async def search_files(params: SearchFilesParams, call: ToolCall) -> FoundPaths:
    """Find files and directories by name."""
    from workbench_handlers.files.find import find

    top = await _top(params.path, await roots_for(call))
    result = await in_thread(lambda scan: find(top, params.pattern, scan), call)
    return FoundPaths(paths=result.paths, note=result.note or None)


@first_call(imports=f"{_PACKAGE}.list")
async def get_file_info(params: GetFileInfoParams, call: ToolCall) -> FileInfo:
    """Return the metadata of one file or directory."""
    from workbench_handlers.files.list import file_info

    result = await asyncio.to_thread(file_info, await _locate(params.path, await roots_for(call)))
    return FileInfo.model_validate(asdict(result))


@first_call(imports=f"{_PACKAGE}.grep", starts_programs=True)
async def grep_content(params: GrepContentParams, call: ToolCall) -> str:
    """Find lines by a regular expression, with context and enclosing sections."""
    from workbench_handlers.files.grep import GrepRequest, grep

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
