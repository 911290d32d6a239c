"""What tools with `cli` come to: command lines, hints and the tool that fetches what was cut."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest
from toolmason_runtime.programs.settings import command_tools
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.shared.specs.program import PlacementKind, Risk

from toolmason.catalogue.search_index import field_terms
from toolmason.catalogue.table import catalogue
from toolmason.diagnostics import Diagnostics
from toolmason.kinds.command.implementation import CommandImplementation, clis_of, command_of
from toolmason.kinds.command.resolve import default_flag
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.model.implementation import Hints
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.render.renderer import render
from toolmason.resolve import resolve

HEAD = """
edition = 1
[server]
name = "repository"
package = "repository_server"
[categories.git]
summary = "Look at a repository"
"""
CLI = """
[clis.git]
command = ["git"]
category = "git"
"""
TOOL = """
[tools."git_log"]
summary = "Show the latest commits"
cli = "git"
argv = ["log"]
"""
READ = 'risk = "read"\n'


def document(text: str) -> Document:
    return Document(path=PurePosixPath("manifest.toml"), text=text, data=tomllib.loads(text))


def found(text: str) -> tuple[Server | None, list[str]]:
    """Give the server, and each finding as its code and message."""
    diagnostics = Diagnostics()
    tables = validate(document(text), diagnostics=diagnostics)
    server = resolve(tables, document(text), root=Path(), diagnostics=diagnostics) if tables else None
    return server, [f"{each.code} {each.message}" for each in diagnostics]


def server_of(text: str) -> Server:
    server, findings = found(text)
    assert server is not None, findings
    return server


def tool_of(params: str, *, risk: str = READ, cli: str = CLI) -> Tool:
    return server_of(HEAD + cli + TOOL + risk + params).tools[0]


def line_of(params: str, *, risk: str = READ, cli: str = CLI) -> CommandImplementation:
    command = command_of(tool_of(params, risk=risk, cli=cli))
    assert command is not None
    return command


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("max_count", "--max-count"),
        ("all", "--all"),
        ("n", "--n"),
        ("_internal", "--internal"),
        ("dry.run", "--dry.run"),
        ("__", "--__"),
    ],
)
def test_a_parameter_without_a_place_becomes_an_option_of_its_name(name: str, flag: str) -> None:
    assert default_flag(name) == flag


@pytest.mark.parametrize(
    ("param", "place", "flag", "is_switch"),
    [
        ('{ type = "string" }', PlacementKind.FLAG, "--value", False),
        ('{ type = "integer", flag = "-n" }', PlacementKind.FLAG, "-n", False),
        ('{ type = "string", flag = "--value=" }', PlacementKind.FLAG, "--value=", False),
        ('{ type = "string", flag = "if=" }', PlacementKind.FLAG, "if=", False),
        ('{ type = "boolean" }', PlacementKind.FLAG, "--value", True),
        ('{ type = "boolean", flag = "--color=" }', PlacementKind.FLAG, "--color=", False),
        ('{ type = "number[]", flag = "-x" }', PlacementKind.FLAG, "-x", False),
        ('{ type = "string[]", positional = true }', PlacementKind.POSITIONAL, "", False),
        ('{ type = "string", stdin = true }', PlacementKind.STDIN, "", False),
        ('{ type = "string", cwd = true }', PlacementKind.CWD, "", False),
        ('{ type = "string", positional = false }', PlacementKind.FLAG, "--value", False),
    ],
)
def test_a_parameter_has_the_placement_of_the_manifest(
    param: str, place: PlacementKind, flag: str, is_switch: bool
) -> None:
    (placement,) = line_of(f"params.value = {param}\n").tool.placements

    assert (placement.place, placement.flag, placement.switch) == (place, flag, is_switch)


@pytest.mark.parametrize(
    ("param", "told"),
    [
        pytest.param(
            '{ type = "string", positional = true, default = "-x" }',
            "the default of `value` is always rejected: it starts with `-`, so git could parse it as an option",
            id="a positional",
        ),
        pytest.param(
            '{ type = "string", flag = "--value", default = "-x" }',
            "the default of `value` is always rejected: it starts with `-`, so git could parse it as an option",
            id="a separate value",
        ),
        pytest.param(
            '{ type = "string", positional = true, default = "a\\nb" }',
            "the default of `value` is always rejected: it must be one line; it has a line break at character 2",
            id="two lines",
        ),
        pytest.param(
            '{ type = "string[]", positional = true, default = ["a", "-b"] }',
            "the default of `value` is always rejected: it starts with `-`, so git could parse it as an option",
            id="an item",
        ),
        pytest.param(
            '{ type = "string", flag = "--value", enum = ["-a", "b"] }',
            "`-a` of `value` is always rejected: it starts with `-`, so git could parse it as an option",
            id="a choice",
        ),
        pytest.param(
            '{ type = "string", positional = true, enum = ["-a", "b"], default = "-a" }',
            "`-a` of `value` is always rejected: it starts with `-`, so git could parse it as an option",
            id="a choice that is the default as well, told once",
        ),
        pytest.param(
            '{ type = "string", cwd = true, default = "a\\nb" }',
            "the default of `value` is always rejected: it must be one line; it has a line break at character 2",
            id="a folder",
        ),
    ],
)
def test_a_value_that_no_call_could_pass_is_refused(param: str, told: str) -> None:
    assert found(f"{HEAD}{CLI}{TOOL}{READ}params.value = {param}\n")[1] == [f"TM327 {told}"]


@pytest.mark.parametrize(
    "param",
    [
        pytest.param('{ type = "string", flag = "--value=", default = "-x" }', id="joined to its flag"),
        pytest.param('{ type = "integer", positional = false, default = -1 }', id="a number"),
        pytest.param('{ type = "string", flag = "--value", default = "a\\nb" }', id="lines for a flag"),
        pytest.param('{ type = "string", stdin = true, default = "-x\\n" }', id="standard input"),
        pytest.param('{ type = "boolean", default = true }', id="a switch"),
    ],
)
def test_a_default_that_can_be_passed_is_taken(param: str) -> None:
    assert found(f"{HEAD}{CLI}{TOOL}{READ}params.value = {param}\n")[1] == []


EXAMPLES: dict[str, tuple[str, str, str]] = {
    "a text that looks like an option": ("a = '-3'", "string", "`a` starts with `-`, so git could parse it"),
    "an item": ("a = ['x', '--y']", "string[]", "`a[1]` starts with `-`, so git could parse it"),
    "lines": ("a = 'x\\ny'", "string", "`a` must be one line; it has a line break at character 2"),
    "a negative number": ("a = -3", "integer", ""),
    "a negative fraction": ("a = -2.5", "number", ""),
    "negative items": ("a = [-3, 4]", "integer[]", ""),
    "minus": ("a = '-'", "string", ""),
}


@pytest.mark.parametrize(("argument", "kind", "reason"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_has_a_command_line(argument: str, kind: str, reason: str) -> None:
    param = f'params.a = {{ type = "{kind}", positional = true }}\n'
    example = f'[[tools.git_log.examples]]\ndescription = "One"\narguments.{argument}\n'.replace("'", '"')
    messages = found(HEAD + CLI + TOOL + READ + param + example)[1]

    if reason:
        (message,) = messages
        assert message.startswith(f"TM327 this example is always rejected: {reason}")
    else:
        assert not messages


def test_a_default_may_look_like_an_option_behind_two_dashes() -> None:
    param = 'params.value = { type = "string", positional = true, default = "-x" }\n'

    assert found(HEAD + CLI + "ends_options = true\n" + TOOL + READ + param)[1] == []
    assert found(HEAD + CLI + TOOL.replace('["log"]', '["log", "--"]') + READ + param)[1] == []


def test_a_default_of_a_program_that_no_call_could_pass_is_refused_once() -> None:
    cli = CLI + 'params.host = { default = "-x", flag = "--host" }\n'
    second = TOOL.replace("git_log", "git_show")

    assert found(HEAD + cli + TOOL + READ + second + READ)[1] == [
        "TM327 the default of `host` is always rejected: it starts with `-`, so git could parse it as an option"
    ]


def test_a_placement_contains_the_default() -> None:
    placements = line_of(
        'params.count = { type = "integer", default = 3 }\nparams.path = { type = "string", required = false }\n'
    ).tool.placements

    assert [each.default for each in placements] == [3, None]


def test_parameters_of_a_program_are_not_parameters_of_its_tools() -> None:
    cli = (
        CLI
        + 'params.host = { flag = "--host=", default_env = "HOST" }\n'
        + 'params.quiet = { type = "boolean", default = true }\n'
    )
    tool = tool_of('params.path = { type = "string" }\n', cli=cli)

    command = command_of(tool)
    assert command is not None
    assert [*tool.schema["properties"]] == ["path"]
    host, quiet = command.tool.program.placements
    assert (host.flag, host.default, host.default_env) == ("--host=", None, "HOST")
    assert (quiet.flag, quiet.switch, quiet.default) == ("--quiet", True, True)


def test_a_tool_parameter_replaces_that_of_its_program() -> None:
    line = line_of('params.color = { type = "string" }\n', cli=CLI + 'params.color = { default = "never" }\n')

    assert [each.name for each in line.tool.placements] == ["color"]


def test_timeouts_words_and_settings_are_handed_on() -> None:
    line = line_of(
        'timeout = 2.5\nconfirm = " Really? "\n',
        cli=CLI + 'timeout = 10\nenv = { A = "1" }\npass_env = ["B"]\nworking_dir = "~/x"\nends_options = true\n',
    )

    assert (line.tool.timeout_s, line.tool.confirm, line.tool.argv) == (2.5, "Really?", ("log",))
    program = line.tool.program
    assert (program.timeout_s, program.env, program.pass_env) == (10, {"A": "1"}, ("B",))
    assert (program.working_dir, program.ends_options) == ("~/x", True)


READS = (True, False, True)
WRITES = (False, False, False)
DESTROYS = (False, True, False)
METHOD = 'params.method = { type = "string", enum = ["GET", "PUT"]'


@pytest.mark.parametrize(
    ("risk", "params", "hints"),
    [
        pytest.param('risk = "read"\n', "", READS, id="reads"),
        pytest.param('risk = "write"\n', "", WRITES, id="writes"),
        pytest.param('risk = "destructive"\n', "", DESTROYS, id="destroys"),
        pytest.param(
            'risk.method = { GET = "read", PUT = "write" }\n', f"{METHOD} }}\n", WRITES, id="the worst of its values"
        ),
        pytest.param('risk.method = { GET = "read", PUT = "read" }\n', f"{METHOD} }}\n", READS, id="all of them read"),
        pytest.param(
            'risk.method = { GET = "read", PUT = "read", "" = "write" }\n',
            f"{METHOD}, required = false }}\n",
            WRITES,
            id="no value is one too",
        ),
        pytest.param(
            'risk.method = { GET = "read", PUT = "read" }\n', f'{METHOD}, default = "GET" }}\n', READS, id="a default"
        ),
        pytest.param(
            'risk.path = { "a" = "read" }\n', 'params.path = { type = "string" }\n', DESTROYS, id="what is not listed"
        ),
        pytest.param(
            'risk.paths = { "a" = "read" }\n',
            'params.paths = { type = "string[]" }\n',
            DESTROYS,
            id="an item of a list",
        ),
        pytest.param(
            'risk.force = { true = "destructive", false = "write" }\n',
            'params.force = { type = "boolean", required = false }\n',
            DESTROYS,
            id="a switch",
        ),
        pytest.param(
            'risk.force = { true = "write", false = "read" }\n',
            'params.force = { type = "boolean", required = false }\n',
            WRITES,
            id="a switch, both ways",
        ),
        pytest.param(
            'risk.force = { true = "write", false = "read" }\n',
            'params.force = { type = "boolean", flag = "--force=" }\n',
            WRITES,
            id="true and false as values",
        ),
        pytest.param(
            'risk.level = { 1 = "read", 2 = "write" }\n',
            'params.level = { type = "integer", enum = [1, 2] }\n',
            WRITES,
            id="numbers",
        ),
    ],
)
def test_hints_follow_from_all_that_a_call_can_be(risk: str, params: str, hints: tuple[bool, bool, bool]) -> None:
    tool = tool_of(params, risk=risk)

    read_only, destructive, idempotent = hints
    assert tool.hints == Hints(read_only=read_only, destructive=destructive, idempotent=idempotent, open_world=True)


def test_a_risk_by_a_switch_needs_an_entry_for_calls_without_it() -> None:
    force = 'params.force = { type = "boolean" }\n'
    switch = 'risk.force = { true = "destructive" }\n'

    assert found(HEAD + CLI + TOOL + switch + force)[1] == ["TM326 `risk` has no entry for calls without `force`"]
    by_method = f'risk.method = {{ GET = "read", PUT = "write" }}\n{METHOD} }}\n'
    assert found(HEAD + CLI + TOOL + switch + force + by_method)[1] == []


@pytest.mark.parametrize(
    ("argv", "usage"),
    [
        ('["log"]', "log [<paths>...] [--max=<max>]"),
        ('["log", "--"]', "log [--max=<max>] -- [<paths>...]"),
        ('["run", "--", "log"]', "run -- log [<paths>...] [--max=<max>]"),
    ],
)
def test_the_usage_has_the_order_of_the_command_line(argv: str, usage: str) -> None:
    params = """
