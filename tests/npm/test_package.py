"""The npm package as its users have it: its size, its types, its errors, and a server with the TypeScript SDK."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import build
import pytest
from npm_package import SOURCE, TARGETS, NodeLibrary

CONSUMER = Path(__file__).with_name("consumer")
MAX_SIZE = 55_000
"""Maximum bytes of the packed package; docs/dependencies.md says what they are made of."""
ODD_VALUES = """\
import { advertise, check } from "toolmason-schema";
const cycle = { type: "object", properties: {} };
cycle.properties.self = cycle;
let deep = {};
for (let level = 0; level < 100_000; level++) deep = { type: "object", properties: { a: deep }, default: deep };
class Zod { _def = {}; parse() {} }
const frozen = Object.freeze({ type: "object", properties: Object.freeze({ a: { type: ["string", "null"] } }) });
const own = JSON.parse('{"type": "object", "properties": {"__proto__": {"type": "string"}, "b": {"type": "string"}}}');
const limit = (maximum) => ({ type: "object", properties: { a: { type: "integer", maximum } } });
console.log(JSON.stringify({
  cycle: advertise(cycle).schema.type,
  deep: [advertise(deep).schema.type, check(deep, "openai")[0].pattern],
  zod: check(new Zod(), "mcp")[0].pattern,
  function: check({ type: "object", properties: { a: () => 1 } }, "openai").map((finding) => finding.message)[0],
  undefined: advertise({ type: "object", properties: { a: { type: "string", description: undefined } } }).findings,
  frozen: advertise(frozen).schema,
  own: Object.keys(advertise(own).schema.properties),
  bigint: check(limit(2n ** 64n), "mcp").find((finding) => finding.pattern === "int64-bound").message.slice(0, 56),
  number: advertise(limit(1e300)).findings.map((finding) => finding.pattern),
}));
"""


def test_the_package_is_small_and_has_no_dependencies(tarball: Path, package: Path) -> None:
    manifest = json.loads((package / "package.json").read_text(encoding="utf-8"))
    files = ["LICENSE", "README.md", "index.d.ts", "index.js", "mcp.d.ts", "mcp.js", "package.json"]

    assert sorted(path.name for path in package.iterdir()) == files
    assert not [key for key in manifest if "ependencies" in key or key == "scripts"]
    assert tarball.stat().st_size <= MAX_SIZE


def test_a_release_names_its_repository_which_npm_compares_with_the_provenance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    without = build.manifest()
    monkeypatch.setenv("GITHUB_REPOSITORY", "ada/notes")
    repository = {"type": "git", "url": "git+https://github.com/ada/notes.git", "directory": "packages/schema-npm"}

    assert build.manifest() == without | {"repository": repository}
    assert "repository" not in without


@pytest.mark.parametrize("name", ["nonsense", "", "OpenAI", "toString", "__proto__", None, 5])
def test_an_unknown_target_is_an_error(name: Any, library: NodeLibrary) -> None:
    shown = "null" if name is None else name
    message = f"unknown target `{shown}`; use one of {', '.join(TARGETS)}"
    calls: list[tuple[str, dict[str, Any]]] = [("project", {}), ("check", {}), ("report", {"find": {}})]
    for function, value in calls:
        with pytest.raises(RuntimeError) as raised:
            library.call(function, value, name)
        assert str(raised.value) == f"RangeError: {message}"


@pytest.mark.parametrize(
    ("options", "target", "is_renamed"),
    [
        ({"rename": True}, "mcp", True),
        ({}, "mcp", False),
        (None, "mcp", False),
        ({"rename": False}, "anthropic", False),
        ({}, "anthropic", True),
    ],
)
def test_rename_is_an_option(
    options: dict[str, bool] | None, target: str, is_renamed: bool, library: NodeLibrary
) -> None:
    schema = {"type": "object", "properties": {"a b": {"type": "string"}}}
    wanted = {"a_b": "a b"} if is_renamed else {}

    assert library.call("project", schema, target, options)["renamed"] == wanted
    if target == "mcp":
        assert library.call("advertise", schema, options)["renamed"] == wanted


def test_a_report_counts_a_tool_without_a_schema(library: NodeLibrary) -> None:
    with pytest.raises(RuntimeError, match="TypeError: `schemas` must be an object of schemas by name"):
        library.call("report", None)
    assert "1 of 2 tools lose nothing" in library.call("report", {"a": None, "b": {"type": "object", "properties": {}}})


ODD_TRANSPORTS = """\
import { portable, portableTools } from "toolmason-schema/mcp";
const cycle = { type: "object", properties: {} };
cycle.properties.self = cycle;
const sent = [];
const transport = { send: async (message, ...options) => void sent.push([message, ...options]) };
const messages = [{ result: { tools: [{ name: "a", inputSchema: { oneOf: [] } }] } }, { method: "a" }, null];
for (const message of messages) await portable(transport).send(message, { relatedRequestId: 1 });
const error = (call) => { try { call(); } catch (error) { return `${error.name}: ${error.message}`; } };
const tools = [{ inputSchema: cycle }, { inputSchema: { maximum: 1n } }, {}];
console.log(JSON.stringify({
  schemas: portableTools(tools).map((tool) => tool.inputSchema.type),
  sent,
  server: error(() => portable({ connect() {} })),
}));
"""


def test_odd_transports_and_schemas(package: Path, tmp_path: Path) -> None:
    install(tmp_path, package)
    (tmp_path / "odd.mjs").write_text(ODD_TRANSPORTS, encoding="utf-8")
    ran = subprocess.run(["node", "odd.mjs"], cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")
    answer = json.loads(ran.stdout)

    assert answer["schemas"] == ["object"] * 3
    assert answer["sent"][0][0]["result"]["tools"][0]["inputSchema"]["type"] == "object"
    assert answer["sent"][1:] == [[{"method": "a"}, {"relatedRequestId": 1}], [None, {"relatedRequestId": 1}]]
    assert answer["server"].startswith("TypeError: `portable` needs a transport, such as `new StdioServerTransport()`")


CONSUMERS = {
    "static.mjs": 'import { advertise } from "toolmason-schema"; console.log(advertise({}).schema.type);',
    "dynamic.cjs": 'import("toolmason-schema").then(({ advertise }) => console.log(advertise({}).schema.type));',
    "metadata.cjs": 'console.log(require("toolmason-schema/package.json").name && "object");',
}


@pytest.mark.parametrize("name", CONSUMERS)
def test_modules_of_both_kinds_can_import_it(name: str, package: Path, tmp_path: Path) -> None:
    install(tmp_path, package)
    (tmp_path / name).write_text(CONSUMERS[name], encoding="utf-8")
    ran = subprocess.run(["node", name], cwd=tmp_path, check=False, capture_output=True, encoding="utf-8")

    assert ran.stdout == "object\n", ran.stderr


def test_values_that_only_javascript_has_become_findings(package: Path, tmp_path: Path) -> None:
    install(tmp_path, package)
    (tmp_path / "values.mjs").write_text(ODD_VALUES, encoding="utf-8")
    ran = subprocess.run(["node", "values.mjs"], cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")

    assert json.loads(ran.stdout) == {
        "cycle": "object",
        "deep": ["object", "too-deep"],
        "zod": "foreign-object",
        "function": "a JavaScript `function`: a schema belongs here; write an object",
        "undefined": [],
        "frozen": {"type": "object", "properties": {"a": {"type": "string"}}},
        "own": ["__proto__", "b"],
        "bigint": "`18446744073709551616` as `maximum`: beyond 64 bits, whe",
        "number": ["maximum"],
    }


def test_types_fit_the_strict_compiler_and_the_sdk(package: Path, tmp_path: Path) -> None:
    install(tmp_path, package)
    for path in CONSUMER.glob("*.ts*"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "tsconfig.json").write_text((CONSUMER / "tsconfig.json").read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("@modelcontextprotocol", "@types", "zod"):
        (tmp_path / "node_modules" / name).symlink_to(SOURCE / "node_modules" / name)
    compiler = SOURCE / "node_modules" / ".bin" / "tsc"
    ran = subprocess.run([compiler, "--project", "."], cwd=tmp_path, check=False, capture_output=True, encoding="utf-8")

    assert ran.stdout == ""
    assert ran.returncode == 0
    names = (package / "index.d.ts").read_text(encoding="utf-8")
    assert f"export type Target = {' | '.join(json.dumps(name) for name in TARGETS)};" in names


AI_SDK = """\
declare const schema: object, find: (query: unknown) => unknown;
declare module "ai" { function jsonSchema(schema: object): object; function tool(options: object): object; }
"""


def test_the_examples_of_the_page_fit_the_strict_compiler(package: Path, tmp_path: Path) -> None:
    """The AI SDK is not installed: its two functions are declared."""
    install(tmp_path, package)
    (tmp_path / "tsconfig.json").write_text((CONSUMER / "tsconfig.json").read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("@modelcontextprotocol", "@types", "zod"):
        (tmp_path / "node_modules" / name).symlink_to(SOURCE / "node_modules" / name)
    page = (SOURCE.parents[1] / "docs" / "schema-library.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```ts\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ai_sdk, others = (
        [block for block in blocks if 'from "ai"' in block],
        [block for block in blocks if '"ai"' not in block],
    )
    (tmp_path / "ambient.d.ts").write_text(AI_SDK, encoding="utf-8")
    for number, block in enumerate([*others, *ai_sdk]):
        (tmp_path / f"example{number}.ts").write_text(block, encoding="utf-8")
    compiler = SOURCE / "node_modules" / ".bin" / "tsc"
    ran = subprocess.run([compiler, "--project", "."], cwd=tmp_path, check=False, capture_output=True, encoding="utf-8")

    assert (len(others), len(ai_sdk)) == (3, 1)
    assert ran.stdout == ""


@pytest.mark.parametrize("page", ["docs/schema-library.md", "packages/schema-npm/README.md"])
def test_the_first_example_runs(page: str, package: Path, tmp_path: Path) -> None:
    install(tmp_path, package)
    text = (SOURCE.parents[1] / page).read_text(encoding="utf-8")
    (tmp_path / "example.mjs").write_text(re.findall(r"```(?:ts|js)\n(.*?)```", text, re.DOTALL)[0], encoding="utf-8")
    ran = subprocess.run(["node", "example.mjs"], cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")

    assert ran.stdout.endswith("0 of 1 tools lose nothing.\n\n")
    if page.startswith("docs"):
        assert "{ page: { type: 'INTEGER', nullable: true } }" in ran.stdout


def test_one_import_makes_the_tools_of_a_server_portable(tarball: Path, tmp_path: Path) -> None:
    """Install the tarball and the SDK into an empty directory, and list a server with the SDK's own client."""
    versions = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    sdk = [f"{name}@{versions[name]}" for name in ("@modelcontextprotocol/sdk", "zod")]
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", str(tarball), *sdk]
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for name in ("server.js", "client.js"):
        (tmp_path / name).write_text((CONSUMER / name).read_text(encoding="utf-8"), encoding="utf-8")
    ran = subprocess.run(["node", "client.js"], cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")
    answer = json.loads(ran.stdout)

    page = answer["plain"]["find"]["properties"]["page"]
    assert page["anyOf"][1] == {"type": "null"}
    limits = {"minimum": 1, "maximum": 2**53 - 1}
    properties = {"query": {"type": "string"}, "page": {"type": "integer", "description": "At least 1.", **limits}}
    assert answer["portable"]["find"] == {"type": "object", "properties": properties, "required": ["query"]}
    assert answer["portable"]["shape"]["properties"]["shape"].keys() & {"oneOf", "const", "$ref"} == set()
    assert answer["called"] == answer["plainCalled"] == [{"type": "text", "text": "cats 2"}]


def install(directory: Path, package: Path) -> None:
    (directory / "node_modules").mkdir()
    (directory / "node_modules" / "toolmason-schema").symlink_to(package)
    (directory / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
