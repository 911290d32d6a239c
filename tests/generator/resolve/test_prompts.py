"""Prompts and resources: resolved from text."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

MANIFEST = """edition = 1
[server]
name = "notes"
package = "notes_server"
handlers = "notes_tools"
[prompts.read]
summary = "Read a page"
messages = [{{ resource = "{resource}" }}]
[resources.page]
uri = "{uri}"
summary = "A page of notes"
mime_type = "text/plain"
handler = "book:read_page"
"""


def codes(uri: str, resource: str) -> list[str]:
    """Return the codes of all findings."""
    diagnostics = Diagnostics()
    text = MANIFEST.format(uri=uri, resource=resource)
    document = Document(path=PurePosixPath("manifest.toml"), text=text, data=tomllib.loads(text))
    tables = validate(document, diagnostics=diagnostics)
    if tables:
        resolve(tables, document, root=Path(), diagnostics=diagnostics, handlers=None)
    return [diagnostic.code for diagnostic in diagnostics]


@pytest.mark.parametrize(
    ("uri", "resource", "expected"),
    [
        ("notes://{day}", "notes://today", []),
        ("notes://{day}", "notes://2026/11", ["TM345"]),
        ("notes://{+path}", "notes://2026/11", []),
        ("notes://today", "notes://today", []),
        ("notes://today", "notes://today2", ["TM345"]),
        ("notes://{day*}", "notes://today", ["TM342"]),
    ],
)
def test_a_message_names_a_resource_that_the_server_can_read(uri: str, resource: str, expected: list[str]) -> None:
    assert codes(uri, resource) == expected


def test_many_variables_are_matched_in_linear_time() -> None:
    """In a process of its own, because a regular expression cannot be interrupted."""
    uri = "notes://" + "x".join(f"{{v{number}}}" for number in range(12)) + "/end"
    program = f"import test_prompts; print(test_prompts.codes({uri!r}, 'notes://' + 'x' * 80))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        check=True,
        timeout=20,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "['TM345']\n"
