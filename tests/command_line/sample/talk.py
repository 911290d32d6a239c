"""A program with the habits of many: options, standard input, two streams and an exit code."""

# ruff: noqa: T201  a program prints

from __future__ import annotations

import json
import os
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
            Path(rest[0]).write_text(str(os.getpid()), encoding="ascii")
            time.sleep(60)
        case "send":
            record = Path(rest[0])
            method = rest[rest.index("--method") + 1]
            with record.open("a", encoding="utf-8") as file:
                file.write(f"{method}\n")
            print(f"{method} done")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
