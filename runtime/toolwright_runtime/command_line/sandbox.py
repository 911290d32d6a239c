"""The sandbox of a program. This system has none yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """What a program may use, as absolute paths."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    executes: tuple[str, ...]
    network: bool


def supported() -> str:
    """Return "landlock", "bwrap", or an empty string if there is no sandbox."""
    return ""


def restrict(access: Access) -> None:
    """Restrict this process with Landlock."""
    raise NotImplementedError(access)


def wrap(access: Access, argv: Sequence[str]) -> list[str]:
    """Return the command line that runs `argv` in bwrap."""
    raise NotImplementedError(access, argv)
