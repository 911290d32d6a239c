"""One review of several files: written all or none, also after a kill, and undone as one."""

from __future__ import annotations

import codecs
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from edit_server import PROPOSE, Person, Place, answer
from oracle import ERAS, LEGACY
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews import change_set
from workbench_handlers.editing.reviews.propose import FileChange, Proposer, find_or_create_all
from workbench_handlers.editing.reviews.results import review_result
from workbench_handlers.editing.reviews.settle import recover, settle, undo
from workbench_handlers.editing.reviews.store import Decision, Review
from workbench_handlers.editing.text.request import CREATE, Edit, EditRequest
from workbench_handlers.editing.text.selection import count_parts, select_parts
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.write import locate_for_writing

SCRIPT = Path(__file__).parent / "support" / "kill_files.py"
FILES = [
    {"path": "a.txt", "match_text": "two", "new_string": "2"},
    {"path": "sub/b.txt", "match_text": "", "new_string": "new\n"},
    {"path": "c.txt", "edits": [{"match_text": "x", "new_string": "X"}, {"match_text": "y", "new_string": "Y"}]},
]
OLD: dict[str, bytes | None] = {"a.txt": b"one\ntwo\n", "sub/b.txt": None, "c.txt": b"x\n1\n2\n3\n4\n5\n6\n7\ny\n"}
NEW: dict[str, bytes | None] = {"a.txt": b"one\n2\n", "sub/b.txt": b"new\n", "c.txt": b"X\n1\n2\n3\n4\n5\n6\n7\nY\n"}


@pytest.fixture(autouse=True)
def files(place: Place) -> None:
    for name, data in OLD.items():
        if data is not None:
            place.write(name, data)


def contents(place: Place) -> dict[str, bytes | None]:
    paths = {name: place.project / name for name in OLD}
    return {name: path.read_bytes() if path.exists() else None for name, path in paths.items()}


def proposed(place: Place, **more: Any) -> Review:
    root = Root.of(str(place.project), "a test")
    requests = {
        "a.txt": EditRequest("single", (Edit("two", "2"),)),
        "sub/b.txt": EditRequest("create", (Edit(CREATE, "new\n"),)),
        "c.txt": EditRequest("batch", (Edit("x", "X"), Edit("y", "Y"))),
    }
    changes = [FileChange(locate_for_writing(name, (root,)), request) for name, request in requests.items()]
    return find_or_create_all(place.store, changes, Proposer(name="a test", transport="stdio"), **more)


@pytest.mark.parametrize("work", ["settle", "commit", "undo", "restore"])
@pytest.mark.skipif(sys.platform == "win32", reason="the script forks")
def test_a_kill_at_any_step_leaves_all_files_or_none_after_the_next_start(work: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, work], capture_output=True, encoding="utf-8", check=True, timeout=300
    )
    states = [json.loads(line) for line in result.stdout.splitlines()]

    killed = {tuple(files) for _, files, *_ in states}
    assert len(killed) >= 4, "kills hit the time between the files"
    for _, _, recovered, status, ended, left in states:
        assert len({*recovered} - {"by hand"}) == 1, states
        assert len({*ended} - {"by hand"}) == 1, states
        assert left == []
        assert (status == "CONFLICT") == (ended[0] == "old" and work != "undo")
    assert [is_finished for is_finished, *_ in states] == [False] * (len(states) - 1) + [True]


@pytest.mark.parametrize("version", ERAS)
def test_one_question_shows_all_diffs_and_its_approval_writes_all_files(
    version: str, place: Place, user: Person
) -> None:
    with place.server(version, person=user) as client:
        result = client.call(PROPOSE, files=FILES)
        again = client.call(PROPOSE, files=FILES)

    (question,) = user.asked
    message = question["message"]
    assert message.startswith("toolmason proposes to change 3 files together:\n- change ")
    assert f"\n- create {place.project / 'sub/b.txt'}\n" in message
    assert all(text in message for text in ("\n-two\n+2\n", "\n+new\n", "\n-x\n+X\n", "\n-y\n+Y\n"))
    assert (result["user_action"], result["message"]) == ("COMMITTED", "Written.")
    assert result["files"] == [*OLD]
    assert (again["session_path"], again["already_written"]) == (result["session_path"], True)
    assert contents(place) == NEW


