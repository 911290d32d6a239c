"""`toolmason rename`: one name in the whole project."""

from __future__ import annotations

import difflib
import shutil
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.edits import EditError, apply
from toolmason.model.tool import Tool
from toolmason.pipeline import read
from toolmason.project import Project
from toolmason.refactor.files import ChangedFiles
from toolmason.refactor.manifest_edits import ManifestEdits
from toolmason.refactor.rename import rename_tool
from toolmason.refactor.trial import load_valid
from toolmason.write import lock
from toolmason.write.journal import Disk

Run = Callable[..., Result]

MANIFEST: Final = """\
# The notes of a team.
edition = 1
[server]
name = "notes"
package = "notes_server"
instructions = "Start with list_notes; `list_notes(limit=5)` is enough. {calling:list_notes,log} calls it."

[discovery]
style = "search-call"
pinned = ["list_notes"]  # first
pins.code = ['list_notes', "log"]

[categories.notes]
summary = "Notes"

[clis.git]
command = ["git"]
category = "notes"

[apis.web]
base_url = "https://example.com"
category = "notes"

[databases.books]
url = "sqlite:///books.db"
category = "notes"

[upstreams.other]
command = ["other"]
category = "notes"

[params.shared]
type = "string"
description = "A shared parameter"
flag = "--shared"

[tools.list_notes]
summary = "List notes"  # of all
description = "Lists notes with the limit `max_count`."
cli = "git"
argv = ["log", "list_notes"]
risk.max_count = { 1 = "read", 2 = "write" }
confirm = "List {max_count} notes of {{max_count}}?"
params.max_count = { type = "integer", description = "Number of notes", default = 1, enum = [1, 2] }
params.word = "shared"

[tools.list_notes.params.kind]
type = "string"
description = "Kind of notes"
required = false
deprecated = { since = "1.0", replaced_by = "word" }

[[tools.list_notes.examples]]
description = "List one"
arguments = { max_count = 1, word = "list_notes" }

[tools.log]
summary = "Show the log"
cli = "git"
risk = "read"
related = [
  "list_notes",  # before it
]
deprecated = { since = "2.0", replaced_by = "list_notes" }

[tools.get_user]
summary = "Get a user"
api = "web"
http = "GET /users/{user}/{+user}/x?y=user"
params.user = { type = "string", description = "Login" }
params.fields = { type = "string", description = "Fields", required = false }

[tools.add_user]
summary = "Add a user"
api = "web"
http = "POST /users"
params.login = { type = "string", description = "Login" }

[tools.find_books]
summary = "Find books"
database = "books"
sql = "select title from books where author = :author and title like :author"
params.author = { type = "string", description = "Author" }

[tools.echo]
summary = "Echo a text"
upstream = "other"
input_schema = { type = "object", properties = { text = { type = "string" } } }

[commands.tidy]
summary = "Tidy the notes"
tools = ["list_notes"]
prompt = "Call {tool:list_notes} for {arguments}."

[workflows.review]
summary = "Review the notes"
steps = [{ title = "List", tool = "list_notes", text = "Call `list_notes` first." }]
"""
"""A manifest in which everything that can name a tool or a parameter does so."""


@pytest.fixture
def notes(tmp_path: Path) -> Project:
    (tmp_path / "manifest").mkdir()
    path = tmp_path / "manifest" / "notes.toml"
    path.write_text(MANIFEST, encoding="utf-8")
    return Project(tmp_path, path)


def invoke(project: Project, *arguments: str) -> Result:
    return CliRunner().invoke(toolmason, [*arguments, "--manifest", str(project.manifest)])


def renamed(project: Project, *arguments: str) -> str:
    """Return the manifest after a renaming, which must be valid."""
    result = invoke(project, "rename", *arguments, "--yes")
    assert result.exit_code == 0, result.output
    return project.manifest.read_text(encoding="utf-8")


def changed_lines(old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in {"+++", "---"}]


def tool_of(project: Project, name: str) -> Tool:
    diagnostics = Diagnostics()
    manifest = read(project, diagnostics=diagnostics)
    assert manifest is not None, [str(each) for each in diagnostics]
    return next(tool for tool in manifest.server.tools if tool.name == name)


