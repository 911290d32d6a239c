"""The README is short, and its first server answers in Codex."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pages import Text, read, run
from walkthrough import AnsweringModel, reader

README: Final = read("README.md")
MANIFEST: Final = README.block("toml")
FIRST: Final = README.section("Your first server")
IMPORTED: Final = README.section("Your API")
COMMIT: Final = (
    "git -c user.name=Ada -c user.email=ada@example.org -c commit.gpgsign=false commit --quiet --allow-empty"
)


def test_the_readme_has_at_most_100_lines_one_manifest_and_one_picture() -> None:
    assert len(README.text.splitlines()) <= 100
    assert read("docs/wrap-a-program.md").blocks("toml")[0] == MANIFEST
    assert README.text.count("![") == 1


def answer_of(section: Text) -> str:
    """Return the answer of the client, which the model of a test repeats."""
    return section.sessions()[-1][1].strip()


def test_the_first_server_of_the_readme_answers_in_a_client(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    steps = [("call", {"tool_name": "show_history", "args": {"branch": "main"}})]
    model = AnsweringModel(steps, answer_of(FIRST))
    with reader(tmp_path.resolve(), model) as walkthrough:
        for command in (
            "git init --quiet --initial-branch=main",
            f"GIT_AUTHOR_DATE=2026-11-02T12:00:00Z {COMMIT} --message 'Parse lists'",
            f"GIT_AUTHOR_DATE=2026-11-03T12:00:00Z {COMMIT} --message 'Read several files'",
        ):
            assert run(command, walkthrough.directory).returncode == 0
        walkthrough.write("manifest/repo.toml", MANIFEST)
        walkthrough.follow(FIRST)
    record_property("seconds", walkthrough.done)

    [history] = model.results
    assert "2026-11-03 Read several files" in history
    assert "2026-11-03" in answer_of(FIRST)


def test_an_imported_api_of_the_readme_answers_in_a_client(
    tmp_path: Path, tracker: dict[str, str], record_property: Callable[[str, object], None]
) -> None:
    steps = [("call_read", {"tool_name": "list_issues", "args": {"project": "web"}})]
    model = AnsweringModel(steps, answer_of(IMPORTED))
    document = read("examples/imported/tracker.openapi.yaml").text
    with reader(tmp_path.resolve(), model) as walkthrough:
        assert run("git init --quiet", walkthrough.directory).returncode == 0  # Codex refuses other directories
        walkthrough.write("tracker.openapi.yaml", document.replace("http://127.0.0.1:8321", tracker["TRACKER_URL"]))
        walkthrough.follow(IMPORTED)
    record_property("seconds", walkthrough.done)

    [issues] = model.results
    for title in ("Login fails with a long name", "Dark colors"):
        assert title in issues
        assert title in answer_of(IMPORTED)


def test_a_first_answer_takes_at_most_six_commands_and_from_a_document_eight() -> None:
    installation = FIRST.block("bash").strip().splitlines()
    assert len([*installation, *FIRST.sessions()]) <= 6
    assert len([*installation, *IMPORTED.sessions()]) <= 8
