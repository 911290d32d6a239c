"""Every regular expression of our code takes time in proportion to the length of its text, whatever the text is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent / "support"
sys.path.insert(0, str(SUPPORT))

from attack_strings import attacks  # noqa: E402  SUPPORT is on the path now
from growth import verdict, verdicts  # noqa: E402  as above

from toolmason.publishing.names import PROFILES  # noqa: E402  imports of our own stand last
from toolmason.publishing.profiles import load_profile  # noqa: E402  as above
from workbench_research.context import secrets  # noqa: E402  imports of our own stand last

LEAST = {"generator": 170, "generated": 0, "handlers": 120, "runtime": 60}
"""Fewer patterns than this means that the search for patterns is broken."""


@pytest.mark.parametrize("directory", LEAST)
def test_time_of_each_pattern_grows_with_the_length_of_its_text(directory: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "measure.py"), directory], capture_output=True, encoding="utf-8", check=False
    )

    assert done.returncode == 0, done.stderr
    *findings, count = map(json.loads, done.stdout.splitlines())
    assert not findings, "\n".join(findings)
    assert count >= LEAST[directory]


def test_time_of_the_detectors_of_a_library_grows_with_the_length_of_a_text() -> None:
    patterns = [pattern for detector in secrets._detectors() for pattern in secrets._patterns(detector)]

    assert len(patterns) > 20
    assert not any(found := verdicts([(pattern, ["finditer"]) for pattern in patterns])), found


def test_time_of_the_patterns_of_publishing_rules_grows_with_the_length_of_a_text() -> None:
    operations = {"matches": "fullmatch", "lacks": "search", "readme": "search"}
    # Those of names are left out: a name has at most 64 characters.
    rules = [rule for name in PROFILES for rule in load_profile(name).rules if rule.check in operations]
    measured = [rule for rule in rules if "pattern" in rule.parameters]
    found = verdicts([(re.compile(rule.parameters["pattern"]), [operations[rule.check]]) for rule in measured])

    assert len(found) > 5
    assert [(rule.code, text) for rule, text in zip(measured, found, strict=True) if text] == []


@pytest.mark.parametrize(
    ("pattern", "operation"),
    [
        pytest.param(r"(a+)+$", "match", id="nested repeats"),
        pytest.param(r"(?:a|b|ab)*c", "match", id="alternatives that overlap"),
        pytest.param(r"(?:a|a)*$", "match", id="equal alternatives"),
        pytest.param(r"([a-z]+)*\d", "match", id="a repeated group"),
        pytest.param(r"a*a*b", "match", id="two adjacent repeats of the same"),
        pytest.param(r"[a-z]+\d*[a-z]+$", "match", id="repeats with an optional part between them"),
        pytest.param(r"\s*(?:x)?\s*:", "match", id="white space twice"),
        pytest.param(r"x=.*,.*;$", "match", id="wildcards"),
        pytest.param(r"<[^>]*>", "finditer", id="an opening bracket that is not closed"),
        pytest.param(r"\s+$", "sub", id="white space at the end"),
        pytest.param(r"\w+@\w+", "search", id="a word before a sign"),
        pytest.param(r"/\*.*?\*/", "finditer", id="a comment that is not closed"),
        pytest.param(r'"(?:[^"\\]++|\\.)*+"', "finditer", id="a string that begins at an escaped quotation mark"),
        pytest.param(r",(?![^{}]*\})", "split", id="a lookahead without a limit"),
        pytest.param(rb"-+>", "search", id="bytes"),
        pytest.param(r"(?m)^\s+x", "finditer", id="white space over several lines"),
        pytest.param(r"(?i)begin (.+?) end", "search", id="a lazy repeat"),
        pytest.param(r"(a)(?:b+\1?)+c", "match", id="a backreference"),
    ],
)
def test_slow_pattern_is_found(pattern: str | bytes, operation: str) -> None:
    assert operation in verdict(re.compile(pattern), [operation])


@pytest.mark.parametrize(
    ("pattern", "operation"),
    [
        pytest.param(r"[A-Za-z_]\w*", "finditer", id="a name"),
        pytest.param(r"(?:a++)++b", "match", id="possessive repeats"),
        pytest.param(r"(?>\s*)x", "match", id="an atomic group"),
        pytest.param(r"<[^<>]*>", "finditer", id="a bracket that ends at the next"),
        pytest.param(r"(?<!\s)\s+$", "sub", id="white space from its beginning"),
        pytest.param(r"a{1,40}b", "search", id="a short repeat"),
        pytest.param(r"(?:abc|d)*", "finditer", id="different alternatives"),
        pytest.param(r"\s*(?:,\s*)?x", "match", id="white space around a sign"),
        pytest.param(rb"ab*", "sub", id="bytes that are replaced"),
        pytest.param(r"", "finditer", id="empty"),
    ],
)
def test_linear_pattern_is_not_reported(pattern: str | bytes, operation: str) -> None:
    assert not verdict(re.compile(pattern), [operation])


def test_attacks_contain_the_text_before_each_repeat() -> None:
    texts = {attack.text(4) for attack in attacks(re.compile(r"ab(?:x[^y]*|zz\d+)"))}

    assert any(text.startswith("abx") for text in texts)
    assert any(text.startswith("abzz") for text in texts)


def test_patterns_after_one_that_takes_too_long_are_measured() -> None:
    linear, endless, slow = re.compile(r"[a-z]+"), re.compile(r"(a+)+$"), re.compile(r"\s+$")
    measured = [(linear, ["match"]), (endless, ["match"]), (linear, ["search"]), (slow, ["search"])]

    first, second, third, fourth = verdicts(measured)

    assert (first, third) == ("", "")
    assert second.startswith("match on ")
    assert second.endswith(": more than 0.5 s")
    assert fourth.startswith("search on ")
