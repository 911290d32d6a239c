"""Importers of installed distributions: commands of `toolmason import` by entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import import_

METADATA = "Metadata-Version: 2.1\nName: acme-importers\nVersion: 1.5\n"
ENTRY_POINTS = """\
[toolmason.importers]
acme = acme_importers:acme
absent = acme_importers:absent
wrong = acme_importers:number
openapi = acme_importers:acme
"""
MODULE = """\
import click

number = 1

@click.command()
@click.argument("source")
def acme(source):
    "Create a manifest from an Acme catalogue."
    click.echo(f'[server]\\nname = "{source}"')
"""


@pytest.fixture
def _distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "acme_importers-1.5.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(METADATA, encoding="utf-8")
    (information / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    (tmp_path / "acme_importers.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(import_, "_installed", import_._installed.__wrapped__)
    monkeypatch.delitem(sys.modules, "acme_importers", raising=False)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(import_.importing, arguments, prog_name="toolmason import")


@pytest.mark.usefixtures("_distribution")
def test_an_installed_importer_is_a_command() -> None:
    assert run("acme", "books").stdout == '[server]\nname = "books"\n'
    assert "acme     Create a manifest from an Acme catalogue." in run("--help").stdout


@pytest.mark.usefixtures("_distribution")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "cannot be loaded: AttributeError: module 'acme_importers' has no attribute 'absent'"),
        ("wrong", "is not a click command"),
    ],
)
def test_an_importer_that_cannot_be_loaded_is_reported_with_its_distribution(name: str, reason: str) -> None:
    result = run(name, "--any", "argument")

    assert result.exit_code == 2
    assert f"the importer `{name}` (`acme_importers:" in result.stderr
    assert f"of the distribution `acme-importers` 1.5 {reason}" in result.stderr
    assert f"{name}" in run("--help").stdout


@pytest.mark.usefixtures("_distribution")
def test_a_distribution_replaces_no_importer_of_toolmason() -> None:
    assert "OpenAPI" in run("openapi", "--help").stdout
