"""The command line of tools in this process: values, help, errors, exit codes, and what a person is shown."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.tool_commands import CommandCategory, CommandEntry, CommandOption, ToolCommand
from toolmason_runtime.tool_commands.app import ExitCode, Invocation, Program, run
from toolmason_runtime.tool_commands.output import OutputError, json_value, show_result
from toolmason_runtime.tool_commands.terminal import Person, safe

OPTIONS = (
    CommandOption("text", "--text", help="A text"),
    CommandOption("count", "--count", kind="integer", default="20"),
    CommandOption("ratio", "--ratio", kind="number"),
    CommandOption("cache", "--cache", kind="boolean", default="true", negation="--no-cache"),
    CommandOption("strict", "--strict", kind="boolean"),
    CommandOption("level", "--level", kind="choice", choices=(1, 2.5, "x y")),
    CommandOption("point", "--point", kind="json"),
    CommandOption("edits", "--edits", kind="json", repeated=True),
    CommandOption("paths", "--paths", repeated=True),
    CommandOption("mixed", "--mixed", kind="any"),
)
COMMANDS = (
    ToolCommand(
        "log", "git_log", "Show commits", "More.\n\n- one\n- two", OPTIONS, (("The last", "git log --count 1"),)
    ),
    ToolCommand("add", "git_add", "Stage files", options=(CommandOption("class", "--class", required=True),)),
    ToolCommand("evil", "evil", "Hide \x1b[2J", options=(CommandOption("x", "--x", help="\x1b]0;title\x07"),)),
)
GIT = CommandCategory("git", "History", tuple(CommandEntry(c.name, f"git-{c.name}", c.summary) for c in COMMANDS))
OTHER = CommandCategory("other", "Others", ())


class Runner:
    """Runs command lines, and keeps the calls that they make."""

    def __init__(self) -> None:
        self.calls: list[Invocation] = []
        self.code = 0

    def __call__(self, *argv: str, categories: tuple[CommandCategory, ...] = (GIT, OTHER)) -> int:
        def call(invocation: Invocation) -> int:
            self.calls.append(invocation)
            return self.code

        by_name = {command.name: command for command in COMMANDS}
        return run(Program("repo", "A repository", categories, lambda _category: by_name, call), argv)

    def arguments(self, *argv: str) -> dict[str, Any]:
        assert self("git", "log", *argv) == 0
        return self.calls[-1].arguments


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("argv", "arguments"),
    [
        ([], {}),
        (["--text", ""], {"text": ""}),
        (["--text", "-x"], {"text": "-x"}),
        (["--text=--help"], {"text": "--help"}),
        (["--text", "@"], {"text": "@"}),
        (["--text", "@@me"], {"text": "@me"}),
        (["--text", "a", "--text", "b"], {"text": "b"}),
        (["--count", "-5"], {"count": -5}),
        (["--count", "1e3"], {"count": 1000}),
        (["--ratio", "-0.5"], {"ratio": -0.5}),
        (["--ratio", "3"], {"ratio": 3}),
        (["--no-cache"], {"cache": False}),
        (["--cache"], {"cache": True}),
        (["--strict", "no"], {"strict": False}),
        (["--level", "1"], {"level": 1}),
        (["--level", "2.5"], {"level": 2.5}),
        (["--level", "x y"], {"level": "x y"}),
        (["--point", '{"x": [1, {"y": null}]}'], {"point": {"x": [1, {"y": None}]}}),
        (["--edits", '{"a": 1}', "--edits", '[{"b": 2}, {}]'], {"edits": [{"a": 1}, {"b": 2}, {}]}),
        (["--paths", "a b", "--paths", "["], {"paths": ["a b", "["]}),
        (["--mixed", "12"], {"mixed": 12}),
        (["--mixed", "twelve"], {"mixed": "twelve"}),
        (["--mixed", '"12"'], {"mixed": '"12"'}),
        (["--mixed", "[1]"], {"mixed": [1]}),
        (["--arguments", '{"text": "a", "paths": []}', "--text", "b"], {"text": "b", "paths": []}),
    ],
)
def test_options_become_values(runner: Runner, argv: list[str], arguments: dict[str, Any]) -> None:
    assert runner.arguments(*argv) == arguments
    assert runner.calls[0].tool == "git_log"


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--count", "x"], "--count: `x` is not an integer"),
        (["--count", "1.5"], "--count: `1.5` is not an integer"),
        (["--count", "1_000"], "--count: `1_000` is not an integer"),
        (["--count", ""], "--count: `` is not an integer"),
        (["--count", "9" * 5000], "--count: it has 5,000 digits, which is too many"),
        (["--ratio", "NaN"], "--ratio: `NaN` is not a number"),
        (["--ratio", "1e999"], "--ratio: `1e999` is not a number"),
        (["--level", "3"], "--level: `3` is not one of 1, 2.5, x y"),
        (["--strict", "maybe"], "--strict: `maybe` is neither true nor false"),
        (["--point", "{"], "--point: it is not JSON"),
        (["--point", "[" * 100_000], "--point: the JSON is nested too deeply"),
        (["--point", "Infinity"], "--point: it is not JSON: Infinity is not a number of JSON"),
        (["--arguments", "[]"], "--arguments: it is not a JSON object"),
        (["--text", "@none/such"], "--text: cannot read the file `none/such`: No such file or directory; to pass the"),
        (["--text", "@."], "--text: cannot read the file `.`: Is a directory"),
        (["--text", "@a\0b"], "--text: cannot read the file"),
        (["--counts", "1"], "No such option"),
        (["--count"], "requires an argument"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_a_wrong_value_is_explained(
    runner: Runner, argv: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner("git", "log", *argv) == ExitCode.COMMAND_LINE
    assert reason in capsys.readouterr().err
    assert runner.calls == []


def test_a_value_is_a_file_or_standard_input(
    runner: Runner, tmp_path: Path, stdin: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("point.json").write_text('{"x": 1}\n', encoding="utf-8")
    tmp_path.joinpath("latin").write_bytes(b"ok \xff")
    stdin("zwölf\n".encode())

    assert runner.arguments("--point", f"@{tmp_path}/point.json", "--text", "-") == {
        "point": {"x": 1},
        "text": "zwölf\n",
    }
    stdin(b"\x00\xff\xfe")
    assert runner("git", "log", "--text", "-") == ExitCode.COMMAND_LINE
    assert "--text: standard input is not text in UTF-8: byte 2 is invalid" in capsys.readouterr().err
    assert runner("git", "log", "--text", f"@{tmp_path}/latin") == ExitCode.COMMAND_LINE
    stdin(b"once")
    assert runner("git", "log", "--text", "-", "--mixed", "-") == ExitCode.COMMAND_LINE
    assert "--text has already read standard input" in capsys.readouterr().err


def test_a_required_parameter_can_be_in_the_json(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner("git", "add") == ExitCode.COMMAND_LINE
    assert "missing --class" in capsys.readouterr().err
    assert runner("git", "add", "--arguments", '{"class": "a"}') == 0
    assert runner.calls[0].arguments == {"class": "a"}


def test_a_command_is_found_by_its_category_and_by_the_name_of_its_tool(runner: Runner) -> None:
    for words in (["git", "log"], ["git", "git-log"], ["git-log"]):
        assert runner(*words) == 0
    assert [call.tool for call in runner.calls] == ["git_log"] * 3


def test_the_help_lists_what_there_is(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner("--help") == 0
    assert "git    History\n" in capsys.readouterr().out
    assert runner("--help", categories=(GIT,)) == 0
    assert "git-log   Show commits\n" in capsys.readouterr().out
    assert runner("git", "log", "--help") == 0
    text = capsys.readouterr().out
    assert "  - one\n  - two\n" in text
    assert "--cache / --no-cache" in text
    assert "--level [1|2.5|x y]" in text
    assert "  # The last\n  repo git log --count 1\n" in text


def test_the_help_of_a_narrow_terminal_loses_no_word(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    assert runner("git", "log", "--help") == 0

    assert "repo git log --count 1\n" in capsys.readouterr().out


def test_texts_of_others_do_not_control_the_terminal(runner: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner("git", "evil", "--help") == 0
    assert runner("git", "--help") == 0

    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "Hide \\x1b[2J" in text


def test_the_code_of_the_call_is_that_of_the_command(runner: Runner) -> None:
    runner.code = ExitCode.NOT_APPROVED
    assert runner("git", "log") == ExitCode.NOT_APPROVED


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt, 130), (OutputError("no room"), 1), (BrokenPipeError, 141)],
)
def test_an_interrupt_and_a_closed_pipe_have_their_codes(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(_self: Runner, _invocation: Invocation) -> int:
        raise error

    monkeypatch.setattr("toolmason_runtime.tool_commands.output.os.dup2", lambda *_: None)
    monkeypatch.setattr(sys, "stdout", open(1, "w", closefd=False))  # noqa: SIM115
    program = Program("repo", "", (GIT,), lambda _category: {c.name: c for c in COMMANDS}, lambda _: fail(runner, _))

    assert run(program, ["git", "log"]) == code


TEXT = {"content": [{"type": "text", "text": "a\x1b[31m\nb"}]}
ROWS = {"structuredContent": {"total": 2, "rows": [{"name": "a\x1b[1m", "n": 1}, {"n": None, "z": {"k": 1}}]}}
IMAGE = {"content": [{"type": "image", "data": "AAEC", "mimeType": "image/png"}]}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (TEXT, "a\x1b[31m\nb"),
        (ROWS, ROWS["structuredContent"]),
        ({"content": [{"type": "text", "text": "[1, 2]"}]}, [1, 2]),
        ({"content": [{"type": "text", "text": "12"}]}, "12"),
        ({"content": []}, ""),
        (IMAGE, IMAGE["content"]),
    ],
)
def test_json_is_the_structured_result_or_the_text(result: dict[str, Any], value: Any) -> None:
    assert json_value(result) == value


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_the_text_and_a_terminal_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_result(TEXT, as_json=False, output="")
    assert capsys.readouterr().out == "a\x1b[31m\nb\n"

    monkeypatch.setattr(sys, "stdout", screen := Screen())
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    show_result(TEXT, as_json=False, output="")
    show_result(ROWS, as_json=False, output="")
    shown = screen.getvalue()
    assert shown.startswith("a\\x1b[31m\nb\n")
    assert "\x1b" not in shown
    assert "total: 2" in shown
    assert "a\\x1b[1m" in shown
    assert '{"k": 1}' in shown


@pytest.mark.parametrize("text", ["\x9b31m", "\u202e", "\u061c", "\U000e0041"])
def test_a_terminal_gets_no_control_characters_of_a_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setattr("toolmason_runtime.tool_commands.output._is_terminal", lambda: True)
    value = {f"[/red]{text}": [{text: f"[bold]{text}"}]}
    show_result({"structuredContent": value}, as_json=True, output="")
    shown = capsys.readouterr().out
    assert text[0] not in shown
    assert json.loads(shown) == value
    show_result({"structuredContent": value}, as_json=False, output="")
    shown = capsys.readouterr().out
    assert text[0] not in shown
    assert "[/red]" in shown


def test_texts_of_a_server_in_errors_and_summaries_are_visible(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    option = CommandOption("x", "--x", kind="choice", choices=("\x1b[2J",))
    command = ToolCommand("echo", "echo", "Echo", options=(option,))
    echo = CommandCategory("echo", "\x1b[2J\x9b", (CommandEntry("echo", "echo", "Echo"),))
    program = Program("repo", "\x1b[2J\x9b", (echo,), lambda _: {"echo": command}, runner.calls.append)  # type: ignore[arg-type]
    assert run(program, ["echo", "--x", "y"]) == 2
    assert run(program, ["--help"]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "\x9b" not in shown.out + shown.err
    assert run(program, ["echo"]) == 0  # a tool that has the name of the only category
    assert run(program, ["echo", "echo"]) == 0
    assert [call.tool for call in runner.calls] == ["echo", "echo"]


@pytest.mark.parametrize("option", ["--count", "--ratio"])
def test_a_deep_list_is_no_number(runner: Runner, option: str) -> None:
    assert runner("git", "log", option, "[" * 100_000) == 2


def test_a_failure_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    show_result({**TEXT, "isError": True}, as_json=True, output="")

    out, err = capsys.readouterr()
    assert (out, err) == ("", "a\\x1b[31m\nb\n")


def test_a_picture_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(IMAGE, as_json=False, output=str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes() == b"\0\1\2"
    show_result(IMAGE, as_json=False, output="")
    assert capsys.readouterr().out == "[image: image/png, 3 bytes; --output FILE writes it]\n"
    with pytest.raises(OutputError, match="cannot write"):
        show_result(IMAGE, as_json=False, output=str(tmp_path))


def test_without_a_terminal_nobody_is_asked() -> None:
    person = Person()

    assert not person.can_answer
    assert person.capabilities == {}
    assert person.answer({"message": "?"}) == {"action": "cancel"}


def test_yes_approves_and_fills_in_no_form() -> None:
    person = Person(says_yes=True)

    assert person.answer({"message": "?", "requestedSchema": {"properties": {}}})["action"] == "accept"
    assert person.answer({"message": "?", "requestedSchema": {"properties": {"a": {}}}}) == {"action": "cancel"}
    assert person.answer({"mode": "url", "message": "?", "url": "https://x.example"}) == {"action": "cancel"}


@pytest.mark.parametrize("text", ["\x1b[2J", "\r", "\x9b1m", "\u202e", "\u200b", "\x07", "\u2066"])
def test_control_characters_are_visible(text: str) -> None:
    assert safe(f"a{text}b").isprintable()
    assert json.dumps(safe("a\n\tb")) == '"a\\n\\tb"'


def test_a_form_is_asked_field_by_field(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(["", "x", "many", "3", "maybe", "y", "c", "b, a", ""])
    monkeypatch.setattr("toolmason_runtime.tool_commands.terminal._terminal_input", lambda: sys.stdin)
    monkeypatch.setattr("toolmason_runtime.tool_commands.terminal._read_line", lambda _terminal: f"{next(lines)}\n")
    fields = {
        "name": {"type": "string", "title": "Name\x1b[2J"},
        "count": {"type": "integer"},
        "sure": {"type": "boolean"},
        "one": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
        "later": {"type": "string", "default": "no"},
    }

    answer = Person().answer({"message": "Fill in", "requestedSchema": {"properties": fields, "required": ["name"]}})

    assert answer == {
        "action": "accept",
        "content": {"name": "x", "count": 3, "sure": True, "one": ["b", "a"], "later": "no"},
    }
    asked = capsys.readouterr().err
    assert "Name\\x1b[2J: " in asked
    assert "Answer a number." in asked
