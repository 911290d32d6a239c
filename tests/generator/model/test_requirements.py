"""Requirements of distributions: their normalized names, and the extra to which they belong."""

from __future__ import annotations

import pytest

from toolmason.model.requirements import is_required_by, normal_extras, normal_name, parse_requirement


@pytest.mark.parametrize(
    ("text", "name", "extras", "required_by"),
    [
        ("h11", "h11", set(), ""),
        ("PyJWT[crypto]>=2.10.1", "pyjwt", {"crypto"}, ""),
        ("ruamel.yaml<0.19,>=0.18", "ruamel-yaml", set(), ""),
        ("Foo__Bar.-baz[Some_Extra, other.extra]", "foo-bar-baz", {"some-extra", "other-extra"}, ""),
        ("colorama; sys_platform == 'win32'", "colorama", set(), ""),
        ("mcp ; extra == 'http'", "mcp", set(), "http"),
        ("mcp>=2 ; sys_platform == 'win32' and extra == 'All_Extras'", "mcp", set(), "all-extras"),
        ("mcp ; 'http' == extra", "mcp", set(), "http"),
        (
            "jq @ https://example.org/jq.whl ; (os_name == 'nt' or python_version < '4') and extra == \"jq\"",
            "jq",
            set(),
            "jq",
        ),
    ],
)
def test_a_requirement_has_a_normalized_name_extras_and_an_extra_that_needs_it(
    text: str, name: str, extras: set[str], required_by: str
) -> None:
    requirement = parse_requirement(text)

    assert requirement
    assert normal_name(requirement.name) == name
    assert normal_extras(requirement) == extras
    assert [extra for extra in ("", "http", "All.Extras", "jq") if is_required_by(requirement, extra)] == [
        "All.Extras" if required_by == "all-extras" else required_by
    ]


def test_one_requirement_can_belong_to_two_extras() -> None:
    requirement = parse_requirement("mcp ; extra == 'http' or extra == 'toolkit'")

    assert requirement
    assert [extra for extra in ("", "http", "toolkit", "jq") if is_required_by(requirement, extra)] == [
        "http",
        "toolkit",
    ]


@pytest.mark.parametrize(
    "text", ["", "# h11", "h11 # a comment", "h11>=", "h11[", "-e .", "git+https://example.org/h11"]
)
def test_invalid_text_is_no_requirement(text: str) -> None:
    assert parse_requirement(text) is None
