"""Edit the files of a manifest: the keys that define a name, those that use it, and the texts that mention it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.edits import read_text
from toolmason.manifest.document import Document
from toolmason.manifest.references import Reference
from toolmason.project import Project
from toolmason.refactor.mentions import Mentions
from toolmason.refactor.toml_text import TomlText, quoted_toml

TEXT_KEYS: Final = frozenset(
    {
        *(
            "summary",
            "description",
            "instructions",
            "text",
            "prompt",
            "message",
            "confirm",
            "reason",
            "expected_output",
        ),
        *("notes", "use_cases", "argument_hint"),
    }
)
"""Keys whose values are text for people and models."""


@dataclass
class ManifestEdits:
    """The texts of a manifest's files, with the changes so far, by the path in the project."""

    project: Project
    document: Document
    texts: dict[Path, TomlText] = field(default_factory=dict)
    uncertain: list[tuple[Path, int, str]] = field(default_factory=list)
    """File, line and reason of each place that a person must check."""

    def __post_init__(self) -> None:
        for file in self.document.files or (self.document,):
            path = self.project.root / file.path
            self.texts[path] = TomlText(read_text(path, self.project.root))

    def results(self) -> dict[Path, str]:
        """Return the new texts."""
        return {path: text.result() for path, text in self.texts.items()}

    def owner(self, at: KeyPath) -> tuple[Path, TomlText]:
        """Return the file that has the key at a path of the manifest, or most of its parents."""

        def known_parts(item: tuple[Path, TomlText]) -> int:
            return max(length for length in range(len(at) + 1) if not length or item[1].has(at[:length]))

        return max(self.texts.items(), key=known_parts)

    def rename_key(self, at: KeyPath, new: str) -> None:
        """Rename the key at a path, in each file that has it."""
        for text in self.texts.values():
            text.rename_key(at, new)

    def rename_reference(self, reference: Reference, new: str) -> None:
        """Replace one use of a name."""
        at = self.document.origin(reference.at)
        _, text = self.owner(at)
        if not text.has(at):
            return  # It is in `defaults`, or written in a way that the check of the result reports.
        if reference.part == "key":
            text.rename_key(at, new)
        elif reference.part == "value":
            text.set_string(at, new)
        else:
            old = reference.name

            def replace(value: str) -> Iterator[tuple[int, int, str]]:
                for match in re.finditer(reference.placeholder, value):
                    if match["name"] == old:
                        yield *match.span("name"), new

            text.edit_string(at, replace)

    def add_keys(self, at: KeyPath, keys: Mapping[str, str]) -> None:
        """Add keys with texts to a table."""
        self.owner(at)[1].add_keys(at, {key: quoted_toml(value) for key, value in keys.items()})

    def add_alias(self, at: KeyPath, table: Mapping[str, Any], old: str, new: str, fixed: Mapping[str, str]) -> None:
        """Add `old` to `aliases` of a table, without `new`, and add the keys `fixed`.

        Without `old`, which may be empty, it only removes `new` from them.
        """
        _, text = self.owner(at)
        keys = {key: quoted_toml(value) for key, value in fixed.items()}
        aliases = table.get("aliases")
        here = (*at, "aliases")
        if not isinstance(aliases, list) or not text.has(here):
            keys |= {"aliases": f"[{quoted_toml(old)}]"} if old else {}
        elif new in aliases and old and old not in aliases:
            text.set_string((*here, aliases.index(new)), old)
        else:
            if new in aliases:
                text.remove_item(here, aliases.index(new))
            if old and old not in aliases:
                text.add_item(here, quoted_toml(old))
        text.add_keys(at, keys)

    def replace_mentions(
        self, mentions: Mentions, new: str, name: str, *, skip: Iterable[KeyPath] = (), inside: KeyPath = ()
    ) -> None:
        """Replace the mentions of a name in the texts, and list the uncertain ones. `inside` limits them to a table."""
        skipped = {*skip}
        for path, text in self.texts.items():
            for at, start, end in text.strings():
                if at in skipped or at[: len(inside)] != inside or not _is_text(at):
                    continue
                text.edit_string(at, _replacing(mentions, new))
                for offset in mentions.listed(text.plain(start, end)):
                    self.uncertain.append((path, text.line(start + offset), f"`{name}` in a text"))


def _replacing(mentions: Mentions, new: str) -> Callable[[str], Iterator[tuple[int, int, str]]]:
    return lambda value: mentions.replace(value, new)


def _is_text(at: KeyPath) -> bool:
    names = [part for part in at if isinstance(part, str)]
    return bool(names) and names[-1] in TEXT_KEYS and "arguments" not in names[:-1]