params.max = { type = "integer", flag = "--max=", required = false }
params.paths = { type = "string[]", positional = true, required = false }
"""
    text = re.sub(r"argv = .*", f"argv = {argv}", HEAD + CLI + TOOL + READ + params)
    command = command_of(server_of(text).tools[0])

    assert command is not None
    assert command.usage.endswith(f" {usage}")


@pytest.mark.parametrize(
    "param",
    [
        pytest.param(f"{METHOD}, required = false }}", id="one of some texts"),
        pytest.param('params.method = { type = "string", required = false }', id="any text"),
        pytest.param('params.method = { type = "string[]", required = false }', id="texts"),
        pytest.param('params.method = { type = "boolean", flag = "--m=", required = false }', id="true or false"),
    ],
)
def test_a_risk_by_an_optional_value_needs_an_entry_for_calls_without_it(param: str) -> None:
    values = 'true = "read", false = "read"' if "boolean" in param else 'GET = "read", PUT = "write"'
    missing = HEAD + CLI + TOOL + f"risk.method = {{ {values} }}\n{param}\n"
    said = HEAD + CLI + TOOL + f'risk.method = {{ "" = "write", {values} }}\n{param}\n'

    assert found(missing)[1] == ["TM326 `risk` has no entry for calls without `method`; they count as destructive"]
    assert found(said)[1] == []


@pytest.mark.parametrize("param", ['type = "string"', 'type = "string", default = "GET"', 'type = "string[]"'])
def test_a_risk_by_a_value_that_is_never_missing_need_not_say_so(param: str) -> None:
    text = HEAD + CLI + TOOL + f'risk.method = {{ GET = "read" }}\nparams.method = {{ {param} }}\n'

    assert found(text)[1] == []


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        pytest.param(
            'd = "read", list = "read"',
            ["TM326 `risk` has no entry for `D` of `mode`; such calls count as destructive"],
            id="a value that differs in case alone",
        ),
        pytest.param(
            'd = "read", D = "destructive", List = "read"',
            [
                "TM326 `risk` has no entry for `list` of `mode`; such calls count as destructive",
                "TM326 `risk` lists `List`, which is not a value of `mode`",
            ],
            id="a value in another case",
        ),
        pytest.param('d = "read", D = "destructive", list = "read"', [], id="each as it is written"),
    ],
)
def test_a_risk_goes_by_values_as_they_are_written(listed: str, told: list[str]) -> None:
    mode = 'params.mode = { type = "string", enum = ["d", "D", "list"], default = "list", flag = "--mode=" }\n'

    assert found(f"{HEAD}{CLI}{TOOL}risk.mode = {{ {listed} }}\n{mode}")[1] == told


def test_a_local_program_has_no_open_world_hint() -> None:
    assert not tool_of("", cli=CLI + "open_world = false\n").hints.open_world


def test_a_risk_by_value_has_no_other() -> None:
    tool = line_of(f"{METHOD} }}\n", risk='risk.method = { GET = "read", PUT = "destructive" }\n').tool

    assert tool.risk is Risk.READ
    assert tool.risk_by_value == {"method": {"GET": Risk.READ, "PUT": Risk.DESTRUCTIVE}}


@pytest.mark.parametrize(
    ("params", "usage"),
    [
        ("", "git log"),
        ('params.path = { type = "string", positional = true }\n', "git log <path>"),
        (
            (
                'params.all = { type = "boolean" }\n'
                'params.path = { type = "string[]", positional = true, default = ["."] }\n'
            ),
            "git log [<path>...] [--all]",
        ),
        (
            (
                'params.n = { type = "integer", flag = "-n", default = 3 }\n'
                'params.by = { type = "string", flag = "--by=" }\n'
            ),
            "git log [-n <n>] --by=<by>",
        ),
        ('params.text = { type = "string", stdin = true }\nparams.at = { type = "string", cwd = true }\n', "git log"),
    ],
)
def test_usage_is_written_as_manuals_do(params: str, usage: str) -> None:
    assert line_of(params).usage == usage


def test_the_category_is_that_of_the_program_or_of_the_tool() -> None:
    text = HEAD + '[categories.history]\nsummary = "What was"\n' + CLI + TOOL + READ
    text += TOOL.replace("git_log", "git_blame") + READ + 'category = "history"\n'

    assert {tool.name: tool.category for tool in server_of(text).tools} == {
        "git_log": "git",
        "git_blame": "history",
    }


def test_the_catalogue_names_the_program_and_its_tags() -> None:
    served = catalogue(server_of(HEAD + CLI + 'tags = ["vcs"]\nsummary = "History"\n' + TOOL + READ))

    assert served["clis"] == {"git": {"summary": "History", "tags": ["vcs"]}}
    assert served["tools"]["git_log"]["cli"] == "git"


def test_a_program_that_no_tool_runs_is_not_served() -> None:
    text = HEAD + CLI + CLI.replace("clis.git", "clis.gh") + TOOL + READ

    assert [each.name for each in clis_of(server_of(text))] == ["git"]


def test_the_model_lists_environment_variables_that_the_server_reads() -> None:
    cli = CLI.replace('["git"]', '["$BIN/git", "$$HOME"]')
    cli += 'working_dir = "${WORK}/x"\nenv = { A = "$TOKEN" }\npass_env = ["KEY", "TOKEN"]\n'
    cli += 'params.host = { default_env = "HOST" }\n'

    variables = server_of(HEAD + cli + TOOL + READ).variables

    assert variables == ("TOOLMASON_POLICY", "TOOLMASON_MAX_ANSWER_CHARS", "BIN", "WORK", "TOKEN", "KEY", "HOST")


def test_the_tags_of_a_program_find_its_tools() -> None:
    text = HEAD + CLI + 'tags = ["archaeology"]\n' + TOOL + READ
    served = catalogue(server_of(text))

    assert "archaeolog" in field_terms(served["tools"]["git_log"], served)["category"]


HOSTILE = r"""
[clis.odd]
command = ["odd \"name\"", "'''", '{{ x }} {% y %}', 'back\slash\']
category = "git"
env = { A = "a\nb\"" }
working_dir = "$X/\u202e'"
timeout = 0.1
params.words = { type = "string[]", flag = "-w", default = ["\"\"\"", "#"] }
params.quiet = { type = "boolean", flag = "-q", default = true }

[tools.odd_one]
summary = "Be odd"
cli = "odd"
argv = ["", "--", "\u00e9"]
risk.mode = { '"' = "read", '\' = "write", "" = "destructive" }
confirm = "Really \"?\" \\"
timeout = 2
params.mode = { type = "string", enum = ['"', '\'], required = false }
params.text = { type = "string", default = "\"\"\"\n\\", stdin = true }
params.class = { type = "number", flag = "--class=", default = 1.5 }
"""


def test_generated_command_tools_equal_those_of_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = server_of(HEAD.replace("repository_server", "odd_server") + CLI + TOOL + READ + HOSTILE)
    for file in render(server, part="python"):
        path = tmp_path.joinpath(file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    made = {tool.name: tool for tool in command_tools(catalogue(server))}

    assert made == {tool.name: command.tool for tool in server.tools if (command := command_of(tool))}
    assert made["odd_one"].program.command == ('odd "name"', "'''", "{{ x }} {% y %}", "back\\slash\\")


# fetch_chunk

HANDLED = """
[tools.{name}]
summary = "Read a part"
category = "git"
hints = {{ read_only = true, destructive = false, idempotent = true, open_world = false }}
handler = "parts:read"
"""
WITH_HANDLERS = HEAD.replace("[categories.git]", 'handlers = "repository"\n[categories.git]')


def test_fetch_chunk_is_not_a_tool_of_the_manifest() -> None:
    assert [tool.name for tool in server_of(HEAD + CLI + TOOL + READ).tools] == ["git_log"]


@pytest.mark.parametrize(
    "own", [HANDLED.format(name=FETCH_CHUNK), HANDLED.format(name="part") + f'aliases = ["{FETCH_CHUNK}"]\n']
)
def test_its_name_is_reserved_in_every_server(own: str) -> None:
    _, (finding,) = found(WITH_HANDLERS + own)

    assert finding.startswith("TM317")
    assert finding.endswith(f"`{FETCH_CHUNK}` has the name of the built-in tool")


def test_an_author_may_refer_to_it() -> None:
    text = HEAD + f'[discovery]\npinned = ["{FETCH_CHUNK}"]\n' + CLI + TOOL + READ + f'related = ["{FETCH_CHUNK}"]\n'

    assert server_of(text).discovery.pinned == (FETCH_CHUNK,)


HANDLER = HANDLED.format(name="read_part")


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        pytest.param(
            WITH_HANDLERS + HANDLER.replace('category = "git"', ""),
            ["TM202 missing key `category` in [tools.read_part]"],
            id="no category",
        ),
        pytest.param(
            WITH_HANDLERS + HANDLER.replace('category = "git"', 'categry = "git"'),
            ["TM203 unknown key `categry` in [tools.read_part]"],
            id="a category, misspelt",
        ),
        pytest.param(
            WITH_HANDLERS + HANDLER.replace("hints =", "ext ="),
            ["TM202 missing key `hints` in [tools.read_part]"],
            id="no hints",
        ),
        pytest.param(
            HEAD + HANDLER,
            ["TM202 missing key `handlers` in [server]"],
            id="no package of handlers",
        ),
        pytest.param(
            HEAD + CLI + TOOL.replace('"git"', '""') + READ,
            ["TM209 `cli` in [tools.git_log] is empty"],
            id="no program",
        ),
        pytest.param(
            HEAD + CLI + TOOL.replace('"git"', "1") + READ,
            ["TM204 `cli` in [tools.git_log] must be a string, not an integer"],
            id="a program that is no text",
        ),
        pytest.param(
            HEAD + CLI.replace('["git"]', "[1]") + TOOL + READ,
            ["TM204 item 1 of `command` in [clis.git] must be a string, not an integer"],
            id="a command that is no text",
        ),
        pytest.param(
            HEAD + CLI + "env = 1\n" + TOOL + READ,
            ["TM204 `env` in [clis.git] must be a table, not an integer"],
            id="an environment that is no table",
        ),
        pytest.param(
            HEAD + CLI + TOOL + READ + 'params = "a"\n',
            ["TM204 `params` in [tools.git_log] must be a table, not a string"],
            id="parameters that are no table",
        ),
    ],
)
def test_missing_keys_and_wrong_types_are_reported(text: str, findings: list[str]) -> None:
    assert found(text)[1] == findings


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param(HEAD + CLI + TOOL + READ + 'params.a = { type = "strin" }\n', ["TM302"], id="an unknown type"),
        pytest.param(
            HEAD + CLI + 'params.a = { type = "integer", default = "x" }\n' + TOOL + READ, ["TM309"], id="a default"
        ),
        pytest.param(HEAD + CLI + CLI.replace("clis.git", "clis.GIT") + TOOL + READ, ["TM306"], id="one constant"),
        pytest.param(
            HEAD + CLI + TOOL.replace("git_log", "git_program") + READ, ["TM306"], id="a tool called as its program"
        ),
        pytest.param(HEAD + CLI + TOOL.replace("git_log", "git log") + READ, ["TM311"], id="a name"),
    ],
)
def test_a_mistake_is_reported_once(text: str, codes: list[str]) -> None:
    assert [each.split()[0] for each in found(text)[1]] == codes
