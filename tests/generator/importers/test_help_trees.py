"""`toolmason import help --recursive`: recorded help texts of programs with subcommands, and their limits."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolmason.catalogue.stats import stats
from toolmason.catalogue.table import catalogue
from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.importers.command_line.help.budget import drop_deprecated
from toolmason.importers.command_line.help.completion import read_completions
from toolmason.importers.command_line.help.manual import is_manual, parse_manual
from toolmason.importers.command_line.help.parser import Help, Option, parse_help
from toolmason.importers.command_line.help.runner import Runs
from toolmason.importers.command_line.help.tools import tool_params
from toolmason.importers.command_line.help.tree import Explorer
from toolmason.importers.names import shorten
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

FIXTURES = Path(__file__).parent / "fixtures"


class Replay:
    """Programs that print recorded help texts and log their arguments, in front of `PATH`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def add(self, name: str, tree: dict[str, str] | None = None) -> None:
        recorded = (FIXTURES / "trees" / f"{name}.json") if tree is None else None
        text = recorded.read_text(encoding="utf-8") if recorded else json.dumps(tree)
        (self.directory / f"{name}.json").write_text(text, encoding="utf-8")
        program = self.directory / name
        code = (FIXTURES / "replay.py").read_text(encoding="utf-8")
        program.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
        program.chmod(0o755)

    def runs(self, name: str) -> list[str]:
        return (self.directory / f"{name}.log").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    return Replay(tmp_path)


def import_help(*arguments: str) -> Result:
    return CliRunner().invoke(toolmason, ["import", "help", *arguments])


def tools_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    tools: dict[str, Any] = tomllib.loads(result.stdout)["tools"]
    return tools


def costs(manifest: Path) -> dict[str, int]:
    """Return the tokens of each tool of a manifest, as `toolmason stats` counts them."""
    diagnostics = Diagnostics()
    document = load(manifest, root=manifest.parent, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=manifest.parent, diagnostics=diagnostics) if tables and document else None
    assert server is not None, [str(diagnostic) for diagnostic in diagnostics]
    return {cost.name: cost.tokens for cost in stats(catalogue(server)).tools}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "terraform",
            {
                "terraform_plan": {"destroy": "boolean", "var": "string[]", "lock_timeout": "string"},
                "terraform_fmt": {"target": "string[]", "check": "boolean"},
                "terraform_logout": {"hostname": "string"},
                "terraform_state_list": {"address": "string[]", "id": "string"},
                "terraform_state_rm": {"address": "string[]", "dry_run": "boolean"},
                "terraform_workspace_new": {"name": "string"},
            },
        ),
        (
            "docker",
            {
                "docker_ps": {"all": "boolean", "last": "integer"},
                "docker_login": {"server": "string", "username": "string"},
                "docker_container_ls": {"filter": "string"},
                "docker_container_prune": {"force": "boolean"},
                "docker_container_run": {"image": "string", "volume": "string[]", "rm": "boolean"},
            },
        ),
        (
            "kubectl",
            {
                "kubectl_create": {"filename": "string[]"},
                "kubectl_get": {"type": "string", "output": "string", "watch": "boolean"},
                "kubectl_create_namespace": {"name": "string"},
                "kubectl_config_current_context": {},
                "kubectl_config_view": {"minify": "boolean"},
            },
        ),
        (
            "gh",
            {
                "gh_api": {"endpoint": "string", "field": "string", "method": "string"},
                "gh_auth_status": {"hostname": "string"},
                "gh_issue_create": {"title": "string"},
                "gh_issue_list": {"label": "string[]", "limit": "integer", "repo": "string"},
                "gh_issue_view": {"number": "string", "comments": "boolean"},
            },
        ),
    ],
)
def test_subcommands_are_followed_to_tools_below_600_tokens(
    program: str, expected: dict[str, dict[str, str]], replay: Replay, tmp_path: Path
) -> None:
    replay.add(program)
    manifest = tmp_path / "proposal.toml"

    result = import_help("--recursive", "--name", "tried", "-o", str(manifest), "--", program)

    assert result.exit_code == 0, result.output
    tools = tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"]
    assert tools.keys() == expected.keys()
    for name, params in expected.items():
        kinds = {key: table["type"] for key, table in tools[name].get("params", {}).items()}
        assert kinds == kinds | params, name
    assert max(costs(manifest).values()) <= 600
    assert f"{len(expected)} tools proposed from " in result.stderr
    assert all(run.endswith((" --help", "--help", "-h")) for run in replay.runs(program))


