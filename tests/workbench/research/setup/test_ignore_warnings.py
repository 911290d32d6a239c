"""The warnings about `.gitignore`, from the settings of the user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench_handlers.setup.ignore_warnings import for_health_check, for_setup, is_git_ignore_respected

NEW = {"context": {"fileFiltering": {"respectGitIgnore": False}}}
OLD = {"fileFiltering": {"respectGitIgnore": False}}


def environ(home: Path, settings: dict[str, Any] | str) -> dict[str, str]:
    (home / ".gemini").mkdir()
    text = settings if isinstance(settings, str) else json.dumps(settings)
    (home / ".gemini" / "settings.json").write_text(text, encoding="utf-8")
    system = str(home / "none" / "settings.json")
    return {"HOME": str(home), "USERPROFILE": str(home), "GEMINI_CLI_SYSTEM_SETTINGS_PATH": system}


@pytest.mark.parametrize(
    ("settings", "respected"),
    [
        ({}, True),
        (NEW, False),
        (OLD, False),
        ({"context": {"fileFiltering": {"respectGitIgnore": True}}, **OLD}, True),
        ({"context": {"fileFiltering": {"respectGitIgnore": "no"}}}, True),
        ({"context": []}, True),
        ("{ broken", True),
    ],
    ids=["nothing said", "off", "off where it once stood", "both", "no boolean", "no object", "no JSON"],
)
def test_setting_is_read_where_it_stands_now_and_where_it_stood(
    tmp_path: Path, settings: dict[str, Any] | str, respected: bool
) -> None:
    assert is_git_ignore_respected(environ(tmp_path, settings)) is respected


def test_both_warnings_name_the_setting_and_the_other_way(tmp_path: Path) -> None:
    known = environ(tmp_path, {})

    for text in (" ".join(for_health_check(known)), "\n".join(for_setup(known))):
        assert ".gitignore" in text
        assert ".geminiignore" in text
        assert "fileFiltering.respectGitIgnore" in text
    assert "~/.gemini/settings.json" in for_health_check(known)[0]


def test_there_is_no_warning_if_all_files_are_read(tmp_path: Path) -> None:
    known = environ(tmp_path, NEW)

    assert not for_health_check(known)
    assert not list(for_setup(known))
