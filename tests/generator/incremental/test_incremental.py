"""An edit of one tool changes only what it must, and gives the server, the files and the findings of a whole run."""

from __future__ import annotations

import copy
import pickle
import tomllib
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolmason.diagnostics import Diagnostics
from toolmason.incremental import edits, server, tools
from toolmason.incremental.files import CATEGORY_TEMPLATES, SERVER_TEMPLATES
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.model.server import Server
from toolmason.pipeline import compare, generate, read
from toolmason.project import Project, find_project
from toolmason.render import renderer
from toolmason.render.plan import plan
from toolmason.render.renderer import drafts
from toolmason.resolve import resolve
from toolmason.write import EditedFilesError
from toolmason.write.content_cache import ContentCache, content_cache, content_cache_path

REPOSITORY = Path(__file__).parents[3]
MANIFESTS = [
    *(REPOSITORY / "tests" / "golden").glob("*/manifest.toml"),
    *(REPOSITORY / "examples").glob("*/manifest/*.toml"),
    *(REPOSITORY / "manifest").glob("*.toml"),
]

HEAD = """\
edition = 1

[server]
name = "catalog"
package = "catalog_server"
handlers = "catalog"

[discovery]
style = "search-call"

[categories.books]
summary = "Find books"

[categories.loans]
summary = "Lend books"

[types.Shelf]
description = "A place for books"
fields.name = { type = "string", description = "Its name" }

[params.limit]
type = "integer"
description = "Most results"
minimum = 1
"""

FIND = """
[tools.find_books]
summary = "Find books by title"
category = "books"
description = "Find books by title. Returns the nearest first."
use_cases = ["Which books are about cats"]
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "books:find_books"
params.title = { type = "string", description = "Part of the title" }
params.limit = "limit"
params.shelf = { type = "Shelf", description = "Only those on it", required = false }
"""
LEND = FIND.replace("find_books", "lend_book").replace('category = "books"', 'category = "loans"')
OTHER = FIND.replace("find_books", "order_book").replace("Find books by title", "Order a book of the shop")
TITLE = 'params.title = { type = "string", description = "Part of the title" }'
PAGES = 'params.pages = { type = "integer[]", description = "Numbers of pages", required = false, max_items = 9 }'
PLACES = 'params.place = { type = "string", description = "Where to look", enum = ["hall", "cellar"] }'
HALL = 'params.hall = { type = "Shelf[]", description = "All of these", required = false }'
EXAMPLE = """
[[tools.find_books.examples]]
description = "Books about cats"
arguments = { title = "cats", limit = 5 }
"""

EDITS: dict[str, Callable[[str], str]] = {
    "description": lambda text: text.replace("the nearest first", "the nearest ones", 1),
    "summary": lambda text: text.replace('summary = "Find books by title"', 'summary = "Find a book by title"', 1),
    "placeholder": lambda text: text.replace("the nearest first", "what {tool:lend_book} needs", 1),
    "parameter": lambda text: text.replace("Part of the title", "Words of the title", 1),
    "bound": lambda text: text.replace('"Part of the title" }', '"Part of the title", max_length = 9 }', 1),
    "wider bound": lambda text: text.replace("max_length = 9", "max_length = 10", 1),
    "added parameter": lambda text: text.replace("params.shelf", f"{PAGES}\nparams.shelf", 1),
    "required parameter": lambda text: text.replace("params.shelf", f"{PLACES}\nparams.shelf", 1),
    "parameter of a type": lambda text: text.replace("params.shelf", f"{HALL}\nparams.shelf", 1),
    "reserved parameter": lambda text: text.replace(
        "params.shelf", 'params.class = { type = "string" }\nparams.shelf', 1
    ),
    "removed parameter": lambda text: text.replace(TITLE, "", 1),
    "renamed parameter": lambda text: text.replace("params.title", "params.words", 1),
    "moved parameter": lambda text: text.replace(
        f'{TITLE}\nparams.limit = "limit"', f'params.limit = "limit"\n{TITLE}', 1
    ),
    "optional parameter": lambda text: text.replace(
        '"Part of the title" }', '"Part of the title", required = false }', 1
    ),
    "shared parameter of one tool": lambda text: text.replace(TITLE, f'{TITLE}\nparams.most = "limit"', 1),
    "keywords": lambda text: text.replace("handler =", 'keywords = ["novel"]\nhandler =', 1),
    "no use cases": lambda text: text.replace('use_cases = ["Which books are about cats"]\n', "", 1),
    "example": lambda text: text.replace(LEND, f"{EXAMPLE}{LEND}", 1),
    "kind of parameter": lambda text: text.replace('title = { type = "string"', 'title = { type = "integer"', 1),
    "shared type": lambda text: text.replace('"Its name"', '"The name of it"', 1),
    "shared parameter": lambda text: text.replace('"Most results"', '"At most so many"', 1),
    "other tool": lambda text: text + OTHER if "order_book" not in text else text.replace(OTHER, ""),
    "order of tools": lambda text: text.replace(FIND, "") + FIND,
    "name": lambda text: text.replace("tools.lend_book]", "tools.borrow_book]", 1),
    "category": lambda text: text.replace("categories.loans", "categories.lending").replace('"loans"', '"lending"'),
    "category summary": lambda text: text.replace('"Lend books"', '"Lend or return books"', 1),
    "server": lambda text: text.replace('name = "catalog"', 'name = "catalog"\ntitle = "Books"', 1),
    "style": lambda text: text.replace('"search-call"', '"classic"', 1),
    "comment above": lambda text: "# A note.\n\n" + text,
    "unknown type": lambda text: text.replace('type = "Shelf"', 'type = "Shelv"', 1),
    "unknown key": lambda text: text.replace("handler =", 'sumary = ""\nhandler =', 1),
    "no summary": lambda text: text.replace('summary = "Find books by title"', 'summary = ""', 1),
    "syntax": lambda text: text.replace('title = { type = "string"', "title = { type = ", 1),
    "bad default": lambda text: text.replace('"Part of the title"', '"Part of the title", default = 3', 1),
}
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "changed": lambda data: data.replace(b"nearest", b"dearest"),
    "other version": lambda data: b"0" + data[1:],
    "empty": lambda data: data[:0],
}