@pytest.mark.parametrize("reply", ["reject", "comment"])
def test_another_answer_writes_no_file(reply: str, place: Place, user: Person) -> None:
    user.reply = answer(reply)
    with place.server(LEGACY, person=user) as client:
        client.call(PROPOSE, files=FILES)

    assert contents(place) == OLD


def test_a_file_that_changed_makes_all_a_conflict(place: Place) -> None:
    with place.server(LEGACY) as client:
        session = client.call(PROPOSE, files=FILES)["session_path"]
        changed = place.write("c.txt", b"by hand\nx\ny\n")
        place.decide(session, Decision("approve", "a test"))
        result = client.call("review_status", session_path=session)["review"]

    assert result["user_action"] == "CONFLICT"
    assert "+by hand" in result["user_feedback_diff"]
    assert contents(place) == {**OLD, "c.txt": changed.read_bytes()}


def test_the_texts_of_the_user_are_committed_and_continued(place: Place) -> None:
    with place.server(LEGACY) as client:
        session = client.call(PROPOSE, files=FILES)["session_path"]
        place.decide(session, Decision("edit", "a test", texts={1: b"mine\n"}))
        review = client.call(PROPOSE, files=FILES)
        continued = client.propose("sub/b.txt", "mine", "ours", session_path=session)
        place.decide(continued["session_path"], Decision("edit", "a test", texts={0: b"zero\n"}))
        result = client.call("commit_review", session_path=continued["session_path"], original_path="c.txt")

    assert review["user_action"] == "REVIEW"
    assert "-new\n+mine" in review["user_feedback_diff"]
    assert result["user_action"] == "COMMITTED"
    assert contents(place) == {**NEW, "a.txt": b"zero\n", "sub/b.txt": b"ours\n"}


@pytest.mark.parametrize(
    ("texts", "written", "left_out"),
    [
        pytest.param({1: None}, {"sub/b.txt": None}, "not written: `sub/b.txt`", id="a new file"),
        pytest.param({0: OLD["a.txt"]}, {"a.txt": OLD["a.txt"]}, "not written: `a.txt`", id="a file"),
        pytest.param(
            {2: b"X\n1\n2\n3\n4\n5\n6\n7\ny\n"}, {"c.txt": b"X\n1\n2\n3\n4\n5\n6\n7\ny\n"}, "left out.", id="a change"
        ),
    ],
)
def test_a_part_that_is_left_out_is_reported_and_the_rest_is_written_and_undone(
    texts: dict[int, bytes | None], written: dict[str, bytes | None], left_out: str, place: Place
) -> None:
    review = proposed(place)
    assert place.store.decide(review, Decision("approve", "a test", texts=texts))

    result = review_result(place.store, review)
    after = contents(place)
    undo(place.store, review.id)

    assert result.user_action == "COMMITTED"
    assert left_out in result.message
    assert result.user_feedback_diff
    assert after == {**NEW, **written}
    assert contents(place) == OLD


def test_an_approval_without_a_change_is_a_rejection(place: Place) -> None:
    review = proposed(place)
    assert place.store.decide(review, Decision("approve", "a test", texts=dict(enumerate(OLD.values()))))

    assert review_result(place.store, review).user_action == "REJECTED"


def test_undo_is_refused_for_all_files_if_one_has_changed_and_possible_afterwards(place: Place) -> None:
    review = proposed(place)
    assert place.store.decide(review, Decision("approve", "a test"))
    settle(place.store, review)
    place.write("c.txt", b"by hand\n")
    with pytest.raises(ToolError, match="No file was changed"):
        undo(place.store, review.id)
    refused = contents(place)
    place.write("c.txt", NEW["c.txt"] or b"")
    undo(place.store, review.id)

    assert refused == {**NEW, "c.txt": b"by hand\n"}
    assert contents(place) == OLD


