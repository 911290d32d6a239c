from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_cli import Fake, answered
from served import environment, serve

from workbench_research.backends.models import Provider, providers
from workbench_research.packages import PACKAGES
from workbench_server.research.bindings import BINDINGS

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS: dict[str, list[str]] = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_a_question_without_its_package_names_the_extra_to_install(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)  # to Python, a module that is not installed

    answer = room.run("ask_gemini", prompt="Why?", include_codebase_context=False)

    assert answer.is_error
    assert (
        "the package `tenacity` needs an extra: pip install 'toolmason[research]'; "
        "in a project, add it to pyproject.toml" in answer.text
    )


@pytest.mark.anyio
async def test_without_the_extra_a_server_starts_and_only_questions_fail(
    fake: Callable[..., Fake], project: Path, tmp_path: Path, overheard: Any
) -> None:
    (project / "a.txt").write_text("first\n", encoding="utf-8")
    cli = fake("gemini", answered("Yes."))
    code = "import sys; sys.modules['tenacity'] = None; from workbench_server.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "--root", str(project), "--classic", "--all"]

    async with serve(command, environment(tmp_path / "home", cli), project, overheard=overheard) as server:
        listed = {tool.name.removeprefix("workbench_") for tool in (await server.client.list_tools()).tools}
        content = await server.call("read_files", files=[{"path": "a.txt"}])
        refused = await server.call("quick_query", prompt="Why?")

    assert BINDINGS.keys() <= listed
    assert "first" in content.text
    assert refused.error["message"] == (
        "the package `tenacity` needs an extra: pip install 'toolmason[research]'; "
        "in a project, add it to pyproject.toml"
    )
    assert cli.runs == []


def test_a_handler_in_a_log_has_the_name_of_its_tool() -> None:
    assert [binding.name.rpartition(":")[2] for binding in BINDINGS.values()] == list(BINDINGS)


def packages_of(extra: str) -> set[str]:
    """Return the packages that an extra installs, those of the extras in it included."""
    packages: set[str] = set()
    for requirement in EXTRAS[extra]:
        if inner := re.fullmatch(r"toolmason\[([\w,-]+)\]", requirement):
            packages.update(*map(packages_of, inner[1].split(",")))
        else:
            packages.add(re.split(r"[^\w-]", requirement)[0])
    return packages


@pytest.mark.parametrize("extra", [name for name in EXTRAS if name.startswith("research")])
def test_an_extra_has_all_that_a_question_needs(extra: str) -> None:
    assert {*PACKAGES, "detect-secrets", "tree-sitter"} <= packages_of(extra)


@pytest.mark.parametrize(
    "provider", [each for each in providers().values() if each.library], ids=lambda each: each.name
)
def test_the_extra_of_a_provider_has_its_library(provider: Provider) -> None:
    assert provider.library.replace(".", "-") in packages_of(provider.extra)


def test_the_common_extra_has_the_libraries_of_three_apis() -> None:
    assert {"anthropic", "google-genai", "openai"} <= packages_of("research")


def test_an_installation_of_workbench_can_ask_the_gemini_cli() -> None:
    assert set(PACKAGES) <= packages_of("workbench")
