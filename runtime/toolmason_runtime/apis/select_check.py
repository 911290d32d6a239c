"""Compile jq programs in the child process that runs them, with limits of time and memory: for the toolkit."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from toolmason_runtime.apis.select import MEMORY_MB, TIMEOUT_S

_PROGRAM_S: Final = 0.1
"""Seconds for each program besides `TIMEOUT_S`: about ten times the time that a large one needs."""
_SCRIPT: Final = Path(__file__).with_name("select_main.py")


class UnfinishedProgramError(Exception):
    """The compiler exceeded a limit with the program after those with `errors`."""

    def __init__(self, reason: str, errors: tuple[str, ...]) -> None:
        super().__init__(reason)
        self.errors = errors


def is_installed() -> bool:
    """Return whether the package `jq` is installed. Without it a call reports the missing package."""
    return _directory() is not None


def compile_errors(programs: Sequence[str]) -> tuple[str, ...]:
    """Return the error of each program, empty for a valid one. One child process compiles all of them.

    Raises:
        UnfinishedProgramError: a program exceeds the time or the memory.
        OSError: the process cannot be started.
    """
    directory = _directory()
    if not programs or directory is None:
        return ("",) * len(programs)
    timeout_s = TIMEOUT_S + _PROGRAM_S * len(programs)
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(_SCRIPT), str(directory)]
    request = {"programs": list(programs), "memory_bytes": MEMORY_MB << 20, "cpu_s": math.ceil(timeout_s)}
    reason = f"it is nested too deep, or needs more than {MEMORY_MB} MB"
    with subprocess.Popen(  # noqa: S603  our own interpreter and code
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
    ) as process:
        try:
            output, _ = process.communicate(json.dumps(request).encode("ascii"), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            reason = f"it takes more than {timeout_s:g} s"
            process.kill()
            output, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    errors = tuple(_parse_lines(output))
    if len(errors) < len(programs):
        raise UnfinishedProgramError(reason, errors)
    return errors


def _parse_lines(output: bytes) -> list[str]:
    lines: list[str] = []
    for line in output.splitlines():
        with suppress(ValueError):  # the last line of a killed process
            lines.append(json.loads(line))
    return lines


def _directory() -> Path | None:
    spec = find_spec("jq")
    return Path(spec.origin).parent if spec and spec.origin else None


def _environment() -> dict[str, str]:
    return {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if os.name == "nt" else {}
