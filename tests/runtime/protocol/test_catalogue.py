"""The tool table is read without garbage collection, which is as before afterwards."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
from toolmason_runtime.protocol.catalogue import load_catalogue


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("text", ['{"tools": {}}', "{"])
def test_garbage_collection_is_as_before(tmp_path: Path, text: str, *, is_enabled: bool) -> None:
    path = tmp_path / "catalogue.json"
    path.write_text(text, encoding="utf-8")
    try:
        if not is_enabled:
            gc.disable()
        if text == "{":
            with pytest.raises(json.JSONDecodeError):
                load_catalogue(path)
        else:
            assert not load_catalogue(path)["tools"]
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()
