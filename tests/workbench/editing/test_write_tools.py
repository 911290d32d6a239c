"""The tools that write without a review, in a real server: a person approves, or nothing changes."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oracle import ERAS, LEGACY
from stdio_peer import Message, Peer

from workbench_server.catalogue import CATALOGUE

WRITING = ("create_directory", "write_file", "append_text", "move_file")
both_eras = pytest.mark.parametrize("era", ERAS)
CONTINUED = "Its last line had no line break: the text continues it."
INVISIBLE = "a\u202eb\x1b[2J\u200b"


class Server:
    """A real server over stdio, and a person who answers its questions with `action`."""

    def __init__(self, project: Path, era: str, action: str | None, *flags: str) -> None:
        command = (sys.executable, "-m", "workbench_server", "--root", str(project), "--classic", "--all", *flags)
        capabilities: dict[str, Any] = {} if action is None else {"elicitation": {}}
        self.peer = Peer(command, era, capabilities=capabilities, cwd=str(project))
        self.peer.answers["elicitation/create"] = self._answer
        self.questions: list[str] = []
        self.before_answer: Callable[[], object] = lambda: None
        self._action = action
        self.peer.open()

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool; return its text and whether it is an error."""
        params: Message = {"name": tool, "arguments": arguments}
        result = self._send(params)
        for _ in range(3):
            if result.get("resultType") != "input_required":
                break
            replies = {key: self._answer(request["params"]) for key, request in result["inputRequests"].items()}
            result = self._send({**params, "inputResponses": replies})
        return "\n".join(block["text"] for block in result["content"]), bool(result.get("isError"))

    def _send(self, params: Message) -> Message:
        result: Message = self.peer.response(self.peer.send("tools/call", **params))["result"]
        return result

    def _answer(self, params: Message) -> Message:
        self.questions.append(params["message"])
        self.before_answer()
        return {"action": self._action}


Start = Callable[..., Server]


@pytest.fixture
def start(room: Any) -> Iterator[Start]:
    servers: list[Server] = []

    def make(era: str = LEGACY, action: str | None = "accept", *flags: str) -> Server:
        servers.append(Server(room.project, era, action, *flags))
        return servers[-1]

    yield make
    for server in servers:
        server.peer.close()


def contents(top: Path) -> dict[str, bytes | None]:
    """Every file below a directory with its bytes, and every directory."""
    return {
        path.relative_to(top).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(top.rglob("*"))
    }


@both_eras
def test_a_person_approves_each_change_once_and_sees_all_of_it(room: Any, start: Start, era: str) -> None:
    room.write("run.sh", "old\n").chmod(0o750)
    server = start(era)
    project = room.project

    answers = [
        server.call("create_directory", path="a/b"),
        server.call("write_file", path="a/b/new.txt", content=f"{INVISIBLE}\r\n\tä"),
        server.call("write_file", path="run.sh", content="new"),
        server.call("append_text", path="run.sh", content="er\n"),
        server.call("move_file", source="run.sh", destination="a/go.sh"),
    ]

    assert answers == [
        ("Created `a/b`.", False),
        ("Created `a/b/new.txt` with 17 bytes.", False),
        ("Replaced the content of `run.sh`: 4 bytes became 3.", False),
        (f"Appended 3 bytes to `run.sh`; it has 6 bytes now. {CONTINUED}", False),
        ("Moved `run.sh` to `a/go.sh`.", False),
    ]  # fmt: skip
    assert server.questions == [
        f'Create this directory?\n\n"{project}/a/b"',
        f'Create this file?\n\n"{project}/a/b/new.txt"\n17 bytes:\na\\u202eb\\x1b[2J\\u200b\\r\n\tä',
        f'Replace the content of this file?\n\n"{project}/run.sh"\n4 bytes become 3:\nnew',
        f'Append to this file?\n\n"{project}/run.sh"\n3 bytes after its 3:\ner\n',
        f'Move this file or directory?\n\nfrom "{project}/run.sh"\nto "{project}/a/go.sh"',
    ]
    assert contents(project) == {
        "a": None,
        "a/b": None,
        "a/b/new.txt": f"{INVISIBLE}\r\n\tä".encode(),
        "a/go.sh": b"newer\n",
    }
    assert (project / "a/go.sh").stat().st_mode & 0o777 == 0o750


