"""What `toolmason schema` says: reports for people and for programs, differences, schemas to send instead."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from toolmason.audit.diff_table import Row, cells, in_order_of, pretty, rows, side_by_side, visible, wrapped

from toolmason.audit.audit import audit
from toolmason.audit.manifest_location import manifest_place
from toolmason.audit.output import as_json, encodable
from toolmason.audit.report import Page, text_diff, text_report
from toolmason.audit.sources import from_file, from_manifest
from toolmason.commands import toolmason
from toolmason.commands.schema import NEVER, SEVERITIES, TARGETS
from toolmason.diagnostics import Diagnostics, Location
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.pipeline import Reading, read
from toolmason.project import Project, find_project
from toolmason.schema import Severity, Target, advertise, check
from toolmason.schema import project as projected

HERE = Path(__file__).parent
FIXTURES = HERE / "schema_sources"
REPOSITORY = HERE.parents[1]
DUMP = FIXTURES / "tools_list.json"
ODD_SERVER = shlex.join([sys.executable, str(FIXTURES / "odd_server.py")])
REF_LINE, REF_COLUMN = next(
    (number, line.index('"$ref"') + 1)
    for number, line in enumerate(DUMP.read_text(encoding="utf-8").splitlines(), 1)
    if '"$ref"' in line
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what the terminal of whoever runs the tests is like."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def schema(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(toolmason, ["schema", *arguments], input=stdin)


def written(tmp_path: Path, data: Any, name: str = "tools.json") -> str:
    file = tmp_path / name
    file.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return str(file)


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def report(*arguments: str) -> Any:
    return json.loads(schema("check", "--json", *arguments).stdout)


# The words the command line knows


def test_the_options_know_every_target_and_severity() -> None:
    assert tuple(Target) == TARGETS
    assert tuple(Severity) == SEVERITIES
    assert NEVER not in SEVERITIES


def test_each_target_is_described_in_a_line() -> None:
    lines = schema("targets").stdout.splitlines()

    assert [line.split()[0] for line in lines] == list(TARGETS)
    assert all(len(line) < 120 and line.split(maxsplit=1)[1] for line in lines)


def test_a_file_is_checked_without_what_a_server_or_a_manifest_needs() -> None:
    program = (
        "import sys\nfrom click.testing import CliRunner\nfrom toolmason.commands import toolmason\n"
        f"assert CliRunner().invoke(toolmason, ['schema', 'check', {str(DUMP)!r}]).exit_code == 1\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True).stdout

    for heavy in ("mcp", "pydantic", "httpx2", "anyio", "jsonschema", "jinja2", "filelock"):
        assert f"'{heavy}'" not in shown


# The report for people


def test_the_report_has_the_parts_of_the_specification() -> None:
    result = schema("check", str(DUMP))
    lines = result.stdout.splitlines()

    assert result.exit_code == 1
    assert lines[0].startswith("=== read_files ====")
    assert lines[0].endswith(f" {DUMP}:7")
    assert lines[1] == "STATUS: INCOMPATIBLE"
    for heading in ("ISSUES FOUND", "TRANSFORMS APPLIED", "SCHEMA DIFF"):
        assert lines.count(heading) == 1
    issue = lines.index(f"  [2] refused  $.properties.files.items['$ref']  {DUMP}:{REF_LINE}:{REF_COLUMN}")
    assert lines[issue + 1] == "      Pattern: $ref"
    assert lines[issue + 2].startswith("      Message: `$ref`: ")
    assert "      Targets: gemini-parameters" in lines[issue:]
    assert any(line.startswith("  - $.properties.files.items['$ref']: ") for line in lines)
    assert re.search(r'"\$ref": "#/\$defs/FileReadRequest" +\| +"type": "object",', result.stdout)
    assert lines[-3] == "list_roots  COMPATIBLE  (1 note)"
    assert re.fullmatch(r"2 tools for 5 targets: 1 compatible, 1 incompatible \(.*\)\.", lines[-1])


def test_compatible_tools_take_one_line_each(tmp_path: Path) -> None:
    result = schema("check", "--target", "mcp", written(tmp_path, [tool("one"), tool("another_one")]))

    assert result.exit_code == 0
    assert result.stdout == ("one          COMPATIBLE\nanother_one  COMPATIBLE\n\n2 tools for mcp: 2 compatible.\n")


def test_what_makes_several_tools_incompatible_is_counted(tmp_path: Path) -> None:
    tools = [tool("a", x={"const": "1"}, y={"const": "2"}), tool("b", x={"const": "1"}) | {"title": "B"}, tool("c")]
    lines = schema("check", "--target", "gemini-parameters", written(tmp_path, tools)).stdout.splitlines()

    assert lines[-2] == "Incompatible for: const (2), missing-type (2)"
    assert not any(line.startswith("Incompatible for") for line in schema("check", str(DUMP)).stdout.splitlines())


def test_no_tools_are_no_findings() -> None:
    result = schema("check", "-", stdin=b'{"tools": []}')

    assert (result.exit_code, result.stdout) == (0, "0 tools for 5 targets: 0 compatible.\n")


def test_notes_are_counted_and_shown_when_they_fail_the_run(tmp_path: Path) -> None:
    file = written(tmp_path, [tool("read", path={"type": "string", "default": "."}) | {"title": "Read"}])
    quiet = schema("check", "--target", "gemini-json", file)
    loud = schema("check", "--target", "gemini-json", "--fail-on", "note", file)

    assert quiet.stdout.startswith("read  COMPATIBLE  (1 note)\n")
    assert (quiet.exit_code, loud.exit_code) == (0, 1)
    assert "  [1] note  $.properties.path.default" in loud.stdout
    assert "--json lists them" not in loud.stdout
    both = schema("check", str(DUMP), "--tool", "read_files").stdout
    assert re.search(r"^  and \d notes?: --json lists them, --fail-on note shows them$", both, re.MULTILINE)


def test_findings_of_several_targets_are_one_issue(tmp_path: Path) -> None:
    source = from_file(written(tmp_path, [tool("read", path={"const": "a"})]))
    (audited,) = audit(source, tuple(Target))
    found = {target: check(source.tools[0].schema, target) for target in Target}

    assert len({issue.finding for issue in audited.issues}) == len(audited.issues)
    for issue in audited.issues:
        assert issue.targets == tuple(target for target in Target if issue.finding in found[target])
    assert any(len(issue.targets) > 1 for issue in audited.issues)
    assert sum(len(issue.targets) for issue in audited.issues) == sum(map(len, found.values()))
    ranks = [issue.finding.severity.rank for issue in audited.issues]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("arguments", [[], ["--target", "mcp"], ["--target", "openai", "--target", "anthropic"]])
def test_unless_one_target_is_named_what_a_server_should_advertise_is_shown(arguments: list[str]) -> None:
    (first, _) = report(*arguments, str(DUMP))["tools"]

    assert first["transformed_schema"] == advertise(first["original_schema"]).schema


@pytest.mark.parametrize("target", TARGETS)
def test_for_one_target_what_that_one_takes_is_shown(target: str) -> None:
    found = report("--target", target, str(DUMP))

    assert found["targets"] == [target]
    for each in found["tools"]:
        projection = projected(each["original_schema"], target)
        assert each["transformed_schema"] == projection.schema
        assert each["transforms_applied"] == list(
            dict.fromkeys(f"{finding.path}: {finding.message}" for finding in projection.findings)
        )
        assert {target for issue in each["issues"] for target in issue["targets"]} <= {target}


def test_targets_that_take_only_what_was_written_for_them_are_checked_when_they_are_named() -> None:
    assert report(str(DUMP))["targets"] == [each for each in TARGETS if each not in {"openai-strict", "gemini-vertex"}]
    assert report("--target", "openai-strict", str(DUMP))["summary"]["incompatible"] == 2


def test_a_name_that_two_tools_bear_is_refused_everywhere(tmp_path: Path) -> None:
    first, second = report(written(tmp_path, [tool("read"), tool("read")]))["tools"]

    assert (first["status"], second["status"]) == ("COMPATIBLE", "INCOMPATIBLE")
    assert second["issues"][0]["message"] == "a tool before it is called `read` too"
    assert len(second["issues"][0]["targets"]) == 5


@pytest.mark.parametrize(
    ("fail_on", "code", "status"),
    [
        ("refused", 0, "COMPATIBLE"),
        ("narrowed", 0, "COMPATIBLE"),
        ("lossy", 1, "INCOMPATIBLE"),
        ("never", 0, "COMPATIBLE"),
    ],
)
def test_what_fails_the_run_is_a_choice(fail_on: str, code: int, status: str, tmp_path: Path) -> None:
    file = written(tmp_path, [tool("read", path={"type": "string", "minLength": 1})])
    result = schema("check", "--json", "--fail-on", fail_on, "--target", "gemini-json", file)

    assert result.exit_code == code
    assert json.loads(result.stdout)["tools"][0]["status"] == status


def test_never_fails_never() -> None:
    result = schema("check", "--fail-on", "never", str(DUMP))

    assert result.exit_code == 0
    assert "STATUS: INCOMPATIBLE" in result.stdout


# The report for programs


def test_the_json_report_has_the_structure_of_the_specification() -> None:
    found = report(str(DUMP))

    assert found["summary"] == {"total_tools": 2, "compatible": 1, "incompatible": 1}
    original = json.loads(DUMP.read_text(encoding="utf-8"))["tools"][0]["inputSchema"]
    (first, _) = found["tools"]
    assert list(first) == [
        "name",
        "source",
        "status",
        "issues",
        "transforms_applied",
        "original_schema",
        "transformed_schema",
    ]
    assert (first["name"], first["status"], first["original_schema"]) == ("read_files", "INCOMPATIBLE", original)
    assert first["transforms_applied"]
    issue = next(each for each in first["issues"] if each["pattern"] == "$ref")
    assert issue.pop("message").startswith("`$ref`: ")
    assert issue == {
        "path": "$.properties.files.items['$ref']",
        "pointer": "/properties/files/items/$ref",
        "pattern": "$ref",
        "severity": "refused",
        "lossy": issue["lossy"],
        "targets": ["gemini-parameters"],
        "location": {"file": str(DUMP), "line": REF_LINE, "column": REF_COLUMN},
    }


def test_the_items_of_read_files_stay_objects() -> None:
    """LOG-001: unresolved references made Gemini send strings where objects were wanted."""
    for target in TARGETS:
        (first, _) = report("--target", target, str(DUMP))["tools"]
        items = first["transformed_schema"]["properties"]["files"]["items"]
        assert items["type"].lower() == "object"
        assert items["properties"]["path"]["type"].lower() == "string"
        assert items["properties"]["head"]
        assert "$ref" not in json.dumps(first["transformed_schema"])


def test_two_runs_say_the_same_byte_for_byte() -> None:
    for layout in ("text", "json", "github", "sarif"):
        first, second = (schema("check", "--format", layout, str(DUMP)).stdout_bytes for _ in range(2))
        assert first == second


def test_time_stands_in_the_report_when_it_is_asked_for() -> None:
    assert "timestamp" not in report(str(DUMP))["summary"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", report("--timestamp", str(DUMP))["summary"]["timestamp"])
    assert schema("check", "--timestamp", str(DUMP)).exit_code == 2


def test_json_is_a_format_and_a_flag() -> None:
    by_flag = schema("check", "--json", str(DUMP))

    assert by_flag.stdout == schema("check", "--format", "json", str(DUMP)).stdout
    assert by_flag.stdout == schema("check", "--format", "json", "--json", str(DUMP)).stdout
    assert schema("check", "--json", "--format", "sarif", str(DUMP)).exit_code == 2


def test_half_a_character_in_a_schema_stays_an_escape(tmp_path: Path) -> None:
    file = written(tmp_path, [tool("read", path={"type": "string", "description": "\ud800 é 漢"})])
    for command in (("check", "--json"), ("transform",), ("diff",), ("check", "--fail-on", "note")):
        result = schema(*command, file)
        assert result.exception is None or isinstance(result.exception, SystemExit)
    shown = schema("transform", file).stdout
    assert "\\ud800 é 漢" in shown
    assert json.loads(shown)["properties"]["path"]["description"] == "\ud800 é 漢"
    output = tmp_path / "out.json"
    schema("transform", file, "-o", str(output))
    assert output.read_text(encoding="utf-8") == shown


@given(st.text(), st.sampled_from(["ascii", "latin-1", "utf-8"]))
def test_json_means_the_same_in_whatever_encoding_it_is_sent(text: str, encoding: str) -> None:
    sent = encodable(as_json({text: [text]}), encoding)

    assert json.loads(sent.encode(encoding).decode(encoding)) == {text: [text]}
    assert sent.replace("\n", "").isprintable()


def test_a_terminal_that_has_few_characters_is_sent_escapes(tmp_path: Path) -> None:
    file = written(tmp_path, [tool("read", path={"type": "string", "description": "é 漢 \U0001f600"})])
    command = [sys.executable, "-m", "toolmason", "schema", "transform", file]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    shown = subprocess.run(command, capture_output=True, env=environment, check=True).stdout

    assert b"\xe9 \\u6f22 \\ud83d\\ude00" in shown
    assert json.loads(shown.decode("latin-1"))["properties"]["path"]["description"] == "é 漢 \U0001f600"


def test_tools_of_several_sources_stand_under_the_names_of_those(tmp_path: Path) -> None:
    files = [written(tmp_path, [tool("read"), tool("list")], "one.json"), written(tmp_path, [tool("read")], "two.json")]
    lines = schema("check", "--target", "mcp", *files).stdout.splitlines()

    assert lines[:5] == [f"{files[0]}:", "read  COMPATIBLE", "list  COMPATIBLE", f"{files[1]}:", "read  COMPATIBLE"]


# GitHub and SARIF


def test_github_gets_an_annotation_a_finding_at_its_line() -> None:
    result = schema("check", "--format", "github", str(DUMP))
    lines = result.stdout.splitlines()

    assert len(lines) == sum(len(each["issues"]) for each in report(str(DUMP))["tools"])
    assert (
        f"::error file={DUMP},line={REF_LINE},col={REF_COLUMN},title=schema/refused/$ref::tool `read_files`, "
        in result.stdout
    )
    assert "%0Arefused for gemini-parameters" in result.stdout
    assert any(line.startswith("::notice ") for line in lines)
    assert result.stderr.startswith("2 tools for 5 targets: ")
    assert result.exit_code == 1


def test_findings_that_fail_the_run_are_errors_and_others_are_not(tmp_path: Path) -> None:
    file = written(tmp_path, [tool("read", path={"type": "string", "minLength": 1})])
    for fail_on, command in (("refused", "::warning "), ("lossy", "::error ")):
        result = schema("check", "--format", "github", "--fail-on", fail_on, "--target", "gemini-json", file)
        assert result.stdout.startswith(command)


def test_findings_in_a_running_server_name_no_file() -> None:
    result = schema("check", "--format", "github", "--target", "mcp", "--server", f"{ODD_SERVER} malformed")

    assert result.stdout.startswith("::error title=schema/refused/inputSchema::tool `bare`, $: ")
    assert "file=" not in result.stdout


@pytest.mark.parametrize("source", [[str(DUMP)], ["--server", f"{ODD_SERVER} malformed"], ["-"]])
def test_sarif_keeps_the_rules_of_its_schema(source: list[str]) -> None:
    result = schema("check", "--format", "sarif", *source, stdin=DUMP.read_bytes())
    rules = json.loads((FIXTURES / "sarif.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(rules)
    document = json.loads(result.stdout)
    Draft202012Validator(rules).validate(document)

    (run,) = document["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert run["results"]
    for each in run["results"]:
        assert ids[each["ruleIndex"]] == each["ruleId"]
        (place,) = each["locations"]
        assert ("startColumn" in place["physicalLocation"]["region"]) is (source == [str(DUMP)])
        assert re.match(
            r"(read_files|list_roots|bare|text|good|only)\b", place["logicalLocations"][0]["fullyQualifiedName"]
        )


def test_sarif_says_what_where_and_for_whom() -> None:
    document = json.loads(schema("check", "--format", "sarif", str(DUMP)).stdout)
    (run,) = document["runs"]
    (result,) = (each for each in run["results"] if each["ruleId"] == "schema/refused/$ref")

    assert result["level"] == "error"
    assert result["properties"] == {"severity": "refused", "targets": ["gemini-parameters"]}
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": REF_LINE, "startColumn": REF_COLUMN}
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["shortDescription"]["text"] == "$ref: refused"


def test_nothing_found_is_an_empty_sarif_document(tmp_path: Path) -> None:
    result = schema("check", "--format", "sarif", "--target", "mcp", written(tmp_path, [tool("read")]))

    assert json.loads(result.stdout)["runs"][0]["results"] == []
    assert schema("check", "--format", "github", "--target", "mcp", written(tmp_path, [tool("read")])).stdout == ""


def test_a_report_goes_to_a_file_when_one_is_named(tmp_path: Path) -> None:
    output = tmp_path / "report.sarif"
    result = schema("check", "--format", "sarif", str(DUMP), "-o", str(output))

    assert (result.exit_code, result.stdout) == (1, "")
    assert output.read_text(encoding="utf-8") == schema("check", "--format", "sarif", str(DUMP)).stdout
    refused = schema("check", str(DUMP), "-o", str(tmp_path / "none" / "x"))
    assert (refused.exit_code, "no such file or directory" in refused.stderr) == (2, True)
    schema("check", str(DUMP), "-o", str(tmp_path / "report.txt"))
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == schema("check", str(DUMP)).stdout


# Transforming


def test_one_tool_is_transformed_to_its_schema() -> None:
    result = schema("transform", str(DUMP), "--tool", "read_files")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["properties"]["files"]["items"]["type"] == "object"
    assert result.stdout.startswith('{\n  "type": "object",\n')
    assert result.stdout.endswith("}\n")


def test_several_tools_are_transformed_to_a_list_with_all_that_was_said_of_them() -> None:
    tools = json.loads(schema("transform", str(DUMP)).stdout)["tools"]
    originals = json.loads(DUMP.read_text(encoding="utf-8"))["tools"]

    for new, old in zip(tools, originals, strict=True):
        assert new == {**old, "inputSchema": advertise(old["inputSchema"]).schema}
        assert list(new) == list(old)


SHAPED: dict[str, Callable[[Any, Any], Any]] = {
    "mcp": lambda name, taken: {"name": name, "inputSchema": taken},
    "gemini-parameters": lambda name, taken: {"name": name, "parameters": taken},
    "gemini-vertex": lambda name, taken: {"name": name, "parameters": taken},
    "gemini-json": lambda name, taken: {"name": name, "parametersJsonSchema": taken},
    "openai": lambda name, taken: {"type": "function", "function": {"name": name, "parameters": taken}},
    "openai-strict": lambda name, taken: {
        "type": "function",
        "function": {"name": name, "strict": True, "parameters": taken},
    },
    "anthropic": lambda name, taken: {"name": name, "input_schema": taken},
}


@pytest.mark.parametrize("target", TARGETS)
def test_several_tools_take_the_shape_in_which_the_target_is_given_them(target: str, tmp_path: Path) -> None:
    tools = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in ("read", "list")]
    printed = json.loads(schema("transform", "--target", target, written(tmp_path, tools)).stdout)
    declared = printed["tools"] if target == "mcp" else printed
    declared = declared[0]["functionDeclarations"] if target.startswith("gemini") else declared

    taken = projected({"type": "object", "properties": {}}, target).schema
    assert declared == [SHAPED[target](name, taken) for name in ("read", "list")]


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "mcp"])
def test_what_is_transformed_for_a_target_is_compatible_with_it(target: str, tmp_path: Path) -> None:
    file = written(tmp_path, json.loads(schema("transform", "--target", target, str(DUMP)).stdout))

    assert schema("check", "--target", target, file).exit_code == 0


def test_descriptions_come_along(tmp_path: Path) -> None:
    tools = [tool("read") | {"description": "Read a file"}, tool("list") | {"description": 3}]
    declared = json.loads(schema("transform", "--target", "anthropic", written(tmp_path, tools)).stdout)

    assert [each.get("description") for each in declared] == ["Read a file", None]


def test_renamed_parameters_are_told_on_stderr(tmp_path: Path) -> None:
    schema_of_it = {"type": "object", "properties": {"$top": {"type": "integer"}}}
    result = schema("transform", "--target", "anthropic", written(tmp_path, schema_of_it, "read.json"))
    (new,) = json.loads(result.stdout)["properties"]

    assert new != "$top"
    assert result.stderr == f"read: `$top` is called `{new}` there; give it back its name in calls\n"


def test_what_a_transformed_schema_no_longer_takes_or_refuses_is_told_on_stderr(tmp_path: Path) -> None:
    counts = {"type": "object", "additionalProperties": {"type": "integer"}}
    sizes = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "title": "Sizes"}
    schema_of_it = {"type": "object", "properties": {"counts": counts, "sizes": sizes}, "required": ["counts", "sizes"]}
    result = schema("transform", "--target", "openai-strict", written(tmp_path, schema_of_it, "read.json"))

    assert result.exit_code == 0
    narrowed, lossy = result.stderr.splitlines()
    assert narrowed.startswith("read: $.properties.counts: narrowed: strict mode takes no names but those declared")
    assert lossy.startswith("read: $.properties.sizes: lossy: `uniqueItems` cannot be said here")


def test_a_schema_is_transformed_for_one_target() -> None:
    twice = schema("transform", "--target", "openai", "--target", "openai", str(DUMP))
    two = schema("transform", "--target", "openai", "--target", "mcp", str(DUMP))

    assert (twice.exit_code, two.exit_code) == (0, 2)
    assert "a schema is transformed for one --target" in two.stderr


# Differences


def test_a_difference_shows_both_schemas_beside_each_other() -> None:
    lines = schema("diff", str(DUMP)).stdout.splitlines()

    assert lines[1].split() == ["original", "transformed"]
    assert any(re.fullmatch(r' +"\$defs": \{ +<', line) for line in lines)
    assert any(re.fullmatch(r' +> +"properties": \{', line) for line in lines)
    assert lines[-1] == "list_roots  unchanged"
    assert all(len(line) <= 100 for line in lines[1:])


def test_the_width_of_a_pipe_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 140):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = schema("diff", str(DUMP)).stdout.splitlines()
        assert lines[1].index("transformed") == (columns - 3) // 2 + 3
        assert max(map(len, lines[1:])) <= columns


def test_a_key_that_only_moved_is_no_difference(tmp_path: Path) -> None:
    moved = {"properties": {"b": {"description": "x", "type": "string"}}, "type": "object"}

    assert schema("diff", written(tmp_path, moved, "read.json")).stdout == "read  unchanged\n"


def test_the_report_shows_the_start_of_a_long_difference(tmp_path: Path) -> None:
    many = {f"p{number}": {"const": str(number)} for number in range(40)}
    file = written(tmp_path, [tool("read", **many)])

    assert re.search(r"\.\.\. \d+ lines more: `toolmason schema diff` shows them", schema("check", file).stdout)
    assert "lines more" not in schema("diff", file).stdout


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, JSON, st.integers(0, 120))
def test_rows_hold_both_texts_within_the_width(left: Any, right: Any, width: int) -> None:
    found = rows(pretty(left), pretty(right))

    if all(row.mark != "~" for row in found):
        assert [row.left for row in found if row.mark != ">"] == pretty(left)
        assert [row.right for row in found if row.mark != "<"] == pretty(right)
    for line in side_by_side(found, width, colour=False):
        assert cells(line) <= max(width, 40)
        assert line.isprintable()
    plain = "\n".join(side_by_side(found, width, colour=False))
    assert ANSI.sub("", "\n".join(side_by_side(found, width, colour=True))).split() == plain.split()


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_lines_alike_are_left_out_and_counted(left: list[str], right: list[str]) -> None:
    found = rows(left, right)
    skipped = sum(int(row.left.split()[1]) for row in found if row.mark == "~")

    assert len([row for row in found if row.mark not in {"~", ">"}]) + skipped == len(left)
    assert len([row for row in found if row.mark not in {"~", "<"}]) + skipped == len(right)


def test_very_long_texts_are_not_matched_line_by_line() -> None:
    left = [str(number) for number in range(6_000)]
    right = [*left[:3_000], "new", *left[3_001:]]
    found = rows(left, right)

    assert Row("3000", "|", "new") in found
    assert len(found) == 9
    assert [row.mark for row in rows(left, left)] == ["~"]
    assert [row.mark for row in rows(left, [*left, "more"])][-1] == ">"


@given(st.text(max_size=80), st.integers(10, 40))
def test_a_long_line_is_broken_without_loss(text: str, width: int) -> None:
    shown = visible(text)
    pieces = wrapped(shown, width)

    assert all(cells(piece) <= width for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(shown.split())


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("é", 1)])
def test_columns_are_counted_as_a_terminal_does(text: str, columns: int) -> None:
    assert cells(text) == columns


@given(JSON, JSON)
def test_putting_keys_in_order_changes_no_value(value: Any, model: Any) -> None:
    assert in_order_of(value, model) == value
    assert in_order_of(value, value) == value


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e\x07"
    file = written(tmp_path, [tool(f"a{evil}", **{f"b{evil}": {"$ref": f"#/{evil}", "description": evil}})])
    for command in ("check", "diff"):
        shown = schema(command, file).stdout
        assert not {"\x1b", "\u202e", "\x07"} & set(shown)
    assert "a\\u001b[2J\\u202e\\u0007" in shown
    assert not {"\x1b", "\u202e", "\x07"} & set(schema("transform", file).output)
    assert not {"\x1b", "\u202e", "\x07"} & set(schema("check", "--tool", "b", file).stderr)
    left_out = [{"type": f"x{evil}", "name": evil}]
    assert not {"\x1b", "\u202e", "\x07"} & set(schema("check", written(tmp_path, left_out)).stderr)


# On a terminal


def on_a_terminal(*arguments: str, columns: int, **environment: str) -> str:
    """Give what the command prints on a terminal of so many columns."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "toolmason", "schema", *arguments]
    settings = {"TERM": "xterm", "COLUMNS": str(columns), **environment}
    env = {name: value for name, value in {**os.environ, **settings}.items() if name != "NO_COLOR" or value == "1"}
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=subprocess.PIPE, env=env)
    os.close(child)
    said = b""
    try:
        while part := os.read(parent, 65536):
            said += part
    except OSError:  # Linux ends a terminal so
        pass
    finally:
        os.close(parent)
        _, stderr = process.communicate(timeout=30)
    assert not stderr
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_is_shown_colour_within_its_width() -> None:
    shown = on_a_terminal("diff", str(DUMP), columns=70, NO_COLOR="")
    plain = on_a_terminal("diff", str(DUMP), columns=70, NO_COLOR="1")

    assert "\x1b[31m" in shown
    assert "\x1b[32m" in shown
    assert "\x1b" not in plain
    assert ANSI.sub("", shown).split() == plain.split()
    assert max(map(len, plain.splitlines()[1:])) <= 70
    assert max(map(len, plain.splitlines())) > 60


