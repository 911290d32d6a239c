"""Checks of `[types.NAME]`: an object, an enumeration or a union."""

from __future__ import annotations

from typing import Final

from toolmason_runtime.shared.toml.problems import either, quoted, table_name
from toolmason_runtime.shared.toml.reader import TableContext

KINDS: Final = ("fields", "enum", "one_of")
"""Keys that decide the kind of a type. A type has exactly one of them."""
_REQUIRED_KINDS: Final = {"type": "enum", "discriminator": "one_of"}
"""Key -> the kind that it requires."""


def check_type(context: TableContext) -> None:
    """Report a type without a kind or with two, and keys of another kind."""
    kinds = [key for key in KINDS if key in context.data]
    where = table_name(context.at)
    if not any(context.has(key) for key in KINDS):
        hint = "add `fields = { ... }`, or `enum` with values, or `one_of` with the names of types"
        context.error("TM202", f"missing key `fields` in {where}", hint=hint)
    for extra in kinds[1:]:
        message = f"{quoted(extra)} cannot be combined with {quoted(kinds[0])} in {where}"
        context.error("TM225", message, extra, hint=f"keep one of {either(KINDS)}", value=False)
    for key, required in _REQUIRED_KINDS.items():
        if key in context.data and kinds and required not in kinds:
            message = f"{quoted(key)} cannot be combined with {quoted(kinds[0])} in {where}"
            context.error("TM225", message, key, hint=f"only a type with `{required}` has it", value=False)
    if kinds == ["one_of"]:
        context.missing("discriminator", '"kind"')