CALLS: dict[str, dict[str, str]] = {
    "create_directory": {"path": "new"},
    "write_file": {"path": "a.txt", "content": "new"},
    "append_text": {"path": "a.txt", "content": "new"},
    "move_file": {"source": "a.txt", "destination": "b.txt"},
}


@both_eras
@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("decline", "Not run: the user declined ({tool})"),
        ("cancel", "Not run: the user dismissed the prompt ({tool})"),
        (None, "Not run: {tool} (write) needs user approval, and this client does not support MCP elicitation"),
    ],
)
def test_without_approval_nothing_changes(room: Any, start: Start, era: str, action: str | None, reason: str) -> None:
    room.write("a.txt", "old")
    server = start(era, action)
    for tool, arguments in CALLS.items():
        text, is_error = server.call(tool, **arguments)
        assert is_error
        assert text.startswith(reason.format(tool=tool))
        assert contents(room.project) == {"a.txt": b"old"}
    assert len(server.questions) == (0 if action is None else len(CALLS))


def test_an_owner_can_let_tools_write_unattended(room: Any, start: Start) -> None:
    room.write("a.txt", "old")
    server = start(LEGACY, None, "--headless-approve")
    for tool, arguments in CALLS.items():
        _, is_error = server.call(tool, **arguments)
        assert not is_error
    assert contents(room.project) == {"b.txt": b"newnew", "new": None}


@both_eras
def test_no_tool_changes_or_moves_the_reviews(
    room: Any, start: Start, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setenv("WORKBENCH_STATE", str(room.project / "own" / "state"))
    room.write("own/state/reviews/rv_1/proposed", "text")
    room.write("planted/review.json", "{}")
    before = contents(room.project)
    server = start(era, None, "--headless-approve")
    reviews = "own/state/reviews"
    calls: list[tuple[str, dict[str, str]]] = [
        ("write_file", {"path": f"{reviews}/rv_1/decision.json", "content": "{}"}),
        ("append_text", {"path": f"{reviews}/rv_1/proposed", "content": "more"}),
        ("create_directory", {"path": f"{reviews}/rv_2"}),
        ("move_file", {"source": "planted", "destination": f"{reviews}/rv_2"}),
        ("move_file", {"source": "own", "destination": "other"}),
    ]
    for tool, arguments in calls:
        text, is_error = server.call(tool, **arguments)
        assert is_error
        assert text == "the directory of pending reviews cannot be changed by tools"
    assert contents(room.project) == before


def test_a_policy_disables_a_writing_tool_and_waives_the_approval_of_another(
    room: Any, start: Start, tmp_path: Path
) -> None:
    room.write("a.txt", "old")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        "[tools.write_file]\nenabled = false\n[tools.append_text]\nrequire_approval = false\n", encoding="utf-8"
    )
    server = start(LEGACY, None, "--policy", str(policy))

    listed = {tool["name"] for tool in server.peer.result("tools/list")["tools"]}
    assert listed >= {"append_text", "move_file", "read_files"}
    assert not listed & {"write_file", "git_log"}
    assert server.call("append_text", path="a.txt", content="er")[1] is False
    assert contents(room.project) == {"a.txt": b"older"}


@both_eras
def test_calls_that_change_nothing_ask_nobody(room: Any, start: Start, era: str) -> None:
    room.write("a/b.txt", "text")
    server = start(era, None)
    assert server.call("create_directory", path="a/") == ("`a` exists; nothing was changed.", False)
    same = server.call("write_file", path="a/b.txt", content="text")
    assert same == ("`a/b.txt` has this content already; nothing was changed.", False)


