"""A program whose output goes to a file."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from toolmason_runtime.programs.launcher_client import Execution
from toolmason_runtime.programs.output_buffer import Capture

from workbench_handlers.model_backends.output import Filed

WRITER = "import os, sys; open('file', 'w').close(); os.mkdir('folder'); sys.stdout.write('done')"


def test_what_a_program_writes_is_for_nobody_else(tmp_path: Path) -> None:
    async def scenario() -> bytes:
        process, heard = Filed(tmp_path / "output", Capture(most_in_memory=100, most_in_file=0)), bytearray()
        argv = (sys.executable, "-c", WRITER)
        try:
            execution = Execution(argv=argv, executable=sys.executable, cwd=str(tmp_path), env=dict(os.environ))
            await process.start(execution, b"")
            await process.finished()
            process.is_over = True
            assert await process.read(heard.extend)
        finally:
            await process.end()
            process.close()
        return bytes(heard)

    before = os.umask(0o022)
    try:
        assert asyncio.run(scenario()) == b"done"
    finally:
        os.umask(before)

    modes = {each.name: f"{each.stat().st_mode & 0o777:o}" for each in tmp_path.iterdir()}
    assert modes == {"output": "600", "file": "600", "folder": "700"}
