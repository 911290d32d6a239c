"""Convert names of a manifest to Python identifiers, the only module that creates `Identifier` and `ClassName`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from itertools import chain, count
from typing import Final

from toolmason.model.types import ClassName, Identifier

RESERVED_MODEL_NAMES: Final = frozenset(
    {
        "Annotated",
        "Any",
        "Awaitable",
        "BaseModel",
        "Binding",
        "ConfigDict",
        "Content",
        "Field",
        "Final",
        "Literal",
        "Mapping",
        "Model",
        "Protocol",
        "Reply",
        "StrEnum",
        "ToolCall",
        "TypeAliasType",
        "Union",
    }
)
"""Classes that generated modules import. A model of that name would replace one of them."""
RESERVED_CONTRACT_NAMES: Final = frozenset({"Any", "Awaitable", "Content", "Protocol", "Reply", "ToolCall"})
"""Classes that a contract imports in addition to its protocols."""
RESERVED_CONSTANTS: Final = frozenset({"BINDINGS"})
"""Constants of a generated module that belong to no tool."""

_TYPE = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
"""A word of a name: `HTTP`, `File`, `read`, `2`, or letters outside ASCII."""


def words(text: str) -> list[str]:
    """Split a name in snake, kebab or camel case: `readHTTPFile2` becomes read, HTTP, File, 2."""
    return _WORD.findall(text)


def identifier(text: str) -> Identifier:
    """Return `text` as a Python identifier: `due-date` becomes `due_date`, the keyword `in` becomes `in_`."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"_{name}"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        name += "_"
    return Identifier(name)


def class_name(text: str) -> ClassName:
    """Return `text` as a class name: `read_files` becomes `ReadFiles`."""
    name = _pascal(text)
    return ClassName(f"{name}_" if keyword.iskeyword(name) else name)


def member_names(values: Iterable[str]) -> tuple[Identifier, ...]:
    """Return the names of the members of an enumeration of strings: `in-review` becomes `in_review`.

    The names differ, and none hides an attribute of strings or enumerations: `title` becomes `title_`.
    """
    names: list[Identifier] = []
    for value in values:
        base = re.sub(r"\W", "_", value, flags=re.ASCII).strip("_") or "value"
        base = identifier(f"value_{base}" if base[0].isdigit() else base)
        if base in _MEMBER_ATTRIBUTES:
            base = Identifier(f"{base}_")
        numbered = (Identifier(f"{base}_{number}") for number in count(2))
        names.append(next(name for name in chain([base], numbered) if name not in names))
    return tuple(names)


_MEMBER_ATTRIBUTES: Final = frozenset({*dir(str), "name", "value", "mro"})


def params_class_name(text: str) -> ClassName:
    """Return the class name of a tool's parameters: `lend` becomes `LendParams`."""
    return ClassName(f"{_pascal(text)}Params")


def group_constant_name(text: str, suffix: str) -> Identifier:
    """Return the name of the constant of a program, an API or the like: `git` becomes `GIT_PROGRAM`."""
    return Identifier(f"{constant_name(text)}_{suffix}")


def _pascal(text: str) -> str:
    parts = [part for part in words(text) if part.isascii()]
    name = "".join(part[0].upper() + part[1:] for part in parts)
    return name if name and not name[0].isdigit() else f"T{name}"


def is_type_name(text: str) -> bool:
    """Return whether a type may have this name: a class name that stays unchanged and is not reserved."""
    return bool(_TYPE.fullmatch(text)) and class_name(text) == text and text not in RESERVED_MODEL_NAMES


def constant_name(text: str) -> Identifier:
    """Return `text` as the name of a constant: `read_files` becomes `READ_FILES`."""
    return identifier("_".join(part.upper() for part in words(text) if part.isascii()) or "TOOL")
