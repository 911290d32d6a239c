"""The form of `opening.json`: prepared answers to the first requests of a session."""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from typing import Final

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
DEFAULT: Final = ""
CLASSIC: Final = "--classic"
NO_COMMANDS: Final = "--no-command-prompts"
FLAGS: Final = "flags"
"""Name of the flags with prepared answers; see `server.opening_arguments`."""
