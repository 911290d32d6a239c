"""Checks of `module:function` and of dotted names that Python imports."""

from __future__ import annotations

import keyword

from toolmason_runtime.shared.toml.reader import TableContext


def check_function_name(context: TableContext, key: str) -> None:
    """Report a `module:function` whose names cannot be imported. The reader reports other formats."""
    text = context.data.get(key)
    if isinstance(text, str) and text.count(":") == 1 and (problem := import_name_problem(text.replace(":", "."))):
        context.error("TM206", f"`{text}` cannot be imported: {problem}", key, hint="write `module:function`")


def import_name_problem(dotted: str) -> str:
    """Return the reason why Python cannot import a dotted name, or an empty string."""
    for part in dotted.split("."):
        if not part:
            return "it has an empty part"
        if keyword.iskeyword(part):
            return f"`{part}` is a Python keyword"
        if part[0].isdigit():
            return f"`{part}` starts with a digit"
    return ""