def texts(project: Project) -> dict[str, bytes]:
    return {
        path.relative_to(project.generated).as_posix(): path.read_bytes()
        for path in sorted(project.generated.rglob("*"))
        if path.is_file()
    }


def assert_equals_a_whole_run(project: Project) -> bool:
    """Generate, and compare with a run without cache; return whether the manifest is valid."""
    found = Diagnostics()
    outcome = generate(project, diagnostics=found)
    expected = Diagnostics()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CI", "1")
        whole = compare(project, diagnostics=expected)
    assert list(found) == list(expected)
    assert (outcome is None) == (whole is None)
    if whole:
        assert whole.changes.is_clean, [change.diff() for change in whole.changes.all]
    return whole is not None


@pytest.fixture
def catalog(tmp_path: Path) -> Project:
    project = Project(tmp_path, tmp_path / "manifest.toml")
    project.manifest.write_text(HEAD + FIND + LEND, encoding="utf-8")
    return project


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from([*EDITS, *DAMAGE, "hand"]), min_size=3, max_size=6))
def test_any_sequence_of_edits_gives_the_files_and_findings_of_whole_runs(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("catalog")
    project = Project(root, root / "manifest.toml")
    valid = text = HEAD + FIND + LEND
    for name in ["start", *names]:
        if name in DAMAGE:
            path = content_cache_path(project)
            assert path
            if path.exists():  # Not before a valid manifest.
                path.write_bytes(DAMAGE[name](path.read_bytes()))
        elif name == "hand":
            project.manifest.write_text(valid, encoding="utf-8")
            with (project.generated / "docs" / "tools" / "books.md").open("a", encoding="utf-8") as file:
                file.write("A line of somebody.\n")
            with pytest.raises(EditedFilesError):
                generate(project, diagnostics=Diagnostics())
            assert generate(project, diagnostics=Diagnostics(), discard_edits=True)
        text = EDITS[name](text) if name in EDITS else text
        project.manifest.write_text(text, encoding="utf-8")
        if assert_equals_a_whole_run(project):
            valid = text
        else:
            text = valid


@pytest.mark.uncovered
@pytest.mark.parametrize("name", EDITS)
def test_one_edit_gives_the_files_and_findings_of_a_whole_run(name: str, catalog: Project) -> None:
    assert assert_equals_a_whole_run(catalog)
    text = catalog.manifest.read_text(encoding="utf-8")
    for each in ("bound", name) if name == "wider bound" else (name,):
        edited = EDITS[each](text)
        assert edited != text
        catalog.manifest.write_text(edited, encoding="utf-8")
        assert_equals_a_whole_run(catalog)
        text = edited


@pytest.mark.uncovered
@pytest.mark.parametrize("last", ["comment above", "description", "parameter", "category summary"])
def test_an_edit_that_affects_other_tools_is_not_mixed_with_stored_results(last: str, catalog: Project) -> None:
    """The key of the server is the same with and without a placeholder, so another stored tool may not fit it."""
    original = catalog.manifest.read_text(encoding="utf-8")
    placeholder = EDITS["placeholder"](original)
    undone = EDITS["parameter"](original)
    for text in (original, placeholder, EDITS[last](placeholder), original, EDITS[last](undone), placeholder):
        catalog.manifest.write_text(text, encoding="utf-8")
        assert assert_equals_a_whole_run(catalog)


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("comment above", []),
        ("description", ["find_books"]),
        ("summary", ["find_books"]),
        ("parameter", ["find_books"]),
        ("shared type", ["find_books", "lend_book"]),
        ("name", ["find_books", "borrow_book"]),
        ("placeholder", ["find_books", "lend_book"]),
        ("bound", ["find_books"]),
        ("added parameter", ["find_books"]),
        ("required parameter", ["find_books"]),
        ("removed parameter", ["find_books"]),
        ("renamed parameter", ["find_books"]),
        ("moved parameter", ["find_books"]),
        ("optional parameter", ["find_books"]),
        ("kind of parameter", ["find_books"]),
        ("keywords", ["find_books"]),
        ("no use cases", ["find_books"]),
        ("example", ["find_books"]),
        ("parameter of a type", ["find_books", "lend_book"]),
        ("shared parameter of one tool", ["find_books"]),
    ],
)
def test_only_an_edited_tool_is_resolved(name: str, resolved: list[str], catalog: Project) -> None:
    assert generate(catalog, diagnostics=Diagnostics())
    catalog.manifest.write_text(EDITS[name](catalog.manifest.read_text(encoding="utf-8")), encoding="utf-8")
    reading = read(catalog, diagnostics=Diagnostics(), store=content_cache(catalog))
    assert reading
    assert reading.kept
    assert list(reading.kept.edited) == resolved