def test_dropped_flags_are_reported(replay: Replay) -> None:
    replay.add("docker")
    result = import_help("--", "docker", "container", "run")
    assert "# left out, to stay below 600 tokens: --add-host, " in result.stdout
    assert "docker_container_run: " in result.stderr
    dropped = next(line for line in result.stdout.splitlines() if line.startswith("# left out, to stay"))
    params = tools_of(result)["docker_container_run"]["params"]
    assert params["image"] == {"type": "string", "description": "Image", "positional": True}
    assert all(f"--{name.replace('_', '-')}," not in dropped for name in params)
    more = import_help("--max-tokens", "20000", "--", "docker", "container", "run")
    assert len(tools_of(more)["docker_container_run"]["params"]) > 3 * len(params)
    assert "left out" not in more.output


def test_without_recursive_the_program_alone_is_run(replay: Replay) -> None:
    replay.add("terraform")
    result = import_help("--", "terraform")
    assert "# to propose its parameters, run: toolmason import help -- terraform plan\n" in result.stdout
    assert replay.runs("terraform") == ["--help"]


def test_the_depth_is_limited(replay: Replay) -> None:
    replay.add("terraform")
    tools = tools_of(import_help("-r", "--depth", "1", "--", "terraform"))
    assert "params" in tools["terraform_plan"]
    assert "params" not in tools["terraform_state_rm"]
    assert not [run for run in replay.runs("terraform") if run.startswith("state ") and run != "state --help"]


def test_the_run_limit_is_kept_and_missing_subcommands_are_reported(replay: Replay) -> None:
    replay.add("terraform")
    result = import_help("-r", "--max-runs", "3", "--", "terraform")
    assert len(replay.runs("terraform")) == 3
    assert "3 subcommands have no parameters: the limit of 3 runs is reached; --max-runs raises it" in result.stderr
    assert "terraform_logout" in tools_of(result)


def test_the_time_is_limited() -> None:
    with pytest.raises(Exception, match="the limit of 0 seconds is reached; --max-seconds raises it"):
        Explorer(Runs(max_seconds=0)).explore(["git"], depth=1)


def test_a_program_that_ignores_its_subcommands_is_not_followed_for_ever(replay: Replay) -> None:
    text = "Usage: loop COMMAND\n\nCommands:\n  again  Print this help again\n  other  Print it too\n"
    replay.add("loop", dict.fromkeys(["", "again", "other"], text))
    result = import_help("-r", "--depth", "8", "--", "loop")
    assert tools_of(result).keys() == {"loop_again", "loop_other"}
    assert "it has no help of its own" in result.stdout
    assert len(replay.runs("loop")) == 3


def test_one_help_text_for_several_subcommands_is_read_by_its_usage(replay: Replay) -> None:
    usage = "usage: box key add [--force] <name>\n   or: box key drop <name>...\n   or: box key list [-n <max>]\n"
    text = f"{usage}\n  -v  Talk\n"
    replay.add("box", {"": text, "key": text, "key add": text, "key drop": text, "key list": text})
    tools = tools_of(import_help("-r", "--", "box", "key"))
    params = {name: {key: param["type"] for key, param in table["params"].items()} for name, table in tools.items()}
    assert params == {
        "box_key_add": {"name": "string", "force": "boolean"},
        "box_key_drop": {"name": "string[]"},
        "box_key_list": {"n": "string"},
    }


def test_help_and_completion_do_not_become_tools(replay: Replay) -> None:
    text = "Usage: x COMMAND\n\nCommands:\n  completion  Print a script\n  help  Print help\n  go  Go there\n"
    replay.add("x", {"": text, "go": "Usage: x go [--fast]\n\nGo there now.\n\n  --fast  Hurry\n"})
    assert tools_of(import_help("-r", "--", "x")).keys() == {"x_go"}


def test_the_risk_of_all_tools_can_be_set(replay: Replay) -> None:
    replay.add("gh")
    tools = tools_of(import_help("-r", "--risk", "read", "--", "gh"))
    assert {table["risk"] for table in tools.values()} == {"read"}


def test_an_existing_file_is_not_overwritten(replay: Replay, tmp_path: Path) -> None:
    replay.add("gh")
    path = tmp_path / "x.toml"
    path.write_text("mine", encoding="utf-8")
    result = import_help("-o", str(path), "--", "gh")
    assert (result.exit_code, path.read_text(encoding="utf-8")) == (4, "mine")
    assert not (tmp_path / "gh.log").exists()


