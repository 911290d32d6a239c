"""`toolmason add`: the place and the text of a new tool, parameter or type, and the function of a handler."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.project import Project

Toolmason = Callable[..., Result]
GROUPS = f"""
[categories.books]
summary = "Books of a library"

[clis.echo]
command = [{json.dumps(sys.executable)}, "-I", "-S", "-c", "import sys; print(sys.argv[1:])"]
category = "books"
reads = []
network = false

[apis.library]
base_url = "https://library.example"
category = "books"

[databases.books]
url = "sqlite:///books.db"
category = "books"

[upstreams.other]
command = ["other-server"]
category = "books"
"""
READ = ("--summary", "Find books", "--description", "Searches titles.", "--risk", "read")


def add(project: Project, *arguments: str, text: str | None = None) -> Result:
    command = ["add", *arguments, "--manifest", str(project.manifest)]
    return CliRunner().invoke(toolmason, command, input=text)


def manifest(project: Project) -> str:
    return project.manifest.read_text(encoding="utf-8")


def write(project: Project, text: str) -> None:
    project.manifest.write_text(text, encoding="utf-8", newline="")


@pytest.fixture
def library(project: Project) -> Project:
    """A project with a program, an API, a database and an upstream."""
    write(project, f"{manifest(project)}{GROUPS}")
    return project


@pytest.mark.parametrize(
    ("arguments", "block"),
    [
        pytest.param(
            ("--category", "books", "--param", "query:string:Words", "--example", 'Find Dune={"query": "Dune"}'),
            """\
summary = "Find books"
category = "books"
description = "Searches titles."
hints = { read_only = true }
handler = "books:find_books"
params.query = { type = "string", description = "Words" }

[[tools.find_books.examples]]
description = "Find Dune"
arguments = { query = "Dune" }
""",
            id="handler",
        ),
        pytest.param(
            ("--cli", "echo", "--param", "query:string:Words", "--set", 'argv=["find"]'),
            """\
summary = "Find books"
description = "Searches titles."
cli = "echo"
argv = ["find"]
risk = "read"
params.query = { type = "string", description = "Words" }
""",
            id="command",
        ),
        pytest.param(
            ("--api", "library", "--http", "GET /books/{id}", "--param", "id:integer:Number", "--set", "timeout=5"),
            """\
summary = "Find books"
description = "Searches titles."
api = "library"
http = "GET /books/{id}"
risk = "read"
timeout = 5
params.id = { type = "integer", description = "Number" }
""",
            id="http",
        ),
        pytest.param(
            ("--database", "books", "--sql", "select 1 where :id > 0", "--param", "id?:integer:Number"),
            """\
summary = "Find books"
description = "Searches titles."
sql = "select 1 where :id > 0"
database = "books"
risk = "read"
params.id = { type = "integer", description = "Number", required = false }
""",
            id="sql",
        ),
        pytest.param(
            ("--upstream", "other", "--set", 'input_schema={ type = "object" }'),
            """\
