"""What `toolmason import climax` makes of other descriptions: the same command lines, and a list of the rest."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toolmason_runtime.programs.argv import build_invocation
from toolmason_runtime.programs.policy import Approval, Docker, HeadlessMode, Policy
from toolmason_runtime.programs.policy_file import load_policy
from toolmason_runtime.shared.specs.program import CommandTool, Risk

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.importers.command_line.climax import import_climax
from toolmason.importers.command_line.climax.yaml_nodes import MAX_DEPTH, MAX_NODES, read_yaml
from toolmason.importers.manifest_writer import manifest_text
from toolmason.importers.names import cut, snake, summary_of, unique
from toolmason.importers.notes import ImporterError, Notes
from toolmason.kinds.command.implementation import command_of
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.model.server import Server
from toolmason.resolve import resolve

FIXTURES = Path(__file__).parent / "fixtures"
GIT = FIXTURES / "git.yaml"
ODD = FIXTURES / "odd.yaml"
POLICY = FIXTURES / "policy.yaml"
ENVIRON = {"HOME": "/home/ada", "GIT_CONFIG_ENV": "a=B"}


def climax(*arguments: str | Path) -> Result:
    return CliRunner().invoke(toolmason, ["import", "climax", *map(str, arguments)])


def written(folder: Path, text: str, name: str = "tools.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def server_of(path: Path) -> Server:
    """Take a manifest through the stages, which must find nothing wrong with it."""
    diagnostics = Diagnostics()
    document = load(path, root=path.parent, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=path.parent, diagnostics=diagnostics) if tables and document else None
    assert server is not None, [str(each) for each in diagnostics]
    assert not diagnostics.has_errors
    return server


def commands_of(server: Server) -> dict[str, CommandTool]:
    tools = [tool for category in server.categories for tool in category.tools]
    return {tool.name: command.tool for tool in tools if (command := command_of(tool))}


@pytest.fixture
def imported(tmp_path: Path) -> Mapping[str, CommandTool]:
    result = climax(GIT, "-o", tmp_path / "manifest.toml")
    assert result.exit_code == 0, result.output
    return commands_of(server_of(tmp_path / "manifest.toml"))


def test_searches_return_whole_entries_as_in_climax(tmp_path: Path) -> None:
    assert climax(GIT, "-o", tmp_path / "manifest.toml").exit_code == 0

    assert server_of(tmp_path / "manifest.toml").discovery.detail == "full"


def converted(folder: Path, text: str) -> tuple[dict[str, Any], list[str], Mapping[str, CommandTool]]:
    """Give the tables of a manifest, the notes without their places, and the tools."""
    path = written(folder, text)
    notes = Notes()
    result = import_climax([path], notes)
    manifest = written(folder, manifest_text(result.data, notes, sources=[path]), "manifest.toml")
    told = [f"{each.about}: {each.message}" if each.about else each.message for each in notes]
    return tomllib.loads(manifest.read_text(encoding="utf-8")), told, commands_of(server_of(manifest))


def tool_text(*arguments: str, head: str = "") -> str:
    args = "".join(f"      - {{description: x, {each}}}\n" for each in arguments)
    return (
        f"name: p\ncommand: prog\n{head}tools:\n  - name: tool\n    description: A tool\n    risk: read\n"
        f"    command: sub\n    args:\n{args}"
    )


# The same command lines

ALWAYS = ("git", "--no-pager")
GLOBALS = ("--config-env=a=B", "--super-prefix", "sub/", "--paginate")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("git_version", {}, ("version",)),
        ("git_log", {}, ("log", "--decorate", "-n", "10", "--format=oneline", "-p")),
        ("git_log", {"patch": False}, ("log", "--decorate", "-n", "10", "--format=oneline")),
        (
            "git_log",
            {"author": "Ada", "path": "src", "graph": True, "revision": "main", "max_count": 3, "similarity": 0.5},
            (
                *("log", "--decorate", "main", "src", "-n", "3", "--author", "Ada", "--format=oneline"),
                *("--graph", "-p", "--find-copies=0.5"),
            ),
        ),
        (
            "git_log",
            {"path": "src", "directory": "x"},
            ("log", "--decorate", "src", "-n", "10", "--format=oneline", "-p"),
        ),
        ("git_commit", {"message": "Mend it\n\nWell.", "all": True}, ("commit", "--file=-", "--all")),
    ],
    ids=["no parameters", "defaults", "switch off", "all kinds", "one positional", "stdin"],
)
def test_command_lines_are_those_that_climax_runs(
    imported: Mapping[str, CommandTool], tool: str, arguments: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert build_invocation(imported[tool], arguments, environ=ENVIRON).argv == (*ALWAYS, *words, *GLOBALS)


def test_stdin_cwd_environment_timeout_and_risk_are_converted(imported: Mapping[str, CommandTool]) -> None:
    ran = build_invocation(imported["git_commit"], {"message": "Mend it"}, environ=ENVIRON)
    assert ran.stdin == "Mend it"
    assert ran.cwd == "/srv/repository"
    assert ran.env == {"GIT_TERMINAL_PROMPT": "0", "GREETING": "$HOME"}
    assert ran.timeout_s == 30
    log = build_invocation(imported["git_log"], {"directory": "/elsewhere"}, environ=ENVIRON)
    assert log.cwd == "/elsewhere"
    assert log.timeout_s == 12.5
    assert {name: each.risk for name, each in imported.items()} == {
        "git_log": Risk.READ,
        "git_commit": Risk.WRITE,
        "git_version": Risk.READ,
    }
    assert imported["git_commit"].confirm == "Commit this?"


def test_a_global_argument_without_its_variable_is_left_out(imported: Mapping[str, CommandTool]) -> None:
    argv = build_invocation(imported["git_version"], {}, environ={"HOME": "/home/ada"}).argv
    assert argv == (*ALWAYS, "version", "--super-prefix", "sub/", "--paginate")


@pytest.mark.parametrize(
    ("argument", "given", "words"),
    [
        ("name: some_name", "v", ("--some-name", "v")),
        ("name: _odd_", "v", ("---odd-", "v")),
        ("name: Upper", "v", ("--Upper", "v")),
        ("name: n, type: integer, default: 2.0", None, ("--n", "2")),
        ("name: n, type: boolean, default: [1]", None, ()),
        ("name: n, type: integer, default: '7'", None, ("--n", "7")),
        ("name: n, type: number, default: 1", None, ("--n", "1")),
        ("name: n, type: number, default: 2.5", None, ("--n", "2.5")),
        ("name: n, default: 7", None, ("--n", "7")),
        ("name: n, default: yes", None, ("--n", "True")),
        ("name: n, default: 'a b'", None, ("--n", "a b")),
        ("name: n, type: boolean, default: 'true'", None, ("--n",)),
        ("name: n, type: boolean, default: 1", None, ()),
        ("name: n, type: boolean, default: false", None, ()),
        ("name: n, type: number, enum: ['0.5', '1']", "0.5", ("--n", "0.5")),
        ("name: n, positional: true, default: x", None, ()),
        ("name: n, positional: true, type: boolean", "True", ("True",)),
    ],
)
def test_each_kind_of_argument_is_written_as_climax_writes_it(
    tmp_path: Path, argument: str, given: Any, words: tuple[str, ...]
) -> None:
    data, told, tools = converted(tmp_path, tool_text(argument))
    params = list(data["tools"]["tool"].get("params", {}))
    if words and words[0].startswith("---"):
        assert any("not a valid option of a manifest" in each for each in told)
        return
    arguments = {params[0]: given} if given is not None else {}
    assert build_invocation(tools["tool"], arguments, environ={}).argv == ("prog", "sub", *words)


def test_a_variable_of_the_command_is_expanded_and_other_dollars_stay(tmp_path: Path) -> None:
    text = (
        "name: p\ncommand: $HOME/bin/p a$$b $5\ntools:\n  - {name: t, description: A tool, risk: read, command: $X}\n"
    )
    _, _, tools = converted(tmp_path, text)
    argv = build_invocation(tools["t"], {}, environ={"HOME": "/h", "b": "B"}).argv
    assert argv == ("/h/bin/p", "a$B", "$5", "$X")


def test_a_global_argument_is_written_beside_a_parameter_of_its_name(tmp_path: Path) -> None:
    head = "global_args:\n  - {name: repo, flag: '--repository', default: a}\n"
    _, _, tools = converted(tmp_path, tool_text("name: repo", head=head))
    argv = build_invocation(tools["tool"], {"repo": "b"}, environ={}).argv
    assert argv == ("prog", "sub", "--repo", "b", "--repository", "a")


def test_a_global_argument_and_a_parameter_with_one_option_leave_out_the_parameter(tmp_path: Path) -> None:
    head = "global_args:\n  - {name: vault, flag: '--repo', default: a}\n"
    data, told, _ = converted(tmp_path, tool_text("name: repo", head=head))
    assert "params" not in data["tools"]["tool"]
    assert "tool.repo: `--repo` is already the option of `vault`, left out" in told


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("name: g", "it has no default, so CLImax never passed it: left out"),
        ("name: g, default: a, enum: [a]", "`enum` has no effect here"),
        ("name: g, flag: 'x y'", "is not a valid option of a manifest"),
    ],
)
def test_invalid_global_arguments_are_reported(tmp_path: Path, argument: str, why: str) -> None:
    _, told, _ = converted(tmp_path, tool_text("name: a", head=f"global_args:\n  - {{{argument}}}\n"))
    assert any(each.startswith("global_args.") and why in each for each in told), told


# What does not carry over


@pytest.fixture
def odd() -> dict[str, Any]:
    result = climax(ODD, "--json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize(
    ("about", "what"),
    [
        ("", "unknown key `colour`, left out"),
        ("", "the program `Größe & more` is renamed"),
        ("", "the summary is shortened to"),
        ("", "the `~` of `~/x` is now the home directory"),
        ("", "CLImax passes the whole environment of the server"),
        ("", "a tool without a name, left out"),
        ("", "`tools` contains a non-mapping"),
        ("do-it", "the tool is renamed to `do_it`"),
        ("do-it", "the summary is shortened to"),
        ("do-it", "unknown key `comand`, left out (did you mean `command`?)"),
        ("do-it", "`Delete {path}?` contains `{path}`, which is not the name of an argument in braces"),
        ("do-it", "`resolve` is not supported, left out"),
        ("do-it", "no `risk`: set to `destructive`"),
        ("do-it", "`second_one` was required, but follows the optional `first`"),
        ("do-it.first", "the default of a `positional` argument was never used: left out"),
        ("do-it.first", "duplicate argument, left out"),
        ("do-it.Second One", "the argument is renamed to `second_one`"),
        ("do-it.third", "a boolean cannot be positional"),
        ("do-it.total", "`total things` is not a valid option of a manifest, left out"),
        ("do-it.size", "a number cannot have `enum`: it becomes `string`"),
        ("do-it.count", "its default `3` is not in `enum`: added"),
        ("do-it.body", "`stdin` takes a text, so `integer` becomes `string`"),
        ("do-it.body", "`flag` has no effect with `stdin`, left out"),
        ("do-it.more", "`stdin` is already used by `body`, left out"),
        ("do-it.needed", "it is required, so its default was never used: left out"),
        ("do-it.kind", "`colour` is not a valid `type`, left out; use `string`, `integer`, `number` or `boolean`"),
        ("do-it.same", "`--needed` is already the option of `needed`, left out"),
        ("do-it.mute", "`--mute=` was passed without a value, left out"),
        ("do_it", "the tool is renamed to `do_it_2`"),
        ("do_it", "`maybe` is not a valid `risk`: set to `destructive`; use `read`, `write` or `destructive`"),
        ("search", "the tool is renamed to `gr_e_more_search`"),
        ("twice", "a second tool of this name replaces the first, as in CLImax"),
        (
            "a_name_that_is_very_long_indeed_so_that_no_client_of_any_kind_takes_it",
            "since clients limit the length of names",
        ),
    ],
)
def test_unconverted_and_renamed_settings_are_reported(odd: dict[str, Any], about: str, what: str) -> None:
    assert [each for each in odd["notes"] if each["about"] == about and what in each["message"]], odd["notes"]


def test_each_note_has_a_file_line_and_column(odd: dict[str, Any]) -> None:
    lines = ODD.read_text(encoding="utf-8").splitlines()
    (note,) = [each for each in odd["notes"] if "colour`, left out" in each["message"] and not each["about"]]
    assert lines[note["line"] - 1][note["column"] - 1 :].startswith("colour")
    assert note["path"] == ODD.as_posix()


def test_odd_input_becomes_a_valid_manifest(odd: dict[str, Any], tmp_path: Path) -> None:
    server = server_of(written(tmp_path, odd["manifest"], "manifest.toml"))
    tools = commands_of(server)
    assert tools["do_it"].risk is Risk.DESTRUCTIVE
    assert tools["do_it_2"].risk is Risk.DESTRUCTIVE
    assert tools["twice"].argv == ("two",)
    assert all(len(tool.table.summary) <= 80 for category in server.categories for tool in category.tools)


def test_a_long_description_is_cut_in_the_summary_alone(odd: dict[str, Any]) -> None:
    tool = tomllib.loads(odd["manifest"])["tools"]["do_it"]
    assert tool["summary"] == "Do something whose description goes on and on, without any full stop, until…"
    assert tool["description"].endswith("where it began\nand has a second line")


def test_notes_go_to_stderr_and_the_manifest_to_stdout() -> None:
    result = climax(ODD)
    assert tomllib.loads(result.stdout)["edition"] == 1
    assert re.search(r"odd\.yaml:4:1: unknown key `colour`, left out\n", result.stderr)
    assert re.search(r"\n\d+ notes on settings that were not converted\.\n", result.stderr)


def test_a_part_that_the_toolkit_refuses_is_left_out_with_its_reason(tmp_path: Path) -> None:
    text = (
        tool_text("name: a, enum: [x], default: x")
        + '  - {name: any, description: Taken, risk: read, command: "a\\x07b"}\n'
    )
    data, told, _ = converted(tmp_path, text)
    assert list(data["tools"]) == ["tool"]
    assert any("left out, since it is invalid in a manifest" in each for each in told)


def test_an_imported_manifest_is_generated_without_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manifest").mkdir()
    assert climax(GIT, "-o", tmp_path / "manifest" / "git.toml").exit_code == 0
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(toolmason, ["generate"])
    assert result.exit_code == 0, result.output
    assert re.search(r"^generated/: \d+ written$", result.output, re.MULTILINE)


def test_several_files_become_one_manifest(tmp_path: Path) -> None:
    other = written(
        tmp_path, "name: git_tools\ncommand: hub\ncategory: vcs\ntools: [{name: t, description: x, risk: read}]\n"
    )
    result = climax(GIT, other, "--name", "both")
    data = tomllib.loads(result.stdout)
    assert data["server"]["name"] == "both"
    assert list(data["clis"]) == ["git-tools", "git_tools_2"]
    assert list(data["categories"]) == ["vcs"]
    assert data["tools"]["t"]["cli"] == "git_tools_2"
    assert tomllib.loads(climax(GIT, other).stdout)["server"]["name"] == "climax"


def test_an_import_without_further_notes_leaves_stderr_empty(tmp_path: Path) -> None:
    result = climax(written(tmp_path, tool_text("name: a")), "--json")
    assert [each["message"].partition(";")[0] for each in json.loads(result.stdout)["notes"]] == [
        "CLImax passes the whole environment of the server"
    ]
    assert result.stderr == ""


def test_a_program_that_is_invalid_in_a_manifest_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, 'command: "p\\x07q"\ntools: [{name: t, description: x, risk: read}]\n')
    result = climax(path)
    assert result.exit_code == 1
    assert "the result is not a valid manifest: item 1 of `command` in [clis.climax] contains" in result.stderr


def test_a_file_without_a_valid_tool_is_reported(tmp_path: Path) -> None:
    result = climax(
        written(tmp_path, 'command: p\ntools: [{name: any, description: x, risk: read, command: "a\\x07b"}]\n')
    )
    assert result.exit_code == 1
    *notes, mistake = result.stderr.splitlines()
    assert "none of its tools is valid in a manifest" in mistake
    assert any("tools.climax_any: left out, since it is invalid in a manifest: " in each for each in notes)


def test_a_failed_import_reports_its_earlier_notes(tmp_path: Path) -> None:
    path = written(tmp_path, "command: [ls, -l]\ntools: [{name: t}]\n")
    assert "`command` must be a text, not a list; left out" in climax(path).stderr
    document = json.loads(climax(path, "--json").stdout)
    assert [each["message"] for each in document["notes"]] == ["`command` must be a text, not a list; left out"]
    assert "missing `command`" in document["errors"][0]


# Odd YAML

HEAD = "command: p\ntools:\n"


def test_anchors_aliases_and_merge_keys_are_resolved(tmp_path: Path) -> None:
    text = (
        f"base: &base {{risk: read, args: &args [{{name: all, type: boolean, flag: -a}}]}}\n{HEAD}"
        "  - {<<: *base, name: one, description: One}\n"
        "  - {<<: [{risk: write}, *base], name: two, description: Two}\n"
        "  - {name: three, description: Three, risk: read, args: *args}\n"
    )
    _, _, tools = converted(tmp_path, text)
    assert [tool.risk for tool in tools.values()] == [Risk.READ, Risk.WRITE, Risk.READ]
    assert [build_invocation(tool, {"all": True}, environ={}).argv for tool in tools.values()] == [("p", "-a")] * 3


def test_words_that_yaml_reads_as_other_types_stay_words(tmp_path: Path) -> None:
    text = (
        f"name: on\nenv: {{A: on, B: 080, C: 1.0}}\ntags: [off, 2024-01-01]\n{HEAD}"
        "  - {name: on, description: yes, command: off 7, risk: read, args: [{name: is, enum: [on, off, 1.0]}]}\n"
    )
    data, _, tools = converted(tmp_path, text)
    assert data["clis"]["on"]["env"] == {"A": "on", "B": "080", "C": "1.0"}
    assert data["clis"]["on"]["tags"] == ["off", "2024-01-01"]
    assert data["tools"]["on"]["summary"] == "yes"
    assert data["tools"]["on"]["params"]["is"]["enum"] == ["on", "off", "1.0"]
    assert tools["on"].argv == ("off", "7")


def test_names_that_a_server_keeps_begin_with_that_of_their_program(tmp_path: Path) -> None:
    names = ("search", "any", "fetch_chunk")
    tools = "".join(f"  - {{name: {name}, description: Find., risk: read}}\n" for name in names)
    data, told, _ = converted(tmp_path, f"name: p\n{HEAD}{tools}")
    assert list(data["tools"]) == ["p_search", "p_any", "p_fetch_chunk"]
    assert told[1] == "search: the tool is renamed to `p_search`, since that name is reserved"
    assert all(tool["summary"] == "Find" and "description" not in tool for tool in data["tools"].values())


@pytest.mark.parametrize(
    ("risk", "said"),
    [
        ("", "no `risk`: set to `destructive` (CLImax assumes `read`); set the correct value"),
        (
            ", risk: nuke",
            "`nuke` is not a valid `risk`: set to `destructive`; use `read`, `write` or `destructive`",
        ),
        (
            ", risk: [read]",
            "`risk` is not a text: set to `destructive`; use `read`, `write` or `destructive`",
        ),
        (", risk: write", ""),
    ],
)
def test_a_missing_or_invalid_risk_is_reported_once(tmp_path: Path, risk: str, said: str) -> None:
    _, told, _ = converted(tmp_path, f"{HEAD}  - {{name: t, description: x{risk}}}\n")
    assert [each for each in told if "risk" in each] == ([f"t: {said}"] if said else [])


BY_VALUE: dict[str, tuple[str, str, dict[str, str] | None]] = {
    "methods": (
        "required: true, enum: [GET, POST, PATCH, DELETE]",
        "",
        {"GET": "read", "POST": "write", "PATCH": "write", "DELETE": "destructive"},
    ),
    "an optional method": ("enum: [GET, DELETE]", "", {"": "read", "GET": "read", "DELETE": "destructive"}),
    "a default": ("enum: [get, delete], default: get", "", {"get": "read", "delete": "destructive"}),
    "commands": (
        "required: true, enum: [list, show, create, rm]",
        "",
        {"list": "read", "show": "read", "create": "write", "rm": "destructive"},
    ),
    "words in a value": (
        "required: true, enum: [listAll, force-push, removeOld]",
        "",
        {"listAll": "read", "force-push": "destructive", "removeOld": "destructive"},
    ),
    "a name that only contains a word": ("required: true, enum: [deleted, created, form]", "", None),
    "no deletion": ("required: true, enum: [GET, POST]", "", None),
    "numbers": ("required: true, type: integer, enum: [1, 2]", "", None),
    "a stated risk": ("required: true, enum: [GET, DELETE]", ", risk: write", None),
}


@pytest.mark.parametrize(("argument", "risk", "by_value"), BY_VALUE.values(), ids=BY_VALUE)
def test_values_that_delete_have_their_risk(
    tmp_path: Path, argument: str, risk: str, by_value: dict[str, str] | None
) -> None:
    args = f"[{{name: how, description: x, {argument}}}]"
    path = written(tmp_path, f"{HEAD}  - {{name: t, description: x{risk}, args: {args}}}\n")
    result = climax(path, "--unstated-risk", "read")
    table = tomllib.loads(result.stdout)["tools"]["t"]

    stated = risk.removeprefix(", risk: ") or "read"
    assert table["risk"] == ({"how": by_value} if by_value else stated)
    assert ("review it" in result.stderr) == bool(by_value)
    (tmp_path / "manifest.toml").write_text(result.stdout, encoding="utf-8")
    assert server_of(tmp_path / "manifest.toml")


@pytest.mark.parametrize(
    ("risk", "note"),
    [
        ("", 'its risk may depend on a value: `risk.how = { GET = "read", DELETE = "destructive" }`'),
        (
            ", risk: read",
            '`read` is the risk of all values: consider `risk.how = { GET = "read", DELETE = "destructive" }`',
        ),
        (
            ", risk: write",
            '`write` is the risk of all values: consider `risk.how = { GET = "write", DELETE = "destructive" }`',
        ),
        (", risk: destructive", ""),
    ],
)
def test_a_risk_by_value_is_proposed(tmp_path: Path, risk: str, note: str) -> None:
    args = "[{name: how, description: x, required: true, positional: true, enum: [GET, DELETE]}]"
    _, told, _ = converted(tmp_path, f"{HEAD}  - {{name: t, description: x{risk}, args: {args}}}\n")

    assert [each for each in told if "risk.how" in each] == ([f"t: {note}"] if note else [])


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("{name: t, description: x, args: {}}", "t: `args` must be a list, not a mapping; left out"),
        ("{name: t, description: x, 5: y}", "t: unknown key `5`, left out"),
        ("{name: t, description: x, ~: y}", "t: unknown key `~`, left out"),
        ("{name: t, description: x, risk: yes}", "t: `yes` is not a valid `risk`: set to `destructive`"),
        ("{name: t, description: x, timeout: on}", "t: `timeout` must be a finite number, not `on`; left out"),
        ("{name: t, description: x, command: run --}", "t: its options now precede the `--`"),
        ("{name: t}", "t: it has no description: write one"),
        ("{name: t, name: t, description: x}", "name: duplicate key: the last one is used"),
    ],
)
def test_each_problem_of_a_tool_is_reported_once(tmp_path: Path, tool: str, why: str) -> None:
    _, told, _ = converted(tmp_path, f"global_args: [{{name: g, default: a}}]\n{HEAD}  - {tool}\n")
    assert len([each for each in told if each.startswith(why)]) == 1
    assert why.partition(": ")[2] not in told


# Policies


def test_a_policy_carries_over(tmp_path: Path) -> None:
    result = climax(GIT, "--policy", POLICY, "-o", tmp_path / "manifest.toml")
    assert result.exit_code == 0, result.output
    policy = load_policy(tmp_path / "policy.toml")
    assert policy.approval is Approval.DESTRUCTIVE
    assert policy.headless is HeadlessMode.APPROVE
    assert policy.docker == Docker(image="alpine/git", volumes=("/srv:/srv:ro",), network="bridge", working_dir="/srv")
    assert [name for name in ("git_log", "git_commit", "git_version") if policy.is_enabled(name)] == [
        "git_log",
        "git_commit",
    ]
    assert policy.needs_approval("git_commit", Risk.READ)
    for what in (
        "policy.tools.git_log.args.nothing: unknown argument",
        "policy.tools.git_push: unknown tool",
        "policy.approval.tools.git_version: unknown or disabled tool",
        "policy.executor: no `network`",
        "policy.executor: the volume `$HOME/x:/x` is left out",
    ):
        assert what in result.stderr


@pytest.mark.parametrize(
    ("description", "summary", "whole"),
    [
        ("Read the history", "Read the history", None),
        (
            "Show the commits that the team made in this repository. It never lists merges of others.",
            "Show the commits that the team made in this repository",
            "Show the commits that the team made in this repository. It never lists merges of others.",
        ),
        ("'  '", "Show the log", None),
        ("显示提交历史", "显示提交历史", None),
    ],
)
def test_a_description_of_a_policy_replaces_that_of_the_tool(
    tmp_path: Path, description: str, summary: str, whole: str | None
) -> None:
    tools = written(tmp_path, f"{HEAD}  - {{name: t, description: Show the log, risk: read}}\n")
    policy = written(tmp_path, f"tools:\n  t:\n    description: {description}\n", "policy.yaml")
    result = climax(tools, "--policy", policy, "-o", tmp_path / "manifest.toml")

    assert result.exit_code == 0, result.output
    table = tomllib.loads((tmp_path / "manifest.toml").read_text(encoding="utf-8"))["tools"]["t"]
    assert (table["summary"], table.get("description")) == (summary, whole)
    assert tomllib.loads((tmp_path / "policy.toml").read_text(encoding="utf-8"))["tools"] == {"t": {}}


def test_the_rules_of_a_policy_hold_after_it_was_imported(tmp_path: Path) -> None:
    climax(GIT, "--policy", POLICY, "-o", tmp_path / "manifest.toml", "--policy-output", tmp_path / "rules.toml")
    tool = commands_of(server_of(tmp_path / "manifest.toml"))["git_log"]
    policy: Policy = load_policy(tmp_path / "rules.toml")
    assert policy.check(tool, {"author": "ada"}, environ=ENVIRON) == []
    assert len(policy.check(tool, {"author": "Ada", "max_count": 51}, environ=ENVIRON)) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "tools: {git_log: {args: {author: {pattern: '('}}}}",
            r"rules\.yaml:1:\d+: the pattern `\(` cannot be imported: it is not a regular expression: missing",
        ),
        (
            "tools: {git_log: {args: {author: {pattern: '(?!-).*'}}}}",
            r"rules\.yaml:1:\d+: the pattern `\(\?!-\)\.\*` cannot be imported: look-around, .* is not supported",
        ),
        ("tools: {git_log: {args: {author: {pattern: '[a&&b]'}}}}", "cannot be imported: a character class contains"),
        (
            r"tools: {git_log: {args: {author: {pattern: '\<a'}}}}",
            r"cannot be imported: `\\<` has another meaning",
        ),
        (
            "tools: {git_log: {args: {author: {pattern: 'a*+'}}}}",
            r"cannot be imported: `\*\+` has another meaning",
        ),
        ("tools: {git_log: {args: {author: {pattern: [a, b]}}}}", r"rules\.yaml:1:\d+: `pattern` must be a text"),
        ("executor: {type: podman, image: x}", r"rules\.yaml:1:\d+: `type` must be `local` or `docker`"),
        ("executor: {type: [docker], image: x}", r"rules\.yaml:1:\d+: `type` must be a text, not a list"),
        ('approval: {global: ""}', r"rules\.yaml:1:\d+: `global` must be `none`, `destructive`, `write` or `all`"),
        ("approval: {headless: ask}", r"rules\.yaml:1:\d+: `headless` must be `deny` or `approve`"),
        ("approval: {global: al}", r"rules\.yaml:1:\d+: `global` must be `none`, `destructive`, `write` or `all`"),
        ("tools: {git_log: {args: {max_count: {max: ten}}}}", r"rules\.yaml:1:\d+: `max` must be a finite number"),
        ("tools: {git_log: {args: {author: x}}}", r"rules\.yaml:1:\d+: `author` must be a mapping"),
        ("tools: {git_log: 5}", r"rules\.yaml:1:\d+: `git_log` must be a mapping"),
        ("tools: {git_log: {require_approval: 5}}", r"rules\.yaml:1:\d+: `require_approval` must be true or false"),
        ("approval: {tools: {git_log: 5}}", r"rules\.yaml:1:\d+: `git_log` must be true or false"),
        (
            "tools: {git_log: {args: {author: {max: 1" + "0" * 400 + "}}}}",
            r"rules\.yaml:1:\d+: `max` must be a finite number",
        ),
        ("executor: {type: docker}", r"rules\.yaml:1:\d+: an executor `docker` needs an `image`"),
        ("[]", r"rules\.yaml:1:1: expected a mapping"),
    ],
)
def test_a_policy_that_cannot_be_converted_exactly_is_refused(tmp_path: Path, text: str, why: str) -> None:
    result = climax(GIT, "--policy", written(tmp_path, text, "rules.yaml"), "-o", tmp_path / "manifest.toml")
    assert result.exit_code == 1
    assert re.search(why, result.stderr)
    assert not (tmp_path / "manifest.toml").exists()


@pytest.mark.parametrize("pattern", [r"[*+]+\*+", r"[]+*+]\\+", r"[^]\]*+]", r"(?P<name>\w{2,}?)(?i:x)"])
def test_a_pattern_that_means_the_same_carries_over(tmp_path: Path, pattern: str) -> None:
    rules = f"tools: {{git_log: {{args: {{author: {{pattern: '{pattern}'}}}}}}}}\n"
    result = climax(GIT, "--policy", written(tmp_path, rules, "rules.yaml"), "--json")
    made = tomllib.loads(json.loads(result.stdout)["policy"])
    assert made["tools"]["git_log"]["args"]["author"]["pattern"] == pattern


@pytest.mark.parametrize("bound", [".inf", "ten", "1" + "0" * 400])
def test_a_bound_that_is_not_a_finite_number_is_reported_once(tmp_path: Path, bound: str) -> None:
    rules = f"tools:\n  git_log:\n    args:\n      max_count: {{max: {bound}}}\n"
    result = climax(GIT, "--policy", written(tmp_path, rules, "rules.yaml"), "-o", tmp_path / "manifest.toml")

    assert result.exit_code == 1
    (told,) = [line for line in result.stderr.splitlines() if "`max`" in line]
    assert "rules.yaml:4:24: `max` must be a finite number, not `" in told


def test_unset_keys_of_a_policy_are_not_written(tmp_path: Path) -> None:
    rules = "approval: {global: all}\nexecutor: {type: docker, image: x, network: none}\n"
    result = climax(GIT, "--policy", written(tmp_path, rules, "rules.yaml"), "--json")
    assert tomllib.loads(json.loads(result.stdout)["policy"]) == {
        "default": "disabled",
        "approval": "all",
        "headless": "deny",
        "executor": "docker",
        "docker": {"image": "x", "network": "none"},
    }


def test_an_argument_without_limits_needs_no_rule(tmp_path: Path) -> None:
    rules = "tools: {git_log: {args: {author: {}, path: }}}\n"
    result = climax(GIT, "--policy", written(tmp_path, rules, "rules.yaml"), "--json")
    assert tomllib.loads(json.loads(result.stdout)["policy"])["tools"] == {"git_log": {}}


def test_a_policy_has_no_rules_for_omitted_tools(tmp_path: Path) -> None:
    source = written(
        tmp_path, tool_text("name: a") + '  - {name: any, description: Taken, risk: read, command: "a\\x07b"}\n'
    )
    result = climax(source, "--policy", written(tmp_path, "tools: {any: , tool: }", "rules.yaml"), "--json")
    assert tomllib.loads(json.loads(result.stdout)["policy"])["tools"] == {"tool": {}}


def test_a_policy_without_rules_keeps_its_defaults(tmp_path: Path) -> None:
    result = climax(GIT, "--policy", written(tmp_path, "tools:\n  git_log:\n", "rules.yaml"), "--json")
    assert tomllib.loads(json.loads(result.stdout)["policy"]) == {"default": "disabled", "tools": {"git_log": {}}}


def test_a_tool_that_is_enabled_anyway_can_be_one_that_asks(tmp_path: Path) -> None:
    rules = "default: enabled\nexecutor: {type: local}\napproval: {tools: {git_version: true}}\n"
    rules += "tools: {git_log: {require_approval: false}}\n"
    result = climax(GIT, "--policy", written(tmp_path, rules, "rules.yaml"), "--json")
    assert tomllib.loads(json.loads(result.stdout)["policy"])["tools"] == {
        "git_log": {"require_approval": False},
        "git_version": {"require_approval": True},
    }


# Files


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    target = written(tmp_path, "mine", "manifest.toml")
    refused = climax(GIT, "-o", target)
    assert refused.exit_code == 4
    assert target.read_text(encoding="utf-8") == "mine"
    assert "exists; nothing was written" in refused.stderr
    assert climax(GIT, "-o", target, "--force").exit_code == 0
    assert server_of(target).table.name == "git-tools"


def test_a_policy_that_is_there_keeps_the_manifest_from_being_written(tmp_path: Path) -> None:
    written(tmp_path, "mine", "policy.toml")
    assert climax(GIT, "--policy", POLICY, "-o", tmp_path / "manifest.toml").exit_code == 4
    assert not (tmp_path / "manifest.toml").exists()


@pytest.mark.parametrize("inside", [False, True], ids=["from the project", "from the folder of its manifest"])
def test_a_project_generates_after_an_import_with_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, inside: bool
) -> None:
    folder = tmp_path / "manifest"
    folder.mkdir()
    monkeypatch.chdir(folder if inside else tmp_path)
    result = climax(GIT, "--policy", POLICY, "-o", "notes.toml" if inside else "manifest/notes.toml")
    assert result.exit_code == 0, result.output

    generated = CliRunner().invoke(toolmason, ["generate"])
    assert generated.exit_code == 0, generated.output
    assert (tmp_path / "generated").is_dir()
    assert load_policy(tmp_path / "policy.toml").headless is HeadlessMode.APPROVE
    assert [path.name for path in folder.iterdir()] == ["notes.toml"]


def test_directories_of_the_output_are_created(tmp_path: Path) -> None:
    target = tmp_path / "manifest" / "of" / "git.toml"
    assert climax(GIT, "-o", target).exit_code == 0
    assert server_of(target).table.name == "git-tools"


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "nowhere").write_text("a file", encoding="utf-8")
    result = climax(GIT, "-o", tmp_path / "nowhere" / "manifest.toml")
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


# Defaults, risks, questions


@pytest.mark.parametrize(
    ("text", "about", "why"),
    [
        (
            tool_text("name: a, flag: two words, default: x"),
            "tool.a",
            "`two words` is not a valid option of a manifest",
        ),
        (tool_text("name: a, flag: word, default: 3"), "tool.a", "`word` is a bare word before a value"),
        (tool_text("name: a, type: boolean, flag: 'x=', default: true"), "tool.a", "passed without a value"),
        (tool_text("name: a, type: integer, default: high"), "tool.a", "the default `high` is not of type integer"),
        (tool_text("name: a, type: integer, default: '07'"), "tool.a", "the default `07` is not of type integer"),
        (tool_text("name: a, type: number, default: .inf"), "tool.a", "no plain decimal form"),
        (tool_text("name: a, default: [1, 2]"), "tool.a", "`default` is not a scalar"),
        (tool_text("name: a", "name: a, flag: --b, default: x"), "tool.a", "duplicate argument"),
        (tool_text("name: a", "name: b, flag: --a, default: x"), "tool.b", "`--a` is already the option of `a`"),
        (tool_text("name: a, default: -x"), "tools.tool.params.a", "is always rejected"),
        (
            tool_text("name: a", head="global_args:\n  - {name: g, flag: two words, default: x}\n"),
            "global_args.g",
            "`two words` is not a valid option of a manifest",
        ),
        (
            tool_text("name: a", head="global_args:\n  - {name: g, default: a-$X}\n"),
            "global_args.g",
            "combines a variable with other text",
        ),
        (
            tool_text("name: a", head="global_args:\n  - {name: g, default: [a]}\n"),
            "global_args.g",
            "`default` is not a scalar",
        ),
        (
            tool_text(
                "name: a", head="global_args:\n  - {name: g, default: a}\n  - {name: h, flag: --g, default: b}\n"
            ),
            "global_args.h",
            "`--g` is passed already",
        ),
    ],
)
def test_a_default_that_would_be_lost_stops_the_import(tmp_path: Path, text: str, about: str, why: str) -> None:
    path = written(tmp_path, text)
    result = climax(path, "-o", tmp_path / "manifest.toml")

    assert result.exit_code == 1
    assert re.search(rf"tools\.yaml:\d+:\d+: {re.escape(about)}: .*{re.escape(why)}", result.stderr), result.stderr
    assert not (tmp_path / "manifest.toml").exists()


@pytest.mark.parametrize(
    "argument",
    [
        "name: a, type: boolean, flag: 'x=', default: false",
        "name: a, flag: two words, default: x, required: true",
        "name: a, flag: two words",
        "name: a, positional: true, default: x",
    ],
)
def test_a_default_that_climax_never_writes_may_be_lost(tmp_path: Path, argument: str) -> None:
    assert climax(written(tmp_path, tool_text(argument))).exit_code == 0


def test_all_lost_defaults_are_reported_at_once(tmp_path: Path) -> None:
    text = tool_text("name: a, flag: two words, default: x", "name: b, default: [1]")
    stopped = climax(written(tmp_path, text)).stderr.splitlines()[-2:]
    assert [re.sub(r".*(tool\.\w): .*", r"\1", each) for each in stopped] == ["tool.a", "tool.b"]


def test_a_bare_word_is_a_switch(tmp_path: Path) -> None:
    text = tool_text("name: replace, type: boolean, flag: overwrite, default: true", "name: n, flag: 'content='")
    _, told, tools = converted(tmp_path, text)

    assert build_invocation(tools["tool"], {"n": "x"}, environ={}).argv == ("prog", "sub", "overwrite", "content=x")
    assert build_invocation(tools["tool"], {"replace": False}, environ={}).argv == ("prog", "sub")
    assert not [each for each in told if "overwrite" in each]


RISKS_UNSTATED = "command: p\ntools:\n  - {name: a, description: x}\n  - {name: b, description: x, risk: write}\n"


def test_tools_that_state_no_risk_are_destructive_and_counted(tmp_path: Path) -> None:
    result = climax(written(tmp_path, RISKS_UNSTATED))

    assert {name: each["risk"] for name, each in tomllib.loads(result.stdout)["tools"].items()} == {
        "a": "destructive",
        "b": "write",
    }
    assert result.stderr.splitlines()[-1] == (
        "1 of 2 tools states no risk and was imported as `destructive`; `--unstated-risk read` imports it as `read`, "
        "the default of CLImax."
    )


def test_tools_that_state_no_risk_can_be_imported_as_reading(tmp_path: Path) -> None:
    result = climax(written(tmp_path, RISKS_UNSTATED), "--unstated-risk", "read")

    assert {name: each["risk"] for name, each in tomllib.loads(result.stdout)["tools"].items()} == {
        "a": "read",
        "b": "write",
    }
    assert result.stderr.splitlines()[-1] == (
        "1 of 2 tools states no risk and was imported as `read`, the default of CLImax."
    )
    assert "nothing says its risk" not in result.stderr
    assert climax(GIT, "--unstated-risk", "write").exit_code == 2


@pytest.mark.parametrize(
    ("message", "confirm"),
    [
        ("Delete {path}?", "Delete {path}?"),
        ("Delete {Path-To}?", "Delete {path_to}?"),
        ("Delete {{it}}?", "Delete {{it}}?"),
        ("Delete {title}?", None),
        ("Delete {path!r}?", None),
        ("Delete {?", None),
    ],
)
def test_a_question_names_arguments_by_their_new_names(tmp_path: Path, message: str, confirm: str | None) -> None:
    text = tool_text("name: path", "name: Path-To").replace("    args:", f'    confirm_message: "{message}"\n    args:')
    data, told, _ = converted(tmp_path, text)

    assert data["tools"]["tool"].get("confirm") == confirm
    assert any("left out, the command line is shown" in each for each in told) == (confirm is None)


def test_a_question_about_an_argument_that_is_left_out_is_left_out_too(tmp_path: Path) -> None:
    text = tool_text("name: x, flag: two words").replace("    args:", '    confirm_message: "{x}?"\n    args:')
    data, _, _ = converted(tmp_path, text)

    assert "confirm" not in data["tools"]["tool"]


def test_a_manifest_and_a_policy_need_two_files() -> None:
    assert climax(GIT, "--policy", POLICY).exit_code == 2
    assert climax(GIT, "--policy-output", "x").exit_code == 2


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [1\nb: 2", r"tools\.yaml:2:\d+: not YAML: "),
        ("a: b: c", r"tools\.yaml:1:5: not YAML: "),
        ("a: !!python/object/apply:os.getcwd []", r"tools\.yaml:1:1: missing `command`"),
        ("", r"tools\.yaml:1:1: the file is empty"),
        ("- a", r"tools\.yaml:1:1: expected a mapping"),
        ("a: 1\n---\nb: 2", r"tools\.yaml:2:1: not YAML: "),
        ("{[a]: b}", r"tools\.yaml:1:2: a list or a mapping cannot be a key"),
        ("a: &a {<<: 5}", r"tools\.yaml:1:12: `<<` takes a mapping"),
        ("name: x", r"tools\.yaml:1:1: missing `command`"),
        ("command: x", r"tools\.yaml: the file has no tools"),
        ("command: x\ntools: 5", r"tools\.yaml: the file has no tools"),
        ("a: 2020-13-45", r"tools\.yaml:1:4: not YAML: "),
        ("a: b\nc: \x07", r"tools\.yaml:2:4: not YAML: it contains the invalid character U\+0007"),
        ("[" * 3000, r"tools\.yaml.*(nested too deeply|nest|not YAML)"),
        (
            "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2),
            r"tools\.yaml:1:\d+: lists and mappings nest more than 50 levels",
        ),
        ("a: &a [*a]", r"tools\.yaml:1:\d+: lists and mappings nest more than 50 levels"),
    ],
)
def test_an_invalid_file_is_refused_with_line_and_column(tmp_path: Path, text: str, why: str) -> None:
    result = climax(written(tmp_path, text), "-o", tmp_path / "manifest.toml")
    assert result.exit_code == 1, result.output
    assert re.search(why, result.stderr), result.stderr
    assert not (tmp_path / "manifest.toml").exists()


@pytest.mark.parametrize(
    "repeat", ["[*{0}, *{0}, *{0}, *{0}]", "{{<<: [*{0}, *{0}, *{0}, *{0}]}}"], ids=["list", "merge"]
)
def test_aliases_cannot_expand_beyond_the_node_limit(tmp_path: Path, repeat: str) -> None:
    lines = ["l0: &l0 {a: 1}"] + [f"l{n}: &l{n} {repeat.format(f'l{n - 1}')}" for n in range(1, 30)]
    with pytest.raises(ImporterError, match=f"more than {MAX_NODES:,} values"):
        read_yaml(written(tmp_path, "\n".join(lines)), Notes())


def test_aliases_and_merges_are_read_as_yaml_means_them(tmp_path: Path) -> None:
    notes = Notes()
    node = read_yaml(written(tmp_path, "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a]\nc: 'on'\n"), notes)
    assert {key: each.value for key, each in node.value["b"].value.items()} == {"x": 1, "y": 3}
    assert node.value["c"].value == "on"
    assert [str(each).partition(".yaml")[2] for each in notes] == [":4:1: c: duplicate key: the last one is used"]


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"\xff\xfe", "not UTF-8 at byte 0"), (b"a: " + b"x" * (4 * 1024 * 1024), "more than 4,194,304 bytes")],
)
def test_invalid_utf_8_and_oversized_files_are_refused(tmp_path: Path, raw: bytes, why: str) -> None:
    path = tmp_path / "tools.yaml"
    path.write_bytes(raw)
    with pytest.raises(ImporterError, match=why):
        read_yaml(path, Notes())


def test_a_missing_file_is_reported_in_json(tmp_path: Path) -> None:
    result = climax(tmp_path / "none.yaml", "--json")
    assert result.exit_code == 1
    (mistake,) = json.loads(result.stdout)["errors"]
    assert mistake.endswith("none.yaml: cannot read: no such file or directory")


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ("env: {A-B: x}", "`A-B` is not a valid name of an environment variable, left out"),
        ("env: {A: [1]}", "the variable `A` is not a text, left out"),
        ("env: [1]", "`env` must be a mapping, not a list; left out"),
        ("tags: x", "`tags` must be a list, not `x`; left out"),
        ("tags: [x, {}]", "`tags` contains values that are not texts, left out"),
        ("working_dir: ~/x", "the `~` of `~/x` is now the home directory"),
        ("working_dir: {}", "`working_dir` must be a text, not a mapping; left out"),
        ("category: catalogue", "the category `catalogue` is renamed to `catalogue_tools`"),
    ],
)
def test_invalid_top_level_keys_are_reported(tmp_path: Path, field: str, what: str) -> None:
    _, told, _ = converted(tmp_path, tool_text("name: a", head=f"{field}\n"))
    assert any(each.startswith(what) for each in told), told


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("name: a, required: maybe", "tool.a: `required` must be true or false, not `maybe`; left out"),
        ("name: a, enum: [x, x, '']", "tool.a: `enum` contains a duplicate or an empty choice: left out"),
        ("name: a, type: boolean, enum: [x]", "tool.a: `enum` does not apply to booleans, left out"),
        (
            "name: a, type: integer, enum: [x]",
            "tool.a: `enum` contains a value that is not an integer: it becomes `string`",
        ),
        (
            "name: a, type: integer, default: 2.0",
            "tool.a: the default of an integer is passed as `2` instead of `2.0`",
        ),
        ("name: a, type: boolean, default: x", "tool.a: the default `x` is not a boolean and had no effect, left out"),
        ("flag: --x", "tool.: it has no name, left out"),
    ],
)
def test_invalid_arguments_are_reported(tmp_path: Path, argument: str, what: str) -> None:
    _, told, _ = converted(tmp_path, tool_text(argument))
    assert any(each.startswith(what) for each in told), told


def test_invalid_fields_of_a_tool_are_reported(tmp_path: Path) -> None:
    long = "y " * 3000
    tools = ["{name: t, risk: read, timeout: 0.01, args: [1]}", f"{{name: u, timeout: x, description: '{long}'}}"]
    text = "command: p\ntools:\n" + "".join(f"  - {each}\n" for each in tools)
    data, told, _ = converted(tmp_path, text)
    assert data["tools"]["t"]["summary"] == "Run p"
    assert len(data["tools"]["u"]["description"]) <= 4096
    for what in (
        "t: it has no description: write one",
        "t: `timeout` is less than 0.1 seconds, left out",
        "t: `args` contains a non-mapping, left out",
        "u: `timeout` must be a finite number, not `x`; left out",
        "u: the description is shortened to 4,096 characters",
    ):
        assert what in told


# Names and sentences


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("git-log", "git_log"),
        ("Größe", "grosse"),
        ("Ünï", "uni"),
        ("42x", "t_42x"),
        ("日本", "t"),
        ("__a__", "a"),
        ("a.b c", "a_b_c"),
    ],
)
def test_any_name_becomes_one_of_a_manifest(text: str, name: str) -> None:
    assert snake(text, "t") == name


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert unique("a", {"a", "a_2"}) == "a_3"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("Short", "Short"),
        ("First sentence.  " + "More of it " * 9, "First sentence"),
        ("A sentence.", "A sentence"),
        ("Files, links, etc.", "Files, links, etc."),
        ("And so on...", "And so on..."),
        (f"{'x' * 80}.", "x" * 80),
        ("word " * 30, "word word word word word word word word word word word word word word word…"),
        ("x" * 100, "x" * 79 + "…"),
        ("a\nb\tc\x07d", "a b c d"),
    ],
)
def test_a_summary_is_one_line_that_ends_with_a_word(text: str, summary: str) -> None:
    assert summary_of(text) == summary
    assert len(cut(text, 80)) <= 80
