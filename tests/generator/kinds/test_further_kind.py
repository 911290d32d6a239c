"""A fifth kind of tools, from an installed distribution: its manifest, the generated server, and an answered call."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import testing

DISTRIBUTION = Path(__file__).with_name("distribution")
MANIFEST = """
edition = 1
server = { name = "words", package = "words_server" }

[categories.terms]
summary = "Look terms up"

[glossaries.team]
summary = "Words of the team"
category = "terms"
tags = ["team"]
terms = { lane = "A queue of tests" }

[tools.explain_term]
summary = "Explain a term"
glossary = "team"
params.term = { type = "string", description = "Term" }
"""
ENTRY_POINTS = """\
[toolmason.kinds]
glossary = {target}

[toolmason_runtime.kinds]
glossary = toolmason_glossary_runtime
"""


def install(
    directory: Path,
    target: str = "toolmason_glossary:KIND",
    edit: tuple[str, str] = ("", ""),
    entry_points: str = ENTRY_POINTS,
) -> Path:
    """Install the distribution into a directory of the import path, with an edit of all its modules."""
    shutil.copytree(DISTRIBUTION, directory, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = directory / "toolmason_glossary-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toolmason-glossary\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(entry_points.format(target=target))
    for module in (directory / "toolmason_glossary").glob("*.py") if edit[0] else ():
        module.write_text(module.read_text("utf-8").replace(*edit), encoding="utf-8")
    return directory


def toolmason(project: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolmason", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def project_in(directory: Path, manifest: str = MANIFEST) -> Path:
    (directory / "manifest").mkdir(parents=True)
    (directory / "manifest" / "words.toml").write_text(manifest, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("site") / "site-packages")


@pytest.fixture(scope="module")
def generated(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = project_in(tmp_path_factory.mktemp("words"))
    result = toolmason(project, site, "generate")
    assert result.returncode == 0, result.stderr
    return project / "generated"


@pytest.fixture
def server(generated: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(generated))
    return "words_server"


def test_a_call_of_an_installed_kind_is_answered_with_the_state_of_the_server(server: str) -> None:
    async def question(client: Any) -> list[str]:
        arguments = {"term": "lane"}
        results = [await client.call_tool("explain_term", arguments) for _ in range(2)]
        return [result.content[0].text for result in results]

    assert testing.ask(server, question, arguments=("--classic",)) == ["1: A queue of tests", "2: A queue of tests"]


def test_a_change_of_an_input_file_of_a_kind_ends_the_validity_of_the_last_run(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    project = project_in(tmp_path / "project", MANIFEST.replace("\nterms =", '\nmore_terms = "more.json"\nterms ='))
    more = project / "more.json"
    more.write_text('{"car": "A worker"}', encoding="utf-8")
    assert toolmason(project, site, "generate").returncode == 0
    assert toolmason(project, site, "check").returncode == 0

    more.write_text('{"car": "A process"}', encoding="utf-8")

    stale = toolmason(project, site, "check")
    assert stale.returncode == 3, stale.stderr
    assert "A process" in stale.stdout + stale.stderr
    assert toolmason(project, site, "generate").returncode == 0
    assert toolmason(project, site, "check").returncode == 0


def test_the_catalogue_names_the_kind_and_its_groups(generated: Path) -> None:
    catalogue = json.loads((generated / "words_server" / "catalogue.json").read_text(encoding="utf-8"))

    assert catalogue["kinds"] == {"glossary": {"groups": {"team": {"summary": "Words of the team", "tags": ["team"]}}}}
    entry = catalogue["tools"]["explain_term"]
    assert (entry["kind"], entry["group"], entry["category"]) == ("glossary", "team", "terms")
    assert entry["tool"]["annotations"]["readOnlyHint"] is True


def test_the_docs_and_the_editor_schema_have_the_kind(generated: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (generated / "docs").rglob("*.md")]
    assert any("Looks terms up in `team`." in page for page in pages)
    assert "- team: Words of the team" in (generated / "docs" / "index.md").read_text(encoding="utf-8")
    schema = json.loads((generated / "schemas" / "manifest.schema.json").read_text(encoding="utf-8"))
    assert "glossary" in schema["definitions"]["ToolTable"]["properties"]
    assert "glossaries" in schema["properties"]
    assert schema["definitions"]["GlossaryTable"]["required"] == ["terms"]


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ('glossary = "team"', 'glossary = "teem"', "TM323 unknown glossary `teem`"),
        ("terms = {", "term = {", "TM203 unknown key `term` in [glossaries.team]"),
        ("params.term", "params.word", "TM202 [tools.explain_term] has no parameter `term`"),
        ('glossary = "team"', 'glossary = "team"\nargv = ["x"]', "TM216 `argv` cannot be combined with `glossary`"),
        ('glossary = "team"', 'glossary = "team"\nfallback = 1\nhandler = "a:b"', "TM212 `handler` cannot be combined"),
        ('glossary = "team"', 'category = "terms"', "or `glossary` with that of a glossary"),
    ],
)
def test_mistakes_of_a_kind_are_reported(tmp_path: Path, site: Path, old: str, new: str, finding: str) -> None:
    project = project_in(tmp_path / "project", MANIFEST.replace(old, new))

    result = toolmason(project, site, "check")

    assert result.returncode == 1
    assert finding in " ".join(result.stderr.replace("error[", "").replace("]:", "").split())


def test_a_kind_that_cannot_be_loaded_is_reported_with_its_distribution(tmp_path: Path) -> None:
    broken = install(tmp_path / "site-packages", "toolmason_glossary:NOTHING")

    result = toolmason(project_in(tmp_path / "project"), broken, "check")

    assert result.returncode == 2
    assert result.stderr == (
        "toolmason: the kind of tools `glossary` (`toolmason_glossary:NOTHING`) of the distribution "
        "`toolmason-glossary` 1.2 cannot be loaded: AttributeError: module 'toolmason_glossary' has no attribute "
        "'NOTHING'\n"
    )


FAILING = "raise RuntimeError('no luck')"
OTHER_KEYS = '    fallback: JsonValue = None\n    """Unused."""\n'


@pytest.mark.parametrize(
    ("edit", "entry_points", "problem"),
    [
        (
            ("tables = context.tables.own(GlossaryTables).glossaries\n        context", f"{FAILING}\n        context"),
            "",
            "",
        ),
        (("name, known = tool", f"{FAILING}\n        name, known = tool"), "", ""),
        (('if "term" not in', f'{FAILING}\n        if "term" not in'), "", ""),
        (("used = {tool.own", f"{FAILING}\n        used = {{tool.own"), "", ""),
        (
            (
                "KIND = GlossaryKind()",
                "class Plain:\n    name = key = hint = 'glossary'\n    tool_keys = 1\n\nKIND = Plain()",
            ),
            "",
            "it has no attribute `section`: subclass `toolmason.kinds.kind.Kind`",
        ),
        (
            ("", ""),
            "[toolmason.kinds]\nglossary = {target}\n",
            "it lacks the entry point `glossary` of the group `toolmason_runtime.kinds`, which servers need",
        ),
        (
            ("", ""),
            ENTRY_POINTS.replace("glossary = {", "words = {"),
            "its name is `glossary`: name the entry point like it",
        ),
        (
            (OTHER_KEYS, '    timeout: float = 1\n    """Seconds."""\n'),
            "",
            "its key `timeout` exists already, rename it",
        ),
        ((OTHER_KEYS, '    sql: str = ""\n    """Text."""\n'), "", "its key `sql` exists already, rename it"),
        (
            ('    """Glossaries."""', '    """Glossaries."""\n    apis: str = ""\n    """Text."""'),
            "",
            "its key `apis` exists already, rename it",
        ),
    ],
)
def test_a_kind_with_a_mistake_is_one_line_with_its_distribution(
    tmp_path: Path, edit: tuple[str, str], entry_points: str, problem: str
) -> None:
    broken = install(tmp_path / "site-packages", edit=edit, entry_points=entry_points or ENTRY_POINTS)

    result = toolmason(project_in(tmp_path / "project"), broken, "check")

    name = "words" if "words =" in entry_points else "glossary"
    kind = f"the kind of tools `{name}` (`toolmason_glossary:KIND`) of the distribution `toolmason-glossary` 1.2"
    message = f"cannot be used: {problem}" if problem else "failed: RuntimeError: no luck"
    assert result.stderr == f"toolmason: {kind} {message}\n"
    assert result.returncode == 2


def test_a_kind_on_any_path_that_breaks_ends_the_validity_of_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    place = install(tmp_path / "kinds of the team")
    project = project_in(tmp_path / "project")
    assert toolmason(project, place, "generate").returncode == 0
    assert toolmason(project, place, "check").returncode == 0

    shutil.rmtree(place / "toolmason_glossary")

    assert "cannot be loaded: ModuleNotFoundError" in toolmason(project, place, "check").stderr


def test_a_missing_distribution_of_a_kind_is_an_error_of_the_call(
    generated: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The classes of the specification are there, but not the entry point.
    shutil.copy(DISTRIBUTION / "toolmason_glossary_runtime.py", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(generated))

    async def question(client: Any) -> tuple[int, Any]:
        listed = await client.list_tools()
        return len(listed.tools), await client.call_tool("explain_term", {"term": "lane"})

    count, result = testing.ask("words_server", question, arguments=("--classic",))

    assert count == 1
    assert result.is_error


def test_templates_of_a_project_render_in_the_sandbox_with_the_kind(tmp_path: Path, site: Path) -> None:
    project = project_in(tmp_path / "project")
    override = project / "templates" / "docs" / "index.md.jinja"
    override.parent.mkdir(parents=True)
    override.write_text('{% extends "toolmason/docs/index.md.jinja" %}\n', encoding="utf-8")

    result = toolmason(project, site, "generate")

    assert result.returncode == 0, result.stderr
    bindings = (project / "generated" / "words_server" / "terms" / "bindings.py").read_text(encoding="utf-8")
    assert 'bind("glossary", models.ExplainTermParams, EXPLAIN_TERM)' in bindings
