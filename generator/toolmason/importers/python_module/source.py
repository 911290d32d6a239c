"""Run the description of a Python module in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.importers.notes import ImporterError

_TARGET: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*)?", re.ASCII)


def check_target(target: str) -> None:
    """Check the name of a module, perhaps with a server after a colon.

    Raises:
        ImporterError: it is not such a name.
    """
    if not _TARGET.fullmatch(target) or target.endswith(".py"):
        name = Path(target).stem if target.endswith(".py") else "package.module"
        raise ImporterError(f"{quoted(target)} is not the name of a module: write it as in Python, such as `{name}`")


def describe_module(target: str, names: tuple[str, ...], directory: Path, *, timeout_s: float) -> dict[str, Any]:
    """Import a module, which executes its code, and return the description of its functions.

    Raises:
        ImporterError: the module cannot be imported.
    """
    check_target(target)
    # Without -P, Python would look for modules in the working directory first.
    command = [sys.executable, "-P", "-m", "toolmason.importers.python_module.describe", target, str(directory), *names]
    try:
        run = subprocess.run(  # noqa: S603  # our own module
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise ImporterError(f"importing {quoted(target)} took more than {timeout_s:g} seconds") from None
    try:
        described: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        raise ImporterError(f"{quoted(target)} ended the process while it was imported") from None
    if error := described.get("error"):
        raise ImporterError(f"{target}: {error}")
    return described
