import re
import tomllib

import pytest

from toolwright.codes import RULES
from toolwright.explain import UnknownCodeError, explain

NO_TOML = ("TW103", "TW104", "TW105", "TW337")
"""Their bad examples are no TOML: that is the point."""


def test_a_rule_is_told_with_its_reason_and_examples() -> None:
    assert (
        explain("TW203")
        == """\
TW203: A key is not known

A misspelt key would otherwise be ignored, and its default would win without a word.

Bad:

    [tools.search]
    sumary = "Search the catalog"

Good:

    [tools.search]
    summary = "Search the catalog"
"""
    )


@pytest.mark.parametrize("spelling", ["tw203", " TW203 ", "203"])
def test_a_code_may_be_written_carelessly(spelling: str) -> None:
    assert explain(spelling) == explain("TW203")


@pytest.mark.parametrize(("code", "nearest"), [("TW2033", "TW203"), ("TW1003", "TW103"), ("T203", "TW203")])
def test_an_unknown_code_suggests_the_nearest(code: str, nearest: str) -> None:
    with pytest.raises(UnknownCodeError, match=f"unknown code `{code}`: did you mean `{nearest}`"):
        explain(code)


def test_what_is_no_code_is_told_the_range() -> None:
    with pytest.raises(UnknownCodeError, match=r"unknown code `\?`: the codes are TW101 to TW"):
        explain("?")


@pytest.mark.parametrize("code", RULES)
def test_every_rule_can_be_explained(code: str) -> None:
    rule = RULES[code]

    assert re.fullmatch(r"TW[1-6]\d\d", code)
    assert rule.title[0].isupper() or rule.title[0] == "`"
    assert not rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert explain(code).endswith("\n")
    tomllib.loads(rule.good)
    if code not in NO_TOML:
        tomllib.loads(rule.bad)


def test_rules_are_sorted_and_each_code_stands_once() -> None:
    from toolwright import codes

    listed = [rule.code for rule in codes._RULES]

    assert listed == sorted(set(listed))


@pytest.mark.parametrize("code", NO_TOML)
def test_what_is_shown_as_no_toml_is_none(code: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(RULES[code].bad)