def test_every_use_of_a_tool_in_the_manifest_changes_and_nothing_else(notes: Project) -> None:
    text = renamed(notes, "list_notes", "show_notes")
    assert changed_lines(MANIFEST, text) == [
        '-instructions = "Start with list_notes; `list_notes(limit=5)` is enough. {calling:list_notes,log} calls it."',
        '+instructions = "Start with show_notes; `show_notes(limit=5)` is enough. {calling:show_notes,log} calls it."',
        '-pinned = ["list_notes"]  # first',
        "-pins.code = ['list_notes', \"log\"]",
        '+pinned = ["show_notes"]  # first',
        "+pins.code = ['show_notes', \"log\"]",
        "-[tools.list_notes]",
        "+[tools.show_notes]",
        '+aliases = ["list_notes"]',
        "-[tools.list_notes.params.kind]",
        "+[tools.show_notes.params.kind]",
        "-[[tools.list_notes.examples]]",
        "+[[tools.show_notes.examples]]",
        '-  "list_notes",  # before it',
        '+  "show_notes",  # before it',
        '-deprecated = { since = "2.0", replaced_by = "list_notes" }',
        '+deprecated = { since = "2.0", replaced_by = "show_notes" }',
        '-tools = ["list_notes"]',
        '-prompt = "Call {tool:list_notes} for {arguments}."',
        '+tools = ["show_notes"]',
        '+prompt = "Call {tool:show_notes} for {arguments}."',
        '-steps = [{ title = "List", tool = "list_notes", text = "Call `list_notes` first." }]',
        '+steps = [{ title = "List", tool = "show_notes", text = "Call `show_notes` first." }]',
    ]


def test_every_use_of_a_parameter_changes_and_its_flag_stays(notes: Project) -> None:
    before = tool_of(notes, "list_notes").implementation
    text = renamed(notes, "--param", "list_notes.max_count", "limit")
    assert changed_lines(MANIFEST, text) == [
        '-description = "Lists notes with the limit `max_count`."',
        '+description = "Lists notes with the limit `limit`."',
        '-risk.max_count = { 1 = "read", 2 = "write" }',
        '-confirm = "List {max_count} notes of {{max_count}}?"',
        '-params.max_count = { type = "integer", description = "Number of notes", default = 1, enum = [1, 2] }',
        '+risk.limit = { 1 = "read", 2 = "write" }',
        '+confirm = "List {limit} notes of {{max_count}}?"',
        (
            '+params.limit = { type = "integer", description = "Number of notes", default = 1, enum = [1, 2], '
            'flag = "--max-count", aliases = ["max_count"] }'
        ),
        '-arguments = { max_count = 1, word = "list_notes" }',
        '+arguments = { limit = 1, word = "list_notes" }',
    ]
    after = tool_of(notes, "list_notes")
    assert dict(after.argument_aliases) == {"max_count": "limit"}
    assert str(after.implementation).replace("'limit'", "'max_count'").count("--max-count") == str(before).count(
        "--max-count"
    )


@pytest.mark.parametrize(
    ("param", "new", "expected"),
    [
        (
            "list_notes.word",
            "term",
            ['-params.word = "shared"', '+params.term = { use = "shared", aliases = ["word"] }'],
        ),
        ("list_notes.kind", "sort", ["+[tools.list_notes.params.sort]", 'flag = "--kind"', '+aliases = ["kind"]']),
        ("get_user.user", "login", ['+http = "GET /users/{login}/{+login}/x?y=user"', '"Login", aliases = ["user"] }']),
        ("get_user.fields", "columns", ['required = false, query = "fields", aliases = ["fields"] }']),
        ("add_user.login", "name", ['body = "login", aliases = ["login"] }']),
        ("find_books.author", "writer", ["author = :writer and title like :writer"]),
    ],
)
def test_a_parameter_keeps_its_place(notes: Project, param: str, new: str, expected: list[str]) -> None:
    lines = "\n".join(changed_lines(MANIFEST, renamed(notes, "--param", param, new)))
    assert [line for line in expected if line not in lines] == []


def test_a_parameter_that_replaces_another_is_renamed_there(notes: Project) -> None:
    text = renamed(notes, "--param", "list_notes.word", "term")
    assert 'deprecated = { since = "1.0", replaced_by = "term" }' in text


def test_a_tool_of_an_upstream_keeps_its_name_there(notes: Project) -> None:
    text = renamed(notes, "echo", "say")
    assert changed_lines(MANIFEST, text) == [
        "-[tools.echo]",
        "+[tools.say]",
        '+upstream_tool = "echo"',
        '+aliases = ["echo"]',
    ]


