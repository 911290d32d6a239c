"""The references and the picture that are made from code are current."""

from __future__ import annotations

import re
from pathlib import Path

import diagnostics_picture
import pytest
from pages import ROOT, read
from pytest_regressions.file_regression import FileRegressionFixture
from reference_pages import PAGES
from toolmason_runtime import EXPORTS

from toolmason.diagnostics.rules import RULES
from toolmason.manifest.editor_schema import manifest_schema

RERUN = "run `python docs/source/diagnostics_picture.py`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_equals_the_output_of_the_code(page: Path, file_regression: FileRegressionFixture, tmp_path: Path) -> None:
    obtained = tmp_path / page.name
    file_regression.check(PAGES[page](), encoding="utf-8", newline="", fullpath=page, obtained_filename=obtained)


def test_every_key_that_editors_complete_is_in_the_reference() -> None:
    schema = manifest_schema()
    text = read("docs/manifest-reference.md").text
    for table in (schema, *schema["definitions"].values()):
        for name in table["properties"]:
            assert re.search(rf"^\| (\*\*)?`{re.escape(name)}`(\*\*)? \| [^|]+ \|", text, re.MULTILINE), name


def test_every_rule_has_a_heading_and_a_place_in_the_index() -> None:
    text = read("docs/rule-codes.md").text
    for code, rule in RULES.items():
        assert f"\n### {code}\n\n**{rule.title}.**" in text
        assert f"\n| [{code}](#{code.lower()}) | " in text


def test_the_picture_equals_the_output_of_the_command() -> None:
    picture = diagnostics_picture.PICTURE.read_text(encoding="utf-8")
    assert diagnostics_picture.texts(picture) == diagnostics_picture.texts(diagnostics_picture.render()), RERUN
    assert "url(http" not in picture


def test_the_handler_api_lists_every_public_name() -> None:
    page = (ROOT / "docs" / "handler-api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: toolmason_runtime\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(name for names in EXPORTS.values() for name in names)
