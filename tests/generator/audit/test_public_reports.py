"""Public reports of rejected tools: `schema check` names the cause. Each schema is a reduction of the one reported."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from toolmason.audit.audit import audit
from toolmason.audit.sources import Source
from toolmason.audit.tool_lists import parse_tools
from toolmason.audit.verdict import Policy
from toolmason.schema.hosts import hosts
from toolmason.schema.usage import clients

TEXT: dict[str, Any] = {"type": "string"}
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
EMAIL = r"^(?!\.)(?!.*\.\.)[A-Za-z0-9_'+\-\.]*[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"


class Report(NamedTuple):
    """A public thread, the tools in it, the pattern of its cause, and the provider or client that it names."""

    source: str
    tools: list[dict[str, Any]]
    pattern: str
    named: str = ""
    fails: bool = True


def tool(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listed(schema: Any, name: str = "a", **members: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": schema, **members}]


def with_output(schema: Any) -> list[dict[str, Any]]:
    return listed(tool(a=TEXT), outputSchema=schema)


TREE = {**tool(root={"$ref": "#/$defs/Node"}), "$defs": {"Node": tool(child={"$ref": "#/$defs/Node"})}}
CHOICES = {**tool(code=TEXT, year=TEXT), "oneOf": [{"required": ["code"]}, {"required": ["year"]}], "required": []}
PAGES = {"type": "array", "items": {"type": "integer", "exclusiveMinimum": True, "minimum": 0}}
OPTIONS = {"type": "array", "anyOf": [{"items": TEXT}, {"items": tool(a=TEXT)}]}
CONDITION = {"if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["b"]}}
CHART = tool(data=tool(name=TEXT, children={"type": "array", "items": {"$ref": "#/properties/data"}}))

REPORTS = [
    # The declaration of the tool.
    Report("mims-harvard/ToolUniverse#35", listed(tool(), "n" * 65), "tool-name-length"),
    Report("mastra-ai/mastra#6302", listed(tool(), "n" * 67), "tool-name-length"),
    Report("defilantech/LLMKube#1525", listed(tool(), "mcp/docs/query"), "tool-name"),
    Report("refly-ai/refly#1794", listed(tool(), "exa.search"), "tool-name", "deepseek"),
    Report("langgenius/dify#22867", listed(tool(), "Code Calculator!"), "tool-name", "groq"),
    Report("xorbitsai/xagent#1340", listed(tool(), "coding.start"), "tool-name", "openai"),
    Report("mcp-router/mcp-router#176", listed(tool(), "123-tool"), "tool-name", "gemini-api"),
    Report("wonderwhy-er/DesktopCommanderMCP#79", listed(tool(), "1edit@block"), "tool-name", "vertex-ai"),
    Report("microsoft/vscode-copilot-release#11653", listed(tool()) * 129, "tool-count", "vscode"),
    Report("microsoft/vscode-copilot-release#9375", listed(tool()) * 129, "tool-count", "openai"),
    Report("aws-samples/remote-swe-agents#457", listed(tool(), "Complete Session"), "tool-name", "bedrock"),
    Report("BerriAI/litellm#12543", listed(tool(), "-search"), "tool-name", "gemini-api"),
    Report("Lucassssss/eechat#52", listed(tool(), "web.search"), "tool-name", "openai"),
    Report("XSpoonAi/spoon-core#16", listed(tool()) * 2, "name"),
    Report("Vizards/deepseek-v4-for-copilot#280", [{"name": "terminal_selection"}], "inputSchema"),
    # The schema of the output.
    Report("mrexodia/ida-pro-mcp#370", with_output({"type": "array", "items": TEXT}), "output-not-object"),
    Report("Wynelson94/longhand#10", with_output({"oneOf": [TEXT, tool()]}), "output-not-object"),
    Report("kenn-io/msgvault#626", with_output({"type": ["null", "array"], "items": TEXT}), "output-not-object"),
    Report("anthropics/claude-code#10825", with_output({"anyOf": [tool(), tool(a=TEXT)]}), "output-not-object"),
    Report("Anil-matcha/awesome-gpt-6-astra#11", with_output({"type": "array"}), "output-not-object", "cursor"),
    Report("anthropics/claude-code#77106", with_output(TREE), "output-recursive", "claude-code"),
    Report("anthropics/claude-code#88882", with_output({**tool(), "$schema": DRAFT_7}), "output-dialect", fails=False),
    Report("n8n-io/n8n#36361", with_output({**tool(a=TEXT), "$schema": DRAFT_7}), "output-dialect", fails=False),
    # The root.
    Report("github/github-mcp-server#1548", listed({"type": "object"}), "root-no-properties"),
    Report("Azure/azure-mcp#197", listed({"type": "object", "additionalProperties": False}), "root-no-properties"),
    Report("grafana/mcp-grafana#390", listed({"type": "object", "required": []}), "root-no-properties"),
    Report("github/copilot-cli#1825", listed({"type": "object", "additionalProperties": False}), "root-no-properties"),
    Report("github/copilot-cli#2223", listed({"type": "object"}), "root-no-properties", "copilot-cli"),
    Report("farion1231/cc-switch#5490", listed({"type": None}), "root-not-object", "deepseek"),
    Report("end-4/dots-hyprland#3640", listed({}), "empty-root", "deepseek"),
    Report("aaif-goose/goose#5064", listed({}), "empty-root", "bedrock"),
    Report("kirodotdev/Kiro#11026", listed({**tool(), "type": ["object", "null"]}), "root-not-object", "bedrock"),
    Report("sandialabs/atlas-ui-3#727", listed({"type": "string", "description": "A title."}), "root-not-object"),
    Report("Mearman/mcp-wayback-machine#3", listed({"$ref": "#/$defs/A", "$defs": {"A": tool()}}), "root-not-object"),
    Report("anthropics/claude-code#5973", listed({**tool(a=TEXT), "anyOf": [{"required": ["a"]}]}), "root-combinator"),
    Report("ProfSynapse/nexus#6", listed({**tool(a=TEXT), "allOf": [CONDITION]}), "root-combinator"),
    Report("FTShare-Lab/FTShare-MCP#7", listed(CHOICES), "root-combinator", "moonshot"),
    # Malformed schemas.
    Report("esengine/DeepSeek-Reasonix#4086", listed({**tool(a=TEXT), "required": None}), "null-keyword", "deepseek"),
    Report("anthropics/claude-code#44364", listed({**tool(), "required": None}), "null-keyword"),
    Report("Yanyutin753/LambChat#186", listed(tool(urls=None)), "not-a-schema"),
    Report("promptfoo/promptfoo#5965", listed({**tool(), "properties": {"$schema": DRAFT_7}}), "not-a-schema"),
    Report("ollama/ollama#10328", listed({"type": "object", "properties": []}), "malformed", "ollama"),
    Report("agno-agi/agno#3298", listed(tool(a={"anyOf": [{"type": ""}, TEXT]})), "unknown-type"),
    Report("Apicurio/apicurio-registry#10080", listed(tool(city={"type": "strng"})), "unknown-type"),
    Report("SylphxAI/pdf-reader-mcp#63", listed(tool(pages=PAGES)), "draft-04-exclusive", "mistral"),
    Report("microsoft/vscode#258652", listed(tool(a={**TEXT, "enum": ["is", "in", "is"]})), "duplicate-enum", "vscode"),
    Report("microsoft/vscode#245066", listed(tool(asn={**TEXT, "pattern": "(?i)^as"})), "pattern-dialect", fails=False),
    Report("metoro-io/mcp-golang#119", listed({**tool(), "$schema": DRAFT_2020}), "$schema", fails=False),
    # Types.
    Report("zed-industries/zed#44875", listed(tool(a={"type": ["string", "null"]})), "type-array", fails=False),
    Report("n8n-io/n8n#15553", listed(tool(a={"type": ["string", "number"]})), "type-array", fails=False),
    Report(
        "BerriAI/litellm#15755", listed(tool(a={"type": ["array", "null"], "items": TEXT})), "type-array", fails=False
    ),
    Report("arben-adm/mcp-sequential-thinking#12", listed(tool(a={"title": "A"})), "missing-type", fails=False),
    Report("webstudio-is/webstudio#6009", listed(tool(cursor={}, limit={})), "missing-type", fails=False),
    Report("BerriAI/litellm#28149", listed(tool(a={"default": None, "title": "A"})), "missing-type", "fireworks"),
    Report("docker/mcp-gateway#234", listed(tool(a={"description": "A value"})), "missing-type", "fireworks"),
    Report("langwatch/scenario#152", listed(tool(a={"enum": [True, False]})), "untyped-enum", fails=False),
    Report(
        "can1357/oh-my-pi#5952", listed(tool(a={"type": "array", "items": tool(b=True)})), "boolean-schema", "moonshot"
    ),
    Report("NousResearch/hermes-agent#66835", listed(tool()), "missing-required", "moonshot"),
    Report("openJiuwen-ai/jiuwenswarm#3942", listed(tool(options=OPTIONS)), "type-beside-anyOf", "moonshot"),
    # Arrays and objects.
    Report("microsoft/vscode#284536", listed(tool(status={"type": "array"})), "missing-items", "vscode"),
    Report("Lapis0x0/obsidian-yolo#293", listed(tool(coordinate={"type": "array"})), "missing-items"),
    Report("ivnvxd/mcp-server-odoo#27", listed(tool(a={"type": "array", "items": {}})), "empty-items", fails=False),
    Report("vercel/ai#4412", listed({**tool(a=TEXT), "required": ["a", "b"]}), "undeclared-required", fails=False),
    Report(
        "firecrawl/firecrawl-mcp-server#373",
        listed(tool(schema={"type": "object", "propertyNames": TEXT, "additionalProperties": False})),
        "closed-without-properties",
        fails=False,
    ),
    # Combinations, references and limits.
    Report("zed-industries/zed#45552", listed(tool(a={"anyOf": [tool(k={"const": "x"})]})), "const", fails=False),
    Report("google-gemini/gemini-cli#4121", listed(tool(a={**TEXT, "anyOf": [TEXT]})), "beside-anyOf", fails=False),
    Report(
        "zed-industries/zed#60162",
        listed({**tool(a={"$ref": "#/$defs/A"}), "$defs": {"A": tool()}}),
        "$ref",
        fails=False,
    ),
    Report("antvis/mcp-server-chart#132", listed(CHART), "recursive-$ref"),
    Report(
        "hideya/langchain-mcp-tools-ts#36",
        listed(tool(a={"type": "integer", "exclusiveMinimum": 0})),
        "exclusiveMinimum",
        fails=False,
    ),
    Report("codefuturist/email-mcp#58", listed(tool(to={**TEXT, "pattern": EMAIL})), "look-around", "lm-studio"),
    Report(
        "containers/kubernetes-mcp-server#758",
        listed(tool(a={**TEXT, "pattern": "^[a-z]+"})),
        "unanchored-pattern",
        "lm-studio",
    ),
    Report("firecrawl/firecrawl#4512", listed(tool(prompt={**TEXT, "maxLength": 10_000})), "repetition", "lm-studio"),
    Report(
        "ggml-org/llama.cpp#27087", listed(tool(a={**TEXT, "maxLength": 2_000})), "repetition", "llama-cpp", fails=False
    ),
    Report(
        "ggml-org/llama.cpp#17473",
        listed(tool(a={"type": "array", "items": TEXT, "minItems": 2_500})),
        "repetition",
        "llama-cpp",
        fails=False,
    ),
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.source)
def test_the_cause_of_a_report_is_named(report: Report) -> None:
    tools = parse_tools(report.tools, "tools")
    named = (report.named,) if report.named else ()
    is_client = report.named in clients() and report.named not in hosts()
    policy = Policy(clients=named) if is_client else Policy(providers=named)
    audited = audit(Source(name="report", tools=tools.tools), providers=policy.limited)
    issues = [issue for tool in audited for issue in tool.issues if issue.finding.pattern == report.pattern]

    assert issues
    assert any(map(policy.fails, issues)) == report.fails
    assert all(issue.finding.fix for issue in issues)
