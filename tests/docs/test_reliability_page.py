"""Each promise of docs/reliability.md names sessions and tests that exist."""

from __future__ import annotations

import re
from typing import Final

import pytest
from named_tests import missing
from pages import quoted, read

PAGE: Final = read("docs/reliability.md")
SECTIONS: Final = ("Under load", "Kills and failures of the disk", "Other failures", "Builds and versions")
ROWS: Final = [
    (section, *row) for section in SECTIONS for row in PAGE.section(section).rows("promise", "test", "figure")
]


@pytest.mark.parametrize(("promise", "tests"), [row[1:3] for row in ROWS], ids=[row[1][:50] for row in ROWS])
def test_each_promise_names_existing_tests(promise: str, tests: str) -> None:  # noqa: ARG001  its id
    named = quoted(tests)
    sessions = [name.removeprefix("nox -s ").split()[0] for name in named if name.startswith("nox -s ")]
    noxfile = read("noxfile.py").text

    assert named
    assert all(f"\ndef {session}(session" in noxfile for session in sessions)
    assert missing([name for name in named if not name.startswith("nox -s ")]) == []


def test_every_section_has_promises_with_figures() -> None:
    assert all(sum(row[0] == section for row in ROWS) >= 3 for section in SECTIONS)
    assert all(re.search(r"\d|none", row[3]) for row in ROWS), [
        row for row in ROWS if not re.search(r"\d|none", row[3])
    ]


def test_the_page_lists_what_is_not_promised() -> None:
    assert len(PAGE.section("Not promised").text.split()) > 60