@pytest.mark.parametrize("later", [None, b"by hand\n"])
def test_a_second_undo_changes_no_file(place: Place, later: bytes | None) -> None:
    review = proposed(place)
    assert place.store.decide(review, Decision("approve", "a test"))
    settle(place.store, review)
    undo(place.store, review.id)
    if later is not None:
        place.write("c.txt", later)
    before = contents(place)

    with pytest.raises(ToolError, match="No file was changed"):
        undo(place.store, review.id)

    assert contents(place) == before


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = proposed(place)
    assert place.store.decide(review, Decision("approve", "a test"))
    replace = vars(change_set)["replace_file"]

    def refuse(located: Any, data: bytes, **more: Any) -> None:
        if located.path.name == "c.txt":
            raise ToolError("no space left", code="NO_SPACE")
        replace(located, data, **more)

    monkeypatch.setattr(change_set, "replace_file", refuse)
    with pytest.raises(ToolError, match=r"no space left. No file is changed"):
        settle(place.store, review)
    failed = contents(place)
    monkeypatch.undo()
    settle(place.store, review)

    assert failed == OLD
    assert contents(place) == NEW
    assert place.store.unfinished() == []


@pytest.mark.parametrize("start", ["server", "review command"])
def test_the_next_start_finishes_the_write_of_a_killed_process(
    start: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = proposed(place)
    assert place.store.decide(review, Decision("approve", "a test"))
    replace = vars(change_set)["replace_file"]

    def end_process(located: Any, data: bytes, **more: Any) -> None:
        replace(located, data, **more)
        raise SystemExit

    monkeypatch.setattr(change_set, "replace_file", end_process)
    with pytest.raises(SystemExit):
        settle(place.store, review)
    assert contents(place) == {**OLD, "a.txt": NEW["a.txt"]}
    if start == "server":
        with place.server(LEGACY) as client:
            client.call("list_allowed_directories")
    else:
        command = [sys.executable, "-m", "workbench_server", "review", "--list"]
        subprocess.run(command, env={"WORKBENCH_STATE": str(place.state)}, cwd=place.project, check=True)

    assert contents(place) == NEW
    assert place.store.unfinished() == []


def test_an_unfinished_review_that_was_removed_is_forgotten(place: Place) -> None:
    review = proposed(place)
    place.store.mark_unfinished(review)
    for file in (place.store.directory / review.id).iterdir():
        file.unlink()

    recover(place.store)

    assert place.store.unfinished() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"files": FILES, "path": "a.txt", "match_text": "a", "new_string": "b"}, "path and match_text and new_string"),
        ({"match_text": "a", "new_string": "b"}, "path is missing: send path, or files for several files"),
        (
            {"files": [{"path": "a.txt"}, {"path": "c.txt", "match_text": "x"}]},
            "file 2 of 2, `c.txt`: new_string",
        ),
        (
            {"files": [*FILES[1:], {"path": "a.txt", "match_text": "gone", "new_string": ""}]},
            "file 3 of 3, `a.txt`: match_text does not occur",
        ),
        ({"files": [{"path": "../x", "match_text": "", "new_string": ""}]}, "allowed"),
    ],
)
def test_a_mistake_in_several_files_is_explained(arguments: dict[str, Any], message: str, place: Place) -> None:
    with place.server(LEGACY) as client:
        error = client.error(PROPOSE, **arguments)

    assert message in error
    assert place.store.recent() == []


def test_entries_for_one_file_are_a_batch_and_one_file_is_an_ordinary_review(place: Place, user: Person) -> None:
    pairs = (("c.txt", "x"), ("./c.txt", "y"))
    edits = [{"path": path, "match_text": old, "new_string": old.upper()} for path, old in pairs]
    with place.server(LEGACY, person=user) as client:
        result = client.call(PROPOSE, files=edits, path="", match_text="", new_string="", edits=[])

    assert contents(place) == {**OLD, "c.txt": NEW["c.txt"]}
    assert "files" not in result


