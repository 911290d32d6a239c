"""The command line of a generated server, run as people run it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from http_peer import TOKEN_FILE
from oracle import LEGACY
from stdio_peer import PATIENCE_S, talking
from toolmason_runtime.server.options import OptionSpec, option_values

SAMPLE = (sys.executable, "-m", "sample_server")


def run(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SAMPLE, *arguments],
        input="",
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE_S,
        env={**os.environ, **(env or {})},
    )


def listed(*arguments: str, env: Mapping[str, str] | None = None) -> list[str]:
    with talking(LEGACY, *arguments, command=SAMPLE, env=env) as peer:
        return [tool["name"] for tool in peer.result("tools/list")["tools"]]


def test_help_names_every_flag_without_importing_the_sdk_or_pydantic() -> None:
    done = run("--help")
    imported = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "sample_server", "--help"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=PATIENCE_S,
    ).stderr

    assert done.returncode == 0
    for flag in ("--http", "--host", "--port", "--discovery", "--classic", "--all", "--toolsets", "--log-level"):
        assert flag in done.stdout
    assert "100 % of the last words" in done.stdout
    assert "SAMPLE_ROOTS" in done.stdout
    assert "SAMPLE_ALL_TOOLS=true" in done.stdout
    modules = {line.rpartition("|")[2].strip() for line in imported.splitlines()}
    assert "toolmason_runtime.server.command" in modules
    assert not modules & {"mcp", "mcp_types", "pydantic", "anyio", "jsonschema"}


def test_a_subcommand_gets_its_arguments_and_returns_its_exit_code() -> None:
    done = run("greet", "--help", "serve")

    assert (done.stdout, done.stderr, done.returncode) == ("hello --help serve\n", "", 2)


def test_help_names_the_subcommands() -> None:
    assert "greet: Say 100 % hello" in " ".join(run("--help").stdout.split())


def test_a_subcommand_after_a_flag_must_come_first() -> None:
    done = run("--log-level", "debug", "greet")

    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == "sample: `greet` must be the first argument: sample greet ...\n"


def started(tmp_path: Path, env: Mapping[str, str], until: str) -> str:
    """Start the server with this environment, wait until it has said `until` on standard error, and give all of it."""
    with (tmp_path / "said").open("w+b") as said:
        process = subprocess.Popen(
            SAMPLE, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **env}
        )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while until not in (text := (tmp_path / "said").read_text(encoding="utf-8")):
                assert time.monotonic() < deadline, text
                time.sleep(0.01)
        finally:
            process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
            assert process.wait(PATIENCE_S) == 0
    return text


def test_a_warning_at_start_is_logged_without_a_call(tmp_path: Path) -> None:
    text = started(tmp_path, {"SAMPLE_WARNING": "nothing to count"}, until="nothing to count")

    [line] = map(json.loads, text.splitlines())
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {"level": "warn", "logger": "toolmason_runtime.server.startup_check", "message": "nothing to count"}


def test_a_check_that_fails_stops_nothing(tmp_path: Path) -> None:
    text = started(tmp_path, {"SAMPLE_CHECK_FAILS": "1"}, until="on purpose")

    [line] = map(json.loads, text.splitlines())
    assert (line["level"], line["message"]) == ("error", "the startup check failed")
    assert "on purpose" in line["exception"]


def test_help_describes_classic_and_its_variable() -> None:
    said = " ".join(run("--help").stdout.split())

    assert "--classic list every `core` tool (with --all: every tool) directly; same as --discovery classic" in said
    assert "Setting SAMPLE_ALL_TOOLS=true is the same as --classic --all" in said


def test_version_is_the_server_s() -> None:
    assert run("--version").stdout == "sample 1.2.3\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--toolsets", "texts"], "sample: unknown toolset `texts`: use one of `text`, `odd`; did you mean `text`?\n"),
        (["--discovery", "clasic"], "did you mean `classic`?\n"),
        (
            ["--http", "--host", "0.0.0.0"],
            "sample: --host 0.0.0.0 is reachable from other machines: list the host names of the server",
        ),
        (
            ["--http", "--host", "192.0.2.1", "--allow-host", "a.example", "--token-file", TOKEN_FILE],
            "sample: cannot listen on 192.0.2.1:8000",
        ),
        (
            ["--http", "--port", "0", "--allow-host", "*"],
            "sample: `*` is not a host; write NAME or NAME:PORT, such as `tools.example`\n",
        ),
        (
            ["--http", "--port", "0", "--allow-origin", "null"],
            "sample: `null` is not an origin; write SCHEME://HOST, such as `https://app.example`\n",
        ),
        (["--http", "--token-file", "nowhere"], "sample: cannot read the token file nowhere: No such file or dir"),
        (["--http", "--token-file", __file__], " bytes; it must contain one token\n"),
        (["--token-file", ""], "sample: argument --token-file: expected a value, got an empty one\n"),
        (["--root", ""], "sample: argument --root: expected a value, got an empty one\n"),
        (["--root", "/", "--root="], "sample: argument --root: expected a value, got an empty one\n"),
        (["--farewell", ""], "sample: argument --farewell: expected a value, got an empty one\n"),
        (["--toolsets", ""], "sample: argument --toolsets: expected a value, got an empty one\n"),
        (["--discovery", ""], "sample: argument --discovery: expected a value, got an empty one\n"),
        (["--allow-host", ""], "sample: argument --allow-host: expected a value, got an empty one\n"),
        (["--port", "many"], "sample: argument --port: expected a number from 0 to 65535, got 'many'\n"),
        (["--http", "--port", "99999"], "argument --port: expected a number from 0 to 65535, got '99999'\n"),
        (["--http", "--port=-1"], "argument --port: expected a number from 0 to 65535, got '-1'\n"),
        (["--toolsets", ","], "sample: argument --toolsets: expected names between commas, got ','\n"),
        (["--toolsets", " "], "sample: argument --toolsets: expected names between commas, got ' '\n"),
        (
            ["--classic", "--discovery", "search-call"],
            "sample: --classic and --discovery search-call contradict each other; remove one of them\n",
        ),
    ],
)
def test_wrong_choice_is_one_line_and_exit_2(arguments: Sequence[str], said: str) -> None:
    done = run(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_unknown_flag_is_exit_2() -> None:
    assert run("--nonsense").returncode == 2


def test_tools_are_listed_for_people_by_name_and_summary() -> None:
    done = run("--list-tools", "--toolsets", "text")

    assert done.stdout.splitlines() == [
        "count_words: Count the words of a text",
        "shout: Give a text in capitals",
        "old_shout: Give a text in capitals, the old way",
    ]


@pytest.mark.parametrize(
    ("arguments", "env", "names"),
    [
        ([], {}, ["search", "call", "count_words"]),
        (["serve"], {}, ["search", "call", "count_words"]),
        (["--discovery", "list-describe"], {}, ["list_available_tools", "get_tool_description", "call_tool"]),
        (["--classic", "--toolsets", "text"], {}, ["count_words", "shout", "old_shout"]),
        (["--classic", "--discovery", "classic", "--toolsets", " odd,"], {}, ["raw", "mixed", "refuse"]),
        (["--classic"], {}, ["count_words", "shout", "old_shout", "raw", "mixed", "refuse", "crash"]),
        ([], {"SAMPLE_ALL_TOOLS": "true"}, ["count_words", "shout", "old_shout", "rare"]),
        ([], {"SAMPLE_ALL_TOOLS": "false"}, ["search", "call", "count_words"]),
        (["--discovery", "search-call"], {"SAMPLE_ALL_TOOLS": "true"}, ["search", "call", "count_words"]),
    ],
)
def test_flags_override_the_environment_for_the_listed_tools(
    arguments: Sequence[str], env: Mapping[str, str], names: Sequence[str]
) -> None:
    assert listed(*arguments, env=env)[: len(names)] == names


def test_start_on_a_terminal_explains_that_it_reads_mcp_on_stdin() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(SAMPLE, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        os.close(theirs)
        assert server.stderr is not None
        said = server.stderr.readline().decode()
        server.send_signal(signal.SIGINT)
        status = server.wait(PATIENCE_S)
        rest = server.stderr.read()
    os.close(ours)

    assert "MCP on stdin and stdout" in said
    assert (status, rest) == (0, b"")


ROOTS = OptionSpec(name="roots", flag="--root", env="SAMPLE_ROOTS", many=True, default="/here")
KEY = OptionSpec(name="key", flag="--key", env="SAMPLE_KEY", default="none")


def test_option_comes_from_the_flag_then_the_environment_then_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPLE_KEY", raising=False)
    default = option_values([ROOTS, KEY], {})
    monkeypatch.setenv("SAMPLE_ROOTS", os.pathsep.join(["/a", "", "/b"]))
    monkeypatch.setenv("SAMPLE_KEY", "from env")
    from_environment = option_values([ROOTS, KEY], {"roots": None})
    given = option_values([ROOTS, KEY], {"roots": ["/c"], "key": ""})

    assert default == {"roots": ("/here",), "key": "none"}
    assert from_environment == {"roots": ("/a", "/b"), "key": "from env"}
    assert given == {"roots": ("/c",), "key": ""}


@pytest.mark.parametrize(
    ("arguments", "allow", "color"),
    [
        ((), [], "auto"),
        (("--color",), [], "always"),
        (("--color", "never", "--allow", "--root", "x"), ["**"], "never"),
        (("--allow", "a/**", "--allow", "--color=never"), ["a/**", "**"], "never"),
        (("--allow", "--allow=b", "--color", "serve"), ["**", "b"], "serve"),
        (("serve", "--allow"), ["**"], "auto"),
    ],
)
def test_a_flag_without_a_value_has_the_implicit_one(arguments: Sequence[str], allow: list[str], color: str) -> None:
    with talking(LEGACY, *arguments) as peer:
        options = json.loads(peer.call("show_state")["content"][0]["text"])["options"]

    assert (options["allow"], options["color"]) == (allow, color)


@pytest.mark.parametrize("argument", ["--allow=", "--color="])
def test_an_empty_value_is_not_the_implicit_one(argument: str) -> None:
    done = run(argument)

    assert done.returncode == 2
    assert "expected a value, got an empty one" in done.stderr


def test_help_shows_the_implicit_value_and_that_a_value_may_be_left_out() -> None:
    text = " ".join(run("--help").stdout.split())

    assert "--allow [GLOB] Files repeatable (without a value: **)" in text
    assert "--color [WHEN] Colors (default: auto) (without a value: always)" in text


@pytest.mark.parametrize("said", ["", os.pathsep])
def test_environment_variable_that_is_set_but_empty_counts_as_not_given(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("SAMPLE_ROOTS", said)
    monkeypatch.setenv("SAMPLE_KEY", "")

    assert option_values([ROOTS, KEY], {}) == {"roots": ("/here",), "key": "none"}


def test_a_reader_that_has_seen_enough_of_the_tools_ends_the_list_silently() -> None:
    process = subprocess.Popen([*SAMPLE, "--list-tools"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    process.stdout.close()
    _out, said = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, said) == (0, b"")
