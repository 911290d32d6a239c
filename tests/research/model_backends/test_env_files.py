"""What a `.env` says is the same for whoever reads it: the run, and what hides secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench_research.credential_files import load_credentials
from workbench_research.gemini_files import parse_dotenv
from workbench_research.model_backends.environment import project_variables, user_variables

FILES = {
    "plain": ("GEMINI_API_KEY=abc", "abc"),
    "byte order mark": ("\ufeffGEMINI_API_KEY=abc", "abc"),
    "exported, in quotes, with a comment": ("export GEMINI_API_KEY = 'a#bc' # mine", "a#bc"),
    "colon and blank": ("GEMINI_API_KEY: abc", "abc"),
    "colon alone": ("GEMINI_API_KEY:abc", ""),
    "lines that end as on Windows": ("A=1\r\nGEMINI_API_KEY=abc\r\n", "abc"),
    "the last counts": ("GEMINI_API_KEY=x\nGEMINI_API_KEY=abc", "abc"),
    "several lines": ('GEMINI_API_KEY="a\nbc"', "a\nbc"),
    "within the quotes of another": ("OTHER='a\nGEMINI_API_KEY=abc\n'\n", ""),
    "no value": ("GEMINI_API_KEY=\nOTHER=abc", ""),
    "a comment": ("# GEMINI_API_KEY=abc", ""),
}


@pytest.mark.parametrize(("text", "value"), FILES.values(), ids=FILES.keys())
def test_all_who_read_such_a_file_find_the_same(text: str, value: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(text, encoding="utf-8", newline="")
    environ = {
        "HOME": str(tmp_path),
        "USERPROFILE": str(tmp_path),
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(tmp_path / "none.json"),
    }

    assert parse_dotenv(text).get("GEMINI_API_KEY", "") == value
    assert user_variables(tmp_path).get("GEMINI_API_KEY", "") == value
    assert dict(load_credentials(environ)).get("GEMINI_API_KEY", "") == value


def test_a_secret_in_quotes_is_read_with_any_text_after_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("""export TOKEN="abc" OTHER='def'\n""", encoding="utf-8")

    assert {value for name, value in load_credentials({"HOME": str(tmp_path)}) if name == "TOKEN"} >= {"abc", "def"}


@pytest.mark.parametrize("piece", ["\n", " \n", "K=\n", "K='\\'\n", 'K="a" b\n', "export \n", "\r", "a"])
def test_a_long_file_is_read_in_linear_time(piece: str, tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    (project / ".env").write_text(piece * (200_000 // len(piece)), encoding="utf-8", newline="")

    project_variables(project, home)
