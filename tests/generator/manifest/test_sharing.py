"""A manifest in several files, and values that several of its tools share."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.manifest.files import load_manifest
from toolmason.manifest.include import find_files
from toolmason.manifest.validate import validate
from toolmason.model.server import Server
from toolmason.project import Project, find_project
from toolmason.resolve import resolve
from toolmason.watch import is_input
from toolmason.write.cache import fingerprint

MAIN = """
edition = 1
include = ["tools/*.toml"]
server = { name = "desk", package = "desk_server" }
"""
HINTS = "hints = { read_only = true, destructive = false, idempotent = true, open_world = false }"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root / "manifest" / "desk.toml"


def resolved(root: Path, main: str, **files: str) -> tuple[Server | None, list[str]]:
    """Return the server of a manifest with the files `tools/NAME.toml`, and the diagnostics."""
    texts = {f"manifest/tools/{name}.toml": text for name, text in files.items()}
    path = write(root, {"manifest/desk.toml": main, **texts})
    diagnostics = Diagnostics()
    document = load_manifest(path, root=root, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=root, diagnostics=diagnostics) if document and tables else None
    return server, [str(each) for each in diagnostics]


def tools_of(server: Server | None) -> dict[str, Any]:
    assert server is not None
    return {tool.name: tool for tool in server.tools}


def test_tables_of_all_files_are_one_manifest_in_the_order_of_the_files(tmp_path: Path) -> None:
    server, problems = resolved(
        tmp_path,
        MAIN + '[categories.vcs]\nsummary = "Versions"\n[[files]]\npath = "a.md"\ntemplate = "a.md.jinja"\n',
        b='[tools.log]\nsummary = "Log"\ncli = "git"\nrisk = "read"\n',
        a='[clis.git]\ncommand = ["git"]\ncategory = "vcs"\n'
        '[tools.show]\nsummary = "Show"\ncli = "git"\nrisk = "read"\n'
        '[[files]]\npath = "b.md"\ntemplate = "b.md.jinja"\n',
    )
    assert problems == []
    assert server is not None
    assert list(tools_of(server)) == ["show", "log"]
    assert [row.path for row in server.files] == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = [", "manifest/tools/a.toml:1:6: error[TM103]: not TOML: invalid value"),
        (
            "[tools]\nlog = 1\n",
            "manifest/tools/a.toml:2:7: error[TM204]: `log` in [tools] must be a table, not an",
        ),
        ("news = 1\n", "manifest/tools/a.toml:1:1: error[TM203]: unknown key `news` at the top level"),
        (
            "tools = 1\n",
            "manifest/tools/a.toml:1:1: error[TM105]: `tools` is an integer here and a table in another file",
        ),
        ("[[files]]\npath = 1\n", "manifest/tools/a.toml:2:8: error[TM204]: `path` in [[files]] must be a string"),
        ("edition = 1\n", "manifest/tools/a.toml:1:1: error[TM111]: `edition` must be in the main file"),
        ('include = ["b.toml"]\n', "manifest/tools/a.toml:1:1: error[TM111]: `include` must be in the main file"),
    ],
)
def test_a_problem_is_reported_in_the_included_file(tmp_path: Path, text: str, expected: str) -> None:
    rows = '[[files]]\npath = "a.md"\ntemplate = "a.md.jinja"\n'
    _, problems = resolved(tmp_path, MAIN + "tools = {}\n" + rows, a=text)
    assert any(problem.startswith(expected) for problem in problems), problems


GOLDEN = Path(__file__).parents[2] / "golden"
CASES = (
    "command-tools-become-bindings-of-their-programs",
    "every-field-of-a-tool-reaches-the-catalogue",
    "prompts-and-resources-become-entries-and-contracts",
    "tools-of-apis-become-bindings-of-their-requests",
)


@pytest.mark.parametrize("case", CASES)
def test_a_manifest_means_the_same_in_one_file_and_in_a_file_for_each_table(tmp_path: Path, case: str) -> None:
    data = tomllib.loads((GOLDEN / case / "manifest.toml").read_text(encoding="utf-8"))
    whole, problems = resolved(tmp_path / "whole", tomli_w.dumps(data))
    assert (whole is not None, problems) == (True, [])

    of_main = ("edition", "server", "discovery", "outputs")
    main: dict[str, Any] = {key: data.pop(key) for key in of_main if key in data}
    parts = {
        f"{section}-{number:03}": tomli_w.dumps({section: {name: table}})
        for section, tables in data.items()
        if isinstance(tables, dict)
        for number, (name, table) in enumerate(tables.items())
    }
    parts |= {f"rows-{key}": tomli_w.dumps({key: rows}) for key, rows in data.items() if isinstance(rows, list)}
    main["include"] = [f"tools/{name}.toml" for name in parts]
    split, problems = resolved(tmp_path / "split", tomli_w.dumps(main), **parts)
    assert problems == []
    assert split is not None
    assert whole is not None
    assert asdict(split) == asdict(whole)


def test_every_file_that_is_not_toml_is_reported(tmp_path: Path) -> None:
    _, problems = resolved(tmp_path, MAIN, a="a = [", b="= 1", c="[tools]\n")
    assert [problem.partition(":")[0] for problem in problems] == ["manifest/tools/a.toml", "manifest/tools/b.toml"]


def test_only_toml_files_inside_the_directory_of_the_manifest_are_included(tmp_path: Path) -> None:
    names = ("a.toml", "tools/b.toml", "tools/deep/c.toml", "tools/.d.toml", "tools/e.txt", "../outside.toml")
    manifest = write(tmp_path, {f"manifest/{name}": "" for name in ("desk.toml", *names)})

    def found(pattern: str) -> list[str]:
        return [path.relative_to(manifest.parent).as_posix() for path in find_files(manifest, pattern)]

    assert found("*.toml") == ["a.toml"]
    assert found("tools/*.toml") == ["tools/b.toml"]
    assert found("**/*.toml") == ["a.toml", "tools/b.toml", "tools/deep/c.toml"]
    for pattern in (
        "../*.toml",
        "tools/../../*.toml",
        f"{tmp_path}/*.toml",
        "tools/*",
        "tools/e.txt",
        "",
        "**a/*.toml",
        "[.toml",
    ):
        assert found(pattern) == [], pattern


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "private.toml").write_text("secret = 1\n", encoding="utf-8")
    root = tmp_path / "project"
    write(root, {"manifest/tools/b.toml": ""})
    (root / "manifest" / "tools" / "a.toml").symlink_to(tmp_path / "private.toml")
    _, problems = resolved(root, MAIN)
    assert problems == ["manifest/tools/a.toml:1:1: error[TM101]: cannot read: it is outside the project"]


def test_the_project_of_several_files_is_found_by_its_main_file(tmp_path: Path) -> None:
    manifest = write(tmp_path, {"manifest/desk.toml": MAIN, "manifest/tools.toml": "[tools]\n"})
    assert find_project(tmp_path).manifest == manifest.resolve()


def test_the_fingerprint_and_the_watcher_follow_included_files(tmp_path: Path) -> None:
    manifest = write(tmp_path, {"manifest/desk.toml": MAIN, "manifest/tools/a.toml": "[tools]\n"})
    project = Project(tmp_path, manifest)
    prints = [fingerprint(project)]
    for name, text in (("a", "[types]\n"), ("b", ""), ("c", '[tools.a]\ninput_schema = "schemas/a.json"\n')):
        write(tmp_path, {f"manifest/tools/{name}.toml": text})
        prints.append(fingerprint(project))
    write(tmp_path, {"schemas/a.json": "{}"})
    prints.append(fingerprint(project))
    assert len(set(prints)) == len(prints)

    for name in ("manifest/tools/a.toml", "manifest/tools/not-yet-there.toml", "schemas/a.json"):
        assert is_input(tmp_path / name, project), name
    for name in ("manifest/other.toml", "manifest/tools/.a.toml", "manifest/tools/a.txt", "schemas/b.json"):
        assert not is_input(tmp_path / name, project), name


def test_a_changed_included_file_is_drift(project: Project) -> None:
    def run(command: str) -> str:
        result = CliRunner().invoke(toolmason, [command, "--manifest", str(project.manifest)])
        return f"{result.exit_code} {result.output}"

    text = project.manifest.read_text(encoding="utf-8")
    start = text.index("[tools.count_words]")
    project.manifest.write_text(
        text[:start].replace("edition = 1", 'edition = 1\ninclude = ["text.toml"]'), encoding="utf-8"
    )
    part = project.manifest.with_name("text.toml")
    part.write_text(text[start:], encoding="utf-8")
    assert run("generate").startswith("0 generated/ is up to date")
    part.write_text(text[start:].replace("Count the", "Count all the"), encoding="utf-8")
    assert text[start:] != part.read_text(encoding="utf-8")
    assert run("check").startswith("3 ")


DEFAULTS = f"""
edition = 1
server = {{ name = "desk", package = "desk_server", handlers = "desk" }}