def test_colour_changes_nothing_but_colour_in_the_report() -> None:
    tools = audit(from_file(str(DUMP)), tuple(Target))
    for width in (40, 80, 200):
        plain, coloured = (
            "\n".join(
                [
                    *text_report(
                        tools, targets=tuple(Target), threshold=Severity.REFUSED, page=Page(width=width, colour=each)
                    ),
                    *text_diff(tools, page=Page(width=width, colour=each)),
                ]
            )
            for each in (False, True)
        )
        assert ANSI.sub("", coloured).split() == plain.split()
        assert "\x1b[1;" not in plain


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


def reading_of(library: Project) -> Reading:
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

    assert ".".join(map(str, manifest_place(pointer, found, {each.name: each for each in server.types}))) == place


def test_every_node_of_the_schemas_that_are_sent_has_a_place_of_its_own(library: Project) -> None:
    reading = reading_of(library)
    types: Any = {each.name: each for each in reading.server.types}

    def look(tool: Tool, node: Any, pointer: str) -> None:
        place = reading.document.locate(manifest_place(pointer, tool, types))
        assert place != Location(PurePosixPath("library.toml")), pointer
        for key, value in node.items() if isinstance(node, dict) else ():
            look(tool, value, f"{pointer}/{key}")

    for each in reading.server.tools:
        look(each, each.input_schema, "")


