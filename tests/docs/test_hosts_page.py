"""docs/hosts.md names every directory of a host, and no other; its examples are valid."""

from __future__ import annotations

import re
import tomllib
from pathlib import PurePosixPath

import pytest
from pages import ROOT, read
from toolmason_runtime.shared.client_profiles import TOOLMASON, UNKNOWN_ANSWER_SIZE

from toolmason.clients import Client, clients
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


@pytest.mark.parametrize("client", [each for each in clients().values() if each.session], ids=lambda each: each.key)
def test_the_facts_about_a_client_are_those_of_the_table(client: Client) -> None:
    assert client.session is not None
    if client.key == TOOLMASON:
        return
    rows = PAGE.text.partition("<!-- clients -->")[2].partition("<!-- end -->")[0]
    [row] = re.findall(rf"^\| {re.escape(client.title)} \| (.*) \|$", rows, re.MULTILINE)
    names, size, prefix, modes = row.split(" | ")

    assert names == ", ".join(f"`{name}`" for name in client.session.client_info)
    for unit, length in client.session.answer.items():
        assert size == f"{length:,} {unit}"
    assert bool(client.session.answer) == ("unknown" not in size)
    assert (prefix == "yes") == client.session.prefixes
    if client.session.elicitation is not None:
        assert modes == (", ".join(client.session.elicitation) or "nothing")
    assert f"| any other | | {UNKNOWN_ANSWER_SIZE:,} characters | no |" in rows


def test_the_examples_are_tables_of_a_manifest() -> None:
    server, outputs = PAGE.blocks("toml")
    start = 'edition = 1\n[server]\nname = "notes"\npackage = "notes_server"\n'
    text = start + server.replace("[server]\n", "") + outputs
    diagnostics = Diagnostics()
    path = PurePosixPath("notes.toml")

    assert validate(Document(text=text, data=tomllib.loads(text), path=path), diagnostics=diagnostics)
    assert not diagnostics.has_errors
