"""Each rule, met and not met. What is shown for it is in the golden cases."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolmason.diagnostics import Diagnostics, Severity
from toolmason.diagnostics.rules import RULES
from toolmason.lint import DEFAULT_SEVERITIES
from toolmason.lint.rules import RULES as LINT_RULES
from toolmason.lint.rules import check_description_length
from toolmason.pipeline import generate, read_and_lint
from toolmason.project import Project

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


def linted(manifest: str, folder: Path) -> Diagnostics:
    path = folder / "manifest.toml"
    path.write_text(manifest, encoding="utf-8", newline="\n")
    diagnostics = Diagnostics()
    reading = read_and_lint(Project(folder, path), diagnostics=diagnostics)
    assert reading is not None, [str(each) for each in diagnostics]
    return diagnostics


def found(manifest: str, folder: Path) -> dict[str, Severity]:
    return {each.code: each.severity for each in linted(manifest, folder)}


def messages(manifest: str, folder: Path) -> list[str]:
    return [each.message for each in linted(manifest, folder)]


def changed(old: str, new: str) -> str:
    assert old in LEND
    return HEAD + LEND.replace(old, new)


def allowing(*codes: str) -> str:
    return "".join(f'\n[[tools.lend.allow]]\nrule = "{code}"\nreason = "it is right so"\n' for code in codes)


def test_sound_tool_has_nothing_to_complain_of(tmp_path: Path) -> None:
    assert found(HEAD + LEND, tmp_path) == {}


def test_rules_levels_and_explanations_are_of_the_same_codes() -> None:
    documented = {rule.__doc__.split(":")[0] for rule in LINT_RULES if rule.__doc__}

    assert documented | {"TM514"} == set(DEFAULT_SEVERITIES)
    assert {code for code in RULES if code.startswith("TM5")} == set(DEFAULT_SEVERITIES)


LIMIT = "x " * 512


@pytest.mark.parametrize(
    ("manifest", "codes"),
    [
        (changed("Borrow a book for the holidays", "What is it, and how?"), {"TM501"}),
        (changed("reserve it then.", ""), set()),
        (re.sub(r"description = .Hand.*\n", "", HEAD + LEND), {"TM502"}),
        (changed("Hand a book to a member for two weeks. Fails if it is out; reserve it then.", "Hand it"), {"TM502"}),
        ((HEAD + LEND).partition("\n[[tools.lend.ex")[0], {"TM503"}),
        (changed(', description = "ISBN-13, with or without dashes"', ""), {"TM504"}),
        (changed("reserve it then.", LIMIT[: 1024 - 56 - 4]), set()),
        (changed("reserve it then.", LIMIT + "and then some more"), {"TM505"}),
        ((HEAD + LEND).replace("tools.lend", f"tools.{'l' * 40}"), set()),
        ((HEAD + LEND).replace("tools.lend", f"tools.{'l' * 41}"), {"TM506"}),
        ((HEAD + LEND).replace("tools.lend", "tools.lend_2"), set()),
        ((HEAD + LEND).replace("tools.lend", "tools.Lend"), {"TM507"}),
        ((HEAD + LEND).replace("tools.lend", "tools.call-tool"), {"TM507", "TM508"}),
        ((HEAD + LEND).replace("tools.lend", "tools.call-tools"), {"TM507"}),
        (changed("\nparams.isbn", '\naliases = ["borrow-book", "lend-book"]\nparams.isbn'), set()),
        (changed('"ISBN-13, with or without dashes"', f'"{LIMIT}"'), set()),
        (changed('"ISBN-13, with or without dashes"', f'"{LIMIT}", min_length = 10'), {"TM516"}),
        ((HEAD + LEND).replace("isbn =", "isbn_13 ="), set()),
        ((HEAD + LEND).replace("isbn =", "isbn-13 ="), {"TM518"}),
        ((HEAD + LEND).replace("isbn =", "wait_for_previous ="), {"TM519"}),
        (changed("read_only = false", "read_only = true"), set()),
        (changed("destructive = false", "destructive = true"), set()),
        (changed("read_only = false, destructive = false", "read_only = true, destructive = true"), {"TM510"}),
        (changed('to a member"', 'to a member."'), {"TM511"}),
        (changed('to a member"', 'to a member, a class ..."'), set()),
        (changed('"Hand a book to a member"', '"Lend"'), {"TM512"}),
        (changed('"Hand a book to a member"', '"Lend a book"'), set()),
        (
            (HEAD + LEND).replace("tools.lend", "tools.lend_book").replace('"Hand a', '"Use lend_book on a', 1),
            {"TM512"},
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
        "old names like nothing else",
        "a parameter's description at the limit",
        "a parameter's description over the limit with its limits",
        "a plain name of a parameter",
        "a dash in the name of a parameter",
        "the name of a parameter that Gemini CLI adds",
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
def test_manifest_is_reported_with_exactly_the_expected_rules(manifest: str, codes: set[str], tmp_path: Path) -> None:
    assert set(found(manifest, tmp_path)) == codes


def many(count: int, style: str, extra: str = "") -> str:
    one = re.sub(r"use_cases = .*\n", "", LEND)
    tools = "".join(one.replace("tools.lend", f"tools.lend_{number}") for number in range(count))
    return f'{HEAD}\n[discovery]\nstyle = "{style}"\n{tools}{extra}'


NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


@pytest.mark.parametrize(
    ("count", "style", "expected"),
    [
        (80, "classic", {}),
        (81, "classic", {"TM509": NOTE}),
        (128, "classic", {"TM509": NOTE}),
        (129, "classic", {"TM509": WARNING}),
        (129, "search-call", {}),
    ],
    ids=[
        "as many as fit",
        "too many by hearsay",
        "as many as models take",
        "one too many",
        "hidden behind a search",
    ],
)
def test_listing_more_tools_than_a_model_is_sent_matters_in_classic_style(
    count: int, style: str, expected: dict[str, Severity], tmp_path: Path
) -> None:
    assert found(many(count, style), tmp_path) == expected


@pytest.mark.parametrize("key", ["pinned", "pins.search-call"])
def test_pinned_tools_are_listed_beside_the_meta_tools(key: str, tmp_path: Path) -> None:
    pinned = [f"lend_{number}" for number in range(127)]

    def pinning(names: list[str]) -> str:
        return many(127, "search-call").replace("[discovery]", f"[discovery]\n{key} = {names}".replace("'", '"'))

    assert found(pinning(pinned[:126]), tmp_path) == {"TM509": NOTE}
    assert found(pinning(pinned), tmp_path) == {"TM509": WARNING}


def test_tools_of_the_other_tier_are_listed_only_with_all(tmp_path: Path) -> None:
    extra = re.sub(r"use_cases = .*\n", 'tier = "all"\n', LEND)

    assert found(many(80, "classic", extra), tmp_path) == {}
    assert found(many(128, "classic", extra), tmp_path) == {"TM509": NOTE}
    assert "with `--all`" in messages(many(128, "classic", extra), tmp_path)[0]


def test_old_name_that_a_client_shows_as_another_tool_is_a_warning(tmp_path: Path) -> None:
    reserve = LEND.replace("tools.lend", "tools.reserve").replace("holidays", "winter")
    apart, alike = (
        reserve.replace("params.isbn", f'aliases = ["{old}"]\nparams.isbn') for old in ("lent", "call-tool")
    )
    other = LEND.replace("tools.lend", "tools.lend_book").replace("holidays", "summer")
    twice = reserve.replace("params.isbn", 'aliases = ["lend-book"]\nparams.isbn')
    own = other.replace("params.isbn", 'aliases = ["lend-book"]\nparams.isbn')

    assert found(HEAD + LEND + apart, tmp_path) == {}
    assert found(HEAD + LEND + alike, tmp_path) == {"TM508": WARNING}
    assert found(HEAD + own, tmp_path) == {}
    assert found(HEAD + twice + other, tmp_path) == {"TM508": WARNING}
    assert found(HEAD + twice + allowing("TM508").replace("tools.lend", "tools.reserve") + other, tmp_path) == {}


@pytest.mark.parametrize("style", ["classic", "search-call"])
def test_listed_name_that_does_not_fit_behind_the_prefix_of_a_plugin_is_a_note(style: str, tmp_path: Path) -> None:
    fits, too_long = ((HEAD + LEND).replace("tools.lend", f"tools.{'l' * length}") for length in (35, 36))
    listing = f'\n[discovery]\nstyle = "{style}"\n'

    assert found(fits + listing, tmp_path) == {}
    assert found(too_long + listing, tmp_path) == ({"TM515": NOTE} if style == "classic" else {})


@pytest.mark.parametrize(
    ("letters", "style", "expected"),
    [
        (21, "search-call", {}),
        (22, "search-call", {"TM515": NOTE}),
        (51, "search-call", {"TM515": NOTE}),
        (52, "search-call", {"TM515": ERROR}),
        (37, "list-describe", {"TM515": NOTE}),
        (38, "list-describe", {"TM515": ERROR}),
    ],
    ids=[
        "fits behind the prefix of a plugin",
        "too long behind it",
        "fits behind that of a server",
        "too long behind any",
        "fits with long names of meta-tools",
        "too long with those",
    ],
)
def test_name_of_the_server_leaves_room_for_the_meta_tools(
    letters: int, style: str, expected: dict[str, Severity], tmp_path: Path
) -> None:
    short = (HEAD + LEND).replace("tools.lend", "tools.l").replace('name = "library"', f'name = "{"l" * letters}"')

    assert found(f'{short}\n[discovery]\nstyle = "{style}"\n', tmp_path) == expected


def test_fields_of_types_and_properties_of_raw_schemas_need_descriptions_too(tmp_path: Path) -> None:
    typed = '\n[types.Loan]\nfields.isbn = { type = "string" }\n'
    given_raw = changed(
        'params.isbn = { type = "string", description = "ISBN-13, with or without dashes" }',
        'input_schema = { type = "object", properties = { isbn = { type = "string" } } }',
    )

    assert set(found(HEAD + typed + LEND, tmp_path)) == {"TM504"}
    assert set(found(given_raw, tmp_path)) == {"TM504"}
    described = given_raw.replace('isbn = { type = "string" }', 'isbn = { type = "string", description = "ISBN-13" }')
    assert found(described, tmp_path) == {}


def raw(properties: str, rest: str = "", *, verbatim: bool = True) -> str:
    """Give a tool whose arguments are described by a raw schema, everything else being sound."""
    one = LEND.replace(
        'params.isbn = { type = "string", description = "ISBN-13, with or without dashes" }',
        f'input_schema = {{ type = "object", properties = {{ {properties} }}{rest} }}',
    )
    sent = "verbatim_schema = true\n" if verbatim else ""
    return HEAD + one.partition("\n[[tools.lend.examples]]")[0] + sent + allowing("TM503")


TEXT = 'type = "string", description = "Any"'
OBJECT = 'type = "object", description = "Any"'
ARRAY = 'type = "array", description = "Any"'
LONG = LIMIT + "and then some more"


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (raw(f"top = {{ {TEXT} }}"), {}),
        (raw(f'"$top" = {{ {TEXT} }}'), {"TM517": ERROR}),
        (raw(f'"$ref" = {{ {TEXT} }}'), {"TM517": ERROR}),
        (raw(f'"" = {{ {TEXT} }}'), {"TM517": ERROR}),
        (raw(f"{'l' * 64} = {{ {TEXT} }}"), {}),
        (raw(f"{'l' * 65} = {{ {TEXT} }}"), {"TM517": ERROR}),
        (raw(f"a = {{ {ARRAY}, items = {{ properties = {{ '$top' = {{ {TEXT} }} }} }} }}"), {"TM517": WARNING}),
        (raw(f"a = {{ {OBJECT}, anyOf = [{{ properties = {{ 'b-c' = {{ {TEXT} }} }} }}] }}"), {"TM518": WARNING}),
        (raw(f"a = {{ {OBJECT}, additionalProperties = {{ properties = {{ 2b = true }} }} }}"), {"TM518": WARNING}),
        (raw(f"properties = {{ {OBJECT}, properties = {{ 'a.b' = {{ {TEXT} }} }} }}"), {"TM518": WARNING}),
        (raw(f"a = {{ {TEXT} }}", ", '$defs' = { B = { properties = { 'b.c' = true } } }"), {"TM518": WARNING}),
        (raw(f"a = {{ {OBJECT}, default = {{ properties = {{ '$top' = 1 }} }} }}"), {}),
        (raw(f"a = {{ {OBJECT}, enum = [{{ properties = {{ '$top' = 1 }} }}] }}"), {}),
        (raw(f"a = {{ {OBJECT}, const = {{ description = '{LONG}' }} }}"), {}),
        (raw(f"a = {{ {TEXT} }}", ", patternProperties = { '^[$]' = { type = 'string' } }"), {}),
        (raw(f"a = {{ {TEXT} }}", f", description = '{LONG}'"), {"TM516": WARNING}),
        (raw(f"a = {{ {ARRAY}, items = {{ description = '{LONG}' }} }}"), {"TM516": WARNING}),
        (raw(f"description = {{ {TEXT} }}"), {}),
        (raw(f"wait_for_previous = {{ {TEXT} }}"), {"TM519": ERROR}),
        (raw("wait_for_previous = { type = 'boolean', description = 'Any' }"), {"TM519": WARNING}),
        (raw(f"a = {{ {OBJECT}, properties = {{ wait_for_previous = {{ {TEXT} }} }} }}"), {}),
    ],
    ids=[
        "a plain name",
        "a dollar",
        "a name that looks like a reference",
        "no letter at all",
        "64 characters",
        "65 characters",
        "a dollar in a list",
        "a dash in an alternative",
        "a digit in front in a map",
        "a dot inside a property called properties",
        "a dot in a definition",
        "a dollar in a default",
        "a dollar in a choice",
        "a long description in a constant",
        "a dollar in a pattern",
        "a long description of the whole",
        "a long description in a list",
        "a property called description",
        "what Gemini CLI adds",
        "what Gemini CLI adds, of its type",
        "what Gemini CLI adds, further in",
    ],
)
def test_schemas_that_are_sent_as_they_are_are_looked_through_and_data_in_them_is_not(
    manifest: str, expected: dict[str, Severity], tmp_path: Path
) -> None:
    assert found(manifest, tmp_path) == expected
    assert found(manifest + allowing(*expected), tmp_path) == {}


@pytest.mark.parametrize("name", ["$top", "$ref", "due-date", "2b", "l" * 65])
def test_name_of_a_raw_schema_that_is_replaced_on_the_way_is_only_a_note(name: str, tmp_path: Path) -> None:
    outermost = raw(f'"{name}" = {{ {TEXT} }}', verbatim=False)
    inside = raw(
        f'a = {{ {ARRAY}, items = {{ type = "object", properties = {{ "{name}" = {{ {TEXT} }} }} }} }}', verbatim=False
    )

    for manifest, path in (outermost, name), (inside, f"a.{name}"):
        assert found(manifest, tmp_path) == {"TM518": NOTE}
        assert messages(manifest, tmp_path)[0].startswith(f"parameter `{path}` of `lend` is sent as `")
        assert found(manifest + allowing("TM518"), tmp_path) == {}


def test_fields_of_types_are_named_with_the_parameter_that_leads_to_them(tmp_path: Path) -> None:
    loans = 'params.loans = { type = "Loan[]", required = false, description = "Loans" }\n\n[[tools'
    typed = f'\n[types.Loan]\nfields.due-date = {{ type = "string", description = "{LONG}" }}\n'
    manifest = changed("\n[[tools", loans) + typed

    assert found(manifest, tmp_path) == {"TM516": WARNING, "TM518": WARNING}
    assert [message.partition("`lend`")[0] for message in messages(manifest, tmp_path)] == [
        "the description of parameter `loans.due-date` of ",
        "parameter `loans.due-date` of ",
    ]
    assert found(manifest + allowing("TM516", "TM518"), tmp_path) == {}


def test_description_that_even_claude_code_cuts_is_an_error(tmp_path: Path) -> None:
    """The manifest takes no more, so this is about what may be added to a description before it is served."""
    path = tmp_path / "manifest.toml"
    path.write_text(HEAD + LEND, encoding="utf-8")
    reading = read_and_lint(Project(tmp_path, path), diagnostics=Diagnostics())
    assert reading is not None
    category = reading.server.categories[0]

    def severities(length: int) -> list[Severity | None]:
        tool = replace(category.tools[0], description="x" * length)
        server = replace(reading.server, categories=(replace(category, tools=(tool,)),))
        return [finding.severity for finding in check_description_length(server)]

    assert severities(1024) == []
    assert severities(4096) == [None]
    assert severities(4097) == [ERROR]


def test_related_tools_that_point_at_each_other_are_right(tmp_path: Path) -> None:
    one = LEND.replace("params.isbn", 'related = ["reserve"]\nparams.isbn')
    other = LEND.replace("tools.lend", "tools.reserve").replace("holidays", "winter")
    back = other.replace("params.isbn", 'related = ["lend"]\nparams.isbn')

    assert found(HEAD + one + other, tmp_path) == {"TM513": Severity.NOTE}
    assert found(HEAD + one + back, tmp_path) == {}


def test_allow_switches_a_rule_off_for_its_tool_and_no_other(tmp_path: Path) -> None:
    wrong = changed('to a member"', 'to a member."')
    other = LEND.replace("tools.lend", "tools.reserve").replace('to a member"', 'to a member."')

    assert found(wrong + allowing("TM511"), tmp_path) == {}
    assert set(found(wrong + other + allowing("TM511"), tmp_path)) == {"TM511"}


def test_allow_that_is_not_needed_or_names_no_rule_is_reported(tmp_path: Path) -> None:
    assert found(HEAD + LEND + allowing("TM511"), tmp_path) == {"TM514": Severity.WARNING}
    assert found(HEAD + LEND + allowing("TM201"), tmp_path) == {"TM514": Severity.WARNING}


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


LIVE = {
    "a command": ("[commands.when]\nsummary = 'Get the time'\nprompt = 'It is !`date`'\n", 1),
    "a prompt": ("[prompts.when]\nsummary = 'Get the time'\ntext = 'It is !`date`'\n", 1),
    "a workflow": ("[workflows.when]\nsummary = 'Get it'\nsteps = [{ title = 'Run !`date`', text = 'Read it' }]\n", 1),
    "a file": ("[commands.when]\nsummary = 'Get the time'\nprompt = 'Read @clock.txt'\n", 0),
}


@pytest.mark.uncovered
@pytest.mark.parametrize(("text", "errors"), LIVE.values(), ids=LIVE)
def test_text_that_a_client_runs_is_not_generated_unless_it_is_allowed(text: str, errors: int, tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path / "manifest.toml")
    project.manifest.write_text(HEAD + LEND + text, encoding="utf-8")
    diagnostics = Diagnostics()
    written = generate(project, diagnostics=diagnostics)

    assert [each.code for each in diagnostics] == ["TM541"] * errors
    assert (tmp_path / "generated").exists() is (written is not None) is (errors == 0)

    allowed = f"{HEAD}{LEND}{text}allow = [{{ rule = 'TM541', reason = 'Wanted' }}]\n"
    project.manifest.write_text(allowed, encoding="utf-8")
    assert generate(project, diagnostics=Diagnostics()) is not None
