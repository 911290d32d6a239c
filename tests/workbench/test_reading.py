from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from toolmason_runtime.shared.answer_size import DEFAULT_SIZE, size_of, text_budget
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_handlers.files.blocks import BLOCK_SIZE
from workbench_handlers.files.match import MAX_SEARCHED_BYTES
from workbench_handlers.files.read import MAX_COUNTED_REST, FileSlice, LineRange, parse_line_range, read_slice
from workbench_handlers.workspace.decode import SAMPLE_BYTES
from workbench_handlers.workspace.roots import Located, Root, locate

PATIENCE_S = 30.0
"""How long a test waits for what must happen; the machine may be slow."""
FULL = text_budget() - BLOCK_SIZE
"""The size of the lines that one file may have in an answer of its own."""
LINES = FULL // size_of("# 0000001\n")
"""Of lines such as this one, so many fit."""
CUT = f"cut here, continue with start_line={LINES + 1}"
TEN = "".join(f"line {number}\n" for number in range(1, 11))


def head(answer: Any) -> str:
    """Return the first line of an answer."""
    return str(answer.text.partition("\n")[0])


def fits(answer: Any) -> bool:
    """Whether a client that shows 36,000 characters of JSON, or 10,000 tokens of it, shows the answer whole."""
    shown = json.dumps(answer.raw, ensure_ascii=False)
    return len(shown) <= DEFAULT_SIZE and estimate_tokens(shown) <= 10_000


def body(answer: Any) -> str:
    """Give what stands below the header of a block."""
    return str(answer.text.partition("\n")[2])


@pytest.mark.parametrize(
    ("part", "header", "first", "last"),
    [
        ({}, "lines 1-10 of 10", 1, 10),
        ({"head": 3}, "lines 1-3 of 10", 1, 3),
        ({"head": 99}, "lines 1-10 of 10", 1, 10),
        ({"tail": 3}, "lines 8-10 of 10", 8, 10),
        ({"tail": 99}, "lines 1-10 of 10", 1, 10),
        ({"start_line": 4}, "lines 4-10 of 10", 4, 10),
        ({"end_line": 4}, "lines 1-4 of 10", 1, 4),
        ({"start_line": 4, "end_line": 6}, "lines 4-6 of 10", 4, 6),
        ({"start_line": 10, "end_line": 99}, "lines 10-10 of 10", 10, 10),
    ],
    ids=str,
)
def test_the_part_that_was_asked_for_is_read(
    room: Any, part: dict[str, Any], header: str, first: int, last: int
) -> None:
    room.write("a.txt", TEN)
    answer = room.read("a.txt", **part)
    assert answer.texts == [f"==> a.txt ({header}) <==\n" + "".join(f"line {n}\n" for n in range(first, last + 1))]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"head": 1, "tail": 1}, "head and tail cannot be combined"),
        ({"head": 1, "start_line": 1}, "head and start_line/end_line cannot be combined"),
        ({"tail": 1, "end_line": 1}, "tail and start_line/end_line cannot be combined"),
        ({"head": 1, "read_to_next_pattern": "x"}, "head and read_to_next_pattern cannot be combined"),
        ({"end_line": 5, "start_line": 1, "read_to_next_pattern": "x"}, "cannot be combined"),
        ({"start_line": 5, "end_line": 4}, "end_line 4 is before start_line 5"),
        ({"start_line": 11}, "start_line 11 is past the end: there are 10 lines"),
        ({"read_to_next_pattern": "("}, "not a regular expression"),
    ],
    ids=str,
)
def test_parts_that_make_no_sense_are_refused_in_words(room: Any, part: dict[str, Any], message: str) -> None:
    room.write("a.txt", TEN)
    answer = room.read("a.txt", **part)
    assert answer.is_error
    assert message in answer.text


