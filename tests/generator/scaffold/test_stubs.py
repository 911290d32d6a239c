"""`toolmason generate --stubs`: missing functions are added, and nothing that exists changes."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.model.implementation import Handler
from toolmason.model.types import Identifier
from toolmason.project import Project
from toolmason.resolve.stubs import Stub
from toolmason.scaffold.stubs import StubError, with_functions

Toolmason = Callable[..., Result]

MORE = """
[tools.find]
summary = "Find the lines with a word"
category = "text"
description = "Finds lines of a text that contain a word, ignoring case."
use_cases = ["Find the lines of a log with an error"]
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "text:find"
params.word = { type = "string", description = "The word" }

[tools.store]
summary = "Store a note"
category = "text"
description = "Stores a note in the database under a new name."
use_cases = ["Keep a decision"]
hints = { read_only = false, destructive = false, idempotent = false, open_world = false }
handler = "store.notes:add"
input_schema = { type = "object", properties = { note = { type = "string", description = "The note" } } }

[prompts.plan]
summary = "Plan a day"
handler = "prompts:plan"
arguments.start = { description = "First day", complete = "prompts:days" }

[server.subcommands.doctor]
summary = "Check the setup"
handler = "doctor:main"
"""
FILES = {
    "doctor.py": ["main"],
    "prompts.py": ["plan", "days"],
    "state.py": ["lifespan", "check"],
    "store/notes.py": ["add"],
    "text.py": ["count_words", "find"],
}


def extend(project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    text = text.replace('handlers = "notes"\n', 'handlers = "notes"\nlifespan = "state:lifespan"\n')
    text = text.replace('lifespan = "state:lifespan"\n', 'lifespan = "state:lifespan"\nstartup_check = "state:check"\n')
    project.manifest.write_text(text + MORE, encoding="utf-8", newline="\n")


def functions(path: Path) -> list[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def stub(name: str = "find", imports: dict[str, frozenset[str]] | None = None) -> Stub:
    used = imports or {"toolmason_runtime": frozenset({"ToolCall"}), "notes_server.text.models": frozenset({"Find"})}
    handler = Handler(module="notes.text", function=Identifier(name))
    return Stub(handler=handler, imports=used, parameters="params: Find, call: ToolCall", result="str", about="Find.")


FIND = '''async def find(params: Find, call: ToolCall) -> str:
    """Find."""
    raise NotImplementedError
'''


# The command


def test_stubs_of_every_kind_are_written_and_the_project_is_complete(project: Project, run: Toolmason) -> None:
    extend(project)
    result = run("generate", "--stubs")

    assert result.exit_code == 0, result.output
    package = project.root / "handlers" / "notes"
    assert {name: functions(package / name) for name in FILES} == FILES
    assert "handlers/notes/text.py: added find" in result.stdout
    assert "handlers/notes/store/notes.py: created with add" in result.stdout
    assert (package / "store" / "__init__.py").is_file()
    assert run("check").exit_code == 0
    assert "added" not in run("generate", "--stubs").output


def test_stubs_are_modules_that_can_be_imported(
    project: Project, run: Toolmason, monkeypatch: pytest.MonkeyPatch
) -> None:
    extend(project)
    run("generate", "--stubs")
    for name in [name for name in sys.modules if name.partition(".")[0] in {"notes", "notes_server"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(project.root / "handlers"))
    monkeypatch.syspath_prepend(str(project.generated))
    bindings = importlib.import_module("notes_server.text.bindings").BINDINGS
    modules = [importlib.import_module(f"notes.{name}") for name in ("doctor", "prompts", "state", "store.notes")]

    assert set(bindings) == {"count_words", "find", "store"}
    assert [module.__name__ for module in modules] == [
        "notes.doctor",
        "notes.prompts",
        "notes.state",
        "notes.store.notes",
    ]
    for name in [name for name in sys.modules if name.partition(".")[0] in {"notes", "notes_server"}]:
        del sys.modules[name]


def test_without_functions_only_the_models_and_contracts_are_written(project: Project, run: Toolmason) -> None:
    extend(project)
    package = project.generated / "notes_server"
    before = {path: path.read_bytes() for path in package.rglob("*") if path.is_file()}
    result = run("generate")
    after = {path: path.read_bytes() for path in package.rglob("*") if path.is_file()}

    assert result.exit_code == 1
    assert "7 errors. Only models and contracts were updated." in result.stderr
    assert "class FindParams" in (package / "text" / "models.py").read_text(encoding="utf-8")
    changed = {path.relative_to(package).as_posix() for path in after if after[path] != before.get(path)}
    assert changed == {
        "options.py",
        "prompts/__init__.py",
        "prompts/contract.py",
        "prompts/models.py",
        "text/contract.py",
        "text/models.py",
    }
    assert before.keys() <= after.keys()


def test_check_and_other_errors_write_nothing(project: Project, run: Toolmason) -> None:
    extend(project)
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    assert run("check").exit_code == 1
    text = project.manifest.read_text(encoding="utf-8").replace('category = "text"', 'category = "texts"')
    project.manifest.write_text(text, encoding="utf-8")
    before[project.manifest] = project.manifest.read_bytes()
    result = run("generate", "--stubs")

    assert result.exit_code == 1
    assert "Nothing was written." in result.stderr
    after = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} <= {project.root / ".toolmason.lock"}


def test_first_generation_has_models_without_any_handler(project: Project, run: Toolmason) -> None:
    for directory in (project.generated, project.root / "handlers"):
        directory.rename(project.root / f"old-{directory.name}")
    assert run("generate").exit_code == 1
    models = project.generated / "notes_server" / "text" / "models.py"
    assert "class CountWordsParams" in models.read_text(encoding="utf-8")

    result = run("generate", "--stubs")
    assert result.exit_code == 0, result.output
    assert functions(project.root / "handlers" / "notes" / "text.py") == ["count_words"]
    assert (project.root / "handlers" / "notes" / "py.typed").is_file()


def test_module_with_a_syntax_error_is_left_alone_and_reported(project: Project, run: Toolmason) -> None:
    extend(project)
    module = project.root / "handlers" / "notes" / "text.py"
    module.write_text("def broken(:\n", encoding="utf-8")
    result = run("generate", "--stubs")

    assert result.exit_code == 1
    assert "fix the error in the module first" in result.stderr
    assert module.read_text(encoding="utf-8") == "def broken(:\n"


def test_function_in_a_directory_outside_the_project_is_not_written(
    project: Project, run: Toolmason, tmp_path: Path
) -> None:
    extend(project)
    outside = tmp_path / "outside"
    outside.mkdir()
    try:
        (project.root / "handlers" / "notes" / "store").symlink_to(outside, target_is_directory=True)
    except OSError:
        pytest.skip("links need a privilege here")
    result = run("generate", "--stubs")

    assert result.exit_code == 1
    assert "add not added: it is outside the project" in result.stderr
    assert list(outside.iterdir()) == []


def test_stubs_cannot_be_combined_with_check(run: Toolmason) -> None:
    result = run("generate", "--check", "--stubs")
    assert result.exit_code == 2
    assert "--check cannot be combined with --watch, --discard-edits or --stubs" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_module_keeps_its_mode(project: Project, run: Toolmason) -> None:
    extend(project)
    module = project.root / "handlers" / "notes" / "text.py"
    module.chmod(0o640)
    run("generate", "--stubs")
    assert module.stat().st_mode & 0o777 == 0o640


# One module

MODELS = "from notes_server.text.models import"
TYPES_ONLY = (
    "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n\n"
    f"if TYPE_CHECKING:\n    from toolmason_runtime import ToolCall\n    {MODELS} Find\n"
)
HEAD = '"""Texts."""\n\nfrom __future__ import annotations\n'
IMPORTS = "from toolmason_runtime import ToolCall\n\nfrom notes_server.text.models import Find\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", f"{IMPORTS}\n\n{FIND}", id="empty"),
        pytest.param(HEAD, f"{HEAD}\n{IMPORTS}\n\n{FIND}", id="only a future import"),
        pytest.param('"""Texts."""\n', f'"""Texts."""\n\n{IMPORTS}\n\n{FIND}', id="only a docstring"),
        pytest.param("# Note\nX = 1", f"# Note\n{IMPORTS}\n\nX = 1\n\n\n{FIND}", id="no imports and no last line end"),
        pytest.param(f"{HEAD}\n{IMPORTS}\nX = 1\n", f"{HEAD}\n{IMPORTS}\nX = 1\n\n\n{FIND}", id="all imported"),
        pytest.param(
            "from toolmason_runtime import ToolError, ToolCall\n",
            "from toolmason_runtime import ToolError, ToolCall\n\nfrom notes_server.text.models import Find\n\n\n"
            + FIND,
            id="one imported",
        ),
        pytest.param(
            "import re\n\nfrom notes_server.text.models import Aid  # mine\n",
            "import re\n\nfrom toolmason_runtime import ToolCall\n\nfrom notes_server.text.models import Aid  # mine\n"
            f"from notes_server.text.models import Find\n\n\n{FIND}",
            id="a line with a comment stays",
        ),
        pytest.param(
            "from toolmason_runtime import ToolCall\n\nfrom notes_server.text.models import Aid\n\nX = 1\n",
            "from toolmason_runtime import ToolCall\n\nfrom notes_server.text.models import Aid, Find\n\nX = 1\n\n\n"
            + FIND,
            id="a name joins the others",
        ),
        pytest.param(
            "@decorated\ndef f():\n    pass\n",
            f"{IMPORTS}\n\n@decorated\ndef f():\n    pass\n\n\n{FIND}",
            id="a decorator first",
        ),
        pytest.param(TYPES_ONLY, f"{TYPES_ONLY}\n\n{FIND}", id="imported for type checkers"),
    ],
)
def test_imports_are_added_where_they_belong(before: str, after: str) -> None:
    assert with_functions(before.encode(), [stub()]).decode() == after


def test_line_ends_byte_order_mark_and_odd_line_breaks_stay() -> None:
    before = "\ufeff# Note\r\nimport re\r\nX = 'a\x0cb'\r\nY = 1\n"
    after = with_functions(before.encode(), [stub()]).decode()

    assert after.startswith("\ufeff# Note\r\nimport re\r\n\r\nfrom toolmason_runtime import ToolCall\r\n")
    assert "X = 'a\x0cb'\r\nY = 1\n\r\n" in after
    assert after.endswith("    raise NotImplementedError\r\n")


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("class Find:\n    pass\n", "its `Find` is not the one of `notes_server.text.models`"),
        ("from elsewhere import Find\n", "its `Find` is not the one of `notes_server.text.models`"),
        ("from notes_server.text.models import Found as Find\n", "its `Find` is not the one of"),
        ("import re; X = '''\na\n'''\n", "its imports cannot be extended"),
    ],
)
def test_module_that_cannot_be_extended_safely_is_refused(source: str, error: str) -> None:
    with pytest.raises(StubError, match=error):
        with_functions(source.encode(), [stub()])


STATEMENTS = st.sampled_from(
    [
        "import os",
        "import re as expressions",
        "from toolmason_runtime import ToolError",
        "from toolmason_runtime import (\n    Image,\n    ToolError,\n)",
        "from notes_server.text.models import Aid  # mine",
        "from . import other",
        "X = 1",
        "X = '''\nfrom a import b\n'''",
        "# a comment",
        "",
        "@decorator\nasync def g(params: int) -> None:\n    '''Doc.'''\n    from a import ToolCall",
        "if X:\n    import sys",
        "try:\n    import json\nexcept ImportError:\n    json = None",
        "class C:\n    def m(self): ...",
    ]
)


@given(st.lists(STATEMENTS, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_line_that_exists_stays_and_a_second_run_finds_nothing_to_import(
    parts: list[str], newline: str, ends: bool
) -> None:
    source = newline.join("\n".join(parts).split("\n")) + (newline if ends else "")
    once = with_functions(source.encode(), [stub()]).decode()
    twice = with_functions(once.encode(), [stub("other")]).decode()

    old = [line for line in source.splitlines() if not line.startswith("from toolmason_runtime")]
    rest = iter(once.splitlines())
    assert all(line in rest for line in old if "Image" not in line and "ToolError" not in line)
    assert ast.parse(once)
    assert twice.startswith(once)
