"""The outline of a work log: its sections, entries and counts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LogSection:
    """A section with a heading of level 2; 1-based lines."""

    title: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One `### [LOG-NNN]` entry; 1-based lines, without blank lines and rules at its end.

    A field is None without a mark in the log. `blocked` is the text with the reason; `obsolete` has no successor.
    """

    id: str
    type: str
    title: str
    start_line: int
    end_line: int
    tokens: int
    task: str | None = None
    date: str | None = None
    superseded_by: tuple[str, ...] | None = None
    depends_on: tuple[str, ...] | None = None
    blocked: str | None = None
    struck_through: bool | None = None
    obsolete: bool | None = None

    @property
    def statuses(self) -> tuple[str, ...]:
        """The entry's status in words: `superseded`, `struck through`, `obsolete`, `blocked`, `dependent`."""
        states = {
            "superseded": self.superseded_by,
            "struck through": self.struck_through,
            "obsolete": self.obsolete,
            "blocked": self.blocked,
            "dependent": self.depends_on,
        }
        return tuple(name for name, value in states.items() if value)


@dataclass(frozen=True, slots=True)
class Log:
    """The outline of a work log. `current` has the tagged fields of its summary, such as `active_task`.

    `omitted` has the number of omitted items of each part.
    """

    lines: int
    tokens: int
    current: dict[str, str]
    sections: list[LogSection]
    entries: list[LogEntry]
    types: dict[str, int]
    tasks: dict[str, int]
    statuses: dict[str, int]
    problems: list[str] = field(default_factory=list)
    omitted: dict[str, int] = field(default_factory=dict)