def test_without_an_alias_the_old_name_is_gone(notes: Project) -> None:
    assert "list_users" not in renamed(notes, "get_user", "list_users", "--no-alias").replace("[tools.list_users]", "")
    assert tool_of(notes, "list_users").table.aliases == ()


def test_renaming_back_swaps_the_alias(notes: Project) -> None:
    renamed(notes, "log", "git_log")
    text = renamed(notes, "git_log", "log")
    assert tomllib.loads(text)["tools"]["log"]["aliases"] == ["git_log"]
    text = renamed(notes, "log", "git_log", "--no-alias")
    assert "aliases" not in tomllib.loads(text)["tools"]["git_log"]


@pytest.mark.parametrize("name", ["list_notes", "log", "get_user"])
def test_there_and_back_gives_the_same_bytes(notes: Project, name: str) -> None:
    before = notes.manifest.read_bytes()
    renamed(notes, name, "show_all", "--no-alias")
    renamed(notes, "show_all", name)
    renamed(notes, name, "show_all")
    renamed(notes, "show_all", name, "--no-alias")
    text = notes.manifest.read_text(encoding="utf-8")
    assert "show_all" not in text
    assert "aliases = []" not in text
    assert text.count("\n") <= before.count(b"\n") + 1, "only the key that keeps the effect of a tool is added"


def test_crlf_line_ends_stay(notes: Project) -> None:
    notes.manifest.write_bytes(MANIFEST.replace("\n", "\r\n").encode())
    assert invoke(notes, "rename", "list_notes", "show_notes", "-y").exit_code == 0
    data = notes.manifest.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n")
    assert b'aliases = ["list_notes"]\r\n' in data


