"""Files of the project that requests send, and answers that become files of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitResult, TextContent
from toolmason_runtime.apis.files import MAX_SENT_BYTES, save
from toolmason_runtime.shared.errors import ToolError

from .conftest import Reply, Talk, Tracker

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n\0\xff"
ZIP = Reply(body=b"PK\x03\x04\0\0", headers={"content-type": "application/zip"})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which the server was started."""
    directory = tmp_path / "project"
    (directory / "images").mkdir(parents=True)
    (directory / "images" / "logo.png").write_bytes(PNG)
    (directory / 'a "b".txt').write_text("é\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    monkeypatch.chdir(directory)
    return directory


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def calling(talking: Talk) -> Callable[..., Any]:
    """Call a tool; the user accepts each question. Returns the texts of the answer and the questions."""

    async def call(tool: str, **arguments: Any) -> tuple[str, list[str]]:
        questions: list[str] = []

        async def accept(_: Any, params: Any) -> ElicitResult:
            questions.append(params.message)
            return ElicitResult(action="accept", content={})

        async with talking(elicitation_callback=accept) as client:
            result = await client.call_tool(tool, arguments)
        return "\n".join(block.text for block in result.content if isinstance(block, TextContent)), questions

    return call


async def test_files_become_parts_of_a_form_with_their_names(
    tracker: Tracker, project: Path, calling: Callable[..., Any]
) -> None:
    tracker.answer("/issues/7/files", {"done": True})

    paths = ["images/logo.png", str(project / 'a "b".txt')]
    text, (question,) = await calling("attach", number=7, files=paths, note="two")

    assert text == '{"done":true}'
    (seen,) = tracker.seen
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    parts = list(BytesParser(policy=HTTP).parsebytes(head + seen.body).iter_parts())
    assert [(part.get_filename(), part.get_content_type(), part.get_payload(decode=True)) for part in parts] == [
        ("logo.png", "image/png", PNG),
        ("a %22b%22.txt", "text/plain", "é\n".encode()),
        (None, "text/plain", b"two"),
    ]
    assert "files: images/logo.png, 10 bytes, image/png" in question


@pytest.mark.usefixtures("project")
async def test_a_file_is_the_whole_body(tracker: Tracker, calling: Callable[..., Any]) -> None:
    tracker.answer("/logo", {})

    await calling("set_logo", path="images/../images/logo.png")

    (seen,) = tracker.seen
    assert (seen.headers["content-type"], seen.body) == ("image/png", PNG)


async def test_a_text_is_the_whole_body(tracker: Tracker, calling: Callable[..., Any]) -> None:
    tracker.answer("/motto", {})

    await calling("set_motto", text='"é"\n')

    (seen,) = tracker.seen
    assert (seen.headers["content-type"], seen.body) == ("text/plain; charset=utf-8", '"é"\n'.encode())


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../secret.txt", "is not in"),
        ("/etc/hostname", "is not in"),
        ("images/../../secret.txt", "is not in"),
        ("link.txt", "is not in"),
        ("folder/secret.txt", "is not in"),
        ("images", "it is not a file"),
        ("pipe", "it is not a file"),
        ("none.png", "No such file"),
        ("images/logo.png/x", "Not a directory"),
        (".", "is not in"),
        (" ", "it is not a path"),
        ("a\0b", "it is not a path"),
        ("large.bin", "at most 16,777,216 bytes"),
    ],
)
async def test_other_paths_are_refused_before_the_question(
    tracker: Tracker, project: Path, calling: Callable[..., Any], path: str, message: str
) -> None:
    (project / "link.txt").symlink_to("../secret.txt")
    (project / "folder").symlink_to("..")
    os.mkfifo(project / "pipe")
    with (project / "large.bin").open("wb") as file:
        file.truncate(MAX_SENT_BYTES + 1)

    text, questions = await calling("set_logo", path=path)

    assert message in text
    assert (questions, tracker.seen) == ([], [])


async def test_a_link_inside_of_the_project_is_followed(
    tracker: Tracker, project: Path, calling: Callable[..., Any]
) -> None:
    tracker.answer("/logo", {})
    (project / "current").symlink_to("images")

    await calling("set_logo", path="current/logo.png")

    assert tracker.seen[0].body == PNG


async def test_an_answer_is_saved_as_a_new_file_after_a_question(
    tracker: Tracker, project: Path, calling: Callable[..., Any]
) -> None:
    tracker.answer("/export", ZIP)

    text, questions = await calling("export", save_as="images/all.zip")

    assert text == "Saved 6 bytes as `images/all.zip`. Media type: application/zip"
    assert (project / "images" / "all.zip").read_bytes() == ZIP.body
    (question,) = questions
    assert "The answer is saved as the new file `images/all.zip`." in question


async def test_without_a_path_nothing_is_saved_or_asked(
    tracker: Tracker, project: Path, calling: Callable[..., Any]
) -> None:
    tracker.answer("/export", ZIP)

    text, questions = await calling("export")

    assert text == "[application/zip of 6 bytes, which is not text: set `save_as` to save it as a file]"
    assert (questions, names_in(project)) == ([], ['a "b".txt', "images"])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("images/logo.png", "exists already"),
        ("dangling", "exists already"),
        ("../new.zip", "is not in"),
        ("none/new.zip", "No such file or directory"),
    ],
)
async def test_no_file_is_overwritten_and_none_is_created_elsewhere(
    tracker: Tracker, project: Path, calling: Callable[..., Any], path: str, message: str
) -> None:
    (project / "dangling").symlink_to("dangling")

    text, questions = await calling("export", save_as=path)

    assert message in text
    assert (questions, tracker.seen) == ([], [])


async def test_an_error_of_the_api_creates_no_file(
    tracker: Tracker, project: Path, calling: Callable[..., Any]
) -> None:
    tracker.answer("/export", Reply(404, b"none"))

    text, _ = await calling("export", save_as="new.zip")

    assert "404" in text
    assert not (project / "new.zip").exists()


def test_a_file_that_appears_during_the_request_is_kept(project: Path) -> None:
    (project / "new.zip").write_bytes(b"theirs")

    with pytest.raises(ToolError, match="exists already"):
        save("save_as", "new.zip", b"ours", (project,))
    assert (project / "new.zip").read_bytes() == b"theirs"


async def test_cookies_are_one_header_with_encoded_values(tracker: Tracker, calling: Callable[..., Any]) -> None:
    tracker.answer("/export", {})

    await calling("export", session="a;b", theme="dark")

    assert tracker.seen[0].headers["cookie"] == "sid=a%3Bb; theme=dark"
