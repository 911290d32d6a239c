"""Each rule, met and not met. What is shown for it is in the golden cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.codes import RULES
from toolwright.diagnostics import Diagnostics, Severity
from toolwright.lint import LEVELS
from toolwright.lint import RULES as LINT_RULES
from toolwright.pipeline import read_and_lint
from toolwright.project import Project

HEAD = """\
edition = 1

[server]
name = "library"
package = "library_server"
handlers = "library"

[categories.books]
summary = "Find and lend books"
"""
LEND = """
[tools.lend]
summary = "Hand a book to a member"
category = "books"
description = "Hand a book to a member for two weeks. Fails if it is out; reserve it then."
hints = { read_only = false, destructive = false, idempotent = false, open_world = false }
handler = "books:lend"
use_cases = ["Borrow a book for the holidays"]
params.isbn = { type = "string", description = "ISBN-13, with or without dashes" }

[[tools.lend.examples]]
description = "One book"
arguments = { isbn = "978-0-441-47812-5" }
"""


def found(manifest: str, folder: Path) -> dict[str, Severity]:
    path = folder / "manifest.toml"
    path.write_text(manifest, encoding="utf-8", newline="\n")
    diagnostics = Diagnostics()
    reading = read_and_lint(Project(folder, path), diagnostics=diagnostics)
    assert reading is not None, [str(each) for each in diagnostics]
    return {each.code: each.severity for each in diagnostics}


def changed(old: str, new: str) -> str:
    assert old in LEND
    return HEAD + LEND.replace(old, new)


def test_sound_tool_has_nothing_to_complain_of(tmp_path: Path) -> None:
    assert found(HEAD + LEND, tmp_path) == {}


def test_rules_levels_and_explanations_are_of_the_same_codes() -> None:
    documented = {rule.__doc__.split(":")[0] for rule in LINT_RULES if rule.__doc__}

    assert documented | {"TW514"} == set(LEVELS)
    assert {code for code in RULES if code.startswith("TW5")} == set(LEVELS)


LIMIT = "x " * 512


@pytest.mark.parametrize(
    ("manifest", "codes"),
    [
        (changed("Borrow a book for the holidays", "What is it, and how?"), {"TW501"}),
        (changed("reserve it then.", ""), set()),
        (re.sub(r"description = .Hand.*\n", "", HEAD + LEND), {"TW502"}),
        (changed("Hand a book to a member for two weeks. Fails if it is out; reserve it then.", "Hand it"), {"TW502"}),
        ((HEAD + LEND).partition("\n[[tools.lend.ex")[0], {"TW503"}),
        (changed(', description = "ISBN-13, with or without dashes"', ""), {"TW504"}),
        (changed("reserve it then.", LIMIT[: 1024 - 56 - 4]), set()),
        (changed("reserve it then.", LIMIT + "and then some more"), {"TW505"}),
        ((HEAD + LEND).replace("tools.lend", f"tools.{'l' * 40}"), set()),
        ((HEAD + LEND).replace("tools.lend", f"tools.{'l' * 41}"), {"TW506"}),
        ((HEAD + LEND).replace("tools.lend", "tools.lend_2"), set()),
        ((HEAD + LEND).replace("tools.lend", "tools.Lend"), {"TW507"}),
        ((HEAD + LEND).replace("tools.lend", "tools.call-tool"), {"TW507", "TW508"}),
        ((HEAD + LEND).replace("tools.lend", "tools.call-tools"), {"TW507"}),
        (changed("read_only = false", "read_only = true"), set()),
        (changed("destructive = false", "destructive = true"), set()),
        (changed("read_only = false, destructive = false", "read_only = true, destructive = true"), {"TW510"}),
        (changed('to a member"', 'to a member."'), {"TW511"}),
        (changed('to a member"', 'to a member, a class ..."'), set()),
        (changed('"Hand a book to a member"', '"Lend"'), {"TW512"}),
        (changed('"Hand a book to a member"', '"Lend a book"'), set()),
        (
            (HEAD + LEND).replace("tools.lend", "tools.lend_book").replace('"Hand a', '"Use lend_book on a', 1),
            {"TW512"},
        ),
    ],
    ids=[
        "a use case of empty words",
        "a use case that finds its tool",
        "no description",
        "a description shorter than the summary",
        "no example",
        "an undescribed parameter",
        "a description at the limit",
        "a description over the limit",
        "a name at the limit",
        "a name over the limit",
        "a digit in a name",
        "a capital in a name",
        "a name like a meta-tool's",
        "a name not quite like a meta-tool's",
        "read only",
        "destructive",
        "read only and destructive",
        "a full stop",
        "three full stops",
        "a summary that is the name",
        "a summary that holds a word of the name",
        "a summary that spells the name",
    ],
)
def test_rule_finds_what_it_is_for_and_nothing_else(manifest: str, codes: set[str], tmp_path: Path) -> None:
    assert set(found(manifest, tmp_path)) == codes


def many(count: int, style: str, extra: str = "") -> str:
    one = re.sub(r"use_cases = .*\n", "", LEND)
    tools = "".join(one.replace("tools.lend", f"tools.lend_{number}") for number in range(count))
    return f'{HEAD}\n[discovery]\nstyle = "{style}"\n{tools}{extra}'


@pytest.mark.parametrize(
    ("count", "style", "codes"),
    [(128, "classic", set()), (129, "classic", {"TW509"}), (129, "search-call", set())],
    ids=["as many as fit", "one too many", "hidden behind a search"],
)
def test_listing_more_tools_than_a_model_is_sent_matters_in_classic_style(
    count: int, style: str, codes: set[str], tmp_path: Path
) -> None:
    assert set(found(many(count, style), tmp_path)) == codes


def test_tools_of_the_other_tier_are_not_counted_as_listed(tmp_path: Path) -> None:
    extra = re.sub(r"use_cases = .*\n", 'tier = "all"\n', LEND)

    assert found(many(128, "classic", extra), tmp_path) == {}


def test_fields_of_types_and_properties_of_raw_schemas_need_descriptions_too(tmp_path: Path) -> None:
    typed = '\n[types.Loan]\nfields.isbn = { type = "string" }\n'
    raw = changed(
        'params.isbn = { type = "string", description = "ISBN-13, with or without dashes" }',
        'input_schema = { type = "object", properties = { isbn = { type = "string" } } }',
    )

    assert set(found(HEAD + typed + LEND, tmp_path)) == {"TW504"}
    assert set(found(raw, tmp_path)) == {"TW504"}
    described = raw.replace('isbn = { type = "string" }', 'isbn = { type = "string", description = "ISBN-13" }')
    assert found(described, tmp_path) == {}


def test_related_tools_that_point_at_each_other_are_right(tmp_path: Path) -> None:
    one = LEND.replace("params.isbn", 'related = ["reserve"]\nparams.isbn')
    other = LEND.replace("tools.lend", "tools.reserve").replace("holidays", "winter")
    back = other.replace("params.isbn", 'related = ["lend"]\nparams.isbn')

    assert found(HEAD + one + other, tmp_path) == {"TW513": Severity.NOTE}
    assert found(HEAD + one + back, tmp_path) == {}


def allowing(*codes: str) -> str:
    return "".join(f'\n[[tools.lend.allow]]\nrule = "{code}"\nreason = "it is right so"\n' for code in codes)


def test_allow_switches_a_rule_off_for_its_tool_and_no_other(tmp_path: Path) -> None:
    wrong = changed('to a member"', 'to a member."')
    other = LEND.replace("tools.lend", "tools.reserve").replace('to a member"', 'to a member."')

    assert found(wrong + allowing("TW511"), tmp_path) == {}
    assert set(found(wrong + other + allowing("TW511"), tmp_path)) == {"TW511"}


def test_allow_that_is_not_needed_or_names_no_rule_is_reported(tmp_path: Path) -> None:
    assert found(HEAD + LEND + allowing("TW511"), tmp_path) == {"TW514": Severity.WARNING}
    assert found(HEAD + LEND + allowing("TW201"), tmp_path) == {"TW514": Severity.WARNING}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    mistakes=st.sets(
        st.sampled_from(
            [
                ('to a member"', 'to a member."'),
                (', description = "ISBN-13, with or without dashes"', ""),
                ("read_only = false, destructive = false", "read_only = true, destructive = true"),
                ("Borrow a book for the holidays", "What is it, and how?"),
                (" for two weeks. Fails if it is out; reserve it then.", ""),
            ]
        )
    )
)
def test_allowing_whatever_is_found_leaves_nothing_to_complain_of(
    mistakes: set[tuple[str, str]], tmp_path: Path
) -> None:
    manifest = HEAD + LEND
    for old, new in sorted(mistakes):
        manifest = manifest.replace(old, new)
    codes = found(manifest, tmp_path)

    assert found(manifest + allowing(*sorted(codes)), tmp_path) == {}