@pytest.mark.parametrize(
    "form",
    [
        'tools.TOOL.summary = "S"\ntools.TOOL.cli = "git"\ntools.TOOL.risk = "read"\n',
        '[tools]\nTOOL = { summary = "S", cli = "git", risk = "read" }\n',
        '[tools]\nTOOL.summary = "S"\nTOOL.cli = "git"\nTOOL.risk = "read"\n',
        "[tools.'TOOL']\nsummary = \"S\"\ncli = 'git'\nrisk = 'read'\n",
        '[ tools . "TOOL" ]\nsummary = "S"\ncli = "git"\nrisk = "read"',
    ],
)
def test_every_form_of_a_table_is_renamed(tmp_path: Path, form: str) -> None:
    start = 'edition = 1\nserver = { name = "n", package = "n_server" }\ncategories.c.summary = "C"\n'
    start += 'clis.git = { command = ["git"], category = "c" }\n'
    path = tmp_path / "n.toml"
    path.write_text(start + form.replace("TOOL", "list_notes"), encoding="utf-8")
    text = renamed(Project(tmp_path, path), "list_notes", "show_notes")
    tools = tomllib.loads(text)["tools"]
    assert tools == {"show_notes": {"summary": "S", "cli": "git", "risk": "read", "aliases": ["list_notes"]}}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("list_note", "x"), 2, "unknown tool `list_note`; did you mean `list_notes`?"),
        (("zzz", "x"), 2, "unknown tool `zzz`; known: list_notes, log, get_user, add_user, find_books, echo"),
        (("list_notes", "list_notes"), 2, "the tool already has the name `list_notes`"),
        (("list_notes", "list notes"), 2, "contains characters that clients reject"),
        (("list_notes", "9notes"), 2, "starts with `9`, which Gemini rejects"),
        (("list_notes", "x" * 70), 2, "is too long"),
        (("list_notes", "log"), 1, "notes.toml:57:8: error[TM306]: the manifest has a tool `log`"),
        (("list_notes", "Log"), 1, "error[TM306]: tool `log` and tool `Log` would both be"),
        (("list_notes", "search"), 1, "error[TM317]"),
        (("--param", "list_notes", "x"), 2, "--param needs TOOL.PARAM"),
        (
            ("--param", "list_notes.wort", "x"),
            2,
            "unknown parameter `list_notes.wort`; did you mean `word`?",
        ),
        (("--param", "list_notes.word", "word"), 2, "the parameter already has the name `word`"),
        (("--param", "list_notes.word", "a b"), 2, "cannot name a parameter"),
        (("--param", "list_notes.word", "kind"), 1, "error[TM306]: `list_notes` has a parameter `kind`"),
        (("--param", "echo.text", "x"), 2, 'write `[tools.echo.arguments.text]` with `rename = "x"`'),
        (("--param", "nope.text", "x"), 2, "unknown tool `nope`"),
    ],
)
def test_impossible_names_are_refused_and_nothing_is_written(
    notes: Project, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = invoke(notes, "rename", *arguments, "--yes")
    assert message in result.output
    assert result.exit_code == code
    assert notes.manifest.read_text(encoding="utf-8") == MANIFEST


def test_an_alias_names_its_tool(notes: Project) -> None:
    renamed(notes, "list_notes", "show_notes")
    result = invoke(notes, "rename", "list_notes", "x", "--yes")
    assert "`list_notes` is an alias of the tool `show_notes`; use `show_notes`" in result.output
    result = invoke(notes, "rename", "log", "list_notes", "--yes")
    assert "error[TM306]: `list_notes` is an alias of the tool `show_notes`" in result.output
    assert (result.exit_code, "Nothing was written" in result.output) == (1, True)


def test_an_invalid_manifest_is_reported_first(notes: Project) -> None:
    notes.manifest.write_text(MANIFEST.replace('summary = "Notes"', "summary = 1"), encoding="utf-8")
    result = invoke(notes, "rename", "list_notes", "x", "--yes")
    assert (result.exit_code, "error[TM204]" in result.output) == (1, True)


def test_without_a_terminal_nothing_is_written(notes: Project) -> None:
    result = invoke(notes, "rename", "list_notes", "show_notes")
    assert result.exit_code == 4
    assert "+[tools.show_notes]" in result.output
    assert "nothing was written: use --yes to apply the changes" in result.output
    result = invoke(notes, "rename", "list_notes", "show_notes", "--dry-run")
    assert (result.exit_code, "nothing was written (--dry-run)" in result.output) == (0, True)
    assert notes.manifest.read_text(encoding="utf-8") == MANIFEST
    assert invoke(notes, "rename", "list_notes", "show_notes", "--dry-run", "--yes").exit_code == 2


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 4), ("\n", 4)])
def test_a_terminal_is_asked(notes: Project, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    monkeypatch.setattr("toolmason.commands.edit_run.is_interactive", lambda: True)
    result = CliRunner().invoke(
        toolmason, ["rename", "list_notes", "show_notes", "--manifest", str(notes.manifest)], input=answer
    )
    assert result.exit_code == code
    assert "Change 1 file? [y/N]" in result.output
    assert (notes.manifest.read_text(encoding="utf-8") != MANIFEST) == (code == 0)


# Projects


def edit(project: Project, name: str, *pairs: tuple[str, str]) -> Path:
    path = project.root / name
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_project_is_renamed_as_a_whole_and_stays_valid(project: Project, run: Run) -> None:
    old = shutil.copytree(project.root, project.root.with_name("old")) / "manifest" / "notes.toml"
    assert run("rename", "count_words", "measure_text", "--yes").exit_code == 0
    handler = (project.root / "handlers/notes/text.py").read_text(encoding="utf-8")
    assert "async def measure_text(params: MeasureTextParams, call: ToolCall) -> TextSize:" in handler
    tests = (project.root / "tests/test_server.py").read_text(encoding="utf-8")
    assert "count_words" not in tests
    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0
    result = run("diff", str(old))
    assert "[tool-renamed-with-alias]" in result.output
    assert result.exit_code == 0


def test_a_renamed_parameter_is_a_safe_change(project: Project, run: Run) -> None:
    old = shutil.copytree(project.root, project.root.with_name("old")) / "manifest" / "notes.toml"
    assert run("rename", "--param", "count_words.text", "content", "--yes").exit_code == 0
    handler = (project.root / "handlers/notes/text.py").read_text(encoding="utf-8")
    assert '"""Count the words, lines and code points of `params.content`."""' in handler
    assert "text = params.content\n" in handler
    tests = (project.root / "tests/test_server.py").read_text(encoding="utf-8")
    assert '{"content": "to be\\nor not"}' in tests
    assert '"args": {"content": "one"}' in tests
    assert run("generate").exit_code == 0
    result = run("diff", str(old))
    assert (result.exit_code, "[argument-renamed-with-alias]" in result.output) == (0, True)


def test_without_an_alias_the_change_is_breaking(project: Project, run: Run) -> None:
    old = shutil.copytree(project.root, project.root.with_name("old")) / "manifest" / "notes.toml"
    assert run("rename", "count_words", "measure_text", "--yes", "--no-alias").exit_code == 0
    result = run("diff", str(old))
    assert (result.exit_code, "[tool-renamed]" in result.output) == (1, True)


def test_queries_and_documents_change_and_doubts_are_listed(project: Project, run: Run) -> None:
    (project.root / "manifest/eval").mkdir()
    queries = project.root / "manifest/eval/queries.toml"
    queries.write_text('[queries] # mine\n"count_words" = ["count_words"]\n', encoding="utf-8")
    (project.root / "GUIDE.md").write_text("`count_words`, count_words.py\n", encoding="utf-8")
    (project.root / "CHANGELOG.md").write_text("count_words is new\n", encoding="utf-8")
    (project.root / "ci.yaml").write_text("run: |\n  count_words\n", encoding="utf-8")
    (project.root / "tests/data.bin").write_bytes(b"\xff count_words")
    result = run("rename", "count_words", "measure_text", "--yes")
    assert result.exit_code == 0
    assert queries.read_text(encoding="utf-8") == '[queries] # mine\n"measure_text" = ["count_words"]\n'
    assert (project.root / "GUIDE.md").read_text(encoding="utf-8") == "`measure_text`, count_words.py\n"
    assert (project.root / "CHANGELOG.md").read_text(encoding="utf-8") == "count_words is new\n"
    assert "  GUIDE.md:1: `count_words`\n  ci.yaml:2: `count_words`\n" in result.output


def test_other_projects_below_stay(project: Project, run: Run) -> None:
    other = shutil.copytree(project.root, project.root / "examples" / "other")
    before = contents(other)
    assert run("rename", "count_words", "measure_text", "--yes").exit_code == 0
    assert contents(other) == before


def test_beside_a_single_manifest_only_parts_of_a_project_change(notes: Project) -> None:
    path = notes.root / "notes.toml"
    notes.manifest.rename(path)
    names = ("README.md", "tests/a.md", "letters/a.md", "docs/deep/a.md")
    for name in names:
        (notes.root / name).parent.mkdir(parents=True, exist_ok=True)
        (notes.root / name).write_text("`list_notes`", encoding="utf-8")
    renamed(Project(notes.root, path), "list_notes", "show_notes")
    texts = {name: (notes.root / name).read_text(encoding="utf-8") for name in names}
    assert [name for name in names if texts[name] == "`list_notes`"] == ["letters/a.md"]


def test_the_command_of_a_tool_is_listed(project: Project, run: Run) -> None:
    (project.root / "GUIDE.md").write_text("Run:\n\n    notes count-words --text 'to be'\n", encoding="utf-8")
    result = run("rename", "count_words", "measure_text", "--yes")
    assert "  GUIDE.md:3: `count-words`, as the command of the tool\n" in result.output


def test_a_manifest_in_several_files_changes_in_all_of_them(project: Project, run: Run) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    start = text.index("[tools.count_words]")
    (project.root / "manifest/tools").mkdir()
    part = project.root / "manifest/tools/text.toml"
    part.write_text(text[start:], encoding="utf-8")
    main = text[:start].replace("edition = 1\n", 'edition = 1\ninclude = ["tools/*.toml"]\n')
    project.manifest.write_text(main, encoding="utf-8")
    result = run("rename", "count_words", "measure_text", "--yes")
    assert result.exit_code == 0, result.output
    assert part.read_text(encoding="utf-8").startswith("[tools.measure_text]\n")
    assert 'aliases = ["count_words"]\n' in part.read_text(encoding="utf-8")
    assert project.manifest.read_text(encoding="utf-8") == main.replace("count_words", "measure_text")


def test_a_name_with_another_meaning_is_listed_instead_of_changed(project: Project, run: Run) -> None:
    edit(project, "manifest/notes.toml", ("params.text =", "params.count_words ="), ("{ text = ", "{ count_words = "))
    edit(project, "handlers/notes/text.py", ("params.text", "params.count_words"))
    result = run("rename", "count_words", "measure_text", "--yes")
    assert result.exit_code == 0, result.output
    tests = (project.root / "tests/test_server.py").read_text(encoding="utf-8")
    assert 'client.call_tool("measure_text"' in tests
    assert 'assert "count_words" in str(hits.content)' in tests
    assert '  tests/test_server.py:25: "count_words" may be something else' in result.output


def test_a_function_with_several_tools_keeps_its_name(project: Project, run: Run) -> None:
    other = '\n[tools.other]\nsummary = "Other"\ncategory = "text"\nhandler = "text:count_words"\nhints = {}\n'
    path = project.manifest
    path.write_text(path.read_text(encoding="utf-8") + other, encoding="utf-8")
    assert run("rename", "count_words", "measure_text", "--yes").exit_code == 0
    assert "async def count_words(" in (project.root / "handlers/notes/text.py").read_text(encoding="utf-8")
    assert 'handler = "text:count_words"' in path.read_text(encoding="utf-8")


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "change", "code", "message"),
    [
        ("tests/test_server.py", lambda text: text + "<<<<<<< HEAD\n", 2, "tests/test_server.py:"),
        ("manifest/notes.toml", lambda text: text + "<<<<<<< HEAD\n", 1, "error[TM103]"),
        ("generated/notes_server/text/models.py", lambda text: text + "x = 1\n", 4, "models.py was edited"),
    ],
)
def test_unsafe_states_are_refused(  # noqa: PLR0917  a table
    project: Project, run: Run, name: str, change: Callable[[str], str], code: int, message: str
) -> None:
    path = project.root / name
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = contents(project.root)
    result = run("rename", "count_words", "measure_text", "--yes")
    assert (result.exit_code, message in result.output) == (code, True), result.output
    assert contents(project.root) == before


