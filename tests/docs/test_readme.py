"""The README is short, and its first server answers in Codex."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pages import read, run
from walkthrough import AnsweringModel, reader

README: Final = read("README.md")
MANIFEST: Final = README.block("toml")
COMMIT: Final = (
    "git -c user.name=Ada -c user.email=ada@example.org -c commit.gpgsign=false commit --quiet --allow-empty"
)
ANSWER: Final = README.sessions()[-1][1].strip()


def test_the_readme_has_at_most_100_lines_one_manifest_and_one_picture() -> None:
    assert len(README.text.splitlines()) <= 100
    assert read("docs/wrap-a-program.md").blocks("toml")[0] == MANIFEST
    assert README.text.count("![") == 1


def test_the_first_server_of_the_readme_answers_in_a_client(tmp_path: Path) -> None:
    model = AnsweringModel([("call", {"tool_name": "show_history", "args": {"branch": "main"}})], ANSWER)
    with reader(tmp_path.resolve(), model) as walkthrough:
        for command in (
            "git init --quiet --initial-branch=main",
            f"GIT_AUTHOR_DATE=2026-11-02T12:00:00Z {COMMIT} --message 'Parse lists'",
            f"GIT_AUTHOR_DATE=2026-11-03T12:00:00Z {COMMIT} --message 'Read several files'",
        ):
            assert run(command, walkthrough.directory).returncode == 0
        walkthrough.write("manifest/repo.toml", MANIFEST)
        walkthrough.follow(README)

    [history] = model.results
    assert "2026-11-03 Read several files" in history
    assert "2026-11-03" in ANSWER


def test_a_first_answer_takes_at_most_six_commands() -> None:
    section = README.section("Your first server")
    installation = section.block("bash").strip().splitlines()
    assert len([*installation, *section.sessions()]) <= 6
