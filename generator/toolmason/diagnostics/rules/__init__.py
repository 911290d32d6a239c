"""The rule behind each diagnostic code: one Markdown file per code, read on first use.

TM1xx: unreadable file. TM2xx: invalid key or value. TM3xx: names and references. TM4xx: generated files. TM5xx: lint.
TM6xx: drift.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_DIRECTORY: Final = Path(__file__).parent
_EXAMPLE: Final = r"```toml\n((?:(?!\n```\n).)*+)\n```\n"
_RULE: Final = re.compile(
    rf"# ([^\n]++)\n\n((?:(?!\n\n## Bad\n).)++)\n\n## Bad\n\n{_EXAMPLE}\n## Good\n\n{_EXAMPLE}", re.DOTALL
)
"""A rule: `# Title`, the reason, and a fenced TOML block under each of `## Bad` and `## Good`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. `title` has no full stop; `why` is one line; `bad` and `good` are parts of a manifest."""

    code: str
    title: str
    why: str
    bad: str
    good: str


class _Rules(Mapping[str, Rule]):
    """Code -> rule, in the order of the codes. Only the rules that are looked up are read."""

    def __getitem__(self, code: str) -> Rule:
        if code not in _codes():
            raise KeyError(code)
        return _load_rule(code)

    def __iter__(self) -> Iterator[str]:
        return iter(_codes())

    def __len__(self) -> int:
        return len(_codes())


@cache
def _codes() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _DIRECTORY.glob("TM*.md")))


@cache
def _load_rule(code: str) -> Rule:
    match = _RULE.fullmatch((_DIRECTORY / f"{code}.md").read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{code}.md must have a title, a reason, `## Bad` and `## Good`")
    title, why, bad, good = match.groups()
    return Rule(code=code, title=title, why=" ".join(why.split()), bad=bad, good=good)


RULES: Final[Mapping[str, Rule]] = _Rules()
"""Code -> rule."""