def test_a_read_only_file_is_refused(project: Project, run: Run) -> None:
    (project.root / "handlers/notes/text.py").chmod(0o444)
    before = contents(project.root)
    result = run("rename", "count_words", "measure_text", "--yes")
    assert result.exit_code == 2
    assert "handlers/notes/text.py: the file is read-only" in result.output
    assert contents(project.root) == before


def test_a_file_that_is_not_utf_8_is_listed(project: Project, run: Run) -> None:
    path = project.root / "docs" / "notes.md"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"Caf\xe9: `count_words`\n")
    (path.parent / "other.md").write_bytes(b"Caf\xe9\n")
    result = run("rename", "count_words", "measure_text", "--yes")
    assert result.exit_code == 0, result.output
    assert "docs/notes.md:1: the file is not UTF-8, and it contains the name" in result.output
    assert "other.md" not in result.output
    assert path.read_bytes() == b"Caf\xe9: `count_words`\n"


def test_a_manifest_that_is_a_link_within_the_project_changes(project: Project, run: Run) -> None:
    target = project.root / "real.toml"
    project.manifest.rename(target)
    project.manifest.symlink_to(target)
    result = run("rename", "count_words", "measure_text", "--yes")
    assert result.exit_code == 0, result.output
    assert project.manifest.is_symlink()
    assert "[tools.measure_text]" in target.read_text(encoding="utf-8")


