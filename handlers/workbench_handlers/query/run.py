"""jq programs over JSON and YAML files, run in a child process without environment, files or endless time."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from toolmason_runtime import ToolError, fitting_length, size_of, text_budget

from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.worker import WorkerError, worker

MAX_QUERIED_BYTES: Final = 64_000_000
"""Largest file that is queried: jq needs about ten times as much memory."""


async def query(located: Located, program: str, kind: Literal["json", "yaml"], seconds: int) -> str:
    """Run `program` over a file; give its results as JSON, one a line.

    Raises:
        ToolError: the file is too large or not what `kind` says, or the program is wrong or takes too long.
    """
    if "\0" in program:
        raise ToolError("the expression holds a NUL character", code="INVALID_ARGUMENT")
    text = await asyncio.to_thread(_text, located)
    modules = ["jq"] if kind == "json" else ["jq", "yaml"]
    setup = {"work": "query", "format": kind}
    request = {**setup, "program": program.strip() or ".", "text": text, "most": text_budget()}
    try:
        async with worker(setup, seconds=seconds, modules=modules) as ask:
            reply = await ask(request)
    except WorkerError as error:
        raise ToolError(_explained(error, located, seconds), code=error.code) from None
    return _rendered(reply["results"], is_cut=reply["cut"])


def _text(located: Located) -> str:
    with open_file(located) as stream:
        data = stream.read(MAX_QUERIED_BYTES + 1)
    if len(data) > MAX_QUERIED_BYTES:
        message = f"`{located.shown}` is larger than {MAX_QUERIED_BYTES:,} bytes: read a part of it with read_files"
        raise ToolError(message, code="TOO_LARGE")
    text = decode(data)
    if text is None:
        raise ToolError(f"`{located.shown}` is a binary file", code="BINARY_FILE")
    return text.removeprefix("\ufeff")


def _explained(error: WorkerError, located: Located, seconds: int) -> str:
    """Say what to do about a query that failed."""
    if error.code == "TIMEOUT":
        return f"the query of `{located.shown}` did not end within {seconds} seconds: simplify it, or raise `timeout`"
    if error.code == "LIMIT_EXCEEDED":
        return f"the query of `{located.shown}` needed more memory or time than allowed: select less, sooner"
    if "parse error" in error.message and "compile error" not in error.message:
        return f"`{located.shown}` is no valid JSON: {error.message}"
    if error.message == "break":
        return "`input` and `inputs` have nothing to read here: the expression runs once for each document, as `.`"
    return f"the query of `{located.shown}` failed: {error.message}"


def _rendered(results: list[str], *, is_cut: bool) -> str:
    """Return results, one a line; where some are left out, the first line says so and how to get them."""
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
    advice = "narrow the expression, or take a part: `.[0:20]`, `first(...)`, `keys`, `length`"
    if fitting:
        return f"[the first {fitting} results, there are more; {advice}]\n" + "\n".join(results[:fitting])
    length = fitting_length(results[0], text_budget())
    return f"[cut: the first {length:,} characters of the first result; {advice}]\n{results[0][:length]}"
