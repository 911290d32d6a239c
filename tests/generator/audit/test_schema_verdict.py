"""The verdict of `toolmason schema check`: causes, accepted findings, and code that fixes a server."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.audit.audit import audit
from toolmason.audit.groups import group_issues
from toolmason.audit.sources import Source
from toolmason.audit.tool_lists import parse_tools
from toolmason.commands import toolmason
from toolmason.schema import Severity, Target
from toolmason.schema.hosts import hosts
from toolmason.schema.providers import providers
from toolmason.schema.usage import clients, share_of_clients

REPOSITORY = Path(__file__).parents[3]
NODE_MODULES = REPOSITORY / "tests" / "node_modules"
NODE = NODE_MODULES / ".bin" / "node"
MAX_LINES = 40


def check(*arguments: str) -> Result:
    return CliRunner().invoke(toolmason, ["schema", "check", *arguments])


def tool(name: str, *, root: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties, **(root or {})}}


def write(path: Path, data: Any) -> str:
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


CLOSED = {"additionalProperties": False}
CLOSED_TOOLS = [
    tool(f"tool_{number}", root=CLOSED | {"$schema": "http://json-schema.org/draft-07/schema#"}) for number in range(25)
]


# Causes


def test_a_cause_of_many_tools_is_one_group_with_one_fix(tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", CLOSED_TOOLS)
    text, report = check("--max-share", "0", file), json.loads(check("--json", file).stdout)

    assert text.exit_code == 1
    assert text.stdout.startswith("breaks  additionalProperties: 25 tools\n")
    assert '\n  Line: "additionalProperties": false\n' in text.stdout
    assert text.stdout.count("  Fix: ") == len(report["groups"]) == 2
    assert len(text.stdout.splitlines()) <= MAX_LINES
    crash, note = report["groups"]
    assert (crash["severity"], len(crash["tools"])) == ("breaks", 25)
    assert crash["fix"] == "remove it from the schema that the server sends"
    assert (note["pattern"], note["severity"]) == ("$schema", "note")
    assert set(report["tools"][0]) >= {"name", "status", "issues", "transforms_applied", "original_schema"}


def test_the_reference_server_passes_on_one_line() -> None:
    script = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    result = check("--server", shlex.join([str(NODE), str(script)]))

    assert result.exit_code == 0, result.output
    assert re.fullmatch(
        r"13 tools for mcp: 13 compatible \(14 notes\)\. "
        r"Schemas: about [\d,]+ tokens as declared, [\d,]+ transformed\.\n",
        result.stdout,
    )


def test_issues_of_one_pattern_with_different_causes_have_different_groups(tmp_path: Path) -> None:
    tools = [{"name": "a"}, {"name": "b", "inputSchema": []}, {"name": "c"}, tool("c"), tool("a")]
    groups = json.loads(check("--json", write(tmp_path / "tools.json", tools)).stdout)["groups"]

    assert [(group["message"], group["fix"], group["tools"]) for group in groups if group["severity"] == "refused"] == [
        ("the tool has no `inputSchema`, which MCP requires", 'add `{"type": "object", "properties": {}}`', ["a", "c"]),
        ("an earlier tool has the same name", "rename it", ["c", "a"]),
        ("the schema must be an object, not an array", "write an object", ["b"]),
    ]


def test_a_compatible_tool_is_shown_with_its_findings_and_the_schema_to_send(tmp_path: Path) -> None:
    result = check(write(tmp_path / "tools.json", [tool("a", x={"type": "string", "const": "a"})]))

    assert result.exit_code == 0
    for text in (
        "STATUS: COMPATIBLE\n",
        "  [1] lossy  $.properties.x.const ",
        "\nTRANSFORMS APPLIED\n",
        "\nSCHEMA DIFF\n",
    ):
        assert text in result.stdout


def test_a_note_without_a_fix_has_its_cause(tmp_path: Path) -> None:
    tools = [*(tool(name, x={"type": "string", "enum": []}) for name in "ab"), tool("c", x={"const": 1})]
    result = check(write(tmp_path / "tools.json", tools))

    assert "\nnote  empty-enum: 2 tools\n  no value is valid\n" in result.stdout


PROPERTIES = st.sampled_from(
    [{"type": "string"}, {"const": 1}, {"type": ["string", "null"]}, {"$ref": "#/none"}, {"type": "object", **CLOSED}]
)
TOOLS = st.lists(
    st.builds(
        lambda name, properties: tool(name, **properties),
        st.sampled_from("abc"),
        st.dictionaries(st.sampled_from("xyz"), PROPERTIES),
    ),
    min_size=1,
    max_size=4,
)


@given(TOOLS, st.sets(st.sampled_from(list(Target))))
def test_each_issue_is_in_one_group_of_its_severity_and_pattern(tools: Any, targets: set[Target]) -> None:
    source = Source(name="x", tools=parse_tools(tools, "x").tools)
    audited = audit(source, sorted(targets))
    groups = group_issues(audited)

    assert Counter((id(tool), issue) for group in groups for tool, issue in group.members) == Counter(
        (id(tool), issue) for tool in audited for issue in tool.issues
    )
    for group in groups:
        assert len({(issue.finding.severity, issue.finding.pattern) for _, issue in group.members}) == 1
    ranks = [group.first.finding.severity.rank for group in groups]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("properties", "fail_on", "code"),
    [
        ({"x": {"const": "a"}}, None, 0),
        ({"x": {"const": "a"}}, "lossy", 1),
        ({"x": {"type": "object", **CLOSED}}, None, 0),
        ({"x": {"type": "object", **CLOSED}}, "refused", 0),
        ({"x": {"$ref": "#/none"}}, None, 1),
        ({"x": {"$ref": "#/none"}}, "never", 0),
        ({"x": {"$ref": "#"}}, None, 1),
    ],
)
def test_a_tool_is_incompatible_if_a_client_refuses_it_or_crashes(
    properties: Any, fail_on: str | None, code: int, tmp_path: Path
) -> None:
    file = write(tmp_path / "tools.json", [tool("a", **properties)])

    assert check(file, *(["--fail-on", fail_on] if fail_on else [])).exit_code == code


def test_the_schema_of_a_manifest_tool_has_only_the_types_that_it_uses() -> None:
    report = json.loads(check("--json", "--manifest", str(REPOSITORY / "manifest" / "workbench.toml")).stdout)
    schemas = {tool["name"]: tool["original_schema"] for tool in report["tools"]}

    assert schemas["read_files"]["$defs"].keys() == {"FileReadRequest"}
    assert "$defs" not in schemas["list_allowed_directories"]


# The share of clients


@pytest.mark.parametrize(
    ("root", "options", "code"),
    [
        pytest.param(CLOSED, [], 0, id="one-of-many-clients"),
        pytest.param(CLOSED, ["--max-share", "1"], 1, id="less-is-accepted"),
        pytest.param(CLOSED, ["--client", "google-genai"], 1, id="the-client"),
        pytest.param(CLOSED, ["--client", "codex", "--client", "google-genai"], 1, id="one-of-the-clients"),
        pytest.param(CLOSED, ["--client", "codex"], 0, id="another-client"),
        pytest.param(CLOSED, ["--client", "gemini-cli"], 0, id="another-client-of-the-provider"),
        pytest.param(CLOSED, ["--provider", "gemini-api"], 0, id="the-provider-of-the-client"),
        pytest.param({"oneOf": [{}]}, ["--max-share", "100"], 0, id="all-is-accepted"),
        pytest.param({"oneOf": [{}]}, ["--max-share", "100", "--provider", "openai"], 1, id="the-provider"),
        pytest.param({"oneOf": [{}]}, ["--max-share", "100", "--client", "codex"], 1, id="client-of-the-provider"),
        pytest.param({"oneOf": [{}]}, ["--max-share", "100", "--client", "gemini-cli"], 0, id="client-of-another"),
        pytest.param({"type": 3}, ["--max-share", "99"], 1, id="everybody"),
        pytest.param({"type": 3}, ["--max-share", "100", "--client", "codex"], 1, id="everybody-is-each"),
        pytest.param({"type": 3}, ["--max-share", "100", "--provider", "openai"], 1, id="everybody-is-each-provider"),
        pytest.param(CLOSED, ["--target", "gemini-parameters"], 1, id="a-provider-is-all-of-its-users"),
    ],
)
def test_a_tool_fails_for_many_clients_or_a_named_one(
    root: dict[str, Any], options: list[str], code: int, tmp_path: Path
) -> None:
    result = check(write(tmp_path / "tools.json", [tool("a", root=root), tool("b")]), *options)

    assert result.exit_code == code, result.output


def test_the_cause_that_fails_is_shown_first(tmp_path: Path) -> None:
    cycle = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    file = write(
        tmp_path / "tools.json", [tool("a", root=CLOSED), tool("b", root=CLOSED), {"name": "c", "inputSchema": cycle}]
    )

    assert check(file).stdout.startswith("breaks  recursive-$ref: 1 tool\n")
    html = check(file, "--format", "html").stdout
    assert html.index("recursive-$ref") < html.index("additionalProperties</td>")
    assert '<td data-name="verdict" class="fails">fails</td>' in html


def test_the_crash_of_one_client_is_shown_once(tmp_path: Path) -> None:
    result = check(write(tmp_path / "tools.json", CLOSED_TOOLS))

    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [
        "breaks  additionalProperties: 25 tools; 3 % of clients: google-genai for Python",
        "  Fix: remove it from the schema that the server sends",
    ]
    assert "\n25 tools for mcp: 25 compatible (25 breaks, 25 notes); 3 % of clients fail.\n" in result.stdout


@pytest.mark.parametrize(
    ("option", "name", "hint"),
    [
        ("--client", "claude-coed", "did you mean `claude-code`?"),
        ("--client", "", "use one of ai-sdk, "),
        ("--provider", "opnai", "did you mean `openai`?"),
        ("--provider", "", "use one of openai, "),
    ],
)
def test_an_unknown_client_is_refused(option: str, name: str, hint: str, tmp_path: Path) -> None:
    result = check(write(tmp_path / "tools.json", [tool("a")]), option, name)

    assert result.exit_code == 2
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("provider", "name", "schema", "pattern"),
    [
        ("groq", "a", {"type": "object", "required": ["a"]}, "required-alone"),
        ("moonshot", "1st", {"type": "object", "properties": {}}, "tool-name"),
        ("mistral", "a" * 65, {"type": "object", "properties": {}}, "tool-name"),
        ("xai", "a", {"type": "object", "properties": {"x": {"type": "string", "maxLength": 5}}}, "maxLength"),
        ("bedrock", "a", {"type": "object", "properties": {"x": {"type": "integer", "maximum": 2**53}}}, "int32"),
    ],
)
def test_a_named_provider_is_checked_by_its_own_rules(
    provider: str, name: str, schema: Any, pattern: str, tmp_path: Path
) -> None:
    other = {"type": "object", "properties": {}, "required": []}
    file = write(tmp_path / "tools.json", [{"name": name, "inputSchema": schema}, {"name": "b", "inputSchema": other}])
    plain, named = (json.loads(check(file, *options, "--json").stdout) for options in ([], ["--provider", provider]))

    assert pattern not in {group["pattern"] for group in plain["groups"]}
    groups = [group for group in named["groups"] if group["pattern"] == pattern]
    assert [(group["targets"], group["severity"], group["fails"]) for group in groups] == [
        ([provider], "refused", True)
    ]
    assert named["summary"]["incompatible"] == 1


def test_a_provider_limits_the_tools_of_a_request(tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [tool(f"tool_{number}", root=CLOSED) for number in range(21)])

    assert check(file, "--provider", "anthropic-strict").exit_code == 1
    assert check(file, "--provider", "anthropic-strict", "--ignore", "tool-count: only some are strict").exit_code == 0


def test_the_share_is_that_of_votes() -> None:
    everybody = share_of_clients(clients().keys(), [])
    google = share_of_clients([], ["gemini-api", "vertex-ai"])

    assert everybody == pytest.approx(1)
    assert share_of_clients([], [*providers().providers, "bedrock"]) == pytest.approx(1)
    assert share_of_clients([], []) == 0
    assert google < share_of_clients(["codex"], ["gemini-api", "vertex-ai"]) < 1
    assert share_of_clients(["gemini-cli"], ["gemini-api", "vertex-ai"]) == pytest.approx(google)


def test_rules_name_known_clients_and_providers() -> None:
    names = {name for rule in providers().rules for name in rule.clients}
    chosen = {name for client in clients().values() for name in client.providers}
    named = {name for rule in providers().rules for name in rule.providers}

    assert names
    assert names <= clients().keys()
    assert chosen | named <= providers().providers.keys() | hosts().keys()


def test_measured_shares_are_those_of_the_reasons() -> None:
    for rule in providers().rules:
        measured = re.match(r"(\d+)(?: to \d+)? of 25 clients", rule.reason)
        assert rule.kept_by == (int(measured[1]) if measured else None), rule.reason


@pytest.mark.parametrize("layout", ["markdown", "html"])
def test_a_page_has_a_row_for_each_cause(layout: str, tmp_path: Path) -> None:
    tools = [*CLOSED_TOOLS, tool("bad", **{"a|b <i>": {"type": "array"}})]
    page = check(write(tmp_path / "tools.json", tools), "--format", layout).stdout

    row = {
        "markdown": "| breaks | additionalProperties | tool_0, ",
        "html": '<tr><td data-name="verdict">breaks</td><td data-name="cause">additionalProp',
    }
    assert page.count(row[layout]) == 1
    assert "<i>" not in page
    assert "a|b" not in page or layout == "html"
    assert "and 15 more" in page
    assert "26 tools for mcp: 25 compatible, 1 incompatible" in page


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        ([tool("a")], "all clients"),
        (CLOSED_TOOLS, "97 % of clients"),
        ([*CLOSED_TOOLS, tool("a", x={"type": "array"})], "1 of 26 tools fail"),
    ],
)
def test_a_badge_says_the_verdict(tools: Any, text: str, tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", tools)
    picture, data = tmp_path / "badge.svg", tmp_path / "badge.json"
    codes = {check(file, "--badge", str(path)).exit_code for path in (picture, data)}
    badge = json.loads(data.read_text(encoding="utf-8"))

    assert codes == {int("fail" in text)}
    assert ET.parse(picture).getroot().get("aria-label") == f"MCP schemas: {text}"
    assert badge["message"] == text
    assert (badge["color"] == "cf222e") == ("fail" in text)


# Accepted findings


def test_only_findings_that_the_baseline_lacks_count(tmp_path: Path) -> None:
    old, bad = tool("old", root=CLOSED), tool("new", x={"$ref": "#/none"})
    baseline = str(tmp_path / "baseline.json")
    file = write(tmp_path / "tools.json", [old])
    assert check(file, "--json", "-o", baseline, "--max-share", "0").exit_code == 1
    known = check(file, "--baseline", baseline, "--max-share", "0")
    write(tmp_path / "tools.json", [tool("first"), old, bad])
    grown = check(file, "--baseline", baseline)

    assert (known.exit_code, grown.exit_code) == (0, 1)
    assert "breaks  additionalProperties: 1 tool; accepted: in the baseline\n" in grown.stdout
    assert "refused  dangling-$ref: 1 tool\n" in grown.stdout
    assert "\n3 tools for mcp: 2 compatible, 1 incompatible (1 refused, 1 accepted).\n" in grown.stdout
    assert "additionalProperties" not in check(file, "--baseline", baseline, "--format", "github").stdout


def test_a_finding_that_became_worse_is_new(tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [tool("a", root=CLOSED)])
    report = json.loads(check(file, "--json").stdout)
    report["tools"][0]["issues"][0]["severity"] = "lossy"

    assert check(file, "--max-share", "0", "--baseline", write(tmp_path / "baseline.json", report)).exit_code == 1


@given(TOOLS)
def test_a_report_is_its_own_baseline(tmp_path_factory: pytest.TempPathFactory, tools: Any) -> None:
    folder = tmp_path_factory.mktemp("baseline")
    file, baseline = write(folder / "tools.json", tools), str(folder / "baseline.json")
    check(file, "--json", "-o", baseline)

    assert check(file, "--baseline", baseline, "--fail-on", "note").exit_code == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tools": [{"name": "a"}]}', '{"tools": []}', "\x00"])
def test_a_baseline_that_is_not_a_report_is_refused(text: str, tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [tool("a")])
    baseline = tmp_path / "baseline.json"
    baseline.write_text(text, encoding="utf-8")
    result = check(file, "--baseline", str(baseline))

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert check(file, "--baseline", str(tmp_path / "none.json")).exit_code == 2


def test_an_ignored_rule_is_shown_with_its_reason(tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [tool("a", root=CLOSED)])
    rule = "additionalProperties: none of our clients is Python"
    text, report = check(file, "--ignore", rule), json.loads(check(file, "--json", "--ignore", rule).stdout)

    assert text.exit_code == 0
    assert "breaks  additionalProperties: 1 tool; accepted: none of our clients is Python\n" in text.stdout
    assert report["groups"][0]["accepted"] == report["tools"][0]["issues"][0]["accepted"] == rule.partition(": ")[2]
    assert report["summary"]["incompatible"] == 0
    unused = check(file, "--max-share", "0", "--ignore", "oneOf: it is never used")
    assert (unused.exit_code, unused.stderr) == (1, "--ignore oneOf: no finding has this pattern\n")


@pytest.mark.parametrize("text", ["additionalProperties", "additionalProperties:", ": why", "additionalProperties: "])
def test_a_rule_is_ignored_only_with_a_reason(text: str, tmp_path: Path) -> None:
    file = write(tmp_path / "tools.json", [tool("a")])
    result = check(file, "--ignore", text)

    assert result.exit_code == 2
    assert "--ignore must be `PATTERN: REASON`" in result.stderr


# Code for servers

TYPESCRIPT_SERVER = """\
import {{ readFileSync }} from "node:fs";
import {{ Server }} from "@modelcontextprotocol/sdk/server/index.js";
import {{ StdioServerTransport }} from "@modelcontextprotocol/sdk/server/stdio.js";
import {{ ListToolsRequestSchema }} from "@modelcontextprotocol/sdk/types.js";

