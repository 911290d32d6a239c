import re
import tomllib

import pytest

from toolmason.diagnostics.explain import UnknownCodeError, explain
from toolmason.diagnostics.rules import RULES

INVALID_TOML = ("TM103", "TM105", "TM337")
"""Codes whose bad example is invalid TOML on purpose."""


def test_explain_shows_the_reason_and_examples() -> None:
    assert (
        explain("TM203")
        == """\
TM203: Unknown key

A misspelled key would be ignored, and its default used instead.

Bad:

    [tools.search]
    sumary = "Search the catalog"

Good:

    [tools.search]
    summary = "Search the catalog"
"""
    )


@pytest.mark.parametrize("spelling", ["tm203", " TM203 ", "203"])
def test_case_blanks_and_prefix_of_a_code_are_optional(spelling: str) -> None:
    assert explain(spelling) == explain("TM203")


@pytest.mark.parametrize(("code", "nearest"), [("TM2033", "TM203"), ("TM1003", "TM103"), ("T203", "TM203")])
def test_an_unknown_code_suggests_the_nearest(code: str, nearest: str) -> None:
    with pytest.raises(UnknownCodeError, match=f"unknown code `{code}`: did you mean `{nearest}`"):
        explain(code)


def test_a_text_unlike_any_code_shows_the_range() -> None:
    with pytest.raises(UnknownCodeError, match=r"unknown code `\?`: the codes are TM101 to TM"):
        explain("?")


@pytest.mark.parametrize("code", RULES)
def test_every_rule_is_complete(code: str) -> None:
    rule = RULES[code]

    assert rule.code == code
    assert re.fullmatch(r"TM[1-6]\d\d", code)
    assert rule.title[0].isupper() or rule.title[0] == "`"
    assert not rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert explain(code).endswith("\n")
    tomllib.loads(rule.good)
    if code not in INVALID_TOML:
        tomllib.loads(rule.bad)


def test_codes_are_sorted_and_each_is_known_by_its_file() -> None:
    assert list(RULES) == sorted(RULES)
    assert len(RULES) > 80
    with pytest.raises(KeyError):
        RULES["../TM203"]


@pytest.mark.parametrize("code", INVALID_TOML)
def test_bad_examples_of_syntax_are_invalid_toml(code: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(RULES[code].bad)
