"""Do what a page shows, from its beginning to its end: write its files, and run its commands in a fresh directory."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from model_apis import Api, Call
from pages import Text, matches, path_with, run
from real_clients import Codex, Place
from scripted_model import FINAL_TEXT, ScriptedModel, Step, serving

_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"# (\S+\.\w+)(, at the end)?\n")
INSTALLATION: Final = "python3 -m pip install "
PROGRAM: Final = """\
#!{python}
import runpy, sys

sys.path[:0] = {roots!r}
runpy.run_module({module!r}, run_name="__main__")
"""


class AnsweringModel(ScriptedModel):
    """A scripted model that ends with `text`."""

    def __init__(self, steps: list[Step], text: str) -> None:
        super().__init__(steps)
        self.text = text

    def answer(self, api: Api, request: Mapping[str, object]) -> Call | str:
        answer = super().answer(api, request)
        return self.text if answer == FINAL_TEXT else answer


@dataclass
class Walkthrough:
    """A reader in an empty directory, with the toolkit and Codex."""

    directory: Path
    programs: Path
    variables: Mapping[str, str]
    done: dict[str, float] = field(default_factory=dict)
    """The commands that were run, with their times in seconds."""

    def follow(self, page: Text) -> None:
        """Write the files and run the commands of a page in their order."""
        for language, body in _FENCE.findall(page.text):
            if language == "console":
                for command, expected in Text(f"```console\n{body}```").sessions():
                    self.run(command, expected)
            elif name := _FILE.match(body):
                self.write(name[1], body, is_addition=bool(name[2]))

    def write(self, name: str, text: str, *, is_addition: bool = False) -> None:
        """Write a file, or add to it."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text(encoding="utf-8") + "\n" if is_addition else ""
        path.write_text(old + text, encoding="utf-8")

    def run(self, command: str, expected: str) -> None:
        """Run a command, and compare its output."""
        started = time.monotonic()
        self._run(command, expected)
        self.done[command] = round(time.monotonic() - started, 2)

    def _run(self, command: str, expected: str) -> None:
        if command.startswith(INSTALLATION):
            self._install(command.removeprefix(INSTALLATION))
        elif command.startswith("cd "):
            self.directory /= command.removeprefix("cd ")
        elif command.startswith("export "):
            name, value = command.removeprefix("export ").split("=")
            self.variables = {**self.variables, name: value}
        else:
            result = run(command, self.directory, {**self.variables, "PATH": path_with(self.programs)})
            assert matches(expected, result.stdout), f"$ {command}\n{result.stdout}{result.stderr}"

    def _install(self, requirements: str) -> None:
        """Provide the command of a project. Tests need no network: the toolkit is that of this environment."""
        if requirements != "-e .":
            assert requirements.startswith("'toolmason[toolkit]'")
            return
        roots = [str(self.directory / name) for name in ("generated", "handlers")]
        name = self.directory.name
        program = self.programs / name
        program.write_text(PROGRAM.format(python=sys.executable, roots=roots, module=f"{name}_server"), "utf-8")
        program.chmod(0o755)


@contextmanager
def reader(root: Path, model: ScriptedModel) -> Iterator[Walkthrough]:
    """Yield a reader whose Codex asks `model`."""
    place = Place(root)
    for directory in (place.project, place.programs):
        directory.mkdir(parents=True)
    with serving(model) as url:
        # A request to another host would reach the model, which refuses it.
        proxies = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "NO_PROXY": "127.0.0.1,localhost"}
        variables = {"HOME": str(place.home), "TERM": "dumb", **proxies, **Codex().set_up(place, url)}
        yield Walkthrough(place.project, place.programs, variables)
