"""docs/hosts.md names every directory of a host, and no other; its examples are valid."""

from __future__ import annotations

import re
import tomllib
from pathlib import PurePosixPath

from pages import ROOT, read

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate

PAGE = read("docs/hosts.md")
TREES = (ROOT / "generated", *ROOT.glob("tests/golden/a-published-server-*/expected"))


def test_the_table_has_every_directory_of_a_host() -> None:
    parents = [tree / kind for tree in TREES for kind in ("clients", "commands", "plugins") if (tree / kind).exists()]
    generated = {f"{parent.name}/{path.name}/" for parent in parents for path in parent.iterdir()}
    named = set(re.findall(r"`((?:clients|commands|plugins)/[a-z-]+/)[\w.]*`", PAGE.text))

    assert named == generated


def test_the_examples_are_tables_of_a_manifest() -> None:
    server, outputs = PAGE.blocks("toml")
    start = 'edition = 1\n[server]\nname = "notes"\npackage = "notes_server"\n'
    text = start + server.replace("[server]\n", "") + outputs
    diagnostics = Diagnostics()
    path = PurePosixPath("notes.toml")

    assert validate(Document(text=text, data=tomllib.loads(text), path=path), diagnostics=diagnostics)
    assert not diagnostics.has_errors
