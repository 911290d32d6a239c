from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.files import ripgrep
from workbench_handlers.files.grep import GREP_SECONDS, GrepRequest, grep
from workbench_handlers.files.match import MAX_SEARCHED_BYTES
from workbench_handlers.files.ripgrep import (
    expressions_of_text,
    is_ascii_pattern,
    list_candidates,
    list_non_utf8_files,
    required_literal,
    search_lines,
)
from workbench_handlers.files.sections import find_boundaries, section_at
from workbench_handlers.workspace.open import existing

RIPGREP = shutil.which("rg")
NO_MATCH = "no matches"


@pytest.fixture(params=["ripgrep", "python"])
def program(request: pytest.FixtureRequest) -> str:
    """Both ways to search must answer the same."""
    if request.param == "python":
        return ""
    assert RIPGREP, "install ripgrep: both ways of searching are tested"
    return RIPGREP


@pytest.fixture
def find(room: Any, tool_call: ToolCall, program: str) -> Any:
    def run(pattern: str, path: str = ".", **search: Any) -> str:
        return asyncio.run(grep(existing(path, room.roots), GrepRequest(pattern=pattern, **search), program, tool_call))

    return run


def files_of(answer: str) -> list[str]:
    return [block.partition("\n")[0] for block in answer.partition("\n")[2].split("\n\n")] if answer != NO_MATCH else []


def test_matches_come_by_file_with_context_and_count(room: Any, find: Any) -> None:
    room.write("b.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\nthree\n")
    room.write("a/c.txt", "three\r\nend\r\n")
    assert find("thr.e", context=1) == (
        "[3 matching lines in 2 files]\n"
        "a/c.txt\n1: three\n2- end\n\n"
        "b.txt\n2- two\n3: three\n4- four\n--\n7- seven\n8: three"
    )


def test_matches_that_touch_are_shown_together(room: Any, find: Any) -> None:
    room.write("a.txt", "1 x\n2\n3\n4 x\n5\n")
    assert find("x", context=1) == "[2 matching lines in 1 files]\na.txt\n1: 1 x\n2- 2\n3- 3\n4: 4 x\n5- 5"


def test_a_search_without_matches_is_reported(room: Any, find: Any) -> None:
    room.write("a.txt", "one\n")
    assert find("two") == NO_MATCH


def test_a_search_is_case_sensitive_unless_ignore_case_is_set(room: Any, find: Any) -> None:
    room.write("a.txt", "Écho\necho\n")
    assert "[1 matching line]" in find("echo")
    assert "1: Écho" in find("écho", ignore_case=True)


def test_a_single_file_is_searched_even_if_it_is_ignored(room: Any, find: Any) -> None:
    room.write(".gitignore", "*.log\n")
    room.write("a.log", "word\n")
    assert find("word") == NO_MATCH
    assert files_of(find("word", "a.log")) == ["a.log"]


def test_ignored_entries_are_left_out_at_every_level(room: Any, find: Any) -> None:
    for name in (
        "kept.txt",
        "x.log",
        "keep.log",
        "sub/y.log",
        "sub/kept.txt",
        "sub/deep/tmp/z.txt",
        "sub/deep/kept.tmp",
        "build/out.txt",
        "node_modules/m/index.js",
        ".git/config",
        ".hidden/kept.txt",
    ):
        room.write(name, "word\n")
    room.write(".gitignore", "*.log\n!keep.log\n/build/\n")
    room.write("sub/.gitignore", "tmp/\n!y.log\n")
    everything = [".hidden/kept.txt", "keep.log", "kept.txt", "sub/deep/kept.tmp", "sub/kept.txt", "sub/y.log"]
    assert sorted(files_of(find("word"))) == everything
    assert sorted(files_of(find("word", "sub"))) == ["sub/deep/kept.tmp", "sub/kept.txt", "sub/y.log"]
    assert files_of(find("word", "sub/deep")) == ["sub/deep/kept.tmp"]
    assert files_of(find("word", "node_modules")) == ["node_modules/m/index.js"]


