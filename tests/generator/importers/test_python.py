"""`toolmason import python`: modules and FastMCP servers become projects that are generated and called."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from toolmason.commands import toolmason
from toolmason.importers.python_module.docstrings import parse_docstring
from toolmason.importers.python_module.values import NoFormError, SchemaReader, Types

FIXTURES = Path(__file__).parent / "fixtures" / "modules"


def run(project: Path, *arguments: str) -> Result:
    with contextlib.chdir(project):
        return CliRunner().invoke(toolmason, arguments)


def import_python(project: Path, module: str, *arguments: str) -> dict[str, Any]:
    """Import a module of the fixtures and return the manifest; its notes are in the file `notes`."""
    (project / "handlers").mkdir(exist_ok=True)
    if (source := FIXTURES / f"{module.partition(':')[0]}.py").exists():
        shutil.copy(source, project / "handlers")
    result = run(project, "import", "python", module, *arguments)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    (project / "notes").write_text(result.stderr, encoding="utf-8")
    (manifest,) = project.glob("manifest/*.toml")
    return tomllib.loads(manifest.read_text(encoding="utf-8"))


def call(project: Path, tool: str, **arguments: Any) -> str:
    command = [sys.executable, "-m", "toolmason", "call", tool, json.dumps(arguments)]
    result = subprocess.run(command, cwd=project, capture_output=True, encoding="utf-8", check=False, timeout=300)
    return (result.stdout + result.stderr.removeprefix("imported\n")).strip()


def test_the_functions_of_a_module_are_imported_generated_and_called(tmp_path: Path) -> None:
    tables = import_python(tmp_path, "catalog")

    notes = (tmp_path / "notes").read_text(encoding="utf-8")
    assert notes.startswith("Importing `catalog` executes its code.\n")
    assert tables["server"] == {"name": "catalog", "package": "catalog_server", "handlers": "catalog_tools"}
    assert tables["categories"]["catalog"]["summary"] == "Keep a catalog of books"
    tools = tables["tools"]
    assert list(tools) == ["add", "find", "within", "rate", "clear"]
    assert (tools["add"]["summary"], tools["add"]["returns"]) == ("Add a book", "Book")
    assert tools["add"]["params"] == {
        "title": {"type": "string", "description": "Title of the book."},
        "published": {
            "type": "string",
            "description": "Day on which it appeared.",
            "format": "date",
            "required": False,
        },
        "tags": {"type": "string[]", "description": "Labels.", "required": False},
        "shelf": {"type": "Shelf", "default": "new"},
    }
    assert tables["types"]["Shelf"] == {"type": "string", "enum": ["new", "old"]}
    assert tools["find"]["params"]["query"]["description"] == "Words of the title."
    assert tools["find"]["params"]["limit"] == {
        "type": "integer",
        "description": "Maximum results.",
        "minimum": 1,
        "maximum": 50,
        "default": 10,
    }
    assert tools["find"]["params"]["by"] == {"type": "string", "enum": ["title", "tag"], "default": "title"}
    assert tables["types"]["FindResult"]["fields"]["result"]["type"] == "Book[]"
    assert tools["within"]["params"]["years"] == {"type": "Years", "description": "First and last year."}
    assert tools["rate"]["input_schema"]["properties"]["stars"]["exclusiveMinimum"] == 0
    assert all(table["hints"]["destructive"] for table in tools.values())
    for reason in (
        "many: left out: `*titles` accepts any number of arguments; a tool has named ones",
        "untyped: left out: `title` has no type annotation",
        "each: left out: it yields values; a tool returns one",
        "strange: left out: its signature cannot be read: name 'SpecialStream' is not defined",
        "first: left out: `title` is positional-only; a handler passes arguments by name",
        "clear: it has no docstring: write a summary",
        "rate: its arguments became an `input_schema`, because `params` cannot express them: it uses exclusiveMinimum",
    ):
        assert f"catalog: {reason}\n" in notes

    generated = run(tmp_path, "generate")
    assert generated.exit_code == 0, generated.stderr
    book = {"title": "Dune", "published": "1965-08-01", "tags": ["sand"]}
    assert json.loads(call(tmp_path, "add", **book)) == book
    assert json.loads(call(tmp_path, "within", years={"first": 1900})) == {"result": {"books": 0}}
    assert call(tmp_path, "rate", note="x") == "3.5 'x'"
    assert call(tmp_path, "clear") == "Done."
    assert "Argument 'published' is invalid: Input should be a valid date" in call(
        tmp_path, "add", title="Dune", published="soon"
    )


def test_output_of_the_module_is_not_taken_for_the_description(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import_python(tmp_path, "catalog")
    assert "imported\n" in capfd.readouterr().err


def test_the_handlers_are_formatted(tmp_path: Path) -> None:
    import_python(tmp_path, "catalog")
    handlers = tmp_path / "handlers" / "catalog_tools"
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "120", "--check", str(handlers)]
    checked = subprocess.run(ruff, capture_output=True, encoding="utf-8", check=False)
    assert checked.returncode == 0, checked.stdout


def test_a_server_of_the_sdk_is_imported_generated_and_called(tmp_path: Path) -> None:
    tables = import_python(tmp_path, "desk")

    tools = tables["tools"]
    assert list(tools) == ["price", "find_item"]
    assert tables["server"]["instructions"] == "Ask for a price first."
    assert (tools["price"]["title"], tools["price"]["returns"]) == ("Price", "Item")
    assert tools["price"]["hints"] == {"read_only": True, "destructive": False, "idempotent": True, "open_world": True}
    assert tools["price"]["params"]["factor"] == {"type": "number", "description": "Multiplier", "default": 2}
    assert tools["find_item"]["summary"] == "Find an item by its name"
    assert tools["find_item"]["params"] == {"name": {"type": "string", "max_length": 20}}
    notes = (tmp_path / "notes").read_text(encoding="utf-8")
    assert "no repeated words: find-item is `find_item`\n" in notes
    assert "desk: watch: left out: `context` is filled by FastMCP, not by the caller" in notes
    assert "desk: hidden: left out: no name of the module has its function" in notes
    assert "desk: prompts are not imported: ask" in notes

    assert run(tmp_path, "generate").exit_code == 0
    assert json.loads(call(tmp_path, "price", item={"name": "lamp", "price": 2})) == {"name": "lamp", "price": 4}
    assert json.loads(call(tmp_path, "find_item", name="x")) == {"result": [{"name": "x", "price": 1}]}
    assert call(tmp_path, "find_item", name="none") == "there is no item with this name; list them first"


@pytest.mark.parametrize(
    ("module", "package", "handlers"),
    [("desk_server", "desk_server_mcp", "desk_tools"), ("desk_tools", "desk_tools_server", "desk_tools_handlers")],
)
def test_the_generated_packages_do_not_shadow_the_module(
    tmp_path: Path, module: str, package: str, handlers: str
) -> None:
    (tmp_path / "handlers").mkdir()
    code = 'def price(item: str) -> int:\n    """Return a price."""\n    return len(item)\n'
    (tmp_path / "handlers" / f"{module}.py").write_text(code, encoding="utf-8")

    tables = import_python(tmp_path, module)

    assert (tables["server"]["package"], tables["server"]["handlers"]) == (package, handlers)
    assert run(tmp_path, "generate").exit_code == 0
    assert json.loads(call(tmp_path, "price", item="lamp")) == {"result": 4}


def test_decorators_that_replace_functions_keep_them_reachable(tmp_path: Path) -> None:
    """A stand-in for `fastmcp` 2; `tests/converters` imports a server of the real version 4."""
    (tmp_path / "fastmcp").mkdir()
    stand_in = """