@pytest.mark.parametrize("command", [("rg",), ("git", "log"), ("git", "diff"), ("toolmason",)])
def test_real_programs_stay_below_the_limit(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    manifest = tmp_path / "proposal.toml"
    result = import_help("-r", "--name", "tried", "-o", str(manifest), "--", *command)
    assert result.exit_code == 0, result.output
    assert max(costs(manifest).values()) <= 600


# Manual pages

PAGE = """\
PLAY(1)                          User Commands                         PLAY(1)

NAME
       play - play sounds from files

SYNOPSIS
       play [OPTION]... FILE...

OPTIONS
       -<number>, -n <number>, --count=<number>
           Play them this often.

       --loud
           Play them aloud.

EXAMPLES
       play --nonsense
"""


def test_a_manual_page_is_parsed() -> None:
    assert is_manual(PAGE)
    parsed = parse_manual(PAGE, ["play"])
    assert parsed.summary == "play sounds from files"
    assert [positional.name for positional in parsed.positionals] == ["file"]
    assert [option.flags for option in parsed.options] == [("-n", "--count"), ("--loud",)]
    assert parsed.options[0].description == "Play them this often."


def test_the_manual_page_of_a_program_without_help_is_read(replay: Replay) -> None:
    replay.add("play", {})
    man = replay.directory / "man"
    check = "sys.argv[1:] == ['-P', 'cat', 'play']"
    man.write_text(f"#!{sys.executable}\nimport sys\nprint({PAGE!r} if {check} else '')\n", encoding="utf-8")
    man.chmod(0o755)
    result = import_help("--", "play")
    assert result.stdout.startswith("# Proposed from `man -P cat play`")
    assert tools_of(result)["play"]["params"].keys() == {"file", "count", "loud"}


# The size of tools


def help_of(*options: Option) -> Help:
    return Help(summary="Go.", options=options)


def test_deprecated_flags_are_left_out() -> None:
    params = tool_params(
        help_of(
            Option(flags=("--old",), description="DEPRECATED. Use --new."),
            Option(flags=("--older",), description="Go slowly (deprecated)"),
            Option(flags=("--new",), description="Replaces the deprecated --old"),
        )
    )
    assert drop_deprecated(params) == ["--old", "--older"]
    assert list(params) == ["new"]


@pytest.mark.parametrize(
    ("text", "length", "short"),
    [
        ("Go.", 10, "Go."),
        ("Go there. Come back. And so on.", 22, "Go there. Come back."),
        ("Go there without a stop anywhere", 20, "Go there without a…"),
    ],
)
def test_texts_are_shortened_by_sentences_then_words(text: str, length: int, short: str) -> None:
    assert shorten(text, length) == short


# Completion scripts


def test_a_completion_script_fills_the_gaps_of_the_help(replay: Replay) -> None:
    replay.add(
        "pack",
        {
            "": "Usage: pack [OPTIONS] COMMAND\n\nPack files into one.\n\n  -c, --color WHEN  Control colors\n",
            "make": "Usage: pack make FILE\n\nMake a package of a file.\n",
            "list": "Usage: pack list\n\nList the packages here.\n\n  --all  Show all\n",
        },
    )
    tools = tools_of(import_help("-r", "--completion", str(FIXTURES / "pack.fish"), "--", "pack"))
    assert tools["pack_make"]["params"] == {
        "file": {"type": "string", "description": "File", "positional": True},
        "level": {"type": "string", "description": "Compression", "enum": ["low", "high"], "required": False},
        "target": {"type": "string", "description": "Directory", "required": False},
    }
    assert list(tools["pack_list"]["params"]) == ["all"]


def test_values_are_added_to_flags_and_hidden_flags_are_not() -> None:
    completions = read_completions(FIXTURES / "pack.fish", "pack")
    help_ = parse_help("Usage: pack [OPTIONS]\n\n  -c, --color WHEN  Control colors\n", ["pack"])
    (color,) = completions.add_to(help_, ()).options
    assert color.choices == ("auto", "never")
    assert completions.options[()][0].description == "Control the user's colors"
    assert completions.commands == {(): {"make": "Make a package", "list": "List packages"}}
    assert completions.options[("list",)][0].flags == ("--long",)


@pytest.mark.parametrize(
    ("file", "error"), [("absent.fish", "cannot be read"), ("gnu.txt", "is not a completion script")]
)
def test_files_without_completions_are_reported(file: str, error: str) -> None:
    result = import_help("--completion", str(FIXTURES / file), "--", "git")
    assert (result.exit_code, error in result.stderr) == (1, True)
