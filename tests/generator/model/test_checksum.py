from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path, PurePosixPath

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruff import find_ruff_bin
from toolmason_runtime.checksum import CHECKSUM_FILE, State, verify

from toolmason.model.checksum import add_checksum, checksum_file, parse_checksums
from toolmason.model.rendered_file import RenderedFile

NAMES = ["a.py", "a.toml", "a.yaml", "a.yml", "a.txt", "a.md", "a.mdc", "SHA256SUMS"]
HASH_LINE = re.compile(r"# toolmason: sha256 [0-9a-f]{32}\n")
COMMENT_LINE = re.compile(r"<!-- toolmason: sha256 [0-9a-f]{32} -->\n")

LINES = st.sampled_from(
    [
        "---",
        "# toolmason: sha256 00000000000000000000000000000000",
        "<!-- toolmason: sha256 00000000000000000000000000000000 -->",
        "toolmason: sha256 ",
        "",
        "\r",
        "text",
        "ä\u2028\x0c\x85",
    ]
)
TEXTS = st.one_of(
    st.text(), st.lists(LINES).map("\n".join), st.lists(LINES).map(lambda lines: "---\n" + "\n".join(lines))
)


def signed(name: str, body: str) -> bytes:
    return add_checksum(PurePosixPath(name), body).encode("utf-8")


def state(name: str, data: bytes) -> State:
    return verify(PurePosixPath(name), data)


@pytest.mark.parametrize("name", ["a.py", "a.toml", "a.yaml", "a.yml", "a.txt"])
def test_code_is_signed_by_a_last_line_that_is_a_comment(name: str) -> None:
    text = add_checksum(PurePosixPath(name), "x = 1\n")

    assert text.startswith("x = 1\n")
    assert HASH_LINE.fullmatch(text.splitlines(keepends=True)[-1])


def test_markdown_is_signed_by_a_last_line_that_is_not_shown() -> None:
    text = add_checksum(PurePosixPath("a.md"), "# Title\n\nText.\n")

    assert text.startswith("# Title\n\nText.\n\n<!-- ")
    assert COMMENT_LINE.fullmatch(text.splitlines(keepends=True)[-1])


def test_a_prompt_is_signed_in_its_front_matter_and_stays_as_it_is() -> None:
    text = add_checksum(PurePosixPath("a.md"), "---\ndescription: Look\n---\nDo $ARGUMENTS.\n")
    _, front_matter, prompt = text.split("---\n")

    assert prompt == "Do $ARGUMENTS.\n"
    assert HASH_LINE.search(front_matter)
    assert yaml.safe_load(front_matter) == {"description": "Look"}


def test_empty_front_matter_takes_the_signature_too() -> None:
    text = add_checksum(PurePosixPath("a.md"), "---\n---\nText.\n")

    assert HASH_LINE.fullmatch(text.split("---\n")[1])
    assert state("a.md", text.encode("utf-8")) is State.VALID


def test_an_unclosed_rule_is_not_front_matter() -> None:
    assert add_checksum(PurePosixPath("a.md"), "---\nText.\n").endswith(" -->\n")


@pytest.mark.parametrize("name", ["a.json", "py.typed", "a.sh"])
def test_a_file_that_cannot_carry_a_comment_is_left_as_it_is(name: str) -> None:
    assert add_checksum(PurePosixPath(name), '{"a": 1}\n') == '{"a": 1}\n'


def test_a_checksum_does_not_change_toml_and_yaml_values() -> None:
    toml = 'prompt = """\nOne\ntwo\n"""\n[a]\nb = 1\n'
    block = "a: |+\n  one\n\n  two\n\n"

    assert tomllib.loads(add_checksum(PurePosixPath("a.toml"), toml)) == tomllib.loads(toml)
    assert yaml.safe_load(add_checksum(PurePosixPath("a.yaml"), block)) == yaml.safe_load(block)


@pytest.mark.parametrize(
    "body",
    [
        '"""Doc."""\n',
        '"""Doc."""\n\nA = 1\n',
        '"""Doc."""\n\nfrom os import path\n\n__all__ = ["path"]\n',
        '"""Doc."""\n\n\nclass A:\n    """A."""\n\n    x = 1\n',
        '"""Doc."""\n\n\ndef f(\n    a: int,\n) -> int: ...\n',
        "",
    ],
    ids=["docstring", "assignment", "imports", "class", "stub", "empty"],
)
def test_signed_python_is_as_its_formatter_wants_it(body: str) -> None:
    text = add_checksum(PurePosixPath("a.py"), body)
    command = [find_ruff_bin(), "format", "--isolated", "-"]
    run = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=True)

    assert run.stdout == text


