"""The kind `glossary` in the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from toolmason_glossary_runtime import Glossary, GlossaryTool

from toolmason.model.implementation import Group, Implementation
from toolmason.model.types import Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryImplementation(Implementation):
    """A tool that looks terms up."""

    kind: ClassVar[str] = "glossary"
    plural: ClassVar[str] = "glossaries"
    tool: GlossaryTool
    glossary_constant: Identifier

    @property
    def group(self) -> tuple[Identifier, Glossary]:
        """The glossary."""
        return self.glossary_constant, self.tool.glossary

    @property
    def imports(self) -> Mapping[str, tuple[str, ...]]:
        """The classes of its specification."""
        return {
            "toolmason_glossary_runtime": ("Glossary", "GlossaryTool"),
            "toolmason_runtime.serving": ("bind",),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GlossaryGroup(Group):
    """A glossary for the docs."""

    kind: ClassVar[str] = "glossary"