@both_eras
def test_a_file_that_changes_while_the_user_decides_keeps_that_change(room: Any, start: Start, era: str) -> None:
    path = room.write("a.txt", "old")
    server = start(era)
    numbers = iter(range(9))
    server.before_answer = lambda: path.write_text(f"theirs {next(numbers)}", encoding="utf-8")
    if era == LEGACY:
        text, is_error = server.call("write_file", path="a.txt", content="new")
        assert is_error
        assert "`a.txt` changed since it was read; nothing was written" in text
    else:
        # The call starts again with each answer, and an answer to one version is none to another.
        with pytest.raises(KeyError):
            server.call("write_file", path="a.txt", content="new")
        assert len(server.questions) == 3
    assert path.read_text(encoding="utf-8").startswith("theirs")


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("create_directory", {"path": "a.txt"}, "`a.txt` is a file, not a directory"),
        ("create_directory", {"path": "../proj-evil/new"}, "is outside the allowed directories"),
        ("create_directory", {"path": "."}, "`.` is an allowed directory itself: use a path below it"),
        ("write_file", {"path": "sub", "content": ""}, "`sub` is a directory"),
        ("write_file", {"path": ".GIT/config", "content": ""}, "belongs to the internal files of a git repository"),
        ("write_file", {"path": "out/x", "content": ""}, "is outside the allowed directories"),
        ("write_file", {"path": "fixed", "content": ""}, "`fixed` is read-only"),
        ("append_text", {"path": "a.text", "content": "x"}, "`a.text`; write_file creates it; did you mean `a.txt`?"),
        ("append_text", {"path": "western", "content": "\u0119"}, "windows-1252, lacks the character U+0119"),
        ("append_text", {"path": "binary", "content": "x"}, "`binary`"),
        ("append_text", {"path": "a.txt", "content": ""}, "Argument 'content'"),
        ("move_file", {"source": "a.txt", "destination": "sub"}, "`sub` exists and is not replaced"),
        ("move_file", {"source": "b.txt", "destination": "c.txt"}, "no such file or directory: `b.txt`"),
        ("move_file", {"source": "a.txt", "destination": "x/y"}, "no such directory: `x`; create it with create_dir"),
        ("list_directory", {"path": "a.txt"}, "`a.txt` is a file, not a directory"),
    ],
)  # fmt: skip
def test_an_error_is_reported_without_a_question(
    room: Any, person: Any, tool: str, arguments: dict[str, str], text: str
) -> None:
    room.write("a.txt", "old")
    room.write("fixed", "old").chmod(0o444)
    room.write("western", "für Bäume".encode("latin-1"))
    room.write("binary", b"a\0b")
    (room.project / "sub").mkdir()
    (room.project / "out").symlink_to(room.outside)
    before = contents(room.project), contents(room.outside)
    answer = room.run(tool, client=person, **arguments)
    assert answer.is_error
    assert text in answer.text
    assert person.asked == []
    assert (contents(room.project), contents(room.outside)) == before


def test_a_person_sees_the_whole_text_and_too_long_texts_are_refused(room: Any, person: Any) -> None:
    text = "first\n" + "x" * 19_000 + "\nlast"
    answer = room.run("write_file", client=person, path="long.txt", content=text)
    assert answer.text == "Created `long.txt` with 19,011 bytes."
    (question,) = person.asked
    assert question.endswith(f"19,011 bytes:\n{text}")
    for tool, content in (
        ("write_file", "x" * 20_000),
        ("append_text", "x" * 20_000),
        ("append_text", "\u200b" * 4_000),
    ):
        answer = room.run(tool, client=person, path="long.txt", content=content)
        assert answer.is_error
        assert "the approval prompt shows at most 20,000. Send the text with propose_and_review" in answer.text
    assert len(person.asked) == 1
    assert (room.project / "long.txt").read_text(encoding="utf-8") == text


