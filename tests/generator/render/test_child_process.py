"""A child process does not outlive its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import time
def main():
    print("started", flush=True)
    time.sleep(600)
"""
PARENT = """
import subprocess, sys
from toolmason.render.child_process import child_command
sys.path.append(sys.argv[1])
subprocess.run(child_command("slow_child"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the id of an ended parent")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL"])
def test_a_child_ends_after_its_parent_was_killed(number: str, tmp_path: Path) -> None:
    tmp_path.joinpath("slow_child.py").write_text(CHILD, encoding="utf-8")
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        try:
            assert parent.stdout
            assert parent.stdout.readline() == b"started\n"
            parent.send_signal(signal.Signals[number])
            # The child also has the pipe: it is at its end when both processes have ended.
            assert parent.communicate(timeout=30)[0] == b""
        except BaseException:
            os.killpg(parent.pid, signal.SIGKILL)
            raise
