"""A new project depends on the toolkit that laid it out, wherever that came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolmason.scaffold.install_source import direct_address, requirement


@pytest.mark.parametrize(
    ("noted", "address"),
    [
        (None, ""),
        ({"url": "file:///home/me/toolmason", "dir_info": {"editable": True}}, "file:///home/me/toolmason"),
        (
            {"url": "file:///tmp/toolmason-0.1.0-py3-none-any.whl", "archive_info": {}},
            "file:///tmp/toolmason-0.1.0-py3-none-any.whl",
        ),
        (
            {"url": "https://example.com/toolmason", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "git+https://example.com/toolmason@abc",
        ),
    ],
)
def test_the_address_is_what_pip_noted(
    noted: dict[str, object] | None, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "toolmason-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: toolmason\nVersion: 0.1.0\n", encoding="utf-8")
    if noted:
        (metadata / "direct_url.json").write_text(json.dumps(noted), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert direct_address() == address
    if address:
        assert requirement("toolkit") == f"toolmason[toolkit] @ {address}"
    else:
        assert requirement("toolkit") == "toolmason[toolkit]>=0.1"
