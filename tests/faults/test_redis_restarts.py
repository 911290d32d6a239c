"""Redis is killed, restarted and stopped while clients fetch parts of long answers: no part is wrong, no call hangs."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from http_peer import RawClient, serving
from oracle import LEGACY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not run: there is no redis-server")

CLIENTS: Final = 6
COMMITS: Final = 3
RESTARTS: Final = 4
MAX_CALL_S: Final = 20.0
"""Maximum time of a call while Redis is away; a busy machine included."""
REFUSALS: Final = {"expired": "expired", "unavailable": "cannot be reached: try again in a moment"}
IDENTITY: Final = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")


def commit_long_files(project: Path) -> list[str]:
    """Return the hashes of commits, each of which has a diff of several parts."""
    hashes = []
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    for number in range(COMMITS):
        text = "".join(f"line {line} of commit {number}\n" for line in range(4_000))
        (project / f"{number}.txt").write_text(text, encoding="utf-8")
        for arguments in (("add", "."), (*IDENTITY, "commit", "-qm", f"commit {number}")):
            subprocess.run(["git", *arguments], cwd=project, check=True)
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, encoding="utf-8"
        )
        hashes.append(done.stdout.strip())
    return hashes


class Reader:
    """A client that opens long answers and fetches their second parts."""

    def __init__(self, address: str, hashes: list[str]) -> None:
        self.address, self.hashes = address, hashes
        self.outcomes: Counter[str] = Counter()
        self.slowest = 0.0

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        started = time.monotonic()
        with ExitStack() as stack:
            answer = list(RawClient(self.address, LEGACY, stack).call(tool, arguments))[-1]
        self.slowest = max(self.slowest, time.monotonic() - started)
        result: dict[str, Any] = answer["result"]
        return result

    def read(self, number: int) -> str:
        """Return `right`, one of `REFUSALS`, or `wrong` with the text."""
        first = "".join(block["text"] for block in self.call("git_show", object=self.hashes[number])["content"])
        key = re.search(r"cache_\w+", first)
        if f"commit {self.hashes[number]}" not in first or key is None:
            return f"wrong: {first[:300]}"
        part = self.call("fetch_chunk", cacheKey=key[0], chunkIndex=2)
        text = part["content"][0]["text"]
        if part.get("isError"):
            return next((state for state, words in REFUSALS.items() if words in text), f"wrong: {text[:300]}")
        lines = [line for line in part["structuredContent"]["chunk"]["content"].splitlines() if line]
        is_right = len(lines) > 100 and all(line.endswith(f" of commit {number}") for line in lines[1:-1])
        return "right" if is_right else f"wrong: {lines[:3]}"

    def run(self, until: threading.Event) -> None:
        turn = 0
        while not until.is_set():
            self.outcomes[self.read(turn % COMMITS)] += 1
            turn += 1


def test_no_part_of_an_answer_is_wrong_while_redis_restarts(
    redis_servers: Any, tmp_path: Path, report: Callable[[str], None]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    hashes = commit_long_files(project)
    redis = redis_servers()
    env = {"WORKBENCH_STORE": redis.url, "WORKBENCH_STATE": str(tmp_path / "state")}
    flags = ("--classic", "--all", "--http", "--port", "0", "--log-level", "critical", "--root", str(project))
    with serving(*flags, command=("-m", "workbench_server"), env=env) as (_, address):
        readers = [Reader(address, hashes) for _ in range(CLIENTS)]
        end = threading.Event()
        threads = [threading.Thread(target=reader.run, args=(end,)) for reader in readers]
        for thread in threads:
            thread.start()
        for _ in range(RESTARTS):
            time.sleep(1)
            redis.end()
            time.sleep(1)
            redis.start()
        redis.stop()
        time.sleep(2)
        redis.resume()
        end.set()
        for thread in threads:
            thread.join(60)
        after = Reader(address, hashes)
        last = [after.read(number) for number in range(COMMITS)]

    outcomes = sum((reader.outcomes for reader in readers), Counter[str]())
    assert not any(thread.is_alive() for thread in threads), "a call hangs"
    assert outcomes.keys() <= {"right", *REFUSALS}, outcomes
    assert outcomes["right"] >= CLIENTS
    assert last == ["right"] * COMMITS
    assert max(reader.slowest for reader in readers) < MAX_CALL_S
    refused = ", ".join(f"{outcomes[state]} {state}" for state in REFUSALS)
    report(f"{outcomes['right']} answers right, {refused}, 0 wrong; {RESTARTS} restarts, 1 stop")
