import re
import tomllib

import pytest

from toolmason.diagnostics.explain import UnknownCodeError, explain
from toolmason.diagnostics.rules import RULES

NO_TOML = ("TM103", "TM104", "TM105", "TM337")
"""Their bad examples are no TOML: that is the point."""


def test_a_rule_is_told_with_its_reason_and_examples() -> None:
    assert (
        explain("TM203")
        == """\
TM203: A key is not known

A misspelt key would otherwise be ignored, and its default would win without a word.

Bad:

    [tools.search]
    sumary = "Search the catalog"

Good:

    [tools.search]
    summary = "Search the catalog"
"""
    )


@pytest.mark.parametrize("spelling", ["tm203", " TM203 ", "203"])
def test_a_code_may_be_written_carelessly(spelling: str) -> None:
    assert explain(spelling) == explain("TM203")


@pytest.mark.parametrize(("code", "nearest"), [("TM2033", "TM203"), ("TM1003", "TM103"), ("T203", "TM203")])
def test_an_unknown_code_suggests_the_nearest(code: str, nearest: str) -> None:
    with pytest.raises(UnknownCodeError, match=f"unknown code `{code}`: did you mean `{nearest}`"):
        explain(code)


def test_what_is_no_code_is_told_the_range() -> None:
    with pytest.raises(UnknownCodeError, match=r"unknown code `\?`: the codes are TM101 to TM"):
        explain("?")


@pytest.mark.parametrize("code", RULES)
def test_every_rule_can_be_explained(code: str) -> None:
    rule = RULES[code]

    assert re.fullmatch(r"TM[1-6]\d\d", code)
    assert rule.title[0].isupper() or rule.title[0] == "`"
    assert not rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert explain(code).endswith("\n")
    tomllib.loads(rule.good)
    if code not in NO_TOML:
        tomllib.loads(rule.bad)


def test_rules_are_sorted_and_each_code_stands_once() -> None:
    from toolmason.diagnostics import rules

    listed = [rule.code for rule in rules._RULES]

    assert listed == sorted(set(listed))


@pytest.mark.parametrize("code", NO_TOML)
def test_what_is_shown_as_no_toml_is_none(code: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(RULES[code].bad)
