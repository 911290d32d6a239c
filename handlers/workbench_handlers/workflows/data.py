"""The packaged workflows and the facts about clients, rendered into `workflow_data.json` at generation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from toolmason_runtime import Placeholders, placeholders_of

SETUP_NAMES: Final = ("spec-only", "feature", "refactor", "review")
"""The workflows that `setup_workflows` installs, in the order of `all`."""


@dataclass(frozen=True, slots=True)
class Host:
    """A client with command files. `file` contains `{name}`; `arguments` stands for the text after the command."""

    file: str
    form: Literal["frontmatter", "plain", "toml"]
    hint_key: str
    """Key of the argument hint in the frontmatter; empty if the client has none."""
    arguments: str
    live: tuple[str, ...]
    """Regular expressions of text that the client would run, read as a file, or replace, in this order."""

    @property
    def run(self) -> str:
        """The regular expression of text that the client would run; empty for none."""
        return self.live[0] if self.live else ""

    @property
    def suffix(self) -> str:
        """The end of the file's name, such as `.md`."""
        return self.file.partition("{name}")[2]

    @property
    def directory(self) -> str:
        """The directory of the command files in a project."""
        return self.file.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Variant:
    """The Markdown of a workflow, its number of steps and their tools."""

    text: str
    steps: int
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A packaged workflow. `command` contains `{COMMAND_NAME}`, `{DESCRIPTION}` and `{arguments}`."""

    summary: str
    description: str
    argument_hint: str
    complete: Variant
    without_validation: Variant
    command: str


def hosts() -> Mapping[str, Host]:
    """Return the clients with command files by key."""
    return {key: Host(**{**table, "live": tuple(table["live"])}) for key, table in _data()["hosts"].items()}


@cache
def workflows(style: str = "") -> Mapping[str, Workflow]:
    """Return the packaged workflows by name, with the names of tools in a discovery style; empty for the default one.

    The clients with command files show each tool with the name of its server, so the names have no prefix.
    """
    names = placeholders_of(_read("catalogue.json"), style)
    return {name: _workflow(table, names) for name, table in _data()["workflows"].items()}


def custom_command() -> str:
    """Return the text of a command with custom steps, which replace `{STEPS}`."""
    text: str = _data()["custom_command"]
    return text


def _workflow(table: Mapping[str, Any], names: Placeholders) -> Workflow:
    variants = {key: _variant(table[key], names) for key in ("complete", "without_validation")}
    texts = {key: names.fill(table[key]) for key in ("summary", "description", "command")}
    return Workflow(**{**table, **texts, **variants})


def _variant(table: Mapping[str, Any], names: Placeholders) -> Variant:
    return Variant(names.fill(table["text"]), table["steps"], tuple(table["tools"]))


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = _read("workflow_data.json")
    return data


def _read(name: str) -> Any:
    return json.loads((files("workbench_server") / name).read_text(encoding="utf-8"))
