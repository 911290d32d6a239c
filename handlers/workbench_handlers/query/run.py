"""Run jq programs on JSON, YAML and TOML files, in a child process without environment and files and with a timeout."""

from __future__ import annotations

import asyncio
import io
from contextlib import ExitStack
from typing import BinaryIO, Final, Literal

from toolmason_runtime import ToolError, fitting_length, size_of, text_budget

from workbench_handlers.workspace.decode import SAMPLE_BYTES, configured_codec, sniff_encoding
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.worker import WorkerError, start_child

MAX_BYTES: Final = {"json": 500_000_000, "yaml": 64_000_000, "toml": 16_000_000}
"""Maximum bytes of a file. A value that jq parses needs about ten times as much memory."""
MODULES: Final = {"json": ["jq", "msgspec"], "yaml": ["jq", "yaml"], "toml": ["jq"]}
"""Packages that the child process imports."""
LARGE_BYTES: Final = 8_000_000
"""Bytes of a JSON file above which jq gets only the values at the first path of the expression, to save memory."""


async def query(located: Located, program: str, kind: Literal["json", "yaml", "toml"], seconds: int) -> str:
    """Run `program` on a file; return its results as JSON, one per line.

    Raises:
        ToolError: the file is too large or not of this `kind`, or the program is invalid or exceeds a limit.
    """
    if "\0" in program:
        raise ToolError("the expression contains NUL", code="INVALID_ARGUMENT")
    modules = MODULES[kind]
    with ExitStack() as stack:
        stream = await asyncio.to_thread(stack.enter_context, open_file(located))
        codec, size = await asyncio.to_thread(_inspect, stream, located, MAX_BYTES[kind])
        is_large = kind == "json" and size > LARGE_BYTES
        setup = {"work": "query", "format": kind, "codec": codec, "is_large": is_large}
        request = {**setup, "program": program.strip() or ".", "most": text_budget()}
        try:
            async with start_child(setup, seconds=seconds, modules=modules) as ask:
                reply = await ask(request, stream)
        except WorkerError as error:
            raise ToolError(_explain(error, located, seconds, size), code=error.code) from None
    return _render(reply["results"], is_cut=reply["cut"])


def _inspect(stream: BinaryIO, located: Located, most: int) -> tuple[str, int]:
    """Return the codec of a file and its size.

    Raises:
        ToolError: it is binary, or larger than `most` bytes.
    """
    encoding = sniff_encoding(stream.read(SAMPLE_BYTES), charset=lambda: configured_codec(located))
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    if encoding is None:
        raise ToolError(f"`{located.shown}` is a binary file", code="BINARY_FILE")
    if size > most:
        message = f"`{located.shown}` exceeds the limit of {most:,} bytes: read a part of it with read_files"
        raise ToolError(message, code="TOO_LARGE")
    return encoding.codec, size


def _explain(error: WorkerError, located: Located, seconds: int, size: int) -> str:
    """Return the message of a failed query, with a fix."""
    if error.code == "TIMEOUT":
        return f"the query of `{located.shown}` timed out after {seconds} seconds: simplify it, or increase `timeout`"
    if error.code == "LIMIT_EXCEEDED":
        return f"the query of `{located.shown}` exceeded its memory or time limit: {_advice(size)}"
    if "parse error" in error.message and "compile error" not in error.message:
        return f"`{located.shown}` is not valid JSON: {error.message}"
    if error.message == "break":
        return "`input` and `inputs` are always empty: the expression runs once for each document, which is `.`"
    return f"the query of `{located.shown}` failed: {error.message}"


def _advice(size: int) -> str:
    if size <= LARGE_BYTES:
        return "filter earlier in the expression"
    paths = "`keys`, `length`, `.users | length`, `.users[0:20]`, `.users[] | select(.id == 7)`"
    return f"the file has {size:,} bytes; begin the expression with a path to smaller values, such as {paths}"


def _render(results: list[str], *, is_cut: bool) -> str:
    """Return results, one per line; if some are omitted, the first line explains how to get them."""
    if not results:
        return "[no results]"
    budget = text_budget()
    fitting = 0
    for result in results:
        budget -= size_of(f"{result}\n")
        if budget < 0:
            break
        fitting += 1
    if fitting == len(results) and not is_cut:
        return "\n".join(results)
    advice = "narrow the expression, or select a part: `.[0:20]`, `first(...)`, `keys`, `length`"
    if fitting:
        return f"[the first {fitting} results, more exist; {advice}]\n" + "\n".join(results[:fitting])
    length = fitting_length(results[0], text_budget())
    return f"[cut: the first {length:,} characters of the first result; {advice}]\n{results[0][:length]}"
