"""Run jq programs on JSON and YAML files, in a child process without environment and files and with a timeout."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from toolmason_runtime import ToolError, fitting_length, size_of, text_budget

from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.worker import WorkerError, start_child

MAX_QUERY_BYTES: Final = 64_000_000
"""Maximum bytes of a file; jq needs about ten times as much memory."""


async def query(located: Located, program: str, kind: Literal["json", "yaml"], seconds: int) -> str:
    """Run `program` on a file; return its results as JSON, one per line.

    Raises:
        ToolError: the file is too large or not of this `kind`, or the program is invalid or exceeds a limit.
    """
    if "\0" in program:
        raise ToolError("the expression contains NUL", code="INVALID_ARGUMENT")
    text = await asyncio.to_thread(_text, located)
    modules = ["jq"] if kind == "json" else ["jq", "yaml"]
    setup = {"work": "query", "format": kind}
    request = {**setup, "program": program.strip() or ".", "text": text, "most": text_budget()}
    try:
        async with start_child(setup, seconds=seconds, modules=modules) as ask:
            reply = await ask(request)
    except WorkerError as error:
        raise ToolError(_explain(error, located, seconds), code=error.code) from None
    return _render(reply["results"], is_cut=reply["cut"])


def _text(located: Located) -> str:
    with open_file(located) as stream:
        data = stream.read(MAX_QUERY_BYTES + 1)
    if len(data) > MAX_QUERY_BYTES:
        message = f"`{located.shown}` exceeds the limit of {MAX_QUERY_BYTES:,} bytes: read a part of it with read_files"
        raise ToolError(message, code="TOO_LARGE")
    text = decode(data)
    if text is None:
        raise ToolError(f"`{located.shown}` is a binary file", code="BINARY_FILE")
    return text.removeprefix("\ufeff")


def _explain(error: WorkerError, located: Located, seconds: int) -> str:
    """Return the message of a failed query, with a fix."""
    if error.code == "TIMEOUT":
        return f"the query of `{located.shown}` timed out after {seconds} seconds: simplify it, or increase `timeout`"
    if error.code == "LIMIT_EXCEEDED":
        return f"the query of `{located.shown}` exceeded its memory or time limit: filter earlier in the expression"
    if "parse error" in error.message and "compile error" not in error.message:
        return f"`{located.shown}` is not valid JSON: {error.message}"
    if error.message == "break":
        return "`input` and `inputs` are always empty: the expression runs once for each document, which is `.`"
    return f"the query of `{located.shown}` failed: {error.message}"


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
