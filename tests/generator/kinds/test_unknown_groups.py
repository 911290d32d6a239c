"""A tool that names a program, API, upstream or database of a manifest without any."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

HEAD = """
edition = 1
server = { name = "desk", package = "desk_server" }
categories.files.summary = "Files of one directory"

[tools.find_files]
summary = "Find files"
category = "files"
"""
UPSTREAM = """
upstream = "files"
input_schema = { type = "object" }
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
"""


@pytest.mark.parametrize(
    ("keys", "finding"),
    [
        ('cli = "files"\nargv = ["list"]', "TM323 unknown program `files`"),
        ('api = "files"\nhttp = "GET /files"', "TM354 unknown API `files`"),
        (UPSTREAM, "TM351 unknown upstream `files`"),
        ('database = "files"\nsql = "SELECT 1"', "TM362 unknown database `files`"),
    ],
)
def test_a_name_is_reported_if_the_manifest_has_no_such_section(keys: str, finding: str) -> None:
    text = HEAD + keys
    document = Document(path=PurePosixPath("manifest.toml"), text=text, data=tomllib.loads(text))
    diagnostics = Diagnostics()
    tables = validate(document, diagnostics=diagnostics)
    assert tables is not None
    resolve(tables, document, root=Path(), diagnostics=diagnostics)

    assert finding in [f"{found.code} {found.message}" for found in diagnostics]