from types import SimpleNamespace

class FastMCP:
    instructions = None

    def __init__(self, name):
        self.name, self.tools = name, []

    def tool(self, function):
        self.tools.append(SimpleNamespace(
            name=function.__name__, fn=function, title=None, description=function.__doc__, annotations=None,
            parameters={"properties": {"number": {}}},
        ))
        return SimpleNamespace(fn=function)

    async def list_tools(self):
        return self.tools
"""
    (tmp_path / "fastmcp" / "__init__.py").write_text("from fastmcp.server import FastMCP\n", encoding="utf-8")
    (tmp_path / "fastmcp" / "server.py").write_text(stand_in, encoding="utf-8")
    code = '''
from fastmcp import FastMCP
mcp = FastMCP("tools")
@mcp.tool
def half(number: int) -> float:
    """Return half of a number."""
    return number / 2
'''
    (tmp_path / "halves.py").write_text(code, encoding="utf-8")

    import_python(tmp_path, "halves:mcp")

    handler = (tmp_path / "handlers/halves_tools/functions.py").read_text(encoding="utf-8")
    assert "ImportedFunction(halves.half.fn)" in handler
    notes = (tmp_path / "notes").read_text(encoding="utf-8")
    assert "The server cannot import `halves`: install it, or move it to handlers/." in notes


def test_functions_can_be_named(tmp_path: Path) -> None:
    tables = import_python(tmp_path, "catalog", "within", "clear", "--name", "years")
    assert (list(tables["tools"]), tables["server"]["name"]) == (["within", "clear"], "years")


@pytest.mark.parametrize(
    ("code", "module", "error"),
    [
        ("", "absent", "absent: no module `absent` in "),
        ("", "mod.py", "`mod.py` is not the name of a module: write it as in Python, such as `mod`"),
        ("", "-x", "`-x` is not the name of a module"),
        ("1 / 0", "mod", "mod: the module raised ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(4)", "mod", "mod: the module raised SystemExit: 4"),
        ("import os; os._exit(4)", "mod", "`mod` ended the process while it was imported"),
        ("import absent", "mod", "mod: the module raised ModuleNotFoundError: No module named 'absent'"),
        ("import time; time.sleep(600)", "mod", "importing `mod` took more than 1 seconds"),
        ("def f(x): ...", "mod", "no function of `mod` can be a tool"),
        ("x = 1", "mod:x", "mod:x: `x` is not a FastMCP server; the module has none"),
        (
            "from mcp.server.mcpserver import MCPServer\na = MCPServer('a')\nb = MCPServer('b')",
            "mod",
            "mod: the module has several servers, `a`, `b`: write `mod:a`",
        ),
    ],
)
def test_modules_that_cannot_be_imported_are_reported_and_nothing_is_written(
    code: str, module: str, error: str, tmp_path: Path
) -> None:
    (tmp_path / "mod.py").write_text(code, encoding="utf-8")
    result = run(tmp_path, "import", "python", "--timeout", "1" if "sleep" in code else "60", "--", module)
    assert result.exit_code == 1, result.stderr
    assert error in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "manifest").exists()


def test_a_function_named_like_a_keyword_is_imported(tmp_path: Path) -> None:
    code = 'def class_(number: int) -> str:\n    "Name a class."\n    return str(number)\n'
    (tmp_path / "mod.py").write_text(code, encoding="utf-8")

    result = run(tmp_path, "import", "python", "mod")

    assert "left out" not in result.stderr
    tools = tomllib.loads((tmp_path / "manifest" / "mod.toml").read_text(encoding="utf-8"))["tools"]
    assert tools["class"]["handler"] == "functions:class_"


def test_a_tool_stays_if_one_of_its_types_is_invalid_in_a_manifest(tmp_path: Path) -> None:
    code = """
