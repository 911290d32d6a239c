"""Stage two: read the document into its tables, and check what can be said of one table alone."""

from __future__ import annotations

import types
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from toolwright.diagnostics import Diagnostics
from toolwright.load import Document
from toolwright.read import Here, LocalRule, read
from toolwright.tables import (
    CategoryTable,
    CommandTable,
    ManifestTables,
    ServerTable,
    Table,
    ToolTable,
    ValueTable,
    WorkflowTable,
)
from toolwright.wording import kind_of, table_name

EDITION: Final = 1
"""The version of the manifest language that this toolkit speaks."""

WAYS: Final = ("handler",)
"""The keys that say how a tool is carried out. A tool has exactly one of them."""


def validate(document: Document, *, diagnostics: Diagnostics) -> ManifestTables | None:
    """Read the tables of `document`.

    What is not as it should be gets a TW2xx diagnostic and is left out, so that the next stage can look at the rest;
    None is given where nothing sensible is left. A manifest of another edition is not looked into: what is wrong there
    may be right in its own edition.
    """
    if not _is_our_edition(document, diagnostics):
        return None
    return read(ManifestTables, document, diagnostics=diagnostics, rules=LOCAL_RULES)


def _is_our_edition(document: Document, diagnostics: Diagnostics) -> bool:
    edition = document.data.get("edition")
    if type(edition) is not int or edition == EDITION:
        return True  # if it is no integer at all, the reader says so
    if edition > EDITION:
        message = f"this manifest is of a later edition than {EDITION}, the one known here"
        hint = f"update toolwright, or write `edition = {EDITION}` and see what it says"
    else:
        message, hint = f"there is no such edition: the first is {EDITION}", f"write `edition = {EDITION}`"
    document.report(diagnostics, "TW201", message, ("edition",), hint=hint, value=True)
    return False


def _check_server(here: Here) -> None:
    _check_one_line(here, "title")


def _check_summary(here: Here) -> None:
    _check_one_line(here, "summary")


def _check_tool(here: Here) -> None:
    _check_one_line(here, "summary")
    _check_one_line(here, "title")
    if "params" in here.data and "input_schema" in here.data:
        message = f"{table_name(here.at)} states its parameters twice, as `params` and as `input_schema`"
        here.error("TW211", message, "input_schema", hint="keep one of them", value=False)
    schema: Any = here.data.get("input_schema", "")
    if not isinstance(schema, dict | str):
        message = f"`input_schema` in {table_name(here.at)} must be a table or a file name, not {kind_of(schema)}"
        here.error("TW204", message, "input_schema")
    written = [way for way in WAYS if way in here.data]
    if len(written) != 1:
        message = f"nothing says how {table_name(here.at)} is carried out"
        here.error("TW212", message, hint='add `handler = "module:function"`')


def _check_value(here: Here) -> None:
    if here.data.get("required") is True and "default" in here.data:
        message = f"{table_name(here.at)} is required, and has a default that is never used"
        here.error("TW213", message, "required", hint="leave out `required`, or the default", value=False)
    if here.data.get("enum") == []:
        message = f"`enum` in {table_name(here.at)} is empty: no value would be allowed"
        here.error("TW209", message, "enum", hint="name the values, or leave it out")


def _check_workflow(here: Here) -> None:
    _check_one_line(here, "summary")
    if here.data.get("steps") == []:
        here.error("TW209", f"`steps` in {table_name(here.at)} is empty", "steps")


def _check_one_line(here: Here, key: str) -> None:
    """Refuse line breaks and control characters where the text stands in one line of a menu or a list."""
    text = here.data.get(key)
    # `isprintable` is quick and says no too often: it refuses the joiners inside emoji.
    if not isinstance(text, str) or text.isprintable():
        return
    bad = next((char for char in text if unicodedata.category(char) in ("Cc", "Zl", "Zp")), "")
    if not bad:
        return
    is_break = bool(bad.splitlines() != [bad])
    what = "a line break" if is_break else f"the control character U+{ord(bad):04X}"
    hint = "keep to one line; `description` has room for more" if is_break else "leave it out"
    here.error("TW210", f"`{key}` in {table_name(here.at)} holds {what}", key, hint=hint)


LOCAL_RULES: Final[Mapping[type[Table], LocalRule]] = types.MappingProxyType(
    {
        ServerTable: _check_server,
        CategoryTable: _check_summary,
        ToolTable: _check_tool,
        CommandTable: _check_summary,
        WorkflowTable: _check_workflow,
        ValueTable: _check_value,
    }
)
"""What is checked of one table beyond what its dataclass says."""