def test_rules_above_the_root_do_not_count(room: Any, find: Any) -> None:
    (room.project.parent / ".gitignore").write_text("*.txt\n", encoding="utf-8")
    room.write("a.txt", "word\n")
    assert files_of(find("word")) == ["a.txt"]


def test_other_encodings_are_searched_and_binary_files_are_not(room: Any, find: Any) -> None:
    room.write("utf16.txt", "wörd\n".encode("utf-16"))
    room.write("bin.dat", b"\0w\xc3\xb6rd\n")
    assert files_of(find("w.rd")) == ["utf16.txt"]


def test_links_are_not_followed(room: Any, find: Any) -> None:
    (room.outside / "more.txt").write_text("word\n", encoding="utf-8")
    (room.project / "file.txt").symlink_to(room.outside / "more.txt")
    (room.project / "folder").symlink_to(room.outside)
    (room.project / "loop").symlink_to(".")
    assert find("word") == NO_MATCH
    with pytest.raises(ToolError, match="outside the allowed"):
        find("word", "folder")


@pytest.mark.parametrize("pattern", ["--pre=./evil.sh", "--help", "-e", "-", "--files", "-f/etc/passwd"])
def test_a_pattern_that_looks_like_an_option_is_a_pattern(room: Any, find: Any, pattern: str) -> None:
    room.write("a.txt", f"before {pattern} after\n")
    evil = room.write("evil.sh", "#!/bin/sh\ntouch ran\n")
    evil.chmod(evil.stat().st_mode | stat.S_IXUSR)
    assert "1: before" in find(pattern, "a.txt")
    assert not (room.project / "ran").exists()


def test_a_file_that_looks_like_an_option_is_a_file(room: Any, find: Any) -> None:
    room.write("--pre=x", "word\n")
    room.write("-", "word\n")
    assert sorted(files_of(find("word"))) == ["-", "--pre=x"]
    assert files_of(find("word", "--pre=x")) == ["--pre=x"]


def test_settings_of_the_user_do_not_change_the_answer(room: Any, find: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = room.write("rc", "--max-count=1\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(settings))
    room.write("a.txt", "word\nword\n")
    assert "[2 matching lines in 1 files]" in find("word", "a.txt")


def test_patterns_unsupported_by_rust_are_searched_by_python(room: Any, find: Any) -> None:
    room.write("a.txt", "aXX\nbXX\n")
    assert "2: bXX" in find(r"(?<=b)(X)\1")


@pytest.mark.parametrize(
    ("pattern", "message"), [("(", "not a regular expression"), ("a\nb", "within one line"), ("a\0", "within one line")]
)
def test_an_invalid_pattern_is_refused(room: Any, find: Any, pattern: str, message: str) -> None:
    room.write("a.txt", "word\n")
    with pytest.raises(ToolError, match=message):
        find(pattern)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("word" + "x" * 5000, f"1: word{'x' * 396}... (match at character 1 of 5,004)"),
        ("é" * 5000 + "word", f"1: ...{'é' * 396}word (match at character 5,001 of 5,004)"),
        (
            "x" * 5000 + "word" + "y" * 5000,
            f"1: ...{'x' * 200}word{'y' * 196}... (match at character 5,001 of 10,004)",
        ),
    ],
    ids=["begin", "end", "middle"],
)
def test_a_long_line_is_cut_around_the_match(room: Any, find: Any, text: str, shown: str) -> None:
    for codec in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        room.write("a.txt", f"{text}\n".encode(codec))
        assert find("word") == f"[1 matching line]\na.txt\n{shown}"


def test_a_long_line_without_a_match_is_cut(room: Any, find: Any) -> None:
    room.write("a.txt", "x" * 5000 + "\nword\n")
    assert f"1- {'x' * 400}... (5,000 characters)\n2: word" in find("word", context=1)


def test_a_line_of_megabytes_is_a_line(room: Any, find: Any) -> None:
    room.write("a.txt", "a" * 5_000_000)
    room.write("b.txt", "a\n")
    answer = find("a")
    assert "(match at character 1 of 5,000,000)" in answer
    assert answer.startswith("[2 matching lines in 2 files]\n")
    assert answer.endswith("b.txt\n1: a")


