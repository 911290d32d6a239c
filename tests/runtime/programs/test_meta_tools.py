"""What CLImax's specification of its two meta-tools asks for, each test with the numbers of what it shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_sample import DECLARED, SAMPLE, Client, Sample, git, text_of
from toolmason_runtime import MethodError
from toolmason_runtime.discovery import style_for
from toolmason_runtime.programs.policy_file import load_policy
from toolmason_runtime.programs.settings import ProgramSettings, load_program_settings
from toolmason_runtime.shared.selection import Selection

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.render.renderer import render
from toolmason.resolve import resolve

pytestmark = pytest.mark.anyio

META = ["search", "call"]
PLAIN_TOOL = """
[tools.greet]
summary = "Greet somebody"
category = "words"
handler = "words:greet"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
params.name = { type = "string", description = "Who is greeted" }
"""


async def schema_of(sample: Sample, meta_tool: str) -> dict[str, Any]:
    result = await sample.dispatcher().dispatch("tools/list", {}, Client())
    (schema,) = [tool["inputSchema"] for tool in result["tools"] if tool["name"] == meta_tool]
    found: dict[str, Any] = schema
    return found


# Finding


async def test_fr_001_search_takes_optional_query_category_cli_and_limit(sample: Sample) -> None:
    schema = await schema_of(sample, "search")

    types = {name: schema["properties"][name]["type"] for name in ("query", "category", "cli", "limit")}
    assert types == {"query": "string", "category": "string", "cli": "string", "limit": "integer"}
    assert schema["properties"]["limit"]["default"] == 10
    assert not schema.get("required")


async def test_fr_002_a_result_holds_all_that_a_call_needs(sample: Sample) -> None:
    found = await sample.search(query="say a text in a format")

    (result,) = [each for each in found["results"] if each["tool_name"] == "say"]
    assert "Say a text in a format" in result["description"]
    assert (result["cli_name"], result["category"], result["tags"]) == ("talk", "words", ["speech"])
    schema = result["input_schema"]
    assert schema["required"] == ["text"]
    assert schema["properties"]["format"] == {
        "type": "string",
        "description": "Form of the answer",
        "enum": ["json", "text", "csv"],
        "default": "json",
    }
    assert "voice" not in schema["properties"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        pytest.param({"category": "vcs"}, set(DECLARED[:6]), id="category"),
        pytest.param({"cli": "git-tools"}, set(DECLARED[:6]), id="cli"),
        pytest.param({"cli": "talk", "category": "vcs"}, set(), id="cli outside of the category"),
        pytest.param({"query": "hello", "category": "vcs"}, set(), id="query outside of the category"),
        pytest.param({"query": "git branch", "category": "vcs", "limit": 1}, {"git_branch"}, id="query and category"),
    ],
)
async def test_fr_002_filters_must_all_match(sample: Sample, filters: dict[str, Any], names: set[str]) -> None:
    found = await sample.search(**filters)

    assert {each["tool_name"] for each in found["results"]} == names


async def test_fr_002_limit_bounds_the_results(sample: Sample) -> None:
    found = await sample.search(category="vcs", limit=3)

    assert [each["tool_name"] for each in found["results"]] == list(DECLARED[:3])


async def test_fr_003_without_a_filter_the_programs_are_summarised(sample: Sample) -> None:
    found = await sample.search(limit=50)

    assert found["mode"] == "summary"
    groups = {each["name"]: each for each in found["summary"]}
    assert groups["git-tools"] == {
        "name": "git-tools",
        "description": "The history of a repository",
        "tool_count": 6,
        "category": "vcs",
        "tags": ["vcs", "history"],
    }
    assert groups["talk"]["tool_count"] == 8
    assert groups["talk"]["description"] == "Programs that talk"
    assert groups["talk"]["tags"] == ["speech"]
    assert groups.keys() == {"git-tools", "talk"}


async def test_fr_003_limit_bounds_the_summary(sample: Sample) -> None:
    found = await sample.search(limit=1)

    assert [each["name"] for each in found["summary"]] == ["git-tools"]


async def test_fr_004_an_answer_has_its_mode(sample: Sample) -> None:
    searched, summary = await sample.search(query="commit"), await sample.search()

    assert (searched["mode"], isinstance(searched["results"], list)) == ("search", True)
    assert (summary["mode"], isinstance(summary["summary"], list)) == ("summary", True)


async def test_edge_no_match_is_an_empty_list_and_no_error(sample: Sample) -> None:
    found = await sample.search(query="xylophone zeppelin")

    assert found["results"] == []


# Calling


async def test_fr_005_call_takes_a_name_and_optional_args(sample: Sample) -> None:
    schema = await schema_of(sample, "call")

    assert schema["properties"]["tool_name"]["type"] == "string"
    assert schema["properties"]["args"]["type"] == "object"
    assert schema["required"] == ["tool_name"]


async def test_fr_006_an_unknown_tool_is_an_error_that_names_the_nearest(sample: Sample) -> None:
    result = await sample.call(sample.dispatcher(), "call", tool_name="git_lgo")

    assert result["isError"] is True
    assert text_of(result).startswith("Unknown tool `git_lgo`. Nearest names: `git_log`")
    assert "echo_hello" not in text_of(result)


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        ("git_branch", {}, "* main"),
        ("git_show", {"commit": "HEAD~1"}, "Add two"),
        ("git_log", {"max_count": 1}, "Change one"),
        ("echo_hello", {}, "hello"),
    ],
)
async def test_fr_006_a_tool_is_run_by_its_name_and_no_other(
    sample: Sample, tool: str, args: dict[str, Any], text: str
) -> None:
    assert text_of(await sample.run(tool, args)) == text

    prefixed = await sample.call(sample.dispatcher(), "call", tool_name=f"climax_{tool}", args=args)
    assert text_of(prefixed) == text
    for other in (tool.upper(), tool.replace("_", "-"), f"other_{tool}", tool[:-1]):
        result = await sample.call(sample.dispatcher(), "call", tool_name=other, args=args)
        assert text_of(result).startswith(f"Unknown tool `{other}`")


@pytest.mark.parametrize(
    ("tool", "args", "told"),
    [
        pytest.param("say", {}, "Argument 'text' is required", id="missing"),
        pytest.param("git_log", {"max_count": "hello"}, "Argument 'max_count' must be an integer", id="wrong type"),
        pytest.param("git_log", {"max_count": 2.9}, "Argument 'max_count' must be an integer", id="fraction"),
        pytest.param("git_log", {"max_count": 0}, "at least 1", id="too small"),
        pytest.param("say", {"text": "a", "format": "xml"}, "Argument 'format' must be one of", id="no choice"),
    ],
)
async def test_fr_007_fr_008_sc_005_invalid_arguments_are_reported_with_the_expected_form(
    sample: Sample, tool: str, args: dict[str, Any], told: str
) -> None:
    result = await sample.run(tool, args)

    assert result["isError"] is True
    assert told in text_of(result)


async def test_fr_008_sc_005_an_invalid_choice_is_answered_with_choices_and_an_example(sample: Sample) -> None:
    text = text_of(await sample.run("say", {"text": "a", "format": "xml"}))

    assert all(choice in text for choice in ("json", "text", "csv"))
    assert text.splitlines()[-1] == 'Example: say {"text": "a", "format": "text"}'


async def test_fr_007_edge_compatible_types_are_coerced(sample: Sample) -> None:
    result = await sample.run("git_log", {"max_count": "2"})

    assert text_of(result) == "Change one\nAdd two"


async def test_fr_007_text_of_an_integer_is_coerced_where_only_some_integers_fit(sample: Sample) -> None:
    told = json.loads(text_of(await sample.run("say", {"text": "a", "level": "2"})))

    assert told["argv"] == ["a", "--format", "json", "--level", "2", "--tempo=3"]


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        pytest.param(5, "5", id="an integer"),
        pytest.param("5", "5", id="an integer as text"),
        pytest.param(5.0, "5.0", id="with a fraction of nothing"),
        pytest.param(0.1, "0.1", id="a tenth"),
        pytest.param(-3, "-3", id="less than nothing"),
        pytest.param(2**53 + 1, "9007199254740993", id="more than a float can tell"),
        pytest.param(str(2**53 + 1), "9007199254740993", id="the same as text"),
    ],
)
async def test_fr_016_numbers_are_written_as_they_were_sent(sample: Sample, sent: float | str, written: str) -> None:
    told = json.loads(text_of(await sample.run("say", {"text": "a", "pitch": sent, "steps": [sent, 0.5]})))

    assert told["argv"][3:9] == ["-p", written, "--step", written, "--step", "0.5"]


async def test_fr_015_a_policy_sees_an_integer_where_a_number_is_declared(sample: Sample, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[tools.say.args]\npitch = { pattern = "[0-9]+" }\n', encoding="utf-8")
    commands = ProgramSettings(load_policy(policy))

    allowed = await sample.run("say", {"text": "a", "pitch": 5}, commands)
    refused = await sample.run("say", {"text": "a", "pitch": 5.5}, commands)

    assert "isError" not in allowed
    assert "Argument 'pitch' must match `[0-9]+` as a whole" in text_of(refused)


async def test_edge_unknown_arguments_are_ignored_and_named(sample: Sample) -> None:
    result = await sample.run("echo_hello", {"nickname": "Bob"})

    assert "isError" not in result
    assert [block["text"].split(";")[0] for block in result["content"]] == [
        "Note: unknown argument 'nickname' was ignored",
        "hello",
    ]


async def test_edge_args_may_be_null_where_nothing_is_required(sample: Sample) -> None:
    result = await sample.call(sample.dispatcher(), "call", tool_name="echo_hello", args=None)

    assert result == {"content": [{"type": "text", "text": "hello"}]}


async def test_fr_009_a_command_that_takes_too_long_is_ended(sample: Sample) -> None:
    result = await sample.run("wait", {})

    assert result["isError"] is True
    assert text_of(result) == "Command timed out after 0.5s\nbegun"


async def test_fr_010_sc_004_streams_and_exit_code_are_in_the_text(sample: Sample) -> None:
    result = await sample.run("fail", {"code": 3})

    assert result == {
        "content": [{"type": "text", "text": "partly done\n[stderr]\nwent wrong\n[exit code: 3]"}],
        "isError": True,
    }


async def test_fr_010_a_command_without_output_is_reported(sample: Sample) -> None:
    assert text_of(await sample.run("git_status", {})) == "(no output)"


async def test_fr_016_every_kind_of_argument_reaches_the_program(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMPLE_VOICE", "Ann")
    args = {
        "text": "a b; $HOME `id`",
        "repeat_count": 2,
        "pitch": 0.5,
        "loud": True,
        "words": ["one", "--two"],
        "note": "first\nsecond",
        "folder": str(tmp_path),
    }

    told = json.loads(text_of(await sample.run("say", args)))

    assert told["argv"] == [
        "a b; $HOME `id`",
        *("--format", "json", "--repeat-count", "2", "-p", "0.5", "--loud", "--word=one", "--word=--two"),
        *("--voice", "Ann", "--tempo=3"),
    ]
    assert told["stdin"] == "first\nsecond"
    assert told["cwd"] == str(tmp_path)


async def test_fr_016_absent_arguments_are_not_on_the_command_line(sample: Sample) -> None:
    told = json.loads(text_of(await sample.run("say", {"text": "a", "loud": False, "pitch": None})))

    assert told["argv"] == ["a", "--format", "json", "--tempo=3"]
    assert told["stdin"] == ""


async def test_fr_016_a_positional_has_its_default(sample: Sample) -> None:
    assert text_of(await sample.run("git_show", {})) == "Change one"


async def test_fr_016_a_positional_goes_after_the_separator_where_it_looks_like_an_option(
    sample: Sample, repository: Path
) -> None:
    result = await sample.run("git_log", {"paths": [f"--output={repository / 'written.txt'}"]})

    assert not (repository / "written.txt").exists()
    assert text_of(result) == "(no output)"


async def test_fr_016_a_positional_that_looks_like_an_option_is_refused_without_a_separator(sample: Sample) -> None:
    result = await sample.run("say", {"text": "--format"})

    assert result["isError"] is True
    assert "Argument 'text' starts with `-`" in text_of(result)


async def test_fr_015_a_policy_holds_for_both_ways_and_for_defaults(sample: Sample, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('default = "enabled"\n[tools.git_log.args]\nmax_count = { max = 5 }\n', encoding="utf-8")
    commands = ProgramSettings(load_policy(policy))

    refused = await sample.run("git_log", {}, commands)
    allowed = await sample.run("git_log", {"max_count": 5}, commands)

    assert refused["isError"] is True
    assert "Not allowed by the policy of this server" in text_of(refused)
    assert "max_count" in text_of(refused)
    assert text_of(allowed) == "Change one\nAdd two\nBegin"


# The two modes


async def test_fr_011_sc_002_by_default_two_tools_are_listed(sample: Sample) -> None:
    assert await sample.listed(sample.dispatcher()) == META


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "git_status": ({}, "(no output)"),
    "git_log": ({"max_count": 1}, "Change one"),
    "git_show": ({"commit": "HEAD~2"}, "Begin"),
    "git_branch": ({}, "* main"),
    "git_commit": ({"message": "Nothing"}, "nothing to commit"),
    "git_reset": ({"commit": "HEAD"}, "(no output)"),
    "echo_hello": ({}, "hello"),
    "say": ({"text": "word"}, '"word"'),
    "fail": ({"code": 0}, "partly done"),
    "pour": ({"lines": 2}, "line 0 é\nline 1 é"),
    "wait": ({}, "begun"),
    "linger": ({"record": "{folder}/nowhere/record"}, "No such file or directory"),
    "repeat": ({"first": "word"}, '"word"'),
    "send": ({"record": "{folder}/record", "method": "PUT"}, "PUT done"),
    "fetch_chunk": ({"cacheKey": "none", "chunkIndex": 2}, "CACHE_EXPIRED"),
}
"""A call of each tool, and what its answer holds."""


async def test_fr_011_every_tool_can_be_called_in_the_default_mode(sample: Sample, tmp_path: Path) -> None:
    assert {*CALLS} == {*DECLARED, "fetch_chunk"}
    for tool, (args, told) in CALLS.items():
        place = {"record": args["record"].format(folder=tmp_path)} if "record" in args else {}
        arguments = {"tool_name": tool, "args": args | place}
        result = await sample.call(sample.dispatcher(), "call", Client("accept"), **arguments)
        assert told in text_of(result), tool


async def test_edge_a_hidden_tool_does_not_answer_to_its_own_name(sample: Sample) -> None:
    with pytest.raises(MethodError, match="Unknown tool `echo_hello`: it is not listed; run it with `call`"):
        await sample.call(sample.dispatcher(), "echo_hello")


async def test_fr_012_sc_006_classic_lists_every_tool_and_no_meta_tool(sample: Sample) -> None:
    listed = await sample.listed(sample.dispatcher("classic"))

    assert listed == [name for name, entry in sample.catalogue["tools"].items() if entry["tier"] == "core"]
    assert {*listed} == {*DECLARED}


async def test_fr_013_both_modes_run_a_tool_in_the_same_way(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_VOICE", "Ann")
    args: dict[str, Any] = {"text": "a", "note": "b", "format": "text"}
    classic, default = sample.dispatcher("classic"), sample.dispatcher()

    direct = await sample.call(classic, "say", **args)
    through = await sample.call(default, "call", tool_name="say", args=args)

    assert direct == through
    assert json.loads(text_of(direct))["argv"] == ["a", "--format", "text", "--voice", "Ann", "--tempo=3"]


async def test_fr_013_fr_014_both_modes_know_the_same_names(sample: Sample) -> None:
    told = []
    for style in ("search-call", "classic"):
        with pytest.raises(MethodError, match="Unknown tool `git_lgo`") as refused:
            await sample.call(sample.dispatcher(style), "git_lgo")
        told.append(refused.value.data["nearest"])

    assert told[0] == told[1]
    assert told[0][0] == "git_log"


async def test_fr_014_the_index_of_classic_finds_tools_and_is_not_offered(sample: Sample) -> None:
    classic = style_for(sample.catalogue, Selection("classic"), sample.load_index)
    default = style_for(sample.catalogue, Selection("search-call"), sample.load_index)
    query = "show the latest commits"

    assert [each.name for each in classic.index.search(query)] == [each.name for each in default.index.search(query)]
    assert next(each.name for each in classic.index.search(query)) == "git_log"
    with pytest.raises(MethodError, match="Unknown tool `search`"):
        await sample.call(sample.dispatcher("classic"), "search", query=query)


def test_fr_017_sc_003_a_server_without_programs_has_no_program_settings() -> None:
    from sample_server.catalogue import CATALOGUE

    # No tools of programs, no way to set them up: `clis` is what both go by.
    assert "clis" not in CATALOGUE
    assert load_program_settings(CATALOGUE, "no such policy") is None


def test_fr_017_sc_003_a_manifest_without_programs_gives_nothing_of_them(tmp_path: Path) -> None:
    source = (SAMPLE / "manifest.toml").read_text(encoding="utf-8")
    head = source[: source.index("[clis.git-tools]")].replace("[server]", '[server]\nhandlers = "words"')
    plain = head + PLAIN_TOOL
    tmp_path.joinpath("manifest.toml").write_text(plain, encoding="utf-8")
    diagnostics = Diagnostics()
    document = load(tmp_path / "manifest.toml", root=tmp_path, diagnostics=diagnostics)
    assert document is not None
    tables = validate(document, diagnostics=diagnostics)
    assert tables is not None, list(diagnostics)
    server = resolve(tables, document, root=tmp_path, diagnostics=diagnostics)
    assert server is not None, list(diagnostics)

    texts = {str(file.path): file.text for file in render(server, part="python")}

    assert [tool.name for category in server.categories for tool in category.tools] == ["greet"]
    assert not [path for path, text in texts.items() if "command_line" in text or "fetch_chunk" in text]
    assert "clis" not in json.loads(texts["climax_server/catalogue.json"])


def test_fr_017_sc_003_a_server_without_programs_loads_nothing_of_them() -> None:
    code = (
        "import asyncio, sys\n"
        "from sample_server.server import build_dispatcher\n"
        "from toolmason_runtime.shared.selection import Selection\n"
        "server = build_dispatcher(Selection('classic'))\n"
        "class Client: capabilities, client_name = {}, ''\n"
        "params = {'name': 'shout', 'arguments': {'text': 'a'}}\n"
        "called = asyncio.run(server.dispatch('tools/call', params, Client()))\n"
        "assert called['content'][0]['text'] == 'A', called\n"
        "print(*sorted(name for name in sys.modules if name.startswith('toolmason_runtime.programs.')))\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, encoding="utf-8", check=True)

    assert ran.stdout.split() == ["toolmason_runtime.programs.settings"]


async def test_sc_001_one_search_and_one_call_do_it(sample: Sample, repository: Path) -> None:
    dispatcher = sample.dispatcher()
    found = await sample.search(dispatcher, query="show the latest commits")
    first = found["results"][0]
    assert "max_count" in first["input_schema"]["properties"]
    result = await sample.call(dispatcher, "call", tool_name=first["tool_name"], args={"max_count": 1})

    assert text_of(result) == "Change one"
    assert git(repository, "log", "-1", "--format=%s") == "Change one\n"


async def test_sc_004_output_that_is_too_long_is_cut_the_same_both_ways(sample: Sample) -> None:
    direct = await sample.call(sample.dispatcher("classic"), "pour", lines=5000)
    through = await sample.call(sample.dispatcher(), "call", tool_name="pour", args={"lines": 5000})

    def without_id(result: dict[str, Any]) -> str:
        text: str = result["content"][0]["text"]
        told, _, shown = text.partition("\n")
        assert told.startswith("[cut: ")
        return shown

    assert without_id(direct) == without_id(through)
    assert '; fetch_chunk(cacheKey="cache_' in text_of(direct)
    assert '; call(tool_name="fetch_chunk", args={"cacheKey": "cache_' in text_of(through)


def test_sc_007_every_requirement_and_criterion_is_named_by_a_test() -> None:
    source = Path(__file__).read_text(encoding="utf-8")

    wanted = [*(f"fr_{number:03}" for number in range(1, 18)), *(f"sc_{number:03}" for number in range(1, 8))]
    tests = [line for line in source.splitlines() if line.startswith(("async def test_", "def test_"))]
    assert [number for number in wanted if not any(number in test for test in tests)] == []


async def test_sc_007_each_situation_it_lists_comes_out_differently(sample: Sample) -> None:
    async def called(**arguments: Any) -> tuple[bool, str]:
        result = await sample.call(sample.dispatcher(), "call", **arguments)
        return result.get("isError", False), text_of(result).partition("\n")[0]

    filtered = await sample.search(query="show the latest commits", cli="git-tools", limit=1)
    summary = await sample.search()

    assert (filtered["mode"], [each["tool_name"] for each in filtered["results"]]) == ("search", ["git_log"])
    assert (summary["mode"], summary["total_tools"]) == ("summary", len(DECLARED))
    assert await called(tool_name="git_log", args={"max_count": 1}) == (False, "Change one")
    assert await called(tool_name="git_log", args={"max_count": "x"}) == (
        True,
        "Argument 'max_count' must be an integer of at least 1; got \"x\"",
    )
    is_error, told = await called(tool_name="git_lgo")
    assert (is_error, told.split(".")[0]) == (True, "Unknown tool `git_lgo`")
    assert await sample.listed(sample.dispatcher()) == META
    assert len(await sample.listed(sample.dispatcher("classic"))) == len(DECLARED)