@pytest.mark.parametrize(("globs", "action"), [(["**"], "AUTO_APPROVED"), (["*.txt"], "PENDING")])
def test_auto_approval_needs_every_file(globs: list[str], action: str, place: Place) -> None:
    with place.server(LEGACY, *(flag for glob in globs for flag in ("--auto-approve", glob))) as client:
        result = client.call(PROPOSE, files=FILES)

    assert result["user_action"] == action
    assert contents(place) == (NEW if action == "AUTO_APPROVED" else OLD)


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        pytest.param(b"a\nb\nc\n", b"A\nb\nC\n", 2, id="two lines"),
        pytest.param(b"a\r\nb\r\nc", b"a\r\nB\r\nc\r\nd", 1, id="CRLF without a final line break"),
        pytest.param("a\nb\nc\n".encode("utf-16"), "A\nb\nC\n".encode("utf-16"), 2, id="UTF-16"),
        pytest.param(b"\xef\xbb\xbfa\nb\nc\n", b"\xef\xbb\xbfA\nb\nc\nd\n", 2, id="BOM"),
        pytest.param(b"caf\xe9\nb\nc\n", b"caf\xe9!\nb\nC\n", 2, id="Latin-1"),
        pytest.param(b"caf\xe9\nb\nc\n", b"cafe\nb\nC\n", 1, id="another encoding"),
        pytest.param(None, b"a\nb\n", 1, id="a new file"),
        pytest.param(b"a\0", b"b\0c\n", 1, id="binary"),
        pytest.param(b"", b"a\n", 1, id="an empty file"),
    ],
)
def test_the_parts_of_a_change_produce_both_versions_and_all_mixtures(
    old: bytes | None, new: bytes, count: int
) -> None:
    mixtures = {select_parts(old, new, {number}) for number in range(count)}

    assert count_parts(old, new) == count
    assert select_parts(old, new, set(range(count))) == new
    assert select_parts(old, new, set()) == old
    assert len(mixtures) == count


ENCODED = {
    "a.txt": ("gbk", b"", "# 配置文件\n标题 = 数据库连接设置\n超时 = 30\n说明 = 请不要修改此文件\n", b""),
    "b.txt": ("utf-16-le", codecs.BOM_UTF16_LE, "# 설정 파일\r\n제목 = 데이터베이스\r\n시간 = 30\r\n", b""),
    "short.txt": ("gbk", b"", "# 注释 30\n", b""),
    "bad.txt": ("utf-8", b"", "# 設定檔\n標題 = 資料庫連線設定\n時間 = 30\n", b"\xff\n"),
}
"""Codec, BOM, text, and bytes that are invalid in it. The encoding of the short file is not certain."""
ENCODED_FILES = [("a.txt", "b.txt"), ("b.txt", "a.txt"), tuple(ENCODED)]


def encoded(new: str, names: Sequence[str]) -> dict[str, bytes]:
    """Return the bytes of files in which `new` replaces 30."""
    files = ((name, *ENCODED[name]) for name in names)
    return {name: mark + text.replace("30", new).encode(codec) + rest for name, codec, mark, text, rest in files}


def entries(old: str, new: str, names: Sequence[str]) -> list[dict[str, str]]:
    named = {"short.txt": {"encoding": "GBK"}}
    return [{"path": name, "match_text": old, "new_string": new, **named.get(name, {})} for name in names]


@pytest.mark.parametrize("names", ENCODED_FILES)
def test_each_file_is_written_and_undone_in_its_own_encoding(names: Sequence[str], place: Place, user: Person) -> None:
    for name, data in encoded("30", names).items():
        place.write(name, data)
    with place.server(LEGACY, person=user) as client:
        result = client.call(PROPOSE, files=entries("30", "四十", names))
        again = client.call(PROPOSE, files=entries("30", "四十", names))
    written = {name: (place.project / name).read_bytes() for name in names}
    undo(place.store, result["session_path"])

    (question,) = user.asked
    assert all(text in question["message"] for text in ("-超时 = 30\n+超时 = 四十\n", "-시간 = 30\n+시간 = 四十\n"))
    assert (result["user_action"], again["already_written"]) == ("COMMITTED", True)
    assert written == encoded("四十", names)
    assert {name: (place.project / name).read_bytes() for name in names} == encoded("30", names)


