"""docs/diff.md: its commands print what it shows, and its table of other programs is that of the benchmark."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from bench.diff.__main__ import ours, score
from bench.diff.pairs import pairs
from pages import matches, read, run

PAGE: Final = read("docs/diff.md")
GIT: Final = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


def test_the_commands_of_the_page_print_their_output(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest" / "notes.toml"
    manifest.parent.mkdir()
    text = PAGE.block("toml").replace("# manifest/notes.toml\n", "")
    manifest.write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "notes"]):
        subprocess.run([*GIT, *command], cwd=tmp_path, check=True)
    (first, second), (third, fourth), (release, recorded), (check, refused) = PAGE.sessions()
    write_handlers(tmp_path)
    assert run("toolmason generate", tmp_path).returncode == 0
    assert run(release, tmp_path).stdout == recorded

    text = text.replace("params.limit", "params.count").replace("maximum = 100", "maximum = 50")
    text = text.replace('"Words to look for" }', '"Words to look for", required = false }')
    manifest.write_text(text, encoding="utf-8")
    result = run(first, tmp_path)
    assert matches(second, result.stdout), result.stdout + result.stderr
    assert result.returncode == 1

    manifest.write_text(text.replace("params.count = {", 'params.count = { aliases = ["limit"],'), encoding="utf-8")
    result = run(third, tmp_path)
    assert matches(fourth, result.stdout), result.stdout + result.stderr
    assert result.returncode == 0

    result = run(check, tmp_path)
    assert result.stderr == refused
    assert result.returncode == 1


def write_handlers(root: Path) -> None:
    package = root / "handlers" / "notes_tools"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    function = "def find_notes(params: object, call: object) -> str:\n    return ''\n"
    (package / "notes.py").write_text(function, encoding="utf-8")


def test_our_row_of_the_comparison_is_measured() -> None:
    found = pairs()
    counts = score(found, [ours(pair) for pair in found])
    (row,) = [
        row
        for row in PAGE.rows("program", "right", "wrong", "silent", "breaks not reported")
        if row[0] == "toolmason diff"
    ]
    assert row[1:] == tuple(map(str, counts.values()))
    assert f"{len(found)} pairs" in PAGE.text
