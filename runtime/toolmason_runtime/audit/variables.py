"""The environment variables of an audit log."""

from __future__ import annotations


def variable(command: str, name: str = "AUDIT") -> str:
    """Return the environment variable of a setting: `MY_SERVER_AUDIT`."""
    letters = (character if character.isascii() and character.isalnum() else "_" for character in command)
    return f"{''.join(letters)}_{name}".upper()
