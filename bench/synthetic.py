"""Synthetic tools: a catalogue of any size that reads like a real one, from a vocabulary of our own.

Half of the tools read (a path, a bounded number and a choice), half change something (a choice, a nested named type and
a list). No two tools share a text. The same size gives the same tools anywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.parameters import Parameter, changing_parameters, reading_parameters

TOOLS_PER_CATEGORY: Final = 40


@dataclass(frozen=True, slots=True)
class Noun:
    """The subject of one category; `other` is a synonym. A quality tells it from others with the same words."""

    one: str
    many: str
    other: str
    quality: str = ""

    @property
    def category(self) -> str:
        """The category, which is also a Python module."""
        return self.identifier(self.many)

    @property
    def target(self) -> str:
        """The named type of the nested argument."""
        return f"{self.quality.capitalize()}{self.one.capitalize()}Target"

    def identifier(self, word: str) -> str:
        """Return the word with the quality, as a part of a name."""
        return f"{self.quality}_{word}" if self.quality else word

    @property
    def words(self) -> dict[str, str]:
        """The values of the placeholders in texts."""
        words = {"one": self.one, "many": self.many, "other": self.other}
        return {name: f"{self.quality} {word}".lstrip() for name, word in words.items()}


@dataclass(frozen=True, slots=True)
class Verb:
    """The texts of a tool, with `{one}`, `{many}` and `{other}` for the noun."""

    name: str
    summary: str
    detail: str
    use_case: str
    takes_many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticTool:
    """One tool that every compared program serves."""

    name: str
    summary: str
    description: str
    use_case: str
    noun: Noun
    reads: bool
    parameters: tuple[Parameter, ...]

    @property
    def category(self) -> str:
        """The category, which is also a Python module."""
        return self.noun.category

    @property
    def arguments(self) -> dict[str, Any]:
        """Valid arguments of a call."""
        return {part.name: part.example for part in self.parameters}


_QUALITIES: Final = ("", "big", "dry", "hot", "new", "odd", "old", "raw", "red", "top")
"""The first categories have nouns without a quality. Short words, so that texts are about as long in all categories."""

_NOUNS: Final = tuple(
    Noun(one, many, other, quality)
    for quality in _QUALITIES
    for one, many, other in (
        row.split()
        for row in (
            "invoice invoices bill",
            "parcel parcels shipment",
            "recipe recipes dish",
            "ticket tickets complaint",
            "lecture lectures lesson",
            "sensor sensors probe",
            "contract contracts agreement",
            "vehicle vehicles car",
            "patient patients sick",
            "photo photos picture",
            "meeting meetings appointment",
            "survey surveys questionnaire",
            "warehouse warehouses depot",
            "voucher vouchers coupon",
            "employee employees staff",
            "garden gardens yard",
            "bridge bridges viaduct",
            "melody melodies tune",
            "novel novels book",
            "rocket rockets launcher",
            "harbour harbours port",
            "festival festivals celebration",
            "battery batteries accumulator",
            "painting paintings artwork",
            "volcano volcanoes eruption",
        )
    )
)

_READING: Final = (
    Verb(
        "list",
        "List {many} of a folder",
        "Gives names and dates, nothing of what is inside.",
        "Which {many} do we have",
        takes_many=True,
    ),
    Verb(
        "open",
        "Show one {one} in full",
        "Gives every field that was recorded.",
        "Let me see everything about that {other}",
    ),
    Verb(
        "count",
        "Say how many {many} match",
        "Gives totals by month.",
        "How large is the number of {many}",
        takes_many=True,
    ),
    Verb(
        "compare",
        "Show what differs between two versions of a {one}",
        "Gives changed fields side by side.",
        "What is different in this {one} since yesterday",
    ),
    Verb(
        "preview",
        "Render a {one} as it would be printed",
        "Gives pages as text.",
        "What will the {one} look like on paper",
    ),
    Verb(
        "audit",
        "List who touched a {one}, and when",
        "Gives the log of accesses, oldest entry first.",
        "Who accessed the {one} last week",
    ),
    Verb(
        "validate",
        "Report mistakes in a {one}",
        "Checks mandatory fields and sums; corrects none of them.",
        "Are there errors in the {other}",
    ),
    Verb(
        "forecast",
        "Predict the next quarter of {many}",
        "Extrapolates the trend of three years.",
        "What is the outlook for {many}",
        takes_many=True,
    ),
    Verb(
        "rank", "Order {many} by importance", "Weighs age against urgency.", "Which {many} matter most", takes_many=True
    ),
    Verb(
        "sample",
        "Pick random {many} for inspection",
        "Draws without replacement, evenly over regions.",
        "Choose some {many} by chance",
        takes_many=True,
    ),
    Verb(
        "trace",
        "Follow a {one} back to where it came from",
        "Gives each earlier station.",
        "Where did the {one} originate",
    ),
    Verb("measure", "Give size and weight of a {one}", "Uses metric units throughout.", "How heavy is the {other}"),
    Verb("summarize", "Condense a {one} into a paragraph", "Leaves figures out.", "Give me the gist of a {one}"),
    Verb(
        "translate", "Show a {one} in another language", "Keeps proper nouns untouched.", "I need the {one} in Spanish"
    ),
    Verb("locate", "Find where a {one} is kept", "Gives building, shelf and box.", "On which shelf is the {other}"),
    Verb(
        "estimate",
        "Work out what a {one} will cost",
        "Takes taxes into account.",
        "What price should I expect for the {one}",
    ),
    Verb(
        "group",
        "Cluster similar {many}",
        "Gives clusters with their common traits.",
        "Put {many} that resemble each other together",
        takes_many=True,
    ),
    Verb(
        "watch",
        "Tell what happened to {many} since a moment",
        "Gives events in sequence.",
        "What is new among the {many}",
        takes_many=True,
    ),
    Verb(
        "export",
        "Give {many} as a spreadsheet",
        "Gives rows separated by commas.",
        "I want the {many} in a table",
        takes_many=True,
    ),
    Verb(
        "explain",
        "Say why a {one} has its state",
        "Quotes the rule that applied.",
        "For what reason is the {one} blocked",
    ),
)

_CHANGING: Final = (
    Verb("create", "Add a new {one}", "Numbers it consecutively.", "Start another {one} from scratch"),
    Verb("update", "Change fields of a {one}", "Leaves absent fields as they are.", "Correct the address on the {one}"),
    Verb("delete", "Remove a {one} for good", "Cannot be undone.", "Get rid of an unwanted {other}"),
    Verb("archive", "Put a {one} into long-term storage", "It stays readable afterwards.", "Store the old {one} away"),
    Verb("restore", "Bring a {one} back from storage", "Recovers its former place.", "Recover the {one} we put away"),
    Verb("rename", "Give a {one} another title", "References follow automatically.", "Call the {one} something else"),
    Verb("move", "Put a {one} into another folder", "Permissions travel along.", "Relocate the {one}"),
    Verb("copy", "Duplicate a {one}", "Attachments are shared, not cloned.", "Make a second {one} like this"),
    Verb(
        "merge",
        "Join two {many} into one",
        "Conflicts keep the later entry.",
        "Combine duplicate {many}",
        takes_many=True,
    ),
    Verb("split", "Divide a {one} into parts", "Each part names its origin.", "Break the {one} in two"),
    Verb("tag", "Attach labels to a {one}", "Existing labels remain.", "Mark the {one} as urgent"),
    Verb("lock", "Protect a {one} from changes", "Owners may still open it.", "Nobody should edit the {one} any more"),
    Verb("approve", "Sign a {one} off", "Requires the role of a supervisor.", "Accept the pending {one}"),
    Verb("reject", "Turn a {one} down", "The author gets a notice with your comment.", "Refuse the {other}"),
    Verb(
        "assign",
        "Make someone responsible for a {one}",
        "The former owner is informed.",
        "Hand the {one} to a colleague",
    ),
    Verb("publish", "Make a {one} public", "Search engines notice within a day.", "Let the world see the {one}"),
    Verb("schedule", "Set a deadline for a {one}", "Holidays are skipped.", "The {one} is due on Friday"),
    Verb(
        "import",
        "Read {many} in from a file",
        "Malformed lines are listed at the end.",
        "Load {many} that another program wrote",
        takes_many=True,
    ),
    Verb(
        "notify",
        "Send a message about a {one}",
        "Uses the channel each recipient prefers.",
        "Inform the team of the {one}",
    ),
    Verb("encrypt", "Seal a {one} with a password", "Lost passwords cannot be replaced.", "Keep the {one} secret"),
)

MAX_TOOLS: Final = len(_NOUNS) * (len(_READING) + len(_CHANGING))
"""Maximum number of tools with the vocabulary."""


def synthetic_tools(count: int) -> tuple[SyntheticTool, ...]:
    """Return `count` tools, category by category, reading and changing ones in turn.

    Raises:
        ValueError: `count` is not in 1 to `MAX_TOOLS`.
    """
    if not 1 <= count <= MAX_TOOLS:
        raise ValueError(f"{count} tools: the vocabulary allows 1 to {MAX_TOOLS}")
    categories = max(min(2, count), -(-count // TOOLS_PER_CATEGORY))
    verbs = [
        (verb, reads)
        for pair in zip(_READING, _CHANGING, strict=True)
        for verb, reads in zip(pair, (True, False), strict=True)
    ]
    sizes = [count // categories + (place < count % categories) for place in range(categories)]
    numbers = itertools.count()
    return tuple(
        _tool(next(numbers), noun, verb, reads=reads)
        for noun, size in zip(_NOUNS[:categories], sizes, strict=True)
        for verb, reads in verbs[:size]
    )


def categories_of(tools: Sequence[SyntheticTool]) -> tuple[Noun, ...]:
    """Return the nouns of the categories of `tools`, in order."""
    return tuple(dict.fromkeys(tool.noun for tool in tools))


def _tool(number: int, noun: Noun, verb: Verb, *, reads: bool) -> SyntheticTool:
    words = noun.words
    summary = verb.summary.format_map(words)
    parameters = reading_parameters if reads else changing_parameters
    return SyntheticTool(
        name=f"{verb.name}_{noun.identifier(noun.many if verb.takes_many else noun.one)}",
        summary=summary,
        description=f"{summary}. {verb.detail.format_map(words)}",
        use_case=verb.use_case.format_map(words),
        noun=noun,
        reads=reads,
        parameters=parameters(number, verb.name, words["many"]),
    )
