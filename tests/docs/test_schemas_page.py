"""The pages about schemas are today's output, their examples are accepted, and no keyword is missing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from schemas_page import GUIDE, REFERENCE, SOURCE, Construct, Page, render

from toolmason.schema import Severity, Target, advertise, check, scan
from toolmason.schema.keywords import NO_EFFECT, VALUE_CHECKS
from toolmason.schema.providers import providers

ROOT = Path(__file__).parents[2]
PAGES = (GUIDE, REFERENCE)
PROSE = (SOURCE / "schemas_reference.md.jinja").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rendered() -> tuple[dict[Path, str], Page]:
    """The texts of both pages, and the examples of the reference."""
    return render()


@pytest.fixture
def texts(rendered: tuple[dict[Path, str], Page]) -> dict[Path, str]:
    return rendered[0]


@pytest.fixture
def examples(rendered: tuple[dict[Path, str], Page]) -> Page:
    return rendered[1]


def keywords_in(construct: Construct) -> set[str]:
    return {sighting.keyword for sighting in scan.scan_schema(construct.schema) if sighting.is_keyword}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_the_output_of_todays_code(
    page: Path, texts: dict[Path, str], file_regression: FileRegressionFixture, tmp_path: Path
) -> None:
    assert texts.keys() == set(PAGES)
    obtained = tmp_path / page.name
    file_regression.check(texts[page], encoding="utf-8", newline="", fullpath=page, obtained_filename=obtained)


def test_sent_schemas_are_accepted_by_their_targets(examples: Page) -> None:
    sent = [
        (construct, target, projection)
        for construct in examples.constructs.values()
        for target, projection in construct.projections.items()
    ]

    assert sent
    for construct, target, projection in sent:
        case = (construct.name, target)
        refused = [str(each) for each in check(projection.schema, target) if each.severity is Severity.REFUSED]
        assert refused == [], case
        assert any(each.severity is Severity.REFUSED for each in projection.findings) == construct.unusable, case


def test_every_keyword_that_is_read_or_omitted_is_in_an_example(examples: Page) -> None:
    assert (VALUE_CHECKS.keys() | NO_EFFECT) - set().union(*map(keywords_in, examples.constructs.values())) == set()


def test_every_pattern_of_a_finding_is_explained_once(examples: Page) -> None:
    assert sorted(examples.explained) == sorted(examples.severities)


def test_every_target_and_severity_is_in_the_guide_and_every_source_in_the_reference(texts: dict[Path, str]) -> None:
    for name in (*Target, *Severity):
        assert re.search(rf"^\| `{name}` \| \S", texts[GUIDE], re.MULTILINE), name
    for rule in providers().rules:
        assert rule.source in texts[REFERENCE], rule.source


def test_each_pattern_of_the_work_log_has_an_example_with_its_keyword(examples: Page) -> None:
    rows = re.findall(r'^\| \d+ \| (.+?) \| .* \| \{\{ page.today\("(.+?)"\) \}\} \|', PROSE, re.MULTILINE)

    assert len(rows) == 22
    for keywords, example in rows:
        assert keywords_in(examples.constructs[example]).intersection(re.findall(r"`(.+?)`", keywords)), example


def test_versions_on_the_page_are_those_of_the_tests() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    pinned = [each for each in groups["tests"] if isinstance(each, str) and each.startswith("google-")]

    assert pinned
    for requirement in pinned:
        assert requirement.replace("==", " ") in PROSE, requirement


def test_steps_for_other_servers_work_for_a_small_schema() -> None:
    sent = advertise({"type": "object", "properties": {"$top": {"type": ["integer", "null"]}}}, rename=True)

    assert sent.schema == {"type": "object", "properties": {"top": {"type": "integer"}}}
    assert sent.renamed == {"top": "$top"}
