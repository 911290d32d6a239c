"""The measurement of docs/openapi.md on small documents: generated servers send the documented requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from bench.openapi.documents import Document
from bench.openapi.measure import measure

FIXTURES = Path(__file__).parent / "generator" / "importers" / "fixtures"


@pytest.mark.parametrize(
    ("file", "left_out"),
    [("shop.yaml", ["OPTIONS /raw"]), ("notes.json", [])],
    ids=["openapi 3.0", "openapi 3.1"],
)
def test_each_generated_tool_sends_the_documented_requests(file: str, left_out: list[str], tmp_path: Path) -> None:
    source = tmp_path / "document.json"
    source.write_text(json.dumps(yaml.safe_load((FIXTURES / file).read_text(encoding="utf-8"))), encoding="utf-8")
    document = Document(title="Test", name="test")

    result = measure(document, source, tmp_path / "project")

    assert sorted(result.failures) == left_out, result.failures
    assert result.sent == result.started == result.generated == result.operations - len(left_out)
