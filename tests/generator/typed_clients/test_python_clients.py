"""Generated Python clients, with the servers that they were generated for."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from http_peer import BEARER, TOKEN_FILE, serving
from odd_tools import ANSWERS
from strange_server import build_server

pytestmark = pytest.mark.usefixtures("importable")

STDIO = (sys.executable, "-m", "toolmason", "run", "manifest.toml")
Run = Callable[[Callable[[Any], Any]], Any]


@pytest.fixture(scope="session")
def diary() -> Any:
    """The package of the client of the diary."""
    return importlib.import_module("diary_client")


@pytest.fixture(scope="session")
def url(project: Path) -> Any:
    """The address of the server over HTTP."""
    command = ("-m", "toolmason", "run", str(project / "manifest.toml"), "--http", "--port", "0")
    with serving("--token-file", TOKEN_FILE, command=command) as (_, address):
        yield address


@pytest.fixture(params=["stdio", "http", "in process"])
def opened(request: pytest.FixtureRequest, diary: Any, project: Path) -> Callable[..., Any]:
    """Returns a client of one transport, with settings."""

    def connect(kind: Any = diary.DiaryClient, **settings: Any) -> Any:
        match request.param:
            case "stdio":
                return kind.stdio(STDIO, cwd=project, **settings)
            case "http":
                return kind.http(request.getfixturevalue("url"), headers=BEARER, **settings)
        return kind.in_process(**settings)

    return connect


def test_results_are_models_over_each_transport(opened: Callable[..., Any], diary: Any) -> None:
    async def ask() -> tuple[Any, Any, Any]:
        async with opened() as client:
            found = await client.find_notes(text="bread", moods=["urgent"])
            added = await client.add_note(text="x", place={"city": "Rome", "altitude-m": 5})
            return found, added, await client.old_notes()

    found, added, old = asyncio.run(ask())

    assert isinstance(found, diary.results.FoundNotes)
    assert [(note.id, note.class_, note.place and note.place.altitude_m) for note in found.notes] == [(1, "home", 23)]
    assert found.counts == {"home": 1}
    assert added.place == diary.results.Place(city="Rome", altitude_m=5)
    assert str(old) == "Note: old_notes is deprecated: since 1.1.0; use `find_notes`\nBake bread"
    assert [block.type for block in old.content] == ["text", "text"]


def test_errors_are_exceptions_with_code_hint_and_call(opened: Callable[..., Any], diary: Any) -> None:
    async def fail(**arguments: Any) -> Any:
        async with opened() as client:
            with pytest.raises(diary.ToolError) as caught:
                await client.find_notes(**arguments)
            return caught.value

    missing, wrong = asyncio.run(fail(text="nothing")), asyncio.run(fail(text="x", limit=0))

    assert (missing.tool, missing.code, missing.message) == ("find_notes", "NOT_FOUND", "no note matches")
    assert missing.hint == "Try fewer words"
    assert wrong.code == "INVALID_ARGUMENT"
    assert wrong.call == 'find_notes {"text": "x", "limit": 2}'


def test_questions_and_progress_reach_functions_of_the_caller(opened: Callable[..., Any]) -> None:
    questions: list[Any] = []
    steps: list[Any] = []

    async def answer(question: Any) -> dict[str, bool]:
        questions.append((question.message, question.schema["properties"]))
        return {"sure": True}

    async def ask(on_question: Any) -> str:
        async with opened(on_question=on_question) as client:
            return str(await client.with_options(on_progress=steps.append).clean_up())

    assert asyncio.run(ask(answer)) == "accept: {'sure': True}"
    assert asyncio.run(ask(lambda _: None)) == "decline: None"
    assert questions == [("Delete 2 notes?", {"sure": {"type": "boolean"}})]
    assert (steps[0].progress, steps[0].total, steps[0].message) == (1, 2, "asking")


def test_a_call_ends_at_its_timeout_and_when_it_is_cancelled(opened: Callable[..., Any], diary: Any) -> None:
    async def wait() -> None:
        async with opened(on_question=lambda _: True) as client:
            with pytest.raises(diary.ToolTimeoutError, match=r"clean_up: no answer within 0\.2 s"):
                await client.with_options(timeout=0.2).clean_up(seconds=60)
            with anyio.move_on_after(0.2) as scope:
                await client.clean_up(seconds=60)
            assert scope.cancelled_caught
            assert await client.old_notes()

    asyncio.run(wait())


def test_the_client_without_asyncio_does_the_same(opened: Callable[..., Any], diary: Any) -> None:
    with opened(diary.SyncDiaryClient, on_question=lambda _: True) as client:
        assert client.find_notes(text="bread", limit=1).notes[0].id == 1
        assert str(client.with_options(timeout=20).clean_up()) == "accept: {}"
        with pytest.raises(diary.ToolError, match="no note matches"):
            client.find_notes(text="nothing")
        assert client.call_tool("old_notes").text.endswith("Bake bread")
    with pytest.raises(RuntimeError, match="open the client first"):
        client.old_notes()


def test_an_error_of_the_body_arrives_as_it_is(opened: Callable[..., Any]) -> None:
    async def fail() -> None:
        async with opened():
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(fail())


@pytest.mark.parametrize(
    ("connect", "problem"),
    [
        (lambda kind: kind.stdio(["no-such-program"]), "cannot be reached"),
        (lambda kind: kind.stdio([sys.executable, "-c", ""]), "cannot be reached"),
        (lambda kind: kind.http("http://127.0.0.1:9/mcp"), "cannot be reached"),
    ],
    ids=["no program", "ends at once", "no server"],
)
def test_a_server_that_does_not_answer_is_one_error(diary: Any, connect: Callable[[Any], Any], problem: str) -> None:
    async def fail() -> None:
        async with connect(diary.DiaryClient):
            pass

    with pytest.raises(diary.ConnectionFailedError, match=problem):
        asyncio.run(fail())
    with pytest.raises(diary.ConnectionFailedError, match=problem), connect(diary.SyncDiaryClient):
        pass


def test_an_unknown_tool_is_refused_with_the_code_of_the_protocol(opened: Callable[..., Any], diary: Any) -> None:
    async def fail() -> None:
        async with opened() as client:
            with pytest.raises(diary.RequestError, match="Nearest names: `find_notes`") as caught:
                await client.call_tool("find_note")
            assert caught.value.code == -32602

    asyncio.run(fail())


def test_results_of_odd_servers_are_models() -> None:
    package = importlib.import_module("odd_server_client")

    async def ask() -> dict[str, Any]:
        async with package.OddServerClient.in_process(build_server()) as client:
            return {name: await getattr(client, name)() for name in ANSWERS}

    found = asyncio.run(ask())

    assert (found["plain_result"].note, found["plain_result"].added) == (None, "later")
    assert (found["odd_keys"].list_, found["odd_keys"].class_, found["odd_keys"].entry.int_) == (["c"], "a", 1)
    assert found["tree_result"].children[0].name == "leaf"
    assert found["self_result"].next.value == 2
    assert type(found["union_result"]).__name__ == "UnionResultResultFailed"
    assert found["map_result"]["x"].n == 1
    assert found["any_result"] == {"whatever": [1]}
    assert [item.b and item.b.c for item in found["deep_result"].a[0]] == [1, None]


def test_arguments_have_their_names_on_the_wire() -> None:
    package = importlib.import_module("odd_server_client")

    async def ask() -> list[Any]:
        async with package.OddServerClient.in_process(build_server()) as client:
            outputs = [
                await client.import_(from_="a", self_="b", results_="c"),
                await client.http_(content_type="exact", content_type_2="dash", top=1),
                await client.optional(b=None, c=None),
                await client.open(a="x", more=1),
                await client.get_user(id=1),
                await client.get_user_2(id="1"),
            ]
            return [json.loads(output.text) for output in outputs]

    assert asyncio.run(ask()) == [
        {"from": "a", "self": "b", "results": "c"},
        {"content-type": "dash", "content_type": "exact", "$top": 1},
        {"b": None, "c": None},
        {"a": "x", "more": 1},
        {"id": 1},
        {"id": "1"},
    ]


def test_a_result_of_another_type_says_to_generate_the_client_again(monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("odd_server_client")
    monkeypatch.setitem(ANSWERS, "plain_result", {"count": "many"})

    async def ask() -> None:
        async with package.OddServerClient.in_process(build_server()) as client:
            with pytest.raises(
                package.ResultError, match=r"plain_result: .*: count: .*; note: Field required"
            ) as caught:
                await client.plain_result()
            assert caught.value.value == {"count": "many"}

    asyncio.run(ask())


USES = """\
from diary_client import DiaryClient, SyncDiaryClient, params, results
from odd_server_client import OddServerClient

