"""What is asked of the model behind a command line, and what comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

TIMEOUT_S: Final = 900.0
"""Seconds one attempt may take: deep questions over large projects take minutes."""

Report = Callable[[str], Awaitable[None]]
"""Tells whoever waits what is going on, in a few words that hold nothing of the answer and no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, whole: the backend remembers nothing of earlier ones.

    `folder` is the root of the project, and nothing outside of it may be read. `models` are the names to try in order;
    an empty one leaves the choice to the program.
    """

    prompt: str = field(repr=False)
    folder: Path
    models: tuple[str, ...] = ("",)
    timeout_s: float = TIMEOUT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model said, and what it took.

    `model` is the one that answered, as the program names it. `files` are those it read through its tools, relative to
    the question's folder with forward slashes, each once, in the order of their first reading; `refused` are those it
    asked for and was not given, and `ignored` those of them that files such as `.gitignore` name. `attempts` counts the
    programs that were started, and `is_cut` says that more was said than is kept.
    """

    text: str = field(repr=False)
    model: str
    files: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    tokens: int = 0
    tool_calls: int = 0
    latency_ms: int = 0
    attempts: int = 1
    is_cut: bool = False
    warnings: tuple[str, ...] = ()


Ask = Callable[[str], Awaitable[Answer]]
"""Asks the model a whole prompt about the folder a call is about."""