def test_files_of_other_categories_are_not_rendered(catalog: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate(catalog, diagnostics=Diagnostics())
    catalog.manifest.write_text(EDITS["description"](catalog.manifest.read_text(encoding="utf-8")), encoding="utf-8")
    rendered = []
    original = renderer._render_template

    def note(environment: Any, planned: Any, *rest: Any) -> str:
        rendered.append(planned.path.as_posix())
        return str(original(environment, planned, *rest))

    monkeypatch.setattr(renderer, "_render_template", note)
    assert generate(catalog, diagnostics=Diagnostics())
    assert "catalog_server/books/bindings.py" in rendered
    assert not [path for path in rendered if "loans" in path]


def test_an_unwritable_cache_changes_no_output(catalog: Project) -> None:
    assert generate(catalog, diagnostics=Diagnostics())
    path = content_cache_path(catalog)
    assert path
    path.unlink()
    path.mkdir()
    catalog.manifest.write_text(EDITS["description"](catalog.manifest.read_text(encoding="utf-8")), encoding="utf-8")
    assert assert_equals_a_whole_run(catalog)
    path.rmdir()


def own_edits(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the table of a tool with another value of each key that concerns only this tool."""
    yield {**table, **{key: "Other words about it, at length." for key in ("summary", "description") if key in table}}
    yield from edits_of_params(table)
    yield {**table, "keywords": [*table.get("keywords", ()), "unheard-of"]}
    yield {key: value for key, value in table.items() if key not in {"keywords", "use_cases", "examples"}}
    if "use_cases" in table:
        yield {**table, "use_cases": [*table["use_cases"], "Do it for me"]}
    for name, param in table.get("params", {}).items():
        for key in edits.OWN_PARAM_KEYS & set(param) if isinstance(param, dict) else ():
            edited = copy.deepcopy(table)
            value = param[key]
            if isinstance(value, str):
                edited["params"][name][key] = f"{value}s"
            elif type(value) is int:
                edited["params"][name][key] = value + 1
            elif isinstance(value, list) and value:
                edited["params"][name][key] = value[:-1] or value
            yield edited


def edits_of_params(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the table of a tool with one parameter more, then with each parameter left out or renamed."""
    params = table.get("params", {})
    without = {key: value for key, value in table.items() if key != "examples"}
    if "handler" in table and "input_schema" not in table:
        more = {"type": "string", "description": "Something more.", "required": False}
        yield {**table, "params": {**params, "something_more": more}}
        for name in params:
            yield {**without, "params": {each: param for each, param in params.items() if each != name}}
            yield {**without, "params": {f"{each}_2" if each == name else each: params[each] for each in params}}


def resolved(project: Project, document: Document) -> Server | None:
    """Return the server of a manifest without findings."""
    diagnostics = Diagnostics()
    tables = validate(document, diagnostics=diagnostics)
    if tables is None:
        return None
    found = resolve(tables, document, root=project.root, diagnostics=diagnostics, handlers=project.handlers)
    return None if len(diagnostics) else found


def with_tool(document: Document, name: str, table: dict[str, Any]) -> Document:
    return replace(document, data={**document.data, "tools": {**document.data["tools"], name: table}})


@pytest.mark.uncovered
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name[:60])
def test_a_kept_server_is_that_of_a_whole_run_for_every_kind_of_tool(manifest: Path, tmp_path: Path) -> None:
    """The claim behind `OWN_KEYS`: their values change nothing but their own tool, in no project that we have."""
    project = find_project(manifest.parent, manifest)
    original = read(project, diagnostics=(found := Diagnostics()))
    if original is None or len(found) or not original.server.tools:
        return
    document = original.document
    store = ContentCache(tmp_path / "none")
    kept = server.keep(document, store, "")
    assert kept
    kept.keep(replace(original.server, postings=""))  # `read` adds them afterwards
    names = list(document.data["tools"])
    for name in names[:: max(1, len(names) // 4)]:
        tables = list(own_edits(document.data["tools"][name]))
        for table in Random(name).sample(tables, min(6, len(tables))):
            edited = with_tool(document, name, table)
            again = server.keep(edited, store, "")
            assert again
            assert (again.key == kept.key) == (edits.frames(edited) == edits.frames(document))
            joined = again.server(edited, partial(resolved, project))
            if joined is not None:
                assert repr(joined) == repr(resolved(project, edited))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name[:60])
def test_an_edit_changes_only_files_of_its_category_and_of_all_tools(manifest: Path) -> None:
    """The claim behind `CATEGORY_TEMPLATES` and `SERVER_TEMPLATES`."""
    project = find_project(manifest.parent, manifest)
    original = read(project, diagnostics=(found := Diagnostics()))
    if original is None or len(found) or len(original.server.categories) < 2:
        return
    before = drafts(original.server)
    tool = original.server.tools[0]
    table = original.document.data["tools"][tool.name]
    for tables in (own_edits(table), edits_of_params(table), reversed(list(edits_of_params(table)))):
        documents = (with_tool(original.document, tool.name, each) for each in tables)
        own = (each for each in documents if edits.frames(each) == edits.frames(original.document))
        edited = next(filter(None, (resolved(project, each) for each in own)), None)
        if edited is None:
            continue
        after = drafts(replace(edited, postings=original.server.postings))
        changed = {path for path, text in after.items() if before[path] != text}
        assert changed
        for planned in plan(original.server):
            if planned.path in changed:
                assert planned.template not in SERVER_TEMPLATES
                if planned.template in CATEGORY_TEMPLATES:
                    assert planned.subject["category"].name == tool.category


WORKFLOW = """
[workflows.fetch]
summary = "Fetch a book"
steps = [{ title = "Look", tool = "find_books", text = "Look for it." }]
"""


@pytest.mark.uncovered
@pytest.mark.parametrize("use", [WORKFLOW, 'aliases = ["search_books"]\n'])
def test_a_parameter_used_by_another_part_resolves_everything(use: str, catalog: Project) -> None:
    text = catalog.manifest.read_text(encoding="utf-8")
    text = text + use if use is WORKFLOW else text.replace("handler =", f"{use}handler =", 1)
    catalog.manifest.write_text(text, encoding="utf-8")
    assert assert_equals_a_whole_run(catalog)
    for name, edited in (("renamed parameter", ["find_books", "lend_book"]), ("description", ["find_books"])):
        text = EDITS[name](text)
        catalog.manifest.write_text(text, encoding="utf-8")
        reading = read(catalog, diagnostics=Diagnostics(), store=content_cache(catalog))
        assert reading
        assert reading.kept
        assert list(reading.kept.edited) == edited
        assert assert_equals_a_whole_run(catalog)


def test_a_kept_tool_is_equal_to_the_tool_and_pickled_as_it(catalog: Project) -> None:
    assert generate(catalog, diagnostics=Diagnostics())
    kept, whole = (read(catalog, diagnostics=Diagnostics(), store=store) for store in (content_cache(catalog), None))
    assert kept
    assert whole
    (found, _), (expected, _) = kept.server.tools, whole.server.tools
    assert type(found) is tools.KeptTool
    assert found.table.tier == expected.table.tier
    assert found.table.enabled
    assert not found.argument_aliases
    assert found == expected
    assert expected == found
    assert found.table == expected.table
    assert repr(found) == repr(expected)
    copied = pickle.loads(pickle.dumps(found))
    assert type(copied) is type(expected)
    assert copied == expected


def test_a_pickle_that_names_code_is_refused() -> None:
    for value in (partial(print), Path, tomllib.loads):
        with pytest.raises(ValueError, match=r"\."):
            tools.decode(tools.encode(value))


def test_a_foreign_class_that_the_toolkit_imports_is_refused() -> None:
    class Reached:
        def __reduce__(self) -> Any:
            return (list, ())

    data = pickle.dumps(Reached(), protocol=0).replace(b"c__builtin__\nlist", b"ctoolmason.write.cache\nPath")
    text = b64encode(zlib.compress(data)).decode()
    with pytest.raises(ValueError, match=r"toolmason\.write\.cache\.Path"):
        tools.decode(text)
