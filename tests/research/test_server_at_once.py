"""Many calls at once, calls that are the same, calls that are cancelled, and a server that ends: through a real one."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_cli import Fake, Script, Step, answered, event, grandchild, result, started, stubborn, wait_for
from gemini_homes import KEY
from mcp import Client
from oracle import MODERN, Oracle
from served import Ear, Inside, Near, Said, Server, environment, inside, is_alive, served, serving_http, settle, until
from stdio_peer import Peer

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]

MANY = 40
TOOLS = {
    "quick_query": ("prompt", "answer"),
    "deep_research": ("prompt", "answer"),
    "ask_gemini": ("prompt", "answer"),
    "analyze_codebase": ("focus_description", "analysis"),
}
"""The tools that answer in prose: the name of the question, and of the answer."""


def held(gate: Path, *, before: Script = (), text: str = "Hello") -> list[Step]:
    """Answer when a file is there."""
    said = event("message", role="assistant", content=text, delta=True)
    return [started(), *before, wait_for(gate), said, result()]


async def operations(server: Server | Inside) -> list[dict[str, Any]]:
    found = await server.call("health_check", includeDiagnostics=True)
    listed: list[dict[str, Any]] = found.data["diagnostics"]["operations"]
    return listed


async def until_waiting(server: Server | Inside, *counts: int) -> list[dict[str, Any]]:
    """Wait until so many callers wait for each operation."""
    with anyio.fail_after(30):
        while True:
            found = await operations(server)
            if [each["waiting"] for each in found] == list(counts):
                return found
            await anyio.sleep(0.02)
    raise AssertionError


async def test_forty_calls_at_once_get_each_its_own_answer_and_its_own_progress(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    gate = tmp_path / "gate"
    scripts = [held(gate, text=f"answer {turn}") for turn in range(MANY)]
    cli = fake("gemini", *scripts)
    told: list[list[str]] = [[] for _ in range(MANY)]
    answers: dict[int, Said] = {}

    environ = environment(tmp_path / "home", cli, WORKBENCH_MAX_PROGRAMS=str(MANY))
    async with served(environ, project, overheard=overheard) as server:

        async def ask(number: int) -> None:
            tool = list(TOOLS)[number % len(TOOLS)]
            # Each question is asked of every tool: they are different work.
            arguments = {TOOLS[tool][0]: f"question <{number // len(TOOLS)}>"}
            answers[number] = await server.call(tool, told=told[number].append, timeout_s=60, **arguments)

        async with anyio.create_task_group() as tasks:
            for number in range(MANY):
                tasks.start_soon(ask, number)
            await until(lambda: len(cli.runs) == MANY)
            assert len(await operations(server)) == MANY
            gate.touch()

    assert len(cli.runs) == MANY
    assert len({each.data["meta"]["operationId"] for each in answers.values()}) == MANY
    for number, said in answers.items():
        tool = said.data["tool"]
        assert tool == list(TOOLS)[number % len(TOOLS)]
        turn = int(said.data[TOOLS[tool][1]].removeprefix("answer "))
        assert f"question <{number // len(TOOLS)}>" in cli.runs[turn].stdin
        assert len([each for each in told[number] if each.startswith("asking ")]) == 1


async def test_the_same_call_many_times_at_once_starts_one_program(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    cli = fake("gemini", held(gate))
    settle(monkeypatch, environment(tmp_path / "home", cli))
    clients = [Near() for _ in range(8)]
    found: list[dict[str, Any]] = []

    async with inside(project) as server:

        async def ask(client: Near) -> None:
            said = await server.call("deep_research", client=client, prompt="Why?", focus="general")
            found.append(said.data)

        async with anyio.create_task_group() as tasks:
            for client in clients:
                tasks.start_soon(ask, client)
            (operation,) = await until_waiting(server, len(clients))
            await until(lambda: all(client.told and client.told[-1][1].startswith("asking ") for client in clients))
            gate.touch()
        again = (await server.call("deep_research", prompt="Why?", focus="general")).data

    assert len(cli.runs) == 2, "one for all of them, and one for who asked later"
    assert {each["meta"]["operationId"] for each in found} == {operation["id"]}
    assert again["meta"]["operationId"] != operation["id"]
    assert all(each == found[0] for each in found)
    joined = [client for client in clients if client.told[0][1].startswith(f"joined {operation['id']}")]
    assert len(joined) == len(clients) - 1


async def test_more_calls_than_places_wait_and_each_gets_its_answer(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    cli = fake("gemini", held(gate))
    settle(monkeypatch, environment(tmp_path / "home", cli, WORKBENCH_MAX_PROGRAMS="2"))
    clients = [Near() for _ in range(6)]
    found: list[Said] = []

    async with inside(project) as server:

        async def ask(number: int) -> None:
            found.append(await server.call("quick_query", client=clients[number], prompt=f"Why {number}?"))

        async with anyio.create_task_group() as tasks:
            for number in range(len(clients)):
                tasks.start_soon(ask, number)
            await until(
                lambda: (
                    {client.told[-1][1] for client in clients if client.told}
                    >= {f"waiting for a free slot ({number} ahead)" for number in range(4)}
                )
            )
            await until(lambda: len(cli.runs) == 2)
            gate.touch()

    assert len(cli.runs) == len(clients)
    assert [each.data["answer"] for each in found] == ["Hello"] * len(clients)


async def test_over_http_nobody_sees_what_is_read_for_others(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    cli = fake("gemini", held(gate))
    settle(monkeypatch, environment(tmp_path / "home", cli))
    far, asking = Near(is_local=False), Near()

    async with inside(project) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(server.call, "quick_query", client=asking, prompt="Why?"))
        await until(lambda: any(each.startswith("asking ") for _, each in asking.told))
        near = (await server.call("health_check", includeDiagnostics=True)).data["diagnostics"]["operations"]
        told = (await server.call("health_check", client=far, includeDiagnostics=True)).data["diagnostics"][
            "operations"
        ]
        gate.touch()

    assert near[0]["progress"].startswith("asking ")
    assert [(each["progress"], each["tool"], each["waiting"]) for each in told] == [("", "quick_query", 1)]


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_who_gives_up_and_asks_again_gets_the_answer_to_the_first_question(
    way: str, fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    gate = tmp_path / "gate"
    cli = fake("gemini", held(gate), answered("of another run"))
    environ = environment(tmp_path / "home", cli)

    async with AsyncExitStack() as stack:
        if way == "http":
            address = stack.enter_context(serving_http(environ, project))
            client = await stack.enter_async_context(Client(address))
            server = Server(client, tmp_path / "http-log.txt", Oracle(MODERN))
        else:
            server = await stack.enter_async_context(served(environ, project, overheard=overheard))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: server.call("quick_query", prompt="Why?"))
            (first,) = await until_waiting(server, 1)
            tasks.cancel_scope.cancel()
        (alone,) = await until_waiting(server, 0)
        found: list[dict[str, Any]] = []

        async def ask() -> None:
            found.append((await server.call("quick_query", prompt="Why?")).data)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            (second,) = await until_waiting(server, 1)
            gate.touch()

    assert first["id"] == alone["id"] == second["id"] == found[0]["meta"]["operationId"]
    assert found[0]["answer"] == "Hello"
    assert len(cli.runs) == 1


async def test_a_long_answer_is_continued_by_the_same_call_before_the_clock_of_a_host_ends_it(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    gate = tmp_path / "gate"
    cli = fake("gemini", held(gate, text="Hello"))
    environ = environment(tmp_path / "home", cli, WORKBENCH_WAIT_SECONDS="0.3", WORKBENCH_LINGER_SECONDS="0")

    async with served(environ, project, overheard=overheard) as server:
        error = (await server.call("deep_research", prompt="Why?")).error
        gate.touch()
        answer = await server.call("deep_research", prompt="Why?")
        while answer.is_error:  # it ends when the program has read the gate
            answer = await server.call("deep_research", prompt="Why?")

    assert error["code"] == "STILL_RUNNING"
    assert "Repeat the call with the same arguments" in error["message"]
    assert answer.data["answer"] == "Hello"
    assert answer.data["meta"]["operationId"] == error["details"]["operationId"]
    assert len(cli.runs) == 1


async def test_without_lingering_a_cancelled_call_ends_its_program_and_all_that_it_started(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    child = tmp_path / "child.pid"
    cli = fake("gemini", held(tmp_path / "never", before=[stubborn(), grandchild(child)]), answered("later"))
    environ = environment(tmp_path / "home", cli, WORKBENCH_LINGER_SECONDS="0")

    async with served(environ, project, overheard=overheard) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: server.call("quick_query", prompt="Why?"))
            await until(lambda: child.exists() and child.read_text(encoding="ascii"))
            tasks.cancel_scope.cancel()
        pids = [cli.runs[0].pid, int(child.read_text(encoding="ascii"))]
        await until(lambda: not any(map(is_alive, pids)), "the program, or what it started, goes on")
        assert await operations(server) == []
        assert (await server.call("quick_query", prompt="Why?")).data["answer"] == "later"


async def test_a_client_that_leaves_ends_every_program_though_they_ignore_it(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    children = [tmp_path / f"child-{number}.pid" for number in range(6)]
    cli = fake("gemini", *(held(tmp_path / "never", before=[stubborn(), grandchild(each)]) for each in children))

    async with (
        served(environment(tmp_path / "home", cli), project, overheard=overheard) as server,
        anyio.create_task_group() as tasks,
    ):
        for number in range(len(children)):
            tasks.start_soon(lambda number: server.call("quick_query", prompt=f"Why {number}?"), number)
        await until(lambda: all(each.exists() and each.read_text(encoding="ascii") for each in children))
        tasks.cancel_scope.cancel()

    pids = [*(run.pid for run in cli.runs), *(int(each.read_text(encoding="ascii")) for each in children)]
    assert len(pids) == 2 * len(children)
    await until(lambda: not any(map(is_alive, pids)), "the programs, or what they started, go on")


def test_a_signal_to_the_server_ends_every_program_though_they_ignore_it(
    fake: MakeFake, project: Path, tmp_path: Path
) -> None:
    child = tmp_path / "child.pid"
    cli = fake("gemini", held(tmp_path / "never", before=[stubborn(), grandchild(child)]))
    environ = environment(tmp_path / "home", cli)
    command = ["env", "-i", *(f"{name}={value}" for name, value in environ.items())]
    peer = Peer([*command, *server_command(project)], MODERN)
    try:
        peer.open()
        peer.send("tools/call", name="quick_query", arguments={"prompt": "Why?"})
        anyio.run(until, lambda: child.exists() and child.read_text(encoding="ascii"))
        pids = [cli.runs[0].pid, int(child.read_text(encoding="ascii"))]
        peer.process.send_signal(signal.SIGTERM)

        assert peer.exit_status() == 0
        anyio.run(until, lambda: not any(map(is_alive, pids)))
        assert KEY not in peer.stderr()
    finally:
        peer.close()


def server_command(project: Path) -> list[str]:
    return [sys.executable, "-m", "workbench_server", "--classic", "--root", str(project)]
