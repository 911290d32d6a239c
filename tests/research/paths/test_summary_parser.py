"""An answer is read in whatever form the model gave it, and nothing is made up for what it left out."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_handlers.workspace.roots import Located, Root
from workbench_research.file_list import ListedFile
from workbench_research.summary_parser import MAX_SUMMARY_CHARS, Parsed, parse_summaries

ROOT = Root(Path("/home/user/project"), "a test")
NAMES = ("src/index.ts", "src/auth/login.ts", "src/a: b - c.md", "src/LICENSE", "src/@types/x.d.ts")


def files(*names: str) -> list[ListedFile]:
    return [ListedFile(Located(ROOT, tuple(name.split("/")), name)) for name in names]


def read(text: str, *names: str, top: str = "src") -> Parsed:
    return parse_summaries(text, Located(ROOT, tuple(top.split("/")) if top else (), top), files(*(names or NAMES)))


def line(path: str, summary: str, **more: object) -> str:
    return json.dumps({"path": path, "summary": summary, **more})


FIRST = line("src/index.ts", "Starts the app.")
SECOND = line("src/auth/login.ts", "Logs users in.")
REFERENCED = "## Files Referenced\n- src/index.ts\n- src/auth/login.ts\n"
TWO = {0: "Starts the app.", 1: "Logs users in."}


@pytest.mark.parametrize(
    "text",
    [
        line("src/index.ts", "Starts the app.", n=1) + "\n" + line("src/auth/login.ts", "Logs users in.", n=2),
        f"[{FIRST}, {SECOND}]",
        json.dumps(
            [
                {"path": "src/index.ts", "summary": "Starts the app."},
                {"path": "src/auth/login.ts", "summary": "Logs users in."},
            ],
            indent=2,
        ),
        json.dumps(
            {
                "summary": "All of it.",
                "entries": [
                    {"file": "src/index.ts", "description": "Starts the app."},
                    {"path": "src/auth/login.ts", "summary": "Logs users in."},
                ],
            }
        ),
        json.dumps({"src/index.ts": "Starts the app.", "src/auth/login.ts": "Logs users in."}),
        json.dumps(
            {"files": {"src/index.ts": "Starts the app.", "src/auth/login.ts": {"n": 2, "summary": "Logs users in."}}}
        ),
        f"Sure, here it is:\n\n```json\n{FIRST}\n{SECOND}\n```\n\n{REFERENCED}",
        f"- {FIRST},\n- {SECOND},",
        f'[{FIRST},\n{SECOND},\n{{"path": "src/LIC',
        f"{FIRST}{SECOND}",
        line("./src/index.ts", "Starts the app.") + line("/home/user/project/src/auth/login.ts", "Logs users in."),
        line("index.ts", "Starts the app.") + line("./auth/login.ts", "Logs users in."),
        line("@src/index.ts", "Starts the app.") + line("src\\auth\\login.ts", "Logs users in."),
        line("`src/index.ts`", "  Starts\nthe app. ") + line("src//auth//login.ts", "Logs\tusers in."),
        '{"n": 1, "summary": "Starts the app."}\n{"n": 2, "summary": "Logs users in."}',
        "- src/index.ts: Starts the app.\n- src/auth/login.ts: Logs users in.",
        "* `src/index.ts` — Starts the app.\n* `src/auth/login.ts` — Logs users in.",
        "1. **src/index.ts**: Starts the app.\n2. **src/auth/login.ts:** Logs users in.",
        "src/index.ts - Starts the app.\nsrc/auth/login.ts \N{EN DASH} Logs users in.",
        "| File | Summary |\n|---|---|\n| src/index.ts | Starts the app. |\n| `src/auth/login.ts` | Logs users in. |",
        "src/index.ts\tStarts the app.\n./src/auth/login.ts -> Logs users in.",
        "> - `@src/index.ts`: Starts the app.\r\n> - `/home/user/project/src/auth/login.ts`: Logs users in.\r\n",
        "if (x) { return [1] }\n" + line("src/index.ts", "Starts the app.") + "\n- src/auth/login.ts: Logs users in.",
    ],
)
def test_an_answer_in_any_form_is_read(text: str) -> None:
    parsed = read(text)
    assert parsed.summaries == TWO
    assert parsed.unknown == []


def test_a_path_that_holds_a_separator_is_read_from_a_line() -> None:
    assert read("- src/a: b - c.md: Holds notes: many - all.").summaries == {2: "Holds notes: many - all."}


def test_entries_for_other_files_are_dropped_and_reported() -> None:
    as_json = f"{line('src/evil.ts', 'Made up.', n=1)}\n{line('LICENSES', 'Made up.')}"
    parsed = read(f"{as_json}\n- src/other.ts: Made up.\n- lib.rs: Made up.")
    assert parsed.summaries == {}
    assert parsed.unknown == ["src/evil.ts", "LICENSES", "src/other.ts", "lib.rs"]


def test_prose_is_not_taken_for_entries() -> None:
    text = (
        "Here is the map: five files.\nNote: see https://example.com/x: it helps.\n- Security: fine.\n"
        "* http://a.b/c - a link\n```\n- The app starts here — in short.\n"
    )
    assert read(text) == Parsed()


def test_the_path_decides_and_not_the_number_where_both_are_given() -> None:
    assert read(line("src/auth/login.ts", "Logs users in.", n=1)).summaries == {1: "Logs users in."}


@pytest.mark.parametrize("name", ["src/a\nb.txt", os.fsdecode(b"src/caf\xe9.txt"), "src/x\u202ey.txt"])
def test_a_name_that_few_could_repeat_is_known_by_its_number(name: str) -> None:
    assert read(line("src/a b?.txt", "Holds text.", n=2), "src/index.ts", name).summaries == {1: "Holds text."}


def test_a_number_that_is_none_of_the_list_means_nothing() -> None:
    for number in (0, -1, 6, True, 1.5, "1", None):
        assert read(json.dumps({"n": number, "summary": "Made up."})).summaries == {}


@pytest.mark.parametrize("summary", ["", "  ", "N/A", "Unknown.", "...", "-", "**none**"])
def test_a_summary_without_content_is_missing(summary: str) -> None:
    parsed = read(line("src/index.ts", summary))
    assert (parsed.summaries, parsed.declined) == ({}, {0})


def test_the_first_summary_of_a_file_counts() -> None:
    text = "\n".join(line("src/index.ts", summary) for summary in ("", "First.", "Second."))
    assert read(text).summaries == {0: "First."}


def test_a_summary_is_one_line_of_bounded_length_that_can_be_sent() -> None:
    text = '{"path": "src/index.ts", "summary": "a\\u0000b\\ud800\\u202e' + "x" * 1_000 + '"}'
    summary = read(text).summaries[0]
    assert summary.startswith("a b x")
    assert len(summary) == MAX_SUMMARY_CHARS
    assert summary.encode()


def test_names_are_the_same_however_their_accents_are_written_unless_both_are_there() -> None:
    composed, apart = "src/caf\u00e9.txt", "src/cafe\u0301.txt"
    assert read(line(composed, "Coffee."), apart).summaries == {0: "Coffee."}
    both = line(composed, "One.") + line(apart, "Two.")
    assert read(both, apart, composed).summaries == {1: "One.", 0: "Two."}


def test_the_top_of_the_project_needs_no_prefix() -> None:
    assert read("- ./README.md: Says it all.", "README.md", top="").summaries == {0: "Says it all."}


@pytest.mark.parametrize(
    "unit", ["[", "{", '{"path": "', "- a/b: ", "x: " * 300 + "\n", '{"a":' * 50, "```\n", "word "]
)
def test_an_answer_of_megabytes_is_read_in_seconds_whatever_is_in_it(unit: str) -> None:
    began = time.perf_counter()
    parsed = read(unit * (3_000_000 // len(unit)))
    assert parsed.summaries == {}
    assert time.perf_counter() - began < 20


@given(
    names=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12).filter(
            lambda name: name not in {".", ".."}
        ),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    as_list=st.booleans(),
)
def test_an_answer_that_repeats_the_list_gives_each_file_its_own_summary(names: list[str], as_list: bool) -> None:
    paths = [f"src/{name}" for name in names]
    entries = [{"n": n, "path": path, "summary": f"Is number {n}."} for n, path in enumerate(paths, 1)]
    text = json.dumps(entries) if as_list else "\n".join(json.dumps(each, ensure_ascii=False) for each in entries)
    parsed = read(text, *paths)
    assert parsed.summaries == {number: f"Is number {number + 1}." for number in range(len(names))}
    assert parsed.unknown == []


@given(text=st.text(st.sampled_from('{}[]":,-—|*` \nsrc/index.tsn1apth'), max_size=60))
def test_no_answer_breaks_the_reading(text: str) -> None:
    parsed = read(text)
    assert set(parsed.summaries) <= set(range(len(NAMES)))


def test_what_is_nested_deeper_than_anyone_answers_is_not_looked_at() -> None:
    entry = {"path": "src/index.ts", "summary": "Starts the app."}
    assert read(json.dumps({"result": {"entries": [entry]}})).summaries == {0: "Starts the app."}
    assert read(json.dumps({"a": {"b": {"c": {"d": [entry]}}}})).summaries == {}
