"""The README is short, and its servers answer with and without Codex. tests/checkout runs its first commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pages import read, run
from scripted_model import Step
from walkthrough import AnsweringModel, reader

README: Final = read("README.md")
MANIFEST: Final = README.block("toml")
START: Final = README.section("Start")
FIRST: Final = README.section("Your first server")
IMPORTED: Final = README.section("Your API")
ANSWER: Final = FIRST.sessions()[-1][1].strip()
COMMIT: Final = (
    "git -c user.name=Ada -c user.email=ada@example.org -c commit.gpgsign=false commit --quiet --allow-empty"
)


def test_the_readme_has_at_most_100_lines_one_manifest_and_one_picture() -> None:
    assert len(README.text.splitlines()) <= 100
    assert read("docs/wrap-a-program.md").blocks("toml")[0] == MANIFEST
    assert README.text.count("![") == 1


def test_the_manifest_of_the_readme_has_no_findings(tmp_path: Path) -> None:
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / "repo.toml").write_text(MANIFEST, encoding="utf-8")
    result = run("toolmason lint", tmp_path)
    assert result.stdout + result.stderr == "manifest/repo.toml: no problems in 1 tool\n"


def test_a_reader_without_a_client_gets_an_answer() -> None:
    for section in (FIRST, IMPORTED):
        commands = [command for command, _ in section.sessions()]
        [call] = [number for number, command in enumerate(commands) if "toolmason call " in command]
        assert not [command for command in commands[:call] if "codex" in command]


def test_the_first_server_of_the_readme_answers_in_a_client(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    steps: list[Step] = [("call", {"tool_name": "show_history", "args": {"branch": "main"}})]
    model = AnsweringModel(steps, ANSWER)
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
    assert "2026-11-03" in ANSWER


def test_an_imported_api_of_the_readme_answers_in_a_client(
    tmp_path: Path, tracker: dict[str, str], record_property: Callable[[str, object], None]
) -> None:
    steps: list[Step] = [("call_read", {"tool_name": "list_issues", "args": {"project": "web"}})]
    model = AnsweringModel(steps, 'Two issues are open: "Login fails with a long name" and "Dark colors".')
    document = read("examples/imported/tracker.openapi.yaml").text
    with reader(tmp_path.resolve(), model) as walkthrough:
        assert run("git init --quiet", walkthrough.directory).returncode == 0  # Codex refuses other directories
        walkthrough.write("tracker.openapi.yaml", document.replace("http://127.0.0.1:8321", tracker["TRACKER_URL"]))
        walkthrough.follow(IMPORTED)
        walkthrough.run("export TRACKER_TOKEN=demo", "")
        walkthrough.run("toolmason run install codex", "...")
        walkthrough.run('codex exec "What is open in the project web?"', model.text)
    record_property("seconds", walkthrough.done)

    [issues] = model.results
    for title in ("Login fails with a long name", "Dark colors"):
        assert title in issues
        assert title in model.text


def test_a_first_answer_takes_at_most_six_commands_and_from_a_document_eight() -> None:
    setup, _tests = START.block("bash").replace("\\\n", "").splitlines()
    assert len([setup, *FIRST.sessions()]) <= 6
    assert len([setup, *IMPORTED.sessions(), "install", "ask"]) <= 8