@pytest.mark.parametrize("names", ENCODED_FILES)
def test_each_file_of_a_continued_review_keeps_its_own_encoding(names: Sequence[str], place: Place) -> None:
    for name, data in encoded("30", names).items():
        place.write(name, data)
    with place.server(LEGACY) as client:
        session = client.call(PROPOSE, files=entries("30", "四十", names))["session_path"]
        texts = dict(enumerate(encoded("五十", names).values()))
        place.decide(session, Decision("edit", "a test", texts=texts))
        edited = client.call(PROPOSE, files=entries("30", "四十", names))
        changes = [{**entry, "encoding": ""} for entry in entries("五十", "六", names)[1:]]
        continued = client.call(PROPOSE, files=changes, session_path=session)["session_path"]
    place.decide(continued, Decision("approve", "a test"))
    written = {name: (place.project / name).read_bytes() for name in names}
    undo(place.store, continued)

    diff = edited["user_feedback_diff"]
    assert all(text in diff for text in ("-超时 = 四十\n+超时 = 五十\n", "-시간 = 四十\n+시간 = 五十\n"))
    assert written == {**encoded("六", names), **encoded("五十", names[:1])}
    assert {name: (place.project / name).read_bytes() for name in names} == encoded("30", names)


@pytest.mark.parametrize("is_undo", [False, True])
@pytest.mark.parametrize("names", ENCODED_FILES)
def test_a_killed_write_is_finished_in_each_encoding(
    is_undo: bool, names: Sequence[str], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in encoded("30", names).items():
        place.write(name, data)
    with place.server(LEGACY) as client:
        session = client.call(PROPOSE, files=entries("30", "四十", names))["session_path"]
    review = place.store.get(session)
    assert review is not None
    assert place.store.decide(review, Decision("approve", "a test"))
    if is_undo:
        settle(place.store, review)
    replace = vars(change_set)["replace_file"]

    def end_process(located: Any, data: bytes, **more: Any) -> None:
        replace(located, data, **more)
        raise SystemExit

    monkeypatch.setattr(change_set, "replace_file", end_process)
    with pytest.raises(SystemExit):
        undo(place.store, session) if is_undo else settle(place.store, review)
    monkeypatch.undo()
    recover(place.store)

    assert {name: (place.project / name).read_bytes() for name in names} == encoded("30" if is_undo else "四十", names)
    assert place.store.unfinished() == []


def test_an_encoding_belongs_to_the_entry_of_its_file(place: Place) -> None:
    place.write("short.txt", encoded("30", ["short.txt"])["short.txt"])
    entry = {"path": "short.txt", "match_text": "30", "new_string": "40"}
    others = [{**entry, "encoding": name} for name in ("gbk", "big5")]
    with place.server(LEGACY) as client:
        errors = [
            client.error(PROPOSE, files=[FILES[0], entry]),
            client.error(PROPOSE, files=[FILES[0], entry], encoding="gbk"),
            client.error(PROPOSE, files=[FILES[0], *others]),
        ]

    messages = (
        "file 2 of 2, `short.txt`: the encoding",
        "encoding cannot be combined with files",
        "several encodings, gbk and big5",
    )
    assert all(message in error for message, error in zip(messages, errors, strict=True)), errors
    assert place.store.recent() == []


@pytest.mark.parametrize("name", ["a.txt", "b.txt", "short.txt", "bad.txt"])
def test_the_parts_of_a_change_are_chosen_in_the_encoding_of_the_file(name: str) -> None:
    codec, *_ = ENCODED[name]
    old, middle = (encoded(new, [name])[name] for new in ("30", "四十"))
    first = encoded("30", [name])[name].replace("#".encode(codec), "##".encode(codec), 1)
    new = middle.replace("#".encode(codec), "##".encode(codec), 1)
    mixtures = {select_parts(old, new, {number}, codec) for number in range(count_parts(old, new, codec))}

    assert mixtures == ({new} if name == "short.txt" else {first, middle})


def test_a_change_of_bytes_that_are_invalid_in_the_encoding_is_one_part() -> None:
    old, new = b"a\nb\nc", "A\nb\nC\n".encode("utf-16-le")

    assert [select_parts(old, new, chosen, "utf-16-le") for chosen in (set(), {0})] == [old, new]
    assert count_parts(old, new, "utf-16-le") == 1
