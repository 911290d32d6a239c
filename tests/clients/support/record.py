"""Run a server and copy its traffic to a file: `python record.py FILE COMMAND...`.

A line of the file is a message: after `> ` of the client, after `< ` of the server. A line after `! ` is a signal
of the client, or `end of input`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

END_OF_INPUT = "end of input"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(file: str, *command: str) -> int:
    """Forward messages and signals until the server ends; return its exit code."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    with Path(file).open("ab", buffering=0) as record:

        def forward_signal(number: int, _frame: Any) -> None:
            record.write(f"! {signal.Signals(number).name}\n".encode())
            server.send_signal(number)

        for number in SIGNALS:
            signal.signal(number, forward_signal)
        requests = (sys.stdin.buffer, server.stdin, record, b"> ")
        threading.Thread(target=_forward, args=requests, daemon=True).start()
        _forward(server.stdout, sys.stdout.buffer, record, b"< ", close=False)
        return server.wait()


def _forward(source: IO[bytes], target: IO[bytes], record: IO[bytes], sender: bytes, *, close: bool = True) -> None:
    for line in source:
        record.write(sender + line)
        target.write(line)
        target.flush()
    if close:
        record.write(f"! {END_OF_INPUT}\n".encode())
        target.close()


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))  # not blocked by the thread that reads
