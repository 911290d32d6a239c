"""Texts of documents as lines of a manifest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.toml.problems import unprintable

from toolmason.importers.names import one_line


@given(st.text())
def test_a_line_has_only_characters_that_a_manifest_accepts_and_loses_no_other(text: str) -> None:
    accepted = "".join(" " if unprintable(char) else char for char in text)

    assert one_line(text) == " ".join(accepted.split())
    assert not unprintable(one_line(text))