@given(st.sampled_from(NAMES), TEXTS)
def test_whatever_is_signed_verifies_also_with_crlf_line_ends(name: str, body: str) -> None:
    data = signed(name, body)

    assert b"\r\n" not in data
    assert data.endswith(b"\n")
    assert state(name, data) is State.VALID
    assert state(name, data.replace(b"\n", b"\r\n")) is State.VALID


@given(st.sampled_from(NAMES), TEXTS, st.data())
def test_any_change_of_a_signed_text_is_seen(name: str, body: str, data: st.DataObject) -> None:
    before = signed(name, body)
    start = data.draw(st.integers(0, len(before)))
    end = data.draw(st.integers(start, len(before)))
    put = data.draw(st.one_of(st.binary(max_size=5), st.just(b"x\n"), st.just(before)))
    after = before[:start] + put + before[end:]

    if after.replace(b"\r\n", b"\n") != before:
        assert state(name, after) is not State.VALID


@pytest.mark.parametrize("name", ["a.py", "a.md"])
def test_merges_and_moves_count_as_edits(name: str) -> None:
    text = signed(name, "one\ntwo\n").decode("utf-8")
    *body, line = text.splitlines(keepends=True)
    other = signed(name, "one\nthree\n").decode("utf-8").splitlines(keepends=True)[-1]
    broken = {
        "two signatures": text + other,
        "the same one twice": text + line,
        "the other side's signature": "".join(body) + other,
        "signature first": line + "".join(body),
        "conflict": "".join(body) + f"<<<<<<< ours\n{line}=======\n{other}>>>>>>> theirs\n",
        "no newline at the end": text.removesuffix("\n"),
        "one more line": text + "\n",
        "byte order mark": "\ufeff" + text,
    }

    states = {what: state(name, data.encode("utf-8")) for what, data in broken.items()}
    assert states == dict.fromkeys(broken, State.EDITED)


@pytest.mark.parametrize("data", [b"", b"\n", b"x = 1\n", b"---\n---\n", b"\xff\xfe", b"# toolmason\n"])
def test_a_text_without_any_signature_is_unsigned(data: bytes) -> None:
    assert [state(name, data) for name in NAMES] == [State.UNSIGNED] * len(NAMES)


def test_a_listed_file_is_judged_by_its_entry() -> None:
    path = PurePosixPath("schemas/a.json")
    file = checksum_file([RenderedFile(path, "{}\n")])
    assert file is not None
    listed = parse_checksums(file.text.encode("utf-8"))

    assert verify(path, b"{}\n", listed) is State.VALID
    assert verify(path, b"{}\r\n", listed) is State.VALID
    assert verify(path, b"[]\n", listed) is State.EDITED
    assert verify(PurePosixPath("b.json"), b"{}\n", listed) is State.UNSIGNED


def test_the_checksum_file_is_sorted_signed_and_lists_only_unsignable_files() -> None:
    files = [RenderedFile(PurePosixPath(name), "{}\n") for name in ("b.json", "c.py", "a.json", "d/a.json")]
    file = checksum_file(files)

    assert file is not None
    assert file.path == CHECKSUM_FILE
    assert file == checksum_file(reversed(files))
    assert state("SHA256SUMS", file.text.encode("utf-8")) is State.VALID
    names = [line.partition("  ")[2] for line in file.text.splitlines() if not line.startswith("#")]
    assert names == ["a.json", "b.json", "d/a.json"]


def test_without_unsignable_files_the_checksum_file_is_omitted() -> None:
    assert checksum_file([RenderedFile(PurePosixPath("a.py"), "")]) is None


def test_sha256sum_understands_the_list(tmp_path: Path) -> None:
    sha256sum = shutil.which("sha256sum")
    assert sha256sum is not None
    file = checksum_file([RenderedFile(PurePosixPath("a b.json"), "{}\n")])
    assert file is not None
    (tmp_path / "a b.json").write_bytes(b"{}\n")
    (tmp_path / "SHA256SUMS").write_bytes(file.text.encode("utf-8"))
    run = [sha256sum, "--check", "--strict", "--warn", "SHA256SUMS"]

    good = subprocess.run(run, cwd=tmp_path, capture_output=True, check=False)
    assert (good.returncode, good.stderr) == (0, b"")

    (tmp_path / "a b.json").write_bytes(b"[]\n")
    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode == 1
