"""Starts a child, says who both are, and waits. `family.py FILE KIND` writes the two process ids to FILE."""

import os
import signal
import subprocess
import sys
from pathlib import Path

place, kind = Path(sys.argv[1]), sys.argv[2]


def forked_twice() -> int:
    """Start a child whose parent has ended, in a session of its own, and give its process id."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if (grandchild := os.fork()) == 0:
            os.execvp("sleep", ["sleep", "300"])
        os.write(writer, str(grandchild).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reader, 20))


if kind.startswith("deaf"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the child inherits that
group = 0 if kind == "group" else None
if kind.endswith("session"):
    child_pid = forked_twice()
else:
    child_pid = subprocess.Popen(["sleep", "300"], process_group=group, start_new_session=kind == "daemon").pid
print("begun", flush=True)  # noqa: T201

if kind == "last words":

    def say(*_: object) -> None:
        print("last words", flush=True)  # noqa: T201
        sys.exit(0)

    signal.signal(signal.SIGTERM, say)

written = place.with_suffix(".new")
written.write_text(f"{os.getpid()} {child_pid}", encoding="ascii")
written.rename(place)
if kind in {"daemon", "orphan"}:
    sys.exit(4)
while True:
    signal.pause()
