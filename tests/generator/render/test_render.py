"""Rendering is a function of the model: overrides, reuse and hostile text included."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
import yaml

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Server
from toolmason.render.pydantic_models import models, schemas
from toolmason.render.renderer import render
from toolmason.resolve import resolve

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
HOSTILE_HANDLER = """\
from toolmason_runtime import ToolCall

from hostile_server.odd import contract
from hostile_server.odd.models import ImportParams


async def run(params: ImportParams, call: ToolCall) -> str:
    return params.class_ + params.title + call.tool


def blocking(params: ImportParams, call: ToolCall) -> str:
    return params.class_


def wrong(params: ImportParams, call: ToolCall) -> int:
    return 1


HANDLERS: tuple[contract.Import, contract.Import] = (run, blocking)
WRONG: contract.Import = wrong  # type: ignore[assignment]
"""


def model(case: str) -> Server:
    diagnostics = Diagnostics()
    folder = GOLDEN / case
    document = load(folder / "manifest.toml", root=folder, diagnostics=diagnostics)
    assert document
    tables = validate(document, diagnostics=diagnostics)
    assert tables
    server = resolve(tables, document, root=folder, diagnostics=diagnostics)
    assert server, list(diagnostics)
    return server


def by_path(files: tuple[RenderedFile, ...]) -> dict[str, str]:
    return {file.path.as_posix(): file.text for file in files}


@pytest.fixture(scope="module")
def small() -> Server:
    return model("one-tool-gives-a-whole-server")


@pytest.fixture(scope="module")
def hostile() -> dict[str, str]:
    return by_path(render(model("hostile-text-stays-text")))


def test_rendering_twice_gives_the_same_text(small: Server) -> None:
    assert render(small) == render(small)


def test_models_of_an_earlier_run_are_rendered_as_they_are(small: Server) -> None:
    fresh = render(small)
    path = PurePosixPath("catalog_server/books/models.py")
    (books,) = small.categories
    made = models(schemas(books, small.package))
    assert made in {file.path: file.text for file in fresh}[path]
    assert render(small, models={"books": made}) == fresh
    other = made.replace("FindBooksParams", "OtherParams")
    assert other in by_path(render(small, models={"books": other}))[path.as_posix()]


def test_text_that_a_template_adds_after_the_models_is_written_once(small: Server, tmp_path: Path) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "models.py.jinja").write_text(
        '{% extends "toolmason/python/models.py.jinja" %}{% block body %}{{ super() }}\n\nMINE = 1\n{% endblock %}\n',
        encoding="utf-8",
    )
    extended = render(small, templates=tmp_path)
    text = {file.path: file.text for file in extended}[PurePosixPath("catalog_server/books/models.py")]
    assert text.count("MINE = 1") == 1
    (books,) = small.categories
    made = {"books": models(schemas(books, small.package))}
    assert render(small, templates=tmp_path, models=made) == extended


def test_no_python_file_that_a_start_compiles_grows_with_the_number_of_tools(small: Server) -> None:
    (books,) = small.categories
    (tool,) = books.tools
    many = tuple(replace(tool, name=f"{tool.name}_{number}") for number in range(100))
    one, hundred = (
        {
            path: text
            for path, text in by_path(render(server, part="python")).items()
            # Only a command of a shell imports the declarations of commands.
            if path.endswith(".py") and path.count("/") == 1 and not path.endswith("/tool_commands.py")
        }
        for server in (small, replace(small, categories=(replace(books, tools=many),)))
    )
    assert "catalog_server/catalogue.py" in one
    assert one == hundred


def test_one_part_alone_is_rendered_as_it_is_among_all(small: Server) -> None:
    everything = by_path(render(small))
    docs = by_path(render(small, part="docs"))
    assert docs
    assert docs.items() <= everything.items()
    assert all(path.startswith("docs/") for path in docs)


def test_a_projects_template_goes_before_the_packaged_one_and_can_extend_it(small: Server, tmp_path: Path) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "init.py.jinja").write_text(
        '{% extends "toolmason/python/init.py.jinja" %}{% block summary %}Mine, not yours.{% endblock %}\n',
        encoding="utf-8",
    )
    ours, theirs = by_path(render(small)), by_path(render(small, templates=tmp_path))
    changed = {path for path, text in theirs.items() if ours[path] != text}
    assert changed == {"catalog_server/__init__.py"}
    assert theirs["catalog_server/__init__.py"].startswith('"""Mine, not yours.')
    assert "build_server" in theirs["catalog_server/__init__.py"]


