"""What fits is sent whole in a stable order; otherwise the files that fit the question; all others are named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolmason_runtime import estimate_tokens

from workbench_research.backends.protocol import Part
from workbench_research.context.number import TextFile, digest, number_lines, numbered_lines
from workbench_research.context.pack import NOT_RELEVANT, Packed, pack, stable_order

QUESTION = "How are invoices rounded?"


def source(name: str, lines: int = 60) -> str:
    body = "".join(f"    {name}_{number} = other({number})\n" for number in range(lines))
    return f'"""About {name}."""\n\n\ndef {name}():\n{body}'


def tree(count: int = 40) -> list[TextFile]:
    files = [TextFile(f"src/part{number:02}.py", source(f"part{number:02}")) for number in range(count)]
    return [
        *files,
        TextFile("src/zz/money.py", source("round_invoice") + "\n\ndef invoice_total():\n    return round(1)\n"),
    ]


def texts(packed: Packed) -> str:
    return "".join(part.text for part in packed.parts)


def test_what_fits_is_sent_whole() -> None:
    files = tree(3)

    packed = pack(files, QUESTION, 100_000)

    assert [part.path for part in packed.parts] == [file.path for file in files]
    assert texts(packed) == "".join(number_lines(file.path, file.lines).text for file in files)
    assert (packed.left_out, packed.cut, packed.ranking) == ((), (), None)


def test_what_does_not_fit_is_chosen_by_the_question_and_everything_else_is_named() -> None:
    files = tree()

    packed = pack(files, QUESTION, 3_000)

    assert "src/zz/money.py" in packed.paths
    assert "def invoice_total" in texts(packed)
    assert packed.tokens <= 3_000
    assert estimate_tokens(texts(packed)) <= 3_000
    named = set(packed.paths) | {entry.path for entry in packed.left_out}
    assert named == {file.path for file in files}
    assert {entry.reason for entry in packed.left_out} == {NOT_RELEVANT}
    assert {part.path for part in packed.parts if part.is_cut} == set(packed.cut)


def test_a_file_that_is_larger_than_the_window_is_cut_around_the_question() -> None:
    lines = [f"value_{number} = {number}" for number in range(3_000)]
    lines[2_000] = "def round_invoice(amount):  # rounds invoices"

    packed = pack([TextFile("big.py", "\n".join(lines))], QUESTION, 2_000)

    (part,) = packed.parts
    numbered = numbered_lines(part)
    assert packed.cut == ("big.py",)
    assert numbered[2_001] == lines[2_000]
    assert set(range(1, 4)) <= set(numbered)
    assert all(text == lines[number - 1] for number, text in numbered.items())
    assert packed.tokens <= 2_000


def test_definitions_and_references_lead_to_files_without_the_words() -> None:
    files = tree(30)
    files.append(TextFile("src/helper.py", "def quantize_amount(x):\n    return x\n" + source("filler")))
    files.append(TextFile("src/invoices.py", "def invoice(x):\n    return quantize_amount(x)  # rounded invoices\n"))

    packed = pack(files, QUESTION, 2_500)

    assert packed.ranking is not None
    assert packed.ranking.paths.index("src/helper.py") < 5


def test_lines_with_secrets_are_not_sent_and_are_named() -> None:
    key = "AK" + "IA2E0A8F3B1C9D7G5H"
    rows = "".join(f'K{number}_SECRET = "q7Zt2Lw9XkB4vN8s{number}"\n' for number in range(5))
    files = [TextFile("a.py", f'import os\nKEY = "{key}"\nprint(1)\n'), TextFile("prod.ini", rows)]

    packed = pack(files, QUESTION, 10_000)

    assert key not in texts(packed)
    assert "q7Zt2Lw9XkB4vN8s" not in texts(packed)
    assert [(secret.path, secret.line) for secret in packed.secrets] == [("a.py", 2)]
    assert [(entry.path, entry.reason) for entry in packed.left_out] == [
        ("prod.ini", "most of its lines contain secrets")
    ]


def test_secrets_are_not_in_excerpts_either() -> None:
    key = "AK" + "IA2E0A8F3B1C9D7G5H"
    text = "\n".join(["def round_invoice():", f'    key = "{key}"', *["    pass"] * 5_000])

    packed = pack([TextFile("a.py", text)], QUESTION, 1_000)

    assert packed.cut == ("a.py",)
    assert key not in texts(packed)


def part(path: str, text: str = "x") -> Part:
    return Part(path=path, text=text, digest=digest(path + text))


def test_parts_are_in_the_order_of_their_last_change_then_of_their_paths() -> None:
    parts = [part("c"), part("b"), part("a")]

    assert [found.path for found in stable_order(parts, {"a": 2, "b": 1, "c": 1})] == ["b", "c", "a"]


def test_an_edit_keeps_all_parts_before_it() -> None:
    before = stable_order([part(name) for name in "abcde"])
    edited = [part(name, "y" if name == "b" else "x") for name in "abcde"]

    after = stable_order(edited, {"b": 9}, [found.digest for found in before])

    assert [found.path for found in after] == ["a", "c", "d", "e", "b"]
    again = stable_order(
        [part(name, "z" if name == "b" else "x") for name in "edcba"], {"b": 10}, [f.digest for f in after]
    )
    assert [found.digest for found in again[:4]] == [found.digest for found in after[:4]]


@settings(max_examples=15)
@given(st.integers(600, 9_000), st.integers(1, 30), st.sampled_from([QUESTION, "", "x", "part03", "Größe? 🙂"]))
def test_the_window_is_never_exceeded_and_the_choice_is_stable(window: int, count: int, question: str) -> None:
    files = tree(count)

    packed = pack(files, question, window)

    assert packed.tokens <= window
    assert pack(list(reversed(files)), question, window).parts == packed.parts
    assert {*packed.paths, *(entry.path for entry in packed.left_out)} == {file.path for file in files}


@pytest.mark.parametrize("files", [[], [TextFile("a.py", "")]])
def test_no_files_and_empty_files(files: list[TextFile]) -> None:
    assert pack(files, QUESTION, 1_000).tokens <= 100
