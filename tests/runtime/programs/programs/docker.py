"""Plays the client of Docker: notes each call beside itself, and runs the inner command apart, as an engine would.

What it runs ignores SIGTERM, so `docker kill` is the first to end it. The image `slow` is one that is still fetched.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(sys.argv[0]).resolve().parent
WITHOUT_VALUE = {"--rm", "-i"}


def note(**said: object) -> None:
    with (HERE / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"argv": sys.argv[1:], "pid": os.getpid(), "env": dict(os.environ), **said}) + "\n")


def run(arguments: list[str]) -> int:
    options: list[tuple[str, str]] = []
    while arguments[0].startswith("-"):
        option = arguments.pop(0)
        options.append((option, "" if option in WITHOUT_VALUE else arguments.pop(0)))
    image, *command = arguments
    if image == "slow":
        note()
        while True:
            time.sleep(60)
    variables = [value.partition("=") for option, value in options if option == "-e"]
    env = {name: value if sign else os.environ[name] for name, sign, value in variables}
    given = sys.stdin.buffer.read()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as the first process of a container
    container = subprocess.Popen(command, stdin=subprocess.PIPE, env=env, start_new_session=True)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    (HERE / dict(options)["--name"]).write_text(str(container.pid), encoding="ascii")
    note(stdin=given.decode(), container=container.pid)
    container.communicate(given)
    return container.returncode


def kill(name: str) -> int:
    note()
    try:
        os.killpg(int((HERE / name).read_text(encoding="ascii")), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return 1
    return 0


match sys.argv[1:]:
    case ["run", *rest]:
        sys.exit(run(rest))
    case ["kill", name] | ["rm", "--force", name]:
        sys.exit(kill(name))
    case _:
        sys.exit(125)
