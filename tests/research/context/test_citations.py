"""Citations are checked against the sent lines: corrected where the quoted text is elsewhere, else marked."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.backends.protocol import Part
from workbench_research.context.citations import MARK, check_citations
from workbench_research.context.number import number_lines

APP = [
    "import os",
    "",
    "def start(port):",
    "    return os.open(port)",
    "",
    "class Pool:",
    "    limit = 10",
    "    x = 1",
]
OTHER = ["def stop(now=True):", "    raise SystemExit(now)", "    x = 1"]
NOT_SENT, NO_TEXT = MARK["not sent"], MARK["no such text"]


@pytest.fixture
def parts() -> tuple[Part, ...]:
    return (
        number_lines("src/app.py", APP),
        number_lines("src/other.py", OTHER),
        number_lines("lib/cut.py", [f"line {number} of = it" for number in range(1, 100)], only={*range(10, 20), 40}),
    )


@pytest.mark.parametrize(
    "answer",
    [
        "It starts in src/app.py:3.",
        "It starts in `src/app.py:3-4`: `def start(port):`.",
        "`return os.open(port)` (src/app.py:4)",
        "The `Pool` of src/app.py:3 is not there, but a name is no copy.",
        "See src/app.py#L3-L4 and app.py:6 and ./src/other.py:1",
        "See lib/cut.py:10-12, lib/cut.py:40",
        "src/app.py:3:\n```python\ndef start(port):\n    return os.open(port)\n```",
        "src/app.py:3\n```\n3|def start(port):\n4|    return os.open(port)\n5|\n6|class Pool:\n```",
        "At 12:30 the ratio is 3:4, see https://example.org:80/x and key:1",
    ],
)
def test_right_citations_are_unchanged(answer: str, parts: tuple[Part, ...]) -> None:
    checked = check_citations(answer, parts)

    assert checked.text == answer
    assert checked.wrong == ()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("src/app.py:1: `def start(port):`", "src/app.py:3: `def start(port):`"),
        ("`def start(port):` (src/app.py:1-2)", "`def start(port):` (src/app.py:3)"),
        ("`def  start(port):` in `src/app.py#L7`", "`def  start(port):` in `src/app.py#L3`"),
        ("src/app.py:2: `raise SystemExit(now)`", "src/other.py:2: `raise SystemExit(now)`"),
        ("src/app.py:1\n```\nclass Pool:\n    limit = 10\n```", "src/app.py:6\n```\nclass Pool:\n    limit = 10\n```"),
        (
            "src/app.py:1-2\n```\nclass Pool:\n    limit = 10\n```",
            "src/app.py:6-7\n```\nclass Pool:\n    limit = 10\n```",
        ),
        ("src/app.py:99: `limit = 10`", "src/app.py:7: `limit = 10`"),
        ("lib/cut.py:30: `line 15 of = it`", "lib/cut.py:15: `line 15 of = it`"),
        ("src/app.py:1: `4|    return os.open(port)`", "src/app.py:4: `4|    return os.open(port)`"),
    ],
)
def test_wrong_lines_are_corrected_where_the_text_is(answer: str, expected: str, parts: tuple[Part, ...]) -> None:
    checked = check_citations(answer, parts)

    assert checked.text == expected
    assert [citation.status for citation in checked.citations] == ["corrected"]
    assert check_citations(checked.text, parts).text == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("See src/app.py:99.", f"See src/app.py:99{NOT_SENT}."),
        ("See `src/app.py:99`.", f"See `src/app.py:99`{NOT_SENT}."),
        ("See lib/cut.py:30-31.", f"See lib/cut.py:30-31{NOT_SENT}."),
        ("See src/missing.py:3.", f"See src/missing.py:3{NOT_SENT}."),
        ("src/app.py:3: `def launch(port):`", f"src/app.py:3{NO_TEXT}: `def launch(port):`"),
        ("`x = 1 and no more` (src/app.py:8)", f"`x = 1 and no more` (src/app.py:8{NO_TEXT})"),
        ("src/app.py:3: `x = 1` twice, src/app.py:98", f"src/app.py:3: `x = 1` twice, src/app.py:98{NOT_SENT}"),
    ],
)
def test_others_are_marked_once(answer: str, expected: str, parts: tuple[Part, ...]) -> None:
    checked = check_citations(answer, parts)

    assert checked.text == expected
    assert len(checked.wrong) == 1
    assert check_citations(expected, parts).text == expected


def test_citations_in_blocks_of_code_are_unchanged(parts: tuple[Part, ...]) -> None:
    answer = "Run\n```\npytest src/app.py:99\n```\n"

    assert check_citations(answer, parts).text == answer


LONG = {
    "one line": " ".join(f"src/f1.py:{number % 400 + 1} `x = call {number}`" for number in range(3_000)),
    "many lines": "\n".join(f"src/f1.py:{number % 400 + 1} `return foo {number}`" for number in range(2_000)),
    "blocks of code": "\n".join(f"src/f1.py:{n % 400 + 1}\n```\nreturn foo {n}\nbar\n```" for n in range(2_000)),
    "many quotes": "\n".join("src/f1.py:3 " + "".join(f"`abc {n * 15 + m}` " for m in range(15)) for n in range(600)),
    "a common line": "\n".join(f"src/f1.py:3\n```\nvalue_\nbar {number}\n```" for number in range(2_000)),
    "quotes without citations": "`abcdefgh` " * 8_000 + "src/f1.py:3",
}


@pytest.mark.parametrize("answer", LONG.values(), ids=LONG)
def test_long_answers_take_little_time(answer: str) -> None:
    lines = [f"value_{number} = call_{number}(a, b)" for number in range(400)]
    parts = [number_lines(f"src/f{number}.py", [f"{line}  # {number}" for line in lines]) for number in range(50)]
    check_citations("", parts)
    start = time.thread_time()
    check_citations(answer, parts)
    assert time.thread_time() - start < 3


LINES = st.lists(st.integers(0, 10**6).map("value_{0} = compute({0})".format), min_size=2, max_size=30, unique=True)


@given(st.dictionaries(st.sampled_from(["a/x.py", "a/y.py", "b/x.py"]), LINES, min_size=1), st.data())
def test_a_citation_with_a_copied_line_always_ends_where_the_line_is(
    files: dict[str, list[str]], data: st.DataObject
) -> None:
    parts = [number_lines(path, lines) for path, lines in files.items()]
    path = data.draw(st.sampled_from(sorted(files)))
    line = data.draw(st.sampled_from(files[path]))
    cited = data.draw(st.integers(1, 60))

    checked = check_citations(f"Before {path}:{cited}: `{line}` after.", parts)

    (citation,) = checked.citations
    if sum(line in lines for lines in files.values()) == 1 or files[path].count(line) == 1:
        assert citation.status in {"right", "corrected"}
    if citation.status in {"right", "corrected"}:
        assert files[citation.path][citation.first - 1] == line
        assert checked.text == f"Before {citation.path}:{citation.first}: `{line}` after."
    assert check_citations(checked.text, parts).text == checked.text


@given(st.text(st.sampled_from("ab/.py:12#L-` \n|()"), max_size=80))
def test_no_answer_fails_and_nothing_but_marks_is_added(answer: str) -> None:
    parts = [number_lines("a/b.py", ["a", "b", "ab ab ab ab"])]

    checked = check_citations(answer, parts)

    if all(citation.status != "corrected" for citation in checked.citations):
        assert checked.text.replace(NOT_SENT, "").replace(NO_TEXT, "") == answer