const server = new Server({{ name: "server", version: "1" }}, {{ capabilities: {{ tools: {{}} }} }});
server.setRequestHandler(ListToolsRequestSchema, async () => ({{ tools: {tools} }}));
const transport = new StdioServerTransport();
{code}
await server.connect(transport);
"""
PYTHON_SERVER = """\
from mcp.server import MCPServer
from pydantic import BaseModel, ConfigDict
{code}

class Query(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str

server = {name}("server")

@server.tool()
def find(query: Query) -> str:
    return query.text

server.run("stdio")
"""


def printed_code(result: Result) -> str:
    """Return the code of a report: the lines between the instruction and the summary."""
    _, _, code = result.stdout.partition("To fix all tools at once")
    assert code, result.output
    return code.partition(":\n")[2].rpartition("\n\n")[0]


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param([tool("a", root=CLOSED, x={"type": "object", **CLOSED}), tool("b", root=CLOSED)], id="flags"),
        pytest.param([tool("a", root={"oneOf": [{"required": ["x"]}, {}]}, x={"type": "array"})], id="any-cause"),
    ],
)
def test_the_printed_typescript_fixes_a_server(tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    script = tmp_path / "server.mjs"
    command = shlex.join([str(NODE), str(script)])

    script.write_text(TYPESCRIPT_SERVER.format(tools=json.dumps(tools), code=""), encoding="utf-8")
    before = check("--server", command, "--max-share", "0")
    CliRunner().invoke(toolmason, ["schema", "transform", "--server", command, "-o", "tool-schemas.json"])
    code = printed_code(before)
    script.write_text(TYPESCRIPT_SERVER.format(tools=json.dumps(tools), code=code), encoding="utf-8")
    after = check("--server", command, "--max-share", "0")

    assert before.exit_code == 1
    assert ("tool-schemas.json" in code) == ("oneOf" in json.dumps(tools))
    assert after.exit_code == 0, after.output
    assert f"{len(tools)} compatible" in after.stdout


def test_the_printed_python_fixes_a_server(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    command = shlex.join([sys.executable, str(script)])

    script.write_text(PYTHON_SERVER.format(code="", name="MCPServer"), encoding="utf-8")
    before = check("--server", command, "--max-share", "0")
    script.write_text(PYTHON_SERVER.format(code=printed_code(before), name="Server"), encoding="utf-8")
    after = check("--server", command)

    assert before.exit_code == 1
    assert after.exit_code == 0
    assert after.stdout.startswith("1 tool for mcp: 1 compatible. ")


def test_no_code_is_printed_where_none_helps(tmp_path: Path) -> None:
    provider = write(tmp_path / "provider.json", [{"name": "a", "input_schema": {"type": "string"}}])
    compatible = write(tmp_path / "compatible.json", [tool("a", x={"const": "a"})])

    for file in (provider, compatible):
        assert "To fix all tools at once" not in check(file).stdout


def test_rules_that_the_printed_code_does_not_fix_are_named(tmp_path: Path) -> None:
    bad_name = tool("a", **{"a b": {"type": "string"}})
    only = write(tmp_path / "only.json", [bad_name])
    some = write(tmp_path / "some.json", [bad_name, tool("b", root=CLOSED), tool("b", root=CLOSED)])

    assert "To fix all tools at once" not in check(only).stdout
    assert "\nThis code does not fix: name, property-name\n" in check(some, "--max-share", "0").stdout


def test_every_rule_that_fails_a_server_has_a_fix() -> None:
    from toolmason.schema.check import rules_for

    costly = [rule for rule in rules_for("mcp") if rule.severity is not Severity.NOTE]

    assert [rule.pattern for rule in costly if not rule.fix] == []
