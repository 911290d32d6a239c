"""The rule for prefixes of generated names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import Prefix, parse_prefix, prefix_from_environment
from toolmason_runtime.shared.prefixes import LONG_PREFIX, MAX_BYTES

VARIABLE = "TEST_COMMAND_PREFIX"


@pytest.mark.parametrize("text", ["", "gemini-", "gw_", "Team1-", "-".join("abcdefgh") + "-", "a" * 31 + "-"])
def test_a_usual_prefix_is_accepted_without_a_remark(text: str) -> None:
    assert parse_prefix(text, VARIABLE) == Prefix(text)


@pytest.mark.parametrize(
    ("text", "warnings", "notes"),
    [
        ("my team-", ["a space"], []),
        ("team:", ["special characters (`:`)"], ["`team:-`"]),
        ("<a>$a<-", ["special characters (`<>$`)"], []),
        ("grün-", ["special characters (`ü`)"], []),
        ("a" * LONG_PREFIX + "-", [f"{LONG_PREFIX + 1} characters"], []),
        ("a b!" + "c" * LONG_PREFIX, ["a space", "special characters (`!`)", "characters; use at most"], ["separator"]),
        ("gemini", [], ["`gemini-`"]),
    ],
)
def test_a_prefix_that_is_probably_a_mistake_is_kept_and_reported(
    text: str, warnings: list[str], notes: list[str]
) -> None:
    prefix = parse_prefix(text, VARIABLE)

    assert prefix.text == text
    for remarks, parts in ((prefix.warnings, warnings), (prefix.notes, notes)):
        pairs = list(zip(remarks, parts, strict=True))
        assert all(part in remark and remark.startswith(VARIABLE) for remark, part in pairs)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("../", "`/`"),
        ("a/b", "`/`"),
        ("C:\\", "`\\`"),
        ("a..b", "`..`"),
        (".hidden-", "starts with `.`"),
        ("--force", "starts with `-`"),
        ("a\nb", "`a\\nb` contains control"),
        ("a\0b", "control"),
        ("a\u202eb", "invisible"),
        ("a\ud800b", "invisible"),
        ("a" * (MAX_BYTES + 1), f"{MAX_BYTES + 1} bytes"),
        ("ü" * MAX_BYTES, f"{2 * MAX_BYTES} bytes"),
    ],
)
def test_a_prefix_that_leads_elsewhere_is_refused_with_the_characters_to_use(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="use letters, digits") as caught:
        parse_prefix(text, VARIABLE)

    assert str(caught.value).startswith(f"{VARIABLE}: the prefix `")
    assert problem in str(caught.value)


@given(st.text(max_size=2 * MAX_BYTES))
def test_a_name_with_any_accepted_prefix_is_one_short_visible_part_of_a_path(text: str) -> None:
    try:
        prefix = parse_prefix(text, VARIABLE)
    except ValueError as error:
        refusal = str(error)
        prefix = Prefix("")
    else:
        refusal = ""

    assert refusal.isprintable()
    assert len(refusal) < 1000
    name = f"{prefix.text}feature.md"
    assert os.path.basename(name) == name  # noqa: PTH119  not a path of pathlib's, which drops dots
    assert name.isprintable()
    assert name[0] not in ".-"
    assert len(name.encode()) < 255


@pytest.mark.parametrize(("value", "text"), [(None, "gemini-"), ("", ""), ("gw-", "gw-")])
def test_an_unset_variable_means_the_default_and_an_empty_one_no_prefix(
    monkeypatch: pytest.MonkeyPatch, value: str | None, text: str
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)

    assert prefix_from_environment(VARIABLE, "gemini-") == Prefix(text)


@pytest.mark.skipif(sys.platform == "win32", reason="environment variables are text on Windows")
def test_a_variable_that_is_not_text_is_refused() -> None:
    code = f"from toolmason_runtime import prefix_from_environment as read; read({VARIABLE!r}, '')"
    environment = {**os.environ, VARIABLE: os.fsdecode(b"caf\xe9-")}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)

    assert b"ValueError: TEST_COMMAND_PREFIX: the prefix `caf\\udce9-` contains control" in result.stderr
