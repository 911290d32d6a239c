"""What can be told about the program without running it, when the server starts: it is reported, and nothing ends."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workbench_handlers.model_backends.choice import (
    AUTO,
    BACKEND,
    COMMANDS,
    located,
    named_command,
    wanted,
    without_projects,
)
from workbench_handlers.setup.auth import Auth, find_auth
from workbench_handlers.setup.configuration import Environ

INSTALL_GEMINI: Final = "npm install -g @google/gemini-cli"
GEMINI_PAGE: Final = "https://github.com/google-gemini/gemini-cli"
AGY_PAGE: Final = "https://antigravity.google/product/antigravity-cli"
RUN_INIT: Final = "`workbench init` checks the setup and says what to do"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that will make research tools fail. `code` is that of their error."""

    code: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}"


@dataclass(frozen=True, slots=True)
class Place:
    """A program that is there: `gemini` or `agy`, and the path of the executable."""

    name: str
    path: str


def program_on_path(environ: Environ) -> Place | None:
    """Find the program that the settings and PATH lead to, without running it. What it can do is not known by that."""
    name = _looked_for(environ)
    if name not in COMMANDS:
        return None
    path = located(named_command(name, environ) or name, environ)
    return Place(name, path) if path else None


def auth_on(environ: Environ, folder: Path, place: Place | None) -> Auth:
    """Say how the program that was found would authenticate; without one, how Gemini CLI would."""
    return find_auth(environ, folder, backend=place.name if place else "gemini")


def startup_report(environ: Environ | None = None, folder: Path | None = None) -> list[Finding]:
    """Say what will make research tools fail, as far as can be seen without running anything.

    Whether the program knows the flags it is given is seen when it is first used. It looks at a dozen paths, so it
    belongs into a thread.
    """
    folder = folder or Path.cwd()
    environ = without_projects(os.environ if environ is None else environ, (folder,))
    place = program_on_path(environ)
    if place is None:
        return [Finding("GEMINI_CLI_NOT_FOUND", f"research tools cannot answer, as {missing(environ)}", RUN_INIT)]
    auth = auth_on(environ, folder, place)
    if auth.configured is False:
        message = f"research tools cannot answer, as `{place.name}` is not authenticated"
        return [Finding("AUTH_MISSING", message, f"{auth.hint}; {RUN_INIT}")]
    return []


def missing(environ: Environ) -> str:
    """Say which program was looked for in vain."""
    name = _looked_for(environ)
    if name not in COMMANDS:
        return f"{BACKEND} names no program: set it to gemini, agy or auto"
    if named_command(name, environ):
        return f"the program that {COMMANDS[name]} names is not there"
    found = f"`{name}` is not on PATH"
    is_agy_there = name == "gemini" and located(named_command("agy", environ) or "agy", environ) is not None
    return f"{found}; `agy` is there, and used where {BACKEND}=agy says so" if is_agy_there else found


def _looked_for(environ: Environ) -> str:
    """Give the program that is to be used. `agy` must be named, since less holds it to reading."""
    name = wanted(environ)
    return "gemini" if name == AUTO else name