@pytest.mark.skipif(not shutil.which("rg"), reason="ripgrep is missing")
def test_a_slow_list_of_candidates_leaves_time_for_the_search(
    room: Any, tool_call: ToolCall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow-rg"
    slow.write_text(f'#!/bin/sh\nmkdir "$0.started" 2>/dev/null && sleep 60\nexec {shutil.which("rg")} "$@"\n')
    slow.chmod(0o755)
    room.write("a.txt", "café\n")
    monkeypatch.setattr(ripgrep, "CANDIDATE_SECONDS", 0.2)

    answer = asyncio.run(grep(existing(".", room.roots), GrepRequest(pattern="café"), str(slow), tool_call))

    assert answer == "[1 matching line]\na.txt\n1: café"
    assert (tmp_path / "slow-rg.started").exists()
    assert ripgrep.CANDIDATE_SECONDS + ripgrep.UNSORTED_SECONDS < GREP_SECONDS


def test_a_named_file_is_refused_where_a_search_of_its_directory_skips_it(room: Any, find: Any) -> None:
    room.write("a.txt", "a" * MAX_SEARCHED_BYTES)
    assert find("a", "a.txt").startswith("[1 matching line]")
    room.write("a.txt", "a" * (MAX_SEARCHED_BYTES + 1))

    with pytest.raises(ToolError, match="has 10,000,001 bytes, more than the limit of 10,000,000: read a part of it"):
        find("a", "a.txt")
    assert find("a") == NO_MATCH


def test_a_file_with_a_line_break_in_its_name_is_a_file(room: Any, find: Any) -> None:
    room.write("a\n1:1:b.txt", "word\nword\n")
    assert find("word").endswith("\na\n1:1:b.txt\n1: word\n2: word")


def test_a_pattern_too_large_for_rust_is_left_to_python(room: Any, find: Any) -> None:
    room.write("a.txt", "x" * 300 + "\n" + "x" * 2100 + "\n")
    assert "2: xxx" in find(r"\w{2000}")


@pytest.mark.parametrize(
    ("complaint", "is_believed"),
    [
        ("rg: ./b.txt: Permission denied (os error 13)", True),
        ("./b.txt: Permission denied (os error 13)", True),
        ("Compiled regex exceeds size limit of 104857600 bytes.", False),
        ("", False),
    ],
    ids=["file", "file, ripgrep 13", "pattern", "nothing"],
)
def test_the_answer_of_ripgrep_is_kept_only_after_file_errors(
    room: Any, tool_call: ToolCall, tmp_path: Path, complaint: str, *, is_believed: bool
) -> None:
    room.write("a.txt", "word\n")
    finder = tmp_path / "rg"
    told = f"printf './a.txt\\0001:1:x\\n'; printf '{complaint}\\n' >&2; exit 2"
    finder.write_text(f"#!/bin/sh\n{told}\n", encoding="utf-8")
    finder.chmod(0o700)
    searched = grep(existing(".", room.roots), GrepRequest(pattern="not for Python"), str(finder), tool_call)
    assert ("1: word" in asyncio.run(searched)) is is_believed


@pytest.mark.parametrize("pattern", ["café", "caf.( |$)", r"caf\w\b", "CAF\u00c9"])
def test_latin_1_is_searched_as_it_is_shown(room: Any, find: Any, pattern: str) -> None:
    room.write("a.txt", "a café\nno caf\n".encode("latin-1"))
    room.write("sub/b.txt", "a café\nno caf\n")
    room.write("ignored.log", "a café\n".encode("latin-1"))
    room.write("c.bin", b"\0" + "a café\n".encode("latin-1"))
    room.write(".gitignore", "*.log\n")
    answer = find(pattern, ignore_case=True)
    assert sorted(files_of(answer)) == ["a.txt", "sub/b.txt"]
    assert answer.count("1: a café") == answer.count("caf") == 2
    assert files_of(find(pattern, "a.txt", ignore_case=True)) == ["a.txt"]


@pytest.mark.parametrize("pattern", ["caf", "^no caf$", r"a? (caf|x)", "[a-c]af", r"no\.*"])
def test_an_ascii_pattern_finds_the_same_in_latin_1_and_utf_8(room: Any, find: Any, pattern: str) -> None:
    text = "é a café\nno caf\n\xe9\n"
    room.write("a.txt", text.encode("latin-1"))
    room.write("b.txt", text)
    first, _, answer = find(pattern).partition("\n")
    latin1, utf8 = answer.split("\n\n")
    assert (latin1.partition("\n")[2], "in 2 files" in first) == (utf8.partition("\n")[2], True)


@pytest.mark.parametrize(
    ("pattern", "is_ascii"),
    [
        *((pattern, True) for pattern in ("def main", "a|b", "(x)+$", "[a-z_]{2}", r"f\(\)", r"a\\b", "^$")),
        *((pattern, False) for pattern in ("a.b", r"\w", r"\s", "[^a]", "(?i)a", "é", "[é]", r"\bx", r"\<x", "(?:a)")),
    ],
)
def test_only_patterns_that_match_ascii_alone_are_ascii_patterns(pattern: str, is_ascii: bool) -> None:
    assert is_ascii_pattern(pattern) is is_ascii


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        *((r"^\s*def \w+", "def "), (r"foo\.bar\d+", "foo.bar"), ("colou?r.*x", "colo"), ("abcd*", "abc")),
        *(("ab{2}cde", "cde"), (r"\[x\]=.", "[x]="), ("ab[cd]ef+gh", "ab"), ("a+bc", "bc"), ("x*?yz.", "yz")),
        *((pattern, "") for pattern in ("a|bc.", "(abc)?.", "(?i)abc.", r"\x41bc.", r"\p{L}abc", "[^]a]bcd", "é.abc")),
        *((pattern, "") for pattern in (r"\<abc.", r"\b{start}abc", "[a&&[^b]]abc", "a{x}bcd", "[[:alpha:]]bcd", ".*")),
    ],
)
def test_the_required_text_of_a_pattern_is_in_each_match(pattern: str, literal: str) -> None:
    assert required_literal(pattern, ignore_case=False) == literal


