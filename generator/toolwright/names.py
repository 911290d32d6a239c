"""Names that are legal where they are printed: the one place that makes `Identifier` and `ClassName`."""

from __future__ import annotations

import keyword
import re

from toolwright.model import ClassName, Identifier

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


def words(text: str) -> list[str]:
    """Split a name in snake, kebab or camel case: `readHTTPFile2` gives read, HTTP, File, 2."""
    return _WORD.findall(text)


def identifier(text: str) -> Identifier:
    """Turn `text` into a Python name in snake case; a keyword gets a final underscore."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"_{name}"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        name += "_"
    return Identifier(name)


def class_name(text: str) -> ClassName:
    """Turn `text` into a Python class name: `read_files` gives `ReadFiles`."""
    parts = [part for part in words(text) if part.isascii()]
    name = "".join(part[0].upper() + part[1:] for part in parts)
    if not name or name[0].isdigit():
        name = f"T{name}"
    return ClassName(f"{name}_" if keyword.iskeyword(name) else name)


def constant_name(text: str) -> Identifier:
    """Turn `text` into a name for a constant: `read_files` gives `READ_FILES`."""
    return identifier("_".join(part.upper() for part in words(text) if part.isascii()) or "TOOL")
