"""The form of `opening.json`: prepared answers to the first requests of a session."""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from typing import Final, Literal, TypedDict

    class PreparedFlag(TypedDict, total=False):
        """A flag with which the boot phase answers. It has each member only if needed."""

        switch: Literal[True]
        """It has no value."""
        implicit: Literal[True]
        """Its value may be left out."""
        choices: list[str]
        """Its values with prepared answers."""
        type: str
        """The type of its value, by default `string`."""
        env: str
        """The environment variable that replaces it."""
        required: Literal[True]
        """It or its variable is necessary."""
        secret: Literal[True]
        """Only its variable exists."""


OPENING: Final = "opening.json"
"""Name of the file with the prepared answers, beside the catalogue."""
FORMAT: Final = 4
"""Version of that file. Increase it after a change of its form, of the meta-tools, or of the short form of a tool."""
PREFIXED: Final = "prefixed "
"""Before the name of an answer for clients that see the names of tools with the prefix of the server."""
INSTRUCTIONS: Final = "instructions"
"""Name of the prepared instructions."""
CATALOGUE: Final = "catalogue.json"
POSTINGS: Final = "semantic.postings"
DEFAULT_VARIANT: Final = ""
CLASSIC_VARIANT: Final = "--classic"
NO_COMMANDS_VARIANT: Final = "--no-command-prompts"
FLAGS_MEMBER: Final = "flags"
"""Name of the flags with prepared answers: a `PreparedFlag` by each name."""
