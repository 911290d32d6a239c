"""`toolmason embed` with an embedder of the command line, then generate, check, lint, search and a generated server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from toolmason.project import Project

Run = Callable[..., Result]

HEAD = b"toolmason-postings 2\nmodel " + b"a" * 64 + b"\n"
TOOL_A = b"tool a 0123456789abcdef AQID\n"
EMBEDDER = ("--embedder", "concept_embedder:make")


TOOL = """
[tools.{name}]
summary = "{summary}"
category = "text"
description = "It has no other words in common with the rest of the tools."
hints = {{ read_only = true, destructive = false, idempotent = true, open_world = false }}
handler = "text:count_words"
params.text = {{ type = "string", description = "The text" }}
returns = "TextSize"
"""


@pytest.fixture
def embedded(project: Project, run: Run) -> Project:
    """The project of `toolmason init` with two more tools, its postings and generated files."""
    with project.manifest.open("a", encoding="utf-8") as manifest:
        manifest.write(TOOL.format(name="jot_down", summary="Jot down what to remember"))
        manifest.write(TOOL.format(name="rain_today", summary="Show whether you need an umbrella"))
    assert run("embed", *EMBEDDER).exit_code == 0
    assert run("generate").exit_code == 0
    return project


def test_generate_copies_the_file_unchanged_and_its_server_finds_a_tool_by_meaning(embedded: Project, run: Run) -> None:
    copies = list(embedded.generated.glob("*/semantic.postings"))
    assert [copy.read_bytes() for copy in copies] == [embedded.postings.read_bytes()]
    assert run("check").exit_code == 0
    package = copies[0].parent.name
    script = (
        "import json, sys\n"
        f"from {package}.catalogue import CATALOGUE\n"
        f"from {package}.server import load_index, load_postings\n"
        "from toolmason_runtime.shared.search.index import ToolIndex\n"
        "words = ToolIndex(CATALOGUE, CATALOGUE['tools'], load_index)\n"
        "both = ToolIndex(CATALOGUE, CATALOGUE['tools'], load_index, load_postings=load_postings)\n"
        "print(json.dumps([[hit.name for hit in index.search('memo')] for index in (words, both)]))\n"
        "assert not {'numpy', 'fastembed'} & set(sys.modules)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(embedded.generated)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, encoding="utf-8", check=True
    )
    by_words, by_both = json.loads(done.stdout)
    assert not by_words
    assert by_both[0] == "jot_down"
    assert "its meaning is similar" in run("search", "memo").stdout


def test_a_project_without_the_file_has_no_trace_of_it(project: Project, run: Run) -> None:
    assert run("generate").exit_code == 0
    assert not list(project.generated.rglob("*.postings"))
    assert "postings" not in next(project.generated.glob("*/server.py")).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("embedder", "means"),
    [("concept_embedder:make", "words:"), ("concept_embedder:make_well_read", "words and meaning:")],
)
def test_embed_and_stats_tell_whether_the_tools_are_in_the_language_of_the_model(
    embedded: Project, run: Run, embedder: str, means: str
) -> None:
    embedded.postings.unlink()
    result = run("embed", "--embedder", embedder)
    assert ("the model knows only" in result.stderr) is (means == "words:")
    assert f"Searches find tools by {means} the model knows" in run("stats").stdout


def test_stats_without_postings_have_no_line_about_them(project: Project, run: Run) -> None:
    assert "Searches find" not in run("stats", "--manifest", str(project.manifest)).stdout


def test_only_tools_with_another_text_are_embedded_again(embedded: Project, run: Run) -> None:
    first = embedded.postings.read_bytes()
    again = run("embed", *EMBEDDER)
    assert "; 0 tools embedded" in again.stdout
    assert embedded.postings.read_bytes() == first
    _edit(embedded, "summary = ", "summary = ", append=" today")
    assert "; 1 tools embedded" in run("embed", *EMBEDDER).stdout
    other = run("embed", "--embedder", "concept_embedder:make_other", "--model-sha256", "b" * 64)
    assert "; 0 tools embedded" not in other.stdout


@pytest.mark.uncovered
def test_new_changed_and_removed_tools_are_notes_that_fail_a_check(
    embedded: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "concept_embedder", None)  # as where the model is not installed
    text = embedded.postings.read_text(encoding="utf-8")
    tools = [line for line in text.splitlines() if line.startswith("tool ")]
    name = tools[0].split()[1]
    cases = {
        f"`{name}` is not in semantic.postings": ("\n".join(tools) + "\n", "\n".join(tools[1:]) + "\n"),
        f"the text of `{name}` has changed": (tools[0], tools[0].replace(tools[0].split()[2], "0" * 16)),
        "semantic.postings has the tool `zzz`": (tools[-1], f"{tools[-1]}\ntool zzz {'0' * 16} {tools[0].split()[3]}"),
    }
    usual = run("lint").exit_code
    for message, (old, new) in cases.items():
        head, separator, _ = text.replace(old, new).partition("\n\n")
        embedded.postings.write_text(f"{head}{separator}", encoding="utf-8", newline="\n")
        assert run("generate").exit_code == 0
        for command in ("check", "check", "lint"):
            result = run(command)
            assert "note[TM527]" in result.stderr, command
            assert message in result.stderr, command
            assert result.exit_code == (usual if command == "lint" else 3), command
            assert ("run: toolmason embed, or set" in result.stderr) == (command == "check")
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, "concept_embedder")
            assert run("embed", "--check", *EMBEDDER).exit_code == 3


def test_generate_embeds_changed_tools_where_embed_was_run(embedded: Project, run: Run) -> None:
    _edit(embedded, "Show whether you need an umbrella", "Show whether to take a memo")
    assert "rain_today" in run("check").stderr
    result = run("generate")
    assert result.exit_code == 0
    assert "semantic.postings: the tools that have changed were embedded" in result.stdout
    assert "TM527" not in result.stderr
    copies = list(embedded.generated.glob("*/semantic.postings"))
    assert [copy.read_bytes() for copy in copies] == [embedded.postings.read_bytes()]
    written = embedded.postings.read_bytes()
    assert run("check").exit_code == 0
    assert run("generate").stdout.startswith("generated/ is up to date")
    assert run("embed", *EMBEDDER).exit_code == 0
    assert embedded.postings.read_bytes() == written


def test_generate_that_is_refused_leaves_the_postings(embedded: Project, run: Run) -> None:
    before = embedded.postings.read_bytes()
    _edit(embedded, "Show whether you need an umbrella", "Show whether to take a memo")
    with next(embedded.generated.glob("*/server.py")).open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    assert run("generate").exit_code != 0
    assert embedded.postings.read_bytes() == before


def test_generate_without_the_model_lists_the_tools_to_embed(
    embedded: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = embedded.postings.read_bytes()
    _edit(embedded, "Show whether you need an umbrella", "Show whether to take a memo")
    monkeypatch.setitem(sys.modules, "concept_embedder", None)  # the embedder is no longer installed
    result = run("generate")
    assert result.exit_code == 0
    assert "note[TM527]: the text of `rain_today` has changed" in result.stderr
    assert embedded.postings.read_bytes() == before
    assert run("check").exit_code == 3


def test_a_server_that_searches_by_words_ignores_the_file(embedded: Project, run: Run) -> None:
    text = embedded.manifest.read_text(encoding="utf-8")
    table, key = "[discovery]\n", 'semantic = "words"\n'
    text = text.replace(table, table + key) if table in text else f"{text}\n{table}{key}"
    embedded.manifest.write_text(text, encoding="utf-8")
    _edit(embedded, "Show whether you need an umbrella", "Show whether to take a memo")
    assert run("generate").exit_code == 0
    assert list(embedded.generated.rglob("*.postings")) == []
    result = run("check")
    assert (result.exit_code, "TM527" in result.stderr) == (0, False)


@pytest.mark.parametrize(
    ("embedder", "code", "expected"),
    [
        ("make", 0, "cosine 1.000000"),
        ("make_drifted", 3, "differs from the new one"),
        ("make_other", 3, "the vectors of model"),
    ],
)
def test_check_compares_the_stored_vectors_with_new_ones(
    embedded: Project, run: Run, embedder: str, code: int, expected: str
) -> None:
    before = embedded.postings.read_bytes()
    result = run("embed", "--check", "--embedder", f"concept_embedder:{embedder}")
    assert (result.exit_code, expected in result.output) == (code, True), result.output
    assert embedded.postings.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--embedder", "concept_embedder"), "must be `module:factory`"),
        (("--embedder", "no_such_module:make"), "cannot import `no_such_module:make`"),
        (("--embedder", "concept_embedder:nothing"), "cannot import `concept_embedder:nothing`"),
        (("--embedder", "concept_embedder:make_zero"), "zero or not finite"),
        (("--embedder", "concept_embedder:make_failing"), "the embedder failed: RuntimeError: no memory"),
        (("--embedder", "concept_embedder:make_unloadable"), "the embedder failed: TypeError: no graph in None"),
        (("--embedder", "concept_embedder:make_unnamed"), "must be a SHA-256 in hexadecimal, not `my model`"),
        (("--check", *EMBEDDER), "run: toolmason embed"),
    ],
)
def test_an_unusable_embedder_ends_with_a_message(
    project: Project, run: Run, arguments: tuple[str, ...], expected: str
) -> None:
    result = run("embed", *arguments)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert not project.postings.exists()


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<<<<<<< ours\n", "does not start with `toolmason-postings 2`"),
        (b"\xff\n", "it is not UTF-8"),
        (b"toolmason-postings 2\nmodel 1\n", "expected `model` and a SHA-256"),
        (HEAD + b"tool a 0123456789abcdef A\n", "the vector is not valid Base64"),
        (HEAD + b"tool a 0123456789abcdef AAAA\n", "the vector is zero"),
        (HEAD + b"tool \x1b[31m 0123456789abcdef AQID\n", "expected `tool`, a name, a hash and a vector"),
        (HEAD + TOOL_A + b"\nmail 0 5\n", "the compressed lines of words are damaged"),
    ],
    ids=["markers", "bytes", "model", "base64", "zero", "control-character", "words"],
)
def test_generate_refuses_an_invalid_file(embedded: Project, run: Run, content: bytes, expected: str) -> None:
    embedded.postings.write_bytes(content)
    for command in ("generate", "check", "lint"):
        result = run(command)
        assert result.exit_code == 1, command
        assert "error[TM109]" in result.stderr, command
        assert expected in result.stderr, command


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_out_of_the_project_is_refused_and_nothing_is_written_through_it(
    embedded: Project, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("elsewhere") / "missing"
    embedded.postings.unlink()
    assert run("generate").exit_code == 0
    embedded.postings.symlink_to(target)
    for command in (("generate",), ("check",), ("embed", *EMBEDDER)):
        result = run(*command)
        assert result.exit_code == 1, command
        assert "error[TM109]: semantic.postings is invalid: it is outside the project" in result.stderr, command
    assert not target.exists()


def test_a_failed_write_leaves_the_old_file_whole(embedded: Project, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = embedded.postings.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", _fail)
        result = run("embed", "--embedder", "concept_embedder:make_other", "--model-sha256", "b" * 64)
    assert result.exit_code == 2
    assert "cannot write" in result.stderr
    assert embedded.postings.read_bytes() == before
    assert [path.name for path in embedded.postings.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("vector", ["AQID", "AQAAAAAAAAAAAAAAAAA="])
def test_check_reports_a_vector_of_another_length_or_direction(embedded: Project, run: Run, vector: str) -> None:
    lines = embedded.postings.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    tools = [f"{line.rpartition(' ')[0]} {vector}" for line in lines[2:]]
    embedded.postings.write_text("\n".join([*lines[:2], *tools, ""]), encoding="utf-8", newline="\n")
    result = run("embed", "--check", *EMBEDDER)
    assert result.exit_code == 3
    assert "the stored vector of jot_down differs" in result.stderr


def test_generate_check_and_lint_import_no_model(embedded: Project) -> None:
    script = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from toolmason.commands import toolmason\n"
        "for command in ('generate', 'check', 'lint', 'stats'):\n"
        f"    CliRunner().invoke(toolmason, [command, '--manifest', {str(embedded.manifest)!r}])\n"
        "print(sorted({'numpy', 'fastembed', 'onnxruntime'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def _fail(*_: object) -> None:
    raise OSError(28, "No space left on device")


def _edit(project: Project, old: str, new: str, *, append: str = "") -> None:
    """Replace the first `old` in a line of a tool, and append to its string."""
    text = project.manifest.read_text(encoding="utf-8")
    start = text.index(old, text.index("[tools."))
    end = text.index('"\n', start + len(old) + 1)
    project.manifest.write_text(
        text[:start] + new + text[start + len(old) : end] + append + text[end:], encoding="utf-8"
    )


def test_stats_shows_the_file_and_the_outdated_tools(embedded: Project, run: Run) -> None:
    shown = run("stats").stdout.partition("semantic.postings\n")[2]
    size = len(embedded.postings.read_bytes())
    assert f"bytes     {size:,}\n" in shown
    assert "outdated  none\n" in shown
    model = embedded.postings.read_text(encoding="utf-8").splitlines()[1].removeprefix("model ")
    assert f"SHA-256 {model}\n" in shown

    text = embedded.manifest.read_text(encoding="utf-8")
    embedded.manifest.write_text(text.replace("Jot down what", "Write down what"), encoding="utf-8")
    assert "outdated  jot_down (stale)\n" in run("stats").stdout

    embedded.postings.unlink()
    assert "semantic.postings" not in run("stats").stdout


@pytest.mark.parametrize(
    "content", [b"", HEAD[:-9], b"PK" + HEAD, HEAD.replace(b"2", b"3", 1), HEAD + TOOL_A[:-6], HEAD + b"\xff\n"]
)
def test_a_damaged_file_is_an_error_of_stats_and_check_with_its_place(
    embedded: Project, run: Run, content: bytes
) -> None:
    embedded.postings.write_bytes(content)
    for command in ("stats", "check"):
        result = run(command)
        assert result.exit_code == 1
        assert "error[TM109]: semantic.postings is invalid" in result.output
        assert "delete it and run: toolmason embed" in result.output
