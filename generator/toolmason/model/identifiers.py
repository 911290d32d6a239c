"""Names that are legal where they are printed: the one place that makes `Identifier` and `ClassName`."""

from __future__ import annotations

import keyword
import re
from typing import Final

from toolmason.model.types import ClassName, Identifier

MODELS_TAKEN: Final = frozenset(
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
        "ToolCall",
    }
)
"""Classes that generated modules import. A model of that name would stand for another one there."""
CONTRACT_TAKEN: Final = frozenset({"Any", "Awaitable", "Content", "Protocol", "Reply", "ToolCall"})
"""Classes that a contract imports, and beside which its protocols stand."""
CONSTANTS_TAKEN: Final = frozenset({"BINDINGS"})
"""Constants of a generated module beside one for each tool."""

_TYPE = re.compile(r"[A-Z][A-Za-z0-9]*")
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
    name = _pascal(text)
    return ClassName(f"{name}_" if keyword.iskeyword(name) else name)


def params_class_name(text: str) -> ClassName:
    """Give the class of a tool's parameters: `none` gives `NoneParams`, since that is no keyword."""
    return ClassName(f"{_pascal(text)}Params")


def program_constant_name(text: str) -> Identifier:
    """Give the constant of a program: `git` gives `GIT_PROGRAM`."""
    return Identifier(f"{constant_name(text)}_PROGRAM")


def _pascal(text: str) -> str:
    parts = [part for part in words(text) if part.isascii()]
    name = "".join(part[0].upper() + part[1:] for part in parts)
    return name if name and not name[0].isdigit() else f"T{name}"


def is_type_name(text: str) -> bool:
    """Whether a type of the manifest may have this name: its class keeps it as it stands."""
    return bool(_TYPE.fullmatch(text)) and class_name(text) == text and text not in MODELS_TAKEN


def constant_name(text: str) -> Identifier:
    """Turn `text` into a name for a constant: `read_files` gives `READ_FILES`."""
    return identifier("_".join(part.upper() for part in words(text) if part.isascii()) or "TOOL")
