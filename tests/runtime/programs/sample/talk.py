"""A program with the habits of many: options, standard input, two streams and an exit code."""

# ruff: noqa: T201  a program prints

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main(word: str, *rest: str) -> int:
    match word:
        case "echo":
            print(rest[0])
        case "say":
            told = {"argv": rest, "cwd": str(Path.cwd()), "stdin": sys.stdin.read(), "env": dict(os.environ)}
            print(json.dumps(told))
        case "fail":
            print("partly done")
            print("went wrong", file=sys.stderr)
            return int(rest[0])
        case "pour":
            sys.stdout.writelines(f"line {number} é\n" for number in range(int(rest[0])))
        case "wait":
            print("begun", flush=True)
            time.sleep(60)
        case "linger":
            linger(Path(rest[0]), is_deaf="--deaf" in rest)
        case "send":
            record = Path(rest[0])
            method = rest[rest.index("--method") + 1]
            with record.open("a", encoding="utf-8") as file:
                file.write(f"{method}\n")
            print(f"{method} done")
    return 0


def linger(record: Path, *, is_deaf: bool) -> None:
    """Stay; with two children, one of them in a session of its own, if nothing but SIGKILL ends any of them."""
    pids = [os.getpid()]
    if is_deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the child inherits that
        pids += [subprocess.Popen(["sleep", "60"], start_new_session=each).pid for each in (False, True)]
    written = record.with_suffix(".new")
    written.write_text(" ".join(map(str, pids)), encoding="ascii")
    written.rename(record)
    time.sleep(60)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
