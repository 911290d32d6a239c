"""Reduce an answer with the jq program of its tool, in a child process with limits of time and memory."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from toolmason_runtime.programs.execute import Command, Environ, local, run
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.shared.errors import ToolError

TIMEOUT_S: Final = 10.0
MEMORY_MB: Final = 1024
MAX_RESULT_BYTES: Final = 16 * 1024 * 1024
_SCRIPT: Final = Path(__file__).with_name("select_main.py")


async def select(program: str, document: bytes) -> bytes:
    """Return the results of a jq program on a JSON text in UTF-8, each on a line of JSON.

    Raises:
        ToolError: jq is not installed, the program fails, or it exceeds a limit.
    """
    spec = find_spec("jq")
    if spec is None or spec.origin is None:
        raise ToolError("the package `jq` is not installed. Run `pip install 'toolmason[jq]'`", code="NOT_INSTALLED")
    arguments = ("-I", "-S", "-X", "utf8", str(_SCRIPT), str(Path(spec.origin).parent), program)
    invocation = Invocation(argv=(sys.executable, *arguments), timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB)

    def with_input(invocation: Invocation, environ: Environ) -> Command:
        return replace(local(invocation, environ), stdin=document)

    outcome = await run(invocation, executor=with_input, max_output_bytes=MAX_RESULT_BYTES)
    try:
        if outcome.exit_code == 0:
            return b"".join(text.encode() for text in outcome.stdout.texts())
        reason = "".join(outcome.stderr.texts()).strip().splitlines()[-1:] if outcome.exit_code else []
        problem = reason[0][:200] if reason else f"it exceeds {TIMEOUT_S:g} s, {MEMORY_MB} MB or its output limit"
        raise ToolError(f"The answer could not be reduced with `select`: {problem}", code="SELECT_FAILED")
    finally:
        outcome.close()