def test_a_required_text_has_no_letter_that_another_character_equals_without_case() -> None:
    assert required_literal(r"stack\w+", ignore_case=True) == "tac"
    assert required_literal(r"izmir\b", ignore_case=True) == "zm"


def test_a_pattern_with_a_required_text_finds_it_in_every_encoding(room: Any, find: Any) -> None:
    text = "the café costs 3 °C more\n"
    for name, codec in (("a", "utf-8"), ("b", "latin-1"), ("c", "utf-16"), ("d", "utf-16-le"), ("e", "utf-16-be")):
        room.write(f"{name}.txt", text.encode(codec))
    room.write("other.txt", "nothing of that\n".encode("utf-16-le"))
    room.write("f.bin", b"\0\1\2 caf\xe9 costs 3\n")
    answer = find(r"caf\w costs")
    assert sorted(files_of(answer)) == ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]
    assert answer.count(f"1: {text.strip()}") == 5


def test_files_with_lone_carriage_returns_and_turkish_capitals_are_found(room: Any, find: Any) -> None:
    room.write("mac.txt", b"first\r\x95 item eins\r\x95 item zwei\r")
    room.write("turkish.txt", ("İzmir ve çevresi, güneşli öğleden sonra\n" * 8).encode("windows-1254"))
    assert files_of(find(". item (eins|zwei)")) == ["mac.txt"]
    assert files_of(find(r"izmir .", ignore_case=True)) == ["turkish.txt"]


