"""What `toolmason import help` makes of help texts: of real programs, and of each style there is."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.programs.argv import build_invocation
from toolmason_runtime.shared.specs.program import CommandTool, Risk

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.importers.command_line.help.fragment import fragment
from toolmason.importers.command_line.help.parser import Help, Option, parse_help
from toolmason.importers.command_line.help.runner import Answer, Runs, program_help
from toolmason.importers.command_line.help.tree import Subcommand, is_group
from toolmason.importers.command_line.help.usage import Positional, parse_usage
from toolmason.importers.notes import ImporterError
from toolmason.kinds.command.implementation import command_of
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

FIXTURES = Path(__file__).parent / "fixtures"
HEAD = 'edition = 1\n[server]\nname = "tried"\npackage = "tried_server"\n'


@pytest.fixture(autouse=True)
def programs_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `python`, `pip` and `toolmason` be those that the tests run with."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def import_help(*arguments: str) -> Result:
    return CliRunner().invoke(toolmason, ["import", "help", *arguments])


def commands_of(text: str, folder: Path) -> dict[str, CommandTool]:
    """Take a fragment through the stages, which must find nothing wrong with it."""
    path = folder / "manifest.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    diagnostics = Diagnostics()
    document = load(path, root=folder, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=folder, diagnostics=diagnostics) if tables and document else None
    assert server is not None, [str(each) for each in diagnostics]
    tools = [tool for category in server.categories for tool in category.tools]
    return {tool.name: command.tool for tool in tools if (command := command_of(tool))}


def proposed(folder: Path, *command: str) -> tuple[dict[str, Any], dict[str, CommandTool]]:
    result = import_help("--", *command)
    assert result.exit_code == 0, result.output
    return tomllib.loads(result.stdout), commands_of(result.stdout, folder)


def proposal(help_: Help, program: str, option: str = "--help") -> str:
    """Return the fragment for a help text, whose subcommands are not followed."""
    own = Subcommand(command=(program,), answer=Answer(help=help_, option=option))
    listed = [Subcommand(command=(program, name), summary=text) for name, text in help_.commands]
    return fragment((program,), listed if is_group(help_) else [own]).text


def parsed(name: str, *command: str) -> Help:
    return parse_help((FIXTURES / f"{name}.txt").read_text(encoding="utf-8"), command)


def options(text: Help) -> dict[str, Option]:
    return {each.flag: each for each in text.options}


# Real programs


@pytest.mark.parametrize(
    ("command", "tool", "some", "call", "words"),
    [
        (
            ("python", "-m", "json.tool"),
            "json_tool",
            {"infile": "string", "sort_keys": "boolean", "indent": "string"},
            {"infile": "a.json", "sort_keys": True, "indent": "2"},
            ("python", "-m", "json.tool", "a.json", "--sort-keys", "--indent", "2"),
        ),
        (
            ("git", "log"),
            "git_log",
            {"path": "string[]", "max_count": "integer", "author": "string"},
            {"path": ["a", "b"], "max_count": 3},
            ("git", "log", "a", "b", "--max-count=3"),
        ),
        (
            ("git", "commit"),
            "git_commit",
            {"message": "string", "amend": "boolean", "pathspec": "string[]"},
            {"message": "Mend it", "amend": True},
            ("git", "commit", "--message", "Mend it", "--amend"),
        ),
        (
            ("pip", "install"),
            "pip_install",
            {"requirement_specifier": "string[]", "dry_run": "boolean", "requirement": "string[]"},
            {"requirement": ["a.txt", "b.txt"], "dry_run": True},
            ("pip", "install", "--requirement", "a.txt", "--requirement", "b.txt", "--dry-run"),
        ),
        (
            ("rg",),
            "rg",
            {"pattern": "string", "path": "string[]", "after_context": "integer", "hidden": "boolean"},
            {"pattern": "x", "after_context": 2},
            ("rg", "x"),
        ),
        (
            ("node",),
            "node",
            {"script_js": "string", "check": "boolean", "conditions": "string"},
            {"script_js": "a.js", "check": True},
            ("node", "a.js", "--check"),
        ),
        (
            ("toolmason", "schema", "check"),
            "toolmason_schema_check",
            {"source": "string[]", "timeout": "integer", "target": "string[]", "fail_on": "string"},
            {"source": ["a.json"], "json": True},
            ("toolmason", "schema", "check", "a.json", "--json"),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_real_programs_give_tools_of_a_valid_manifest(
    tmp_path: Path,
    *,
    command: tuple[str, ...],
    tool: str,
    some: dict[str, str],
    call: dict[str, Any],
    words: tuple[str, ...],
) -> None:
    data, tools = proposed(tmp_path, *command)
    assert list(tools) == [tool]
    assert tools[tool].risk is Risk.DESTRUCTIVE
    params = data["tools"][tool]["params"]
    assert {name: params[name]["type"] for name in some} == some
    assert not {"help", "version"} & set(params)
    assert build_invocation(tools[tool], call, environ={}).argv[: len(words)] == words


@pytest.mark.parametrize(
    ("command", "some"),
    [
        (("pip",), {"pip_install", "pip_freeze"}),
        (("git",), {"git_clone", "git_commit"}),
        (("toolmason",), {"toolmason_generate", "toolmason_schema"}),
        (("toolmason", "schema"), {"toolmason_schema_check", "toolmason_schema_diff"}),
    ],
    ids=lambda words: " ".join(sorted(words) if isinstance(words, set) else words),
)
def test_sub_commands_are_proposed_one_by_one(tmp_path: Path, command: tuple[str, ...], some: set[str]) -> None:
    _, tools = proposed(tmp_path, *command)
    assert some <= tools.keys()
    (name, *_) = sorted(some)
    assert tools[name].argv[:-1] == command[1:]
    assert (
        f"# to propose its parameters, run: toolmason import help -- {' '.join([*command, tools[name].argv[-1]])}\n"
        in import_help("--", *command).stdout
    )


@pytest.mark.parametrize("command", [("toolmason", "generate"), ("toolmason", "init"), ("toolmason", "explain")])
def test_our_own_commands_are_read_whole(command: tuple[str, str]) -> None:
    found = program_help(command, runs=Runs()).help
    own = toolmason.get_command(toolmason.make_context("toolmason", [], resilient_parsing=True), command[1])
    assert own
    flags = {flag for param in own.params if param.param_type_name == "option" for flag in param.opts}
    assert {flag for each in found.options for flag in each.flags} == flags | {"-h", "--help"}
    assert [each.name for each in found.positionals] == [
        param.make_metavar(own.make_context(None, [], resilient_parsing=True)).lower()
        for param in own.params
        if param.param_type_name == "argument"
    ]


# How a program is asked


def program(folder: Path, *lines: str) -> str:
    """Write a program of a few lines of Python."""
    path = folder / "prog"
    path.write_text("\n".join([f"#!{sys.executable}", "import sys, os, time", *lines]), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_program_is_run_with_help_alone_and_again_with_h(tmp_path: Path) -> None:
    log = tmp_path / "log"
    name = program(
        tmp_path,
        f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')",
        "known = sys.argv[-1] == '-h'",
        "print('usage: prog go [--fast]\\n\\n  --fast  be quick' if known else 'unknown', file=sys.stderr)",
        "sys.exit(129)",
    )
    answer = program_help([name, "go"], runs=Runs())
    assert answer.option == "-h"
    assert [each.flags for each in answer.help.options] == [("--fast",)]
    assert log.read_text(encoding="utf-8") == "go --help\ngo -h\n"


def test_a_page_of_a_manual_gives_way_to_the_short_help(tmp_path: Path) -> None:
    page = "GIT-LOG(1)  Git Manual\\n\\nOPTIONS\\n       --one\\n           One\\n       --two\\n           Two\\n"
    short = "usage: prog\\n\\n  --one  One"
    name = program(tmp_path, f"print('{page}' if sys.argv[1] == '--help' else '{short}')")
    assert program_help([name], runs=Runs()).option == "-h"


def test_a_manual_is_better_than_nothing(tmp_path: Path) -> None:
    page = "X(1)  Manual  X(1)\\n\\n       --one  One\\n"
    name = program(tmp_path, f"print('{page}') if sys.argv[1] == '--help' else sys.exit(1)")
    assert program_help([name], runs=Runs()).option == "--help"


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    name = program(tmp_path, "time.sleep(600)")
    with pytest.raises(ImporterError, match=r"took more than 0\.2 seconds"):
        program_help([name], runs=Runs(timeout_s=0.2))


def test_endless_output_of_a_program_is_read_in_part(tmp_path: Path) -> None:
    name = program(tmp_path, "print('  --one  One')", "for _ in range(200000): print('x' * 60)")
    assert [each.flag for each in program_help([name], runs=Runs()).help.options] == ["--one"]


def test_a_program_that_writes_without_end_is_ended_and_read_in_part(tmp_path: Path) -> None:
    name = program(tmp_path, "print('  --one  One')", "while True: print('x' * 60)")
    assert [each.flag for each in program_help([name], runs=Runs()).help.options] == ["--one"]


def test_a_program_that_complains_without_end_is_ended(tmp_path: Path) -> None:
    name = program(tmp_path, "while True: print('x' * 60, file=sys.stderr)")
    with pytest.raises(ImporterError, match="shows no options"):
        program_help([name], runs=Runs())


def test_a_program_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    name = program(tmp_path, "print('  --' + os.environ.get('API_TOKEN', 'none') + '  x')")
    assert [each.flag for each in program_help([name], runs=Runs()).help.options] == ["--none"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("no-such-program",), "program `no-such-program` not found"),
        (("python", "-c", "print(1)"), "`-c` is not a subcommand"),
        (("git", "log", "-m"), "`-m` is not a subcommand"),
        (("python", "-m"), "`-m` is not a subcommand"),
        (("git", "a b"), "`a b` is not a subcommand"),
    ],
)
def test_a_command_that_cannot_be_run_for_help_is_reported(command: tuple[str, ...], why: str) -> None:
    result = import_help("--", *command)
    assert result.exit_code == 1
    assert why in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_not_executable_code_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "prog"
    path.write_bytes(b"\x00\x01")
    path.chmod(0o755)
    assert "is neither a program for this system nor a script" in import_help("--", str(path)).stderr


def test_a_program_without_options_in_its_help_is_reported(tmp_path: Path) -> None:
    result = import_help("--", program(tmp_path, "print('hello')"))
    assert result.exit_code == 1
    assert "shows no options with --help or -h" in result.stderr


@pytest.mark.parametrize(
    "output", [b"\n  -d  \0\0\n", b"\n  -d \x80\xfe\xff\n" * 9], ids=["with zero bytes", "mostly not UTF-8"]
)
def test_binary_help_output_is_reported_as_no_options(tmp_path: Path, output: bytes) -> None:
    result = import_help("--", program(tmp_path, f"sys.stdout.buffer.write({output!r})"))
    assert result.exit_code == 1
    assert "shows no options with --help or -h" in result.stderr


def test_a_help_text_that_is_not_all_utf_8_is_read(tmp_path: Path) -> None:
    name = program(tmp_path, "sys.stdout.buffer.write(b'  --caf\\xe9 X  Le caf\\xe9 du matin\\n  --one  One\\n')")
    assert "--one" in [each.flag for each in program_help([name], runs=Runs()).help.options]


# Styles


def test_argparse_is_read() -> None:
    found = parsed("argparse", "pack")
    assert found.summary == "Pack a folder into a file that can be sent."
    assert found.positionals == (
        Positional(name="source", description="what is packed"),
        Positional(
            name="target", required=False, description="where it goes, which is beside the source if nothing is said"
        ),
    )
    level = options(found)["--level"]
    assert (level.choices, level.default) == (("1", "2", "3"), "2")
    assert options(found)["--jobs"].flags == ("--jobs", "-j")
    assert options(found)["--name"].takes_more
    assert options(found)["--name"].description == "names of files"
    assert not options(found)["--verbose"].metavar
    assert found.usage.required_flags == {"--level"}


def test_cobra_of_kubectl_is_read() -> None:
    found = parsed("cobra", "kubectl", "get")
    assert found.summary == "Display one or many resources."
    assert [each.name for each in found.positionals] == ["type", "name"]
    assert not options(found)["--all-namespaces"].metavar
    assert options(found)["--chunk-size"].joined
    assert options(found)["--output"].choices == ("json", "yaml", "name")
    assert options(found)["--output"].description.startswith("Output format.")


def test_cobra_of_docker_is_read() -> None:
    found = parsed("pflag", "docker", "run")
    assert [(each.name, each.required, each.several) for each in found.positionals] == [
        ("image", True, False),
        ("command", False, False),
        ("arg", False, True),
    ]
    assert options(found)["--add-host"].several
    assert options(found)["--add-host"].description == "Add a custom host-to-IP mapping (host:ip)"
    assert options(found)["--cgroupns"].choices == ("host", "private")
    assert options(found)["--stop-timeout"].default == "10"
    assert not options(found)["--detach"].metavar


def test_clap_is_read() -> None:
    found = parsed("clap", "rg")
    assert found.summary == "ripgrep (rg) recursively searches the current directory for a regex pattern."
    assert [(each.name, each.required, each.several) for each in found.positionals] == [
        ("pattern", False, False),
        ("path", False, True),
    ]
    assert found.positionals[0].description == "A regular expression used for searching."
    assert options(found)["--byte-offset"].description == "Print the 0-based byte offset for each matching line."
    assert options(found)["--engine"].choices == ("default", "pcre2", "auto")
    assert options(found)["--file"].several
    assert options(found)["--hidden"].flags == ("-.", "--hidden")


def test_gnu_is_read() -> None:
    found = parsed("gnu", "ls")
    assert found.positionals == (Positional(name="file", required=False, several=True),)
    assert options(found)["--block-size"].joined
    assert options(found)["--block-size"].description.endswith("see SIZE format below")
    assert options(found)["--color"].value_may_lack
    assert options(found)["--width"].flags == ("-w", "--width")


def test_docopt_is_read() -> None:
    found = parsed("docopt", "ship", "move")
    assert [each.name for each in found.positionals] == ["name", "x", "y"]
    assert options(found)["--speed"].default == "10"
    assert [each.flag for each in found.options] == ["--help", "--speed", "--moored", "--no-moored"]


@pytest.mark.parametrize("style", ["argparse", "cobra", "pflag", "clap", "gnu", "docopt"])
def test_every_style_gives_a_manifest(style: str, tmp_path: Path) -> None:
    text = proposal(parsed(style, "prog"), "prog")
    (tool,) = commands_of(text, tmp_path).values()
    assert tool.placements


@pytest.mark.parametrize(
    ("usage", "positionals"),
    [
        ("prog", []),
        ("prog [<options>] [--] <a>...", ["a..."]),
        ("prog a b [c]", ["a", "b", "[c]"]),
        ("prog [a [b]]", ["[a]", "[b]"]),
        ("prog [[--] <path>...]", ["[path...]"]),
        ("prog -f FILE OUT", ["out"]),
        ("prog (a | b) c", ["[a]", "c"]),
        ("prog [-a | -b] [--x=<y>] SRC... DST", ["src...", "dst"]),
        ("prog NAME [NAME ...]", ["name..."]),
        ("prog COMMAND [ARGS]...", []),
        ("prog [OPTIONS] [arguments]", ["[arguments...]"]),
        ("prog [ script.js ]", ["[script.js]"]),
        ("prog [(", []),
        ("prog ...", []),
        ("prog [a -f FILE]", ["[a]"]),
        ("prog [package names]", ["[package names]"]),
        ("prog [path ...]", ["[path...]"]),
        ("prog [[<a>] [--]]", ["[a]"]),
        ("prog " + "[" * 40 + "a" + "]" * 40, []),
        ("prog <requirement specifier> ...", ["requirement specifier..."]),
    ],
)
def test_positionals_come_from_the_usage(usage: str, positionals: list[str]) -> None:
    def shown(each: Positional) -> str:
        text = each.name + ("..." if each.several else "")
        return text if each.required else f"[{text}]"

    assert [shown(each) for each in parse_usage([f"usage: {usage}"], ["prog"]).positionals] == positionals


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("  -x", Option(flags=("-x",))),
        ("  -x FILE  write it", Option(flags=("-x",), metavar="FILE", description="write it")),
        ("  -x, --long <n>  x", Option(flags=("-x", "--long"), metavar="<n>", description="x")),
        ("  -x|--long", Option(flags=("-x", "--long"))),
        ("  -h --long  x", Option(flags=("-h", "--long"), description="x")),
        ("  --x=...  y", Option(flags=("--x",), metavar="VALUE", joined=True, description="y")),
        ("  --x only one space", Option(flags=("--x",), description="only one space")),
        ("  -v, --verbose...  x", Option(flags=("-v", "--verbose"), description="x")),
        (
            "  -S, --sign[=<key>]  x",
            Option(flags=("-S", "--sign"), metavar="<key>", joined=True, value_may_lack=True, description="x"),
        ),
        (
            "  --n N  x [default: 5; 1<=x<=9]",
            Option(
                flags=("--n",), metavar="N", default="5", minimum=1, maximum=9, description="x [default: 5; 1<=x<=9]"
            ),
        ),
        ("  --n N  x [x<=9]", Option(flags=("--n",), metavar="N", maximum=9, description="x [x<=9]")),
        ("  --m WHEN  (default map[])", Option(flags=("--m",), metavar="WHEN", description="(default map[])")),
        (
            "  --when auto|never  x",
            Option(flags=("--when",), metavar="auto|never", choices=("auto", "never"), description="x"),
        ),
        ("\x1b[1m  --bold\x1b[0m  _\x08x", Option(flags=("--bold",), description="x")),
    ],
)
def test_options_are_read_in_every_spelling(line: str, option: Option) -> None:
    assert parse_help(line, ["prog"]).options == (option,)


def test_a_usage_line_of_its_own_is_followed_by_its_forms() -> None:
    lines = ["Usage:", "", "  prog a", "       [b]", "", "prog c"]
    assert [each.name for each in parse_usage(lines, ["prog"]).positionals] == ["a", "b"]
    assert [each.name for each in parse_usage(["Usage:", "prog x", "Options:"], ["/bin/prog"]).positionals] == ["x"]


def test_a_continued_description_is_not_an_option() -> None:
    text = "  --one     as with\n            --two, which is another\n  --three   x\n"
    assert [each.flag for each in parse_help(text, ["prog"]).options] == ["--one", "--three"]


STASH = """
usage: stash list [<log-options>]
   or: stash show [-u | --only-untracked] [<stash>]
   or: stash [push [-p | --patch]
             [--] [<pathspec>...]]

    -u, --include-untracked  Untracked files too
