"""The effects of a tool that states some of its hints."""

from __future__ import annotations

import pytest

from toolmason.kinds.upstream.resolve import hints_of as upstream_hints
from toolmason.manifest.tables import HintsTable, ToolTable
from toolmason.model.implementation import Hints, hints_of

READ = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)
WORST = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
STATED: dict[str, tuple[HintsTable | None, Hints]] = {
    "no table": (None, WORST),
    "an empty table": (HintsTable(), WORST),
    "it only reads": (HintsTable(read_only=True), READ),
    "it only reads this machine": (
        HintsTable(read_only=True, open_world=False),
        Hints(read_only=True, destructive=False, idempotent=True, open_world=False),
    ),
    "it changes": (HintsTable(read_only=False), WORST),
    "it adds": (
        HintsTable(destructive=False),
        Hints(read_only=False, destructive=False, idempotent=False, open_world=True),
    ),
    "it deletes": (HintsTable(destructive=True), WORST),
    "it writes the same again": (
        HintsTable(idempotent=True),
        Hints(read_only=False, destructive=True, idempotent=True, open_world=True),
    ),
    "it reads and counts": (
        HintsTable(read_only=True, idempotent=False),
        Hints(read_only=True, destructive=False, idempotent=False, open_world=True),
    ),
    "all four": (
        HintsTable(read_only=False, destructive=False, idempotent=True, open_world=False),
        Hints(read_only=False, destructive=False, idempotent=True, open_world=False),
    ),
}


@pytest.mark.parametrize(("stated", "hints"), STATED.values(), ids=STATED)
def test_hints_that_are_not_stated_are_the_most_careful(stated: HintsTable | None, hints: Hints) -> None:
    assert hints_of(ToolTable(summary="Do", hints=stated, at=("tools", "do"))) == hints


@pytest.mark.parametrize(("stated", "hints"), STATED.values(), ids=STATED)
def test_tools_of_upstreams_have_the_same_hints(stated: HintsTable | None, hints: Hints) -> None:
    assert upstream_hints(ToolTable(summary="Do", hints=stated, at=("tools", "do"))) == hints


def test_contradicting_hints_of_an_upstream_are_the_worse_ones() -> None:
    stated = HintsTable(read_only=True, destructive=True)
    hints = upstream_hints(ToolTable(summary="Do", hints=stated, at=("tools", "do")))

    assert (hints.read_only, hints.destructive) == (False, True)
