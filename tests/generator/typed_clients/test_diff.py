"""`toolmason diff` names the methods of typed clients that a change breaks."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from generated_clients import CASE

from toolmason.commands import toolmason


def test_a_change_that_breaks_callers_names_the_methods_of_typed_clients(tmp_path: Path) -> None:
    text = (CASE / "manifest.toml").read_text(encoding="utf-8")
    (tmp_path / "old.toml").write_text(text, encoding="utf-8")
    (tmp_path / "new.toml").write_text(text.replace("maximum = 100", "maximum = 50"), encoding="utf-8")

    result = CliRunner().invoke(toolmason, ["diff", str(tmp_path / "old.toml"), str(tmp_path / "new.toml")])

    assert result.exit_code == 1
    used = "Used by: the Python client's `DiaryClient.find_notes`, the TypeScript client's `DiaryClient.findNotes`"
    assert " ".join(result.output.split()).count(used) == 1
    assert "argument `limit` has `maximum` `50`, not `100`" in result.output


def test_a_manifest_without_clients_names_none(tmp_path: Path) -> None:
    text = (CASE / "manifest.toml").read_text(encoding="utf-8").replace('clients = ["python", "typescript"]', "")
    (tmp_path / "old.toml").write_text(text, encoding="utf-8")
    (tmp_path / "new.toml").write_text(text.replace("maximum = 100", "maximum = 50"), encoding="utf-8")

    result = CliRunner().invoke(toolmason, ["diff", str(tmp_path / "old.toml"), str(tmp_path / "new.toml")])

    assert result.exit_code == 1
    assert "client" not in result.output
