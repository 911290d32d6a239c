"""What the README shows is what today's code does: each `console` block is run and compared.

In the expected output, a line `...` stands for any lines, and `...` inside a line for any text.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NODE = ROOT / "tests" / "node_modules"

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks(language: str) -> list[str]:
    """Give the README's code blocks in one language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [body for found, body in _FENCE.findall(text) if found == language]


def sessions() -> list[tuple[str, str]]:
    """Split the `console` blocks into commands and what they print."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            while lines[0].endswith("\\"):
                lines[:2] = [lines[0][:-1] + lines[1].strip()]
            found.append((lines[0], "\n".join(lines[1:])))
    return found


def as_pattern(expected: str) -> str:
    """Turn expected output into a regular expression."""
    lines = [".*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") for line in expected.splitlines()]
    return "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)?") + "\n*"


_PINNED = {
    "npx @modelcontextprotocol/inspector": "mcp-inspector",
    "npx -y @modelcontextprotocol/server-everything": "mcp-server-everything",
}


def _pinned(command: str) -> str:
    """Run what the tests have installed instead of fetching the newest."""
    for fetched, installed in _PINNED.items():
        command = command.replace(fetched, installed)
    return command


@pytest.mark.parametrize(("command", "expected"), sessions(), ids=lambda value: value.split("\n")[0][:60])
def test_command_prints_what_the_readme_shows(command: str, expected: str) -> None:
    path = [Path(sys.executable).parent, NODE / "node" / "bin", NODE / ".bin", os.environ["PATH"]]
    ran = subprocess.run(
        _pinned(command),
        shell=True,
        cwd=ROOT,
        env={**os.environ, "PATH": os.pathsep.join(map(str, path)), "NO_COLOR": "1", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    assert re.fullmatch(as_pattern(expected), ran.stdout, re.DOTALL), ran.stdout + ran.stderr


def test_the_readme_shows_commands() -> None:
    assert len(sessions()) >= 5


def test_snippets_of_the_readme_are_the_generated_ones() -> None:
    shown = [json.loads(block) for block in blocks("json")]
    clients = ROOT / "generated" / "clients"
    generated = [json.loads(path.read_text(encoding="utf-8")) for path in clients.rglob("*.json")]
    assert shown
    assert all(each in generated for each in shown)


def test_the_toml_of_the_readme_is_toml() -> None:
    assert blocks("toml")
    for block in blocks("toml"):
        assert tomllib.loads(block)


@pytest.mark.parametrize(
    "page", [path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]]
)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in _LINK.findall(text):
        assert (ROOT / page).parent.joinpath(target).exists(), target
