"""Which command line a call becomes: FR-009, FR-016 (positionals, flags, switches, stdin, cwd, defaults) and safety."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toolmason_runtime.programs.argv import MAX_ELEMENT_LENGTH, build_invocation, effective_values, expand_variables
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import ArgumentPlacement, CommandTool, PlacementKind, Program

HOME = {"HOME": "/home/ada"}


def flag(name: str, text: str = "", **rest: Any) -> ArgumentPlacement:
    return ArgumentPlacement(name=name, place=PlacementKind.FLAG, flag=text or f"--{name}", **rest)


def switch(name: str, text: str = "", **rest: Any) -> ArgumentPlacement:
    return flag(name, text, switch=True, **rest)


def positional(name: str, **rest: Any) -> ArgumentPlacement:
    return ArgumentPlacement(name=name, place=PlacementKind.POSITIONAL, **rest)


STDIN = ArgumentPlacement(name="text", place=PlacementKind.STDIN)
CWD = ArgumentPlacement(name="folder", place=PlacementKind.CWD)


def program(*shared: ArgumentPlacement, **rest: Any) -> Program:
    return Program(**({"name": "app", "command": ("app",)} | rest), placements=shared)


def tool(
    *placements: ArgumentPlacement, argv: tuple[str, ...] = ("sub",), of: Program | None = None, **rest: Any
) -> CommandTool:
    return CommandTool(name="app_sub", program=of or program(), argv=argv, placements=placements, **rest)


def line(which: CommandTool, arguments: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> str:
    """Give the command line as one text; nothing that these tests pass holds a `|`."""
    return "|".join(built(which, arguments, environ).argv)


def built(which: CommandTool, arguments: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Invocation:
    return build_invocation(which, arguments, environ=HOME if environ is None else environ)


def refusal(which: CommandTool, arguments: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ToolError) as caught:
        built(which, arguments, environ)
    return caught.value.message


ENDING = program(ends_options=True)
GLOBAL = program(flag("host", default_env="APP_HOST"), switch("quiet"), ends_options=True)


@pytest.mark.parametrize(
    ("which", "arguments", "expected"),
    [
        pytest.param(tool(argv=()), {}, "app", id="the command alone"),
        pytest.param(tool(argv=("remote", "add")), {}, "app|remote|add", id="a sub-command of several words"),
        pytest.param(
            tool(of=program(command=("python", "-m", "app"))), {}, "python|-m|app|sub", id="a command of several words"
        ),
        pytest.param(tool(positional("path")), {"path": "a b.md"}, "app|sub|a b.md", id="a positional, not split"),
        pytest.param(tool(positional("path", default=".")), {}, "app|sub|.", id="the default of a positional"),
        pytest.param(
            tool(positional("a"), positional("b")), {"b": "2", "a": "1"}, "app|sub|1|2", id="positionals as declared"
        ),
        pytest.param(tool(positional("paths")), {"paths": ["a", "b"]}, "app|sub|a|b", id="a list of positionals"),
        pytest.param(tool(positional("path")), {"path": ""}, "app|sub|", id="an empty positional stays"),
        pytest.param(tool(flag("count", "-n")), {"count": 5}, "app|sub|-n|5", id="a flag and its value"),
        pytest.param(tool(flag("count", default=10)), {}, "app|sub|--count|10", id="the default of a flag"),
        pytest.param(tool(flag("count", default=10)), {"count": 3}, "app|sub|--count|3", id="not the default"),
        pytest.param(tool(flag("count", default=10)), {"count": None}, "app|sub|--count|10", id="null is not given"),
        pytest.param(tool(flag("count", default=10)), {"count": 0}, "app|sub|--count|0", id="zero is given"),
        pytest.param(tool(flag("word", default="a")), {"word": ""}, "app|sub|--word|", id="empty text is given"),
        pytest.param(tool(flag("names", default=["a"])), {"names": []}, "app|sub", id="an empty list is given"),
        pytest.param(tool(flag("names", default=("a", "b"))), {}, "app|sub|--names|a|--names|b", id="a default list"),
        pytest.param(tool(flag("names")), {"names": ["a", "b"]}, "app|sub|--names|a|--names|b", id="a flag for each"),
        pytest.param(tool(flag("count")), {}, "app|sub", id="a flag without a value is left out"),
        pytest.param(tool(flag("query", "query=")), {"query": "a b"}, "app|sub|query=a b", id="an inline flag"),
        pytest.param(tool(flag("query", "-q=")), {"query": ["a", "b"]}, "app|sub|-q=a|-q=b", id="inline for each"),
        pytest.param(tool(flag("query", "-q=", default="a")), {}, "app|sub|-q=a", id="the default of an inline flag"),
        pytest.param(tool(flag("query", "-q=")), {"query": "--rm"}, "app|sub|-q=--rm", id="inline takes a dash"),
        pytest.param(tool(flag("query", "-q=")), {"query": -1.5}, "app|sub|-q=-1.5", id="inline takes a number"),
        pytest.param(tool(switch("short")), {"short": True}, "app|sub|--short", id="a switch that is on"),
        pytest.param(tool(switch("short", default=True)), {"short": False}, "app|sub", id="a switch that is off"),
        pytest.param(tool(switch("short", default=True)), {}, "app|sub|--short", id="the default of a switch"),
        pytest.param(tool(flag("color")), {"color": True}, "app|sub|--color|true", id="true as a value"),
        pytest.param(tool(flag("color", "--color=")), {"color": False}, "app|sub|--color=false", id="false as a value"),
        pytest.param(tool(flag("ref")), {"ref": -5}, "app|sub|--ref|-5", id="a number may be negative"),
        pytest.param(tool(flag("ref")), {"ref": -0.5}, "app|sub|--ref|-0.5", id="a fraction may be negative"),
        pytest.param(
            tool(flag("message")), {"message": "one\n\ntwo"}, "app|sub|--message|one\n\ntwo", id="a text has lines"
        ),
        pytest.param(
            tool(switch("verbose"), positional("query")),
            {"verbose": True, "query": "x"},
            "app|sub|x|--verbose",
            id="positionals before flags",
        ),
        pytest.param(
            tool(flag("n"), positional("path"), of=GLOBAL),
            {"n": 1, "path": "x", "host": "h", "quiet": True},
            "app|sub|x|--n|1|--host|h|--quiet",
            id="flags of the program last",
        ),
        pytest.param(
            tool(flag("n"), positional("a"), positional("b"), of=GLOBAL),
            {"n": 1, "a": "x", "b": "-y", "quiet": True},
            "app|sub|--n|1|--quiet|--|x|-y",
            id="one dash puts all positionals after the end of options",
        ),
        pytest.param(tool(positional("a"), of=ENDING), {"a": "--"}, "app|sub|--|--", id="the end itself, as a value"),
        pytest.param(tool(positional("a"), of=ENDING), {"a": "-"}, "app|sub|-", id="a dash alone is a value"),
        pytest.param(
            tool(positional("a"), positional("sign"), positional("b")),
            {"a": 10, "sign": "-", "b": 4},
            "app|sub|10|-|4",
            id="a dash alone, to a program that does not take --",
        ),
        pytest.param(tool(flag("output")), {"output": "-"}, "app|sub|--output|-", id="a dash alone after its flag"),
        pytest.param(
            tool(positional("a"), switch("loud", "loud")), {"a": "x", "loud": True}, "app|sub|x|loud", id="a bare word"
        ),
        pytest.param(tool(positional("a"), of=ENDING), {"a": -3}, "app|sub|--|-3", id="a negative positional"),
        pytest.param(
            tool(positional("a"), positional("sign"), positional("b")),
            {"a": -3, "sign": "+", "b": 4},
            "app|sub|-3|+|4",
            id="a negative operand",
        ),
        pytest.param(tool(positional("a")), {"a": [-1, -2.5, 0]}, "app|sub|-1|-2.5|0", id="negative numbers in a list"),
        pytest.param(tool(positional("a"), flag("n")), {"a": -7, "n": 1}, "app|sub|-7|--n|1", id="before a flag"),
        pytest.param(
            tool(positional("a"), argv=("run", "--", "expr")),
            {"a": -1e-7},
            "app|run|--|expr|-0.0000001",
            id="to another program",
        ),
        pytest.param(
            tool(positional("a"), positional("b"), of=ENDING),
            {"a": -3, "b": "-R"},
            "app|sub|--|-3|-R",
            id="number, option",
        ),
        pytest.param(tool(positional("a"), of=ENDING), {"a": "x-y"}, "app|sub|x-y", id="a dash inside is nothing"),
        pytest.param(
            tool(positional("a"), switch("v"), argv=("log", "--")),
            {"a": "-x", "v": True},
            "app|log|--v|--|-x",
            id="an end of options in argv, which keeps flags before it",
        ),
        pytest.param(
            tool(positional("a"), argv=("exec", "--", "ls"), of=ENDING),
            {"a": "x"},
            "app|exec|--|ls|x",
            id="what another program is given",
        ),
        pytest.param(tool(flag("host", "-H"), of=GLOBAL), {"host": "h"}, "app|sub|-H|h", id="a tool places it itself"),
        pytest.param(tool(), {"--evil": "x", "other": 1}, "app|sub", id="what is unknown is not written"),
        pytest.param(
            tool(STDIN, CWD, positional("a")),
            {"text": "t", "folder": "f", "a": "x"},
            "app|sub|x",
            id="neither stdin nor cwd",
        ),
        pytest.param(
            tool(positional("a")), {"a": "~/x $HOME `ls` $(ls) *"}, "app|sub|~/x $HOME `ls` $(ls) *", id="as is"
        ),
    ],
)
def test_command_line_is_command_words_positionals_flags_and_flags_of_the_program(
    which: CommandTool, arguments: Mapping[str, Any], expected: str
) -> None:
    """FR-009, FR-016."""
    assert line(which, arguments) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (42, "42"),
        (10**30, "1" + "0" * 30),
        (2.5, "2.5"),
        (2.0, "2.0"),
        (1e-7, "0.0000001"),
        (-1.5e-9, "-0.0000000015"),
        (1e22, "1" + "0" * 22),
        (0.1, "0.1"),
    ],
)
def test_number_is_written_out_without_an_exponent(value: float, expected: str) -> None:
    assert built(tool(flag("n")), {"n": value}).argv[-1] == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1.7976931348623157e308)
def test_fraction_is_read_back_as_the_same_number(value: float) -> None:
    text = built(tool(flag("n")), {"n": value}).argv[-1]

    assert float(text) == value
    assert "e" not in text


@pytest.mark.parametrize(
    ("which", "arguments", "reason"),
    [
        pytest.param(tool(positional("path")), {"path": "--output=f"}, "could parse it as an option", id="an option"),
        pytest.param(tool(positional("path")), {"path": "--"}, "could parse it as an option", id="two dashes"),
        pytest.param(tool(positional("path")), {"path": ["a", "-b"]}, "could parse it as an option", id="in a list"),
        pytest.param(tool(positional("path", default="-b")), {}, "could parse it as an option", id="a default"),
        pytest.param(tool(positional("path")), {"path": "-1"}, "could parse it as an option", id="a number as text"),
        pytest.param(
            tool(positional("path")), {"path": [-1, "-R"]}, "could parse it as an option", id="after a number"
        ),
        pytest.param(
            tool(positional("path"), argv=("exec", "--", "ls"), of=ENDING),
            {"path": "-R"},
            "could parse it as an option",
            id="an option of what another program is given",
        ),
        pytest.param(
            tool(flag("path"), of=ENDING), {"path": "--rm"}, "could parse it as an option", id="a flag's value"
        ),
        pytest.param(tool(flag("path")), {"path": "-5"}, "could parse it as an option", id="a number that is text"),
        pytest.param(tool(flag("path")), {"path": ["a", "--"]}, "could parse it as an option", id="a flag's item"),
        pytest.param(
            tool(positional("path")), {"path": "a\nb"}, "line break at character 2", id="a positional's lines"
        ),
        pytest.param(
            tool(positional("path")), {"path": "a\r"}, "line break at character 2", id="a positional's return"
        ),
        pytest.param(tool(positional("path")), {"path": "a\0b"}, "NUL at character 2", id="NUL in a positional"),
        pytest.param(tool(flag("path", "-p=")), {"path": "\0"}, "NUL at character 1", id="NUL in an inline flag"),
        pytest.param(tool(flag("path")), {"path": ["a", "\0"]}, "NUL at character 1", id="NUL in an item"),
        pytest.param(
            tool(flag("path")), {"path": "x" * (MAX_ELEMENT_LENGTH + 1)}, "exceeds the limit of", id="too long"
        ),
        pytest.param(
            tool(flag("path", "-p=")), {"path": "x" * MAX_ELEMENT_LENGTH}, "exceeds the limit of", id="with its flag"
        ),
        pytest.param(
            tool(flag("path")), {"path": "\u00e9" * MAX_ELEMENT_LENGTH}, "exceeds the limit of", id="too many bytes"
        ),
        pytest.param(tool(flag("path")), {"path": 10**5000}, "too many digits", id="a number of 5001 digits"),
        pytest.param(tool(flag("path")), {"path": {"a": 1}}, "got an object with 1 member", id="an object"),
        pytest.param(tool(flag("path")), {"path": [["a"]]}, "got an array of 1 item", id="a list in a list"),
        pytest.param(tool(flag("path")), {"path": ["a", None]}, "got null", id="a null in a list"),
        pytest.param(tool(switch("path")), {"path": "true"}, "must be true or false", id="a text for a switch"),
        pytest.param(tool(switch("path")), {"path": [True]}, "must be true or false", id="a list for a switch"),
        pytest.param(tool(positional("path")), {"path": True}, "cannot be true or false", id="true as a positional"),
        pytest.param(
            tool(ArgumentPlacement(name="path", place=PlacementKind.CWD)),
            {"path": "a\nb"},
            "line break",
            id="a cwd's lines",
        ),
        pytest.param(
            tool(ArgumentPlacement(name="path", place=PlacementKind.CWD)), {"path": "a\0"}, "NUL", id="NUL in a cwd"
        ),
        pytest.param(
            tool(ArgumentPlacement(name="path", place=PlacementKind.CWD)),
            {"path": 3},
            "must be the path",
            id="a number as cwd",
        ),
        pytest.param(
            tool(ArgumentPlacement(name="path", place=PlacementKind.STDIN)), {"path": "a\0"}, "NUL", id="NUL in stdin"
        ),
        pytest.param(
            tool(ArgumentPlacement(name="path", place=PlacementKind.STDIN)),
            {"path": ["a"]},
            "got an array",
            id="a list as stdin",
        ),
    ],
)
def test_an_unsafe_value_is_refused_with_its_name_and_the_reason(
    which: CommandTool, arguments: Mapping[str, Any], reason: str
) -> None:
    """FR-008, SC-005: the text says which argument, and what is wrong with it."""
    message = refusal(which, arguments)

    assert message.startswith(("Argument 'path' ", "Argument 'path["))
    assert reason in message


@pytest.mark.parametrize("where", [flag("path"), positional("path")])
def test_item_of_a_list_is_refused_by_its_place(where: ArgumentPlacement) -> None:
    assert refusal(tool(where), {"path": ["a", "b", "--"]}).startswith("Argument 'path[2]' starts with `-`")
    assert refusal(tool(where), {"path": ["a", "\0"]}).startswith("Argument 'path[1]' contains NUL")


@pytest.mark.parametrize(
    "place", [positional("file"), flag("file"), STDIN, CWD], ids=["positional", "flag", "stdin", "cwd"]
)
@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "caf\udce9\ud800", "\ude00\ud83d"])
def test_an_unpaired_surrogate_is_refused_at_its_place(place: ArgumentPlacement, text: str) -> None:
    index = next(
        index
        for index, character in enumerate(text)
        if "\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff"
    )

    assert refusal(tool(place), {place.name: text}).endswith(
        f"contains U+{ord(text[index]):04X}, half of a character, at character {index + 1}"
    )


def test_file_name_that_is_not_utf_8_is_passed() -> None:
    assert line(tool(positional("file")), {"file": "caf\udce9"}) == "app|sub|caf\udce9"


def test_longest_element_is_passed() -> None:
    assert built(tool(flag("a")), {"a": "x" * MAX_ELEMENT_LENGTH}).argv[-1] == "x" * MAX_ELEMENT_LENGTH
    assert built(tool(flag("a", "-a=")), {"a": "x" * (MAX_ELEMENT_LENGTH - 3)}).argv[-1].startswith("-a=xxx")


# Globals and the environment of the server.


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("-x", "starts with `-`, so app could parse it as an option"),
        ("a" * (MAX_ELEMENT_LENGTH + 1), f"exceeds the limit of {MAX_ELEMENT_LENGTH} bytes for one argument"),
    ],
)
def test_value_of_the_environment_that_cannot_be_passed_is_for_the_owner_to_mend(host: str, reason: str) -> None:
    which = tool(positional("path"), of=program(flag("host", default_env="APP_HOST")))

    with pytest.raises(ToolError) as refused:
        build_invocation(which, {"path": "a"}, environ={"APP_HOST": host})

    assert refused.value.message == (
        f"This tool is not set up: the environment variable APP_HOST of the server cannot be passed: it {reason}"
    )
    assert refused.value.code == "NOT_SET_UP"


def test_value_of_a_call_in_place_of_the_environment_is_for_its_sender_to_mend() -> None:
    which = tool(of=program(flag("host", default_env="APP_HOST")))

    assert refusal(which, {"host": "-x"}, {"APP_HOST": "-y"}).startswith("Argument 'host' starts with `-`")


@pytest.mark.parametrize(
    ("placement", "environ", "expected"),
    [
        (flag("host", default_env="APP_HOST"), {"APP_HOST": "h"}, "app|sub|--host|h"),
        (flag("host", default_env="APP_HOST"), {"APP_HOST": ""}, "app|sub"),
        (flag("host", default_env="APP_HOST"), {}, "app|sub"),
        (flag("host", default_env="APP_HOST", default="here"), {"APP_HOST": "h"}, "app|sub|--host|h"),
        (flag("host", default_env="APP_HOST", default="here"), {}, "app|sub|--host|here"),
        (flag("host", default_env="APP_HOST"), {"APP_HOST": "$HOME"}, "app|sub|--host|$HOME"),
        (positional("host", default_env="APP_HOST"), {"APP_HOST": "h"}, "app|sub|h"),
        (switch("quiet", default_env="QUIET"), {"QUIET": "1"}, "app|sub|--quiet"),
        (switch("quiet", default_env="QUIET"), {"QUIET": " Yes "}, "app|sub|--quiet"),
        (switch("quiet", default_env="QUIET", default=True), {"QUIET": "off"}, "app|sub"),
        (switch("quiet", default_env="QUIET", default=True), {"QUIET": ""}, "app|sub|--quiet"),
    ],
)
def test_default_of_a_global_comes_from_a_variable_that_is_set_and_not_empty(
    placement: ArgumentPlacement, environ: dict[str, str], expected: str
) -> None:
    """FR-016."""
    assert line(tool(of=program(placement)), {}, environ) == expected


def test_a_sent_argument_overrides_the_variable() -> None:
    which = tool(of=program(flag("host", default_env="APP_HOST")))
    assert line(which, {"host": "mine"}, {"APP_HOST": "theirs"}) == "app|sub|--host|mine"


def test_variable_for_a_switch_must_be_true_or_false() -> None:
    which = tool(of=program(switch("quiet", default_env="QUIET")))
    assert "variable QUIET of the server must be true or false" in refusal(which, {}, {"QUIET": "maybe"})


def test_variable_follows_the_same_rules_as_a_sent_argument() -> None:
    which = tool(of=program(flag("host", default_env="APP_HOST")))
    assert "could parse it as an option" in refusal(which, {}, {"APP_HOST": "--rm"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~/bin/app", "/home/ada/bin/app"),
        ("~", "/home/ada"),
        ("~ada/app", "~ada/app"),
        ("a~/b", "a~/b"),
        ("$DIR/app", "/opt/app"),
        ("${DIR}x", "/optx"),
        ("$$DIR", "$DIR"),
        ("100$", "100$"),
        ("$(ls) `ls`", "$(ls) `ls`"),
        ("$TILDE", "~/$DIR"),
        ("$EMPTY", ""),
    ],
)
def test_home_and_variables_are_expanded_once_in_command_environment_and_directory(text: str, expected: str) -> None:
    environ = HOME | {"DIR": "/opt", "TILDE": "~/$DIR", "EMPTY": ""}
    found = built(tool(of=program(command=("app", text), env={"NAME": text}, working_dir=text)), {}, environ)

    assert found.argv[1] == found.env["NAME"] == found.cwd == expected


def test_home_has_another_name_on_windows() -> None:
    assert expand_variables("~\\app", {"USERPROFILE": "C:\\Users\\ada"}, where="") == "C:\\Users\\ada\\app"


@pytest.mark.parametrize(
    ("of", "name", "place"),
    [
        (program(command=("$BIN/app",)), "BIN", "the command of app"),
        (program(command=("~/app",)), "HOME", "the command of app"),
        (program(env={"TOKEN": "${SECRET}"}), "SECRET", "env.TOKEN of app"),
        (program(working_dir="$WORK"), "WORK", "the working directory of app"),
    ],
)
def test_unset_variable_is_reported_with_the_setting_that_needs_it(of: Program, name: str, place: str) -> None:
    message = refusal(tool(of=of), {}, {})
    assert f"environment variable {name}, used by {place}, is not set" in message


def test_nothing_is_put_into_arguments_or_the_words_of_a_tool() -> None:
    which = tool(positional("a"), flag("b"), CWD, STDIN, argv=("$HOME", "~"))
    found = built(which, {"a": "~", "b": "$HOME", "folder": "~/x", "text": "$HOME"})

    assert found.argv == ("app", "$HOME", "~", "~", "--b", "$HOME")
    assert (found.cwd, found.stdin) == ("~/x", "$HOME")


# What else a run needs.


@pytest.mark.parametrize(
    ("own", "sent", "expected"),
    [
        ("", {}, ""),
        ("/work", {}, "/work"),
        ("/work", {"folder": ""}, "/work"),
        ("/work", {"folder": "/else"}, "/else"),
        ("/work", {"folder": "sub"}, str(Path("/work", "sub"))),
        ("", {"folder": "sub"}, "sub"),
        ("~", {"folder": "-x"}, str(Path("/home/ada", "-x"))),
    ],
)
def test_directory_that_is_sent_is_taken_from_that_of_the_program(
    own: str, sent: dict[str, str], expected: str
) -> None:
    """FR-016."""
    assert built(tool(CWD, of=program(working_dir=own)), sent).cwd == expected


@pytest.mark.parametrize(
    ("command", "own", "base", "expected"),
    [
        ("app", "/work", "/server", "app"),
        ("/bin/app", "/work", "/server", "/bin/app"),
        ("./app", "/work", "/server", "/work/./app"),
        ("bin/app", "sub", "/server", "/server/sub/bin/app"),
        ("../app", "", "/server", "/server/../app"),
        ("./app", "", "", "./app"),
    ],
)
def test_program_that_is_named_by_its_place_stays_there_whatever_folder_is_sent(
    command: str, own: str, base: str, expected: str
) -> None:
    which = tool(CWD, of=program(command=(command,), working_dir=own))
    for sent in ({}, {"folder": "/else"}, {"folder": "sub"}):
        assert build_invocation(which, sent, environ=HOME, base=base).argv[0] == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [({}, None), ({"text": ""}, ""), ({"text": "a\n-b\n"}, "a\n-b\n"), ({"text": 5}, "5"), ({"text": True}, "true")],
)
def test_text_for_stdin_is_passed_whole(sent: dict[str, Any], expected: str | None) -> None:
    """FR-016."""
    assert built(tool(STDIN), sent).stdin == expected


def test_text_for_stdin_may_be_longer_than_any_argument() -> None:
    assert built(tool(STDIN), {"text": "x" * 10 * MAX_ELEMENT_LENGTH}).stdin == "x" * 10 * MAX_ELEMENT_LENGTH


def test_a_tool_inherits_timeout_and_environment_of_its_program() -> None:
    of = program(timeout_s=5, pass_env=("TOKEN",), env={"LANG": "C"})

    assert built(tool(of=of), {}).timeout_s == 5
    assert built(tool(of=of, timeout_s=0.5), {}).timeout_s == 0.5
    assert built(tool(of=of), {}).pass_env == ("TOKEN",)
    assert built(tool(of=of), {}).env == {"LANG": "C"}


def test_values_used_name_all_that_is_written_and_nothing_else() -> None:
    which = tool(flag("a", default=1), flag("b"), flag("c", default=2), of=program(flag("d", default_env="D")))
    assert effective_values(which, {"c": 3, "z": 1}, environ={"D": "x"}) == {"a": 1, "c": 3, "d": "x"}


# Whatever comes.

NAMES = ("one", "two", "three", "four")
HOSTILE = st.sampled_from(["-", "--", "--output=x", "-x", "-5", "\n-x", "a\0", "-\0", " -x", ""])
ANY_TEXT = st.one_of(HOSTILE, HOSTILE, st.text(), st.text(alphabet="-=\n\0ax ", max_size=5))
ANY_VALUE = st.one_of(
    ANY_TEXT,
    ANY_TEXT,
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.lists(ANY_TEXT, max_size=3),
    st.just({}),
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), ANY_VALUE, max_size=3)


def placements() -> st.SearchStrategy[ArgumentPlacement]:
    kinds = st.sampled_from(
        [PlacementKind.POSITIONAL, PlacementKind.FLAG, PlacementKind.FLAG, PlacementKind.STDIN, PlacementKind.CWD]
    )
    flags = st.sampled_from(["--<f>", "-<f>", "--<f>=", "<f>="])
    return st.builds(
        lambda place, text, default, is_switch: ArgumentPlacement(
            name="", place=place, flag=text, default=default, switch=is_switch and place is PlacementKind.FLAG
        ),
        kinds,
        flags,
        st.none() | st.none() | ANY_TEXT,
        st.sampled_from([False, False, True]),
    )


def named(drawn: list[ArgumentPlacement], names: tuple[str, ...]) -> tuple[ArgumentPlacement, ...]:
    """Give each a name, and an option of its own: a manifest takes no two that are the same."""
    return tuple(
        ArgumentPlacement(
            name=name,
            place=each.place,
            flag=each.flag.replace("<f>", name),
            default=each.default,
            switch=each.switch,
        )
        for name, each in zip(names, drawn, strict=False)
    )


TOOLS = st.builds(
    lambda own, shared, argv, ends: tool(
        *named(own, NAMES[:2]), argv=argv, of=program(*named(shared, NAMES[2:]), ends_options=ends)
    ),
    st.lists(placements(), max_size=2),
    st.lists(placements(), max_size=2),
    st.sampled_from([(), ("sub",), ("sub", "--"), ("exec", "--", "ls")]),
    st.booleans(),
)


@given(TOOLS, ARGUMENTS)
@example(tool(positional("one"), flag("two")), {"one": "-x", "two": "--"})
@example(tool(positional("one"), argv=("exec", "--", "ls"), of=ENDING), {"one": "-x"})
def test_no_value_ever_becomes_an_option(which: CommandTool, arguments: dict[str, Any]) -> None:
    """Read as the program reads it, each option is one of the author's, and what starts with `-` is after `--`.

    The one exception is a number that the schema typed as one: `-n -5` stays a value of `-n`.
    """
    try:
        argv = build_invocation(which, arguments, environ={}).argv
    except ToolError:
        return
    assert not any("\0" in element for element in argv)

    every = (*which.placements, *which.program.placements)
    ends_itself = which.argv[-1:] == ("--",)
    own = which.argv[:-1] if ends_itself else which.argv
    assert argv[1 : len(own) + 1] == own
    rest = iter(argv[len(own) + 1 :])
    for element in rest:
        if any(element == each.flag and each.switch for each in every):
            continue
        if any(element == each.flag and not each.flag.endswith("=") for each in every):
            value = next(rest)
            assert value == "-" or not value.startswith("-") or is_typed_number(value, arguments)
        elif element == "--" and (ends_itself or (which.program.ends_options and "--" not in own)):
            return
        else:
            is_joined = any(each.flag.endswith("=") and element.startswith(each.flag) for each in every)
            assert is_joined or element == "-" or not element.startswith("-") or is_typed_number(element, arguments)


def is_typed_number(text: str, arguments: dict[str, Any]) -> bool:
    numbers = [each for each in arguments.values() if isinstance(each, int | float) and not isinstance(each, bool)]
    return text[1:].replace(".", "", 1).isdigit() and float(text) in map(float, numbers)


@given(TOOLS, ARGUMENTS)
def test_end_of_options_is_written_only_where_the_program_takes_it(
    which: CommandTool, arguments: dict[str, Any]
) -> None:
    try:
        argv = build_invocation(which, arguments, environ={}).argv
    except ToolError:
        return
    if not which.program.ends_options and "--" not in which.argv:
        assert "--" not in argv


@given(TOOLS, ARGUMENTS)
def test_a_call_gives_a_command_line_or_a_reason_and_nothing_else(
    which: CommandTool, arguments: dict[str, Any]
) -> None:
    try:
        first = build_invocation(which, arguments, environ={})
    except ToolError:
        return
    assert first == build_invocation(which, arguments, environ={})
    assert first == build_invocation(which, effective_values(which, arguments, environ={}), environ={})


@given(st.lists(st.text(min_size=1).filter(lambda text: not set(text) & set("\n\r\0")), min_size=1, max_size=4))
def test_values_of_positionals_arrive_as_they_were_sent(values: list[str]) -> None:
    argv = build_invocation(tool(positional("a"), of=ENDING), {"a": values}, environ={}).argv
    assert list(argv[-len(values) :]) == values