def test_output_does_not_depend_on_hash_seed_locale_time_zone_or_folder(tmp_path: Path) -> None:
    script = (
        "import hashlib, sys; sys.path.insert(0, sys.argv[1]); import test_render as t;"
        "print(hashlib.sha256(repr(t.render(t.model('one-tool-gives-a-whole-server'))).encode()).hexdigest())"
    )
    digests = set()
    for seed, zone, locale in (("0", "UTC", "C"), ("1", "Asia/Kolkata", "C.UTF-8"), ("77", "America/Lima", "POSIX")):
        ran = subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale, "PATH": "", "HOME": str(tmp_path)},
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        digests.add(ran.stdout)
    assert len(digests) == 1


def test_files_with_hostile_text_can_be_parsed(hostile: dict[str, str]) -> None:
    for path, text in hostile.items():
        match PurePosixPath(path).suffix:
            case ".py":
                ast.parse(text)
            case ".json":
                json.loads(text)
            case ".toml":
                tomllib.loads(text)
            case ".md" | ".txt":
                if text.startswith("---\n"):
                    assert isinstance(yaml.safe_load(text.split("\n---\n")[0][4:]), dict)
            case ".bash" | ".zsh" | ".fish" as shell:
                subprocess.run([shell[1:], "-n", "/dev/stdin"], input=text, encoding="utf-8", check=True)
            case other:
                pytest.fail(f"no reader for {other}")


def test_hostile_text_reaches_the_catalogue_unchanged(hostile: dict[str, str]) -> None:
    written = tomllib.loads((GOLDEN / "hostile-text-stays-text" / "manifest.toml").read_text(encoding="utf-8"))
    served = json.loads(hostile["hostile_server/catalogue.json"])["tools"]["import"]
    tool = written["tools"]["import"]
    assert served["tool"]["description"] == tool["description"].strip()
    assert served["summary"] == tool["summary"]
    assert served["renamed"] == {"lim_it_2": "lim-it"}
    arguments = served["examples"][0]["arguments"]
    assert {served["renamed"].get(name, name): each for name, each in arguments.items()} == tool["examples"][0][
        "arguments"
    ]
    assert served["tool"]["inputSchema"]["properties"]["title"]["default"] == tool["params"]["title"]["default"]
    assert served["tool"]["inputSchema"]["properties"]["word"]["enum"] == tool["params"]["word"]["enum"]
    sent = served["tool"]["inputSchema"]["properties"]
    assert [served["renamed"].get(name, name) for name in sent] == list(tool["params"])


