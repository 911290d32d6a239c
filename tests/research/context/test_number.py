"""Files are read with the existing decoder; their lines are numbered; what cannot be sent is named."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.scan import Scan, ScanStoppedError
from workbench_research.context import number
from workbench_research.context.choose import choose
from workbench_research.context.number import MAX_LINE_CHARS, TextFile, number_lines, read_files


def read(directory: Path) -> tuple[dict[str, TextFile], dict[str, str]]:
    files, left_out = read_files(choose(Root.of(str(directory), "a test"), Scan()).files, Scan())
    return {file.path: file for file in files}, {entry.path: entry.reason for entry in left_out}


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb", ["a", "b"]),
        (b"\n\n", ["", ""]),
        ("\ufeffé\n".encode(), ["é"]),
        ("é\n".encode("utf-16"), ["é"]),
        (
            "Привет, мир. Как дела? Это проверка кодировки текста.\n".encode("cp1251"),
            ["Привет, мир. Как дела? Это проверка кодировки текста."],
        ),
        (b"a\x0bb\x0cc\xc2\x85d\xe2\x80\xa8e\n", ["a\x0bb\x0cc\x85d\u2028e"]),
    ],
)
def test_lines_are_those_of_editors_in_any_encoding(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    (tmp_path / "x.txt").write_bytes(data)

    files, _ = read(tmp_path)

    assert files["x.txt"].lines == lines


def test_files_that_cannot_be_sent_are_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number, "MAX_FILE_BYTES", 1_000)
    for name, data in {
        "a.py": b"x = 1\n",
        "empty.py": b"",
        "image.png": b"\x89PNG\r\n\x1a\n\0\0",
        "data.bin": bytes(range(256)),
        "manual.PDF": b"%PDF-1.7 text",
        "report.docx": b"PK\x03\x04\0\0",
        "large.txt": b"x" * 1_001,
    }.items():
        (tmp_path / name).write_bytes(data)

    files, left_out = read(tmp_path)

    assert list(files) == ["a.py"]
    assert left_out == {
        "empty.py": "empty",
        "image.png": "binary, 10 bytes",
        "data.bin": "binary, 256 bytes",
        "manual.PDF": "a document whose pages cannot be read here",
        "report.docx": "a document whose pages cannot be read here",
        "large.txt": "too large: 1,001 bytes",
    }


def test_a_file_that_is_replaced_by_a_link_is_not_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1")
    (tmp_path / "secret").write_text("secret")
    chosen = choose(Root.of(str(project), "a test"), Scan())
    (project / "a.py").unlink()
    (project / "a.py").symlink_to(tmp_path / "secret")

    assert read_files(chosen.files, Scan())[0] == []


def test_a_pipe_is_left_out_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert read(tmp_path) == ({}, {})


def test_reading_can_be_cancelled_and_has_a_time_limit(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    chosen = choose(Root.of(str(tmp_path), "a test"), Scan())
    stopped = Scan()
    stopped.stop()

    with pytest.raises(ScanStoppedError):
        read_files(chosen.files, stopped)
    assert [entry.path for entry in read_files(chosen.files, Scan(seconds=0))[1]] == ["a.py"]


def test_a_part_has_numbered_lines_and_the_digest_of_its_text() -> None:
    part = number_lines("src/a.py", ["def f():", "\treturn 1"], first_line=9)

    assert part.text == "9|def f():\n10|\treturn 1\n"
    assert part.first_line == 9
    assert part.digest == hashlib.sha256(part.text.encode()).hexdigest()
    assert not part.is_cut


def test_long_lines_are_cut() -> None:
    part = number_lines("min.js", ["x" * (MAX_LINE_CHARS + 1_500), "y"])

    assert part.is_cut
    assert part.text.splitlines()[0].endswith("x[... 1,500 characters cut]")
    assert part.text.endswith("\n2|y\n")


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"), max_size=40), max_size=20), st.integers(1, 10**6))
def test_every_line_begins_with_its_number_whatever_a_file_contains(lines: list[str], first: int) -> None:
    part = number_lines("x", lines, first_line=first)

    numbered = part.text.splitlines()
    assert len(numbered) == len(lines)
    assert [line.partition("|")[0] for line in numbered] == [str(first + index) for index in range(len(lines))]
    assert len(part.digest) == 64