def test_a_file_that_fails_does_not_keep_the_others_from_being_read(room: Any) -> None:
    room.write("a.txt", "first")
    room.write("b.bin", b"\0\1")
    room.write("c.txt", "third")
    paths = ["a.txt", "nothing.txt", "../proj-evil/secret.txt", "b.bin", ".", "c.txt"]
    answer = room.call("read_files", files=[{"path": path} for path in paths])
    assert not answer.is_error
    texts = answer.texts
    assert texts[0] == "==> a.txt (lines 1-1 of 1) <==\nfirst"
    assert "error: no such file or directory: `nothing.txt`" in texts[1]
    assert "error: `../proj-evil/secret.txt` is outside the allowed directories" in texts[2]
    assert "error: `b.bin` is a binary file (application/octet-stream, 2 bytes): use read_media_file" in texts[3]
    assert "is a directory: use directory_tree" in texts[4]
    assert texts[5] == "==> c.txt (lines 1-1 of 1) <==\nthird"


def test_a_call_in_which_every_file_fails_is_an_error(room: Any) -> None:
    assert room.call("read_files", files=[{"path": "x"}, {"path": "y"}]).is_error


def test_progress_counts_the_files_of_one_call(room: Any, client: Any) -> None:
    room.write("a.txt", "a\nb\n")
    section = {"path": "a.txt", "read_to_next_pattern": "b"}
    room.call("read_files", client=client, files=[section, section, {"path": "a.txt"}])
    assert client.told == [1, 2, 3]
    room.call("read_files", client=client, files=[{"path": "a.txt"}] * 3)
    assert client.told[3:][-1] == 3


@pytest.mark.parametrize("part", [{}, {"head": 5}, {"tail": 5}, {"read_to_next_pattern": "x"}], ids=str)
def test_an_empty_file_is_empty(room: Any, part: dict[str, Any]) -> None:
    room.write("a.txt", "")
    assert room.read("a.txt", **part).texts == ["==> a.txt (empty) <==\n"]


@pytest.mark.parametrize("tail", [None, 1], ids=["whole", "tail"])
@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        ("é\r\nü\r\n".encode(), "é\r\nü\r\n", ""),
        ("é\nü".encode("utf-8-sig"), "é\nü", ""),
        ("é\r\nü\r\n".encode("utf-16"), "é\r\nü\r\n", "; UTF-16"),
        (b"\xfe\xff" + "é\nü\n".encode("utf-16-be"), "é\nü\n", "; UTF-16"),
        ("é\nü\n".encode("utf-32"), "é\nü\n", "; UTF-32"),
        ("café\nfür\n".encode("latin-1"), "café\nfür\n", "; windows-1252"),
        ("a\x0bb\x0c\u2028c\rd\n e\n".encode(), "a\x0bb\x0c\u2028c\rd\n e\n", ""),
    ],
    ids=["crlf", "bom", "utf-16", "utf-16-be", "utf-32", "windows-1252", "odd separators"],
)
def test_text_comes_as_it_is_in_whatever_encoding(
    room: Any, data: bytes, text: str, note: str, tail: int | None
) -> None:
    room.write("a.txt", data)
    answer = room.read("a.txt") if tail is None else room.read("a.txt", tail=tail)
    lines = text.split("\n")
    last = text if tail is None else (f"{lines[-2]}\n" if text.endswith("\n") else lines[-1])
    assert answer.text == f"==> a.txt (lines {1 if tail is None else 2}-2 of 2{note}) <==\n{last}"


def test_invalid_utf_8_far_into_a_file_is_replaced(room: Any) -> None:
    room.write("a.txt", b"a" * 70_000 + b"\n\xff\n")
    assert body(room.read("a.txt", start_line=2)) == "\ufffd\n"


def test_a_section_ends_before_the_next_line_that_matches(room: Any) -> None:
    room.write("a.md", "# One\ntext\n## Two\nmore\n# Three\nend\n")
    answer = room.read("a.md", read_to_next_pattern="^# ")
    assert answer.text == (
        "==> a.md (lines 1-4 of 6; line 5 matches read_to_next_pattern) <==\n# One\ntext\n## Two\nmore\n"
    )
    from_two = room.read("a.md", start_line=3, read_to_next_pattern="^#+ ")
    assert "; line 5 matches read_to_next_pattern)" in head(from_two)
    assert body(from_two) == "## Two\nmore\n"


@pytest.mark.parametrize("start", [5, 6])
def test_a_section_without_a_next_one_goes_to_the_end(room: Any, start: int) -> None:
    room.write("a.md", "# One\ntext\n## Two\nmore\n# Three\nend\n")
    answer = room.read("a.md", start_line=start, read_to_next_pattern="^# ")
    assert answer.text.endswith("end\n")
    assert "; no line after the first one matches read_to_next_pattern)" in head(answer)


