"""docs/audit-log.md: its tables are those of the code, and its settings work as written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from pages import ROOT, quoted, read
from toolmason_runtime.audit.calls import DENIALS
from toolmason_runtime.audit.command import FIELDS
from toolmason_runtime.audit.lines import MAX_TEXT
from toolmason_runtime.audit.log import MAX_HTTP_REFUSALS
from toolmason_runtime.audit.reader import IDS
from toolmason_runtime.audit.settings import DEFAULT_KEEP, DEFAULT_MAX_MB
from toolmason_runtime.server.access_tokens import _RULES

from toolmason.manifest.tables import ServerTable

PAGE: Final = read("docs/audit-log.md")
SOURCES: Final = (*(ROOT / "runtime").rglob("*.py"), *(ROOT / "handlers").rglob("*.py"))

_RULE: Final = re.compile(r'(?:note\((?:.*, )?rule=|note_failure\(|rule = |, params[^"\n]*, )"([A-Z_]+)"')
"""A rule or code in the source."""


def first_cells(*head: str) -> set[str]:
    return {name for row in PAGE.rows(*head) for name in quoted(row[0])}


def test_each_field_of_the_example_is_explained() -> None:
    lines = (ROOT / "tests/docs/audit.jsonl").read_text(encoding="ascii").splitlines()
    assert {name for line in lines for name in json.loads(line)} <= first_cells("field", "in", "meaning")


def test_each_field_of_the_page_is_written_by_the_code() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    fields = first_cells("field", "in", "meaning")
    assert {field for field in fields if not re.search(rf'"{field}"|[( ]{field}=', text)} == set()
    assert set(FIELDS) | set(IDS) <= fields


def test_each_rule_is_explained() -> None:
    in_code = {rule for path in SOURCES for rule in _RULE.findall(path.read_text(encoding="utf-8"))}
    rules = first_cells("rule", "refused because")
    assert len(in_code) > 10
    assert DENIALS | {rule for _, rule in _RULES} | (in_code - {"TIMEOUT"}) <= rules


def test_each_option_of_the_command_is_explained() -> None:
    options = first_cells("option", "selects or prints")
    assert {f"--{name}" for name in FIELDS} <= options
    assert {option.split()[0] for option in options} - {f"--{name}" for name in FIELDS} == {
        *("--id", "--arguments", "--since", "--until", "--count", "--format"),
    }


def test_numbers_of_the_page_are_those_of_the_code() -> None:
    defaults = {row[0]: row[2].rpartition(": ")[2] for row in PAGE.rows("setting", "variable", "effect")[1:]}
    assert list(defaults.values()) == [str(DEFAULT_MAX_MB), str(DEFAULT_KEEP)]
    assert f"at most {MAX_HTTP_REFUSALS} a minute" in PAGE.words
    assert f"at most {MAX_TEXT} characters" in PAGE.words
    table = ServerTable.__dataclass_fields__
    assert [str(table[name].default) for name in ("audit_max_mb", "audit_keep")] == list(defaults.values())


def test_the_example_names_no_machine() -> None:
    assert "root" not in Path(ROOT, "tests/docs/audit.jsonl").read_text(encoding="ascii")