def test_findings_in_a_manifest_stand_at_its_lines(library: Project) -> None:
    (source_name,) = {each["source"] for each in report("--manifest", str(library.manifest))["tools"]}
    found = report("--manifest", str(library.manifest), "--fail-on", "note")["tools"]
    places = {(each["name"], issue["pointer"]): issue["location"] for each in found for issue in each["issues"]}

    assert source_name == "library.toml"
    assert [each["name"] for each in found] == ["find_books", "raw", "by_file"]
    words = places["find_books", "/properties/queries/items/properties/words/minLength"]
    assert (words["file"], words["line"]) == ("library.toml", line_of("fields.words"))
    assert places["raw", "/properties/either/oneOf"]["line"] == line_of("properties.either")
    assert places["by_file", "/properties/either/const"] == {"file": "schemas/by_file.json", "line": 4, "column": 16}


@pytest.mark.parametrize("layout", ["text", "github", "sarif"])
def test_every_layout_places_findings_in_the_manifest(layout: str, library: Project) -> None:
    result = schema("check", "--format", layout, "--fail-on", "note", "--manifest", str(library.manifest))
    line = line_of("properties.either")

    assert result.exit_code == 1
    assert {
        "text": f"  library.toml:{line}:",
        "github": f"file=library.toml,line={line},",
        "sarif": f'"startLine": {line},',
    }[layout] in result.stdout


