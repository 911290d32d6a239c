"""Reports, diffs and conversions of `toolmason schema`, and its hooks and action."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.audit.audit import audit
from toolmason.audit.manifest_location import manifest_location
from toolmason.audit.output import as_json, diff_lines, encodable
from toolmason.audit.sources import load_file, load_manifest
from toolmason.audit.verdict import Policy
from toolmason.commands import toolmason
from toolmason.commands.schema import SEVERITIES
from toolmason.diagnostics import Diagnostics, Location
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.pipeline import LoadedManifest, read
from toolmason.project import Project, find_project
from toolmason.schema import Severity, Target, advertise, check
from toolmason.schema import project as projected
from toolmason.schema.hosts import hosts
from toolmason.schema.usage import clients

HERE = Path(__file__).parent
FIXTURES = HERE / "schema_sources"
REPOSITORY = HERE.parents[2]
DUMP = FIXTURES / "tools_list.json"
ODD_SERVER = shlex.join([sys.executable, str(FIXTURES / "odd_server.py")])
REF_LINE, REF_COLUMN = next(
    (number, line.index('"$ref"') + 1)
    for number, line in enumerate(DUMP.read_text(encoding="utf-8").splitlines(), 1)
    if '"$ref"' in line
)
TERMINAL_CONTROLS = {"\x1b", "\u202e", "\x07"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(autouse=True)
def no_terminal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def schema(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(toolmason, ["schema", *arguments], input=stdin)


def write_tools(tmp_path: Path, data: Any, name: str = "tools.json") -> str:
    file = tmp_path / name
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return str(file)


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def report(*arguments: str) -> Any:
    return json.loads(schema("check", "--json", *arguments).stdout)


def test_the_options_list_all_targets_and_severities() -> None:
    assert tuple(Severity) == SEVERITIES
    names = [*Target, "vertex-ai", "gemini-api", *hosts(), *clients()]
    assert [line.split()[0] for line in schema("targets").stdout.splitlines()] == names


def test_a_file_is_checked_without_the_imports_for_servers_and_manifests() -> None:
    program = (
        "import sys\nfrom click.testing import CliRunner\nfrom toolmason.commands import toolmason\n"
        f"assert CliRunner().invoke(toolmason, ['schema', 'check', {str(DUMP)!r}]).exit_code == 0\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True).stdout

    for heavy in ("mcp", "pydantic", "httpx2", "anyio", "jsonschema", "jinja2", "filelock"):
        assert f"'{heavy}'" not in shown


# Reports

DUMP_REPORTS = {
    "check": (["check", "tools_list.json"], 0),
    "check-several-targets": (["check", "--target", "mcp", "--target", "gemini-parameters", "tools_list.json"], 1),
    "check-one-tool": (["check", "--fail-on", "lossy", "--tool", "read_files", "tools_list.json"], 1),
    "check-notes-one-target": (["check", "--fail-on", "note", "--target", "mcp", "tools_list.json"], 1),
    "check-json": (["check", "--json", "tools_list.json"], 0),
    "check-github": (["check", "--format", "github", "--fail-on", "lossy", "tools_list.json"], 1),
    "check-sarif": (["check", "--format", "sarif", "tools_list.json"], 0),
    "diff": (["diff", "tools_list.json"], 0),
    "transform": (["transform", "tools_list.json"], 0),
    "transform-one-tool": (
        ["transform", "--target", "gemini-parameters", "--tool", "read_files", "tools_list.json"],
        0,
    ),
    "targets": (["targets"], 0),
}


@pytest.mark.parametrize("case", DUMP_REPORTS)
def test_the_output_equals_its_golden_file(
    case: str, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture, tmp_path: Path
) -> None:
    monkeypatch.chdir(FIXTURES)
    arguments, code = DUMP_REPORTS[case]
    result = schema(*arguments)
    saved = tmp_path / "output"
    if case != "targets":
        schema(*arguments, "-o", str(saved))
        assert saved.read_text(encoding="utf-8") == result.stdout

    assert result.exit_code == code
    assert schema(*arguments).stdout_bytes == result.stdout_bytes
    file_regression.check(result.stdout, encoding="utf-8", newline="", fullpath=HERE / "schema_reports" / f"{case}.txt")


@pytest.mark.parametrize(
    ("tools", "arguments", "code", "lines"),
    [
        pytest.param(
            [tool("one"), tool("another_one")],
            ["--target", "mcp"],
            0,
            [r"2 tools for mcp: 2 compatible\. Schemas: .*"],
            id="compatible",
        ),
        pytest.param(
            [tool("a", x={"const": "1"}), tool("b", x={"const": "1"}), tool("c")],
            ["--target", "gemini-parameters"],
            1,
            [
                "refused  const: 2 tools",
                "  Fix: write an `enum` of one value",
                r"  In: a \$\.properties\.x\.const, b \$\.properties\.x\.const",
                "3 tools for gemini-parameters: 1 compatible, 2 incompatible (4 refused, 3 notes).",
            ],
            id="groups",
        ),
        pytest.param(
            [tool("read", x={"type": "string", "minLength": 1})],
            ["--fail-on", "narrowed", "--target", "gemini-json"],
            0,
            ["STATUS: COMPATIBLE"],
            id="below-the-threshold",
        ),
        pytest.param(
            [tool("read", x={"type": "string", "minLength": 1})],
            ["--fail-on", "lossy", "--target", "gemini-json"],
            1,
            ["STATUS: INCOMPATIBLE"],
            id="at-the-threshold",
        ),
        pytest.param([tool("a", x={"$ref": "#/x"})], ["--fail-on", "never"], 0, ["STATUS: INCOMPATIBLE"], id="never"),
        pytest.param(
            [tool("read"), tool("read")],
            ["--tool", "read", "--target", "mcp", "--target", "openai"],
            1,
            ["      Message: an earlier tool has the same name, `read`; rename it", "      Targets: all"],
            id="duplicate-name",
        ),
        pytest.param(
            [tool("read", **{f"p{number}": {"const": str(number)} for number in range(40)})],
            ["--target", "gemini-parameters"],
            1,
            [r"... \d+ more lines: use `toolmason schema diff`"],
            id="long-diff",
        ),
        pytest.param(
            [tool("a", **{f"p{number}": {"const": "1"} for number in range(150)}), tool("b", x={"const": "1"})],
            ["--target", "gemini-parameters"],
            1,
            [r"refused  const: 2 tools, 151 places", r"  In: a .*, and 148 more"],
            id="many-findings",
        ),
        pytest.param(
            [tool("a", **{f"p{number}": {"const": "1"} for number in range(150)}), tool("b", x={"const": "1"})],
            ["--target", "gemini-parameters", "--tool", "a", "--tool", "b"],
            1,
            [r"  and \d+ more: use --json", r"b +INCOMPATIBLE  \(\d refused.*\)", "More than 200 findings.*"],
            id="many-findings-of-tools",
        ),
        pytest.param(
            [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}],
            [],
            1,
            ["1 tool for openai: 0 compatible, 1 incompatible (1 refused)."],
            id="openai-format",
        ),
    ],
)  # fmt: skip
def test_the_report_contains(tools: list[Any], arguments: list[str], code: int, lines: list[str]) -> None:
    result = schema("check", "-", *arguments, stdin=json.dumps(tools).encode())

    assert result.exit_code == code
    for line in lines:
        assert line in result.stdout.splitlines() or re.search(f"^{line}$", result.stdout, re.MULTILINE)


def test_findings_of_several_targets_are_one_issue(tmp_path: Path) -> None:
    source = load_file(write_tools(tmp_path, [tool("read", path={"const": "a"})]))
    (audited,) = audit(source, tuple(Target))
    findings = {target: check(source.tools[0].schema, target) for target in Target}

    assert len({issue.finding for issue in audited.issues}) == len(audited.issues)
    for issue in audited.issues:
        assert issue.targets == tuple(target for target in Target if issue.finding in findings[target])
    assert sum(len(issue.targets) for issue in audited.issues) == sum(map(len, findings.values()))
    ranks = [issue.finding.severity.rank for issue in audited.issues]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("declaration", "target"),
    [
        ({"name": "a", "inputSchema": {"type": "object"}}, "mcp"),
        ({"type": "object"}, "mcp"),
        ({"name": "a", "input_schema": {"type": "object"}}, "anthropic"),
        ({"type": "function", "name": "a", "parameters": {"type": "object"}}, "openai"),
        ({"type": "function", "name": "a", "strict": True, "parameters": {"type": "object"}}, "openai-strict"),
        ({"type": "function", "function": {"name": "a"}}, "openai"),
        ({"functionDeclarations": [{"name": "a", "parameters": {"type": "object"}}]}, "gemini-parameters"),
        ({"functionDeclarations": [{"name": "a", "parametersJsonSchema": {"type": "object"}}]}, "gemini-json"),
        ({"functionDeclarations": [{"name": "a"}]}, "gemini-parameters"),
    ],
)
def test_a_tool_is_checked_for_the_target_of_its_format(declaration: Any, target: str, tmp_path: Path) -> None:
    file = write_tools(tmp_path, declaration)

    assert report(file)["targets"] == [target]
    assert report("--target", "gemini-vertex", file)["targets"] == ["gemini-vertex"]


@pytest.mark.parametrize("arguments", [[], ["--target", "mcp"], ["--target", "openai", "--target", "anthropic"]])
def test_without_a_single_target_the_report_shows_the_advertised_schema(arguments: list[str]) -> None:
    (first, _) = report(*arguments, str(DUMP))["tools"]

    assert first["transformed_schema"] == advertise(first["original_schema"]).schema


@pytest.mark.parametrize("target", [str(target) for target in Target])
def test_a_single_target_shows_its_projection(target: str) -> None:
    data = report("--target", target, str(DUMP))

    assert data["targets"] == [target]
    for each in data["tools"]:
        projection = projected(each["original_schema"], target)
        assert each["transformed_schema"] == projection.schema
        assert {target for issue in each["issues"] for target in issue["targets"]} <= {target}
    # Unresolved references made Gemini send strings instead of objects (LOG-001).
    items = data["tools"][0]["transformed_schema"]["properties"]["files"]["items"]
    assert items["type"].lower() == "object"
    assert items["properties"]["path"]["type"].lower() == "string"
    assert "$ref" not in json.dumps(data["tools"][0]["transformed_schema"])


def test_the_json_report_has_a_timestamp_on_request() -> None:
    assert "timestamp" not in report(str(DUMP))["summary"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", report("--timestamp", str(DUMP))["summary"]["timestamp"])
    assert (
        schema("check", "--format", "json", "--json", str(DUMP)).stdout == schema("check", "--json", str(DUMP)).stdout
    )


@pytest.mark.parametrize(
    "arguments", [["--timestamp"], ["--json", "--format", "sarif"], ["-o", "/none/x"], ["--badge", "x.png"]]
)
def test_an_impossible_output_is_refused(arguments: list[str]) -> None:
    assert schema("check", str(DUMP), *arguments).exit_code == 2


def test_unpaired_surrogates_stay_escapes(tmp_path: Path) -> None:
    file = write_tools(tmp_path, [tool("read", path={"type": "string", "description": "\ud800 é 漢"})])
    for command in (("check", "--json"), ("diff",), ("check", "--fail-on", "note")):
        result = schema(*command, file)
        assert result.exception is None or isinstance(result.exception, SystemExit)
    shown = schema("transform", file).stdout
    assert "\\ud800 é 漢" in shown
    assert json.loads(shown)["properties"]["path"]["description"] == "\ud800 é 漢"


@given(st.text(), st.sampled_from(["ascii", "latin-1", "utf-8"]))
def test_json_has_the_same_value_in_every_encoding(text: str, encoding: str) -> None:
    sent = encodable(as_json({text: [text]}), encoding)

    assert json.loads(sent.encode(encoding).decode(encoding)) == {text: [text]}
    assert sent.replace("\n", "").isprintable()


def test_a_terminal_with_another_encoding_receives_escapes(tmp_path: Path) -> None:
    file = write_tools(tmp_path, [tool("read", path={"type": "string", "description": "é 漢 \U0001f600"})])
    command = [sys.executable, "-m", "toolmason", "schema", "transform", file]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    shown = subprocess.run(command, capture_output=True, env=environment, check=True).stdout

    assert b"\xe9 \\u6f22 \\ud83d\\ude00" in shown


def test_tools_are_grouped_by_source(tmp_path: Path) -> None:
    files = [
        write_tools(tmp_path, [tool("read"), tool("list")], "one.json"),
        write_tools(tmp_path, [tool("read")], "2"),
    ]
    grouped = schema("check", *files).stdout.splitlines()
    detailed = schema("check", "--tool", "read", *files).stdout.splitlines()

    assert grouped == [
        f"{files[0]}:",
        f"{files[1]}:",
        "3 tools for mcp: 3 compatible.",
        "Schemas: about 27 tokens as declared, 27 transformed.",
    ]
    assert detailed[:5] == [f"{files[0]}:", "read  COMPATIBLE", "", f"{files[1]}:", "read  COMPATIBLE"]


def test_untrusted_text_is_printed_without_terminal_controls(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e\x07"
    file = write_tools(tmp_path, [tool(f"a{evil}", **{f"b{evil}": {"$ref": f"#/{evil}", "description": evil}})])
    builtin = write_tools(tmp_path, [{"type": f"x{evil}", "name": evil}], "builtin.json")
    for arguments in (["check", file], ["diff", file], ["transform", file], ["check", "--tool", "b", file]):
        assert not TERMINAL_CONTROLS & set(schema(*arguments).output)
    assert not TERMINAL_CONTROLS & set(schema("check", builtin).output)
    assert "a\\u001b[2J\\u202e\\u0007" in schema("check", file).stdout


# GitHub and SARIF


def test_github_annotations_of_a_running_server_name_no_file() -> None:
    result = schema("check", "--format", "github", "--fail-on", "note", "--server", f"{ODD_SERVER} lossy")

    assert result.stdout.startswith("::error title=schema/")
    assert "file=" not in result.stdout
    assert result.stderr.startswith("1 tool for mcp: ")


@pytest.mark.parametrize(
    "source", [[str(DUMP)], ["--server", f"{ODD_SERVER} lossy"], ["-"]], ids=["file", "server", "-"]
)
def test_sarif_conforms_to_its_schema(source: list[str]) -> None:
    document = json.loads(schema("check", "--format", "sarif", *source, stdin=DUMP.read_bytes()).stdout)
    # The schema of SARIF 2.1.0 from the npm package @microsoft/jest-sarif 1.0.0-beta.0, lib/schemas/, unchanged.
    validator = Draft4Validator(json.loads((FIXTURES / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")))
    validator.validate(document)
    assert not validator.is_valid(document | {"version": "2.0.0"})

    (run,) = document["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["results"]
    for each in run["results"]:
        assert ids[each["ruleIndex"]] == each["ruleId"]
        assert each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_no_findings_are_an_empty_report(tmp_path: Path) -> None:
    file = write_tools(tmp_path, [tool("read")])

    assert json.loads(schema("check", "--format", "sarif", "--target", "mcp", file).stdout)["runs"][0]["results"] == []
    assert schema("check", "--format", "github", "--target", "mcp", file).stdout == ""


# Transform


@pytest.mark.parametrize(
    ("target", "declare"),
    [
        ("mcp", lambda name, taken: {"name": name, "inputSchema": taken}),
        ("gemini-parameters", lambda name, taken: {"name": name, "parameters": taken}),
        ("gemini-vertex", lambda name, taken: {"name": name, "parameters": taken}),
        ("gemini-json", lambda name, taken: {"name": name, "parametersJsonSchema": taken}),
        ("openai", lambda name, taken: {"type": "function", "function": {"name": name, "parameters": taken}}),
        (
            "openai-strict",
            lambda name, taken: {"type": "function", "function": {"name": name, "strict": True, "parameters": taken}},
        ),
        ("anthropic", lambda name, taken: {"name": name, "input_schema": taken}),
    ],
)
def test_several_tools_have_the_format_of_the_target(target: str, declare: Any, tmp_path: Path) -> None:
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in ("read", "list")]
    printed = json.loads(schema("transform", "--target", target, write_tools(tmp_path, tools)).stdout)
    declared = printed["tools"] if target == "mcp" else printed
    declared = declared[0]["functionDeclarations"] if target.startswith("gemini") else declared

    taken = projected({"type": "object", "properties": {}}, target).schema
    assert declared == [declare(name, taken) for name in ("read", "list")]
    if target != "mcp":
        file = write_tools(tmp_path, json.loads(schema("transform", "--target", target, str(DUMP)).stdout))
        assert schema("check", "--target", target, file).exit_code == 0


def test_descriptions_are_preserved(tmp_path: Path) -> None:
    tools = [tool("read") | {"description": "Read a file"}, tool("list") | {"description": 3}]
    declared = json.loads(schema("transform", "--target", "anthropic", write_tools(tmp_path, tools)).stdout)

    assert [each.get("description") for each in declared] == ["Read a file", None]


@pytest.mark.parametrize(
    ("target", "properties", "code", "stderr"),
    [
        (
            "anthropic",
            {"$top": {"type": "integer"}},
            0,
            r"read: `\$top` is renamed to `\w+`; restore the name in calls",
        ),
        (
            "openai-strict",
            {"counts": {"type": "object", "additionalProperties": {"type": "integer"}}},
            0,
            r"read: \$\.properties\.counts: narrowed: .*",
        ),
        (
            "openai-strict",
            {"sizes": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "title": "Sizes"}},
            0,
            r"read: \$\.properties\.sizes: lossy: `uniqueItems` .*",
        ),
        ("mcp", {"x": {"$ref": "#/none"}}, 1, r"read: \$\.properties\.x.*: refused: `#/none` .*"),
    ],
)
def test_losses_and_new_names_are_reported_on_stderr(
    target: str, properties: Any, code: int, stderr: str, tmp_path: Path
) -> None:
    data = {"type": "object", "properties": properties, "required": list(properties)}
    result = schema("transform", "--target", target, write_tools(tmp_path, data, "read.json"))

    assert result.exit_code == code
    assert re.search(f"^{stderr}$", result.stderr, re.MULTILINE)


def test_transform_takes_one_target() -> None:
    twice = schema("transform", "--target", "openai", "--target", "openai", str(DUMP))
    two = schema("transform", "--target", "openai", "--target", "mcp", str(DUMP))

    assert (twice.exit_code, two.exit_code) == (0, 2)


# Diff


@given(JSON, JSON)
def test_a_diff_contains_the_changed_lines_only(left: Any, right: Any) -> None:
    lines = diff_lines(left, right)

    assert bool(lines) is (json.dumps(left, sort_keys=True) != json.dumps(right, sort_keys=True))
    assert all(line.isprintable() for line in lines)
    assert lines[:2] in ([], ["--- original", "+++ transformed"])


def test_a_schema_too_long_for_a_diff_is_named() -> None:
    assert diff_lines(list(range(6_000)), []) == ["too long to compare: 6,002 lines original, 1 lines transformed"]


def test_reordered_keys_are_unchanged(tmp_path: Path) -> None:
    moved = {"properties": {"b": {"description": "x", "type": "string"}}, "type": "object"}

    assert schema("diff", write_tools(tmp_path, moved, "read.json")).stdout == "read  unchanged\n"


def run_in_terminal(*arguments: str, **environment: str) -> str:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "toolmason", "schema", *arguments]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "70", **environment}
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=subprocess.PIPE, env=env)
    os.close(child)
    shown = b""
    try:
        while part := os.read(parent, 65536):
            shown += part
    except OSError:  # the end of a terminal on Linux
        pass
    finally:
        os.close(parent)
        _, stderr = process.communicate(timeout=30)
    assert not stderr
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("command", ["check", "diff"])
def test_a_terminal_has_colour_unless_the_user_disables_it(command: str) -> None:
    coloured, plain = run_in_terminal(command, str(DUMP)), run_in_terminal(command, str(DUMP), NO_COLOR="1")

    assert "\x1b[3" in coloured
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


# The manifest


MANIFEST = """\
edition = 1