def test_a_pattern_that_would_take_for_ever_is_ended(room: Any) -> None:
    async def read() -> FileSlice:
        return await read_slice(
            locate("a.txt", room.roots), LineRange(stop_pattern=r"(a+)+$"), budget=1000, passthrough=False, seconds=0.5
        )

    room.write("a.txt", "x\n" + "a" * 60 + "b\n")
    with pytest.raises(ToolError, match="stopped after"):
        asyncio.run(read())


def test_a_large_file_is_cut_between_lines_with_the_next_start_line(room: Any) -> None:
    text = "".join(f"{number:09}\n" for number in range(1, 20_001))
    room.write("a.log", text)
    parts, start = [], 1
    while start:
        answer = room.read("a.log", start_line=start)
        parts.append(body(answer))
        assert "of 20000" in head(answer)
        assert fits(answer)
        _, _, following = head(answer).partition("; cut here, continue with start_line=")
        start = int(following.partition(")")[0] or 0)
    assert "".join(parts) == text


def test_files_share_the_room_of_one_answer(room: Any) -> None:
    room.write("a.log", f"{'a' * 99}\n" * 1000)
    room.write("b.log", f"{'b' * 99}\n" * 1000)
    answer = room.call("read_files", files=[{"path": path} for path in ("a.log", "b.log", "b.log")])
    cut = int(head(answer).partition("a.log from start_line=")[2].partition(",")[0])
    assert head(answer).startswith("[to read in another call: a.log from start_line=")
    assert answer.texts[0].partition("\n")[2].startswith(f"==> a.log (lines 1-{cut - 1} of 1000; cut here, continue")
    assert answer.texts[1].startswith("==> b.log (")
    assert answer.texts[2].startswith("==> b.log (")
    assert fits(answer)


@pytest.mark.parametrize(
    "line",
    ["a" * 99, '"' * 99, "\\" * 99, "", "é" * 99, "漢字" * 50, "😀" * 30, "\x01" * 20, "a,b;c " * 20, "\t\r"],
    ids=["plain", "quotes", "backslashes", "empty", "accents", "han", "emoji", "control", "tokens", "white"],
)
@pytest.mark.parametrize("files", [1, 50])
def test_an_answer_fits_as_serialised_whatever_the_text(room: Any, line: str, files: int) -> None:
    room.write("a.txt", f"{line}\n" * 40_000)
    answer = room.call("read_files", files=[{"path": "a.txt"}] * files)
    assert fits(answer)
    assert "continue with start_line=" in head(answer) or "from start_line=" in head(answer)


def test_fifty_files_that_cannot_be_read_fit_into_one_answer(room: Any) -> None:
    answer = room.call("read_files", files=[{"path": f"{'no/' * 300}{number}"} for number in range(50)])
    assert answer.is_error
    assert len(answer.texts) == 50
    assert fits(answer)