from typing import Annotated
from pydantic import BaseModel, Field

class Tag(BaseModel):
    name: str = Field(min_length=5, max_length=2)

def tag(tag: Tag) -> str:
    \"\"\"Return the name of a tag.\"\"\"
    return tag.name

def label(name: Annotated[str, Field(min_length=5, max_length=2)], size: int) -> str:
    \"\"\"Return a label.\"\"\"
    return name

def size(number: int) -> int:
    \"\"\"Return a size.\"\"\"
    return number
"""
    (tmp_path / "tags.py").write_text(code, encoding="utf-8")
    tables = import_python(tmp_path, "tags")
    assert list(tables["tools"]) == ["tag", "size"]
    assert "input_schema" in tables["tools"]["tag"]
    assert "tags: label: left out" in (tmp_path / "notes").read_text(encoding="utf-8")


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    import_python(tmp_path, "catalog")
    again = run(tmp_path, "import", "python", "catalog")
    assert again.exit_code == 4
    assert "manifest/catalog.toml exists; nothing was written" in again.stderr
    assert run(tmp_path, "import", "python", "catalog", "--force").exit_code == 0


# Docstrings

GOOGLE = """Find it.

More text.

Args:
    query (str): The query, which
        is long.
    limit: Maximum: a number.
    *rest: Others.

Returns:
    name: A list.
"""
NUMPY = """Find it.

More text.

Parameters
----------
query, limit : int, optional
    The query, which

    is long.
rest

Returns
-------
name : int
    A list.
"""
SPHINX = """Find it.

More text.

:param str query: The query, which
    is long.
:param limit: Maximum: a number.
:type limit: int
:returns: A list.
"""


@pytest.mark.parametrize(
    ("text", "params"),
    [
        (GOOGLE, {"query": "The query, which is long.", "limit": "Maximum: a number.", "rest": "Others."}),
        (NUMPY, {"query": "The query, which is long.", "limit": "The query, which is long.", "rest": ""}),
        (SPHINX, {"query": "The query, which is long.", "limit": "Maximum: a number."}),
        ("Find it.\n\nMore text.", {}),
        ("Find it.\n\nMore text.\n\nReturns:\n    x: y\n", {}),
    ],
    ids=["google", "numpy", "sphinx", "text", "no parameters"],
)
def test_docstrings_of_three_styles_are_parsed(text: str, params: dict[str, str]) -> None:
    parsed = parse_docstring(text)
    assert (parsed.text, parsed.params) == ("Find it.\n\nMore text.", params)


@given(
    st.lists(
        st.sampled_from(["Args:", "Parameters", "----------", ":param x: y", "  x: y", "x : int", "", "@arg y: z"])
    )
)
def test_any_docstring_is_parsed(lines: list[str]) -> None:
    parsed = parse_docstring("\n".join(lines))
    assert all(name.isidentifier() for name in parsed.params)


# Schemas


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, ("string", {})),
        (list[int], ("integer[]", {})),
        (dict[str, list[float]], ("map<number[]>", {})),
        (dict[str, Any], ("object", {})),
        (set[str], ("string[]", {"unique_items": True})),
        (Path, ("string", {})),
    ],
)
def test_types_have_a_form_in_a_manifest(hint: Any, expected: tuple[str, dict[str, Any]]) -> None:
    schema = TypeAdapter(hint).json_schema()
    assert SchemaReader(schema.get("$defs", {}), Types()).type_of(schema) == expected


@pytest.mark.parametrize("hint", [int | str, Any, tuple[int, str], list[int | str]])
def test_types_without_a_form_are_refused(hint: Any) -> None:
    schema = TypeAdapter(hint).json_schema()
    with pytest.raises(NoFormError):
        SchemaReader(schema.get("$defs", {}), Types()).type_of(schema)