[server]
name = "library"
version = "1"
package = "library_server"
handlers = "library"

[categories.books]
summary = "Books"

[types.Range]
fields.start = { type = "integer", description = "First", minimum = 1 }
fields.notes = { type = "string[]", description = "Notes", required = false }

[types.Query]
description = "What to find"
fields.words = { type = "string", description = "Words", min_length = 1 }
fields.inner = { type = "Range", description = "Where", required = false, nullable = true }

[tools.find_books]
summary = "Find books"
category = "books"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "books:find_books"
params.queries = { type = "Query[]", description = "Queries", min_items = 1 }
params.shelves = { type = "map<Range>", description = "Shelves", required = false }
params.limit = { type = "integer", description = "Most", maximum = 9, default = 3 }

[tools.raw]
summary = "Given whole"
category = "books"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "books:raw"

[tools.raw.input_schema]
type = "object"
properties.either.oneOf = [{ type = "string" }, { type = "integer" }]

[tools.by_file]
summary = "Given in a file"
category = "books"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "books:by_file"
input_schema = "schemas/by_file.json"

[tools.retired]
summary = "Not served"
category = "books"
enabled = false
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "books:retired"
"""
BY_FILE = '{\n  "type": "object",\n  "properties": {\n    "either": {"const": 1}\n  }\n}\n'


@pytest.fixture
def library(tmp_path: Path) -> Project:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "by_file.json").write_text(BY_FILE, encoding="utf-8")
    (tmp_path / "library.toml").write_text(MANIFEST, encoding="utf-8")
    return find_project(tmp_path, Path("library.toml"))


def reading_of(library: Project) -> LoadedManifest:
    diagnostics = Diagnostics()
    reading = read(library, diagnostics=diagnostics)
    assert reading is not None, "\n".join(map(str, diagnostics))
    return reading


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(MANIFEST.splitlines(), 1) if line.startswith(text))


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", "tools.find_books"),
        ("/type", "tools.find_books"),
        ("/properties", "tools.find_books"),
        ("/required/0", "tools.find_books.params.queries"),
        ("/required/9", "tools.find_books"),
        ("/properties/queries", "tools.find_books.params.queries"),
        ("/properties/queries/minItems", "tools.find_books.params.queries.min_items"),
        ("/properties/queries/description", "tools.find_books.params.queries.description"),
        ("/properties/queries/items", "tools.find_books.params.queries.type"),
        ("/properties/queries/items/$ref", "tools.find_books.params.queries.type"),
        ("/properties/queries/items/description", "types.Query.description"),
        ("/properties/queries/items/required", "types.Query"),
        ("/properties/queries/items/properties/words", "types.Query.fields.words"),
        ("/properties/queries/items/properties/words/minLength", "types.Query.fields.words.min_length"),
        (
            "/properties/queries/items/properties/inner/anyOf/0/properties/start/minimum",
            "types.Range.fields.start.minimum",
        ),
        ("/properties/queries/items/properties/inner/anyOf/1", "types.Query.fields.inner"),
        ("/properties/queries/items/properties/none", "types.Query"),
        ("/properties/shelves/additionalProperties/properties/notes/items", "types.Range.fields.notes.type"),
        ("/properties/shelves/additionalProperties/properties/start", "types.Range.fields.start"),
        ("/properties/limit/default", "tools.find_books.params.limit.default"),
        ("/properties/limit/anyOf/1", "tools.find_books.params.limit"),
        ("/properties/none/type", "tools.find_books"),
        ("/$defs/Query/properties/words/minLength", "types.Query.fields.words.min_length"),
        ("/$defs/Query/required/0", "types.Query.fields.words"),
        ("/$defs/Range", "types.Range"),
        ("/$defs/Other", "tools.find_books"),
    ],
)
def test_a_place_in_a_schema_leads_to_its_place_in_the_manifest(pointer: str, place: str, library: Project) -> None:
    server: Server = reading_of(library).server
    found: Tool = next(each for each in server.tools if each.name == "find_books")

    assert ".".join(map(str, manifest_location(pointer, found, {each.name: each for each in server.types}))) == place


def test_every_node_of_the_schemas_that_are_sent_has_a_place_of_its_own(library: Project) -> None:
    reading = reading_of(library)
    types: Any = {each.name: each for each in reading.server.types}

    def look(tool: Tool, node: Any, pointer: str) -> None:
        place = reading.document.locate(manifest_location(pointer, tool, types))
        assert place != Location(PurePosixPath("library.toml")), pointer
        for key, value in node.items() if isinstance(node, dict) else ():
            look(tool, value, f"{pointer}/{key}")

    for each in reading.server.tools:
        look(each, each.input_schema, "")


def test_findings_in_a_manifest_have_its_file_and_lines(library: Project) -> None:
    (source_name,) = {each["source"] for each in report("--manifest", str(library.manifest))["tools"]}
    found = report("--manifest", str(library.manifest), "--target", "mcp", "--target", "gemini-json")["tools"]
    places = {(each["name"], issue["pointer"]): issue["location"] for each in found for issue in each["issues"]}

    assert source_name == "library.toml"
    assert [each["name"] for each in found] == ["find_books", "raw", "by_file"]
    words = places["find_books", "/properties/queries/items/properties/words/minLength"]
    assert (words["file"], words["line"]) == ("library.toml", line_of("fields.words"))
    assert places["raw", "/properties/either/oneOf"]["line"] == line_of("properties.either")
    assert places["by_file", "/properties/either/const"] == {"file": "schemas/by_file.json", "line": 4, "column": 16}


@pytest.mark.parametrize("layout", ["text", "github", "sarif"])
def test_every_layout_places_findings_in_the_manifest(layout: str, library: Project) -> None:
    options = ("--format", layout, "--fail-on", "note", "--tool", "raw")
    result = schema("check", *options, "--manifest", str(library.manifest))
    line = line_of("properties.either")

    assert result.exit_code == 1
    assert {
        "text": f"  library.toml:{line}:",
        "github": f"file=library.toml,line={line},",
        "sarif": f'"startLine": {line},',
    }[layout] in result.stdout


def test_a_raw_schema_is_judged_as_sent_and_its_lost_keywords_are_located(
    library: Project,
) -> None:
    (raw,) = report("--tool", "raw", "--manifest", str(library.manifest))["tools"]

    assert raw["status"] == "COMPATIBLE"
    assert ("oneOf", "/properties/either/oneOf") in [(each["pattern"], each["pointer"]) for each in raw["issues"]]
    assert raw["original_schema"]["properties"]["either"] == {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    assert "oneOf" not in json.dumps(raw["transformed_schema"])


def test_tools_that_are_not_served_are_unknown(library: Project) -> None:
    result = schema("check", "--tool", "retired", "--manifest", str(library.manifest))

    assert (result.exit_code, "no tool `retired`" in result.stderr) == (2, True)


def test_titles_of_tools_come_along(library: Project) -> None:
    text = MANIFEST.replace('summary = "Find books"', 'summary = "Find books"\ntitle = "Finder"')
    library.manifest.write_text(text, encoding="utf-8")
    first, second, _ = json.loads(schema("transform", "--manifest", str(library.manifest)).stdout)["tools"]

    assert first["title"] == "Finder"
    assert (first["description"], second["description"]) == ("Find books", "Given whole")


def test_our_own_manifest_is_compatible() -> None:
    diagnostics = Diagnostics()
    reading = read(find_project(REPOSITORY), diagnostics=diagnostics)
    assert reading is not None

    for each in audit(load_manifest(reading, REPOSITORY), tuple(Target)[:4]):
        assert Policy(threshold=Severity.NARROWED).accepts(each), each.issues


# Hooks and actions


@pytest.mark.parametrize(
    ("provider", "required"), [("moonshot", {"required": []}), ("groq", {}), ("openai", {}), ("mcp", {})]
)
def test_schemas_are_converted_for_a_provider(tmp_path: Path, provider: str, required: dict[str, Any]) -> None:
    input_schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = {"name": "a", "inputSchema": input_schema}
    (tmp_path / "tools.json").write_text(json.dumps(tool), encoding="utf-8")
    converted = json.loads(schema("transform", str(tmp_path / "tools.json"), "--provider", provider).stdout)

    assert converted == input_schema | required


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--provider", "grok"], "unknown provider `grok`; did you mean `groq`?"),
        (["--provider", "groq", "--target", "mcp"], "--target and --provider cannot be combined"),
    ],
)
def test_a_provider_that_transform_cannot_convert_for_is_refused(options: list[str], message: str) -> None:
    result = schema("transform", str(DUMP), *options)

    assert result.exit_code == 2
    assert message in result.stderr


def test_the_pre_commit_hook_checks_the_files_it_is_meant_for(project: Project) -> None:
    hooks = {each["id"]: each for each in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    hook = hooks["toolmason-schema"]
    shutil.copy(DUMP, project.root / "tools.json")
    names = [
        "manifest/notes.toml",
        "tools.json",
        "docs/mcp-tools.json",
        "other.json",
        "src/dotnet-tools.json",
        "a.toml",
    ]
    meant = [name for name in names if re.search(hook["files"], name)]
    assert meant == names[:3]

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *shlex.split(hook["entry"]), *arguments]
        return subprocess.run(command, cwd=project.root, capture_output=True, encoding="utf-8", check=False)

    fine, bad = ran(*meant[:2]), ran("--fail-on", "lossy", *meant[:2])
    assert (fine.returncode, bad.returncode) == (0, 1)
    assert f"(tools.json:{REF_LINE})" in bad.stdout
    assert hook["language"] == "python"


def test_the_pre_commit_hook_for_servers_is_given_no_files() -> None:
    hooks = {each["id"]: each for each in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    hook = hooks["toolmason-schema-server"]
    command = [sys.executable, "-m", *shlex.split(hook["entry"]), "--server", f"{ODD_SERVER} plain"]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert hook["pass_filenames"] is False
    assert (ran.returncode, ran.stdout.startswith("1 tool for mcp: 1 compatible")) == (0, True)


ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
INSTALL, CHECK, _ = ACTION["runs"]["steps"]


TOOLMASON = f'exec {shlex.quote(sys.executable)} -m toolmason "$@"'


def acted(folder: Path, *, script: str = TOOLMASON, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's own script as a runner would: bash, with the inputs as its environment."""
    home = folder / "runner" / "toolmason-schema" / "bin"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "toolmason"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    defaults = {name: each["default"] for name, each in ACTION["inputs"].items()}
    assert inputs.keys() <= {name.replace("-", "_") for name in defaults}
    given = defaults | {name.replace("_", "-"): value for name, value in inputs.items()}
    wanted = {name: re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value) for name, value in CHECK["env"].items()}
    env = {name: given[match[1]] for name, match in wanted.items() if match}
    assert len(env) == len(CHECK["env"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]],
        cwd=folder,
        env={**os.environ, **env, "RUNNER_TEMP": str(folder / "runner")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_scripts_of_the_action_contain_no_expression() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    assert '"$GITHUB_ACTION_PATH"' in INSTALL["run"]


def test_the_action_annotates_files(tmp_path: Path) -> None:
    shutil.copy(DUMP, tmp_path / "a tools.json")
    shutil.copy(DUMP, tmp_path / "b.json")
    ran = acted(tmp_path, source="a tools.json\r\n\nb.json\n", fail_on="lossy")

    assert ran.returncode == 1
    assert f"::error file=a tools.json,line={REF_LINE}," in ran.stdout
    assert f"::error file=b.json,line={REF_LINE}," in ran.stdout
    assert ran.stderr.startswith("4 tools for mcp: ")


def test_the_action_asks_a_server_and_takes_every_choice(tmp_path: Path) -> None:
    fine = acted(tmp_path, server=f"{ODD_SERVER} pages", target="mcp\nopenai", timeout="30")
    chosen = acted(tmp_path, server=f"{ODD_SERVER} refused", tool="good", fail_on="narrowed")
    lenient = acted(tmp_path, server=f"{ODD_SERVER} refused", fail_on="never")

    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "", "3 tools for mcp, openai: 3 compatible.\n")
    assert (chosen.returncode, lenient.returncode) == (0, 0)
    assert "::error title=schema/refused/dangling-$ref::" in lenient.stdout