def test_a_schema_given_whole_is_judged_as_it_is_sent_and_what_was_given_up_stands_where_it_was_written(
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

    for each in audit(from_manifest(reading, REPOSITORY), tuple(Target)[:4]):
        assert each.is_compatible(Severity.NARROWED), each.issues


# Hooks and actions


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

    fine, bad = ran("--target", "mcp", *meant[:2]), ran(*meant[:2])
    assert (fine.returncode, bad.returncode) == (0, 1)
    assert f"  tools.json:{REF_LINE}:{REF_COLUMN}" in bad.stdout
    assert hook["language"] == "python"


def test_the_pre_commit_hook_for_servers_is_given_no_files() -> None:
    hooks = {each["id"]: each for each in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    hook = hooks["toolmason-schema-server"]
    command = [sys.executable, "-m", *shlex.split(hook["entry"]), "--server", f"{ODD_SERVER} plain"]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert hook["pass_filenames"] is False
    assert (ran.returncode, ran.stdout.startswith("only  COMPATIBLE")) == (0, True)


ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


def acted(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's own script as a runner would: bash, with the inputs as its environment."""
    home = folder / "runner" / "toolmason-schema" / "bin"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "toolmason"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m toolmason "$@"\n', encoding="utf-8")
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


def test_no_expression_stands_in_a_script_of_the_action() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    assert '"$GITHUB_ACTION_PATH"' in INSTALL["run"]


def test_the_action_annotates_files(tmp_path: Path) -> None:
    shutil.copy(DUMP, tmp_path / "a tools.json")
    shutil.copy(DUMP, tmp_path / "b.json")
    ran = acted(tmp_path, source="a tools.json\r\n\nb.json\n")

    assert ran.returncode == 1
    assert f"::error file=a tools.json,line={REF_LINE}," in ran.stdout
    assert f"::error file=b.json,line={REF_LINE}," in ran.stdout
    assert ran.stderr.startswith("4 tools for 5 targets: ")


def test_the_action_asks_a_server_and_takes_every_choice(tmp_path: Path) -> None:
    fine = acted(tmp_path, server=f"{ODD_SERVER} pages", target="mcp\nopenai", timeout="30")
    chosen = acted(tmp_path, server=f"{ODD_SERVER} malformed", tool="good", fail_on="narrowed")
    lenient = acted(tmp_path, server=f"{ODD_SERVER} malformed", fail_on="never")

    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "", "3 tools for 2 targets: 3 compatible.\n")
    assert (chosen.returncode, lenient.returncode) == (0, 0)
    assert "::error title=schema/refused/inputSchema::" in lenient.stdout


def test_the_action_writes_sarif(tmp_path: Path) -> None:
    shutil.copy(DUMP, tmp_path / "tools.json")
    ran = acted(tmp_path, source="tools.json", sarif_file="out.sarif")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]


def test_the_action_checks_the_project_unless_something_is_named(project: Project) -> None:
    ran = acted(project.root)

    assert ran.returncode == 0, ran.stdout
    assert re.match(r"\d+ tools? for 5 targets: ", ran.stderr)


@pytest.mark.parametrize("text", ["$(touch made)", "`touch made`", "x; touch made", "x' \" ; touch made #", "--help"])
def test_inputs_of_the_action_are_never_run(text: str, tmp_path: Path) -> None:
    for name in ("source", "server", "tool", "target", "fail_on", "timeout", "header", "sarif_file"):
        ran = acted(tmp_path, **{name: text})
        assert ran.returncode != 0
    assert not (tmp_path / "made").exists()


def test_text_of_the_report_needs_no_terminal() -> None:
    stream = StringIO()
    stream.writelines(text_report((), targets=(Target.MCP,), threshold=Severity.NOTE, page=Page(width=0)))

    assert stream.getvalue() == "0 tools for mcp: 0 compatible."


def test_transform_says_what_nobody_can_send_and_does_not_pass_for_a_success() -> None:
    result = schema("transform", "-", stdin=b'{"type": "object", "properties": {"x": {"$ref": "#/none"}}}')

    assert result.exit_code == 1
    assert "`#/none` leads nowhere" in result.stderr


def test_a_list_of_no_known_shape_is_no_success() -> None:
    result = schema("check", "-", stdin=b'[{"type": "object", "properties": {}}]')

    assert result.exit_code == 2
    assert result.stdout == ""
