"""`rig`: one of the four APIs with its backend, as `rig.api`, `rig.answer("Why?", *files)` and `rig.error(...)`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rigs import APIS, Rig, start_rig


@pytest.fixture(params=list(APIS))
def rig(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    yield from start_rig(request.param, monkeypatch)
