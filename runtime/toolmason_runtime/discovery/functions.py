"""The tools of a server as functions of a program: `git_log`, and by category `git.log`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from toolmason_runtime.shared.catalogue import ToolEntry

MODULES: Final = frozenset({"asyncio", "datetime", "json", "math", "random", "re", "statistics", "string", "time"})
"""Modules that programs often import: a category of this name has no functions of its own."""


class Functions:
    """The functions of a program. A function is the name of a tool as an identifier of Python.

    Args:
        tools: the tools of the server, by name; those that are not enabled are no functions.
        built_in: the built-in tools, by name.
    """

    def __init__(self, tools: Mapping[str, ToolEntry], built_in: Mapping[str, ToolEntry]) -> None:
        self._tools = {**tools, **built_in}

    @cached_property
    def by_name(self) -> Mapping[str, ToolEntry]:
        """The tool of each function."""
        found: dict[str, ToolEntry] = {}
        for name, entry in self._tools.items():
            found.setdefault(identifier(name), entry)
        for entry in self._tools.values():
            for alias in entry.get("aliases", ()):
                found.setdefault(identifier(alias), entry)
        return found

    @cached_property
    def by_category(self) -> Mapping[str, Mapping[str, str]]:
        """The functions of each category: `{"git": {"log": "git_log"}}`.

        A category with the name of a function, or of a module, has none.
        """
        found: dict[str, dict[str, str]] = {}
        for name, entry in self._tools.items():
            category = identifier(entry["category"]) if entry["category"] else ""
            if not category or category in MODULES or category in self.by_name:
                continue
            function = identifier(name)
            short = function.removeprefix(f"{category}_")
            for attribute in (short, function):
                if attribute.isidentifier() and not keyword.iskeyword(attribute):
                    found.setdefault(category, {}).setdefault(attribute, function)
        return found

    def name_of(self, entry: ToolEntry) -> str:
        """Return the function of a tool."""
        return identifier(entry["tool"]["name"])

    def shown(self, entry: ToolEntry) -> str:
        """Return the shortest way to name the function of a tool."""
        return self.name_of(entry)

    def all_names(self) -> Iterator[str]:
        """Yield every way to name a function."""
        yield from self.by_name
        for category, attributes in self.by_category.items():
            yield from (f"{category}.{attribute}" for attribute in attributes)


def identifier(name: str) -> str:
    """Return a name as an identifier of Python: `pull-request` as `pull_request`, `class` as `class_`."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    text = f"_{text}" if text[:1].isdecimal() else text
    return f"{text}_" if keyword.iskeyword(text) else text
