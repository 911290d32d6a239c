"""docs/authorization.md: its manifest generates a server, and its tables and limits are those of the code."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Final

from pages import quoted, read
from toolmason_runtime import Principal
from toolmason_runtime.protocol.authorization import insufficient_scope
from toolmason_runtime.server import jwks
from toolmason_runtime.server.flags import own_flags
from toolmason_runtime.toml.tables import keys_of

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import load
from toolmason.manifest.tables import ServerAuthTable
from toolmason.manifest.validate import validate
from toolmason.manifest.validate_authorization import CLAIM_TYPES
from toolmason.resolve import resolve

PAGE: Final = read("docs/authorization.md")


def test_the_manifest_of_the_page_is_valid(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(PAGE.block("toml"), encoding="utf-8")
    handlers = tmp_path / "handlers" / "notes_handlers"
    handlers.mkdir(parents=True)
    (handlers / "__init__.py").touch()
    functions = "\n".join(f"async def {name}(params, call): ..." for name in ("list_notes", "remove_note"))
    (handlers / "notes.py").write_text(functions, encoding="utf-8")
    diagnostics = Diagnostics()
    document = load(tmp_path / "manifest.toml", root=tmp_path, diagnostics=diagnostics)
    assert document
    tables = validate(document, diagnostics=diagnostics)
    assert tables
    server = resolve(tables, document, root=tmp_path, diagnostics=diagnostics, handlers=tmp_path / "handlers")

    assert server, [str(diagnostic) for diagnostic in diagnostics]
    assert [param.value.name for tool in server.tools for param in tool.claims] == ["owner"]


def test_the_tables_of_the_page_are_complete() -> None:
    keys = [key for keys, _ in PAGE.rows("key", "meaning") for key in quoted(keys)]
    assert keys == list(keys_of(ServerAuthTable))
    attributes = [quoted(attribute)[0] for attribute, _ in PAGE.rows("attribute", "content")]
    assert attributes == [field.name for field in fields(Principal)]
    assert {flag.removeprefix("--") for flag in quoted(PAGE.words) if flag.startswith("--auth-")} <= own_flags()
    assert set(CLAIM_TYPES) <= set(quoted(PAGE.section("Parameters from claims").text))


def test_the_texts_and_limits_of_the_page_are_those_of_the_code() -> None:
    assert PAGE.block("text").strip() == insufficient_scope("remove_note", ["notes:write"])
    words = PAGE.section("Checks of a token").words
    assert (jwks.FRESH_S, jwks.STALE_S) == (600, 3600)
    assert "after 10 minutes" in words
    assert f"at most {jwks.MAX_FETCHES} times a minute" in words