async def use(client: DiaryClient, odd: OddServerClient) -> None:
    found: results.FoundNotes = await client.find_notes(text="x", moods=["calm"])
    place: params.Place = {"city": "Oslo", "altitude-m": 2.5}
    city: str = (await client.add_note(text="x", place=place)).text
    await odd.json_value(value=[{"a": ["b"]}])
    await odd.variants(shape={"kind": "circle", "radius": 1})
    await client.find_notes()  # type: ignore[call-arg]
    await client.find_notes(text="x", moods=["angry"])  # type: ignore[list-item]
    await client.add_note(text="x", place={"town": "Oslo"})  # type: ignore[arg-type]
    await odd.variants(shape={"kind": "circle"})  # type: ignore[arg-type]
    found.notez  # type: ignore[attr-defined]

def use_sync(client: SyncDiaryClient) -> int:
    return client.find_notes(text="x").notes[0].id
"""


def test_mypy_accepts_the_packages_and_finds_wrong_calls(project: Path, odd: Path, tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(USES, encoding="utf-8")
    packages = [
        project / "generated" / "typed-clients" / "python" / "diary_client",
        odd / "python" / "odd_server_client",
    ]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", *map(str, packages), "uses.py"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )

    assert checked.stdout.startswith("Success"), checked.stdout