@pytest.mark.parametrize(
    "pattern", [r"the \s*", r"\[x\] = \{1\}\^\$\|\(\)\d", r"a-b, 'c'; \"d\"\w", r"&<x>: @y/%!`\s", r"\+\*\?\.\-,\w"]
)
def test_ripgrep_itself_finds_the_files_with_a_required_text(room: Any, pattern: str) -> None:
    assert RIPGREP, "install ripgrep"
    literal = required_literal(pattern, ignore_case=False)
    room.write("a.txt", f"x {literal} y\n")
    room.write("sub/b.txt", f"x {literal} y\n".encode("utf-16-le"))
    room.write("c.txt", "x y\n")
    expressions = expressions_of_text(literal)
    found = asyncio.run(list_candidates(RIPGREP, room.project, expressions, ignore_case=False))
    assert len(literal) > 3
    assert sorted(found or []) == ["a.txt", "sub/b.txt"]


def test_a_required_text_of_many_files_is_found_in_all_of_them(room: Any, find: Any) -> None:
    for number in range(250):
        room.write(f"{number:03}.txt", "word one\n")
    room.write("zzz.txt", "word été\n".encode("latin-1"))
    answer = find(r"word \w+")
    assert answer.startswith("[200 matching lines in 200 files")
    assert files_of(find(r"word \w+é")) == ["zzz.txt"]


def test_a_wrong_pattern_is_an_error_even_if_no_file_has_its_text(room: Any, find: Any) -> None:
    room.write("a.txt", "one\n")
    with pytest.raises(ToolError, match="not a regular expression"):
        find(r"nowhere \w{3,1}")


PIECES = st.sampled_from(
    [
        b"a",
        b"\n",
        b"\r",
        b"\r\n",
        "é".encode(),
        "€".encode(),
        "\U0001f600".encode(),
        "\ud7ff".encode(),
        "\ue000".encode(),
    ]
) | st.integers(0x80, 0xFF).map(lambda byte: bytes([byte]))


@settings(max_examples=15, deadline=None)
@given(files=st.lists(st.lists(PIECES, max_size=6).map(b"".join), min_size=1, max_size=60))
def test_exactly_the_files_that_are_not_utf8_are_listed(files: list[bytes]) -> None:
    assert RIPGREP, "install ripgrep"
    with tempfile.TemporaryDirectory() as directory:
        for number, data in enumerate(files):
            Path(directory, f"{number}.txt").write_bytes(data)

        async def search() -> set[str]:
            return {name async for (name,) in list_non_utf8_files(str(RIPGREP), Path(directory))}

        listed = asyncio.run(search())
    for number, data in enumerate(files):
        assert (f"{number}.txt" in listed) is (data.decode("utf-8", "ignore").encode() != data)


NAMES = st.text(alphabet="aB.- _~é\uffff\U0001f600", min_size=1, max_size=3).filter(lambda name: name.strip(".") != "")


