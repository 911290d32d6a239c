"""Run a server and copy all messages of its client to a file: `python record.py FILE COMMAND...`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main(file: str, *command: str) -> int:
    """Forward standard input until it ends; return the exit code of the server."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert server.stdin is not None
    with Path(file).open("ab", buffering=0) as messages, server.stdin as pipe:
        for line in sys.stdin.buffer:
            messages.write(line)
            pipe.write(line)
            pipe.flush()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