summary = "Find books"
description = "Searches titles."
hints = { read_only = true }
upstream = "other"
input_schema = { type = "object" }
""",
            id="upstream",
        ),
    ],
)
def test_a_new_tool_of_each_kind_is_served(
    run: Toolmason, library: Project, arguments: tuple[str, ...], block: str
) -> None:
    before = manifest(library)
    result = add(library, "tool", "find_books", *READ, *arguments, "--yes")
    assert result.exit_code == 0, result.output
    header = "[tools.find_books]\n"
    tail = manifest(library).partition(header)[2]
    assert tail == block or tail.startswith(f"{block}\n")
    assert manifest(library).replace(f"\n{header}{block}", "") == before

    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0
    assert "find_books" in run("call", "search", '{"query": "find books"}').output


def test_the_function_raises_a_clear_error_until_it_is_written(run: Toolmason, library: Project) -> None:
    result = add(library, "tool", "find_books", *READ, "--category", "books", "--yes")
    assert result.exit_code == 0, result.output
    module = library.handler_directory / "notes" / "books.py"
    assert module.read_text(encoding="utf-8").endswith('"""Find books"""\n    raise NotImplementedError\n')
    assert run("generate").exit_code == 0
    called = run("call", "find_books", "{}")
    assert "Error executing tool find_books: it is not implemented yet" in called.output


def test_a_tool_is_below_the_last_one_of_its_category(project: Project) -> None:
    text = manifest(project)
    assert text.endswith('"6 words, 1 line, 18 characters"\n')
    write(project, f'{text}# params.later = {{}}\n\n# ---- Types ----\n\n[types.Later]\nenum = ["a"]\n')
    result = add(project, "tool", "find_words", *READ, "--category", "text", "--yes")
    assert result.exit_code == 0, result.output
    assert manifest(project).endswith(
        '# params.later = {}\n\n[tools.find_words]\nsummary = "Find books"\ncategory = "text"\n'
        'description = "Searches titles."\nhints = { read_only = true }\nhandler = "text:find_words"\n\n'
        '# ---- Types ----\n\n[types.Later]\nenum = ["a"]\n'
    )


def test_a_function_is_in_the_module_of_its_category(project: Project) -> None:
    write(project, manifest(project).replace('"text:count_words"', '"measure.words:count_words"'))
    (project.handler_directory / "notes" / "measure").mkdir()
    (project.handler_directory / "notes" / "measure" / "__init__.py").touch()
    words = project.handler_directory / "notes" / "measure" / "words.py"
    (project.handler_directory / "notes" / "text.py").rename(words)
    result = add(project, "tool", "x", *READ, "--category", "text", "--yes")
    assert result.exit_code == 0, result.output
    assert "async def x(params: XParams, call: ToolCall) -> Content:" in words.read_text(encoding="utf-8")
    assert 'handler = "measure.words:x"' in manifest(project)


def test_comments_and_line_ends_stay(project: Project) -> None:
    text = manifest(project).replace("\n", "\r\n")
    write(project, f"{text}# the end")
    assert add(project, "type", "Word", "--field", "text:string:Letters", "--yes").exit_code == 0
    block = '[types.Word]\r\nfields.text = { type = "string", description = "Letters" }\r\n\r\n'
    assert project.manifest.read_bytes().decode() == f"{text}# the end".replace(
        "[tools.count_words]", f"{block}[tools.count_words]"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("tool", "find_notes", "--category", "text", *READ),
        ("param", "count_words", "unit", "--type", "string", "--description", "Unit", "--set", 'default="word"'),
        ("type", "Note", "--field", "text:string:Text"),
    ],
)
def test_mixed_line_ends_stay(project: Project, arguments: tuple[str, ...]) -> None:
    before = manifest(project).replace("\n", "\r\n", 3).encode()
    project.manifest.write_bytes(before)
    result = add(project, *arguments, "--yes")
    assert result.exit_code == 0, result.output
    lines = project.manifest.read_bytes().split(b"\n")
    assert [line for line in before.split(b"\n") if line.strip() and line not in lines] == []
    assert lines[3] == before.split(b"\n")[3]


def test_the_function_of_a_tool_with_a_dash_is_an_identifier(project: Project) -> None:
    result = add(project, "tool", "find-notes", "--category", "text", *READ, "--yes")
    assert result.exit_code == 0, result.output
    assert 'handler = "text:find_notes"' in manifest(project)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param("", 'params.limit = { type = "integer" }\nreturns = "TextSize"\n', id="none"),
        pytest.param(
            'params.a = { type = "string" } # one\n# two\n',
            'params.a = { type = "string" } # one\nparams.limit = { type = "integer" }\n# two\n',
            id="keys",
        ),
        pytest.param(
            'params = { a = { type = "string" } }\n',
            'params = { a = { type = "string" }, limit = { type = "integer" } }\n',
            id="inline-table",
        ),
        pytest.param(
            '[tools.last.params]\na = { type = "string" }\n',
            '[tools.last.params]\na = { type = "string" }\nlimit = { type = "integer" }\n',
            id="table",
        ),
        pytest.param(
            '[tools.last.params.a]\ntype = "string"\n# note\n\n[tools.last.ext]\nx = 1\n',
            '[tools.last.params.a]\ntype = "string"\n# note\n\n[tools.last.params.limit]\ntype = "integer"\n\n'
            "[tools.last.ext]\nx = 1\n",
            id="table-of-each",
        ),
    ],
)
def test_a_parameter_is_written_as_the_others(project: Project, params: str, expected: str) -> None:
    tool = (
        '\n[tools.last]\nsummary = "S"\ncategory = "text"\nhints = { read_only = true }\nhandler = "text:count_words"\n'
    )
    returns = 'returns = "TextSize"\n' if params.startswith("params") or not params else ""
    text = f"{manifest(project)}{tool}"
    write(project, f"{text}{returns if not params else params + returns}")
    result = add(project, "param", "last", "limit", "--type", "integer", "--yes")
    assert result.exit_code == 0, result.output
    assert manifest(project) == text + expected + (returns if params else "")


def test_an_enumeration_and_a_shared_parameter(project: Project) -> None:
    write(project, manifest(project).replace("[tools.", '[params.page]\ntype = "integer"\n\n[tools.', 1))
    assert add(project, "type", "Order", "--enum", "new", "--enum", 'o"ld', "--yes").exit_code == 0
    assert '[types.Order]\nenum = ["new", "o\\"ld"]\n' in manifest(project)
    assert add(project, "param", "count_words", "page", "--optional", "--set", 'use="page"', "--yes").exit_code == 0
    assert 'params.page = { required = false, use = "page" }\n' in manifest(project)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("tool", "count_words", *READ, "--category", "text"), 1, "error[TM306]: the manifest has a tool"),
        (("tool", "x", *READ, "--category", "txt"), 2, "unknown category `txt`; did you mean `text`?"),
        (("tool", "x", *READ[2:], "--summary", "x" * 81, "--category", "text"), 1, "error[TM205]"),
        (("tool", "a b", *READ, "--category", "text"), 1, "error[TM"),
        (("tool", "x", *READ, "--category", "text", "--handler", "x"), 1, "error[TM206]"),
        (("tool", "x", *READ, "--cli", "nosuch"), 1, "error[TM323]: unknown program `nosuch`"),
        (("tool", "x", *READ, "--category", "text", "--set", "tier=one"), 2, "a value is not TOML"),
        (("tool", "x", *READ, "--category", "text", "--set", "tier"), 2, "must be KEY=VALUE"),
        (("tool", "x", *READ, "--category", "text", "--set", "teir='all'"), 1, "did you mean `tier`?"),
        (("tool", "x", *READ, "--category", "text", "--param", "q"), 2, "must be NAME:TYPE"),
        (("tool", "x", *READ, "--category", "text", "--param", "q:strng"), 1, "error[TM302]: unknown type `strng`"),
        (("tool", "x", *READ, "--category", "text", "--example", "{}"), 2, "must be TEXT={JSON}"),
        (("tool", "x", *READ, "--category", "text", "--example", 'Call={"q": 1}'), 1, "error[TM"),
        (("tool",), 2, "missing NAME"),
        (("tool", "x"), 2, "missing --summary"),
        (("tool", "x", "--summary", "S"), 2, "missing --category: text"),
        (("tool", "x", "--summary", "S", "--category", "text"), 2, "missing --risk: read, write, destructive"),
        (("param", "count_word", "x", "--type", "string"), 2, "did you mean `count_words`?"),
        (("param", "count_words", "text", "--type", "string"), 1, "error[TM306]: `count_words` has a parameter"),
        (("param", "count_words", "x"), 2, "missing --type"),
        (("param", "count_words", "x", "--type", "integer", "--set", 'pattern="["'), 1, "error[TM"),
        (("param", "count_words", "x", "--type", "integer"), 1, "error[TM310]"),
        (("type", "TextSize", "--enum", "a"), 1, "error[TM306]: the manifest has a type `TextSize`"),
        (("type", "lower", "--enum", "a"), 1, "error[TM"),
        (("type", "Empty"), 2, "a type needs --field, --enum"),
        (("type", "Both", "--enum", "a", "--field", "x:string"), 1, "error[TM"),
    ],
)
def test_mistakes_are_refused_with_a_fix_and_nothing_is_written(
    project: Project, arguments: tuple[str, ...], code: int, error: str
) -> None:
    files = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    result = add(project, *arguments, "--yes")
    assert error in result.stderr
    assert result.exit_code == code
    assert "TM312" not in result.stderr
    assert {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()} == files


def test_errors_of_lint_are_shown_and_do_not_stop_it(project: Project) -> None:
    use_case = '"Check that a summary stays under 200 words"'
    write(project, manifest(project).replace(use_case, '"zebra"'))
    result = add(project, "tool", "zebra", *READ, "--category", "text", "--yes")
    assert result.exit_code == 0, result.output
    assert "`zebra` has no example" in result.stderr
    assert "[tools.zebra]" in manifest(project)


def test_without_approval_nothing_is_written(project: Project) -> None:
    before = manifest(project)
    command = ("tool", "x", *READ, "--category", "text")
    refused = add(project, *command)
    assert refused.exit_code == 4
    assert "+[tools.x]" in refused.stdout
    assert "+async def x(params: XParams, call: ToolCall) -> Content:" in refused.stdout
    assert add(project, *command, "--dry-run").exit_code == 0
    assert manifest(project) == before


def test_questions_on_a_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["toolmason.commands.add"], "_is_terminal", lambda: True)
    answers = ["x", "Find words", "text", "read", "", "word", "word:string:The word", ""]
    result = add(project, "tool", "--yes", text="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert "`word` must be NAME:TYPE" in result.stderr
    assert manifest(project).endswith(
        '\n[tools.x]\nsummary = "Find words"\ncategory = "text"\nhints = { read_only = true }\nhandler = "text:x"\n'
        'params.word = { type = "string", description = "The word" }\n'
    )


def test_a_tool_of_an_included_file_is_added_there(project: Project) -> None:
    head, _, tool = manifest(project).partition("[tools.count_words]")
    write(project, head.replace("edition = 1\n", 'edition = 1\ninclude = ["tools/*.toml"]\n'))
    included = project.manifest.parent / "tools" / "text.toml"
    included.parent.mkdir()
    included.write_text(f"[tools.count_words]{tool}", encoding="utf-8")
    assert add(project, "tool", "x", *READ, "--category", "text", "--yes").exit_code == 0
    assert "[tools.x]" in included.read_text(encoding="utf-8")
    result = add(project, "param", "count_words", "limit", "--type", "integer", "--optional", "--yes")
    assert result.exit_code == 0, result.output
    assert 'params.limit = { type = "integer", required = false }\n' in included.read_text(encoding="utf-8")
