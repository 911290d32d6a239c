"""Two processes of Workbench behind a balancer, one of which is killed: no answer, chunk or review is lost."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from balancer import Balancer, balancing
from fake_cli import Fake, answered, wait_for
from mcp import Client
from oracle import MODERN
from served import PATIENCE_S, Said, environment, until

from workbench_handlers.editing.reviews.store import Decision, ReviewStore

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="there is no redis-server")]
MakeFake = Callable[..., Fake]

TEXT = "".join(f"Zeile {number} mit Ümläuten und 漢字.\n" for number in range(400))
KEY = "0123456789abcdef" * 4


@dataclass
class Together:
    """Two processes and their balancer; each request to it opens a connection of its own."""

    balancer: Balancer
    processes: list[subprocess.Popen[bytes]]

    def kill(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait(PATIENCE_S)

    async def call(self, tool: str, /, *, process: int | None = None, **arguments: Any) -> Said:
        """Call a tool behind the balancer, or in one process, as a client that comes for this call alone."""
        address = self.balancer.address if process is None else self.balancer.addresses[process]
        with anyio.fail_after(PATIENCE_S):
            async with Client(address, mode=MODERN) as client:
                return Said.of(tool, await client.call_tool(tool, arguments))


@contextmanager
def together(environ: Mapping[str, str], project: Path) -> Iterator[Together]:
    command = [sys.executable, "-m", "workbench_server", "--root", str(project), "--classic", "--all"]
    with ExitStack() as stack:
        balancer = stack.enter_context(balancing())
        servers = Together(balancer, [])
        flags = ["--http", "--port", "0", "--allow-host", balancer.host]
        for _ in range(2):
            process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, env=dict(environ), cwd=project)
            stack.callback(process.communicate, timeout=PATIENCE_S)
            stack.callback(process.kill)
            assert process.stderr is not None
            line = process.stderr.readline().decode()
            found = re.search(r"http://\S+/mcp", line)
            assert found, line
            balancer.addresses.append(found[0])
            servers.processes.append(process)
        yield servers


@pytest.fixture
def shared(redis_servers: Any, tmp_path: Path) -> dict[str, str]:
    """The settings that make two processes one server."""
    settings = {"WORKBENCH_STORE": redis_servers().url, "WORKBENCH_STATE": str(tmp_path / "state")}
    return settings | {"TOOLMASON_WORKBENCH_STATE_KEY": KEY}


async def test_chunks_of_a_killed_process_are_fetched_from_the_other(
    shared: dict[str, str], fake: MakeFake, project: Path, tmp_path: Path
) -> None:
    environ = environment(tmp_path / "home", fake("gemini", answered(TEXT)), RESPONSE_CHUNK_SIZE_KB="4", **shared)
    with together(environ, project) as servers:
        first = (await servers.call("quick_query", process=0, prompt="What?")).data
        servers.kill(0)
        chunks = first["chunks"]
        rest = [
            (await servers.call("fetch_chunk", cacheKey=chunks["cacheKey"], chunkIndex=index)).data["chunk"]["content"]
            for index in range(2, chunks["total"] + 1)
        ]

    assert len(rest) > 1
    assert first["answer"] + "".join(rest) == TEXT


async def test_finished_answer_of_a_killed_process_is_not_asked_for_again(
    shared: dict[str, str], fake: MakeFake, project: Path, tmp_path: Path
) -> None:
    cli = fake("gemini", answered("first"), answered("second"))
    with together(environment(tmp_path / "home", cli, **shared), project) as servers:
        lost = (await servers.call("quick_query", process=0, prompt="What?")).data
        servers.kill(0)
        repeated = (await servers.call("quick_query", prompt="What?")).data
        other = (await servers.call("quick_query", prompt="What else?")).data

    assert [lost["answer"], repeated["answer"], other["answer"]] == ["first", "first", "second"]
    assert len(cli.runs) == 2


async def test_equal_calls_in_two_processes_are_one_question(
    shared: dict[str, str], fake: MakeFake, project: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    cli = fake("gemini", [wait_for(go), *answered("once")])
    with together(environment(tmp_path / "home", cli, **shared), project) as servers:
        calls = [asyncio.create_task(servers.call("quick_query", process=0, prompt="What?"))]
        await until(lambda: cli.runs)
        calls.append(asyncio.create_task(servers.call("quick_query", process=1, prompt="What?")))
        await until(lambda: _is_wanted(shared["WORKBENCH_STORE"]))
        go.touch()
        answers = [(await call).data["answer"] for call in calls]

    assert (answers, len(cli.runs)) == (["once", "once"], 1)


async def test_question_of_a_killed_process_is_asked_by_the_one_that_waits_for_it(
    shared: dict[str, str], fake: MakeFake, project: Path, tmp_path: Path
) -> None:
    cli = fake("gemini", [wait_for(tmp_path / "never"), *answered("never")], answered("again"))
    with together(environment(tmp_path / "home", cli, **shared), project) as servers:
        lost = asyncio.create_task(servers.call("quick_query", process=0, prompt="What?"))
        await until(lambda: cli.runs)
        waiting = asyncio.create_task(servers.call("quick_query", process=1, prompt="What?"))
        await until(lambda: _is_wanted(shared["WORKBENCH_STORE"]))
        servers.kill(0)
        answer = (await waiting).data["answer"]
        with pytest.raises(BaseException):  # noqa: B017, PT011  the connection broke; the client can repeat the call
            await lost

    assert (answer, len(cli.runs)) == ("again", 2)


def _is_wanted(url: str) -> bool:
    from redis import Redis

    with Redis(unix_socket_path=url.removeprefix("unix://")) as client:
        return bool(client.keys("*:wanted"))


async def test_pending_review_of_a_killed_process_is_decided_and_written_by_the_other(
    shared: dict[str, str], fake: MakeFake, project: Path, tmp_path: Path
) -> None:
    (project / "notes.txt").write_text("old\n", encoding="utf-8")
    proposal: dict[str, Any] = {"path": str(project / "notes.txt"), "match_text": "old", "new_string": "new"}
    with together(environment(tmp_path / "home", fake("gemini", answered()), **shared), project) as servers:
        proposed = asyncio.create_task(servers.call("propose_and_review", process=0, **proposal))
        pending: list[Any] = []
        while not pending:
            pending = (await servers.call("review_status", process=1)).data["pending"]
        servers.kill(0)
        await asyncio.wait([proposed])
        proposed.exception()
        still_pending = (await servers.call("review_status")).data["pending"]
        [directory] = {path.parent for path in (tmp_path / "state").rglob("rv_*")}
        store = ReviewStore(directory)
        review = store.get(pending[0]["session_path"])
        assert review is not None
        store.decide(review, Decision("approve", "terminal"))
        written = (await servers.call("propose_and_review", **proposal)).data

    assert [each["session_path"] for each in still_pending] == [review.id]
    assert (written["user_action"], written["session_path"]) == ("COMMITTED", review.id)
    assert (project / "notes.txt").read_text(encoding="utf-8") == "new\n"
