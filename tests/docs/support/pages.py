"""Read the pages of the documentation: sections, code blocks, tables, and the commands that they show."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
NODE: Final = ROOT / "tests" / "node_modules"
PAGES: Final = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PINNED: Final = {
    "npx @modelcontextprotocol/inspector": "mcp-inspector",
    "npx -y @modelcontextprotocol/server-everything": "mcp-server-everything",
    "npx -y @modelcontextprotocol/server-memory": "mcp-server-memory",
}
"""Commands of the pages that fetch a program, and the program that the tests have installed instead."""
_QUOTED: Final = re.compile(r"'[^']*'")
_NEEDS_SHELL: Final = re.compile(r"[|&;<>()$`*?~#\\\n]")
_FOR_RESEARCH: Final = ("WORKBENCH_", "GEMINI_", "GOOGLE_")
"""Prefixes of variables with which research tools behave differently on the machine of a developer."""


def quoted(text: str) -> list[str]:
    """Return the texts in backticks: "`a` or `b`" -> ["a", "b"]."""
    return re.findall(r"`([^`]+)`", text)


@dataclass(frozen=True)
class Text:
    """A page, or a section of one."""

    text: str

    @property
    def words(self) -> str:
        """The text without line breaks."""
        return " ".join(self.text.split())

    def section(self, heading: str) -> Text:
        return Text(re.split(r"\n##? ", self.text.partition(f"## {heading}\n")[2])[0])

    def blocks(self, language: str) -> list[str]:
        return [body for name, body in _FENCE.findall(self.text) if name == language]

    def block(self, language: str, beginning: str = "") -> str:
        """Return the one code block in a language that begins with a text."""
        (block,) = [block for block in self.blocks(language) if block.startswith(beginning)]
        return block

    def rows(self, *head: str) -> list[tuple[str, ...]]:
        """Return the rows of all tables with these column heads."""
        rows: list[tuple[str, ...]] = []
        for table in self.text.split(f"| {' | '.join(head)} |\n")[1:]:
            lines = table.split("\n\n", maxsplit=1)[0].splitlines()[1:]
            rows += [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:-1])) for line in lines]
        assert rows, head
        return rows

    def sessions(self) -> list[tuple[str, str]]:
        """Return the commands of the `console` blocks, each with its output."""
        parts = [part for block in self.blocks("console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
        return [tuple(part.replace("\\\n", "").partition("\n")[::2]) for part in parts]


def read(page: str) -> Text:
    return Text((ROOT / page).read_text(encoding="utf-8"))


def matches(expected: str, output: str) -> bool:
    """Return whether output is as expected: a line `...` is any lines, `...` in a line is any text."""
    lines = [".*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") for line in expected.splitlines()]
    pattern = "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)?") + "\n*"
    return re.fullmatch(pattern, output, re.DOTALL) is not None


def path_with(*directories: Path) -> str:
    """Return a PATH with the programs of the pages, after these directories."""
    usual = (Path(sys.executable).parent, NODE / "node" / "bin", NODE / ".bin", os.environ["PATH"])
    return os.pathsep.join(map(str, (*directories, *usual)))


def run(command: str, directory: Path, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of a page."""
    for fetched, installed in _PINNED.items():
        command = command.replace(fetched, installed)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_FOR_RESEARCH)}
    env = inherited | {"PATH": path_with(), "NO_COLOR": "1", "COLUMNS": "80", **(variables or {})}
    # Our own programs are forks, but a shell would start them.
    is_plain = command.startswith("toolmason") and _NEEDS_SHELL.search(_QUOTED.sub("", command)) is None
    return subprocess.run(
        shlex.split(command) if is_plain else command,
        shell=not is_plain,
        cwd=directory,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


def check(command: str, expected: str, directory: Path) -> None:
    result = run(command, directory)
    assert matches(expected, result.stdout), result.stdout + result.stderr
