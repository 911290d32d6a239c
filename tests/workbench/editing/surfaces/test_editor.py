"""The graphical editor: which program it is, and which decision its end means."""

from __future__ import annotations

import asyncio
import logging
import sys
from ast import literal_eval
from pathlib import Path

import pytest
from proposals import SEVERAL, Desk

from workbench_handlers.editing.reviews.store import Decision
from workbench_handlers.editing.surfaces.editor import find_editor, review_in_editor

pytestmark = pytest.mark.anyio
TIMEOUT_S = 60.0
OLD, NEW = b"one\n", b"two\n"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory of PATH with programs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("code", "meld", "meld.CMD"):
        (directory / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (directory / name).chmod(0o755)
    return directory


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        pytest.param({"DISPLAY": ":0"}, ["code", "--wait", "--diff", "{old}", "{new}"], id="vscode-with-a-display"),
        pytest.param({"WAYLAND_DISPLAY": "wayland-0"}, ["code", "--wait", "--diff", "{old}", "{new}"], id="wayland"),
        pytest.param({"VSCODE_IPC_HOOK_CLI": "/s"}, ["code", "--wait", "--diff", "{old}", "{new}"], id="vscode-remote"),
        pytest.param({}, None, id="no-display"),
        pytest.param({"WORKBENCH_EDITOR": "meld"}, ["meld", "{old}", "{new}"], id="files-are-appended"),
        pytest.param(
            {"WORKBENCH_EDITOR": "meld '--title a; b' --out={new} {old}", "DISPLAY": ":0"},
            ["meld", "--title a; b", "--out={new}", "{old}"],
            id="placeholders-inside-words",
        ),
        pytest.param({"WORKBENCH_EDITOR": "meld 'open"}, None, id="open-quote"),
        pytest.param({"WORKBENCH_EDITOR": "meld.CMD"}, None, id="batch-file"),
        pytest.param({"WORKBENCH_EDITOR": "emacs {new}"}, None, id="missing-program"),
        pytest.param(
            {"WORKBENCH_EDITOR": " ", "DISPLAY": ":0"}, ["code", "--wait", "--diff", "{old}", "{new}"], id="blank"
        ),
    ],
)
def test_the_command_is_the_setting_or_vscode(
    programs: Path, environ: dict[str, str], command: list[str] | None
) -> None:
    expected = command and (str(programs / command[0]), *command[1:])

    assert find_editor({"PATH": str(programs), **environ}, []) == expected


def test_a_program_inside_a_project_is_not_used(programs: Path) -> None:
    environ = {"PATH": str(programs), "DISPLAY": ":0"}

    assert find_editor(environ, [programs.parent]) is None
    assert find_editor({**environ, "WORKBENCH_EDITOR": "meld"}, [programs.parent]) is None


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        pytest.param("change", ("REVIEW", OLD, b"two\nby hand\n"), id="saved-with-another-text-is-an-edit"),
        pytest.param("touch", ("COMMITTED", NEW, None), id="saved-unchanged-approves"),
        pytest.param("replace", ("COMMITTED", NEW, None), id="saved-by-renaming-approves"),
        pytest.param("close", ("PENDING", OLD, None), id="closed-without-saving-decides-nothing"),
        pytest.param("crash", ("PENDING", OLD, None), id="a-crash-decides-nothing"),
    ],
)
async def test_the_saved_file_decides(
    desk: Desk, editor: tuple[str, str], action: str, expected: tuple[str, bytes, bytes | None]
) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    await review_in_editor(desk.store, review, (*editor, action, "{old}", "{new}"))

    assert (desk.store.status(review), desk.read("a.txt"), desk.store.edited(review)) == expected


async def test_the_current_side_is_read_only_and_both_sides_have_the_name_of_the_file(
    desk: Desk, editor: tuple[str, str]
) -> None:
    review = desk.propose("src/a b {old}.txt", OLD, NEW)

    await review_in_editor(desk.store, review, (*editor, "show", "{old}", "{new}"))

    (old, new), modes = literal_eval((desk.state / "seen").read_text(encoding="utf-8"))
    assert (Path(old).name, Path(old).parent.name, Path(new).name) == ("a b {old}.txt", "current", "a b {old}.txt")
    assert modes == ["0o400", "0o600"]


@pytest.mark.parametrize(
    ("action", "status", "written"),
    [
        pytest.param("touch", "COMMITTED", True, id="saved"),
        pytest.param("change", "REVIEW", False, id="edited"),
        pytest.param("nothing", "PENDING", False, id="closed"),
    ],
)
async def test_several_files_are_opened_one_after_another(
    *, action: str, status: str, written: bool, desk: Desk, editor: tuple[str, str]
) -> None:
    review = desk.propose_files(SEVERAL)

    await review_in_editor(desk.store, review, (*editor, action, "{old}", "{new}"))

    assert desk.store.status(review) == status
    assert {name: desk.read(name) for name in SEVERAL} == {name: each[written] for name, each in SEVERAL.items()}
    decision = desk.store.decision(review)
    assert (decision is not None and sorted(decision.texts) == [0, 1, 2]) == (action == "change")


async def test_an_earlier_decision_on_another_surface_is_kept(desk: Desk, editor: tuple[str, str]) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    assert desk.store.decide(review, Decision("reject", "terminal"))

    await review_in_editor(desk.store, review, (*editor, "touch", "{new}"))

    assert desk.store.status(review) == "REJECTED"
    assert desk.read("a.txt") == OLD


async def test_a_program_that_cannot_start_decides_nothing(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    with caplog.at_level(logging.WARNING):
        await review_in_editor(desk.store, review, (str(tmp_path / "missing"), "{new}"))

    assert desk.store.status(review) == "PENDING"
    assert "could not be started" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")
async def test_cancellation_ends_the_editor_and_its_children(desk: Desk, editor: tuple[str, str]) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    connected: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()
    writers = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        connected.set_result(reader)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server, asyncio.timeout(TIMEOUT_S):
        port = server.sockets[0].getsockname()[1]
        task = asyncio.create_task(review_in_editor(desk.store, review, (*editor, "hang", str(port), "{new}")))
        reader = await connected
        assert await reader.readexactly(5) == b"ready"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await reader.read() == b""
        writers[0].close()

    assert desk.store.status(review) == "PENDING"


async def test_the_streams_of_the_server_do_not_reach_the_editor(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    await review_in_editor(desk.store, review, (sys.executable, "-c", "print('noise')", "{new}"))

    assert capfd.readouterr().out == ""
