from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from workbench_research.packages import PACKAGES

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS: dict[str, list[str]] = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_a_question_without_its_package_names_the_extra_to_install(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)  # to Python, a module that is not installed

    answer = room.run("ask_gemini", prompt="Why?", include_codebase_context=False)

    assert answer.is_error
    assert "the package `tenacity` is not installed: pip install 'toolmason[research]'" in answer.text


def test_the_extra_has_the_packages_that_are_checked_before_a_question() -> None:
    assert [re.split(r"[^\w-]", requirement)[0] for requirement in EXTRAS["research"]] == list(PACKAGES)


def test_an_installation_of_workbench_includes_research() -> None:
    assert set(EXTRAS["research"]) < set(EXTRAS["workbench"])