def test_the_action_writes_sarif(tmp_path: Path) -> None:
    shutil.copy(DUMP, tmp_path / "tools.json")
    ran = acted(tmp_path, source="tools.json", sarif_file="out.sarif")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]


def test_the_action_checks_the_project_unless_something_is_named(project: Project) -> None:
    ran = acted(project.root)

    assert ran.returncode == 0, ran.stdout
    assert re.match(r"\d+ tools? for mcp: ", ran.stderr)


@pytest.mark.parametrize("text", ["$(touch made)", "`touch made`", "x; touch made", "x' \" ; touch made #", "--help"])
def test_inputs_of_the_action_are_never_run(text: str, tmp_path: Path) -> None:
    """Each reaches the program as a whole: beside `=`, or after `--`."""
    options = ("server", "tool", "target", "client", "provider", "fail_on", "max_share", "timeout", "header")
    expected = {name: f"\n--{name.replace('_', '-')}={text}\n" for name in options}
    expected |= {"source": f"\n--\n{text}\n", "sarif_file": f"\n--output={text}\n"}
    for name, argument in expected.items():
        ran = acted(tmp_path, script='printf "%s\\n" "$@"', **{name: text})
        assert (ran.returncode, argument in ran.stdout) == (0, True), ran.stdout
    assert not (tmp_path / "made").exists()