def test_one_setting_makes_answers_larger_or_smaller(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room.write("a.txt", f"{'a' * 99}\n" * 10_000)
    monkeypatch.setenv("TOOLMASON_MAX_ANSWER_CHARS", "200000")
    assert 150_000 < len(room.read("a.txt").text) < 200_000
    monkeypatch.setenv("TOOLMASON_MAX_ANSWER_CHARS", "8000")
    assert 4_000 < len(room.read("a.txt").text) < 8_000
    monkeypatch.setenv("TOOLMASON_MAX_ANSWER_CHARS", "many")
    assert fits(room.read("a.txt"))


def test_a_line_longer_than_an_answer_is_cut_with_a_note(room: Any) -> None:
    room.write("a.txt", "a" * 200_000 + "\nb\n")
    answer = room.read("a.txt")
    shown = len(body(answer))
    assert FULL - 10 <= shown <= FULL
    assert f"; line 1 is cut after {shown:,} characters; grep_content shows the text around" in head(answer)
    assert body(room.read("a.txt", start_line=2)) == "b\n"
    room.write("b.txt", "b\n" + "a" * 200_000)
    tail = room.read("b.txt", tail=1)
    assert f"; only the last {len(body(tail)):,} characters of the line are shown)" in head(tail)
    assert FULL - 10 <= len(body(tail)) <= FULL


def test_grep_content_shows_the_middle_of_a_long_line(room: Any) -> None:
    room.write("a.txt", "a" * 200_000 + " the place " + "b" * 200_000)
    assert "grep_content" in room.read("a.txt").text
    assert "aa the place bb" in room.call("grep_content", pattern="the place").text


def test_a_line_of_a_file_that_is_too_large_to_search_is_not_left_to_grep_content(room: Any) -> None:
    room.write("a.txt", "a" * (MAX_SEARCHED_BYTES + 1))
    assert "grep_content" not in head(room.read("a.txt"))


def huge(room: Any) -> Located:
    """Give a file that no disk holds: its one line has a beginning, and then nothing for tens of gigabytes."""
    if sys.platform == "win32":
        pytest.skip("Windows would give it room on the disk")
    with room.write("a.txt", "a" * SAMPLE_BYTES).open("r+b") as stream:
        stream.truncate(60_000_000_000)
    return locate("a.txt", room.roots)


def test_a_part_that_is_too_far_away_is_given_up_in_words(room: Any) -> None:
    read = read_slice(huge(room), LineRange(start=10**12), budget=1000, passthrough=False, read_seconds=0.1)
    with pytest.raises(ToolError, match=r"`a.txt` \(60,000,000,000 bytes\) is too large to reach these lines"):
        asyncio.run(read)


def test_lines_that_cannot_be_counted_in_time_are_not_counted(room: Any) -> None:
    part = asyncio.run(read_slice(huge(room), LineRange(end=1), budget=1000, passthrough=False))
    assert (part.text, part.total) == ("a" * 1000, None)


def test_lines_far_behind_a_part_are_not_counted(room: Any) -> None:
    room.write("a.txt", TEN + "x\n" * (MAX_COUNTED_REST // 2))
    assert "(lines 1-3 of 500010)" in head(room.read("a.txt", head=3))
    room.write("a.txt", TEN + "x\n" * MAX_COUNTED_REST)
    answer = room.read("a.txt", head=3)
    assert answer.text == "==> a.txt (lines 1-3 of more than 3) <==\nline 1\nline 2\nline 3\n"
    assert "continue with start_line=" in head(room.read("a.txt"))
    assert f"of {MAX_COUNTED_REST + 10})" in head(room.read("a.txt", start_line=MAX_COUNTED_REST))


def test_the_smallest_answer_of_fifty_files_reports_omitted_text(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room.write("a.txt", "a" * 1_000_000)
    monkeypatch.setenv("TOOLMASON_MAX_ANSWER_CHARS", "4000")
    answer = room.call("read_files", files=[{"path": "a.txt"}] * 50)
    assert answer.texts[0].startswith("[to read in another call: ")
    assert len(answer.text) < 4_000


def test_a_cancelled_reading_ends(room: Any) -> None:
    async def cancel() -> None:
        reading = read_slice(
            huge(room), LineRange(start=10**12), budget=1000, passthrough=False, read_seconds=PATIENCE_S * 9
        )
        running = asyncio.ensure_future(reading)
        done, _ = await asyncio.wait({running}, timeout=0.1)
        assert not done
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.get_running_loop().shutdown_default_executor()  # which waits for its threads

    asyncio.run(cancel())


@pytest.mark.parametrize(
    ("end", "notes"),
    [
        (LINES + 1000, f"{CUT}; the section ends at line {LINES + 1000}: line {LINES + 1001} matches"),
        (LINES, f"line {LINES + 1} matches"),
        (LINES - 1, f"line {LINES} matches"),
        (20_000, f"{CUT}; no line after the first one matches"),
    ],
)
def test_a_section_longer_than_an_answer_has_its_end(room: Any, end: int, notes: str) -> None:
    lines = [f"{'#' if number == end + 1 else '-'} {number:07}\n" for number in range(1, 20_001)]
    room.write("a.md", "".join(lines))
    answer = room.read("a.md", read_to_next_pattern="^#")
    assert f"; {notes} read_to_next_pattern)" in head(answer)
    assert body(answer) == "".join(lines[: min(end, LINES)])


def test_a_section_with_a_long_first_line_has_its_end(room: Any) -> None:
    room.write("a.md", f"# {'a' * 100_000}\ntext\n# next\n")
    answer = room.read("a.md", read_to_next_pattern="^#")
    assert "; the section ends at line 2: line 3 matches read_to_next_pattern" in head(answer)


def test_an_end_too_far_away_is_not_denied(room: Any) -> None:
    room.write("a.md", "# one\n" + f"{'a' * 99}\n" * 110_000 + "# two\n")
    first = head(room.read("a.md", read_to_next_pattern="^#"))
    assert re.search(r"matches read_to_next_pattern up to line 100\d+; further lines were not searched\)", first)


def test_a_long_tail_is_cut_at_its_beginning(room: Any) -> None:
    room.write("a.log", "".join(f"# {number:07}\n" for number in range(1, 20_001)))
    answer = room.read("a.log", tail=15_000)
    assert f"(lines {20_001 - LINES}-20000 of 20000; cut to the last {LINES} lines; read the ones before" in head(
        answer
    )


@pytest.mark.parametrize(
    ("name", "tool"),
    [("a.json", "query_json"), ("a.YAML", "query_yaml"), ("a.yml", "query_yaml"), ("a.toml", "query_toml")],
)
def test_large_data_files_are_left_to_queries_unless_asked_for(room: Any, name: str, tool: str) -> None:
    room.write(name, json.dumps(list(range(30_000)), indent=1))
    refused = room.read(name)
    assert refused.is_error
    assert f'start with {tool}(file_path="{name}"' in refused.text
    assert "large_file_passthrough" in refused.text
    passed = room.call("read_files", files=[{"path": name}], large_file_passthrough=True)
    assert body(passed).startswith("[\n 0,\n 1,")
    assert body(room.read(name, head=2)) == "[\n 0,\n"


def test_small_data_files_are_read_like_others(room: Any) -> None:
    room.write("a.json", "{}")
    assert body(room.read("a.json")) == "{}"


def test_a_line_range_without_arguments_is_whole() -> None:
    assert parse_line_range().is_whole
    assert not parse_line_range(head=1).is_whole
    assert not parse_line_range(start_line=2).is_whole


TEXTS = st.lists(st.text(alphabet="ab \r\x0b\x0c\u2028é", max_size=5), max_size=30).map("\n".join)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=TEXTS,
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    first=st.integers(1, 35),
    count=st.integers(1, 35),
    is_tail=st.booleans(),
)
def test_any_part_equals_the_text_split_at_line_feeds(
    tmp_path: Path, *, text: str, codec: str, first: int, count: int, is_tail: bool
) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode(codec))
    located = locate("a.txt", (Root.of(str(tmp_path), "a test"),))
    lines = [f"{line}\n" for line in text.split("\n")]
    lines = [*lines[:-1], *([lines[-1][:-1]] if lines[-1] != "\n" else [])]
    wanted = LineRange(tail=count) if is_tail else LineRange(start=first, end=first + count - 1)
    expected = lines[-count:] if is_tail else lines[first - 1 : first + count - 1]
    read = read_slice(located, wanted, budget=10_000, passthrough=False)
    if not is_tail and first > max(1, len(lines)):
        with pytest.raises(ToolError, match=f"there are {len(lines)} lines"):
            asyncio.run(read)
        return
    part = asyncio.run(read)
    assert part.text == "".join(expected)
    assert part.total == len(lines)
    if expected:
        assert part.first == (len(lines) - len(expected) + 1 if is_tail else first)
        assert part.last == (part.first or 0) + len(expected) - 1


def test_the_only_line_of_a_large_file_is_not_followed_by_others(room: Any) -> None:
    room.write("a.txt", "x" * (2 * MAX_COUNTED_REST))
    assert "(lines 1-1 of at least 1; line 1 is cut" in head(room.read("a.txt", head=1))


@pytest.mark.parametrize("character", ["\x0b", "\r\x0b", "\x01a", "\x7f", "é", "\U0001f600", '"'], ids=repr)
def test_an_answer_of_short_lines_of_odd_characters_fits(room: Any, character: str) -> None:
    for length in (1_000, 5_000, 20_000):
        room.write("a.txt", f"{character * 20}\n" * (length // 20))
        assert fits(room.read("a.txt"))
