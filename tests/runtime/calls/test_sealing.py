"""State is sealed with one key for all processes of a user, of which none reads a part."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolmason_runtime.calls import sealing
from toolmason_runtime.calls.sealing import MAC_BYTES, Seal, create_private


def test_processes_that_begin_at_once_have_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed: list[bytes] = []

    def create_after_another(path: Path, data: bytes) -> None:
        monkeypatch.setattr(sealing, "create_private", create_private)
        path.touch()
        sealed.append(Seal(tmp_path, "tasks").close("a", b"state"))
        path.write_bytes(data)

    monkeypatch.setattr(sealing, "create_private", create_after_another)
    seal = Seal(tmp_path, "tasks")
    seal.close("b", b"other")

    assert [seal.open("a", one) for one in sealed] == [b"state"]
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    assert len((tmp_path / "key").read_bytes()) == MAC_BYTES
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0


def test_changed_state_and_state_of_another_identity_is_not_opened(tmp_path: Path) -> None:
    seal = Seal(tmp_path, "tasks")
    sealed = seal.close("a", b"state")

    assert seal.open("a", sealed) == b"state"
    assert seal.open("b", sealed) is None
    assert seal.open("a", sealed[:-1] + b"x") is None
    assert seal.open("a", b"") is None
