"""Run in the interpreter with fs-mcp: apply each edit of a file of cases with fs-mcp's own function.

Its loop waits a second until the user saves the proposed file. Here the wait itself saves it, unchanged.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fs_mcp import edit_tool  # type: ignore[import-not-found]

GIVEN = Path(sys.argv[1])
FILE = GIVEN.with_name("file.txt")


async def _save(_seconds: float) -> None:
    for proposed in GIVEN.parent.glob("mcp_review_*/future_*"):
        os.utime(proposed, (time.time() + 5, time.time() + 5))


def _edit(data: bytes, arguments: dict[str, Any]) -> bytes | None:
    FILE.write_bytes(data)
    edit = {"new_string": "", **arguments}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            asyncio.run(edit_tool.propose_and_review_logic(Path, False, str(FILE), **edit))
    except Exception:  # noqa: BLE001  refused, for any reason; the file must be unchanged
        return None if FILE.read_bytes() == data else FILE.read_bytes()
    return FILE.read_bytes()


edit_tool.asyncio = SimpleNamespace(sleep=_save)
with GIVEN.open(encoding="utf-8") as cases, GIVEN.with_name("results.jsonl").open("w", encoding="utf-8") as results:
    for line in cases:
        changed = _edit(base64.b64decode(json.loads(line)[0]), json.loads(line)[1])
        for left in GIVEN.parent.glob("mcp_review_*"):  # by an edit that failed
            shutil.rmtree(left)
        results.write(json.dumps(None if changed is None else base64.b64encode(changed).decode("ascii")) + "\n")
