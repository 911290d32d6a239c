"""A project with reviews, and a scripted editor.

desk      a project, and the store of reviews of its files
editor    the command of an editor that does what its first argument names
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from proposals import Desk

_EDITOR = """
import os, socket, subprocess, sys
action, *_, new = sys.argv[1:]
if action == "change":
    with open(new, "ab") as file:
        file.write(b"by hand\\n")
elif action == "replace":  # as editors that save to a new file
    with open(new, "rb") as file, open(new + "~", "wb") as copy:
        copy.write(file.read())
    os.replace(new + "~", new)
elif action == "touch":
    with open(new, "rb+") as file:
        data = file.read()
        file.seek(0)
        file.write(data)
        os.utime(new, ns=(0, os.stat(new).st_mtime_ns + 1_000_000))
elif action == "crash":
    with open(new, "wb") as file:
        file.write(b"half")
    os.abort()
elif action == "hang":
    # The child ignores SIGTERM. The connection closes when both have ended.
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    connection.set_inheritable(True)
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, close_fds=False)
    child.stdout.readline()
    connection.sendall(b"ready")
    child.wait()
elif action == "show":
    with open(os.path.join(os.path.dirname(new), "..", "..", "..", "seen"), "w") as file:
        file.write(repr((sys.argv[2:], [oct(os.stat(path).st_mode & 0o777) for path in sys.argv[2:]])))
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    project = tmp_path / "project"
    project.mkdir()
    return Desk(project, tmp_path / "state")


@pytest.fixture
def editor(tmp_path: Path) -> tuple[str, str]:
    script = tmp_path / "editor.py"
    script.write_text(_EDITOR, encoding="utf-8")
    return sys.executable, str(script)