@settings(max_examples=20, deadline=None)
@given(paths=st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8))
def test_matches_come_in_the_order_in_which_ripgrep_sorts_paths(paths: set[str]) -> None:
    assert RIPGREP, "install ripgrep"
    with tempfile.TemporaryDirectory() as directory:
        for path in sorted(paths):
            with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                file = Path(directory, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("word\n", encoding="utf-8")
        command = [RIPGREP, "--no-config", "--hidden", "--no-ignore", "-l", "--null", "--sort=path", "word", "./"]
        ran = subprocess.run(command, cwd=directory, capture_output=True, check=True)
        expected = [Path(os.fsdecode(path)).parts for path in ran.stdout.split(b"\0") if path]

        async def search() -> list[tuple[str, ...]]:
            found = search_lines(str(RIPGREP), Path(directory), [""], "word", ignore_case=False, most=5)
            return [parts async for parts, _ in found]

        assert asyncio.run(search()) == expected


def test_more_matches_than_are_sorted_here_come_in_the_same_order(room: Any, find: Any) -> None:
    for number in range(30):
        room.write(f"{number:02}.txt", "word\n" * 100)
    assert files_of(find("word")) == ["00.txt", "01.txt"]


def test_unsearched_latin_1_files_are_reported(room: Any, tool_call: ToolCall) -> None:
    room.write("a.txt", "café\n".encode("latin-1"))
    room.write("b.txt", "café\n")
    searched = grep(existing(".", room.roots), GrepRequest(pattern=r"caf\p{L}"), RIPGREP or "", tool_call)
    answer = asyncio.run(searched)
    assert files_of(answer) == ["b.txt"]
    assert r"1 files that are not UTF-8 were not searched: `caf\p{L}` is not a regular expression" in answer


def test_a_search_without_matches_reports_progress(room: Any, client: Any, tool_call: ToolCall, program: str) -> None:
    room.write("a.txt", "word\n")
    search = GrepRequest(pattern="nothing", progress_seconds=0)
    assert asyncio.run(grep(existing(".", room.roots), search, program, tool_call)) == NO_MATCH
    assert client.told
    assert client.told == sorted(set(client.told))


def test_progress_depends_on_time_and_not_on_the_number_of_files(
    room: Any, client: Any, tool_call: ToolCall, program: str
) -> None:
    for number in range(20):
        room.write(f"{number}.txt", "word\n")
    search = GrepRequest(pattern="word", progress_seconds=1000)
    assert "in 20 files" in asyncio.run(grep(existing(".", room.roots), search, program, tool_call))
    assert client.told == []


def test_many_matches_are_cut_with_a_note(room: Any, find: Any) -> None:
    room.write("a.txt", "word\n" * 150)
    room.write("b.txt", "word\n" * 150)
    answer = find("word")
    assert answer.count(": word") == 200
    assert answer.startswith("[200 matching lines in 2 files; more matches exist: narrow `pattern` or `search_path`]\n")
    room.write("b.txt", "word\n" * 50)
    assert find("word").startswith("[200 matching lines in 2 files]\n")


def test_each_match_has_the_end_of_its_section(room: Any, find: Any) -> None:
    room.write("a.md", "# One\n\n## Two\nword\n### Three\ntext\n```\n# no heading\n```\n## Four\nword\n")
    assert find("word") == (
        "[2 matching lines in 1 files]\na.md\n4: word\n  (section `## Two` starts at line 3 and ends at line 9)\n--\n"
        "11: word\n  (section `## Four` starts at line 10 and ends at line 11)"
    )


def test_the_section_lines_of_a_match_work_in_read_files(room: Any) -> None:
    room.write("a.md", "# One\n\n## Two\nword\nmore\n## Four\n")
    assert "starts at line 3 and ends at line 5" in room.call("grep_content", pattern="word").text
    assert room.read("a.md", start_line=3, end_line=5).text.endswith("## Two\nword\nmore\n")


def test_section_patterns_can_be_set(room: Any, find: Any) -> None:
    room.write("a.log", "== boot\nword\n== run\nword\nend\n")
    answer = find("word", section_patterns=("^== ",))
    assert "(section `== boot` starts at line 1 and ends at line 2)" in answer
    assert "(section `== run` starts at line 3 and ends at line 5)" in answer


def test_a_wrong_pattern_is_named(room: Any, find: Any) -> None:
    room.write("a.log", "word\n")
    for pattern in ("word", "nothing"):
        with pytest.raises(ToolError, match=r"^`\(` is not a regular expression"):
            find(pattern, section_patterns=("^ok", "("))
    with pytest.raises(ToolError, match=r"^`\[` is not a regular expression"):
        find("[")


def test_a_pattern_that_would_take_for_ever_in_python_is_ended(room: Any, tool_call: ToolCall) -> None:
    async def search() -> str:
        found = GrepRequest(pattern=r"(?=a)(a+)+$", seconds=0.5)
        return await grep(existing(".", room.roots), found, RIPGREP or "", tool_call)

    room.write("a.txt", "a" * 60 + "b\n")
    assert asyncio.run(search()).startswith("stopped at the time limit")


def test_a_cancelled_search_leaves_no_process_behind(room: Any, tool_call: ToolCall, children: Any) -> None:
    async def cancel() -> None:
        search = GrepRequest(pattern=r"(?=a)(a+)+$")
        running = asyncio.ensure_future(grep(existing(".", room.roots), search, "", tool_call))
        await children.some()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not children.now()

    room.write("a.txt", "a" * 60 + "b\n")
    asyncio.run(cancel())


@pytest.mark.parametrize("found", ["link.txt", "folder/secret.txt"])
def test_a_match_replaced_by_a_link_is_not_shown(room: Any, tool_call: ToolCall, tmp_path: Path, found: str) -> None:
    (room.project / "link.txt").symlink_to(room.outside / "secret.txt")
    (room.project / "folder").symlink_to(room.outside)
    finder = tmp_path / "rg"
    finder.write_text(f"#!/bin/sh\nprintf './{found}\\0001:1:x\\n'\n", encoding="utf-8")
    finder.chmod(0o700)
    searched = grep(existing(".", room.roots), GrepRequest(pattern="secret"), str(finder), tool_call)
    assert asyncio.run(searched) == NO_MATCH


def test_without_ripgrep_at_its_place_python_searches(room: Any, tool_call: ToolCall) -> None:
    room.write("a.txt", "word\n")
    searched = grep(existing(".", room.roots), GrepRequest(pattern="word"), str(room.outside / "rg"), tool_call)
    assert "1: word" in asyncio.run(searched)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep_content", {"pattern": "secret"}),
        ("search_files", {"path": ".", "pattern": "*"}),
        ("directory_tree", {"path": "./"}),
        ("list_directory_with_sizes", {"path": "."}),
    ],
)
def test_several_roots_ask_for_one_to_start_from(room: Any, tool: str, arguments: dict[str, Any]) -> None:
    roots = (str(room.project), str(room.outside))
    answer = room.call(tool, options={"root": roots}, **arguments)
    assert answer.is_error
    assert f"use one of `{room.project}`, `{room.outside}`" in answer.text