"""
PACKAGES = """packages <command>

Usage:

packages install        install all the dependencies of a project
packages install <foo>  add a dependency
packages test           run the tests
packages -l             tell more

All commands:

    access, audit, install,
    install-test, test

Configuration: packages help config
"""
FETCH = """
fetch 1.2
Usage: fetch [options] command
       fetch [options] install|remove name1 [name2 ...]

Most used commands:
  update - Fetch new lists of packages
  install - Install packages (name is libc6
"""


@pytest.mark.parametrize(
    ("text", "program", "found"),
    [
        (STASH, "stash", {"list": "", "show": ""}),
        (PACKAGES, "packages", {"access": "", "audit": "", "install": "", "install-test": "", "test": ""}),
        (
            FETCH,
            "fetch",
            {"update": "Fetch new lists of packages", "install": "Install packages (name is libc6", "remove": ""},
        ),
    ],
    ids=["a form for each", "a list between commas", "after dashes, and as alternatives"],
)
def test_sub_commands_that_a_usage_spells_out_become_tools(
    tmp_path: Path, text: str, program: str, found: dict[str, str]
) -> None:
    help_ = parse_help(text, [program])
    assert dict(help_.commands) == found
    assert help_.positionals == ()
    tools = commands_of(proposal(help_, program), tmp_path)
    assert [each.argv for each in tools.values()] == [(name,) for name in found]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Usage: cp SOURCE DEST\n  or: cp -t DIRECTORY SOURCE\n", ["source", "dest"]),
        ("usage: zip archive [file]\n   or: zip (-h | -v) archive\n", ["archive", "file"]),
        ("Usage: tried\n", []),
        ("Usage: curl [options...] <url>\n -d, --data <data>   HTTP POST data\n", ["url"]),
        ("Usage: perl [switches] [file]\n  -0[octal] specify a separator\n  -a        split\n", ["file"]),
        ("usage: many [-h]\n            --level LEVEL\n            name\n", ["name"]),
        ("usage: p   FILE\n", ["file"]),
    ],
)
def test_usage_lines_yield_positionals_and_no_subcommands(text: str, names: list[str]) -> None:
    help_ = parse_help(text, [text.split()[1]])
    assert [each.name for each in help_.positionals] == names
    assert help_.commands == ()


def test_values_given_only_in_the_usage_are_found() -> None:
    text = (
        "Options:\n[-g|--global] [--strategy <flat|nested>] [--omit <dev|peer> [--omit <dev|peer> ...]]\n"
        "[-w|--workspace <name>]\n\n  -g|--global\n    For all.\n  --strategy\n    How.\n  --omit\n    What not.\n"
        "  -w|--workspace\n    Where.\n"
    )
    found = options(parse_help(text, ["packages"]))
    assert not found["--global"].metavar
    assert found["--strategy"].choices == ("flat", "nested")
    assert found["--omit"].several
    assert found["--workspace"].metavar == "<name>"
    assert found["--workspace"].description == "Where."


def test_options_are_read_from_a_usage_alone(tmp_path: Path) -> None:
    usage = (
        "usage: remote [-46Aq] [-p port] [-D [address:]port] [-u | --user name] [--log=file] [-aa]\n"
        "              target [command]\n"
    )
    help_ = parse_help(usage, ["remote"])
    assert {each.flag: each.metavar for each in help_.options} == {
        **dict.fromkeys(("-4", "-6", "-A", "-q"), ""),
        "-p": "port",
        "-D": "[address:]port",
    }
    assert [each.name for each in help_.positionals] == ["target", "command"]
    (tool,) = commands_of(proposal(help_, "remote"), tmp_path).values()
    argv = build_invocation(tool, {"target": "host", "p": 22, "a": True}, environ={}).argv
    assert argv == ("remote", "host", "-A", "-p", "22")
    usage = "usage: p [-Q query_option]\n"
    text = proposal(parse_help(usage, ["p"]), "p")
    assert tomllib.loads(text)["tools"]["p"]["params"]["q"]["description"] == "query option"


def test_colons_before_a_description_are_removed() -> None:
    found = options(
        parse_help("-b     : warn of bytes\n         and text\n-c cmd : run a text\n--at A:B  where\n", ["python"])
    )
    assert found["-b"] == Option(flags=("-b",), description="warn of bytes and text")
    assert found["-c"] == Option(flags=("-c",), metavar="cmd", description="run a text")
    assert found["--at"].description == "where"


def test_a_value_that_must_be_glued_to_a_short_flag_is_not_written_apart(tmp_path: Path) -> None:
    text = proposal(parse_help("  -i[suffix]  edit in place\n", ["p"]), "p")
    assert "# guess: that it has no value; a joined value" in text
    (tool,) = commands_of(text, tmp_path).values()
    assert build_invocation(tool, {"i": True}, environ={}).argv == ("p", "-i")


# What is written


def test_guesses_are_marked(tmp_path: Path) -> None:
    text = proposal(parsed("argparse", "pack"), "pack")
    assert text.startswith("# Proposed from `pack --help`: review each guess.\n")
    assert "# guess: a whole number, by `N` or its default\nparams.jobs = {" in text
    assert "# guess: that it is required; the usage has it without brackets\nparams.level = {" in text
    assert "# guess: that it has one value; the help shows several\nparams.name = {" in text
    assert "# guess: existence and position" not in text
    assert tomllib.loads(text)["tools"]["pack"]["params"]["ratio"]["type"] == "number"
    commands_of(text, tmp_path)


def test_arguments_in_an_order_that_a_manifest_refuses_are_loosened(tmp_path: Path) -> None:
    found = parse_help("usage: cp [-x] [MODE] SOURCE... DEST\n\nCopy a source to a destination.\n", ["cp"])
    text = proposal(found, "cp")
    params = tomllib.loads(text)["tools"]["cp"]["params"]
    assert params["source"] == {"type": "string", "description": "Source", "positional": True, "required": False}
    assert "others follow it" in text
    assert "it follows an optional one" in text
    commands_of(text, tmp_path)


def test_a_program_that_takes_two_dashes_is_marked(tmp_path: Path) -> None:
    text = proposal(parse_help("usage: p [--] [<path>...]", ["p"]), "p", "-h")
    assert "# guess: `ends_options`; the usage contains `--`\n[clis.p]" in text
    (tool,) = commands_of(text, tmp_path).values()
    assert build_invocation(tool, {"path": ["-x"]}, environ={}).argv == ("p", "--", "-x")


def test_a_proposal_omits_parameters_that_a_manifest_refuses(tmp_path: Path) -> None:
    help_ = Help(options=(Option(flags=("--a",)), Option(flags=("-x:y",)), Option(flags=("--a",), metavar="X")))
    text = proposal(help_, "p")
    assert "# left out: tools.p.params.a_2: " in text
    (tool,) = commands_of(text, tmp_path).values()
    assert [each.flag for each in tool.placements] == ["--a", "-x:y"]


def test_a_proposal_without_a_valid_tool_is_reported() -> None:
    help_ = Help(commands=(("x" * 80, "too long"),))
    with pytest.raises(ImporterError, match=r"left out: tools\.p_x+: (?s:.*)can be a tool"):
        proposal(help_, "p")


@pytest.mark.parametrize("name", ["search", "any"])
def test_a_program_whose_name_a_server_keeps_gets_another(tmp_path: Path, name: str) -> None:
    text = proposal(parse_help("  --a  x", [name]), name)
    assert [tool.name for tool in commands_of(text, tmp_path).values()] == [f"run_{name}"]


def test_a_program_named_as_a_generated_module_gets_another_category(tmp_path: Path) -> None:
    text = proposal(parse_help("  --a  x", ["server"]), "server")
    assert list(tomllib.loads(text)["categories"]) == ["server_tools"]
    commands_of(text, tmp_path)


def test_no_program_of_these_tests_is_missing() -> None:
    assert [name for name in ("git", "node", "pip", "python", "rg", "toolmason") if not shutil.which(name)] == []


LINES = st.lists(st.text(st.sampled_from(" -[]()<>|.=,:aAbN\t#\"'{}…"), max_size=40), max_size=12)


@given(LINES)
def test_any_text_gives_a_manifest_or_nothing(lines: list[str]) -> None:
    found = parse_help("usage: p " + "\n".join(lines), ["p"])
    try:
        text = proposal(found, "p")
    except ImporterError:
        return
    assert re.search(r"^risk = \"destructive\"$", text, re.MULTILINE)
    tomllib.loads(text)
