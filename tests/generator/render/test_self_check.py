"""The last look before writing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Server
from toolmason.pipeline import read
from toolmason.project import Project
from toolmason.render.self_check import SelfCheckError, self_check


@pytest.fixture
def server(project: Project) -> Server:
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None
    return reading.server


def with_schema(server: Server, **schemas: object) -> Server:
    """Give the server its one tool has other schemas, as a mistake of the compiler would make them."""
    (category,) = server.categories
    (tool,) = category.tools
    wrong = replace(tool, **schemas)  # type: ignore[arg-type]  # what is wrong is the point
    return replace(server, categories=(replace(category, tools=(wrong,)),))


MODELS = RenderedFile(PurePosixPath("notes_server/text/models.py"), "x = 1\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.svg", "<svg><text></svg>"),
        ("a.svg", "<svg>&nbsp;</svg>"),
        ("a.py", "def f(:\n"),
        ("a.py", "return 1\n"),
        ("a.py", "x = '\\d'\n"),
        ("a.json", "{,}\n"),
        ("a.json", '{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": 1}\n'),
        ("a.json", "[NaN]\n"),
        ("a.json", '{"a": -Infinity}\n'),
        ("a.toml", "a = = 1\n"),
    ],
    ids=[
        "svg",
        "svg entity",
        "syntax",
        "return outside",
        "invalid escape",
        "json",
        "schema",
        "json nan",
        "json infinity",
        "toml",
    ],
)
def test_file_that_does_not_parse_is_named(name: str, text: str, server: Server) -> None:
    with pytest.raises(SelfCheckError, match=rf"^{name}: "):
        self_check(server, [RenderedFile(PurePosixPath(name), text)])


def test_files_that_parse_and_kinds_nobody_parses_are_fine(server: Server) -> None:
    texts = {"a.py": "x = 1\n", "a.json": "[1]\n", "a.toml": "a = 1\n", "a.md": "{{{ ]] = \n"}
    self_check(server, [MODELS, *(RenderedFile(PurePosixPath(name), text) for name, text in texts.items())])


def test_boolean_schemas_are_schemas(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": True, "b": {"type": "array", "items": False}}}
    self_check(with_schema(server, input_schema=schema), [MODELS])


def test_all_faults_are_reported_at_once(server: Server) -> None:
    files = [RenderedFile(PurePosixPath(f"{name}.json"), "{") for name in "ab"]
    with pytest.raises(SelfCheckError) as caught:
        self_check(server, files)

    assert len(caught.value.faults) == 2


def test_unchanged_file_on_disk_is_not_checked_again(server: Server) -> None:
    broken = RenderedFile(PurePosixPath("a.py"), "def f(:\n")

    self_check(server, [broken], previous={broken.path: broken.text})


@pytest.mark.parametrize("side", ["input_schema", "output_schema"])
def test_invalid_schema_is_found_if_its_models_changed(side: str, server: Server) -> None:
    wrong = with_schema(server, **{side: {"type": "objekt"}})

    with pytest.raises(SelfCheckError, match=r"of `count_words`: \$\.type: 'objekt' is not valid"):
        self_check(wrong, [MODELS])
    self_check(wrong, [MODELS], previous={MODELS.path: MODELS.text})


def test_tool_without_structured_result_has_no_schema_to_check(server: Server) -> None:
    self_check(with_schema(server, output_schema=None), [MODELS])