def test_each_of_several_roots_can_be_searched(room: Any) -> None:
    roots = (str(room.project), str(room.outside))
    found = room.call("grep_content", options={"root": roots}, pattern="secret", search_path=str(room.outside))
    assert f"{room.outside}/secret.txt\n1: the secret" in found.text


@pytest.mark.parametrize(
    ("suffix", "text", "line", "expected"),
    [
        (
            ".py",
            "import x\n\nclass A:\n    def f(self):\n        pass\n\n    async def g(self):\n        pass\nx = 1\n",
            5,
            (4, 6),
        ),
        (".py", "import x\n\nclass A:\n    def f(self):\n        pass\n", 1, None),
        (".py", "class A:\n    x = 1\n    def f(self):\n        pass\nclass B:\n    y = 1\n", 2, (1, 4)),
        (".ts", "export class A {\n  x() {}\n}\nexport async function f() {\n  return 1\n}\n", 5, (4, 6)),
        (".rs", "pub(crate) fn a() {\n}\nimpl B for C {\n  fn d() {}\n}\n", 1, (1, 2)),
        (".go", "func (s *S) A() {\n}\nfunc B() {\n}\n", 2, (1, 2)),
        (".toml", "[a]\nx = 1\n[[b]]\ny = 2\n", 2, (1, 2)),
        (".md", "~~~\n# no\n~~~\n# yes\ntext\n", 2, None),
        (".md", "````\n```\n# no\n````\n# yes\ntext\n", 6, (5, 6)),
        (".txt", "plain\ntext\n", 1, None),
    ],
)
def test_sections_are_found_by_the_kind_of_file(
    suffix: str, text: str, line: int, expected: tuple[int, int] | None
) -> None:
    lines = text.splitlines()
    section = section_at(line, find_boundaries(lines, suffix), len(lines))
    assert (section and (section.start, section.end)) == expected


@pytest.mark.parametrize("text", ["k", "x\n:", "two words", "1:2:3", "\xff\xfek\0".encode("latin-1")], ids=repr)
def test_an_empty_match_at_the_end_of_an_open_line_is_found(room: Any, find: Any, text: str | bytes) -> None:
    room.write("a.txt", text)
    last = 2 if text == "x\n:" else 1
    answer = find("b*$")
    assert answer.startswith("[2 matching lines" if last == 2 else "[1 matching line]")
    assert f"\n{last}: " in answer


def test_an_empty_last_line_is_found(room: Any, find: Any) -> None:
    room.write("a.txt", "one\n\n")
    assert find("^$") == "[1 matching line]\na.txt\n2: "
