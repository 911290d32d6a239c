"""No command in a page, message, help text, template or generated file installs our product under another name.

Other names belong to other projects: a reader who follows such a command installs theirs.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest
from pages import ROOT

OURS: Final = re.compile(
    r"toolmason(\[(http,)?(toolkit|workbench)(,(cli|code|toolkit|workbench|semantic))?\]|\[research(-\w+)?(,workbench)?\]"
    r"|\[(apis|cli|code|graphql|http|jq|telemetry|sql|postgresql|mysql|duckdb|semantic|\{extra\}|\{provider\.extra\})\])?"
    r"|toolmason-schema|toolmason-toolkit==\{ours\}"
)
"""Our distributions with their extras. `{extra}` is the one of a missing package, in an f-string."""
CHECKOUT: Final = re.compile(r"\.(\[[\w,]+\])?|\./\*\.whl|\./generated/typed-clients/python")
OTHERS: Final = {
    *("climax-mcp==0.5.0", "fastmcp", "keyring", "notes", "nox", "pre-commit", "pytest", "twine", "uv"),
    *("notes==VERSION", "{framework}", "{package}"),
}
"""Packages of others that our texts install. `notes` is the server of the reader, names in braces are in f-strings."""
_INSTALLER: Final = re.compile(
    # "pip install ", "uv pip install ", "uv tool install ", "uv add ", "pipx install ", "uvx ", "uv tool run "
    r"\b(pip3? install|uv tool (?:install|run)|uv add|pipx (?:install|run)|uvx)\s+([^\n`#&|;<>]+)"
)
_RUNNERS: Final = ("uvx", "uv tool run", "pipx run")
_OPTIONS_WITH_VALUE: Final = {"--group", "--index-url", "--find-links", "--python", "-r"}


def packages(text: str) -> Iterator[str]:
    """Yield the requirements that the commands of a text install.

    >>> list(packages("uvx --from 'toolmason[workbench]' toolmason-workbench --root ."))
    ['toolmason[workbench]']
    >>> list(packages("pip install -e . nox"))
    ['.', 'nox']
    """
    for installer, rest in _INSTALLER.findall(text):
        words = iter(re.findall(r"""[^\s"'\\()]+""", rest))
        names = []
        for word in words:
            if word == "n":
                continue  # of a line break in a text of Python
            if word in _OPTIONS_WITH_VALUE:
                next(words, None)
            elif word == "--from":
                names = [next(words, "")]
                break
            elif not word.startswith("-"):
                names.append(word)
        yield from names[:1] if installer in _RUNNERS else names


def committed_texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of every committed file with text for users; tests contain counterexamples."""
    run = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    for name in run.stdout.splitlines():
        if not name.startswith(("tests/", "bench/schemas/corpus/", "requirements/")) and (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            text = re.sub(r"\{\{.*?\}\}", "", text) if name.endswith(".jinja") else text
            yield name, re.sub(r'"\$\(ls [^)]*\.whl\)[^"]*"', ".", text)  # a wheel that was built from the checkout


def test_no_printed_command_installs_our_product_under_another_name() -> None:
    commands = [(path, name.rstrip(".,:") or ".") for path, text in committed_texts() for name in packages(text)]
    assert {"README.md", "docs/research.md"} <= {path for path, _ in commands}
    wrong = [
        (path, name)
        for path, name in commands
        if name not in OTHERS and not OURS.fullmatch(name) and not CHECKOUT.fullmatch(name)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("uvx toolmason-workbench", ["toolmason-workbench"]),
        ("uvx --from 'toolmason[workbench]' toolmason-workbench doctor", ["toolmason[workbench]"]),
        ("python3 -m pip install 'toolmason[toolkit]' nox && nox", ["toolmason[toolkit]", "nox"]),
        ("uv tool install workbench", ["workbench"]),
        ("pipx install toolmason_runtime", ["toolmason_runtime"]),
    ],
)
def test_the_packages_of_a_command_are_found(command: str, names: list[str]) -> None:
    assert list(packages(command)) == names
