"""Pictures in the documentation of a server: few, and unchanged until their data changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from toolmason.commands import toolmason

MANIFEST = """\
edition = 1
server = { name = "three", package = "three_server" }
categories.code.summary = "Code of a repository"
categories.disk.summary = "Space on disks"
clis.git = { command = ["git"], category = "code" }
clis.df = { command = ["df"], category = "disk" }
"""
TOOL = """
[tools.{program}_{number}]
summary = "Show part {number} of {program}"
description = "{description}"
cli = "{program}"
argv = ["show-{number}"]
risk = "{risk}"
"""
PICTURES = ("effects.svg", "tokens.svg")
Write = Callable[..., dict[str, str]]


@pytest.fixture
def pictures(tmp_path: Path) -> Write:
    """Generate a server, and return its pictures by name."""

    def write(tools: int = 8, *, edited: str = "", risk: str = "write", more: str = "") -> dict[str, str]:
        text = MANIFEST + more
        for number in range(tools):
            text += TOOL.format(
                program=("git", "df")[number % 2],
                number=number,
                description=edited if edited and not number else "Shows one part, and nothing else. " * (number + 1),
                risk=risk if number == 0 else "read",
            )
        path = tmp_path / "manifest" / "three.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        result = CliRunner().invoke(toolmason, ["generate", "--manifest", str(path)])
        assert result.exit_code == 0, result.output
        docs = tmp_path / "generated" / "docs"
        return {name: (docs / name).read_text("utf-8") for name in PICTURES if (docs / name).exists()}

    return write


def texts(svg: str) -> list[str]:
    """The texts of a picture, without titles."""
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_server_has_two_pictures_with_their_numbers(pictures: Write, tmp_path: Path) -> None:
    found = pictures()

    assert texts(found["effects.svg"]) == ["only read", "write", "may destroy", "code", "4", "disk", "4"]
    names = texts(found["tokens.svg"])[::2]
    assert sorted(names) == ["code", "disk"]
    docs = tmp_path / "generated" / "docs"
    assert "](effects.svg)" in (docs / "index.md").read_text("utf-8")
    assert "](tokens.svg)" in (docs / "discovery.md").read_text("utf-8")


def test_an_edited_description_changes_no_picture(pictures: Write) -> None:
    assert pictures() == pictures(edited="Shows one part, and not more. ")


def test_a_risk_changes_its_picture_alone(pictures: Write) -> None:
    before, after = pictures(), pictures(risk="destructive")
    assert before["effects.svg"] != after["effects.svg"]
    assert before["tokens.svg"] == after["tokens.svg"]


def test_a_small_server_has_no_picture(pictures: Write, tmp_path: Path) -> None:
    assert pictures(7) == {}
    for page in ("index.md", "discovery.md"):
        assert ".svg" not in (tmp_path / "generated" / "docs" / page).read_text("utf-8")


def test_pictures_can_be_left_out(pictures: Write, tmp_path: Path) -> None:
    assert pictures(more='outputs.omit = ["docs/effects.svg", "docs/tokens.svg"]\n') == {}
    assert ".svg" not in (tmp_path / "generated" / "docs" / "index.md").read_text("utf-8")