def test_a_text_of_any_length_is_written_where_no_person_is_asked(room: Any, start: Start) -> None:
    assert start(LEGACY, None, "--headless-approve").call("write_file", path="a.txt", content="x" * 50_000)[1] is False
    assert (room.project / "a.txt").stat().st_size == 50_000


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        ("h\u00e9\r\n".encode("utf-16"), "new\n", codecs.BOM_UTF16_LE + "new\r\n".encode("utf-16-le")),
        (codecs.BOM_UTF8 + b"a\n", "\ufeffnew\r\n", codecs.BOM_UTF8 + b"new\n"),
        (b"caf\xe9\r\n", "th\u00e9\n", b"th\xe9\r\n"),
        (b"a\0b\r\n", "th\u00e9\n", "th\u00e9\n".encode()),
        (b"", "a\r\nb\n", b"a\r\nb\n"),
    ],
)
def test_a_replaced_text_file_keeps_its_encoding_and_its_line_breaks(
    room: Any, person: Any, old: bytes, content: str, new: bytes
) -> None:
    path = room.write("a.txt", old)
    assert not room.run("write_file", client=person, path="a.txt", content=content).is_error
    assert path.read_bytes() == new


def test_a_name_cannot_hide_in_the_question(room: Any, person: Any) -> None:
    room.run("write_file", client=person, path="a\u202etxt.\nexe", content="x")
    assert person.asked[0].splitlines()[2] == f'"{room.project}/a\\u202etxt.\\nexe"'


def test_names_are_listed_with_their_kind_and_directories_first(room: Any) -> None:
    room.write("b.txt", "text")
    room.write(".hidden/c.txt", "text")
    room.write("a\nb", "")
    (room.project / "link").symlink_to("b.txt")
    os.mkfifo(room.project / "pipe")
    (room.project / "empty").mkdir()
    answer = room.run("list_directory", path=".")
    expected = ["[DIR] .hidden", "[DIR] empty", "[FILE] a\\nb", "[FILE] b.txt", "[LINK] link", "[OTHER] pipe"]
    assert answer.text.splitlines() == expected
    assert room.run("list_directory", path="empty").text == "[empty]"


def test_a_long_directory_list_counts_the_omitted_entries(room: Any) -> None:
    for number in range(1_100):
        room.write(f"{number:04}", "")
    lines = room.run("list_directory", path=".").text.splitlines()
    assert lines[0] == f"[{1_101 - len(lines)} more entries are not shown: find them with search_files]"
    assert lines[1] == "[FILE] 0000"


@pytest.mark.parametrize("tool", [*WRITING, "list_directory"])
def test_the_examples_of_the_tools_run(room: Any, start: Start, tool: str) -> None:
    room.write("src/app.py", "")
    room.write("src/assets/logo.png", "")
    room.write("docs/guide.md", "text")
    room.write("WORK.md", "x" * 97)
    server = start()
    for example in CATALOGUE["tools"][tool]["examples"]:
        text, is_error = server.call(tool, **example["arguments"])
        assert not is_error
        if tool == "list_directory":
            assert text == "[DIR] assets\n[FILE] app.py"
        else:
            assert text.startswith(example["expected_output"].removesuffix("."))


def test_only_the_harmless_tool_is_served_without_all() -> None:
    tiers = {tool: CATALOGUE["tools"][tool]["tier"] for tool in WRITING}
    assert tiers == {"create_directory": "core", **dict.fromkeys(WRITING[1:], "all")}
    hints = {tool: CATALOGUE["tools"][tool]["tool"]["annotations"] for tool in WRITING}
    assert not any(hint["readOnlyHint"] for hint in hints.values())
    assert [tool for tool in WRITING if hints[tool]["destructiveHint"]] == ["write_file", "move_file"]
