from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.shared.catalogue import Catalogue

MakeDesk = Callable[..., Any]


@pytest.mark.parametrize(
    ("style", "key", "value"),
    [("search-call", "anthropic/alwaysLoad", False), ("classic", "anthropic/searchHint", "history of commits")],
)
def test_the_manifest_decides_where_it_gives_a_key_itself(
    catalogue: Catalogue, desk: MakeDesk, style: str, key: str, value: object
) -> None:
    catalogue["discovery"]["pinned"] = ["git_log"]
    catalogue["tools"]["git_log"]["tool"]["_meta"] = {key: value}
    listed = {tool["name"]: tool for tool in desk(catalogue, style).style.listed()}

    assert listed["git_log"]["_meta"] == {key: value}


@pytest.mark.parametrize("style", ["search-call", "list-describe", "discover-schema", "classic"])
def test_listing_leaves_the_catalogue_as_it_is(catalogue: Catalogue, desk: MakeDesk, style: str) -> None:
    catalogue["discovery"]["pinned"] = ["git_log"]
    desk(catalogue, style).style.listed()

    assert not any("_meta" in entry["tool"] for entry in catalogue["tools"].values())
