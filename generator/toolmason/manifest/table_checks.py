"""Checks that tables of several kinds need: text of one line, missing keys, values."""

from __future__ import annotations

import unicodedata
from typing import Final

from toolmason.diagnostics.key_path import KeyPath
from toolmason.diagnostics.wording import nearest, table_name, within
from toolmason.manifest.table_reader import Here, keys_of
from toolmason.manifest.tables import Table


def report_missing(here: Here, key: str, sample: str, table: type[Table]) -> None:
    """Report a key that is missing where others are as they are; one that is only misspelt has been reported."""
    known = keys_of(table)
    if key not in {nearest(each, known) for each in here.data if each not in known}:
        here.error("TM202", f"missing key `{key}` {within(here.at)}", hint=f"add `{key} = {sample}`")


def report_at(here: Here, code: str, message: str, path: KeyPath, *, hint: str = "", value: bool = True) -> None:
    """Add an error about what stands at `path` below the table, or about its key if not `value`."""
    here.document.report(here.diagnostics, code, message, (*here.at, *path), hint=hint, value=value)


def check_value(here: Here) -> None:
    """Refuse a value that contradicts itself."""
    if here.data.get("required") is True and "default" in here.data:
        message = f"{table_name(here.at)} is required, and has a default that is never used"
        here.error("TM213", message, "required", hint="leave out `required`, or the default", value=False)
    if here.data.get("enum") == []:
        message = f"`enum` in {table_name(here.at)} is empty: no value would be allowed"
        here.error("TM209", message, "enum", hint="name the values, or leave it out")


def check_one_line(here: Here, key: str, advice: str = "keep to one line; `description` has room for more") -> None:
    """Refuse line breaks and control characters where the text stands in one line of a menu or a list."""
    text = here.data.get(key)
    if isinstance(text, str) and (what := unprintable(text)):
        hint = advice if what == _LINE_BREAK else "leave it out"
        here.error("TM210", f"`{key}` in {table_name(here.at)} holds {what}", key, hint=hint)


_LINE_BREAK: Final = "a line break"


def unprintable(text: str) -> str:
    """Name the first line break or control character in `text`; empty if it has none."""
    # `isprintable` is quick and says no too often: it refuses the joiners inside emoji.
    if text.isprintable():
        return ""
    bad = next((char for char in text if unicodedata.category(char) in ("Cc", "Zl", "Zp")), "")
    is_break = bool(bad) and bad.splitlines() != [bad]
    return _LINE_BREAK if is_break else f"the control character U+{ord(bad):04X}" if bad else ""