def test_hostile_names_give_models_that_take_the_wire_names_back(
    hostile: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(hostile, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    models = importlib.import_module("hostile_server.odd.models")
    sent = {
        "class": "a",
        "self": "b",
        "model_config": "c",
        "model_dump": "d",
        "title": "e",
        "lim-it": 3,
        "lim_it": 4,
        "properties": [{"class": "x", "self": 1}],
        "word": '"',
    }
    params = models.ImportParams.model_validate(sent)
    assert params.model_dump(by_alias=True, exclude_unset=True) == sent
    assert models.ImportParams(**{"class": "a"}).title == 'a "b" \\ c\n{{ d }}'


@pytest.mark.uncovered
def test_hostile_output_passes_mypy_strict_with_a_handler_and_ruff(
    hostile: dict[str, str], tmp_path: Path, mypy_cache: Path
) -> None:
    lay_out(hostile, tmp_path / "generated")
    handler = tmp_path / "handlers" / "hostile"
    handler.mkdir(parents=True)
    (handler / "__init__.py").touch()
    (handler / "odd.py").write_text(HOSTILE_HANDLER, encoding="utf-8")
    sources = [tmp_path / "generated", tmp_path / "handlers", ROOT / "runtime"]
    packages = ["-p", "hostile_server", "-p", "hostile"]
    mypy = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", mypy_cache, *packages],
        cwd=tmp_path,
        env={"MYPYPATH": ":".join(map(str, sources)), "PATH": ""},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert mypy.returncode == 0, mypy.stdout
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "120", "--check", "generated"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert ruff.returncode == 0, ruff.stdout


def test_a_type_of_two_categories_is_one_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(by_path(render(model("every-field-of-a-tool-reaches-the-catalogue"), part="python")), tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    types, books, lending = (
        importlib.import_module(f"library_server.{name}") for name in ("types", "books.models", "lending.models")
    )
    assert types.Book is books.Book is lending.Book
    assert types.Range is books.Range is lending.Range
    assert books.Books.model_validate({"books": [{"title": "Dune", "shelf": None}], "by_author": {}}).books == [
        lending.Book(title="Dune", shelf=None)
    ]
    assert not hasattr(types, "Books")
    assert not hasattr(lending, "Books")
    rules = ["--isolated", "--select", "F,PLC0414"]
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *rules, "."],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert ruff.returncode == 0, ruff.stdout


def test_without_shared_types_the_types_module_is_omitted(small: Server) -> None:
    assert "catalog_server/types.py" not in by_path(render(small))


HOOKS = """\
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from library_server.options import Options


@asynccontextmanager
async def open_library(options: Options) -> AsyncIterator[str]:
    yield options.region * options.limit


def check() -> list[str]:
    return []


def count(argv: list[str]) -> int:
    return len(argv)
"""


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("right", "wrong", "hook"),
    [
        ("", "", ""),
        ("@asynccontextmanager\n", "", "LIFESPAN"),
        ("options: Options)", "options: dict[str, str])", "LIFESPAN"),
        ("options.region * options.limit", "options.regoin", "options.regoin"),
        ("def check()", "def check(options: Options)", "STARTUP_CHECK"),
        ("-> int:\n    return len(argv)", "-> None:\n    print(argv)", "RUN_COUNT"),
    ],
    ids=["right", "not decorated", "a mapping", "no such option", "check with a parameter", "no exit code"],
)
def test_mypy_proves_that_each_hook_fits(right: str, wrong: str, hook: str, tmp_path: Path, mypy_cache: Path) -> None:
    lay_out(by_path(render(model("every-field-of-a-tool-reaches-the-catalogue"))), tmp_path / "generated")
    state = HOOKS.replace(right, wrong) if right else HOOKS
    lay_out(dict.fromkeys(["__init__.py", "tools/__init__.py"], "") | {"tools/state.py": state}, tmp_path / "library")
    mypy = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", mypy_cache, "-m", "library_server.hooks"],
        cwd=tmp_path / "generated",
        env={"MYPYPATH": ":".join(map(str, [tmp_path, ROOT / "runtime"])), "PATH": ""},
        capture_output=True,
        check=False,
        encoding="utf-8",
    )

    if not hook:
        assert mypy.stdout.startswith("Success: no issues found"), mypy.stdout
        return
    places = re.findall(r"^([^:]+):(\d+): error: ", mypy.stdout, re.MULTILINE)
    sources = [(tmp_path / "generated" / path).read_text(encoding="utf-8").splitlines() for path, _ in places]
    lines = [source[int(number) - 1] for source, (_, number) in zip(sources, places, strict=True)]
    assert any(hook in line for line in lines), mypy.stdout


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def lay_out(files: dict[str, str], folder: Path) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