[categories.code]
summary = "Code"
tags = ["src"]
defaults = {{ tier = "all", tags = ["code"], {HINTS} }}

[clis.git]
command = ["git"]
category = "code"
defaults = {{ risk = "write", tags = ["vcs"] }}

[apis.hub]
base_url = "https://api.example.com"
category = "code"
defaults.tier = "core"

[tools.log]
summary = "Log"
cli = "git"
risk = "read"

[tools.push]
summary = "Push"
cli = "git"
tier = "core"
tags = []

[tools.issues]
summary = "Issues"
api = "hub"
http = "DELETE /issues"

[tools.find]
summary = "Find"
category = "code"
handler = "code:find"
"""


def test_a_tool_takes_its_own_value_then_that_of_its_program_then_that_of_its_category(tmp_path: Path) -> None:
    server, problems = resolved(tmp_path, DEFAULTS)
    assert problems == []
    tools = tools_of(server)
    assert {name: (tool.tier, tool.tags) for name, tool in tools.items()} == {
        "log": ("all", ("vcs",)),
        "push": ("core", ()),
        "issues": ("core", ("code",)),
        "find": ("all", ("code",)),
    }
    # Hints of commands and requests follow from their risk, whatever the category says.
    assert {name for name, tool in tools.items() if tool.hints.read_only} == {"log", "find"}
    assert tools["issues"].hints.destructive


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('category = "code"\nhandler', 'category = "coed"\nhandler', ["TM301"]),
        ('cli = "git"\ntier', 'cli = "gti"\ntier', ["TM323"]),
        ('category = "code"\nhandler', "handler", ["TM202"]),
        ('"Find"\ncategory = "code"', '"Find"\ncategory = "code"\nhints = 1', ["TM204"]),
    ],
)
def test_a_misspelt_group_is_the_only_error(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert old in DEFAULTS
    _, problems = resolved(tmp_path, DEFAULTS.replace(old, new))
    assert [problem.partition("[")[2][:5] for problem in problems] == expected


PARAMS = """
edition = 1
server = { name = "desk", package = "desk_server" }
categories.code.summary = "Code"
clis.git = { command = ["git"], category = "code", defaults = { risk = "read" } }
params.path = { type = "string", description = "A file", pattern = "^a", positional = true }
"""


def test_own_keys_of_a_shared_parameter_win(tmp_path: Path) -> None:
    server, problems = resolved(
        tmp_path,
        PARAMS + '[tools.log]\nsummary = "Log"\ncli = "git"\nparams.file = "path"\n'
        '[tools.show]\nsummary = "Show"\ncli = "git"\n'
        'params.path = { use = "path", description = "Any", default = "a" }\n',
    )
    assert problems == []
    (file,), (path,) = (tool.params for tool in tools_of(server).values())
    assert (file.name, file.description, file.required) == ("file", "A file", True)
    assert (path.name, path.description, path.default, path.constraints) == ("path", "Any", "a", {"pattern": "^a"})


def test_a_problem_of_a_shared_value_is_reported_once_where_it_was_written(tmp_path: Path) -> None:
    tools = "".join(f'[tools.t{number}]\nsummary = "Tool"\ncli = "git"\nparams.path = "path"\n' for number in range(3))
    _, problems = resolved(tmp_path, PARAMS.replace('"^a"', '"("').replace("positional", "postional") + tools)
    assert problems == [
        "manifest/desk.toml:6:68: error[TM319]: `(` is not a regular expression: missing ), unterminated subpattern",
        "manifest/desk.toml:6:73: error[TM203]: unknown key `postional` in [params.path]",
    ]


@pytest.mark.parametrize("params", ['"path"', '{ use = "path" }', '{ use = "path", minimum = 1 }'])
def test_a_shared_parameter_that_is_not_a_table_is_reported_once(tmp_path: Path, params: str) -> None:
    tool = f'[tools.log]\nsummary = "Log"\ncli = "git"\nparams.path = {params}\n'
    _, problems = resolved(tmp_path, PARAMS.replace('{ type = "string", description', '"text" # ') + tool)
    assert problems == ["manifest/desk.toml:6:15: error[TM204]: `path` in [params] must be a table, not a string"]