class KilledDisk(Disk):
    """A disk whose process is killed after the journal and one file are written."""

    def __init__(self) -> None:
        self.replaced = 0

    def replace(self, path: Path, target: Path) -> None:
        self.replaced += 1
        if self.replaced > 2:
            raise KeyboardInterrupt
        super().replace(path, target)


@pytest.mark.parametrize("name", ["manifest/notes.toml", "handlers/notes/text.py"])
def test_a_file_that_is_saved_during_the_trial_is_not_overwritten(name: str, project: Project) -> None:
    before, _ = load_valid(project)
    files = ChangedFiles(project, ManifestEdits(project, before.document))
    files.rename_function("notes.text", "count_words", "measure_text")
    path = project.root / name
    path.write_text(path.read_text(encoding="utf-8") + "\n# saved\n", encoding="utf-8")

    with pytest.raises(EditError, match=f"{name}: the file was saved meanwhile"):
        files.edits()


def test_generate_finishes_a_rename_that_was_killed(project: Project, run: Run) -> None:
    edits = rename_tool(project, "count_words", "measure_text").edits
    with pytest.raises(KeyboardInterrupt):
        apply(edits, disk=KilledDisk())
    assert "[tools.count_words]" in project.manifest.read_text(encoding="utf-8")
    result = run("generate")
    assert result.exit_code == 0, result.output
    assert "its changes are complete now" in result.output
    assert "[tools.measure_text]" in project.manifest.read_text(encoding="utf-8")


def test_two_runs_write_one_after_the_other(project: Project, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason.write.lock", partial(lock, timeout_s=0.1))
    before = contents(project.root)
    with lock(project.root):
        result = run("rename", "count_words", "measure_text", "--yes")
    assert (result.exit_code, "is held by another run" in result.output) == (2, True), result.output
    assert {**contents(project.root), **before} == contents(project.root)
    assert run("rename", "count_words", "measure_text", "--yes").exit_code == 0
