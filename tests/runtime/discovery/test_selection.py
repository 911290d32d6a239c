from __future__ import annotations

import pytest
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.selection import Selection, visible_tools
from toolmason_runtime.shared.styles import STYLES


def test_tools_of_the_tier_all_are_served_only_when_asked_for(catalogue: Catalogue) -> None:
    assert "purge_mailbox" not in visible_tools(catalogue, Selection("classic"))
    assert "purge_mailbox" in visible_tools(catalogue, Selection("classic", all_tools=True))


def test_disabled_tools_are_never_visible(catalogue: Catalogue) -> None:
    assert "fax" not in visible_tools(catalogue, Selection("classic", all_tools=True))


def test_toolsets_keep_their_categories(catalogue: Catalogue) -> None:
    visible = visible_tools(catalogue, Selection("classic", toolsets=("git", " issues ")))

    assert {entry["category"] for entry in visible.values()} == {"git", "issues"}


def test_an_unknown_toolset_is_an_error_that_names_the_known_ones(catalogue: Catalogue) -> None:
    expected = r"unknown toolset `gti`: use one of `files`, `git`, `issues`, `messages`; did you mean `git`\?"
    with pytest.raises(ValueError, match=expected):
        visible_tools(catalogue, Selection("classic", toolsets=("gti",)))


def test_an_unknown_style_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown discovery style `serch-call`: use one of `search-call`"):
        Selection("serch-call")
    assert [Selection(style).style for style in STYLES] == list(STYLES)
