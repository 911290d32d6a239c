"""Starts a child, says who both are, and waits. `family.py FILE KIND` writes the two process ids to FILE."""

import os
import signal
import subprocess
import sys
from pathlib import Path

place, kind = Path(sys.argv[1]), sys.argv[2]
if kind == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the child inherits that
group = 0 if kind == "group" else None
child = subprocess.Popen(["sleep", "300"], process_group=group, start_new_session=kind == "daemon")
print("begun", flush=True)  # noqa: T201

if kind == "last words":

    def say(*_: object) -> None:
        print("last words", flush=True)  # noqa: T201
        sys.exit(0)

    signal.signal(signal.SIGTERM, say)

written = place.with_suffix(".new")
written.write_text(f"{os.getpid()} {child.pid}", encoding="ascii")
written.rename(place)
if kind in {"daemon", "orphan"}:
    sys.exit(4)
while True:
    signal.pause()
